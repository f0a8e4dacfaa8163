#include "analysis/facts.h"

#include "base/bound.h"
#include "analysis/loop.h"
#include "base/search.h"
#include "ir/inspect.h"

enum {
    EDGE_FACTS = 8, /* the most facts of one edge */
    CHAIN = 64      /* the most dominating facts of one value that a query looks at */
};

/* A fact that holds on an edge, and in the blocks that its target dominates. A predicate is true or false, the comparison
 * of a setp is, or the index of a brx is this number. A fact is about one value or two. */
typedef struct Fact {
    const Instr *by;        /* setp or brx; NULL: a predicate's value */
    u32 id;                 /* the predicate's register; the index of the brx */
    u32 to : 31, value : 1; /* pre-number of the block that the edge leads to; of the predicate or setp */
    ValueId about[2];       /* the predicate, or what is compared; 0: a constant or special register */
} Fact;

#define ENTRY_NONE UINT32_MAX

/* A fact among those about a value, in the order of the pre-numbers of `to`. */
typedef struct Entry {
    ValueId value;
    u32 fact;
    u32 outer; /* the entry of the same value whose edge dominates this one's most closely; ENTRY_NONE */
} Entry;

typedef struct EdgeFacts EdgeFacts;

typedef struct FactsMemo {
    Arena *arena;
    void *memo;
} FactsMemo;

struct Facts {
    const Order *order;
    const Ssa *ssa;
    VEC(Fact) facts;
    Entry *entry; /* ascending by value */
    u32 entries;
    u32 *start;      /* by value: its entries are entry[start[value]] .. entry[start[value + 1] - 1] */
    EdgeFacts *last; /* of the edge that was asked about last: a question about it asks several others */
    FactsMemo *memo;
};

static ProgramPoint entry_of(const Block *b) { return (ProgramPoint){NULL, b, b->first}; }
static ProgramPoint end_of(const Block *b) { return (ProgramPoint){NULL, b, NULL}; }

static ValueId value_at(const Facts *f, ProgramPoint p, RegId reg) { return ssa_at(f->ssa, p.b, p.at, reg); }
static const Block *block_of(const Facts *f, const Entry *e) { return f->ssa->dom->by_pre[f->facts.v[e->fact].to]; }

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
        if (edge_is_back(f->ssa->dom, other, b))
            continue;
        if (from)
            return NULL;
        from = other;
    }
    return from;
}

/* ---- what an edge says ----------------------------------------------------------------------------------------- */

struct EdgeFacts {
    const Facts *f;
    const Block *from, *to; /* everything holds at the end of `from` */
    u32 epoch;              /* of the code, when they were collected */
    Fact v[EDGE_FACTS];
    u32 n;
};

static bool is_comparable(const Operand *o)
{
    if (o->flags & (OPNDF_NOT | OPNDF_NEG))
        return false;
    if (o->kind == OPND_SREG)
        return !operand_is_volatile(o);
    return operand_register(o) || o->kind == OPND_IMM || o->kind == OPND_FLOAT;
}

/* The value of the register that operand o of i reads, if the register still holds it on the edge; otherwise 0. */
static ValueId still_held(const EdgeFacts *e, const Instr *i, const Operand *o)
{
    ValueId value = ssa_at(e->f->ssa, i->block, i, o->id);
    return value == ssa_at_end(e->f->ssa, e->from, o->id) ? value : 0;
}

static void add_fact(EdgeFacts *e, Fact fact)
{
    if (WITHIN(EDGE_FACTS, e->n < EDGE_FACTS))
        e->v[e->n++] = fact;
}

/* The predicate operand o of i was true or false when i ran. */
static void add_source(EdgeFacts *e, const Instr *i, const Operand *o, bool value)
{
    ValueId read = operand_register(o) ? still_held(e, i, o) : 0;
    if (read)
        add_fact(e, (Fact){.id = o->id, .about = {read}, .value = value != ((o->flags & OPNDF_NOT) != 0)});
}

