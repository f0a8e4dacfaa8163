#include "analysis/ssa.h"

enum {
    FRONTIER_SIZE = 32, /* times the blocks */
    STEPS = 32          /* times the writes: edges of frontiers that are followed */
};

/* ---- dominance frontiers --------------------------------------------------------------------------------------- */

/* Edges of the frontier: `from` (a position in the reverse post-order) ends its dominance at `to`. */
typedef struct Frontier {
    VecU32 from, to;
} Frontier;

/* False: too many. */
static bool collect_frontier(const Order *order, const DomTree *dom, Frontier *f)
{
    u32 *last = mem_zalloc(sizeof(u32) * (order->count + 1)); /* by position: the newest member, plus 1 */
    u32 limit = FRONTIER_SIZE * order->count + 1024;
    bool fits = true;
    for (u32 p = 0; p < order->count && fits; p++) {
        if (order->pred.start[p + 1] - order->pred.start[p] < 2 && p != 0)
            continue;
        const Block *stop = dom->idom[order->rpo[p]->id];
        for_each_edge(e, &order->pred, p)
            for (Block *b = order->rpo[order->pred.to[e]]; b && b != stop && fits; b = dom->idom[b->id]) {
                u32 at = order->index[b->id];
                if (last[at] == p + 1)
                    break;
                last[at] = p + 1;
                vec_push(&f->from, at);
                vec_push(&f->to, p);
                fits = f->from.n < limit;
            }
    }
    free(last);
    return fits;
}

/* ---- where phis stand ------------------------------------------------------------------------------------------ */

typedef struct Placement {
    VEC(u64) defs;  /* register << 32 | position of a block that writes it */
    VEC(u64) phis;  /* position of a block << 32 | register */
} Placement;

