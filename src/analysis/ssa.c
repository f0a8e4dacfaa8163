#include "analysis/ssa.h"

#include <string.h>

#include "base/bound.h"
#include "analysis/live.h"

enum {
    FRONTIER_SIZE = 32, /* the most entries of all frontiers, times the blocks */
    STEPS = 32,         /* the most edges of frontiers that are followed, times the writes */
    OUTER_STEPS = 64,   /* the most values that one look-up goes through */
    MAX_VALUES = (1 << 30) - 1
};

typedef struct Write {
    Instr *i;
    RegId reg;
    bool kills;
} Write;

/* While values are found. */
typedef struct Maker {
    Ssa *ssa;
    const Function *fn;
    const Order *order;
    const DomTree *dom;
    Arena *scratch;
    VEC(Write) write; /* in the order of the walk over the dominator tree */
    u32 *first;       /* by register: its writes are write.v[at[first[reg]]] .. write.v[at[first[reg + 1] - 1]] */
    u32 *at;
    u32 *writer;    /* by register: pre-number of the one block that writes it, before all that read it; 0: nobody does;
                         PHIS: it may need phis */
    BitSet unknown; /* registers that would take too many phis */
    Graph frontier; /* between positions in the reverse post-order */
    Graph phis;     /* from a register to the pre-numbers of its phis, ascending */
} Maker;

#define PHIS UINT32_MAX
#define READ_FIRST (UINT32_MAX - 1) /* PHIS, once it is written */

/* ---- writes ---------------------------------------------------------------------------------------------------- */

static inline bool pre_dominates(const DomTree *dom, u32 a, u32 b) { return a <= b && b <= dom->last[dom->by_pre[a]->id]; }

/* Notes a read in the block of this pre-number. The walk has come to all writes that dominate it. */
static inline void read_register(Maker *m, RegId reg, u32 pre)
{
    u32 writer = m->writer[reg];
    if (writer != pre && writer < READ_FIRST && (writer == 0 || !pre_dominates(m->dom, writer, pre)))
        m->writer[reg] = writer ? PHIS : READ_FIRST;
}

static inline void list_write(Maker *m, Instr *i, RegId reg, bool kills, u32 pre)
{
    u32 *writer = &m->writer[reg];
    vec_push(&m->write, ((Write){i, reg, kills}));
    m->first[reg + 2]++;
    *writer = *writer == 0 || *writer == pre ? pre : PHIS;
}

static void list_instr(Maker *m, Instr *i, u32 pre)
{
    for_each_slot(o, i)
        if (slot_is_use(o))
            read_register(m, o->id, pre);
    if (i->guard)
        read_register(m, i->guard, pre);
    if (op_has(i->op, OPF_CARRY_OUT))
        list_write(m, i, CARRY_REG, !i->guard, pre);
    for (u32 k = 0; k < i->def_slots; k++)
        if (slot_is_def(&i->opnd[k]))
            list_write(m, i, i->opnd[k].id, slot_kills(i, &i->opnd[k]), pre);
}

static void list_writes(Maker *m)
{
    u32 regs = m->fn->regs.n, *first = m->first = arena_array(m->scratch, u32, (size_t)regs + 2);
    m->writer = arena_array(m->scratch, u32, regs);
    m->writer[CARRY_REG] = PHIS;
    vec_reserve(&m->write, regs + regs / 8); /* compilers write most registers once */
    for (RegId reg = 0; reg < regs && !m->fn->is_entry; reg++)
        m->writer[reg] = m->fn->regs.v[reg].is_param ? READ_FIRST : m->writer[reg];
    for (u32 pre = 1; pre <= m->dom->count; pre++)
        for_each_instr(i, m->dom->by_pre[pre])
            if (i->kind == INSTR_OP)
                list_instr(m, i, pre);
    for (RegId reg = 0; reg < regs; reg++)
        first[reg + 2] += first[reg + 1];
    /* Filling moves first[reg + 1] from where the register's begin to where the next one's do. */
    m->at = arena_alloc_raw(m->scratch, m->write.n * sizeof *m->at);
    for (u32 k = 0; k < m->write.n; k++)
        m->at[first[m->write.v[k].reg + 1]++] = k;
}

