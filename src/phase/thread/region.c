#include "phase/thread/region.h"

#include "base/bound.h"
#include "target/ptxas.h"

/* The most blocks that one walk visits; the phase stays linear. */
enum { REGION_BLOCKS = 128 };

static void start(RegionScratch *scratch)
{
    marks_clear(&scratch->seen);
    vec_clear(&scratch->work);
}

static void visit(RegionScratch *scratch, const Block *b)
{
    if (marks_add(&scratch->seen, b->id))
        vec_push(&scratch->work, b);
}

static BlockCode read_code(const Analyses *an, const Block *b)
{
    const Instr *end = block_terminator(b);
    BlockCode code = {.epoch = an->fn->epoch[EPOCH_CODE], .end_cost = end ? ptxas_cost(end) : 0, .table = end && branch_table(end)};
    for_each_instr(i, b)
        if (i->kind == INSTR_OP) {
            code.cost += ptxas_cost(i);
            code.convergent |= instr_is_convergent(i, an->summaries);
            code.calls |= op_has(i->op, OPF_CALL);
        }
    return code;
}

static void remember_blocks(Analyses *an, RegionScratch *scratch)
{
    if (scratch->code)
        return;
    scratch->blocks = an->fn->blocks.n;
    scratch->code = arena_array(an->scratch, BlockCode, scratch->blocks);
    scratch->too_large_to = arena_array(an->scratch, u32, scratch->blocks);
}

static BlockCode code_of(const Analyses *an, const RegionScratch *scratch, const Block *b)
{
    if (b->id >= scratch->blocks)
        return read_code(an, b);
    BlockCode *code = &scratch->code[b->id];
    if (code->epoch != an->fn->epoch[EPOCH_CODE])
        *code = read_code(an, b);
    return *code;
}

static void add_block(Analyses *an, RegionScratch *scratch, ThreadRegion *region, const Block *b, u32 predicated)
{
    BlockCode code = code_of(an, scratch, b);
    region->loops |= loop_headed_by(an_loops(an), b) != NULL;
    region->cost += code.cost;
    region->convergent |= code.convergent;
    region->heavy |= code.calls || code.table || region->loops || code.cost - code.end_cost >= predicated;
}

/* Whether the walk, at its block k, shows that the region is too large. It is if the region from some block of it to the same
 * reconvergence point is. */
static bool is_too_large(const RegionScratch *scratch, u32 k, u32 stop)
{
    u32 id = scratch->work.v[k]->id;
    return BEYOND(REGION_BLOCKS, k == REGION_BLOCKS) || (id < scratch->blocks && scratch->too_large_to[id] == stop);
}

/* As region_after(). until_heavy: the walk stops at the first heavy block, and the answer is about the blocks up to it. */
static ThreadRegion walk_after(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge, bool until_heavy)
{
    ThreadRegion region = {.whole = true};
    const Block *stop = dom_parent(an_postdom(an), b);
    const Order *order = an_order(an);
    const Loop *loop = loop_of(an_loops(an), b);
    u32 stop_number = stop ? stop->id + 1 : UINT32_MAX;
    remember_blocks(an, scratch);
    start(scratch);
    if (edge != stop)
        visit(scratch, edge);
    for (u32 k = 0; k < scratch->work.n && !(until_heavy && region.heavy); k++) {
        const Block *at = scratch->work.v[k];
        u32 before = region.cost;
        if (is_too_large(scratch, k, stop_number)) {
            if (edge->id < scratch->blocks)
                scratch->too_large_to[edge->id] = stop_number;
            return (ThreadRegion){.whole = false};
        }
        if (!order_reachable(order, at))
            return (ThreadRegion){.whole = false};
        add_block(an, scratch, &region, at, PTXAS_PREDICATED);
        if (loop_of(an_loops(an), at) == loop)
            region.set_up += region.cost - before;
        for_each_edge(e, &order->succ, order->index[at->id]) {
            const Block *to = order->rpo[order->succ.to[e]];
            if (to != stop)
                visit(scratch, to);
        }
    }
    return region;
}

ThreadRegion region_after(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge)
{
    return walk_after(an, scratch, b, edge, false);
}

bool region_is_light(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge)
{
    ThreadRegion region = walk_after(an, scratch, b, edge, true);
    return region.whole && !region.heavy;
}

bool region_joins_at(Analyses *an, RegionScratch *scratch, const Block *b, const Block *to)
{
    const Loop *loop = loop_of(an_loops(an), b);
    bool comes = false;
    start(scratch);
    visit(scratch, b);
    for (u32 k = 0; k < scratch->work.n; k++) {
        const Block *at = scratch->work.v[k];
        u32 p = an_order(an)->index[at->id];
        if (BEYOND(REGION_BLOCKS, k == REGION_BLOCKS) || (loop && k > 0 && at == loop->header))
            return false;
        for_each_edge(e, &an_order(an)->succ, p) {
            const Block *next = an_order(an)->rpo[an_order(an)->succ.to[e]];
            if (next != to && (!loop || loop_contains(an_loops(an), loop, next)))
                visit(scratch, next);
            comes |= next == to && at != b;
        }
    }
    return comes;
}

/* Continues the walk at the predecessors of its block k, up to `top`. False: the walk is too long. */
static bool visit_preds(Analyses *an, RegionScratch *scratch, u32 k, const Block *top)
{
    const Block *at = scratch->work.v[k];
    u32 p = an_order(an)->index[at->id];
    for_each_edge(e, &an_order(an)->pred, p)
        if (at != top)
            visit(scratch, an_order(an)->rpo[an_order(an)->pred.to[e]]);
    return k < REGION_BLOCKS;
}

bool region_heavy_before(Analyses *an, RegionScratch *scratch, const Block *b, u32 predicated)
{
    Block *top = an_dom(an)->idom[b->id];
    ThreadRegion region = {.whole = true};
    remember_blocks(an, scratch);
    start(scratch);
    visit(scratch, b);
    for (u32 k = 0; k < scratch->work.n && !region.heavy; k++) {
        if (scratch->work.v[k] != b && scratch->work.v[k] != top)
            add_block(an, scratch, &region, scratch->work.v[k], predicated);
        region.heavy |= !visit_preds(an, scratch, k, top);
    }
    return region.heavy;
}

bool region_is_reached_convergently(Analyses *an, RegionScratch *scratch, const Block *b, const BitSet *uniform)
{
    Block *top = an_dom(an)->idom[b->id];
    if (!top)
        return false;
    start(scratch);
    visit(scratch, b);
    for (u32 k = 0; k < scratch->work.n; k++) {
        const Block *at = scratch->work.v[k];
        const Instr *end = block_terminator(at);
        if ((at != b && end && !uniform_has(uniform, end->origin)) || !visit_preds(an, scratch, k, top))
            return false;
    }
    return true;
}
