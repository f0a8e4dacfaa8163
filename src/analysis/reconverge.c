#include "analysis/reconverge.h"
#include "base/marks.h"

enum {
    WALK = 256,         /* blocks of one walk */
    POINTS = 64,        /* reconvergence points after a branch that are looked at */
    LEAVING = 8,        /* blocks that lead out of the function without doing anything */
    WALKS = 64,         /* blocks of all walks: so many for each block of the function, */
    WALKS_MIN = 1 << 16 /* and these */
};

/* Whether a block only leaves the function, as its code was in an epoch; 0: not known. */
typedef struct LeavesKnown {
    u32 epoch;
    bool leaves;
} LeavesKnown;

struct ReconvergeGate {
    Arena *arena;
    Analyses *an;
    const Waits *w;   /* its own: later ones are of the function as it is then */
    bool caller_sees; /* what follows a return may depend on which lanes return together */
    Marks seen;       /* by position in the order */
    Marks above;      /* of the walk from above_of up to above_top */
    const Block *above_of, *above_top;
    bool above_whole; /* it was not too long */
    u32 *owner;       /* by position; NULL: nobody asked yet */
    LeavesKnown *leaves; /* by Block.id, below `blocks`; NULL: nobody asked yet */
    u32 blocks;
    /* the last answer of reconverge_after(): a branch is asked about for each of its in-edges */
    const Block *after_of, *after_old;
    u32 after_epoch;
    ReconvergeRegion after;
    VecU32 work, points;
    Marks spare;  /* of the other one of two walks */
    VecU32 exits; /* positions of blocks that leave the function */
    bool exits_known;
    u64 budget;
};

static bool returns(const Order *order, u32 position)
{
    const Instr *end = block_terminator(order->rpo[position]);
    return order_leaves_function(order, position) && !(end && op_has(end->op, OPF_ENDS_THREAD));
}

/* Where one block returns, and the others that leave end the thread, the threads that return reconverge there at the latest:
 * ptxas does not wait for those that are gone. */
static bool caller_may_see(Analyses *an)
{
    const Order *order = an_order(an);
    u32 n = 0;
    if (!effects_callers_see_lanes(an->summaries, an->fn))
        return false;
    for (u32 p = 0; p < order->count && n < 2; p++)
        n += returns(order, p);
    return n > 1;
}

/* What rests on frozen bases that are out of date is nobody else's. */
const Waits *waits_now(Arena *arena, Analyses *an)
{
    const Loops *loops = an_loops(an);
    if (an->frozen & (AN_ORDER | AN_DOM | AN_LOOPS) & ~an_valid(an))
        return waits_compute(arena, an->fn, an_order(an), an_dom(an), loops, an->summaries);
    return waits_copy(arena, an_waits(an));
}

