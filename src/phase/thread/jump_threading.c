/* jump-threading: an edge into a block whose branch is decided on that edge goes straight to where the branch leads.
 *
 *     @p bra A; ...; bra J;              @p bra A; ...; bra D;
 *  A: ...;                            A: ...;
 *  J: @p bra C; D: ... C: ...            C: ... D: ...
 *
 * Decided: by a predicate tested before, by a comparison that was made before or is implied, by constants (flags, states),
 * by ranges of values (analysis/values.h), for branches and for tables. A selp of constants that decides is unfolded: the
 * edge becomes a branch on its predicate. Instructions of the block are cloned onto the edge
 * if what follows reads their results. A branch that all edges decide alike is removed. Follows LLVM's JumpThreading.
 *
 * Sound: every thread executes the same instructions as before but for pure ones whose results nobody reads. Only pure
 * instructions and plain loads and stores are duplicated, these onto every edge. The one block whose threads no longer meet is the bypassed one, J: so a branch X before it
 * gains power only if J was X's immediate post-dominator, and only over what lies between J and J's own. There no
 * convergent instruction may stand, unless no branch X divides a warp. That holds for any number of blocks threaded at
 * once, but not for a mixture of the two cases: these take turns. New paths are old paths, so a loop's header keeps
 * dominating it as long as headers are not bypassed: reducible stays reducible.
 *
 * Pays (tests/ptxas/THREADING.md) where ptxas does not predicate what J's branch decides. Where a warp may come to J in parts,
 * they no longer run together after it: then nothing before J may be predicated either, all edges into J must be decided, so
 * that its branch vanishes, and what is now executed once a part must not outweigh it. Edges out of loops never qualify.
 *
 * Declines: headers, and whatever makes a latch, an entry or an exit of a loop; clones of `i = i + 1` in loops (ptxas no
 * longer counts them); blocks with pragmas, inner scopes, or labels that debug data names. No PHIs, so no threshold
 * for them; comparisons are found by dominance, not by a search over predecessors. The branch of a header or of the entry block
 * goes where all paths to it decide it alike. */
#include "analysis/reconverge.h"
#include "analysis/values.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/thread/body.h"
#include "phase/thread/region.h"
#include "target/ptxas.h"

enum {
    PREDS = 64,   /* of a block that is looked at */
    BUDGET = 512, /* instructions cloned in a function, in all its rounds: PhaseRun.spent */
    SET_UP_BLOCKS = 4,
    SET_UP = 24,      /* machine instructions in front of a loop from which on its guard stays */
    ACCESS_SLOTS = 8, /* what it costs that parts of a warp access memory one after the other */
    BRANCH_SLOTS = 3  /* what a branch that divides a warp costs: BSSY, BRA, BSYNC */
};

typedef struct Threader {
    PhaseRun *run;
    Function *fn;
    RegionScratch scratch;
    BitSet uniform;       /* branches, by Instr.origin, that do not divide a warp; see remember_uniform */
    bool convergent;      /* the function has convergent instructions */
    bool convergent_turn; /* this sweep threads blocks before convergent instructions; else the others */
    VEC(Block *) made;    /* blocks of clones: until the round ends, the blocks before them stay as the facts know them */
    VEC(Instr *) unread;  /* selps to be removed when the round ends: facts speak of them */
    ReconvergeGate *gate; /* of this sweep; NULL: not asked yet, and nothing is rewritten yet */
    bool changed;         /* in this round */
    bool other_turn;      /* a block was left to sweeps of the other kind */
} Threader;

/* An edge into the block that is looked at. */
typedef struct InEdge {
    Block *from, *to; /* to: where control goes on; NULL: not decided, or not to be touched */
    Block *otherwise; /* where it goes if the predicate of `select` does not hold; NULL: `to` in any case */
    Instr *select;    /* the selp in `from` that decides */
} InEdge;

typedef struct Candidate {
    Block *b;
    InEdge edge[PREDS];
    u32 edges, decided;
    u32 cost; /* of b, in machine instructions */
} Candidate;

/* ---- decisions ------------------------------------------------------------------------------------------------- */

