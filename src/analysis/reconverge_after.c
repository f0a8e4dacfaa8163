/* What stands from a block to the point where its threads reconverged. The walks go forwards. */
#include "analysis/reconverge_gate.h"

ReconvergeRegion reconverge_whole_function(const ReconvergeGate *g)
{
    u8 ends = g->w->any_end | END_LEAVE;
    return (ReconvergeRegion){ends, g->w->any_wait, ends, g->w->any_convergent,
                              g->w->any_active_set || g->w->any_promise || g->caller_sees};
}

void reconverge_add_end(const ReconvergeGate *g, u32 position, ReconvergeRegion *region)
{
    if (!order_leaves_function(an_order(g->an), position))
        return;
    region->ends |= END_LEAVE;
    region->active_set |= g->caller_sees && reconverge_returns(an_order(g->an), position);
}

/* Whether some of the threads that come to i together may wait in it for the others, or go on before them. They may if they diverge in
 * a call, do not all name the same lanes, or poll. No thread passes a barrier of the whole block before all others have come to it. */
static bool instr_waits_apart(const ReconvergeGate *g, const Instr *i)
{
    Effects e = instr_effects(i, g->an->summaries);
    bool calls = instr_is(i, OPF_CALL);
    if (e.waits & WAIT_LANES && (calls || !uniform_names_lanes(an_uniform(g->an), i)))
        return true;
    return e.waits & WAIT_OTHERS && (calls || i->guard || e.barrier != BARRIER_CTA);
}

/* Whether that may be so anywhere in b, or, in irreducible code, in a loop around it. */
static bool waits_apart(const ReconvergeGate *g, const Block *b)
{
    u8 waits = g->w->waits[b->id];
    if (waits & WAIT_OTHERS && loop_is_irreducible(an_loops(g->an), b))
        return true;
    for (const Instr *i = waits & (WAIT_LANES | WAIT_OTHERS) ? b->first : NULL; i; i = i->next)
        if (i->kind == INSTR_OP && instr_waits_apart(g, i))
            return true;
    return false;
}

/* Adds the block at this position. If every path from `from` passes the block, all threads from there wait in it together.
 * Its waits then count only if one of them may last until another thread acts. */
static void add_block(const ReconvergeGate *g, u32 position, const Block *from, ReconvergeRegion *region)
{
    const Block *b = an_order(g->an)->rpo[position];
    u8 waits = gate_waits(g, b);
    if (!(waits & WAIT_OTHERS) && dominates(an_postdom(g->an), b, from) && !waits_apart(g, b))
        waits = 0;
    region->waits |= waits;
    region->ends |= g->w->ends[b->id];
    region->convergent |= g->w->convergent[b->id];
    region->active_set |= g->w->active_set[b->id];
    reconverge_add_end(g, position, region);
}

/* Adds to g->points where threads that diverge in the block reconverge before `old`: at its end, or in a loop or a call of
 * it. Adds the block itself if a part of them may wait in it. */
static void add_point(ReconvergeGate *g, u32 position, const Block *old)
{
    const Order *order = an_order(g->an);
    const Block *b = order->rpo[position], *point = reconvergence_point(g, b);
    if (waits_apart(g, b))
        vec_push(&g->points, position);
    bool before_old = block_edge_count(b) > 1 && point && point != old && marks_has(&g->seen, order->index[point->id]);
    if (before_old && reconverge_stop(g, point))
        vec_push(&g->points, order->index[point->id]);
}

bool reconverge_walk_on(ReconvergeGate *g, const Block *old)
{
    const Order *order = an_order(g->an);
    for (u32 k = 0; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        if (!gate_may_look(g, k))
            return false;
        for_each_edge(e, &order->succ, position)
            if (order->rpo[order->succ.to[e]] != old)
                gate_visit(g, order->succ.to[e]);
    }
    return true;
}

/* WaitEnds of the blocks on paths from g->points to `old`. */
static u8 ends_after_points(ReconvergeGate *g, const Block *old)
{
    u8 ends = 0;
    gate_start(g);
    for (u32 k = 0; k < g->points.n; k++)
        gate_visit(g, g->points.v[k]);
    if (!reconverge_walk_on(g, old))
        return g->w->any_end | END_LEAVE;
    for (u32 k = 0; k < g->work.n; k++)
        ends |= g->w->ends[an_order(g->an)->rpo[g->work.v[k]]->id];
    return ends;
}

