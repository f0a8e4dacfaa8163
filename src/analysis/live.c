#include "analysis/live.h"

#include <stdlib.h>

/* Live-in entries of a whole function (4 bytes each, 8 while they are computed): this many, and some for each block. */
enum { LIVE_LIMIT = 1 << 20, LIVE_LIMIT_PER_BLOCK = 8 };

/* ---- instructions ---------------------------------------------------------------------------------------------- */

bool instr_reads(const Instr *i, RegId reg)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (w.reg == reg)
            return true;
    return false;
}

static bool instr_kills(const Instr *i, RegId reg)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (w.reg == reg && w.kills)
            return true;
    return false;
}

void live_step_back(BitSet *live, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (w.kills)
            bitset_del(live, w.reg);
    for (RegWalk w = reg_walk(i); next_read(&w);)
        bitset_add(live, w.reg);
}

/* ---- computation ----------------------------------------------------------------------------------------------- */

/* Positions of blocks, grouped by register. */
typedef struct Place {
    RegId reg;
    u32 position;
} Place;

typedef struct PerReg {
    VEC(Place) places;
    Graph by_reg; /* an edge from a register to a position */
} PerReg;

typedef struct LiveFinder {
    const Function *fn;
    const Order *order;
    PerReg exposed; /* blocks that read the register before they kill it */
    PerReg killed;  /* blocks behind which its old value is gone */
    u32 *mark;        /* by position: the last register known to be live there, or killed, plus 1 */
    VecU32 found;     /* positions, register after register */
    VecU32 found_reg, found_end; /* the registers in turn, and where their positions end */
    VecU32 everywhere;
} LiveFinder;

static void per_reg_group(PerReg *list, Arena *arena, u32 regs)
{
    Graph g = {regs, arena_array(arena, u32, (size_t)regs + 2), arena_alloc_raw(arena, sizeof(u32) * (size_t)list->places.n)};
    u32 *next = g.start + 1; /* filling moves it from where a register's places begin to where they end */
    for (u32 k = 0; k < list->places.n; k++)
        next[list->places.v[k].reg + 1]++;
    for (u32 reg = 0; reg < regs; reg++)
        next[reg + 1] += next[reg];
    for (u32 k = 0; k < list->places.n; k++)
        g.to[next[list->places.v[k].reg]++] = list->places.v[k].position;
    list->by_reg = g;
    vec_free(&list->places);
}

/* What is known of a register in the block at p: marks below EXPOSED(p) are from other blocks. */
#define EXPOSED(p) (2 * (p) + 1)
#define KILLED(p) (2 * (p) + 2)

static inline void expose(LiveFinder *f, u32 *mark, RegId reg, u32 p)
{
    if (mark[reg] >= EXPOSED(p))
        return;
    mark[reg] = EXPOSED(p);
    vec_push(&f->exposed.places, ((Place){reg, p}));
}

static inline void kill(LiveFinder *f, u32 *mark, RegId reg, u32 p)
{
    if (mark[reg] == KILLED(p))
        return;
    mark[reg] = KILLED(p);
    vec_push(&f->killed.places, ((Place){reg, p}));
}

/* Forwards through the block; `mark` is by register. */
static void scan_block(LiveFinder *f, u32 p, u32 *mark)
{
    const Block *b = f->order->rpo[p];
    for_each_instr(i, b) {
        for (RegWalk w = reg_walk(i); next_read(&w);)
            expose(f, mark, w.reg, p);
        for (RegWalk w = reg_walk(i); !i->guard && next_write(&w);)
            if (w.kills)
                kill(f, mark, w.reg, p);
    }
    if (!order_leaves_function(f->order, p))
        return;
    for (RegId r = 1; r < f->fn->regs.n && f->fn->regs.v[r].is_param; r++) /* they are declared first */
        expose(f, mark, r, p);
}

/* Most registers are written and read in one block only: nobody asks where these are killed. */
static void drop_unexposed(PerReg *killed, const Graph *exposed)
{
    u32 kept = 0;
    for (u32 k = 0; k < killed->places.n; k++) {
        Place place = killed->places.v[k];
        killed->places.v[kept] = place;
        kept += exposed->start[place.reg] != exposed->start[place.reg + 1];
    }
    killed->places.n = kept;
}

static void scan_blocks(LiveFinder *f, Arena *scratch)
{
    u32 regs = f->fn->regs.n;
    u32 *mark = mem_zalloc(sizeof(u32) * (size_t)regs);
    for (u32 p = 0; p < f->order->count; p++)
        scan_block(f, p, mark);
    free(mark);
    per_reg_group(&f->exposed, scratch, regs);
    drop_unexposed(&f->killed, &f->exposed.by_reg);
    per_reg_group(&f->killed, scratch, regs);
}