/* given, *undecided: see analysis/values.h. from: NULL if it does not matter how control came to b. */
static Block *decided_target(const Threader *t, const Block *from, Block *b, const Given *given, Instr **undecided)
{
    const Facts *facts = an_facts(t->run->an);
    Instr *end = block_terminator(b);
    ProgramPoint place = {from, b, end};
    *undecided = NULL;
    const Table *table = branch_table(end);
    if (table) {
        const Operand *index = instr_operand(end, 0);
        if (end->guard || !operand_register(index))
            return NULL;
        Range r = value_of_register_given(facts, place, index->id, 32, given, undecided);
        return range_is_constant(&r) && r.lo < table->targets.n ? fn_block(t->fn, table->targets.v[r.lo]) : NULL;
    }
    FactValue v = value_of_predicate_given(facts, place, end->guard, given, undecided);
    if (v == FACT_UNKNOWN)
        return NULL;
    return (v == FACT_TRUE) != end->guard_not ? branch_target(end) : b->fall;
}

static bool writes_after(const Instr *at, RegId reg)
{
    for (const Instr *i = at->next; i; i = i->next)
        if (i->kind == INSTR_OP && instr_writes(i, reg))
            return true;
    return false;
}

static Given nothing_given(const Threader *t)
{
    i64 compares = t->run->knobs->jump_threading_implication_search_threshold;
    return (Given){.compares = compares ? (u32)compares : GIVEN_NO_COMPARES};
}

/* Unfolding: the edge from edge->from into b goes to one place if the predicate of a selp of constants holds, and to another
 * if it does not. The selp, which left the question open (NULL: none did), stands in `from`, or in b where edge->from is NULL. */
static bool decide_by_select(const Threader *t, Block *b, Instr *selp, InEdge *edge)
{
    Given given = nothing_given(t);
    Instr *undecided;
    if (t->run->knobs->jump_threading_disable_select_unfolding || !selp || selp->guard ||
        selp->block != (edge->from ? edge->from : b))
        return false;
    const Operand *by = instr_operand(selp, 3);
    if (by->kind != OPND_REG || by->sub != SUB_NONE || writes_after(selp, by->id))
        return false;
    given.selects = 1;
    given.select[0].selp = selp;
    given.select[0].first = !(by->flags & OPNDF_NOT);
    Block *to = decided_target(t, edge->from, b, &given, &undecided);
    if (!to || to == b)
        return false;
    given.select[0].first = !given.select[0].first;
    Block *otherwise = decided_target(t, edge->from, b, &given, &undecided);
    if (!otherwise || otherwise == b)
        return false;
    *edge = (InEdge){edge->from, to, to == otherwise ? NULL : otherwise, to == otherwise ? NULL : selp};
    return true;
}

static bool is_header(const Threader *t, const Block *b) { return loop_headed_by(an_loops(t->run->an), b); }

/* Whether b ends in a branch, or a table, that decides where control goes on. */
static bool decides(const Threader *t, const Block *b)
{
    const Instr *end = block_terminator(b);
    if (b->dead || !end || !order_reachable(an_order(t->run->an), b) || block_is_pinned(b))
        return false;
    return branch_table(end) ? !end->guard : block_two_way_branch(b) != NULL;
}

static bool may_be_bypassed(const Threader *t, const Block *b) { return b != t->fn->entry && !is_header(t, b); }

/* Finds where each edge into b leads; all_or_none: one that is not decided is enough. */
static void decide(const Threader *t, Block *b, bool all_or_none, Candidate *c)
{
    CfgList preds = cfg_preds(t->fn, b);
    Given given = nothing_given(t);
    Instr *undecided;
    *c = (Candidate){.b = b};
    if (preds.n > PREDS)
        return;
    for (u32 k = 0; k < preds.n; k++) {
        InEdge edge = {.from = preds.v[k].block};
        if (edge.from != b && order_reachable(an_order(t->run->an), edge.from)) {
            edge.to = decided_target(t, edge.from, b, &given, &undecided);
            if (!edge.to)
                decide_by_select(t, b, undecided, &edge);
        }
        if (edge.to && (edge.to == b || !order_reachable(an_order(t->run->an), edge.to)))
            edge.to = NULL;
        c->edge[c->edges++] = edge;
        c->decided += edge.to != NULL;
        if (all_or_none && !edge.to) {
            c->decided = 0;
            return;
        }
    }
}

/* ---- what must not happen -------------------------------------------------------------------------------------- */

