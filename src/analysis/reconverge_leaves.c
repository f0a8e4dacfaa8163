/* A decision over several branches that others are to take: where its threads may come together then. */
#include "analysis/reconverge_gate.h"

/* ReconvergeGate.owner of a block that several leaves lead to; of any other one it is 1 + the only leaf that leads to it. */
#define LEAF_SHARED UINT32_MAX

/* Enters the block at this position for the leaf, or as shared if another leaf leads to it too: at most twice for each block. */
static void enter_from(ReconvergeGate *g, u32 position, u32 as)
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
    gate_start(g);
    for (u32 l = 0; l < leaves; l++)
        if (leaf[l].target != old)
            enter_from(g, order->index[leaf[l].target->id], l + 1);
    for (u32 k = 0; k < g->work.n; k++) {
        u32 position = g->work.v[k];
        if (!gate_may_look(g, k / 2))
            return false;
        for_each_edge(e, &order->succ, position)
            if (order->rpo[order->succ.to[e]] != old)
                enter_from(g, order->succ.to[e], g->owner[position]);
    }
    return true;
}

/* The risk of one block for threads whose groups change as the leaf says. */
static ReconvergeRisk judge_block(const ReconvergeGate *g, const Block *b, const ReconvergeLeaf *leaf)
{
    bool sees = (leaf->splits && g->w->convergent[b->id]) || (leaf->gathers && g->w->active_set[b->id]);
    return sees ? RECONVERGE_ACTIVE_SET : RECONVERGE_SAFE;
}

/* Adds how the block at this position leaves the function: at its own end, or through `old`, where that only leaves. Threads that
 * reconverge in front of such an `old` leave together. */
static void add_ends(ReconvergeGate *g, u32 position, const Block *old, ReconvergeRegion *end)
{
    const Order *order = an_order(g->an);
    reconverge_add_end(g, position, end);
    for_each_edge(e, &order->succ, position)
        if (order->rpo[order->succ.to[e]] == old && !reconverge_stop(g, old)) {
            end->ends |= g->w->awaits_leaving ? END_LEAVE : 0;
            end->active_set |= g->caller_sees;
        }
}

typedef struct LeafRegion {
    u8 waits, ends; /* of the blocks that it alone leads to */
} LeafRegion;

/* Judges threads that now reconverge in front of a leaf, since several edges lead to it. They may wait there for threads
 * that wait in another leaf until the first ones leave. */
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

/* Judges all blocks that find_owners() has found. `all`: how groups change in blocks that several leaves lead to. */
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
        region.waits |= gate_waits(g, b);
        ReconvergeRisk risk = judge_block(g, b, of == LEAF_SHARED ? all : &leaf[of - 1]);
        if (risk != RECONVERGE_SAFE || (end.active_set && (of == LEAF_SHARED || leaf[of - 1].gathers)))
            return RECONVERGE_ACTIVE_SET;
        if (of == LEAF_SHARED) {
            region.ends |= g->w->ends[b->id] | end.ends;
        } else {
            alone[of - 1].waits |= gate_waits(g, b);
            alone[of - 1].ends |= g->w->ends[b->id] | end.ends;
        }
    }
    ReconvergeRisk risk = reconverge_judge(g, region.waits, &region);
    return risk == RECONVERGE_SAFE && !reconverge_stop(g, old) ? judge_joins(g, leaf, leaves, alone) : risk;
}

ReconvergeRisk reconverge_leaves(ReconvergeGate *g, const ReconvergeLeaf *leaf, u32 leaves, const Block *old)
{
    ReconvergeLeaf all = {.gathers = true};
    if (!reconverge_matters(g) && !g->w->any_convergent)
        return RECONVERGE_SAFE;
    bool whole = true;
    for (u32 l = 0; l < leaves; l++) {
        all.splits |= leaf[l].splits;
        whole &= gate_knows(g, leaf[l].target);
    }
    if (!whole || !find_owners(g, leaf, leaves, old)) {
        ReconvergeRegion region = reconverge_whole_function(g);
        return all.splits && g->w->any_convergent ? RECONVERGE_ACTIVE_SET : reconverge_judge(g, region.waits, &region);
    }
    ReconvergeRisk risk = judge_owners(g, leaf, leaves, &all, old);
    for (u32 l = 0; l < leaves && risk == RECONVERGE_SAFE && g->w->any_wait; l++)
        if (leaf[l].gathers)
            risk = reconverge_after_pure(g, leaf[l].target, old);
    return risk;
}
