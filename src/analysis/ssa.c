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
    mem_free(last);
    return fits;
}

/* ---- where phis stand ------------------------------------------------------------------------------------------ */

/* Pairs of a register and a position in the reverse post-order. */
typedef struct Places {
    VecU32 reg, position;
} Places;

static void add_place(Places *p, RegId reg, u32 position)
{
    vec_push(&p->reg, reg);
    vec_push(&p->position, position);
}

static void places_free(Places *p)
{
    vec_free(&p->reg);
    vec_free(&p->position);
}

/* Notes where i writes; answers how many of its slots name a wanted register. */
static u32 list_slots(const BitSet *wanted, Instr *i, u32 position, Places *defs)
{
    u32 named = i->guard && bitset_has(wanted, i->guard);
    for_each_slot(o, i) {
        if (o->kind != OPND_REG || !bitset_has(wanted, o->id))
            continue;
        named++;
        if (slot_is_def(o))
            add_place(defs, o->id, position);
    }
    return named;
}

/* Lists the instructions; from a register to the positions of the blocks that write it. */
static Graph list_instrs(Ssa *ssa, Arena *scratch, const Order *order)
{
    Places defs = {0};
    u32 slots = 0;
    for (u32 pre = 1; pre <= ssa->dom->count; pre++) {
        Block *b = ssa->dom->by_pre[pre];
        ssa->first[b->id] = ssa->instrs.n;
        for_each_instr(i, b) {
            u32 named = i->kind == INSTR_OP ? list_slots(&ssa->wanted, i, order->index[b->id], &defs) : 0;
            slots += named;
            if (named || instr_is(i, OPF_CALL))
                vec_push(&ssa->instrs, ((SsaInstr){.i = i}));
        }
        ssa->end[b->id] = ssa->instrs.n;
    }
    vec_reserve(&ssa->uses, slots);
    Graph by_reg = graph_from_edges(scratch, ssa->regs, defs.reg.v, defs.position.v, defs.reg.n);
    places_free(&defs);
    return by_reg;
}

typedef struct Placer {
    const Order *order;
    const Live *live;
    const Graph *frontier, *defs;
    Places phis;
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
    u32 before = q->phis.reg.n;
    if (q->work.n == 1 && !leaves_dominated(q, q->work.v[0], reg))
        return true;
    while (q->work.n) {
        u32 at = vec_pop(&q->work);
        for_each_edge(e, q->frontier, at) {
            u32 to = q->frontier->to[e];
            if (q->steps == 0) {
                q->phis.reg.n = q->phis.position.n = before;
                return false;
            }
            q->steps--;
            if (q->stamp[to] == reg)
                continue;
            q->stamp[to] = reg;
            add_place(&q->phis, reg, to);
            vec_push(&q->work, to);
        }
    }
    return true;
}

static void place_phis(Placer *q, Ssa *ssa)
{
    const Graph *defs = q->defs;
    q->stamp = mem_zalloc(sizeof(u32) * q->order->count);
    q->steps = STEPS * defs->start[defs->nodes] + 1024;
    for (RegId reg = bitset_next(&ssa->wanted, 1); reg < ssa->regs; reg = bitset_next(&ssa->wanted, reg + 1)) {
        vec_clear(&q->work);
        for_each_edge(e, defs, reg)
            if (!q->work.n || vec_last(&q->work) != defs->to[e])
                vec_push(&q->work, defs->to[e]);
        if (!place_phis_of(q, reg))
            bitset_add(&ssa->unknown, reg);
    }
    mem_free(q->stamp);
    vec_free(&q->work);
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
    mem_free(w->now);
    vec_free(&w->undo);
    vec_free(&w->frames);
}

/* ---- numbering ------------------------------------------------------------------------------------------------- */

static void add_use(Ssa *ssa, const SsaWalk *w, u32 slot, RegId reg)
{
    vec_push(&ssa->uses, ((SsaUse){slot, w->now[reg]}));
}

static void add_value(Ssa *ssa, const SsaWalk *w, u32 n, const Operand *o)
{
    bool whole = slot_kills(ssa->instrs.v[n].i, o);
    if (bitset_has(&ssa->unknown, o->id))
        return;
    if (!whole)
        add_use(ssa, w, SSA_NONE, o->id);
    vec_push(&ssa->values, ((SsaValue){.reg = o->id, .instr = n, .whole = whole, .is_read = true}));
}