/* NULL, or what would become of a loop if an edge went past b to `to`. */
static const char *why_loops_change(const Threader *t, const Block *b, const Block *to, const Body *body)
{
    const Loops *loops = an_loops(t->run->an);
    const Loop *loop = loop_of(loops, b);
    if (t->run->knobs->jump_threading_across_loop_headers)
        return NULL;
    if (is_header(t, to))
        return "a loop would get another latch or entry";
    if (loop && !loop_contains(loops, loop, to))
        return "a loop would get another exit";
    if (loop && body_steps_a_counter(body))
        return "a loop's counter would be stepped in two places";
    return NULL;
}

/* Edges that may lead to `to`. */
static u32 entries_of(const Candidate *c, const Block *to)
{
    u32 n = 0;
    for (u32 k = 0; k < c->edges; k++)
        n += c->edge[k].to == to || (c->edge[k].to && c->edge[k].otherwise == to);
    return n;
}

/* Whether no earlier edge leads to the same place, whatever a selp says. */
static bool is_first_entry(const Candidate *c, u32 edge)
{
    for (u32 k = 0; k < edge; k++)
        if (!c->edge[k].select && c->edge[k].to == c->edge[edge].to)
            return false;
    return c->edge[edge].to && !c->edge[edge].select;
}

/* Edges that lead to the same place share their clones. */
static bool makes_clones(const Candidate *c, u32 edge) { return c->edge[edge].select || is_first_entry(c, edge); }

static bool leaves_a_loop(const Threader *t, const InEdge *edge, const Block *b)
{
    const Loops *loops = an_loops(t->run->an);
    const Loop *loop = loop_of(loops, edge->from);
    return loop && !loop_contains(loops, loop, b);
}

/* What is short after a branch ptxas predicates: then there is no branch to be saved. */
static bool is_predicated(Threader *t, const Block *b)
{
    if (branch_table(block_terminator(b)))
        return false;
    for (u32 k = 0; k < block_edge_count(b); k++) {
        ThreadRegion region = region_after(t->run->an, &t->scratch, b, block_edge_target(b, k));
        if (!region.whole || region.heavy)
            return false;
    }
    return true;
}

/* NULL, or why warps that come to b divided must keep meeting there: what they execute one after the other is more than the branch. */
static const char *why_divergence_costs(Threader *t, const Candidate *c)
{
    Block *stop = region_reconvergence_point(t->run->an, c->b);
    u64 saved = c->cost - 1 + BRANCH_SLOTS, spent = 0;
    bool table = branch_table(block_terminator(c->b)) != NULL;
    if (c->decided < c->edges)
        return "warps reconverge there, and other edges still need the branch";
    if (!table && !region_heavy_before(t->run->an, &t->scratch, c->b))
        return "ptxas predicates what lies before, and the branch costs nothing more than the one that would be left";
    for (u32 k = 0; k < c->edges; k++) {
        Body body;
        const InEdge *edge = &c->edge[k];
        if (leaves_a_loop(t, edge, c->b))
            return "threads that leave a loop at different times reconverge there";
        body_collect(t->run->an, c->b, edge->to, edge->otherwise, &body);
        spent += body_cost(&body) + (k > 0 ? ACCESS_SLOTS * body_accesses(&body) : 0) + (edge->select ? BRANCH_SLOTS : 0);
    }
    for (u32 k = 0; k < block_edge_count(c->b); k++) {
        Block *to = block_edge_target(c->b, k);
        if (to == stop || entries_of(c, to) <= 1)
            continue;
        ThreadRegion region = region_after(t->run->an, &t->scratch, c->b, to);
        if (!region.whole || region.loops)
            return "warps reconverge there, and their parts would execute too much one after the other";
        spent += (u64)region.cost * (entries_of(c, to) - 1);
    }
    return spent <= saved
               ? NULL
               : "warps reconverge there, and their parts would execute more one after the other than the branch costs";
}

/* Whether something convergent can be reached before the paths from b meet again. */
static bool convergent_after(Threader *t, const Block *b)
{
    for (u32 k = 0; t->convergent && k < block_edge_count(b); k++) {
        ThreadRegion region = region_after(t->run->an, &t->scratch, b, block_edge_target(b, k));
        if (!region.whole || region.convergent)
            return true;
    }
    return false;
}

