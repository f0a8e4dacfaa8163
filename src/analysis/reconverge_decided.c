/* A branch that is decided for the threads of some edges: where these may come together once its other edges are gone. */
#include "analysis/reconverge_gate.h"

#include "base/bound.h"

enum { POINTS = 64 /* reconvergence points after a branch that are looked at */ };

/* Whether some path leads from `to` back to the branch without passing `old`. The blocks on paths from `to` to `old` are in g->points,
 * all of them if *whole. */
static bool leads_back(ReconvergeGate *g, const Block *branch, const Block *to, const Block *old, bool *whole)
{
    *whole = true;
    if (!loop_of(an_loops(g->an), branch) && !an_loops(g->an)->irreducible)
        return false;
    gate_start(g);
    gate_visit(g, an_order(g->an)->index[to->id]);
    *whole = reconverge_walk_on(g, old);
    vec_clear(&g->points);
    for (u32 k = 0; k < g->work.n; k++)
        vec_push(&g->points, g->work.v[k]);
    return !*whole || marks_has(&g->seen, an_order(g->an)->index[branch->id]);
}

/* Whether every path from `to` passes b before it comes to `old` or leaves the function, once `branch` only goes to `to`. *around:
 * whether some path passes the branch again before b. */
static bool must_pass(ReconvergeGate *g, const Block *b, const Block *branch, const Block *to, const Block *old,
                      bool *around)
{
    const Order *order = an_order(g->an);
    *around = false;
    gate_start(g);
    gate_visit(g, order->index[to->id]);
    for (u32 k = 0; k < g->work.n; k++) {
        const Block *at = order->rpo[g->work.v[k]];
        *around |= at == branch && at != b;
        if (at == b || at == branch)
            continue;
        if (!gate_may_look(g, k))
            return *around = true;
        if (order_leaves_function(order, g->work.v[k]))
            return false;
        for_each_edge(e, &order->succ, g->work.v[k]) {
            if (order->rpo[order->succ.to[e]] == old)
                return false;
            gate_visit(g, order->succ.to[e]);
        }
    }
    return true;
}

/* Whether some path leads from b back to it that passes neither the branch nor `old`. */
static bool returns_within(ReconvergeGate *g, const Block *b, const Block *branch, const Block *old)
{
    const Order *order = an_order(g->an);
    gate_start(g);
    for_each_edge(e, &order->succ, order->index[b->id])
        gate_visit(g, order->succ.to[e]);
    for (u32 k = 0; k < g->work.n; k++) {
        const Block *at = order->rpo[g->work.v[k]];
        if (at == b || !gate_may_look(g, k))
            return true;
        if (at == branch || at == old)
            continue;
        for_each_edge(e, &order->succ, g->work.v[k])
            gate_visit(g, order->succ.to[e]);
    }
    return false;
}

/* The risk of b, which the branch dominates. Threads may come to b in different iterations; those that come early now
 * wait there for the others. between: the blocks on paths from `to` to `old`. */
static ReconvergeRisk waits_for_iterations(ReconvergeGate *g, Block *b, const Block *old, const VecU32 *between)
{
    ReconvergeRegion after = reconverge_from(g, b, old);
    ReconvergeRisk risk = reconverge_judge(g, g->w->any_wait, &after);
    for (u32 k = 0; risk != RECONVERGE_SAFE && k < between->n; k++)
        if (reconverge_branch_divides(g, an_order(g->an)->rpo[between->v[k]]))
            return risk;
    return RECONVERGE_SAFE;
}

/* Judges a loop that leads from `to` back to the branch. Without the branch's other edges blocks may post-dominate that did
 * not before. */
static ReconvergeRisk decided_in_loop(ReconvergeGate *g, const Block *branch, const Block *to, const Block *old)
{
    VecU32 between = g->points;
    ReconvergeRisk risk = RECONVERGE_SAFE;
    g->points = (VecU32){0};
    for (u32 k = 0; k < between.n && risk == RECONVERGE_SAFE; k++) {
        Block *b = an_order(g->an)->rpo[between.v[k]];
        bool around, dominated = strictly_dominates(an_dom(g->an), branch, b);
        if (!must_pass(g, b, branch, to, old, &around))
            continue;
        if (!dominated)
            risk = reconverge_at(g, b, old);
        /* some threads come by the branch, others do not, or come around first */
        if (risk == RECONVERGE_SAFE && (around || (dominated && returns_within(g, b, branch, old))))
            risk = waits_for_iterations(g, b, old, &between);
    }
    vec_free(&between);
    return risk;
}

/* Puts the branch and the blocks on paths from it to its reconvergence point into g->work; false: they are too many. */
static bool walk_from(ReconvergeGate *g, const Block *branch)
{
    const Block *old = reconvergence_point(g, branch);
    gate_start(g);
    gate_visit(g, an_order(g->an)->index[branch->id]);
    return reconverge_walk_on(g, old);
}

