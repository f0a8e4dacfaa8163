/* dfa-jump-threading: in a state machine (a dispatch in a loop on a register that arms set to constants) each arm goes
 * directly to the arm of the next state.
 *
 *   L: @done bra X; switch (s) {         L0: @done bra X;
 *   A: ...; mov s, 1; bra L;             A:  ...; mov s, 1; @done bra X; bra B;
 *   B: ...; mov s, 0; bra L; }           B:  ...; mov s, 0; @done bra X; bra A;
 *
 * What lies between the arms and the dispatch is copied once for each state, and the dispatch is decided in the copies. A
 * state may come through copies of registers, and from selps of constants, which become branches on their predicates. Follows
 * LLVM's DFAJumpThreading, with its limits; what it calls a path is here a block that is copied for a state.
 *
 * Sound: every thread executes the same instructions in the same order but for pure ones whose results nobody reads. Only
 * pure instructions and plain loads and stores are copied. Threads that a branch parts meet where they met, which keeps the
 * control dependence of convergent instructions (phase/plan_graph.h), or the function has none. Loops stay reducible: the
 * graph is tested before anything is changed.
 *
 * Pays where all threads of a warp are in one state: each step saves the dispatch. Where they are in several, the warp would
 * run from state to state in parts that no longer meet at the dispatch, so the dispatch must be uniform
 * (tests/ptxas/THREADING.md). --enable-dfa-jump-thread=1 does without that.
 *
 * Declines: states that do not come from constants on every way, blocks with pragmas, scopes, calls, atomics, convergent
 * instructions between the arms and the dispatch, and loops that would get a second entry. */
#include "ir/edit.h"
#include "phase/fold.h"
#include "phase/state_machine.h"

enum { SELECTORS = 8 /* of a loop */, ROUNDS = 16 };

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* Copies in which nothing is left to do are passed: an empty latch would not be told from the header that follows it. */
static Block *end_of_way(const Plan *plan, const PlanWay *way)
{
    for (u32 steps = 0; way->node != NO_NODE; steps++) {
        const PlanNode *node = &plan->node.v[way->node];
        if (!block_is_empty(node->made) || steps == plan->node.n)
            return node->made;
        way = &plan->way.v[node->first];
    }
    return way->to;
}

/* Where b goes to the block of the way it now goes to the copy, and in a second turn past copies in which nothing is left to
 * do. Not at once: what these lead to may be a block that b goes to as well, and leaves for another copy. */
static void redirect_way(const Plan *plan, Block *b, const PlanWay *way, u32 turn)
{
    if (way->node == NO_NODE)
        return;
    Block *made = plan->node.v[way->node].made;
    if (turn == 0)
        block_redirect(b, way->to, made);
    else
        block_redirect(b, made, end_of_way(plan, way));
}

static bool is_read(const BitSet *live, const Instr *i)
{
    if (!op_is_pure(i->op))
        return true;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (bitset_has(live, w.reg))
            return true;
    return false;
}

/* Marks, by position from the end, what of the node's block is executed for a reason. Answers the number of instructions. */
static u32 mark_read(PhaseRun *run, const Plan *plan, const PlanNode *node, BitSet *wanted)
{
    BitSet live = bitset_new(run->arena, run->fn->regs.n);
    const Instr *end = block_terminator(node->b);
    u32 n = 0;
    for (u32 w = node->first; w < node->first + node->ways; w++) {
        RegId reg;
        for (u32 k = 0; live_in_next(run->an->live, plan->way.v[w].to, &k, &reg);)
            bitset_add(&live, reg);
    }
    for (const Instr *i = node->b->last; i; i = i->prev, n++) {
        if (i->kind != INSTR_OP || (i == end && node->decided) || (i != end && !is_read(&live, i)))
            continue;
        bitset_add(wanted, n);
        live_step_back(&live, i);
    }
    return n;
}

static void fill_copy(PhaseRun *run, const Plan *plan, const PlanNode *node)
{
    BitSet wanted = bitset_new(run->arena, NODE_ITEMS);
    const Instr *end = block_terminator(node->b), *loc = node->made->loc;
    u32 n = mark_read(run, plan, node, &wanted);
    for_each_instr(i, node->b) {
        const Instr *own = instr_loc(i);
        if (!bitset_has(&wanted, --n))
            continue;
        if (own && own != loc)
            instr_append(node->made, instr_clone(run->fn, own));
        loc = own;
        if (i != end)
            instr_append(node->made, instr_clone(run->fn, i));
        phase_count(run, "InstructionsCloned", 1);
    }
    block_set_fall(node->made, node->decided ? plan->way.v[node->first].to : node->b->fall);
    if (end && !node->decided)
        instr_append(node->made, instr_clone(run->fn, end));
}

