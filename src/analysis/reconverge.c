#include "analysis/reconverge_gate.h"

enum { LEAVING = 8 /* blocks that lead out of the function without doing anything */ };

bool reconverge_returns(const Order *order, u32 position)
{
    const Instr *end = block_terminator(order->rpo[position]);
    return order_leaves_function(order, position) && !(end && op_has(end->op, OPF_ENDS_THREAD));
}

/* Whether a caller may see which lanes return together. Where only one block returns all threads that return reconverge there:
 * ptxas does not wait for threads that have ended. */
static bool caller_may_see(Analyses *an)
{
    const Order *order = an_order(an);
    u32 n = 0;
    if (!effects_callers_see_lanes(an->summaries, an->fn))
        return false;
    for (u32 p = 0; p < order->count && n < 2; p++)
        n += reconverge_returns(order, p);
    return n > 1;
}

/* The analysis is not asked where its bases are frozen and out of date: it would keep an answer that mixes two states. */
const Waits *waits_now(Arena *arena, Analyses *an)
{
    const Loops *loops = an_loops(an);
    if (an->frozen & (AN_ORDER | AN_DOM | AN_LOOPS) & ~an_valid(an))
        return waits_compute(arena, an_order(an), an_dom(an), loops, an->summaries, WAITS_ALL);
    return waits_copy(arena, an_waits(an));
}

ReconvergeGate *reconverge_new(Arena *arena, Analyses *an) { return reconverge_new_of(arena, an, waits_now(arena, an)); }

ReconvergeGate *reconverge_new_of(Arena *arena, Analyses *an, const Waits *waits)
{
    ReconvergeGate *g = arena_new(arena, ReconvergeGate);
    g->an = an;
    g->w = waits;
    g->caller_sees = caller_may_see(an);
    g->arena = arena;
    g->seen = marks_new(arena, an_order(an)->count);
    g->above = marks_new(arena, an_order(an)->count);
    g->budget = WALKS_MIN + (u64)WALKS * an_order(an)->count;
    return g;
}

void reconverge_free(ReconvergeGate *gate)
{
    vec_free(&gate->work);
    vec_free(&gate->points);
    vec_free(&gate->exits);
}

bool reconverge_matters(const ReconvergeGate *g)
{
    return g->w->any_wait || g->w->any_active_set || g->w->any_promise || g->caller_sees;
}

u64 reconverge_budget(const ReconvergeGate *g) { return g->budget; }
void reconverge_set_budget(ReconvergeGate *g, u64 budget) { g->budget = budget; }

void reconverge_prepare(ReconvergeGate *g)
{
    if (reconverge_matters(g))
        an_compute(g->an, AN_POSTDOM | AN_UNIFORM);
}

const Waits *reconverge_waits(const ReconvergeGate *g) { return g->w; }

Block *reconvergence_point(ReconvergeGate *g, const Block *branch) { return dom_parent(an_postdom(g->an), branch); }

/* ptxas removes a weak load that nobody reads. */
static bool does_nothing(const Instr *i)
{
    if (i->kind != INSTR_OP || instr_is(i, OPF_TERMINATOR) || (i->op->known && op_is_pure(i->op)))
        return true;
    Effects e = instr_effects(i, NULL);
    return i->op->opcode == OPC_LD && e.reads && !e.strong && !e.writes;
}

bool reconverge_does_nothing(const Block *b)
{
    for_each_instr(i, b)
        if (!does_nothing(i))
            return false;
    return true;
}

/* hops: blocks that may still be looked at. */
static bool only_leaves(const Block *b, u32 *hops)
{
    for (; b && *hops; b = b->fall) {
        const Instr *end = block_terminator(b);
        --*hops;
        if (!reconverge_does_nothing(b))
            return false;
        if (b->falls_off || (end && !end->guard && op_has(end->op, OPF_NO_RETURN)))
            return true;
        if (end && !op_has(end->op, OPF_NO_RETURN) && !(branch_target(end) && only_leaves(branch_target(end), hops)))
            return false;
    }
    return false;
}

bool reconverge_only_leaves(const Block *b)
{
    u32 hops = LEAVING;
    return only_leaves(b, &hops);
}

static bool leaves(ReconvergeGate *g, const Block *b)
{
    u32 epoch = g->an->fn->epoch[EPOCH_CODE];
    if (!g->leaves) {
        g->blocks = g->an->fn->blocks.n;
        g->leaves = arena_array(g->arena, LeavesKnown, g->blocks);
    }
    if (b->id >= g->blocks)
        return reconverge_only_leaves(b);
    if (g->leaves[b->id].epoch != epoch)
        g->leaves[b->id] = (LeavesKnown){epoch, reconverge_only_leaves(b)};
    return g->leaves[b->id].leaves;
}

const Block *reconverge_stop(ReconvergeGate *g, const Block *old) { return old && !leaves(g, old) ? old : NULL; }

ReconvergeRisk reconverge_judge(const ReconvergeGate *g, u8 waits, const ReconvergeRegion *after)
{
    if (after->active_set)
        return RECONVERGE_ACTIVE_SET;
    bool may_wait = wait_may_end(g->w, waits, after->ends) || wait_may_end(g->w, after->waits, after->later_ends);
    return may_wait ? RECONVERGE_WAIT : RECONVERGE_SAFE;
}
