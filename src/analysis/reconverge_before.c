/* What stands between some blocks and the branch that divides the paths to them. The walks go backwards. */
#include "analysis/reconverge_gate.h"

#include "base/bound.h"

/* EffectWaits of the loops that hold b and not `outside`. Threads that leave such a loop wait for those that stay in it, and these
 * may come to any block of it. */
static u8 waits_around(ReconvergeGate *g, const Block *b, const Block *outside)
{
    const Loops *loops = an_loops(g->an);
    const Loop *outermost = NULL;
    for (const Loop *l = loop_of(loops, b); l && !loop_contains(loops, l, outside); l = l->parent)
        outermost = l;
    if (loop_is_irreducible(loops, b))
        return g->w->any_wait;
    u8 waits = 0;
    for (u32 k = 0; outermost && k < outermost->block_count && waits != g->w->any_wait; k++) {
        if (!gate_may_look(g, k))
            return g->w->any_wait;
        waits |= gate_knows(g, outermost->blocks[k]) ? gate_waits(g, outermost->blocks[k]) : g->w->any_wait;
    }
    return waits;
}

/* Carries a walk backwards on from its blocks number `first` and later; EffectWaits of all blocks that it comes to. */
static u8 walk_back(ReconvergeGate *g, u32 first)
{
    u8 waits = 0;
    for (u32 k = first; k < g->work.n; k++) {
        if (!gate_may_look(g, k))
            return g->w->any_wait;
        waits |= gate_waits(g, an_order(g->an)->rpo[g->work.v[k]]);
        if (waits == g->w->any_wait)
            return waits;
        gate_visit_preds(g, g->work.v[k]);
    }
    return waits;
}

/* Positions of the blocks that leave the function, or more of them than a walk may look at. */
static const VecU32 *exits_of(ReconvergeGate *g)
{
    const Order *order = an_order(g->an);
    for (u32 p = 0; p < order->count && !g->exits_known && WITHIN(WALK, g->exits.n <= WALK); p++)
        if (order_leaves_function(order, p))
            vec_push(&g->exits, p);
    g->exits_known = true;
    return &g->exits;
}

/* Whether every thread that comes to `top` has executed x before, once. */
static bool is_of_all(ReconvergeGate *g, const Block *x, const Block *top)
{
    return dominates(an_dom(g->an), x, top) && !loop_of(an_loops(g->an), x);
}

/* Marks the blocks from which some path leaves the function without passing a or b; false: they are too many. */
static bool walk_exits(ReconvergeGate *g, const Block *a, const Block *b)
{
    const Order *order = an_order(g->an);
    gate_start(g);
    marks_add(&g->seen, order->index[a->id]);
    marks_add(&g->seen, order->index[b->id]);
    for (u32 k = 0; k < exits_of(g)->n; k++)
        gate_visit(g, g->exits.v[k]);
    for (u32 k = 0; k < g->work.n; k++) {
        if (!gate_may_look(g, k))
            return false;
        gate_visit_preds(g, g->work.v[k]);
    }
    return true;
}

/* EffectWaits of the blocks on paths from the entry that leave the function without passing a or b. ptxas takes one of several exits
 * for the function's end, and threads that reconverge there wait for those that leave by the others. */
static u8 waits_of_other_exits(ReconvergeGate *g, const Block *top, const Block *a, const Block *b)
{
    const Order *order = an_order(g->an);
    u8 waits = 0;
    if (reconverge_stop(g, reconvergence_point(g, top)))
        return 0;
    if (!walk_exits(g, a, b))
        return g->w->any_wait;
    Marks leads_out = g->seen;
    if (!g->spare.of)
        g->spare = marks_new(g->arena, order->count);
    g->seen = g->spare;
    gate_start(g);
    gate_visit(g, 0);
    for (u32 k = 0; k < g->work.n; k++) {
        const Block *x = order->rpo[g->work.v[k]];
        if (x == a || x == b || !marks_has(&leads_out, g->work.v[k]))
            continue;
        waits |= is_of_all(g, x, top) ? 0 : gate_waits(g, x);
        for_each_edge(e, &order->succ, g->work.v[k])
            gate_visit(g, order->succ.to[e]);
    }
    g->spare = g->seen;
    g->seen = leads_out;
    return waits;
}

/* Whether `top`, by paths that pass neither a nor b, leads back to itself and never out of the function. Threads may then go around
 * while those that have come to a or b wait for them. Not *whole: the walk is too long. */