/* Takes back the decisions that cannot be used; answers the reason for one of them. */
static const char *drop_edges(Threader *t, Candidate *c)
{
    const char *why = NULL;
    const Knobs *knobs = t->run->knobs;
    bool in_loop = loop_of(an_loops(t->run->an), c->b) != NULL;
    i64 limit = in_loop && knobs->jump_threading_loop_threshold >= 0 ? knobs->jump_threading_loop_threshold
                                                                     : knobs->jump_threading_threshold;
    u32 left = *t->run->spent < BUDGET ? BUDGET - *t->run->spent : 0;
    for (u32 k = 0; k < c->edges; k++) {
        InEdge *edge = &c->edge[k];
        Body body;
        const char *why_not = NULL;
        if (!edge->to)
            continue;
        if (!body_collect(t->run->an, c->b, edge->to, edge->otherwise, &body) || body_cost(&body) > limit)
            why_not = in_loop ? "more instructions would be cloned than --jump-threading-threshold allows, or "
                                "--jump-threading-loop-threshold"
                              : "more instructions would be cloned than --jump-threading-threshold allows";
        else if (body.n > 1 && makes_clones(c, k) && body.n > left)
            why_not = "the function's budget of cloned instructions is used up";
        else if (edge->select && body_writes(&body, instr_operand(edge->select, 3)->id))
            why_not = "the block writes the predicate that selects";
        else if (!(why_not = why_loops_change(t, c->b, edge->to, &body)) && edge->otherwise)
            why_not = why_loops_change(t, c->b, edge->otherwise, &body);
        if (!why_not) {
            left -= !makes_clones(c, k) ? 0 : body.n < left ? body.n : left;
            continue;
        }
        why = why_not;
        edge->to = NULL;
        c->decided--;
    }
    return why;
}

/* NULL, or why what the block loads or stores stays in one place: the clones of it must not be more than all that goes. */
static const char *why_accesses_stay(const Threader *t, const Candidate *c)
{
    u32 cost = 0, accesses = 0;
    for (u32 k = 0; k < c->edges; k++) {
        const InEdge *edge = &c->edge[k];
        Body body;
        if (!edge->to || !makes_clones(c, k))
            continue;
        body_collect(t->run->an, c->b, edge->to, edge->otherwise, &body);
        accesses += body_accesses(&body);
        cost += body_cost(&body);
    }
    bool pays = c->decided == c->edges && cost <= c->cost;
    return accesses && !pays ? "what it loads and stores would stand in more places for too little" : NULL;
}

/* ---- rewriting ------------------------------------------------------------------------------------------------- */

/* Where there are convergent instructions, what is uniform when the phase begins counts (analysis/convergence.h), else in each
 * round anew. */
static void remember_uniform(Threader *t)
{
    if (t->uniform.bits)
        return;
    const BitSet *uniform = &an_uniform(t->run->an)->branch_warp;
    t->uniform = bitset_new(t->run->kept, t->fn->origins + 1);
    for_each_block(b, t->fn)
        if (block_terminator(b) && uniform_has(uniform, b->id))
            bitset_add(&t->uniform, block_terminator(b)->origin);
    for_each_block(b, t->fn) /* a branch with several copies is uniform if all of them are */
        if (block_terminator(b) && !uniform_has(uniform, b->id))
            bitset_del(&t->uniform, block_terminator(b)->origin);
}

static ReconvergeGate *gate_of(Threader *t)
{
    if (!t->gate) {
        t->gate = reconverge_new(t->run->arena, t->run->an);
        reconverge_prepare(t->gate);
    }
    return t->gate;
}

/* Most functions have nothing to thread, so analyses are asked for when a question needs them; but before the first rewrite of
 * a round, since the answers are those of the function that the round began with. */
static void prepare_rewrite(Threader *t)
{
    gate_of(t);
    an_compute(t->run->an, AN_LIVE | AN_POSTDOM);
    remember_uniform(t);
}

/* Clones of the body go to the end of `at`, each after the .loc it had. */
static void append_clones(Threader *t, const Body *body, Block *at)
{
    const Instr *loc = at->last && at->last->kind == INSTR_LOC ? at->last : at->last ? instr_loc(at->last) : at->loc;
    for (u32 k = 0; k < body->n; k++) {
        const Instr *own = instr_loc(body->v[k]);
        if (own && own != loc)
            instr_append(at, instr_clone(t->fn, own));
        loc = own;
        instr_append(at, instr_clone(t->fn, body->v[k]));
    }
    *t->run->spent += body->n;
    phase_count(t->run, "InstructionsCloned", body->n);
}