static void make_copies(PhaseRun *run, Plan *plan)
{
    for (u32 k = 0; k < plan->node.n; k++) {
        PlanNode *node = &plan->node.v[k];
        if (!node->used)
            continue;
        node->made = block_new(run->fn, node->b->scope);
        node->made->loc = node->b->loc;
        block_move_to_end(node->made);
    }
    for (u32 k = 0; k < plan->node.n; k++)
        if (plan->node.v[k].used)
            fill_copy(run, plan, &plan->node.v[k]);
    for (u32 k = 0; k < 2 * plan->node.n; k++) {
        const PlanNode *node = &plan->node.v[k % plan->node.n];
        for (u32 w = node->first; node->used && w < node->first + node->ways; w++)
            redirect_way(plan, node->made, &plan->way.v[w], k / plan->node.n);
    }
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

/* From b, which ends without a branch, to the leaves first .. first + n - 1, which have `depth` selps in common. */
static void branch_to_leaves(PhaseRun *run, const Plan *plan, Block *b, u32 first, u32 n, u32 depth)
{
    const PlanLeaf *leaf = &plan->leaf.v[first];
    u32 holding = 0;
    if (n == 1) {
        block_set_fall(b, end_of_way(plan, &leaf->way));
        return;
    }
    while (holding < n && plan->leaf.v[first + holding].holds[depth])
        holding++;
    Block *rest = block_new(run->fn, b->scope), *then = rest;
    rest->loc = b->loc;
    block_move_after(rest, b);
    branch_to_leaves(run, plan, rest, first + holding, n - holding, depth + 1);
    if (holding == 1) {
        then = end_of_way(plan, &leaf->way);
    } else {
        then = block_new(run->fn, b->scope);
        then->loc = b->loc;
        block_move_after(then, rest);
        branch_to_leaves(run, plan, then, first, holding, depth + 1);
    }
    block_set_fall(b, rest);
    block_set_branch(b, instr_operand((Instr *)leaf->select[depth], 3)->id, false, then, false);
    instr_stand_for(run->fn, block_terminator(b), plan->at, NULL);
    phase_count(run, "SelectUnfolded", 1);
}

static void redirect_edges(PhaseRun *run, const Plan *plan)
{
    for (u32 e = 0; e < 2 * plan->edge.n; e++) {
        const PlanEdge *edge = &plan->edge.v[e % plan->edge.n];
        u32 turn = e / plan->edge.n;
        if (!edge->used)
            continue;
        if (edge->leaves == 1)
            redirect_way(plan, edge->from, &plan->leaf.v[edge->first].way, turn);
        else if (turn == 0)
            branch_to_leaves(run, plan, edge->from, edge->first, edge->leaves, 0);
    }
}

/* Puts a copy where control falls into it: behind a block that only goes there and is not followed by another such copy. */
static void lay_out(const Plan *plan)
{
    for (u32 k = 0; k < plan->node.n; k++) {
        Block *made = plan->node.v[k].made;
        Block *to = made ? made->fall : NULL;
        if (to && to->prev && to->prev->fall != to && to->prev != made)
            block_move_after(made, to->prev);
    }
}

static void carry_out(PhaseRun *run, Plan *plan)
{
    u32 edges = 0;
    for (u32 e = 0; e < plan->edge.n; e++)
        edges += plan->edge.v[e].used;
    phase_passed(run, "StateMachineThreaded", plan->at, "%u edges of a state machine go straight to one of %u states", edges,
                 plan->states);
    phase_count(run, "StateMachineThreaded", 1);
    make_copies(run, plan);
    redirect_edges(run, plan);
    lay_out(plan);
    edit_layout(run->fn);
    analyses_drop(run->an, AN_NONE);
    fold_branches(run);
}

/* ---- the phase -------------------------------------------------------------------------------------------------- */

static bool thread_loop(PhaseRun *run, const Loop *loop, BitSet *reported)
{
    RegId selector[SELECTORS];
    u32 n = state_selectors(loop, selector, SELECTORS);
    if (n)
        analyses_require(run->an, AN_FACTS | AN_LIVE | AN_UNIFORM | AN_POSTDOM | AN_LOOPS);
    for (u32 k = 0; k < n; k++) {
        Plan plan;
        const char *why;
        bool threads = plan_make(run, loop, selector[k], &plan, &why) && phase_may_rewrite(run);
        if (threads) {
            carry_out(run, &plan);
        } else if (why && plan.at->origin < reported->bits && !bitset_has(reported, plan.at->origin)) {
            bitset_add(reported, plan.at->origin);
            phase_missed(run, "StateMachineNotThreaded", plan.at, "%s", why);
        }
        plan_free(&plan);
        if (threads)
            return true;
    }
    return false;
}

static bool thread_one(PhaseRun *run, BitSet *reported)
{
    Analyses *an = run->an;
    analyses_require(an, AN_LOOPS);
    for (u32 k = an->loops->n; k > 0; k--) /* inner loops first */
        if (thread_loop(run, an->loops->v[k - 1], reported))
            return true;
    return false;
}

bool phase_dfa_jump_threading(PhaseRun *run)
{
    BitSet reported = bitset_new(run->arena, run->fn->origins + 1);
    bool any = false;
    if (!run->knobs->enable_dfa_jump_thread || run->an->loops->irreducible)
        return false;
    for (u32 round = 0; round < ROUNDS && thread_one(run, &reported); round++)
        any = true;
    return any;
}
