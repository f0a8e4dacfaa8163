#include "analysis/facts.h"
#include "ir/inspect.h"

#include <stdlib.h>

enum {
    EDGE_FACTS = 8,    /* of one edge */
    BLOCKS_BACK = 8,   /* for a definition */
    NEAR = 64,         /* instructions that are looked at before the lists of writes are */
    CHAIN = 64         /* dominating facts of one register that a query looks at */
};

/* What holds from an edge on: the value of a predicate, that the comparison of a setp is true or false, or that the index of a
 * brx is this one. There are more of them than blocks, so they name what they are about: compare_of() tells. */
typedef struct Fact {
    const Instr *by;          /* setp or brx; NULL: a predicate's value */
    u32 id;                   /* the predicate's RegId; the index */
    u32 to : 31, value : 1;   /* pre-number of the block that the edge leads to; of the predicate or setp */
} Fact;

#define ENTRY_NONE UINT32_MAX

struct Facts {
    const Order *order;
    const DomTree *dom;
    const Loops *loops;
    u32 regs;
    u32 *write_start;    /* by register: those that write it are write[write_start[reg]] .. write[write_start[reg + 1] - 1] */
    Instr **write;
    Graph entries;       /* by register: facts about it, in the order of the pre-numbers of `to` */
    u32 *outer;          /* by entry: that of the same register whose edge dominates this one's most closely; ENTRY_NONE */
    VEC(Fact) facts;
};

static const Fact *fact_of(const Facts *f, u32 entry) { return &f->facts.v[f->entries.to[entry]]; }
static const Block *block_of(const Facts *f, u32 entry) { return f->dom->by_pre[fact_of(f, entry)->to]; }

/* Right before an instruction of the block, or at its end (NULL). Facts of an edge start where it leads, not at a point:
 * an edge back to there does not establish them again. */
typedef struct Point {
    const Block *b;
    const Instr *before;
} Point;

static Point entry_of(const Block *b) { return (Point){b, b->first}; }
static Point end_of(const Block *b) { return (Point){b, NULL}; }
static Point point_after(const Instr *i) { return (Point){i->block, i->next}; }

/* ---- writes in between ----------------------------------------------------------------------------------------- */

/* i is of the point's block. */
static bool comes_before(const Instr *i, Point p) { return !p.before || instr_precedes(i, p.before); }

/* The last write of reg that the lists have before the point, in its block; NULL. */
static Instr *last_write(const Facts *f, RegId reg, Point p)
{
    u32 first = f->write_start[reg], low = first, high = f->write_start[reg + 1];
    u32 index = f->order->index[p.b->id];
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        const Instr *w = f->write[middle];
        u32 at = w->block && order_reachable(f->order, w->block) ? f->order->index[w->block->id] : index;
        if (at < index || (w->block == p.b && comes_before(w, p)))
            low = middle + 1;
        else
            high = middle;
    }
    Instr *last = low > first ? f->write[low - 1] : NULL;
    return last && last->block == p.b && instr_writes(last, reg) ? last : NULL;
}

/* Whether b and w lie on a cycle that avoids p, which dominates b. In reducible code that is a loop without p. */
static bool cycle_without(const Loops *loops, const Block *b, const Block *w, const Block *p)
{
    for (const Loop *l = loop_of(loops, b); l && !loop_contains(loops, l, p); l = l->parent)
        if (loop_contains(loops, l, w))
            return true;
    return false;
}

/* Whether w, which lies in the part of the function that only paths from the start can enter, comes on one of them before
 * q. The part's blocks are those that can be between; passing `start` begins a new path. */
static bool comes_between(const Facts *f, const Instr *w, const Block *start, Point q)
{
    if (w->block == q.b && comes_before(w, q))
        return true;
    if (dominates(f->dom, q.b, w->block)) /* comes after q, unless a loop leads back */
        return cycle_without(f->loops, q.b, w->block, start);
    return true;
}

/* Whether w can lie on a path from p to q that does not pass p again; p's block dominates q's, and is another. */
static bool is_between_points(const Facts *f, const Instr *w, Point p, Point q)
{
    if (w->block == p.b)
        return !comes_before(w, p);
    return strictly_dominates(f->dom, p.b, w->block) && comes_between(f, w, p.b, q);
}

/* The block from which control enters b for the first time, if there is only one such edge. */
static const Block *in_edge(const Facts *f, const Block *b)
{
    const Graph *pred = &f->order->pred;
    u32 p = f->order->index[b->id];
    const Block *from = NULL;
    if (p == 0)
        return NULL;
    for_each_edge(e, pred, p) {
        const Block *other = f->order->rpo[pred->to[e]];
        if (edge_is_back(f->dom, other, b))
            continue;
        if (from)
            return NULL;
        from = other;
    }
    return from;
}