static bool is_strict(const Maker *m, RegId reg) { return m->writer[reg] - 1 < READ_FIRST - 1; }

/* ---- dominance frontiers --------------------------------------------------------------------------------------- */

/* A join is in the frontier of each of its predecessors, and of their dominators below its own immediate dominator. The first
 * walk counts the members of each frontier in `next`. The second one, with f->to, enters them where `next` says, as in
 * graph_from_edges(). last: by position, `first` plus the latest join in that block's frontier. False: there are too many. */
static bool walk_frontiers(const Maker *m, const Graph *f, u32 *next, u32 *last, u32 first)
{
    const Order *order = m->order;
    u32 left = FRONTIER_SIZE * order->count + 1024;
    for (u32 p = 0; p < order->count && left > 0; p++) {
        const Block *stop = m->dom->idom[order->rpo[p]->id];
        if (order->pred.start[p + 1] - order->pred.start[p] < 2 && p != 0)
            continue;
        for_each_edge(e, &order->pred, p)
            for (Block *b = order->rpo[order->pred.to[e]]; b && b != stop && left > 0; b = m->dom->idom[b->id], left--) {
                u32 at = order->index[b->id];
                if (last[at] == first + p)
                    break;
                last[at] = first + p;
                if (f->to)
                    f->to[next[at]++] = p;
                else
                    next[at + 1]++;
            }
    }
    return WITHIN(FRONTIER_SIZE, left > 0);
}

/* False: they have too many edges. They are counted first, since they may take more memory than the function. */
static bool find_frontier(Maker *m)
{
    u32 blocks = m->order->count;
    Graph f = {blocks, arena_array(m->scratch, u32, (size_t)blocks + 2), NULL};
    u32 *last = arena_array(m->scratch, u32, blocks), *next = f.start + 1;
    if (!walk_frontiers(m, &f, next, last, 1))
        return false;
    for (u32 p = 0; p < blocks; p++)
        next[p + 1] += next[p];
    f.to = arena_alloc_raw(m->scratch, sizeof(u32) * (size_t)next[blocks]);
    m->frontier = f;
    return walk_frontiers(m, &f, next, last, 1 + blocks);
}

/* ---- phis ------------------------------------------------------------------------------------------------------ */

typedef struct Placer {
    Maker *m;
    VecU32 reg, pre; /* pairs: the register has a phi in that block */
    VecU32 work;     /* positions of blocks that write the register, or have a phi */
    u32 *stamp;      /* by position: the last register, plus 1, that has a phi there */
    u32 steps;       /* left */
} Placer;

static void start_from_writes(Placer *q, RegId reg)
{
    const Maker *m = q->m;
    const Block *last = NULL;
    vec_clear(&q->work);
    vec_push(&q->work, 0); /* what it holds at the entry is also a value */
    for (u32 k = m->first[reg]; k < m->first[reg + 1]; k++)
        if (m->write.v[m->at[k]].i->block != last) {
            last = m->write.v[m->at[k]].i->block;
            vec_push(&q->work, m->order->index[last->id]);
        }
}

static void place_phis_of(Placer *q, RegId reg)
{
    const Maker *m = q->m;
    u32 before = q->reg.n;
    start_from_writes(q, reg);
    while (q->work.n) {
        u32 at = vec_pop(&q->work);
        for_each_edge(e, &m->frontier, at) {
            u32 to = m->frontier.to[e];
            if (BEYOND(STEPS, q->steps == 0)) {
                q->reg.n = q->pre.n = before;
                bitset_add(&q->m->unknown, reg);
                return;
            }
            q->steps--;
            if (q->stamp[to] == reg + 1)
                continue;
            q->stamp[to] = reg + 1;
            vec_push(&q->reg, reg);
            vec_push(&q->pre, m->dom->pre[m->order->rpo[to]->id]);
            vec_push(&q->work, to);
        }
    }
}