/* The block after which a clone of b, from `from` to `to`, costs the fewest jumps. */
static Block *place_before(Block *b, Block *from, const Block *to)
{
    if (from->fall == b)
        return from;
    return to->prev && to->prev->fall != to ? to->prev : b;
}

/* A block for clones of b, laid out after `after`. */
static Block *block_of_clones(Threader *t, Block *b, Block *after)
{
    Block *made = block_new_like(b, b->loc);
    block_move_after(made, after);
    vec_push(&t->made, made);
    return made;
}

/* Once nobody asks for facts any more: the clones become the end of the one block that goes to them, where there is one. */
static void join_made(Threader *t)
{
    while (t->made.n) {
        Block *made = vec_pop(&t->made), *from = cfg_single_pred(t->fn, made);
        if (from && block_can_join(from, made))
            block_join(from, made);
    }
}

/* All edges of c that lead to `to`, whatever a selp says, go there, through one clone of what is needed. */
static void thread_to(Threader *t, Candidate *c, Block *to)
{
    Body body;
    Block *only = NULL, *through = to;
    body_collect(t->run->an, c->b, to, NULL, &body);
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to == to && !c->edge[k].select)
            only = c->edge[k].from;
    if (body.n) {
        through = block_of_clones(t, c->b, place_before(c->b, only, to));
        append_clones(t, &body, through);
        block_set_fall(through, to);
    }
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to == to && !c->edge[k].select)
            block_redirect(c->edge[k].from, c->b, through);
}

/* Whether nobody reads what the selp gives once its edge is threaded. */
static bool is_unread(const Threader *t, const InEdge *edge, const Body *body)
{
    RegId reg = instr_operand(edge->select, 0)->id;
    for (const Instr *i = edge->select->next; i; i = i->next)
        if (i->kind == INSTR_OP && instr_reads(i, reg))
            return false;
    for (u32 k = 0; k < body->n; k++)
        if (instr_reads(body->v[k], reg))
            return false;
    return !body_is_live_on(t->run->an, edge->to, edge->otherwise, reg);
}

/* The edge becomes a branch on the predicate of its selp: the branch of c->b, asked earlier. */
static void thread_select(Threader *t, const Candidate *c, const InEdge *edge)
{
    Instr *end = block_terminator(c->b);
    const Operand *by = instr_operand(edge->select, 3);
    bool unread = cfg_succs(t->fn, edge->from).n == 1;
    Block *at = block_of_clones(t, c->b, place_before(c->b, edge->from, edge->to));
    Body body;
    body_collect(t->run->an, c->b, edge->to, edge->otherwise, &body);
    unread = unread && is_unread(t, edge, &body);
    append_clones(t, &body, at);
    block_redirect(edge->from, c->b, at);
    block_set_fall(at, edge->otherwise);
    block_set_branch(at, by->id, false, edge->to, op_has_modifier(end->op, ".uni"));
    instr_inherit_origin(t->fn, block_terminator(at), end, NULL);
    if (unread)
        vec_push(&t->unread, edge->select);
    phase_count(t->run, "SelectUnfolded", 1);
}

static void thread(Threader *t, Candidate *c)
{
    prepare_rewrite(t);
    phase_passed(t->run, "BranchThreaded", block_terminator(c->b),
                 "%u of %u edges to this branch go straight to its target", c->decided, c->edges);
    phase_count(t->run, "BranchThreaded", 1);
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to && c->edge[k].select)
            thread_select(t, c, &c->edge[k]);
        else if (is_first_entry(c, k))
            thread_to(t, c, c->edge[k].to);
    t->changed = true;
}

static bool has_select(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && i->op->opcode == OPC_SELP)
            return true;
    return false;
}

/* A selp of constants in b itself decides the branch: it asks the selp's predicate instead. */
static bool branch_on_predicate(Threader *t, Block *b)
{
    InEdge edge = {.from = NULL};
    Instr *end = block_terminator(b);
    if (branch_table(end) || !has_select(b))
        return false;
    Given given = nothing_given(t);
    Instr *undecided;
    decided_target(t, NULL, b, &given, &undecided);
    if (!decide_by_select(t, b, undecided, &edge) || !edge.select || !phase_may_rewrite(t->run))
        return false;
    RegId by = instr_operand(edge.select, 3)->id;
    prepare_rewrite(t);
    phase_passed(t->run, "SelectUnfolded", end, "the branch asks the predicate that a selp of constants stands for");
    phase_count(t->run, "SelectUnfolded", 1);
    instr_set_guard(end, by, edge.to != branch_target(end));
    t->changed = true;
    return true;
}