/* Likewise from the edge into a block that dominates q's: what is not dominated by it comes back to q only through there. */
static bool is_after_edge(const Facts *f, const Instr *w, const Block *to, Point q)
{
    return dominates(f->dom, to, w->block) && comes_between(f, w, in_edge(f, to), q);
}

static bool too_many_writes(const Facts *f, RegId reg)
{
    return f->loops->irreducible || f->write_start[reg + 1] - f->write_start[reg] > WRITES_LOOKED_AT;
}

/* From p on to q, in one block. */
static bool unwritten_within(const Facts *f, RegId reg, Point p, Point q)
{
    const Instr *i = p.before;
    for (u32 steps = 0; i != q.before && steps < NEAR; i = i->next, steps++)
        if (!i || instr_writes(i, reg))
            return false;
    if (i == q.before)
        return true;
    const Instr *last = i && comes_before(i, q) ? last_write(f, reg, q) : i;
    return i && (!last || instr_precedes(last, i));
}

static bool unwritten(const Facts *f, RegId reg, Point p, Point q)
{
    if (p.b == q.b)
        return unwritten_within(f, reg, p, q);
    if (too_many_writes(f, reg))
        return false;
    for (u32 k = f->write_start[reg]; k < f->write_start[reg + 1]; k++)
        if (is_between_points(f, f->write[k], p, q))
            return false;
    return true;
}

static bool unwritten_since(const Facts *f, RegId reg, const Fact *fact, Point q)
{
    if (too_many_writes(f, reg))
        return false;
    for (u32 k = f->write_start[reg]; k < f->write_start[reg + 1]; k++)
        if (is_after_edge(f, f->write[k], f->dom->by_pre[fact->to], q))
            return false;
    return true;
}

bool facts_unwritten(const Facts *f, const Instr *i, const Block *b, RegId reg)
{
    return reg < f->regs && dominates(f->dom, i->block, b) && unwritten(f, reg, point_after(i), end_of(b));
}

/* ---- definitions ----------------------------------------------------------------------------------------------- */

static bool defines(const Instr *i, RegId reg)
{
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (w.reg == reg && w.kills)
            return true;
    return false;
}

static Instr *only_write(const Facts *f, RegId reg)
{
    u32 first = f->write_start[reg];
    return f->write_start[reg + 1] - first == 1 ? f->write[first] : NULL;
}

static const Block *only_pred(const Facts *f, const Block *b)
{
    u32 p = f->order->index[b->id];
    const Graph *pred = &f->order->pred;
    return p != 0 && pred->start[p + 1] - pred->start[p] == 1 ? f->order->rpo[pred->to[pred->start[p]]] : NULL;
}

/* The last write of reg before the point, in its block; NULL. */
static Instr *write_before(const Facts *f, Point p, RegId reg)
{
    Instr *i = p.before ? p.before->prev : p.b->last;
    for (u32 steps = 0; i && steps < NEAR; i = i->prev, steps++)
        if (instr_writes(i, reg))
            return i;
    return i ? last_write(f, reg, (Point){p.b, i->next}) : NULL;
}

static Instr *definition(const Facts *f, Point p, RegId reg)
{
    const Block *b = p.b;
    const Instr *before = p.before;
    for (u32 steps = 0; b && steps < BLOCKS_BACK; steps++) {
        Instr *i = write_before(f, (Point){b, before}, reg);
        if (i)
            return defines(i, reg) ? i : NULL;
        b = only_pred(f, b);
        before = NULL;
    }
    Instr *only = only_write(f, reg);
    return only && defines(only, reg) && strictly_dominates(f->dom, only->block, p.b) ? only : NULL;
}

Instr *facts_definition(const Facts *f, const Block *b, const Instr *at, RegId reg)
{
    return reg < f->regs && dom_has(f->dom, b) ? definition(f, (Point){b, at}, reg) : NULL;
}

/* ---- what an edge says ----------------------------------------------------------------------------------------- */

typedef struct EdgeFacts {
    const Facts *f;
    Point end; /* of the block that branches: everything holds there */
    Fact v[EDGE_FACTS];
    u32 n;
} EdgeFacts;

static bool is_comparable(const Operand *o)
{
    if (o->flags & (OPNDF_NOT | OPNDF_NEG))
        return false;
    if (o->kind == OPND_SREG)
        return !operand_is_volatile(o);
    return operand_register(o) || o->kind == OPND_IMM || o->kind == OPND_FLOAT;
}