/* Sorts the pairs by their blocks, then by register. */
static void group_phis(Placer *q)
{
    Maker *m = q->m;
    Graph by_pre = graph_from_edges(m->scratch, m->dom->count + 1, q->pre.v, q->reg.v, q->reg.n);
    u32 n = 0;
    for (u32 pre = 1; pre <= m->dom->count; pre++)
        for_each_edge(e, &by_pre, pre) {
            q->reg.v[n] = by_pre.to[e];
            q->pre.v[n++] = pre;
        }
    m->phis = graph_from_edges(m->scratch, m->fn->regs.n, q->reg.v, q->pre.v, n);
}

static void place_phis(Maker *m)
{
    Placer q = {.m = m, .stamp = arena_array(m->scratch, u32, m->order->count)};
    u32 regs = m->fn->regs.n;
    bool fits = find_frontier(m);
    q.steps = STEPS * m->first[regs] + 1024;
    m->unknown = bitset_new(m->scratch, regs);
    for (RegId reg = 0; reg < regs; reg++) {
        if (m->writer[reg] != PHIS)
            continue;
        if (fits)
            place_phis_of(&q, reg);
        else
            bitset_add(&m->unknown, reg);
    }
    group_phis(&q);
    vec_free(&q.reg);
    vec_free(&q.pre);
    vec_free(&q.work);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void add_value(Maker *m, RegId reg, SsaValue v)
{
    Ssa *ssa = m->ssa;
    ValueId outer = ssa->count > ssa->start[reg] ? ssa->count - 1 : 0;
    while (outer && !pre_dominates(m->dom, ssa->values[outer].pre, v.pre))
        outer = ssa->values[outer].outer;
    v.outer = outer & MAX_VALUES; /* they would take gigabytes */
    ssa->values[ssa->count++] = v;
}

/* Makes the values of one register, by the pre-numbers of their blocks, a block's phi before its writes. */
static void make_values_of(Maker *m, RegId reg)
{
    Ssa *ssa = m->ssa;
    ssa->start[reg] = ssa->count;
    if (is_strict(m, reg) && m->first[reg + 1] - m->first[reg] == 1) { /* almost all of them */
        const Write *w = &m->write.v[m->at[m->first[reg]]];
        ssa->values[ssa->count++] = (SsaValue){.instr = w->i, .pre = m->writer[reg], .whole = w->kills};
        return;
    }
    if (bitset_has(&m->unknown, reg))
        return;
    u32 phi = m->phis.start[reg], phis = m->phis.start[reg + 1];
    if (!is_strict(m, reg))
        add_value(m, reg, (SsaValue){.pre = 1, .whole = true});
    for (u32 k = m->first[reg]; k < m->first[reg + 1]; k++) {
        const Write *w = &m->write.v[m->at[k]];
        u32 pre = m->dom->pre[w->i->block->id];
        for (; phi < phis && m->phis.to[phi] <= pre; phi++)
            add_value(m, reg, (SsaValue){.pre = m->phis.to[phi], .phi = true, .whole = true});
        add_value(m, reg, (SsaValue){.instr = w->i, .pre = pre, .whole = w->kills});
    }
    for (; phi < phis; phi++)
        add_value(m, reg, (SsaValue){.pre = m->phis.to[phi], .phi = true, .whole = true});
}

Ssa *ssa_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom)
{
    Ssa *ssa = arena_new(arena, Ssa);
    Arena scratch = {0};
    Maker m = {.ssa = ssa, .fn = fn, .order = order, .dom = dom, .scratch = &scratch};
    *ssa = (Ssa){.dom = dom, .regs = fn->regs.n, .count = 1};
    list_writes(&m);
    place_phis(&m);
    u32 values = 1 + m.first[ssa->regs] + m.phis.start[ssa->regs];
    for (RegId reg = 0; reg < ssa->regs; reg++)
        values += !is_strict(&m, reg);
    ssa->values = arena_alloc_raw(arena, values * sizeof *ssa->values);
    ssa->start = arena_alloc_raw(arena, ((size_t)ssa->regs + 1) * sizeof *ssa->start);
    for (RegId reg = 0; reg < ssa->regs; reg++)
        make_values_of(&m, reg);
    ssa->start[ssa->regs] = ssa->count;
    vec_free(&m.write);
    arena_free(&scratch);
    return ssa;
}