/* Backwards from where the register is exposed, up to where it is killed; false when the result gets too large. */
static bool explore(LiveFinder *f, RegId reg, u64 limit)
{
    const Graph *pred = &f->order->pred, *killed = &f->killed.by_reg, *exposed = &f->exposed.by_reg;
    u32 *mark = f->mark, next = f->found.n;
    for_each_edge(e, killed, reg)
        mark[killed->to[e]] = reg + 1;
    for_each_edge(e, exposed, reg) {
        mark[exposed->to[e]] = reg + 1;
        vec_push(&f->found, exposed->to[e]);
    }
    while (next < f->found.n) {
        u32 p = f->found.v[next++];
        for_each_edge(e, pred, p) {
            u32 from = pred->to[e];
            if (mark[from] == reg + 1)
                continue;
            mark[from] = reg + 1;
            vec_push(&f->found, from);
        }
        if (f->found.n > limit)
            return false;
    }
    return true;
}

static void explore_all(LiveFinder *f)
{
    u64 limit = LIVE_LIMIT + (u64)LIVE_LIMIT_PER_BLOCK * f->order->count;
    for (RegId reg = 0; reg < f->fn->regs.n; reg++) {
        u32 before = f->found.n;
        if (f->exposed.by_reg.start[reg] == f->exposed.by_reg.start[reg + 1])
            continue;
        if (f->everywhere.n > 0 || !explore(f, reg, limit)) {
            f->found.n = before;
            vec_push(&f->everywhere, reg);
            continue;
        }
        vec_push(&f->found_reg, reg);
        vec_push(&f->found_end, f->found.n);
    }
}

/* From positions by register to registers by block. */
static void transpose(const LiveFinder *f, Arena *arena, Live *l)
{
    Block **rpo = f->order->rpo;
    const u32 *found = f->found.v;
    l->start = arena_array(arena, u32, (size_t)l->blocks + 2);
    l->regs = arena_alloc_raw(arena, sizeof(RegId) * (size_t)f->found.n);
    u32 *next = l->start + 1; /* filling moves it from where a block's registers begin to where they end */
    for (u32 k = 0; k < f->found.n; k++)
        next[rpo[found[k]]->id + 1]++;
    for (u32 id = 0; id < l->blocks; id++)
        next[id + 1] += next[id];
    for (u32 r = 0, k = 0; r < f->found_reg.n; r++)
        for (; k < f->found_end.v[r]; k++)
            l->regs[next[rpo[found[k]]->id]++] = f->found_reg.v[r];
}

Live *live_compute(Arena *arena, const Function *fn, const Order *order)
{
    Arena scratch = {0};
    LiveFinder f = {.fn = fn, .order = order};
    f.mark = arena_array(&scratch, u32, order->count);
    scan_blocks(&f, &scratch);
    explore_all(&f);

    Live *l = arena_new(arena, Live);
    *l = (Live){.fn = fn, .blocks = fn->blocks.n, .everywhere_count = f.everywhere.n};
    transpose(&f, arena, l);
    l->everywhere = arena_array(arena, RegId, f.everywhere.n);
    if (f.everywhere.n)
        memcpy(l->everywhere, f.everywhere.v, sizeof(RegId) * f.everywhere.n);
    vec_free(&f.found);
    vec_free(&f.found_reg);
    vec_free(&f.found_end);
    vec_free(&f.everywhere);
    arena_free(&scratch);
    return l;
}

/* ---- queries --------------------------------------------------------------------------------------------------- */

static bool sorted_has(const RegId *v, u32 n, RegId reg)
{
    while (n > 0) {
        u32 half = n / 2;
        if (v[half] == reg)
            return true;
        if (v[half] < reg) {
            v += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return false;
}

bool live_in(const Live *l, const Block *b, RegId reg)
{
    if (b->id >= l->blocks)
        return false;
    u32 from = l->start[b->id];
    return sorted_has(l->regs + from, l->start[b->id + 1] - from, reg) ||
           sorted_has(l->everywhere, l->everywhere_count, reg);
}

bool live_out(const Live *l, const Block *b, RegId reg)
{
    CfgList succs = cfg_succs(l->fn, b);
    for (u32 k = 0; k < succs.n; k++)
        if (live_in(l, succs.v[k].block, reg))
            return true;
    return l->fn->regs.v[reg].is_param && block_leaves_function(l->fn, b);
}

bool live_behind(const Live *l, const Instr *i, RegId reg)
{
    for (const Instr *next = i->next; next; next = next->next) {
        if (instr_reads(next, reg))
            return true;
        if (instr_kills(next, reg))
            return false;
    }
    return live_out(l, i->block, reg);
}

bool live_in_next(const Live *l, const Block *b, u32 *cursor, RegId *reg)
{
    u32 from = b->id < l->blocks ? l->start[b->id] : 0, n = b->id < l->blocks ? l->start[b->id + 1] - from : 0;
    u32 k = (*cursor)++;
    if (k < n)
        *reg = l->regs[from + k];
    else if (k - n < l->everywhere_count)
        *reg = l->everywhere[k - n];
    else
        return false;
    return true;
}

void live_out_set(const Live *l, const Block *b, BitSet *set)
{
    RegId reg;
    bitset_clear(set);
    CfgList succs = cfg_succs(l->fn, b);
    for (u32 s = 0; s < succs.n; s++)
        for (u32 k = 0; live_in_next(l, succs.v[s].block, &k, &reg);)
            bitset_add(set, reg);
    if (block_leaves_function(l->fn, b))
        for (reg = 1; reg < l->fn->regs.n && l->fn->regs.v[reg].is_param; reg++)
            bitset_add(set, reg);
}