static int compare_u64(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

static void collect_defs(const Order *order, Placement *p)
{
    for (u32 k = 0; k < order->count; k++)
        for_each_instr(i, order->rpo[k])
            if (i->kind == INSTR_OP)
                for (RegWalk w = reg_walk(i); next_write(&w);)
                    if (w.reg != CARRY_REG)
                        vec_push(&p->defs, (u64)w.reg << 32 | k);
    if (p->defs.n)
        qsort(p->defs.v, p->defs.n, sizeof *p->defs.v, compare_u64);
}

typedef struct Placer {
    const Order *order;
    const Live *live;
    const Graph *frontier;
    Placement *p;
    u32 *stamp;  /* by position: the last register that has a phi there */
    VecU32 work; /* positions of blocks that write the register, or have a phi */
    u32 steps;   /* left */
} Placer;

/* Whether the register's value is read where the one block that writes it stops dominating. */
static bool leaves_dominated(const Placer *q, u32 position, RegId reg)
{
    for_each_edge(e, q->frontier, position)
        if (live_in(q->live, q->order->rpo[q->frontier->to[e]], reg))
            return true;
    return false;
}

/* False: it takes too long, and there are no phis of the register. */
static bool place_phis_of(Placer *q, RegId reg)
{
    u32 before = q->p->phis.n;
    if (q->work.n == 1 && !leaves_dominated(q, q->work.v[0], reg))
        return true;
    while (q->work.n) {
        u32 at = vec_pop(&q->work);
        for_each_edge(e, q->frontier, at) {
            u32 to = q->frontier->to[e];
            if (q->steps == 0) {
                q->p->phis.n = before;
                return false;
            }
            q->steps--;
            if (q->stamp[to] == reg)
                continue;
            q->stamp[to] = reg;
            vec_push(&q->p->phis, (u64)to << 32 | reg);
            vec_push(&q->work, to);
        }
    }
    return true;
}

static void place_phis(Placer *q, BitSet *unknown)
{
    Placement *p = q->p;
    q->stamp = mem_zalloc(sizeof(u32) * q->order->count);
    q->steps = STEPS * p->defs.n + 1024;
    for (u32 k = 0; k < p->defs.n;) {
        RegId reg = (RegId)(p->defs.v[k] >> 32);
        vec_clear(&q->work);
        for (; k < p->defs.n && p->defs.v[k] >> 32 == reg; k++)
            if (!q->work.n || vec_last(&q->work) != (u32)p->defs.v[k])
                vec_push(&q->work, (u32)p->defs.v[k]);
        if (!place_phis_of(q, reg))
            bitset_add(unknown, reg);
    }
    free(q->stamp);
    vec_free(&q->work);
    if (p->phis.n)
        qsort(p->phis.v, p->phis.n, sizeof *p->phis.v, compare_u64);
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

SsaWalk ssa_walk(const Ssa *ssa)
{
    SsaWalk w = {.ssa = ssa};
    w.now = mem_zalloc(sizeof(u32) * ssa->regs);
    return w;
}

static void write_now(SsaWalk *w, u32 value)
{
    RegId reg = w->ssa->values.v[value].reg;
    vec_push(&w->undo, (u64)reg << 32 | w->now[reg]);
    w->now[reg] = value;
}

/* Takes back what was written in blocks that do not dominate b. */
static void leave_others(SsaWalk *w, const Block *b)
{
    u32 pre = w->ssa->dom->pre[b->id], keep = w->undo.n;
    while (w->frames.n && (u32)(vec_last(&w->frames) >> 32) < pre)
        keep = (u32)vec_pop(&w->frames);
    while (w->undo.n > keep) {
        u64 old = vec_pop(&w->undo);
        w->now[old >> 32] = (u32)old;
    }
    vec_push(&w->frames, (u64)w->ssa->dom->last[b->id] << 32 | w->undo.n);
}

void ssa_enter(SsaWalk *w, const Block *b)
{
    leave_others(w, b);
    for (u32 k = 0; k < w->ssa->phis[b->id]; k++)
        write_now(w, w->ssa->first_phi[b->id] + k);
}

void ssa_step(SsaWalk *w, u32 instr)
{
    const SsaInstr *i = &w->ssa->instrs.v[instr];
    for (u32 k = 0; k < i->values; k++)
        write_now(w, i->value + k);
}

void ssa_walk_free(SsaWalk *w)
{
    free(w->now);
    vec_free(&w->undo);
    vec_free(&w->frames);
}

/* ---- numbering ------------------------------------------------------------------------------------------------- */

static void add_use(Ssa *ssa, SsaInstr *at, u32 slot, u32 value)
{
    vec_push(&ssa->uses, ((SsaUse){slot, value}));
    at->uses++;
}

static void number_instr(Ssa *ssa, SsaWalk *w, Instr *i)
{
    SsaInstr at = {.i = i, .use = ssa->uses.n, .value = ssa->values.n};
    for_each_slot(o, i)
        if (slot_is_use(o))
            add_use(ssa, &at, (u32)(o - i->opnd), w->now[o->id]);
    if (i->guard)
        add_use(ssa, &at, SSA_NONE, w->now[i->guard]);
    for (RegWalk write = reg_walk(i); next_write(&write);) {
        if (write.reg == CARRY_REG || bitset_has(&ssa->unknown, write.reg))
            continue;
        if (!write.kills)
            add_use(ssa, &at, SSA_NONE, w->now[write.reg]);
        vec_push(&ssa->values, ((SsaValue){.reg = write.reg, .instr = ssa->instrs.n, .whole = write.kills, .is_read = true}));
        at.values++;
    }
    vec_push(&ssa->instrs, at);
    ssa_step(w, ssa->instrs.n - 1);
}

static void fill_args(Ssa *ssa, const SsaWalk *w, const Block *b)
{
    for (u32 k = 0; k < ssa->phis[b->id]; k++) {
        SsaValue *phi = &ssa->values.v[ssa->first_phi[b->id] + k];
        ssa->args.v[phi->arg + phi->args++] = w->now[phi->reg];
    }
}

/* The phis of all blocks, as values, with room for an argument for each edge. */
static void make_phis(Ssa *ssa, const Order *order, const Live *live, const Placement *p)
{
    for (u32 k = 0; k < p->phis.n; k++) {
        u32 position = (u32)(p->phis.v[k] >> 32), edges = order->pred.start[position + 1] - order->pred.start[position];
        Block *b = order->rpo[position];
        if (!ssa->phis[b->id]++)
            ssa->first_phi[b->id] = ssa->values.n;
        vec_push(&ssa->values, ((SsaValue){.reg = (RegId)p->phis.v[k], .instr = SSA_NONE, .phi = b, .arg = ssa->args.n, .whole = true,
                                           .is_read = live_in(live, b, (RegId)p->phis.v[k])}));
        vec_reserve(&ssa->args, ssa->args.n + edges);
        ssa->args.n += edges;
    }
}

static void number(Ssa *ssa, const Order *order)
{
    SsaWalk w = ssa_walk(ssa);
    for (u32 pre = 1; pre <= ssa->dom->count; pre++) {
        Block *b = ssa->dom->by_pre[pre];
        ssa_enter(&w, b);
        ssa->first[b->id] = ssa->instrs.n;
        for_each_instr(i, b)
            if (i->kind == INSTR_OP)
                number_instr(ssa, &w, i);
        ssa->end[b->id] = ssa->instrs.n;
        for_each_edge(e, &order->succ, order->index[b->id])
            fill_args(ssa, &w, order->rpo[order->succ.to[e]]);
    }
    ssa_walk_free(&w);
}

static Ssa *ssa_new(Arena *arena, const Function *fn, const DomTree *dom)
{
    Ssa *ssa = arena_new(arena, Ssa);
    *ssa = (Ssa){.dom = dom, .regs = fn->regs.n, .unknown = bitset_new(arena, fn->regs.n)};
    ssa->first = arena_array(arena, u32, 4 * fn->blocks.n);
    ssa->end = ssa->first + fn->blocks.n;
    ssa->first_phi = ssa->end + fn->blocks.n;
    ssa->phis = ssa->first_phi + fn->blocks.n;
    vec_push(&ssa->values, ((SsaValue){.instr = SSA_NONE}));
    return ssa;
}

Ssa *ssa_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Live *live)
{
    Frontier f = {0};
    Placement p = {0};
    Ssa *ssa = NULL;
    if (collect_frontier(order, dom, &f)) {
        Graph frontier = graph_from_edges(arena, order->count, f.from.v, f.to.v, f.from.n);
        collect_defs(order, &p);
        ssa = ssa_new(arena, fn, dom);
        place_phis(&(Placer){.order = order, .live = live, .frontier = &frontier, .p = &p}, &ssa->unknown);
        make_phis(ssa, order, live, &p);
        number(ssa, order);
    }
    vec_free(&f.from);
    vec_free(&f.to);
    vec_free(&p.defs);
    vec_free(&p.phis);
    return ssa;
}

void ssa_free(Ssa *ssa)
{
    vec_free(&ssa->instrs);
    vec_free(&ssa->uses);
    vec_free(&ssa->values);
    vec_free(&ssa->args);
}

u32 ssa_use(const Ssa *ssa, u32 instr, u32 slot)
{
    const SsaInstr *i = &ssa->instrs.v[instr];
    for (u32 k = i->use; k < i->use + i->uses; k++)
        if (ssa->uses.v[k].slot == slot)
            return ssa->uses.v[k].value;
    return 0;
}