/* ---- look-up --------------------------------------------------------------------------------------------------- */

typedef enum Before { BEFORE_NO, BEFORE_YES, BEFORE_GONE } Before;

/* Whether the value, which b makes, is there before the instruction. */
static Before is_made_before(const SsaValue *v, const Block *b, const Instr *before)
{
    if (!v->instr)
        return BEFORE_YES;
    if (v->instr->block != b)
        return BEFORE_GONE;
    if (before && before == b->first) /* this also spares numbering the block */
        return BEFORE_NO;
    return !before || instr_precedes(v->instr, before) ? BEFORE_YES : BEFORE_NO;
}

/* The value of a register at a place in the block that makes it, if it is the only one of the register. */
__attribute__((noinline)) static ValueId look_up_made_here(const Ssa *ssa, const Block *b, const Instr *before, ValueId only)
{
    return is_made_before(&ssa->values[only], b, before) == BEFORE_YES ? only : 0;
}

__attribute__((noinline)) static ValueId look_up(const Ssa *ssa, const Block *b, const Instr *before, RegId reg)
{
    u32 first = ssa->start[reg], low = first, high = ssa->start[reg + 1], pre = ssa->dom->pre[b->id];
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        const SsaValue *v = &ssa->values[middle];
        Before made = v->pre < pre ? BEFORE_YES : v->pre > pre ? BEFORE_NO : is_made_before(v, b, before);
        if (made == BEFORE_GONE)
            return 0;
        if (made == BEFORE_YES)
            low = middle + 1;
        else
            high = middle;
    }
    ValueId value = low > first ? low - 1 : 0;
    for (u32 steps = 0; value && !pre_dominates(ssa->dom, ssa->values[value].pre, pre); steps++)
        value = WITHIN(OUTER_STEPS, steps < OUTER_STEPS) ? ssa->values[value].outer : 0;
    return value;
}

/* Almost all registers have one value, which most questions find in a block above. */
ValueId ssa_at(const Ssa *ssa, const Block *b, const Instr *before, RegId reg)
{
    if (reg >= ssa->regs || !dom_has(ssa->dom, b))
        return 0;
    u32 first = ssa->start[reg], pre = ssa->dom->pre[b->id];
    if (ssa->start[reg + 1] - first != 1)
        return look_up(ssa, b, before, reg);
    u32 made = ssa->values[first].pre;
    if (made == pre)
        return look_up_made_here(ssa, b, before, first);
    return pre_dominates(ssa->dom, made, pre) ? first : 0;
}

Instr *ssa_definition(const Ssa *ssa, ValueId value, RegId reg)
{
    const SsaValue *v = &ssa->values[value];
    bool is_there = value && v->instr && v->whole && v->instr->block == ssa->dom->by_pre[v->pre];
    return is_there && instr_kills(v->instr, reg) ? v->instr : NULL;
}

bool ssa_sources_hold(const Ssa *ssa, const Instr *i, const Block *b)
{
    for (RegWalk w = reg_walk(i); next_read(&w);) {
        ValueId value = ssa_at(ssa, i->block, i, w.reg);
        if (!value || value != ssa_at_end(ssa, b, w.reg))
            return false;
    }
    return true;
}
