#include "phase/thread_region.h"

/* Blocks of one walk: keeps the phase linear. */
enum { REGION_BLOCKS = 128 };

Block *meeting_place(const Analyses *an, const Block *b) { return dom_has(an->postdom, b) ? an->postdom->idom[b->id] : NULL; }

static void start(RegionScratch *scratch)
{
    scratch->stamp++;
    vec_clear(&scratch->work);
}

static void visit(RegionScratch *scratch, Block *b)
{
    if (scratch->seen[b->id] == scratch->stamp)
        return;
    scratch->seen[b->id] = scratch->stamp;
    vec_push(&scratch->work, b);
}

static void add_block(const Analyses *an, Region *region, const Block *b)
{
    const Loop *loop = loop_of(an->loops, b);
    const Instr *end = block_terminator(b);
    u32 instrs = 0;
    region->loops |= loop && loop->header == b;
    for_each_instr(i, b)
        if (i->kind == INSTR_OP) {
            instrs += i != end;
            region->instrs++;
            region->convergent |= instr_is_convergent(i, an->summaries);
            region->heavy |= op_has(i->op, OPF_CALL);
        }
    region->heavy |= region->loops || instrs >= THREAD_HEAVY || (end && branch_table(end));
}

Region region_behind(const Analyses *an, RegionScratch *scratch, const Block *b, Block *way)
{
    Region region = {.whole = true};
    const Block *stop = meeting_place(an, b);
    start(scratch);
    if (way != stop)
        visit(scratch, way);
    for (u32 k = 0; k < scratch->work.n; k++) {
        Block *at = scratch->work.v[k];
        if (k == REGION_BLOCKS || !order_reachable(an->order, at))
            return (Region){.whole = false};
        add_block(an, &region, at);
        u32 p = an->order->index[at->id];
        for_each_edge(e, &an->order->succ, p) {
            Block *to = an->order->rpo[an->order->succ.to[e]];
            if (to != stop)
                visit(scratch, to);
        }
    }
    return region;
}

/* Goes on to the predecessors of block k of the walk, up to `top`; false: the walk is too long. */
static bool visit_preds(const Analyses *an, RegionScratch *scratch, u32 k, const Block *top)
{
    Block *at = scratch->work.v[k];
    u32 p = an->order->index[at->id];
    for_each_edge(e, &an->order->pred, p)
        if (at != top)
            visit(scratch, an->order->rpo[an->order->pred.to[e]]);
    return k < REGION_BLOCKS;
}

bool heavy_before(const Analyses *an, RegionScratch *scratch, const Block *b)
{
    Block *top = an->dom->idom[b->id];
    Region region = {.whole = true};
    start(scratch);
    visit(scratch, (Block *)b);
    for (u32 k = 0; k < scratch->work.n && !region.heavy; k++) {
        if (scratch->work.v[k] != b && scratch->work.v[k] != top)
            add_block(an, &region, scratch->work.v[k]);
        region.heavy |= !visit_preds(an, scratch, k, top);
    }
    return region.heavy;
}

bool comes_as_one(const Analyses *an, RegionScratch *scratch, const Block *b, const BitSet *uniform)
{
    Block *top = an->dom->idom[b->id];
    if (!top)
        return false;
    start(scratch);
    visit(scratch, (Block *)b);
    for (u32 k = 0; k < scratch->work.n; k++) {
        Block *at = scratch->work.v[k];
        const Instr *end = block_terminator(at);
        if ((at != b && end && !uniform_has(uniform, end->origin)) || !visit_preds(an, scratch, k, top))
            return false;
    }
    return true;
}