/* Whether the register that i reads still is what i read, at the edge. */
static bool still_holds(const EdgeFacts *e, const Instr *i, const Operand *o)
{
    return o->kind != OPND_REG || (!instr_writes(i, o->id) && unwritten(e->f, o->id, point_after(i), e->end));
}

static void add_fact(EdgeFacts *e, Fact fact)
{
    if (e->n < EDGE_FACTS)
        e->v[e->n++] = fact;
}

/* The predicate operand o of i was true or false when i ran. */
static void add_source(EdgeFacts *e, const Instr *i, const Operand *o, bool value)
{
    if (operand_register(o) && still_holds(e, i, o))
        add_fact(e, (Fact){.id = o->id, .value = value != ((o->flags & OPNDF_NOT) != 0)});
}

static Cmp setp_says(const OpInfo *op, bool value)
{
    return value ? (Cmp)op->cmp : cmp_inverse((Cmp)op->cmp, type_class((Type)op->sem.compared));
}

static void add_compare(EdgeFacts *e, const Instr *setp, const Operand *a, const Operand *b, bool value)
{
    if (setp_says(setp->op, value) != CMP_NONE && is_comparable(a) && is_comparable(b) && still_holds(e, setp, a) &&
        still_holds(e, setp, b))
        add_fact(e, (Fact){.by = setp, .value = value});
}

/* setp.lt.and p|q, a, b, c: p is (a < b) and c, q is !(a < b) and c. The packed types compare two lanes instead. */
static void explain_setp(EdgeFacts *e, Instr *setp, RegId predicate, bool value)
{
    const Operand *to = instr_operand(setp, 0), *a = instr_operand(setp, 1), *b = instr_operand(setp, 2);
    const Operand *c = instr_operand(setp, 3);
    bool second = false;
    if (!b)
        return;
    if (to->kind == OPND_PAIR) {
        second = to[2].kind == OPND_REG && to[2].id == predicate;
        if (second && to[1].kind == OPND_REG && to[1].id == predicate)
            return;
    }
    switch ((BoolOp)setp->op->bool_op) {
    case BOOL_NONE:
        add_compare(e, setp, a, b, value != second);
        return;
    case BOOL_AND:
    case BOOL_OR:
        if (!c || value != (setp->op->bool_op == BOOL_AND))
            return; /* one of the two is enough */
        add_compare(e, setp, a, b, value != second);
        add_source(e, setp, c, value);
        return;
    case BOOL_XOR:
        return;
    }
}

/* What made the predicate have this value. */
static void explain(EdgeFacts *e, Instr *i, RegId predicate, bool value)
{
    Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    Opcode opcode = i->op->sem.bits == 1 && a ? (Opcode)i->op->sem.op : OPC_UNKNOWN;
    if (opcode == OPC_SETP)
        explain_setp(e, i, predicate, value);
    else if (opcode == OPC_MOV)
        add_source(e, i, a, value);
    else if (opcode == OPC_NOT)
        add_source(e, i, a, !value);
    else if (b && ((opcode == OPC_AND && value) || (opcode == OPC_OR && !value))) {
        add_source(e, i, a, value);
        add_source(e, i, b, value);
    }
}

/* Every predicate that is known is explained by the instruction that computed it. */
static void explain_all(EdgeFacts *e)
{
    for (u32 k = 0; k < e->n; k++) {
        const Fact fact = e->v[k];
        if (fact.by)
            continue;
        /* What is known of it at the edge it also was where it was computed: nothing wrote it since. */
        Instr *i = definition(e->f, e->end, fact.id);
        if (i)
            explain(e, i, fact.id, fact.value);
    }
}

static void add_table_index(EdgeFacts *e, Instr *brx, const Table *table, const Block *to)
{
    const Operand *index = instr_operand(brx, 0);
    u32 place = 0, hits = 0;
    for (u32 k = 0; k < table->targets.n; k++)
        if (table->targets.v[k] == to->id) {
            place = k;
            hits++;
        }
    if (hits != 1 || !operand_register(index))
        return;
    add_fact(e, (Fact){.by = brx, .id = place});
}

/* The facts that the branch at the end of `from` establishes on its edge to `to`. Large tables have no facts: looking for
 * the entry of each target would be quadratic. */