static bool goes_around(ReconvergeGate *g, const Block *top, const Block *a, const Block *b, bool *whole)
{
    const Order *order = an_order(g->an);
    *whole = true;
    if (top == a || top == b || (!loop_of(an_loops(g->an), top) && !an_loops(g->an)->irreducible))
        return false;
    gate_start(g);
    gate_visit(g, order->index[top->id]);
    bool around = false;
    for (u32 k = 0; k < g->work.n; k++) {
        if (order_leaves_function(order, g->work.v[k]))
            return false;
        if (!gate_may_look(g, k)) {
            *whole = false;
            return true;
        }
        for_each_edge(e, &order->succ, g->work.v[k]) {
            const Block *to = order->rpo[order->succ.to[e]];
            around |= to == top;
            if (to != a && to != b)
                gate_visit(g, order->succ.to[e]);
        }
    }
    return around;
}

/* EffectWaits of what threads may pass that come back to `top` before they come to a or b. The way back need not be a
 * loop of its own. */
static u8 waits_of_rounds(ReconvergeGate *g, const Block *top, const Block *a, const Block *b)
{
    bool whole;
    u8 waits = 0;
    if (!goes_around(g, top, a, b, &whole))
        return 0;
    for (u32 k = 0; whole && k < g->work.n; k++)
        waits |= gate_waits(g, an_order(g->an)->rpo[g->work.v[k]]);
    return whole ? waits : g->w->any_wait;
}

/* Whether some branch that such threads pass may divide a warp. */
static bool rounds_divide(ReconvergeGate *g, const Block *top, const Block *a, const Block *b)
{
    bool whole, found = false;
    if (!goes_around(g, top, a, b, &whole))
        return false;
    for (u32 k = 0; k < g->work.n && !found; k++)
        found = reconverge_branch_divides(g, an_order(g->an)->rpo[g->work.v[k]]);
    return found || !whole;
}

u8 reconverge_waits_before(ReconvergeGate *g, Block *a, Block *b)
{
    if (!g->w->any_wait)
        return 0;
    const Order *order = an_order(g->an);
    const Block *top = gate_knows(g, a) && gate_knows(g, b) ? dom_nearest_common(an_dom(g->an), a, b) : NULL;
    if (!top)
        return g->w->any_wait;
    gate_start_below(g, top);
    gate_visit(g, order->index[a->id]);
    gate_visit(g, order->index[b->id]);
    u32 ends = g->work.n;
    for (u32 k = 1; k < ends; k++)
        gate_visit_preds(g, g->work.v[k]);
    u8 waits = waits_around(g, top, a) | waits_around(g, a, b) | waits_around(g, b, a) | walk_back(g, ends);
    waits |= waits == g->w->any_wait ? 0 : waits_of_rounds(g, top, a, b);
    return waits == g->w->any_wait ? waits : waits | waits_of_other_exits(g, top, a, b);
}

bool reconverge_branch_divides(const ReconvergeGate *g, const Block *b)
{
    bool branches = block_edge_count(b) > 1 || (block_edge_count(b) == 1 && block_leaves_function(g->an->fn, b));
    return branches && !uniform_has(&an_uniform(g->an)->branch_warp, b->id);
}

/* Whether some path leads from b to `at` that does not pass `point`, or the walk is too long. */
static bool comes_without(ReconvergeGate *g, const Block *b, const Block *at, const Block *point)
{
    const Order *order = an_order(g->an);
    VecU32 work = {0};
    bool found = false;
    if (!g->spare.of)
        g->spare = marks_new(g->arena, order->count);
    marks_clear(&g->spare);
    marks_add(&g->spare, order->index[point->id]);
    vec_push(&work, order->index[b->id]);
    for (u32 k = 0; k < work.n && !found; k++) {
        found = !gate_may_look(g, k);
        for_each_edge(e, &order->succ, work.v[k]) {
            u32 to = order->succ.to[e];
            found |= order->rpo[to] == at;
            if (marks_add(&g->spare, to))
                vec_push(&work, to);
        }
    }
    vec_free(&work);
    return found;
}

/* Whether the threads that b's branch divides reconverge at `at`, or in a block of the walk that all of them pass before. */
static bool comes_back(ReconvergeGate *g, const Block *b, const Block *at)
{
    const Block *point = reconvergence_point(g, b);
    if (point == at)
        return true;
    return point && gate_knows(g, point) && marks_has(&g->seen, an_order(g->an)->index[point->id]) &&
           !comes_without(g, b, at, point);
}

/* Whether a branch between `top`, itself included, and `at` may divide a warp whose threads reconverge neither at `at` nor before.
 * The walk backwards from `at` is carried on from its blocks number `first` and later. */