static Cmp setp_says(const OpInfo *op, bool value)
{
    return value ? op->cmp : cmp_inverse(op->cmp, type_class(op->sem.compared));
}

static void add_compare(EdgeFacts *e, const Instr *setp, const Operand *a, const Operand *b, bool value)
{
    if (setp_says(setp->op, value) == CMP_NONE || !is_comparable(a) || !is_comparable(b))
        return;
    Fact fact = {
        .by = setp,
        .value = value,
        .about = {a->kind == OPND_REG ? still_held(e, setp, a) : 0, b->kind == OPND_REG ? still_held(e, setp, b) : 0}};
    if ((a->kind != OPND_REG || fact.about[0]) && (b->kind != OPND_REG || fact.about[1]))
        add_fact(e, fact);
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
    switch (setp->op->bool_op) {
    case BOOL_NONE: add_compare(e, setp, a, b, value != second); return;
    case BOOL_AND:
    case BOOL_OR:
        if (!c || value != (setp->op->bool_op == BOOL_AND))
            return; /* one of the two is enough */
        add_compare(e, setp, a, b, value != second);
        add_source(e, setp, c, value);
        return;
    case BOOL_XOR: return;
    }
}

/* Adds what else holds because i gave the predicate this value. */
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

/* Explains every predicate that is known by the instruction that computed it; what is found is explained in turn. */
static void explain_all(EdgeFacts *e)
{
    for (u32 k = 0; k < e->n; k++) {
        const Fact fact = e->v[k];
        if (fact.by)
            continue;
        Instr *i = ssa_definition(e->f->ssa, fact.about[0], fact.id);
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
    ValueId value = ssa_at(e->f->ssa, e->from, brx, index->id);
    if (value)
        add_fact(e, (Fact){.by = brx, .id = place, .about = {value}});
}

/* The facts that the branch at the end of `from` establishes on its edge to `to`. Large tables have no facts: looking for
 * the entry of each target would be quadratic. */
static void collect_edge(EdgeFacts *e, const Facts *f, const Block *from, const Block *to)
{
    enum { TABLE_LIMIT = 256 };
    Instr *end = block_terminator(from);
    e->f = f;
    e->from = from;
    e->n = 0;
    if (!end)
        return;
    const Table *table = branch_table(end);
    const Block *target = table ? NULL : branch_target(end);
    bool falls = from->fall == to;
    if (table && BEYOND(TABLE_LIMIT, table->targets.n > TABLE_LIMIT))
        return;
    bool taken = target == to;
    for (u32 k = 0; table && k < table->targets.n; k++)
        taken = taken || table->targets.v[k] == to->id;
    if (taken == falls)
        return; /* both edges lead there, or none */
    if (taken && table)
        add_table_index(e, end, table, to);
    ValueId guard = end->guard ? ssa_at(f->ssa, from, end, end->guard) : 0;
    if (guard)
        add_fact(e, (Fact){.id = end->guard, .about = {guard}, .value = taken != end->guard_not});
    explain_all(e);
}

/* The facts of the edge in the code as it is now; the last answer is kept. */
static const EdgeFacts *edge_facts(const Facts *f, const Block *from, const Block *to)
{
    EdgeFacts *e = f->last;
    if (e->from != from || e->to != to || e->epoch != from->fn->epoch[EPOCH_CODE]) {
        collect_edge(e, f, from, to);
        e->to = to;
        e->epoch = from->fn->epoch[EPOCH_CODE];
    }
    return e;
}

/* ---- what a fact is about -------------------------------------------------------------------------------------- */

/* The first operand that is compared: of a setp, after the predicates that it writes; of a brx, the index. */
static const Operand *compared(const Instr *by) { return &by->opnd[by->def_slots]; }

/* The comparison that a fact states; it is not a fact about a predicate. */
static Compare compare_of(const Fact *fact)
{
    const Operand *a = compared(fact->by), *b = a + 1;
    const OpInfo *op = fact->by->op;
    if (op->opcode == OPC_SETP)
        return (Compare){.cmp = (u8)setp_says(op, fact->value),
                         .type = op->sem.compared,
                         .ftz = op->sem.ftz,
                         .a = *a,
                         .b = *b,
                         .by = fact->by};
    Operand place = {.kind = OPND_IMM, .role = ROLE_USE, .value = fact->id};
    return (Compare){.cmp = CMP_EQ, .type = TYPE_U32, .a = *a, .b = place, .by = fact->by};
}

static bool is_about(const Fact *fact, ValueId value)
{
    return value && (fact->about[0] == value || fact->about[1] == value);
}

/* ---- lists by value ----------------------------------------------------------------------------------------- */

static void list_facts(Facts *f, u32 pre)
{
    EdgeFacts e;
    const Block *to = f->ssa->dom->by_pre[pre], *from = in_edge(f, to);
    if (!from)
        return;
    collect_edge(&e, f, from, to);
    for (u32 k = 0; k < e.n; k++) {
        e.v[k].to = pre;
        vec_push(&f->facts, e.v[k]);
    }
}

static Graph facts_by_value(const Facts *f, Arena *scratch)
{
    VecU32 value = {0}, fact = {0};
    for (u32 k = 0; k < f->facts.n; k++) {
        const ValueId *about = f->facts.v[k].about;
        for (u32 n = 0; n < 2; n++)
            if (about[n] && !(n && about[1] == about[0])) {
                vec_push(&value, about[n]);
                vec_push(&fact, k);
            }
    }
    Graph by_value = graph_from_edges(scratch, f->ssa->count, value.v, fact.v, value.n);
    vec_free(&value);
    vec_free(&fact);
    return by_value;
}

/* Entries of one value stand in the order of a walk over the dominator tree: `outer` is the last one that dominates. */
static void add_entry(Facts *f, ValueId value, u32 fact)
{
    const Block *b = f->ssa->dom->by_pre[f->facts.v[fact].to];
    u32 outer = f->entries ? f->entries - 1 : ENTRY_NONE;
    if (outer != ENTRY_NONE && f->entry[outer].value != value)
        outer = ENTRY_NONE;
    while (outer != ENTRY_NONE && !dominates(f->ssa->dom, block_of(f, &f->entry[outer]), b))
        outer = f->entry[outer].outer;
    f->entry[f->entries++] = (Entry){value, fact, outer};
}

static void list_entries(Facts *f, Arena *arena)
{
    Arena scratch = {0};
    Graph by_value = facts_by_value(f, &scratch);
    f->entry = arena_array(arena, Entry, by_value.start[by_value.nodes]);
    f->start = arena_array(arena, u32, (size_t)f->ssa->count + 1);
    for (ValueId value = 1; value < f->ssa->count; value++) {
        for_each_edge(e, &by_value, value)
            add_entry(f, value, by_value.to[e]);
        f->start[value + 1] = f->entries;
    }
    arena_free(&scratch);
}

Facts *facts_compute(Arena *arena, const Order *order, const Ssa *ssa)
{
    Facts *f = arena_new(arena, Facts);
    *f = (Facts){.order = order, .ssa = ssa, .last = arena_new(arena, EdgeFacts), .memo = arena_new(arena, FactsMemo)};
    f->memo->arena = arena;
    for (u32 pre = 1; pre <= ssa->dom->count; pre++)
        list_facts(f, pre);
    list_entries(f, arena);
    return f;
}

void facts_free(Facts *f) { vec_free(&f->facts); }

const Ssa *facts_ssa(const Facts *f) { return f->ssa; }

void **facts_memo(const Facts *f, Arena **arena)
{
    *arena = f->memo->arena;
    return &f->memo->memo;
}

/* ---- queries --------------------------------------------------------------------------------------------------- */

/* The entry of the value whose edge dominates b most closely. */
static u32 nearest_entry(const Facts *f, const Block *b, ValueId value)
{
    const DomTree *dom = f->ssa->dom;
    u32 first = f->start[value], pre = dom->pre[b->id];
    u32 after = partition_point(e, first, value ? f->start[value + 1] : first, f->facts.v[f->entry[e].fact].to <= pre);
    u32 k = after > first ? after - 1 : ENTRY_NONE;
    for (u32 steps = 0; k != ENTRY_NONE && !dominates(dom, block_of(f, &f->entry[k]), b); steps++)
        k = WITHIN(CHAIN, steps < CHAIN) ? f->entry[k].outer : ENTRY_NONE;
    return k;
}

static FactValue fact_value(bool value) { return value ? FACT_TRUE : FACT_FALSE; }

FactValue facts_of_value(const Facts *f, const Block *b, ValueId value)
{
    u32 k = nearest_entry(f, b, value);
    for (u32 steps = 0; k != ENTRY_NONE && WITHIN(CHAIN, steps < CHAIN); steps++, k = f->entry[k].outer) {
        const Fact *fact = &f->facts.v[f->entry[k].fact];
        if (!fact->by)
            return fact_value(fact->value);
    }
    return FACT_UNKNOWN;
}

FactValue facts_at_entry(const Facts *f, const Block *b, RegId predicate)
{
    return facts_of_value(f, b, ssa_at_entry(f->ssa, b, predicate));
}

FactValue facts_at_end(const Facts *f, const Block *b, RegId predicate)
{
    return facts_of_value(f, b, ssa_at_end(f->ssa, b, predicate));
}

FactValue facts_on_edge(const Facts *f, const Block *from, const Block *to, RegId predicate)
{
    ValueId value = ssa_at_end(f->ssa, from, predicate);
    const EdgeFacts *e = value ? edge_facts(f, from, to) : NULL;
    for (u32 k = 0; e && k < e->n; k++)
        if (!e->v[k].by && e->v[k].about[0] == value)
            return fact_value(e->v[k].value);
    return facts_of_value(f, from, value);
}

/* Whether the registers that are compared hold there what was compared. */
static bool compare_holds(const Facts *f, const Fact *fact, ProgramPoint p)
{
    const Operand *of = compared(fact->by);
    for (u32 n = 0; n < 2; n++)
        if (fact->about[n] && value_at(f, p, of[n].id) != fact->about[n])
            return false;
    return true;
}

static u32 compares_at(const Facts *f, ProgramPoint p, ValueId value, Compare *out, u32 limit)
{
    u32 n = 0, k = nearest_entry(f, p.b, value);
    for (u32 steps = 0; k != ENTRY_NONE && n < limit && WITHIN(CHAIN, steps < CHAIN); steps++, k = f->entry[k].outer) {
        const Fact *fact = &f->facts.v[f->entry[k].fact];
        if (fact->by && compare_holds(f, fact, p))
            out[n++] = compare_of(fact);
    }
    return n;
}

u32 compares_at_entry(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit)
{
    return compares_of_value(f, b, ssa_at_entry(f->ssa, b, reg), out, limit);
}

u32 compares_of_value(const Facts *f, const Block *b, ValueId value, Compare *out, u32 limit)
{
    return compares_at(f, entry_of(b), value, out, limit);
}

u32 compares_at_end(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit)
{
    return compares_at(f, end_of(b), ssa_at_end(f->ssa, b, reg), out, limit);
}

u32 compares_on_edge(const Facts *f, const Block *from, const Block *to, RegId reg, Compare *out, u32 limit)
{
    ValueId value = ssa_at_end(f->ssa, from, reg);
    const EdgeFacts *e = value ? edge_facts(f, from, to) : NULL;
    u32 n = 0;
    for (u32 k = 0; e && k < e->n && n < limit; k++)
        if (e->v[k].by && is_about(&e->v[k], value))
            out[n++] = compare_of(&e->v[k]);
    return n + compares_at(f, end_of(from), value, out + n, limit - n);
}