static void collect_edge(EdgeFacts *e, const Facts *f, const Block *from, const Block *to)
{
    enum { TABLE_LIMIT = 256 };
    Instr *end = block_terminator(from);
    e->f = f;
    e->end = end_of(from);
    e->n = 0;
    if (!end)
        return;
    const Table *table = branch_table(end);
    const Block *target = table ? NULL : branch_target(end);
    bool falls = from->fall == to;
    if (table && table->targets.n > TABLE_LIMIT)
        return;
    bool taken = target == to;
    for (u32 k = 0; table && k < table->targets.n; k++)
        taken = taken || table->targets.v[k] == to->id;
    if (taken == falls)
        return; /* both edges lead there, or none */
    if (taken && table)
        add_table_index(e, end, table, to);
    if (end->guard)
        add_fact(e, (Fact){.id = end->guard, .value = taken != end->guard_not});
    explain_all(e);
}

/* ---- what a fact is about -------------------------------------------------------------------------------------- */

/* The operands of a setp, or the index of a brx, stand after what is written. */
static const Operand *compared(const Instr *by) { return &by->opnd[by->def_slots]; }

/* Of a fact that is not a predicate's value. */
static Compare compare_of(const Fact *fact)
{
    const Operand *a = compared(fact->by), *b = a + 1;
    const OpInfo *op = fact->by->op;
    if (op->opcode == OPC_SETP)
        return (Compare){.cmp = (u8)setp_says(op, fact->value), .type = op->sem.compared, .ftz = op->sem.ftz,
            .a = *a, .b = *b, .by = fact->by};
    Operand place = {.kind = OPND_IMM, .role = ROLE_USE, .value = fact->id};
    return (Compare){.cmp = CMP_EQ, .type = TYPE_U32, .a = *a, .b = place, .by = fact->by};
}

/* The predicate, or the registers that are compared; their number. */
static u32 registers_of(const Fact *fact, RegId reg[2])
{
    u32 n = 0;
    reg[0] = fact->id;
    if (!fact->by)
        return 1;
    const Operand *a = compared(fact->by), *b = a + 1;
    if (a->kind == OPND_REG)
        reg[n++] = a->id;
    if (fact->by->op->opcode == OPC_SETP && b->kind == OPND_REG && !(n && reg[0] == b->id))
        reg[n++] = b->id;
    return n;
}

static bool is_about(const Fact *fact, RegId reg)
{
    RegId about[2];
    u32 n = fact->by ? registers_of(fact, about) : 0;
    return (n > 0 && about[0] == reg) || (n > 1 && about[1] == reg);
}

/* ---- lists by register ----------------------------------------------------------------------------------------- */

static void list_facts(Facts *f, u32 pre)
{
    EdgeFacts e;
    const Block *to = f->dom->by_pre[pre], *from = in_edge(f, to);
    if (!from)
        return;
    collect_edge(&e, f, from, to);
    for (u32 k = 0; k < e.n; k++) {
        e.v[k].to = pre;
        vec_push(&f->facts, e.v[k]);
    }
}

/* Entries of one register stand in the order of a walk over the dominator tree: `outer` is the last one that dominates. */
static void link_entries(Facts *f, RegId reg)
{
    u32 first = f->entries.start[reg], end = f->entries.start[reg + 1];
    if (first < end)
        f->outer[first] = ENTRY_NONE;
    for (u32 k = first + 1; k < end; k++) {
        u32 outer = k - 1;
        while (outer != ENTRY_NONE && !dominates(f->dom, block_of(f, outer), block_of(f, k)))
            outer = f->outer[outer];
        f->outer[k] = outer;
    }
}

static void group_entries(Facts *f, Arena *arena)
{
    RegId reg[2];
    u32 *start = arena_array(arena, u32, (size_t)f->regs + 2), *next = start + 1; /* next[reg] moves to where its entries end */
    for (u32 k = 0; k < f->facts.n; k++)
        for (u32 n = registers_of(&f->facts.v[k], reg); n-- > 0;)
            next[reg[n] + 1]++;
    for (RegId r = 0; r < f->regs; r++)
        next[r + 1] += next[r];
    u32 entries = next[f->regs];
    f->entries = (Graph){f->regs, start, arena_array(arena, u32, entries)};
    f->outer = arena_array(arena, u32, entries);
    for (u32 k = 0; k < f->facts.n; k++)
        for (u32 n = registers_of(&f->facts.v[k], reg); n-- > 0;)
            f->entries.to[next[reg[n]]++] = k;
    for (RegId r = 0; r < f->regs; r++)
        link_entries(f, r);
}

