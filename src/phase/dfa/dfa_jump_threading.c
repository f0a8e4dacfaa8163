/* dfa-jump-threading: makes each arm of a state machine jump directly to the arm of the next state. A state machine is a
 * loop with a dispatch on a register that the arms set to constants.
 *
 *   L: @done bra X; switch (s) {         L0: @done bra X;
 *   A: ...; mov s, 1; bra L;             A:  ...; mov s, 1; @done bra X; bra B;
 *   B: ...; mov s, 0; bra L; }           B:  ...; mov s, 0; @done bra X; bra A;
 *
 * The blocks between the arms and the dispatch are copied once for each state, and the dispatch is decided in the copies. A
 * state may come through copies of registers, and from selps of constants, which become branches on their predicates.
 * Follows LLVM's DFAJumpThreading, with its limits. What it calls a path is here a block that is copied for a state.
 *
 * Sound: every thread executes the same instructions in the same order, except for pure ones whose results nobody reads.
 * Only pure instructions and plain loads and stores are copied. Threads that a branch divides reconverge where they did,
 * which keeps the control dependence of convergent instructions (phase/dfa/plan_graph.h), or the function has none. Loops
 * stay reducible: the graph is tested before anything is changed.
 *
 * Pays where all threads of a warp are in one state: each step saves the dispatch. Where they are in several, the parts of
 * the warp would no longer reconverge at the dispatch. So the dispatch must be uniform (tests/ptxas/THREADING.md).
 * --dfa-jump-threading-where=anywhere drops that condition.
 *
 * Declines: states that do not come from constants on every path; pragmas, scopes, calls, atomics and convergent
 * instructions between the arms and the dispatch; loops that would get a second entry. */
#include <assert.h>

#include "analysis/reconverge.h"
#include "base/bound.h"
#include "ir/edit.h"
#include "phase/dfa/state_machine.h"
#include "transform/slice.h"

enum { SELECTORS = 8 /* the most selectors of a loop */ };

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* The block that an edge to the target finally leads to, past empty copies. An empty latch could not be distinguished from
 * the header that follows it. */
static Block *final_block(const MachinePlan *plan, const PlanTarget *target)
{
    for (u32 steps = 0; target->node != NO_NODE; steps++) {
        const PlanNode *node = &plan->node.v[target->node];
        if (!block_is_empty(node->made) || steps == plan->node.n)
            return node->made;
        target = &plan->target.v[node->first];
    }
    return target->to;
}

/* Redirects edges of b from the target's block to its copy. past_idle: redirects those to the copy past empty copies
 * instead. These are two steps, since b may also lead to the block after such copies, and leave that for a copy of its own. */
static void redirect_to(const MachinePlan *plan, Block *b, const PlanTarget *target, bool past_idle)
{
    if (target->node == NO_NODE)
        return;
    Block *made = plan->node.v[target->node].made;
    if (past_idle)
        block_redirect(b, made, final_block(plan, target));
    else
        block_redirect(b, target->to, made);
}

/* The number of register operands in b. */
static u32 count_names(const Block *b)
{
    u32 n = 0;
    for_each_instr(i, b)
        if (i->kind == INSTR_OP) {
            for (RegWalk w = reg_walk(i); next_read(&w);)
                n++;
            for (RegWalk w = reg_walk(i); next_write(&w);)
                n++;
        }
    return n;
}

/* Lists, in order, the instructions of the node's block that have an effect or are read, and its branch unless the node
 * decides it. */
static u32 collect_read(Analyses *an, const MachinePlan *plan, const PlanNode *node, Instr *read[NODE_ITEMS])
{
    u32 room = count_names(node->b), n = 0;
    const Instr *end = block_terminator(node->b);
    const Block **to = arena_array(an->scratch, const Block *, node->targets);
    for (u32 k = 0; k < node->targets; k++)
        to[k] = plan->target.v[node->first + k].to;
    Slice slice = {.live = an_live(an), .to = to, .targets = node->targets, .room = room};
    slice.needed = arena_array(an->scratch, RegId, room);
    slice.killed = arena_array(an->scratch, RegId, room);
    for (Instr *i = node->b->last; i; i = i->prev) {
        if (i->kind != INSTR_OP || (i == end && node->decided) ||
            (i != end && op_is_pure(i->op) && !slice_reads_result(&slice, i)))
            continue;
        read[NODE_ITEMS - ++n] = i;
        slice_take(&slice, i);
    }
    memmove(read, read + NODE_ITEMS - n, n * sizeof *read);
    return n;
}