/* Of the blocks from b on, up to a loop, as far as there is one successor. */
static u32 set_up_cost(const Threader *t, const Block *b)
{
    u32 cost = 0;
    for (u32 k = 0; b && k < SET_UP_BLOCKS && !is_header(t, b) && !block_terminator(b); k++, b = b->fall)
        for_each_instr(i, b)
            cost += ptxas_cost(i);
    return cost;
}

/* Whether the branch can only skip a loop and much that sets it up. It costs one instruction a thread. Without it ptxas makes one
 * block of the set-up and of what comes before, and orders that for latency: more values are live at a time. Measured, see
 * tests/ptxas/THREADING.md: `loop_guard`. */
static bool guards_a_loop(Threader *t, const Block *b, Block *to)
{
    if (branch_table(block_terminator(b)))
        return false;
    an_compute(t->run->an, AN_POSTDOM);
    const Block *stop = region_reconvergence_point(t->run->an, b);
    Block *other = to == b->fall ? branch_target(block_terminator(b)) : b->fall;
    if (other != stop)
        return false;
    ThreadRegion region = region_after(t->run->an, &t->scratch, b, to);
    /* what begins the function is one block with all of it */
    return region.loops && (b == t->fn->entry ? region.set_up : set_up_cost(t, to)) >= SET_UP;
}

static const char WHY_PREDICATED[] = "ptxas predicates what the branch decides";
static const char WHY_SOONER[] =
    "threads would reconverge sooner, in front of what one of them may wait for, or see others";

/* NULL, or why paths after b may not meet sooner than before, once no thread goes over it where it needs not. */
static const char *why_not_sooner(Threader *t, const Candidate *c, bool converged)
{
    for (u32 k = 0; k < c->edges; k++)
        for (u32 which = 0; which < 2; which++) {
            Block *to = which ? c->edge[k].otherwise : c->edge[k].to;
            if (to && reconverge_decided(gate_of(t), c->b, to, region_reconvergence_point(t->run->an, c->b), converged) !=
                          RECONVERGE_SAFE)
                return WHY_SOONER;
        }
    return NULL;
}

/* Whether paths after b may not meet sooner than before, if its branch always goes to `to`. */
static bool moves_point(Threader *t, Block *b, Block *to)
{
    const Block *old = region_reconvergence_point(t->run->an, b);
    ReconvergeRisk risk = reconverge_decided(gate_of(t), b, to, old, false);
    if (risk != RECONVERGE_ACTIVE_SET)
        return risk != RECONVERGE_SAFE;
    remember_uniform(t);
    return !region_is_reached_convergently(t->run->an, &t->scratch, b, &t->uniform) ||
           reconverge_decided(gate_of(t), b, to, old, true) != RECONVERGE_SAFE;
}

/* The branch of b always goes to `to`: it decides nothing. */
static bool fold(Threader *t, Block *b, Block *to)
{
    Instr *end = block_terminator(b);
    if (guards_a_loop(t, b, to)) {
        phase_missed_once(t->run, "BranchNotThreaded", end,
                          "the branch is always decided, but ptxas needs fewer registers with a loop's set-up after it");
        return false;
    }
    an_compute(t->run->an, AN_POSTDOM);
    if (moves_point(t, b, to)) {
        phase_missed_once(t->run, "BranchNotThreaded", end, "%s", WHY_SOONER);
        return false;
    }
    if (!phase_may_rewrite(t->run))
        return false;
    prepare_rewrite(t);
    phase_passed(t->run, "BranchDecided", end, "the branch is decided alike on every path to it");
    phase_count(t->run, "BranchDecided", 1);
    block_remove_terminator(b);
    block_set_fall(b, to);
    t->changed = true;
    return true;
}

/* Where all edges into c->b lead, if they agree. */
static Block *agreed_target(const Candidate *c)
{
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to != c->edge[0].to || c->edge[k].select)
            return NULL;
    return c->edges ? c->edge[0].to : NULL;
}