static void number_instr(Ssa *ssa, SsaWalk *w, u32 n)
{
    SsaInstr *at = &ssa->instrs.v[n];
    Instr *i = at->i;
    at->use = ssa->uses.n;
    at->value = ssa->values.n;
    for_each_slot(o, i) {
        if (o->kind != OPND_REG || !bitset_has(&ssa->wanted, o->id))
            continue;
        if (slot_is_use(o))
            add_use(ssa, w, (u32)(o - i->opnd), o->id);
        if (slot_is_def(o))
            add_value(ssa, w, n, o);
    }
    if (i->guard && bitset_has(&ssa->wanted, i->guard))
        add_use(ssa, w, SSA_NONE, i->guard);
    at->uses = ssa->uses.n - at->use;
    at->values = ssa->values.n - at->value;
    ssa_step(w, n);
}

static void fill_args(Ssa *ssa, const SsaWalk *w, const Block *b)
{
    for (u32 k = 0; k < ssa->phis[b->id]; k++) {
        SsaValue *phi = &ssa->values.v[ssa->first_phi[b->id] + k];
        ssa->args.v[phi->arg + phi->args++] = w->now[phi->reg];
    }
}

/* The phis of all blocks, as values, with room for an argument for each edge. */
static void make_phis(Ssa *ssa, Arena *arena, const Order *order, const Live *live, const Places *phis)
{
    Graph by_position = graph_from_edges(arena, order->count, phis->position.v, phis->reg.v, phis->reg.n);
    for (u32 position = 0; position < order->count; position++) {
        u32 edges = order->pred.start[position + 1] - order->pred.start[position];
        Block *b = order->rpo[position];
        ssa->first_phi[b->id] = ssa->values.n;
        for_each_edge(e, &by_position, position) {
            RegId reg = by_position.to[e];
            vec_push(&ssa->values, ((SsaValue){.reg = reg, .instr = SSA_NONE, .phi = b, .arg = ssa->args.n, .whole = true,
                                               .is_read = live_in(live, b, reg)}));
            ssa->phis[b->id]++;
            vec_reserve(&ssa->args, ssa->args.n + edges);
            ssa->args.n += edges;
        }
    }
}

static void number(Ssa *ssa, const Order *order)
{
    SsaWalk w = ssa_walk(ssa);
    for (u32 pre = 1; pre <= ssa->dom->count; pre++) {
        Block *b = ssa->dom->by_pre[pre];
        ssa_enter(&w, b);
        for (u32 n = ssa->first[b->id]; n < ssa->end[b->id]; n++)
            number_instr(ssa, &w, n);
        for_each_edge(e, &order->succ, order->index[b->id])
            fill_args(ssa, &w, order->rpo[order->succ.to[e]]);
    }
    ssa_walk_free(&w);
}

static Ssa *ssa_new(Arena *arena, const Function *fn, const DomTree *dom, const BitSet *wanted)
{
    Ssa *ssa = arena_new(arena, Ssa);
    *ssa = (Ssa){.dom = dom, .wanted = *wanted, .regs = fn->regs.n, .unknown = bitset_new(arena, fn->regs.n)};
    bitset_fill(&ssa->unknown);
    bitset_andnot(&ssa->unknown, wanted);
    bitset_add(&ssa->unknown, CARRY_REG);
    ssa->first = arena_array(arena, u32, 4 * fn->blocks.n);
    ssa->end = ssa->first + fn->blocks.n;
    ssa->first_phi = ssa->end + fn->blocks.n;
    ssa->phis = ssa->first_phi + fn->blocks.n;
    return ssa;
}

/* From a position to its dominance frontier; false: it is too large. */
static bool find_frontier(Arena *arena, const Order *order, const DomTree *dom, Graph *frontier)
{
    Frontier f = {0};
    bool fits = collect_frontier(order, dom, &f);
    if (fits)
        *frontier = graph_from_edges(arena, order->count, f.from.v, f.to.v, f.from.n);
    vec_free(&f.from);
    vec_free(&f.to);
    return fits;
}

Ssa *ssa_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Live *live, const BitSet *wanted)
{
    Arena scratch = {0};
    Graph frontier;
    Ssa *ssa = NULL;
    if (find_frontier(&scratch, order, dom, &frontier)) {
        ssa = ssa_new(arena, fn, dom, wanted);
        Graph defs = list_instrs(ssa, &scratch, order);
        Placer placer = {.order = order, .live = live, .frontier = &frontier, .defs = &defs};
        place_phis(&placer, ssa);
        vec_reserve(&ssa->values, 1 + placer.phis.reg.n + defs.start[defs.nodes]);
        vec_push(&ssa->values, ((SsaValue){.instr = SSA_NONE}));
        make_phis(ssa, &scratch, order, live, &placer.phis);
        places_free(&placer.phis);
        arena_free(&scratch);
        number(ssa, order);
    }
    arena_free(&scratch);
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