ReconvergeGate *reconverge_new(Arena *arena, Analyses *an)
{
    ReconvergeGate *g = arena_new(arena, ReconvergeGate);
    g->an = an;
    g->w = waits_now(arena, an);
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

bool reconverge_matters(const ReconvergeGate *g) { return g->w->any_wait || g->w->any_active_set || g->caller_sees; }

void reconverge_prepare(ReconvergeGate *g)
{
    if (reconverge_matters(g))
        an_compute(g->an, AN_POSTDOM | AN_UNIFORM);
}

const Waits *reconverge_waits(const ReconvergeGate *g) { return g->w; }

Block *reconvergence_point(ReconvergeGate *g, const Block *branch)
{
    return dom_has(an_postdom(g->an), branch) ? an_postdom(g->an)->idom[branch->id] : NULL;
}

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

/* hops: blocks that are looked at yet. */
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

/* Up to where a region goes that ends at `old`; NULL: up to where threads leave. */
static const Block *stop_of(ReconvergeGate *g, const Block *old) { return old && !leaves(g, old) ? old : NULL; }

/* ---- walks ------------------------------------------------------------------------------------------------------- */

static void start(ReconvergeGate *g)
{
    marks_clear(&g->seen);
    vec_clear(&g->work);
}

static void visit(ReconvergeGate *g, u32 position)
{
    if (marks_add(&g->seen, position))
        vec_push(&g->work, position);
}

/* Whether the walk may look at its block number k. */
static bool may_look(ReconvergeGate *g, u32 k)
{
    if (k >= WALK || g->budget == 0)
        return false;
    g->budget--;
    return true;
}

static bool known(const ReconvergeGate *g, const Block *b)
{
    return order_reachable(an_order(g->an), b) && b->id < g->w->blocks;
}

static u8 waits_of(const ReconvergeGate *g, const Block *b)
{
    return g->w->waits[b->id] | (g->w->loop[b->id] ? WAIT_OTHERS : 0);
}

/* Threads that a branch in a loop divides wait for those that stay in it, and these may come to anything that it holds. */
static u8 waits_around(ReconvergeGate *g, const Block *b, const Block *outside)
{
    const Loops *loops = an_loops(g->an);
    const Loop *outermost = NULL;
    for (const Loop *l = loop_of(loops, b); l && !loop_contains(loops, l, outside); l = l->parent)
        outermost = l;
    if (loops->irreducible && bitset_has(&loops->in_irreducible, b->id))
        return g->w->any_wait;
    u8 waits = 0;
    for (u32 k = 0; outermost && k < outermost->block_count && waits != g->w->any_wait; k++) {
        if (!may_look(g, k))
            return g->w->any_wait;
        waits |= known(g, outermost->blocks[k]) ? waits_of(g, outermost->blocks[k]) : g->w->any_wait;
    }
    return waits;
}

/* Begins a walk backwards that stops at `top`: the block is not looked at, nor are its predecessors. */
static void start_below(ReconvergeGate *g, const Block *top)
{
    start(g);
    visit(g, an_order(g->an)->index[top->id]);
}

static void visit_preds(ReconvergeGate *g, u32 position)
{
    const Graph *pred = &an_order(g->an)->pred;
    for_each_edge(e, pred, position)
        visit(g, pred->to[e]);
}

/* The rest of a walk backwards, from the blocks that were visited first .. . */
static u8 walk_back(ReconvergeGate *g, u32 first)
{
    u8 waits = 0;
    for (u32 k = first; k < g->work.n; k++) {
        if (!may_look(g, k))
            return g->w->any_wait;
        waits |= waits_of(g, an_order(g->an)->rpo[g->work.v[k]]);
        if (waits == g->w->any_wait)
            return waits;
        visit_preds(g, g->work.v[k]);
    }
    return waits;
}

/* At most as many as a walk looks at. */
static const VecU32 *exits_of(ReconvergeGate *g)
{
    const Order *order = an_order(g->an);
    for (u32 p = 0; p < order->count && !g->exits_known && g->exits.n <= WALK; p++)
        if (order_leaves_function(order, p))
            vec_push(&g->exits, p);
    g->exits_known = true;
    return &g->exits;
}

/* Whether all threads that come to what `top` dominates have executed x, in one go. */
static bool is_of_all(ReconvergeGate *g, const Block *x, const Block *top)
{
    return dominates(an_dom(g->an), x, top) && !loop_of(an_loops(g->an), x);
}

/* Marks the blocks that lead out of the function otherwise than by a or b; false: they are too many. */
static bool walk_exits(ReconvergeGate *g, const Block *a, const Block *b)
{
    const Order *order = an_order(g->an);
    start(g);
    marks_add(&g->seen, order->index[a->id]);
    marks_add(&g->seen, order->index[b->id]);
    for (u32 k = 0; k < exits_of(g)->n; k++)
        visit(g, g->exits.v[k]);
    for (u32 k = 0; k < g->work.n; k++) {
        if (!may_look(g, k))
            return false;
        visit_preds(g, g->work.v[k]);
    }
    return true;
}

/* EffectWaits of what stands on paths that leave the function otherwise than by a or b, and part from these at `top` or above: of
 * several exits ptxas takes one for the function's end, and threads that wait for one another on the way there also wait for those
 * that leave by the others. */
static u8 waits_of_other_exits(ReconvergeGate *g, const Block *top, const Block *a, const Block *b)
{
    const Order *order = an_order(g->an);
    u8 waits = 0;
    if (stop_of(g, reconvergence_point(g, top)))
        return 0;
    if (!walk_exits(g, a, b))
        return g->w->any_wait;
    Marks leads_out = g->seen;
    if (!g->spare.of)
        g->spare = marks_new(g->arena, order->count);
    g->seen = g->spare;
    start(g);
    visit(g, 0);
    for (u32 k = 0; k < g->work.n; k++) {
        const Block *x = order->rpo[g->work.v[k]];
        if (x == a || x == b || !marks_has(&leads_out, g->work.v[k]))
            continue;
        waits |= is_of_all(g, x, top) ? 0 : waits_of(g, x);
        for_each_edge(e, &order->succ, g->work.v[k])
            visit(g, order->succ.to[e]);
    }
    g->spare = g->seen;
    g->seen = leads_out;
    return waits;
}

u8 reconverge_waits_before(ReconvergeGate *g, Block *a, Block *b)
{
    if (!g->w->any_wait)
        return 0;
    const Order *order = an_order(g->an);
    const Block *top = known(g, a) && known(g, b) ? dom_nearest_common(an_dom(g->an), a, b) : NULL;
    if (!top)
        return g->w->any_wait;
    start_below(g, top);
    visit(g, order->index[a->id]);
    visit(g, order->index[b->id]);
    u32 ends = g->work.n;
    for (u32 k = 1; k < ends; k++)
        visit_preds(g, g->work.v[k]);
    u8 waits = waits_around(g, top, a) | waits_around(g, a, b) | waits_around(g, b, a) | walk_back(g, ends);
    return waits == g->w->any_wait ? waits : waits | waits_of_other_exits(g, top, a, b);
}

static bool divides(const ReconvergeGate *g, const Block *b)
{
    bool branches = block_edge_count(b) > 1 || (block_edge_count(b) == 1 && block_leaves_function(g->an->fn, b));
    return branches && !uniform_has(&an_uniform(g->an)->branch_warp, b->id);
}

/* Whether the threads that b's branch parts reconverge in the walk's blocks in any case, or at `at`. */
static bool comes_back(ReconvergeGate *g, const Block *b, const Block *at)
{
    const Block *point = reconvergence_point(g, b);
    return point == at || (point && known(g, point) && marks_has(&g->seen, an_order(g->an)->index[point->id]));
}

/* Whether a branch of the walk backwards from `at`, or of its top, may divide threads that come there. Blocks first .. are
 * looked at. */
static bool walk_divides(ReconvergeGate *g, const Block *top, const Block *at, u32 first)
{
    for (u32 k = first; k < g->work.n; k++) {
        if (!may_look(g, k))
            return true;
        visit_preds(g, g->work.v[k]);
    }
    bool found = divides(g, top) && !comes_back(g, top, at);
    for (u32 k = first; k < g->work.n && !found; k++) {
        const Block *b = an_order(g->an)->rpo[g->work.v[k]];
        found = divides(g, b) && !comes_back(g, b, at);
    }
    return found;
}

/* Marks the blocks between `top` and b; false: they are too many. Of several questions in a row about one block and top, the
 * first walks. */
static bool walk_up(ReconvergeGate *g, const Block *top, const Block *b)
{
    if (g->above_top == top && g->above_of == b)
        return g->above_whole;
    Marks seen = g->seen;
    g->seen = g->above;
    g->above_top = top;
    g->above_of = b;
    g->above_whole = true;
    start_below(g, top);
    visit(g, an_order(g->an)->index[b->id]);
    for (u32 k = 1; k < g->work.n && g->above_whole; k++) {
        g->above_whole = may_look(g, k);
        visit_preds(g, g->work.v[k]);
    }
    g->above = g->seen;
    g->seen = seen;
    return g->above_whole;
}

bool reconverge_divides(ReconvergeGate *g, Block *a, Block *b)
{
    const Block *top = known(g, a) && known(g, b) ? dom_nearest_common(an_dom(g->an), a, b) : NULL;
    if (!top || an_loops(g->an)->irreducible)
        return true;
    if (divides(g, top) || !walk_up(g, top, a))
        return true;
    start_below(g, top);
    visit(g, an_order(g->an)->index[b->id]);
    for (u32 k = 1; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        /* only those that lead to both */
        if (!may_look(g, k) || (marks_has(&g->above, position) && divides(g, an_order(g->an)->rpo[position])))
            return true;
        visit_preds(g, position);
    }
    return false;
}

/* ---- what comes after --------------------------------------------------------------------------------------------- */

static ReconvergeRegion whole_function(const ReconvergeGate *g)
{
    u8 ends = g->w->any_end | END_LEAVE;
    return (ReconvergeRegion){ends, g->w->any_wait, ends, g->w->any_convergent, g->w->any_active_set || g->caller_sees};
}

static void add_end(const ReconvergeGate *g, u32 position, ReconvergeRegion *region)
{
    if (!order_leaves_function(an_order(g->an), position))
        return;
    region->ends |= END_LEAVE;
    region->active_set |= g->caller_sees && returns(an_order(g->an), position);
}

/* What all threads that come from `from` execute in one go, they wait for together. */
static void add_block(const ReconvergeGate *g, u32 position, const Block *from, ReconvergeRegion *region)
{
    const Block *b = an_order(g->an)->rpo[position];
    u8 waits = waits_of(g, b);
    if (!(waits & WAIT_OTHERS) && dominates(an_postdom(g->an), b, from))
        waits = 0;
    region->waits |= waits;
    region->ends |= g->w->ends[b->id];
    region->convergent |= g->w->convergent[b->id];
    region->active_set |= g->w->active_set[b->id];
    add_end(g, position, region);
}

/* Notes where threads that diverge at the end of the block, or in a call, reconverge before `old`. */
static void add_point(ReconvergeGate *g, u32 position, const Block *old)
{
    const Order *order = an_order(g->an);
    const Block *b = order->rpo[position], *point = dom_has(an_postdom(g->an), b) ? an_postdom(g->an)->idom[b->id] : NULL;
    if (g->w->waits[b->id] & WAIT_OTHERS)
        vec_push(&g->points, position);
    bool before_old = block_edge_count(b) > 1 && point && point != old && marks_has(&g->seen, order->index[point->id]);
    if (before_old && !leaves(g, point))
        vec_push(&g->points, order->index[point->id]);
}

/* Goes on with the walk; false: it is too long. */
static bool walk_on(ReconvergeGate *g, const Block *old)
{
    const Order *order = an_order(g->an);
    for (u32 k = 0; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        if (!may_look(g, k))
            return false;
        for_each_edge(e, &order->succ, position)
            if (order->rpo[order->succ.to[e]] != old)
                visit(g, order->succ.to[e]);
    }
    return true;
}

/* The WaitEnds that stand after the points. */
static u8 ends_after_points(ReconvergeGate *g, const Block *old)
{
    u8 ends = 0;
    start(g);
    for (u32 k = 0; k < g->points.n; k++)
        visit(g, g->points.v[k]);
    if (!walk_on(g, old))
        return g->w->any_end | END_LEAVE;
    for (u32 k = 0; k < g->work.n; k++)
        ends |= g->w->ends[an_order(g->an)->rpo[g->work.v[k]]->id];
    return ends;
}

/* Of the walk that was started, up to `old`. from: a block that all its paths come from. */
static ReconvergeRegion find_region(ReconvergeGate *g, const Block *from, const Block *old)
{
    ReconvergeRegion region = {0};
    if (!walk_on(g, old))
        return whole_function(g);
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
    old = stop_of(g, old);
    const Order *order = an_order(g->an);
    u32 position = order->index[b->id];
    start(g);
    for_each_edge(e, &order->succ, position)
        if (order->rpo[order->succ.to[e]] != old)
            visit(g, order->succ.to[e]);
    ReconvergeRegion region = find_region(g, b, old);
    add_end(g, position, &region);
    return region;
}

ReconvergeRegion reconverge_after(ReconvergeGate *g, const Block *b, const Block *old)
{
    u32 epoch = g->an->fn->epoch[EPOCH_CODE];
    if (!known(g, b))
        return whole_function(g);
    if (g->after_of != b || g->after_old != old || g->after_epoch != epoch)
        g->after = find_after(g, b, old);
    g->after_of = b;
    g->after_old = old;
    g->after_epoch = epoch;
    return g->after;
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

ReconvergeRisk reconverge_judge(const ReconvergeGate *g, u8 waits, const ReconvergeRegion *after)
{
    if (after->active_set)
        return RECONVERGE_ACTIVE_SET;
    bool may_wait = wait_may_end(g->w, waits, after->ends) || wait_may_end(g->w, after->waits, after->later_ends);
    return may_wait ? RECONVERGE_WAIT : RECONVERGE_SAFE;
}

ReconvergeRegion reconverge_from(ReconvergeGate *g, const Block *at, const Block *old)
{
    if (!known(g, at))
        return whole_function(g);
    if (at == old)
        return (ReconvergeRegion){0};
    old = stop_of(g, old);
    start(g);
    visit(g, an_order(g->an)->index[at->id]);
    return find_region(g, at, old);
}

ReconvergeRisk reconverge_after_pure(ReconvergeGate *g, Block *at, const Block *old)
{
    if (!reconverge_matters(g) || at == old)
        return RECONVERGE_SAFE;
    ReconvergeRegion after = reconverge_from(g, at, old);
    return reconverge_judge(g, 0, &after);
}

ReconvergeRisk reconverge_at(ReconvergeGate *g, Block *at, const Block *old)
{
    if (!reconverge_matters(g) || at == old)
        return RECONVERGE_SAFE;
    const Block *top = known(g, at) ? an_dom(g->an)->idom[at->id] : NULL;
    ReconvergeRegion after = reconverge_from(g, at, old);
    u8 waits = g->w->any_wait;
    if (top) {
        start_below(g, top);
        visit_preds(g, an_order(g->an)->index[at->id]);
        waits = waits_around(g, top, at) | walk_back(g, 1);
        waits |= waits == g->w->any_wait ? 0 : waits_of_other_exits(g, top, at, at);
    }
    ReconvergeRisk risk = reconverge_judge(g, waits, &after);
    if (risk == RECONVERGE_SAFE || !top || an_loops(g->an)->irreducible)
        return risk;
    start_below(g, top);
    visit_preds(g, an_order(g->an)->index[at->id]);
    return walk_divides(g, top, at, 1) ? risk : RECONVERGE_SAFE;
}

ReconvergeRisk reconverge_before_leaving(ReconvergeGate *g, const Block *b)
{
    if (!reconverge_matters(g) || uniform_has(&an_uniform(g->an)->branch_warp, b->id))
        return RECONVERGE_SAFE;
    ReconvergeRegion after = reconverge_after(g, b, NULL);
    return reconverge_judge(g, g->w->any_wait, &after);
}

/* ---- decisions ---------------------------------------------------------------------------------------------------- */

/* In `owner`: one more than the leaf from which alone the block is reached, or LEAF_SHARED. */
#define LEAF_SHARED UINT32_MAX

/* Goes on from block to block, twice at most through each: as a leaf's own, and as shared. */
static void reach_as(ReconvergeGate *g, u32 position, u32 as)
{
    if (marks_add(&g->seen, position))
        g->owner[position] = as;
    else if (g->owner[position] == as || g->owner[position] == LEAF_SHARED)
        return;
    else
        g->owner[position] = LEAF_SHARED;
    vec_push(&g->work, position);
}

/* False: the walk is too long. */
static bool find_owners(ReconvergeGate *g, const ReconvergeLeaf *leaf, u32 leaves, const Block *old)
{
    const Order *order = an_order(g->an);
    if (!g->owner)
        g->owner = arena_array(g->arena, u32, order->count);
    start(g);
    for (u32 l = 0; l < leaves; l++)
        if (leaf[l].target != old)
            reach_as(g, order->index[leaf[l].target->id], l + 1);
    for (u32 k = 0; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        if (!may_look(g, k / 2))
            return false;
        for_each_edge(e, &order->succ, position)
            if (order->rpo[order->succ.to[e]] != old)
                reach_as(g, order->succ.to[e], g->owner[position]);
    }
    return true;
}

static ReconvergeRisk judge_owned(const ReconvergeGate *g, const Block *b, const ReconvergeLeaf *leaf)
{
    bool sees = (leaf->parts && g->w->convergent[b->id]) || (leaf->gathers && g->w->active_set[b->id]);
    return sees ? RECONVERGE_ACTIVE_SET : RECONVERGE_SAFE;
}

/* Adds the end of what stands at the position, and of `old`, where it leads there and `old` does nothing but leave: threads that
 * reconverge before it leave together. */
static void add_ends(ReconvergeGate *g, u32 position, const Block *old, ReconvergeRegion *end)
{
    const Order *order = an_order(g->an);
    add_end(g, position, end);
    for_each_edge(e, &order->succ, position)
        if (order->rpo[order->succ.to[e]] == old && !stop_of(g, old)) {
            end->ends |= g->w->awaits_leaving ? END_LEAVE : 0;
            end->active_set |= g->caller_sees;
        }
}

typedef struct LeafRegion {
    u8 waits, ends; /* of the blocks that it alone leads to */
} LeafRegion;

/* Whether threads that come to a leaf over several edges may wait there for those of other leaves, until these leave. */
static ReconvergeRisk judge_joins(const ReconvergeGate *g, const ReconvergeLeaf *leaf, u32 leaves, const LeafRegion *of)
{
    u8 once = 0, twice = 0;
    for (u32 l = 0; l < leaves; l++) {
        twice |= once & of[l].waits;
        once |= of[l].waits;
    }
    for (u32 l = 0; l < leaves; l++)
        if (leaf[l].joins && wait_may_end(g->w, (u8)(once & ~of[l].waits) | twice, of[l].ends))
            return RECONVERGE_WAIT;
    return RECONVERGE_SAFE;
}

/* What the walk has found. */
static ReconvergeRisk judge_owners(ReconvergeGate *g, const ReconvergeLeaf *leaf, u32 leaves, const ReconvergeLeaf *all,
                                   const Block *old)
{
    LeafRegion *alone = arena_array(g->arena, LeafRegion, leaves);
    ReconvergeRegion region = {0};
    for (u32 k = 0; k < g->work.n; k++) {
        u32 position = g->work.v[k], of = g->owner[position];
        const Block *b = an_order(g->an)->rpo[position];
        ReconvergeRegion end = {0};
        add_ends(g, position, old, &end);
        region.waits |= waits_of(g, b);
        ReconvergeRisk risk = judge_owned(g, b, of == LEAF_SHARED ? all : &leaf[of - 1]);
        if (risk != RECONVERGE_SAFE || (end.active_set && (of == LEAF_SHARED || leaf[of - 1].gathers)))
            return RECONVERGE_ACTIVE_SET;
        if (of == LEAF_SHARED) {
            region.ends |= g->w->ends[b->id] | end.ends;
        } else {
            alone[of - 1].waits |= waits_of(g, b);
            alone[of - 1].ends |= g->w->ends[b->id] | end.ends;
        }
    }
    ReconvergeRisk risk = reconverge_judge(g, region.waits, &region);
    return risk == RECONVERGE_SAFE && !stop_of(g, old) ? judge_joins(g, leaf, leaves, alone) : risk;
}

ReconvergeRisk reconverge_leaves(ReconvergeGate *g, const ReconvergeLeaf *leaf, u32 leaves, const Block *old)
{
    ReconvergeLeaf all = {.gathers = true};
    if (!reconverge_matters(g) && !g->w->any_convergent)
        return RECONVERGE_SAFE;
    bool whole = true;
    for (u32 l = 0; l < leaves; l++) {
        all.parts |= leaf[l].parts;
        whole &= known(g, leaf[l].target);
    }
    if (!whole || !find_owners(g, leaf, leaves, old)) {
        ReconvergeRegion region = whole_function(g);
        return all.parts && g->w->any_convergent ? RECONVERGE_ACTIVE_SET : reconverge_judge(g, region.waits, &region);
    }
    ReconvergeRisk risk = judge_owners(g, leaf, leaves, &all, old);
    for (u32 l = 0; l < leaves && risk == RECONVERGE_SAFE && g->w->any_wait; l++)
        if (leaf[l].gathers)
            risk = reconverge_after_pure(g, leaf[l].target, old);
    return risk;
}

/* Whether paths may lead from `to` back to the branch before they come to `old`. The blocks between the two are in g->points. */
static bool comes_round(ReconvergeGate *g, const Block *branch, const Block *to, const Block *old, bool *whole)
{
    *whole = true;
    if (!loop_of(an_loops(g->an), branch) && !an_loops(g->an)->irreducible)
        return false;
    start(g);
    visit(g, an_order(g->an)->index[to->id]);
    *whole = walk_on(g, old);
    vec_clear(&g->points);
    for (u32 k = 0; k < g->work.n; k++)
        vec_push(&g->points, g->work.v[k]);
    return !*whole || marks_has(&g->seen, an_order(g->an)->index[branch->id]);
}

/* Whether all paths from `to` come through b before they come to `old` or leave, once `branch` only goes to `to`. *around: whether
 * one of them comes to the branch again first. */
static bool must_pass(ReconvergeGate *g, const Block *b, const Block *branch, const Block *to, const Block *old, bool *around)
{
    const Order *order = an_order(g->an);
    *around = false;
    start(g);
    visit(g, order->index[to->id]);
    for (u32 k = 0; k < g->work.n; k++) {
        const Block *at = order->rpo[g->work.v[k]];
        *around |= at == branch && at != b;
        if (at == b || at == branch)
            continue;
        if (!may_look(g, k))
            return *around = true;
        if (order_leaves_function(order, g->work.v[k]))
            return false;
        for_each_edge(e, &order->succ, g->work.v[k]) {
            if (order->rpo[order->succ.to[e]] == old)
                return false;
            visit(g, order->succ.to[e]);
        }
    }
    return true;
}

/* Threads may come to b, which the branch dominates, after more iterations than others, for which they now wait there. between: the
 * blocks of the loop, and after it. */
static ReconvergeRisk joins_around(ReconvergeGate *g, Block *b, const Block *old, const VecU32 *between)
{
    ReconvergeRegion after = reconverge_from(g, b, old);
    ReconvergeRisk risk = reconverge_judge(g, g->w->any_wait, &after);
    for (u32 k = 0; risk != RECONVERGE_SAFE && k < between->n; k++)
        if (divides(g, an_order(g->an)->rpo[between->v[k]]))
            return risk;
    return RECONVERGE_SAFE;
}

/* A loop leads from `to` back to the branch: the post-dominators are others once its other edges are gone. */
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
        else if (around)
            risk = joins_around(g, b, old, &between);
    }
    vec_free(&between);
    return risk;
}