/* The region of all blocks on paths from those that the walk has visited to `old`. All of them are reached from `from`. */
static ReconvergeRegion find_region(ReconvergeGate *g, const Block *from, const Block *old)
{
    ReconvergeRegion region = {0};
    if (!reconverge_walk_on(g, old))
        return reconverge_whole_function(g);
    for (u32 k = 0; k < g->work.n; k++)
        add_block(g, g->work.v[k], from, &region);
    vec_clear(&g->points);
    for (u32 k = 0; region.waits && k < g->work.n; k++)
        add_point(g, g->work.v[k], old);
    region.later_ends = g->points.n ? ends_after_points(g, old) : 0;
    return region;
}

static ReconvergeRegion find_after(ReconvergeGate *g, const Block *b, const Block *old)
{
    old = reconverge_stop(g, old);
    const Order *order = an_order(g->an);
    u32 position = order->index[b->id];
    gate_start(g);
    for_each_edge(e, &order->succ, position)
        if (order->rpo[order->succ.to[e]] != old)
            gate_visit(g, order->succ.to[e]);
    ReconvergeRegion region = find_region(g, b, old);
    reconverge_add_end(g, position, &region);
    return region;
}

ReconvergeRegion reconverge_after(ReconvergeGate *g, const Block *b, const Block *old)
{
    u32 epoch = g->an->fn->epoch[EPOCH_CODE];
    if (!gate_knows(g, b))
        return reconverge_whole_function(g);
    if (g->after_of != b || g->after_old != old || g->after_epoch != epoch)
        g->after = find_after(g, b, old);
    g->after_of = b;
    g->after_old = old;
    g->after_epoch = epoch;
    return g->after;
}

ReconvergeRegion reconverge_from(ReconvergeGate *g, const Block *at, const Block *old)
{
    if (!gate_knows(g, at))
        return reconverge_whole_function(g);
    if (at == old)
        return (ReconvergeRegion){0};
    old = reconverge_stop(g, old);
    gate_start(g);
    gate_visit(g, an_order(g->an)->index[at->id]);
    return find_region(g, at, old);
}

ReconvergeRisk reconverge_after_pure(ReconvergeGate *g, Block *at, const Block *old)
{
    if (!reconverge_matters(g) || at == old)
        return RECONVERGE_SAFE;
    ReconvergeRegion after = reconverge_from(g, at, old);
    return reconverge_judge(g, 0, &after);
}

/* Begins a walk at what the branch leads to, and walks on; false: it is too long, or nothing is known of the branch. */
static bool walk_after(ReconvergeGate *g, const Block *branch, const Block *stop)
{
    const Order *order = an_order(g->an);
    gate_start(g);
    if (!gate_knows(g, branch))
        return false;
    for_each_edge(e, &order->succ, order->index[branch->id])
        if (order->rpo[order->succ.to[e]] != stop)
            gate_visit(g, order->succ.to[e]);
    return reconverge_walk_on(g, stop);
}

ReconvergeRisk reconverge_joins(ReconvergeGate *g, const Block *branch)
{
    const Graph *pred = &an_order(g->an)->pred;
    ReconvergeRisk risk = RECONVERGE_SAFE;
    if (!reconverge_matters(g))
        return RECONVERGE_SAFE;
    const Block *old = gate_knows(g, branch) ? reconvergence_point(g, branch) : NULL;
    if (!walk_after(g, branch, reconverge_stop(g, old))) {
        ReconvergeRegion region = reconverge_whole_function(g);
        return reconverge_judge(g, g->w->any_wait, &region);
    }
    VecU32 between = g->work;
    g->work = (VecU32){0};
    for (u32 k = 0; k < between.n && risk == RECONVERGE_SAFE; k++)
        if (pred->start[between.v[k] + 1] - pred->start[between.v[k]] > 1)
            risk = reconverge_after_pure(g, an_order(g->an)->rpo[between.v[k]], old);
    vec_free(&between);
    return risk;
}

ReconvergeRisk reconverge_before_leaving(ReconvergeGate *g, const Block *b)
{
    if (!reconverge_matters(g) || uniform_has(&an_uniform(g->an)->branch_warp, b->id))
        return RECONVERGE_SAFE;
    ReconvergeRegion after = reconverge_after(g, b, NULL);
    return reconverge_judge(g, g->w->any_wait, &after);
}