/* Headers and the entry block are not bypassed, but their branches go as well. */
static void fold_decided(Threader *t, Block *b)
{
    Given given = nothing_given(t);
    Instr *undecided;
    Block *to = decided_target(t, NULL, b, &given, &undecided);
    if (!to || to == b || !order_reachable(an_order(t->run->an), to))
        return;
    if (is_header(t, b) && is_predicated(t, b))
        phase_missed_once(t->run, "BranchNotThreaded", block_terminator(b), "%s", WHY_PREDICATED);
    else
        fold(t, b, to);
}

/* NULL, or why the threads that come to b must meet there. *later: it is left to sweeps of the other kind. */
static const char *why_they_meet(Threader *t, const Candidate *c, bool *later)
{
    const char *predicated = is_predicated(t, c->b) ? WHY_PREDICATED : NULL;
    bool convergent = convergent_after(t, c->b);
    if (predicated && !convergent)
        return predicated; /* without asking what is uniform */
    remember_uniform(t);
    bool converged = region_is_reached_convergently(t->run->an, &t->scratch, c->b, &t->uniform);
    if (convergent && !converged)
        return "threads of a warp reconverge there, and a convergent instruction follows";
    *later = convergent != t->convergent_turn;
    const char *sooner = predicated ? NULL : why_not_sooner(t, c, converged);
    return predicated || converged || sooner ? (predicated ? predicated : sooner) : why_divergence_costs(t, c);
}

static void try_block(Threader *t, Block *b)
{
    Candidate c;
    bool later = false;
    u32 cost;
    if (!decides(t, b))
        return;
    an_compute(t->run->an, AN_FACTS);
    if (branch_on_predicate(t, b))
        return;
    if (!may_be_bypassed(t, b)) {
        fold_decided(t, b);
        return;
    }
    const char *why = body_why_not(t->run->an, b, &cost);
    decide(t, b, why && !t->run->sink->wants_remarks, &c);
    c.cost = cost;
    Block *to = agreed_target(&c);
    if (!c.decided || (to && fold(t, b, to)))
        return;
    if (!why) {
        an_compute(t->run->an, AN_LIVE | AN_POSTDOM);
        why = drop_edges(t, &c);
        const char *stays = why_accesses_stay(t, &c);
        if (c.decided)
            why = stays ? stays : why_they_meet(t, &c, &later);
    }
    t->other_turn |= !why && later;
    if (why)
        phase_missed_once(t->run, "BranchNotThreaded", block_terminator(b), "%s", why);
    else if (!later && phase_may_rewrite(t->run))
        thread(t, &c);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

static bool has_convergent(const Threader *t)
{
    for_each_block(b, t->fn)
        for_each_instr(i, b)
            if (instr_is_convergent(i, t->run->an->summaries))
                return true;
    return false;
}

/* Whether anything changed. */
static bool thread_sweep(Threader *t)
{
    const Order *order = an_order(t->run->an);
    t->other_turn = false;
    for (u32 p = 0; p < order->count; p++)
        try_block(t, order->rpo[p]);
    while (t->unread.n)
        instr_remove(vec_pop(&t->unread));
    join_made(t);
    return t->changed;
}

static Threader *threader_of(PhaseRun *run)
{
    Threader *t = run->state;
    if (!t) {
        t = run->state = arena_new(run->kept, Threader);
        *t = (Threader){.run = run, .fn = run->fn};
        t->convergent = has_convergent(t);
    }
    if (!t->convergent)
        t->uniform.bits = 0;
    t->changed = false;
    t->scratch = (RegionScratch){.seen = marks_new(run->arena, run->fn->blocks.n)};
    return t;
}

Phase phase_jump_threading;
PhaseResult phase_jump_threading(PhaseRun *run)
{
    an_freeze(run->an, AN_LOOPS | AN_POSTDOM | AN_FACTS | AN_LIVE | AN_UNIFORM);
    if (run->knobs->disable_jump_threading_pass || an_loops(run->an)->irreducible)
        return PHASE_UNCHANGED;
    Threader *t = threader_of(run);
    t->gate = NULL;
    bool changed = thread_sweep(t);
    if (!changed && t->other_turn) {
        t->convergent_turn = !t->convergent_turn;
        changed = thread_sweep(t);
    }
    if (t->gate)
        reconverge_free(t->gate);
    vec_free(&t->scratch.work);
    vec_free(&t->unread);
    vec_free(&t->made);
    run->may_do_more |= changed && t->convergent; /* see remember_uniform() */
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