static void collect_writes(Facts *f, Arena *arena)
{
    u32 *start = f->write_start = arena_array(arena, u32, (size_t)f->regs + 2);
    for (u32 p = 0; p < f->order->count; p++)
        for_each_instr(i, f->order->rpo[p])
            for (RegWalk w = reg_walk(i); next_write(&w);)
                start[w.reg + 2]++;
    for (RegId reg = 0; reg < f->regs; reg++)
        start[reg + 2] += start[reg + 1];
    f->write = arena_array(arena, Instr *, start[f->regs + 1]);
    /* Filling moves start[reg + 1] from where the register's begin to where the next one's do. */
    for (u32 p = 0; p < f->order->count; p++)
        for_each_instr(i, f->order->rpo[p])
            for (RegWalk w = reg_walk(i); next_write(&w);)
                f->write[start[w.reg + 1]++] = i;
}

Facts *facts_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Loops *loops)
{
    Facts *f = arena_new(arena, Facts);
    *f = (Facts){.order = order, .dom = dom, .loops = loops, .regs = fn->regs.n};
    collect_writes(f, arena);
    for (u32 pre = 1; pre <= dom->count && !loops->irreducible; pre++)
        list_facts(f, pre);
    group_entries(f, arena);
    return f;
}

void facts_free(Facts *f) { vec_free(&f->facts); }

/* ---- queries --------------------------------------------------------------------------------------------------- */

/* The entry of reg whose edge dominates b most closely. */
static u32 nearest_entry(const Facts *f, const Block *b, RegId reg)
{
    if (reg >= f->regs || !dom_has(f->dom, b))
        return ENTRY_NONE;
    u32 first = f->entries.start[reg], low = first, high = f->entries.start[reg + 1];
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (fact_of(f, middle)->to <= f->dom->pre[b->id])
            low = middle + 1;
        else
            high = middle;
    }
    u32 k = low > first ? low - 1 : ENTRY_NONE;
    for (u32 steps = 0; k != ENTRY_NONE && !dominates(f->dom, block_of(f, k), b); steps++)
        k = steps < CHAIN ? f->outer[k] : ENTRY_NONE;
    return k;
}

static FactValue fact_value(bool value) { return value ? FACT_TRUE : FACT_FALSE; }

static FactValue predicate_at(const Facts *f, Point p, RegId predicate)
{
    u32 k = nearest_entry(f, p.b, predicate);
    for (u32 steps = 0; k != ENTRY_NONE && steps < CHAIN; steps++, k = f->outer[k]) {
        const Fact *fact = fact_of(f, k);
        if (!fact->by && fact->id == predicate)
            return unwritten_since(f, predicate, fact, p) ? fact_value(fact->value) : FACT_UNKNOWN;
    }
    return FACT_UNKNOWN;
}

FactValue facts_at_entry(const Facts *f, const Block *b, RegId predicate) { return predicate_at(f, entry_of(b), predicate); }
FactValue facts_at_end(const Facts *f, const Block *b, RegId predicate) { return predicate_at(f, end_of(b), predicate); }

FactValue facts_on_edge(const Facts *f, const Block *from, const Block *to, RegId predicate)
{
    EdgeFacts e;
    e.n = 0;
    if (dom_has(f->dom, from) && !f->loops->irreducible)
        collect_edge(&e, f, from, to);
    for (u32 k = 0; k < e.n; k++)
        if (!e.v[k].by && e.v[k].id == predicate)
            return fact_value(e.v[k].value);
    return facts_at_end(f, from, predicate);
}

static bool compare_holds(const Facts *f, const Fact *fact, Point p)
{
    RegId about[2];
    for (u32 n = registers_of(fact, about); n-- > 0;)
        if (!unwritten_since(f, about[n], fact, p))
            return false;
    return true;
}

static u32 compares_at(const Facts *f, Point p, RegId reg, Compare *out, u32 limit)
{
    u32 n = 0, k = nearest_entry(f, p.b, reg);
    for (u32 steps = 0; k != ENTRY_NONE && n < limit && steps < CHAIN; steps++, k = f->outer[k])
        if (fact_of(f, k)->by && compare_holds(f, fact_of(f, k), p))
            out[n++] = compare_of(fact_of(f, k));
    return n;
}

u32 compares_at_entry(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit)
{
    return compares_at(f, entry_of(b), reg, out, limit);
}

u32 compares_at_end(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit)
{
    return compares_at(f, end_of(b), reg, out, limit);
}

u32 compares_on_edge(const Facts *f, const Block *from, const Block *to, RegId reg, Compare *out, u32 limit)
{
    EdgeFacts e;
    u32 n = e.n = 0;
    if (dom_has(f->dom, from) && !f->loops->irreducible)
        collect_edge(&e, f, from, to);
    for (u32 k = 0; k < e.n && n < limit; k++)
        if (is_about(&e.v[k], reg))
            out[n++] = compare_of(&e.v[k]);
    return n + compares_at_end(f, from, reg, out + n, limit - n);
}