static void fill_copy(Analyses *an, PhaseRun *run, const MachinePlan *plan, const PlanNode *node)
{
    Instr *read[NODE_ITEMS];
    u32 n = collect_read(an, plan, node, read);
    block_set_fall(node->made, node->decided ? plan->target.v[node->first].to : node->b->fall);
    block_append_clones(node->made, read, n);
    phase_count(run, "InstructionsCloned", n);
}

static void make_copies(Analyses *an, PhaseRun *run, MachinePlan *plan)
{
    for (u32 k = 0; k < plan->node.n; k++) {
        PlanNode *node = &plan->node.v[k];
        if (!node->used)
            continue;
        node->made = block_new_like(node->b, node->b->loc);
        block_move_to_end(node->made);
    }
    for (u32 k = 0; k < plan->node.n; k++)
        if (plan->node.v[k].used)
            fill_copy(an, run, plan, &plan->node.v[k]);
    for (u32 k = 0; k < 2 * plan->node.n; k++) {
        const PlanNode *node = &plan->node.v[k % plan->node.n];
        for (u32 w = node->first; node->used && w < node->first + node->targets; w++)
            redirect_to(plan, node->made, &plan->target.v[w], k >= plan->node.n);
    }
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

/* The leaves first .. first + n - 1, which have their first `depth` selps in common. */
typedef struct PlanLeaves {
    u32 first, n, depth;
} PlanLeaves;

/* Builds the branches from b, which has none, to the leaves. */
static void branch_to_leaves(Analyses *an, PhaseRun *run, const MachinePlan *plan, Block *b, PlanLeaves to)
{
    const PlanLeaf *leaf = &plan->leaf.v[to.first];
    u32 holding = 0;
    if (to.n == 1) {
        block_set_fall(b, final_block(plan, &leaf->target));
        return;
    }
    assert(to.depth < COUNT_OF(leaf->select)); /* leaves differ in one of the selps */
    while (holding < to.n && plan->leaf.v[to.first + holding].holds[to.depth])
        holding++;
    Block *rest = block_new_like(b, b->loc), *then;
    block_move_after(rest, b);
    branch_to_leaves(an, run, plan, rest, (PlanLeaves){to.first + holding, to.n - holding, to.depth + 1});
    if (holding == 1) {
        then = final_block(plan, &leaf->target);
    } else {
        then = block_new_like(b, b->loc);
        block_move_after(then, rest);
        branch_to_leaves(an, run, plan, then, (PlanLeaves){to.first, holding, to.depth + 1});
    }
    block_set_fall(b, rest);
    block_set_branch(b, instr_operand(leaf->select[to.depth], 3)->id, false, then, false);
    instr_inherit_origin(an->fn, block_terminator(b), plan->at, NULL);
    phase_count(run, "SelectUnfolded", 1);
}

static void redirect_edges(Analyses *an, PhaseRun *run, const MachinePlan *plan)
{
    for (u32 e = 0; e < 2 * plan->edge.n; e++) {
        const PlanEdge *edge = &plan->edge.v[e % plan->edge.n];
        bool past_idle = e >= plan->edge.n;
        if (!edge->used)
            continue;
        if (edge->leaves == 1)
            redirect_to(plan, edge->from, &plan->leaf.v[edge->first].target, past_idle);
        else if (!past_idle)
            branch_to_leaves(an, run, plan, edge->from, (PlanLeaves){edge->first, edge->leaves, 0});
    }
}

/* Moves each copy after a block that control could fall from into the copy's successor, one copy after each such block. */
static void lay_out(const MachinePlan *plan)
{
    for (u32 k = 0; k < plan->node.n; k++) {
        Block *made = plan->node.v[k].made;
        Block *to = made ? made->fall : NULL;
        if (to && to->prev && to->prev->fall != to && to->prev != made)
            block_move_after(made, to->prev);
    }
}

static void carry_out(Analyses *an, PhaseRun *run, MachinePlan *plan)
{
    u32 edges = 0;
    for (u32 e = 0; e < plan->edge.n; e++)
        edges += plan->edge.v[e].used;
    phase_passed(run, "StateMachineThreaded", plan->at, "%u edges of a state machine go straight to one of %u states",
                 edges, plan->states);
    phase_count(run, "StateMachineThreaded", 1);
    make_copies(an, run, plan);
    redirect_edges(an, run, plan);
    lay_out(plan);
}

/* ---- the phase -------------------------------------------------------------------------------------------------- */

/* Whether some branch of the function may divide a warp. */
static bool may_divide(Analyses *an)
{
    for_each_block(b, an->fn)
        if (block_branches(an->fn, b) && !uniform_has(&an_uniform(an)->branch_warp, b->id))
            return true;
    return false;
}

/* Why the loop stays as it is because threads reconverge; NULL: it need not. Copies of blocks may join sooner than the
 * originals did, and there are more of them. Which lanes come to a copy together is not asked of the plan. */
static const char *why_reconverge(Analyses *an)
{
    ReconvergeGate *gate = reconverge_new(an->scratch, an);
    const Waits *waits = reconverge_waits(gate);
    bool spins = waits->any_wait & WAIT_OTHERS, exchanges = waits->any_wait & WAIT_LANES;
    bool may_wait = spins || (exchanges && may_divide(an));
    bool sees = waits->any_active_set || waits->any_promise || effects_callers_see_lanes(an->summaries, an->fn);
    reconverge_free(gate);
    if (sees)
        return "an instruction of the function, or of a caller, sees which lanes come together";
    return may_wait ? "a thread may wait for others, which would reconverge elsewhere" : NULL;
}

static bool thread_loop(Analyses *an, const Knobs *knobs, PhaseRun *run, const Loop *loop)
{
    RegId selector[SELECTORS];
    bool walked = WITHIN(LOOP_HEIGHT_WALKED, loop->height <= LOOP_HEIGHT_WALKED);
    u32 n = walked ? state_selectors(loop, selector, SELECTORS) : 0;
    if (!walked && block_terminator(loop->latches[0]))
        phase_missed_once(run, "LoopNotSearched", block_terminator(loop->latches[0]),
                          "a loop with more than %u loops in one another is not searched for a state machine",
                          (u32)LOOP_HEIGHT_WALKED);
    if (n)
        an_compute(an, AN_FACTS | AN_LIVE | AN_UNIFORM | AN_POSTDOM);
    for (u32 k = 0; k < n; k++) {
        MachinePlan plan;
        const char *why;
        bool threads = plan_make(an, knobs, loop, selector[k], &plan, &why);
        if (threads && (why = why_reconverge(an)))
            threads = false;
        threads = threads && phase_may_rewrite(run);
        if (threads)
            carry_out(an, run, &plan);
        else if (why)
            phase_missed_once(run, "StateMachineNotThreaded", plan.at, "%s", why);
        plan_free(&plan);
        if (threads)
            return true;
    }
    return false;
}

static bool thread_one(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    an_freeze(an, AN_LOOPS | AN_POSTDOM | AN_FACTS | AN_LIVE | AN_UNIFORM);
    for (u32 k = an_loops(an)->n; k > 0; k--) /* inner loops first */
        if (thread_loop(an, knobs, run, an_loops(an)->v[k - 1]))
            return true;
    return false;
}

Phase phase_dfa_jump_threading;
PhaseResult phase_dfa_jump_threading(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    if (an_loops(an)->irreducible)
        return PHASE_UNCHANGED;
    return thread_one(an, knobs, run) ? PHASE_AGAIN : PHASE_UNCHANGED;
}