void reconverge_decide(ReconvergeGate *g, const Block *branch, const Block *to)
{
    const Order *order = an_order(g->an);
    if (!gate_knows(g, branch) || !gate_knows(g, to))
        return;
    if (!g->only)
        g->only = arena_array(g->arena, u32, order->count);
    u32 position = order->index[branch->id];
    g->only[position] = order->index[to->id] + 1;
    if (g->last < position)
        g->last = position;
}

void reconverge_bypass(ReconvergeGate *g, const Block *branch)
{
    if (!gate_knows(g, branch) || !reconverge_matters(g))
        return;
    if (!g->bypassed.of)
        g->bypassed = marks_new(g->arena, an_order(g->an)->count);
    g->bypassed_all |= !walk_from(g, branch);
    for (u32 k = 0; k < g->work.n; k++)
        marks_add(&g->bypassed, g->work.v[k]);
}

/* Whether no branch that is decided already can follow this one. Outside of loops, paths only lead to later positions. */
static bool follows_decided(const ReconvergeGate *g, const Block *branch)
{
    const Loops *loops = an_loops(g->an);
    return !g->only || (an_order(g->an)->index[branch->id] > g->last && !loop_of(loops, branch) && !loops->irreducible);
}

/* Whether the paths from the branch to its reconvergence point may differ by now. A branch on them is decided already, or
 * they share a block with those of a branch that some threads bypass. If neither holds, all answers about the branch are
 * still true: a decision before it takes paths away, and only those that lead to the branch. */
static bool has_other_paths(ReconvergeGate *g, const Block *branch)
{
    bool follows = follows_decided(g, branch);
    if (follows && !g->bypassed.of)
        return false;
    if (g->bypassed_all || !walk_from(g, branch))
        return true;
    for (u32 k = 0; k < g->work.n; k++)
        if ((g->bypassed.of && marks_has(&g->bypassed, g->work.v[k])) || (!follows && g->only[g->work.v[k]]))
            return true;
    return false;
}

/* Whether no path from `to` leaves the function, once `branch` and the branches that are decided already go one way each. The threads
 * would be in an infinite loop. */
static bool never_leaves(ReconvergeGate *g, const Block *branch, const Block *to)
{
    const Order *order = an_order(g->an);
    gate_start(g);
    marks_add(&g->seen, order->index[branch->id]);
    gate_visit(g, order->index[to->id]);
    for (u32 k = 0; k < g->work.n; k++) {
        if (!gate_may_look(g, k))
            return true;
        u32 only = g->only ? g->only[g->work.v[k]] : 0;
        if (only) {
            gate_visit(g, only - 1);
            continue;
        }
        if (order_leaves_function(order, g->work.v[k]))
            return false;
        for_each_edge(e, &order->succ, g->work.v[k])
            gate_visit(g, order->succ.to[e]);
    }
    return true;
}

/* Whether never_leaves() holds of a branch in a loop. A branch elsewhere takes nothing away from a loop. */
static bool loops_forever(ReconvergeGate *g, const Block *branch, const Block *to)
{
    bool asks = gate_knows(g, branch) && gate_knows(g, to);
    return asks && (loop_of(an_loops(g->an), branch) || an_loops(g->an)->irreducible) && never_leaves(g, branch, to);
}

ReconvergeRisk reconverge_decided(ReconvergeGate *g, const Block *branch, Block *to, const Block *old, bool converged)
{
    if (!reconverge_matters(g))
        return loops_forever(g, branch, to) ? RECONVERGE_WAIT : RECONVERGE_SAFE;
    ReconvergeRegion after =
        gate_knows(g, branch) && gate_knows(g, to) ? reconverge_after(g, branch, old) : reconverge_whole_function(g);
    /* ptxas takes the exit that most blocks lead to for the function's end: without an edge it may be another exit */
    bool loses_exit = gate_knows(g, branch) && g->w->any_active_set && !reconverge_stop(g, old);
    if (!converged && (after.active_set || loses_exit))
        return RECONVERGE_ACTIVE_SET;
    if (!gate_knows(g, branch) || !gate_knows(g, to))
        return reconverge_judge(g, g->w->any_wait, &after);
    if (has_other_paths(g, branch))
        return RECONVERGE_WAIT;
    if (to == old)
        return RECONVERGE_SAFE;
    bool whole;
    bool is_loop = leads_back(g, branch, to, old, &whole);
    if (is_loop && whole && never_leaves(g, branch, to))
        return RECONVERGE_WAIT;
    if (is_loop)
        return whole ? decided_in_loop(g, branch, to, old) : reconverge_judge(g, g->w->any_wait, &after);
    u32 steps = 0;
    for (Block *b = to; b && b != old; b = reconvergence_point(g, b)) {
        if (!gate_knows(g, b) || BEYOND(POINTS, ++steps == POINTS))
            return reconverge_judge(g, g->w->any_wait, &after);
        if (strictly_dominates(an_dom(g->an), branch, b))
            continue; /* no other path comes there */
        ReconvergeRisk risk = reconverge_at(g, b, old);
        if (risk != RECONVERGE_SAFE)
            return risk;
    }
    return RECONVERGE_SAFE;
}