static bool walk_divides(ReconvergeGate *g, const Block *top, const Block *at, u32 first)
{
    for (u32 k = first; k < g->work.n; k++) {
        if (!gate_may_look(g, k))
            return true;
        gate_visit_preds(g, g->work.v[k]);
    }
    bool found = reconverge_branch_divides(g, top) && !comes_back(g, top, at);
    for (u32 k = first; k < g->work.n && !found; k++) {
        const Block *b = an_order(g->an)->rpo[g->work.v[k]];
        found = reconverge_branch_divides(g, b) && !comes_back(g, b, at);
    }
    return found;
}

/* Marks in g->above the blocks on paths from `top` to b; false: they are too many. Only the first of several questions about the
 * same two blocks walks. */
static bool walk_up(ReconvergeGate *g, const Block *top, const Block *b)
{
    if (g->above_top == top && g->above_of == b)
        return g->above_whole;
    Marks seen = g->seen;
    g->seen = g->above;
    g->above_top = top;
    g->above_of = b;
    g->above_whole = true;
    gate_start_below(g, top);
    gate_visit(g, an_order(g->an)->index[b->id]);
    for (u32 k = 1; k < g->work.n && g->above_whole; k++) {
        g->above_whole = gate_may_look(g, k);
        gate_visit_preds(g, g->work.v[k]);
    }
    g->above = g->seen;
    g->seen = seen;
    return g->above_whole;
}

bool reconverge_divides(ReconvergeGate *g, Block *a, Block *b)
{
    const Block *top = gate_knows(g, a) && gate_knows(g, b) ? dom_nearest_common(an_dom(g->an), a, b) : NULL;
    if (!top || an_loops(g->an)->irreducible)
        return true;
    if (reconverge_branch_divides(g, top) || !walk_up(g, top, a))
        return true;
    gate_start_below(g, top);
    gate_visit(g, an_order(g->an)->index[b->id]);
    for (u32 k = 1; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        /* only a branch that leads to both divides the threads that come to them */
        if (!gate_may_look(g, k) ||
            (marks_has(&g->above, position) && reconverge_branch_divides(g, an_order(g->an)->rpo[position])))
            return true;
        gate_visit_preds(g, position);
    }
    return rounds_divide(g, top, a, b);
}

/* EffectWaits of what threads may pass that diverge after `at` and come back to it in the loops around it. They may come
 * back through a block that dominates `at`. */
static u8 waits_of_returns(ReconvergeGate *g, const Block *at, const Block *old)
{
    const Order *order = an_order(g->an);
    const Loops *loops = an_loops(g->an);
    const Loop *outermost = loop_of(loops, at);
    u8 waits = 0;
    while (outermost && outermost->parent)
        outermost = outermost->parent;
    if (loop_is_irreducible(loops, at))
        return g->w->any_wait;
    if (!outermost)
        return 0;
    gate_start(g);
    marks_add(&g->seen, order->index[at->id]);
    for_each_edge(e, &order->succ, order->index[at->id])
        gate_visit(g, order->succ.to[e]);
    for (u32 k = 0; k < g->work.n && waits != g->w->any_wait; k++) {
        const Block *b = order->rpo[g->work.v[k]];
        if (!gate_may_look(g, k))
            return g->w->any_wait;
        if (b == old || !loop_contains(loops, outermost, b))
            continue;
        waits |= gate_waits(g, b);
        for_each_edge(e, &order->succ, g->work.v[k])
            gate_visit(g, order->succ.to[e]);
    }
    return waits;
}

ReconvergeRisk reconverge_at(ReconvergeGate *g, Block *at, const Block *old)
{
    if (!reconverge_matters(g) || at == old)
        return RECONVERGE_SAFE;
    const Block *top = gate_knows(g, at) ? an_dom(g->an)->idom[at->id] : NULL;
    ReconvergeRegion after = reconverge_from(g, at, old);
    u8 waits = g->w->any_wait;
    if (top) {
        gate_start_below(g, top);
        gate_visit_preds(g, an_order(g->an)->index[at->id]);
        waits = waits_around(g, top, at) | walk_back(g, 1);
        waits |= waits == g->w->any_wait ? 0 : waits_of_rounds(g, top, at, at);
        waits |= waits == g->w->any_wait ? 0 : waits_of_returns(g, at, old);
        waits |= waits == g->w->any_wait ? 0 : waits_of_other_exits(g, top, at, at);
    }
    ReconvergeRisk risk = reconverge_judge(g, waits, &after);
    if (risk == RECONVERGE_SAFE || !top || an_loops(g->an)->irreducible)
        return risk;
    gate_start_below(g, top);
    gate_visit_preds(g, an_order(g->an)->index[at->id]);
    return walk_divides(g, top, at, 1) ? risk : RECONVERGE_SAFE;
}