/* Whether nothing leads out of the function from `to`, once `branch` only goes there: threads would meet elsewhere in a loop that
 * ends for none of them. */
static bool never_leaves(ReconvergeGate *g, const Block *branch, const Block *to)
{
    const Order *order = an_order(g->an);
    start(g);
    marks_add(&g->seen, order->index[branch->id]);
    visit(g, order->index[to->id]);
    for (u32 k = 0; k < g->work.n; k++) {
        if (!may_look(g, k))
            return true;
        if (order_leaves_function(order, g->work.v[k]))
            return false;
        for_each_edge(e, &order->succ, g->work.v[k])
            visit(g, order->succ.to[e]);
    }
    return true;
}

ReconvergeRisk reconverge_decided(ReconvergeGate *g, const Block *branch, Block *to, const Block *old, bool converged)
{
    if (!reconverge_matters(g))
        return RECONVERGE_SAFE;
    ReconvergeRegion after = known(g, branch) && known(g, to) ? reconverge_after(g, branch, old) : whole_function(g);
    /* the exit that most blocks lead to is the end for ptxas: without one of several it may be another one */
    bool loses_exit = known(g, branch) && g->w->any_active_set && !stop_of(g, old);
    if (!converged && (after.active_set || loses_exit))
        return RECONVERGE_ACTIVE_SET;
    if (!known(g, branch) || !known(g, to))
        return reconverge_judge(g, g->w->any_wait, &after);
    if (to == old)
        return RECONVERGE_SAFE;
    bool whole;
    bool round = comes_round(g, branch, to, old, &whole);
    if (round && whole && never_leaves(g, branch, to))
        return RECONVERGE_WAIT;
    if (round)
        return whole ? decided_in_loop(g, branch, to, old) : reconverge_judge(g, g->w->any_wait, &after);
    u32 steps = 0;
    for (Block *b = to; b && b != old; b = reconvergence_point(g, b)) {
        if (!known(g, b) || ++steps == POINTS)
            return reconverge_judge(g, g->w->any_wait, &after);
        if (strictly_dominates(an_dom(g->an), branch, b))
            continue; /* no other path comes there */
        ReconvergeRisk risk = reconverge_at(g, b, old);
        if (risk != RECONVERGE_SAFE)
            return risk;
    }
    return RECONVERGE_SAFE;
}
