#include "analysis/values.h"

#include "base/bound.h"
#include "ir/inspect.h"

enum {
    DEPTH = 6,   /* the most questions passed on to operands, one within the other */
    STEPS = 64,  /* the most instructions that one query asks about */
    MEMO = 64,   /* answers that are remembered */
    COMPARES = 6 /* looked at for one register, if the question does not say how many */
};

typedef struct Query {
    const Facts *f;
    const Ssa *ssa;
    const Given *given;
    Instr *undecided; /* the first selp asked that neither facts nor `given` decide */
    u32 steps;
    bool moved; /* the question left the point for a definition elsewhere, perhaps of an earlier iteration */
} Query;

/* What a definition gives to its register, for queries that came to it from elsewhere. The edges into a block ask alike. */
typedef struct Known {
    ValueId value;
    u32 epoch;             /* of the code, when it was found */
    u32 compares;          /* Given.compares of the query */
    u8 bits, depth, steps; /* bits: 0: of a predicate */
    FactValue truth;
    Range range;
} Known;

static FactValue predicate_at(Query *q, ProgramPoint point, RegId predicate, u32 depth);
static Range range_at(Query *q, ProgramPoint point, RegId reg, u32 bits, u32 depth);
static Known of_definition(Query *q, const SsaValue *v, RegId reg, u32 bits, u32 depth);

static FactValue opposite(FactValue v) { return v == FACT_UNKNOWN ? v : v == FACT_TRUE ? FACT_FALSE : FACT_TRUE; }

/* ---- where values come from -------------------------------------------------------------------------------------- */

static ProgramPoint before(ProgramPoint point, const Instr *i) { return (ProgramPoint){point.from, point.b, i}; }

/* The value that reg holds at the point; NULL: it has no name, and nothing is known of it. */
static const SsaValue *value_at(const Query *q, ProgramPoint point, RegId reg)
{
    const SsaValue *v = &q->ssa->values[ssa_at(q->ssa, point.b, point.at, reg)];
    return v == q->ssa->values || (v->instr && !instr_writes(v->instr, reg)) ? NULL : v;
}

static ValueId value_id(const Query *q, const SsaValue *v) { return (ValueId)(v - q->ssa->values); }

/* Whether the point's block itself writes it. */
static bool is_written_here(const Query *q, ProgramPoint point, const SsaValue *v)
{
    return v->instr && v->pre == q->ssa->dom->pre[point.b->id];
}

/* The instruction above the point's block whose result the value is, and the point where it stands. */
static Instr *find_definition(const Query *q, const SsaValue *v, RegId reg, ProgramPoint *there)
{
    Instr *write = ssa_definition(q->ssa, value_id(q, v), reg);
    if (write)
        *there = (ProgramPoint){NULL, write->block, write};
    return write;
}

/* ---- what was found before --------------------------------------------------------------------------------------- */

/* The place for what the definition at the point gives to its register. */
static Known *known_at(const Query *q, ValueId value, u32 bits, u32 depth)
{
    Arena *arena;
    void **memo = facts_memo(q->f, &arena);
    if (!*memo)
        *memo = arena_array(arena, Known, MEMO);
    return (Known *)*memo + (value * 8 + depth + bits) % MEMO;
}

/* Whether it is known already. A query that would run out of steps asks again, since its answer differs. */
static bool recall(Query *q, const Known *known, const Known *asked)
{
    bool same = known->value == asked->value && known->epoch == asked->epoch && known->compares == asked->compares &&
                known->bits == asked->bits && known->depth == asked->depth && q->steps + known->steps <= STEPS;
    q->steps += same ? known->steps : 0;
    return same;
}

/* Remembers an answer that did not run out of steps. steps: what the query had taken before. */
static void remember(const Query *q, Known *found, u32 steps)
{
    found->steps = (u8)(q->steps - steps);
    if (WITHIN(STEPS, q->steps <= STEPS))
        *known_at(q, found->value, found->bits, found->depth) = *found;
}

/* ---- comparisons ----------------------------------------------------------------------------------------------- */

static bool same_operand(const Operand *a, const Operand *b)
{
    return a->kind == b->kind && a->id == b->id && a->value == b->value && a->sub == b->sub && a->flags == b->flags;
}

/* Whether the operand holds at the point what it held at the beginning of the point's block. */
static bool reaches_top(const Query *q, ProgramPoint point, const Operand *o)
{
    ValueId value = o->kind == OPND_REG ? ssa_at_entry(q->ssa, point.b, o->id) : 0;
    return o->kind != OPND_REG || (value && value == ssa_at(q->ssa, point.b, point.at, o->id));
}

/* NULL: the value that reg holds at the beginning of the point's block is not known. */
static u32 compares_of(const Query *q, ProgramPoint point, RegId reg, const SsaValue *v, Compare *out)
{
    u32 limit = q->given->compares ? q->given->compares : COMPARES;
    if (limit == GIVEN_NO_COMPARES)
        return 0;
    if (point.from)
        return compares_on_edge(q->f, point.from, point.b, reg, out, limit);
    return v ? compares_of_value(q->f, point.b, value_id(q, v), out, limit)
             : compares_at_entry(q->f, point.b, reg, out, limit);
}

/* The answer that a known comparison of the same two operands gives. */
static FactValue compare_by_facts(Query *q, ProgramPoint point, const Instr *setp, const Operand *a, const Operand *b)
{
    Compare known[GIVEN_COMPARES];
    const Operand *reg = operand_plain_register(a) ? a : b;
    u32 n = operand_plain_register(reg) ? compares_of(q, point, reg->id, NULL, known) : 0;
    if (n == 0 || !reaches_top(q, point, a) || !reaches_top(q, point, b))
        return FACT_UNKNOWN;
    Cmp cmp = setp->op->cmp;
    Type type = setp->op->sem.compared;
    for (u32 k = 0; k < n; k++) {
        Operand ka = known[k].a, kb = known[k].b;
        ka.role = a->role;
        kb.role = b->role;
        if (!type_is_integer(type) && known[k].ftz != setp->op->sem.ftz)
            continue;
        FactValue v = FACT_UNKNOWN;
        if (same_operand(&ka, a) && same_operand(&kb, b))
            v = compare_implies(known[k].cmp, known[k].type, cmp, type);
        else if (same_operand(&ka, b) && same_operand(&kb, a))
            v = compare_implies(cmp_swapped(known[k].cmp), known[k].type, cmp, type);
        if (v != FACT_UNKNOWN)
            return v;
    }
    return FACT_UNKNOWN;
}

static Range operand_range(Query *q, ProgramPoint point, const Operand *o, u32 bits, u32 depth)
{
    if (o && o->kind == OPND_IMM && !(o->flags & (OPNDF_NOT | OPNDF_NEG)))
        return range_constant(bits, (u64)o->value);
    if (o && o->kind == OPND_SREG && !o->flags && o->sub <= SUB_Z) {
        const SregInfo *sreg = sreg_info(o->id);
        if (type_bits(sreg->type) <= bits && (o->sub != SUB_NONE || sreg->components == 0)) {
            u64 least, most;
            fn_sreg_bounds(point.b->fn, o, &least, &most);
            return range_unsigned(bits, least, most);
        }
    }
    return operand_plain_register(o) ? range_at(q, point, o->id, bits, depth) : range_full(bits);
}

/* a cmp b of a setp or set, before the third predicate. */
static FactValue compare_value(Query *q, ProgramPoint point, Instr *setp, u32 depth)
{
    Type type = setp->op->sem.compared;
    const Operand *a = instr_operand(setp, 1), *b = instr_operand(setp, 2);
    if (type == TYPE_NONE || !a || !b)
        return FACT_UNKNOWN;
    FactValue v = compare_by_facts(q, point, setp, a, b);
    if (v != FACT_UNKNOWN || !type_is_integer(type))
        return v;
    Cmp cmp = setp->op->cmp;
    if (operand_plain_register(a) && operand_plain_register(b) && a->id == b->id)
        return compare_implies(CMP_EQ, type, cmp, type);
    u32 bits = type_bits(type);
    Range x = operand_range(q, point, a, bits, depth), y = operand_range(q, point, b, bits, depth);
    return range_compare(cmp, compare_is_signed(cmp, type), x, y);
}

/* ---- predicates ------------------------------------------------------------------------------------------------ */

static FactValue predicate_operand(Query *q, ProgramPoint point, const Operand *o, u32 depth)
{
    FactValue v = FACT_UNKNOWN;
    if (!o)
        return v;
    if (o->kind == OPND_IMM)
        v = o->value ? FACT_TRUE : FACT_FALSE;
    else if (operand_register(o))
        v = predicate_at(q, point, o->id, depth);
    return o->flags & OPNDF_NOT ? opposite(v) : v;
}

static FactValue combined(Opcode opcode, FactValue a, FactValue b)
{
    FactValue strong = opcode == OPC_AND ? FACT_FALSE : FACT_TRUE;
    if (opcode != OPC_XOR && (a == strong || b == strong))
        return strong;
    if (a == FACT_UNKNOWN || b == FACT_UNKNOWN)
        return FACT_UNKNOWN;
    if (opcode == OPC_XOR)
        return a != b ? FACT_TRUE : FACT_FALSE;
    return opposite(strong);
}

static FactValue setp_value(Query *q, ProgramPoint point, Instr *setp, RegId predicate, u32 depth)
{
    const Operand *to = instr_operand(setp, 0);
    FactValue v = compare_value(q, point, setp, depth);
    if (to->kind == OPND_PAIR) {
        bool first = to[1].kind == OPND_REG && to[1].id == predicate,
             second = to[2].kind == OPND_REG && to[2].id == predicate;
        if (first == second)
            return FACT_UNKNOWN;
        v = second ? opposite(v) : v;
    }
    if (setp->op->bool_op == BOOL_NONE)
        return v;
    FactValue third = predicate_operand(q, point, instr_operand(setp, 3), depth);
    switch (setp->op->bool_op) {
    case BOOL_AND: return combined(OPC_AND, v, third);
    case BOOL_OR: return combined(OPC_OR, v, third);
    default: return combined(OPC_XOR, v, third);
    }
}

/* The truth that i, which stands at the point, gives to the predicate. */
static FactValue predicate_given(Query *q, ProgramPoint point, Instr *i, RegId predicate, u32 depth)
{
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    switch (i->op->sem.bits == 1 ? i->op->sem.op : OPC_UNKNOWN) {
    case OPC_SETP: return setp_value(q, point, i, predicate, depth);
    case OPC_MOV: return predicate_operand(q, point, a, depth);
    case OPC_NOT: return opposite(predicate_operand(q, point, a, depth));
    case OPC_AND:
    case OPC_OR:
    case OPC_XOR:
        return combined(i->op->opcode, predicate_operand(q, point, a, depth), predicate_operand(q, point, b, depth));
    default: return FACT_UNKNOWN;
    }
}

static FactValue guard_value(Query *q, ProgramPoint point, const Instr *i, u32 depth)
{
    FactValue v = predicate_at(q, point, i->guard, depth);
    return i->guard_not ? opposite(v) : v;
}

/* The predicate that v gives to the register, which the point's block writes, perhaps under a guard. */
static FactValue predicate_written(Query *q, ProgramPoint point, const SsaValue *v, RegId predicate, u32 depth)
{
    ProgramPoint there = before(point, v->instr);
    FactValue runs = v->whole ? FACT_TRUE : v->instr->guard ? guard_value(q, there, v->instr, depth) : FACT_UNKNOWN;
    if (runs == FACT_TRUE)
        return predicate_given(q, there, v->instr, predicate, depth);
    return runs == FACT_FALSE ? predicate_at(q, there, predicate, depth) : FACT_UNKNOWN;
}

static FactValue predicate_at(Query *q, ProgramPoint point, RegId predicate, u32 depth)
{
    if (BEYOND(DEPTH, depth == 0) || BEYOND(STEPS, ++q->steps > STEPS))
        return FACT_UNKNOWN;
    const SsaValue *v = value_at(q, point, predicate);
    if (!v)
        return FACT_UNKNOWN;
    if (is_written_here(q, point, v))
        return predicate_written(q, point, v, predicate, depth - 1);
    if (point.from) {
        FactValue on_edge = facts_on_edge(q->f, point.from, point.b, predicate);
        return on_edge != FACT_UNKNOWN ? on_edge
                                       : predicate_at(q, (ProgramPoint){NULL, point.from, NULL}, predicate, depth - 1);
    }
    FactValue known = facts_of_value(q->f, point.b, value_id(q, v));
    return known != FACT_UNKNOWN ? known : of_definition(q, v, predicate, 0, depth - 1).truth;
}

/* ---- integers -------------------------------------------------------------------------------------------------- */

static Range conversion(Query *q, ProgramPoint point, const Instr *i, const Operand *a, u32 bits, u32 depth)
{
    const Sem *sem = &i->op->sem;
    if (sem->bits > bits)
        return range_full(bits);
    Range r = operand_range(q, point, a, sem->from, depth);
    r = sem->from > sem->bits ? range_truncate(r, sem->bits) : range_extend(r, sem->bits, sem->is_signed);
    return range_extend(r, bits, sem->to_signed);
}

static Range loaded(const Instr *i, u32 bits)
{
    Type type = i->op->type[0]; /* of memory */
    if (i->op->vector > 1 || i->op->types != 1 || !type_is_integer(type) || type_bits(type) >= bits)
        return range_full(bits);
    return range_extend(range_full(type_bits(type)), bits, type_class(type) == TC_SIGNED);
}

/* Whether the selp, whose predicate says nothing, is given to take its first operand. */
static FactValue select_given(Query *q, Instr *selp)
{
    for (u32 k = 0; k < q->given->selects && !q->moved; k++)
        if (q->given->select[k].selp == selp)
            return q->given->select[k].first ? FACT_TRUE : FACT_FALSE;
    if (!q->moved && !q->undecided)
        q->undecided = selp;
    return FACT_UNKNOWN;
}

static Range selected(Query *q, ProgramPoint point, Instr *i, u32 bits, u32 depth)
{
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    FactValue which = predicate_operand(q, point, instr_operand(i, 3), depth);
    if (which == FACT_UNKNOWN)
        which = select_given(q, i);
    if (which != FACT_UNKNOWN)
        return operand_range(q, point, which == FACT_TRUE ? a : b, bits, depth);
    return range_union(operand_range(q, point, a, bits, depth), operand_range(q, point, b, bits, depth));
}

/* The range of a set's result: all ones or zero, and for packed types each half for itself. */
static Range set_range(Query *q, ProgramPoint point, Instr *set, u32 bits, u32 depth)
{
    if (set->op->sem.bits != bits || set->op->bool_op != BOOL_NONE)
        return range_full(bits);
    FactValue v = compare_value(q, point, set, depth);
    return v == FACT_UNKNOWN ? range_signed(bits, -1, 0) : range_constant(bits, v == FACT_TRUE ? UINT64_MAX : 0);
}

/* The range that i, which stands at the point, gives to the `bits` wide register that it writes. */
static Range range_given(Query *q, ProgramPoint point, Instr *i, u32 bits, u32 depth)
{
    const Operand *to = instr_operand(i, 0), *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    const Sem *sem = &i->op->sem;
    if (!to || !operand_plain_register(to))
        return range_full(bits);
    if (i->op->opcode == OPC_LD)
        return loaded(i, bits);
    if (sem->op == OPC_CVT)
        return conversion(q, point, i, a, bits, depth);
    if (sem->op == OPC_POPC || sem->op == OPC_CLZ)
        return range_unsigned(bits, 0, sem->from);
    if (sem->op == OPC_SET)
        return set_range(q, point, i, bits, depth);
    if (sem->bits != bits || sem->from != bits)
        return range_full(bits);
    if (sem->op == OPC_MOV)
        return operand_range(q, point, a, bits, depth);
    if (sem->op == OPC_SELP)
        return selected(q, point, i, bits, depth);
    if (instr_operands(i) != 3)
        return range_full(bits);
    u32 b_bits = sem->op == OPC_SHL || sem->op == OPC_SHR ? 32 : bits;
    if (!range_binary_says((Opcode)sem->op, NULL))
        return range_full(bits);
    Range second = operand_range(q, point, b, b_bits, depth);
    if (!range_binary_says((Opcode)sem->op, &second))
        return range_full(bits);
    return range_binary((Opcode)sem->op, sem->is_signed, operand_range(q, point, a, bits, depth), second);
}

/* The part of r that the comparisons known at the beginning of the block allow; nothing has written reg, which holds v, since. */
static Range narrowed(const Query *q, ProgramPoint point, RegId reg, const SsaValue *v, Range r)
{
    Compare known[GIVEN_COMPARES];
    u32 n = range_is_constant(&r) ? 0 : compares_of(q, point, reg, v, known);
    for (u32 k = 0; k < n; k++) {
        const Compare *c = &known[k];
        Type type = c->type;
        bool first = c->a.kind == OPND_REG && c->a.id == reg;
        const Operand *with = first ? &c->b : &c->a;
        if (!type_is_integer(type) || type_bits(type) != r.bits || with->kind != OPND_IMM)
            continue;
        Cmp cmp = first ? c->cmp : cmp_swapped(c->cmp);
        r = range_assume(r, cmp, compare_is_signed(cmp, type), range_constant(r.bits, (u64)with->value));
    }
    return r;
}

static bool given_at_top(const Query *q, const Block *b, RegId reg, u32 bits, Range *r)
{
    const Given *g = q->given;
    for (u32 k = 0; k < g->regs && !q->moved && g->top == b; k++)
        if (g->reg[k].reg == reg) {
            *r = range_constant(bits, g->reg[k].value);
            return true;
        }
    return false;
}

/* The range of the value v, which the point's block writes, perhaps under a guard. */
static Range range_written(Query *q, ProgramPoint point, const SsaValue *v, RegId reg, u32 bits, u32 depth)
{
    ProgramPoint there = before(point, v->instr);
    if (v->whole)
        return range_given(q, there, v->instr, bits, depth);
    if (!v->instr->guard || instr_operand(v->instr, 0)->kind != OPND_REG)
        return range_full(bits);
    return range_union(range_given(q, there, v->instr, bits, depth), range_at(q, there, reg, bits, depth));
}

/* What is known of the value v of reg, which another block computes: its range of `bits`, or its truth if that is 0. What the query
 * assumes of its own path does not hold there. */
static Known of_definition(Query *q, const SsaValue *v, RegId reg, u32 bits, u32 depth)
{
    ProgramPoint there;
    Instr *write = find_definition(q, v, reg, &there);
    Known asked = {.value = value_id(q, v), .compares = q->given->compares, .bits = (u8)bits, .depth = (u8)depth};
    asked.truth = FACT_UNKNOWN;
    if (!write) {
        asked.range = range_full(bits ? bits : 1);
        return asked;
    }
    asked.epoch = there.b->fn->epoch[EPOCH_CODE];
    const Known *known = known_at(q, asked.value, bits, depth);
    u32 steps = q->steps;
    bool moved = q->moved;
    if (recall(q, known, &asked))
        return *known;
    q->moved = true;
    if (bits)
        asked.range = range_given(q, there, write, bits, depth);
    else
        asked.truth = predicate_given(q, there, write, reg, depth);
    q->moved = moved;
    remember(q, &asked, steps);
    return asked;
}

static Range range_at(Query *q, ProgramPoint point, RegId reg, u32 bits, u32 depth)
{
    Range r = range_full(bits);
    if (BEYOND(DEPTH, depth == 0) || BEYOND(STEPS, ++q->steps > STEPS) || bits == 0)
        return r;
    const SsaValue *v = value_at(q, point, reg);
    if (!v)
        return r;
    if (is_written_here(q, point, v))
        return range_written(q, point, v, reg, bits, depth - 1);
    if (point.from) {
        r = range_at(q, (ProgramPoint){NULL, point.from, NULL}, reg, bits, depth - 1);
    } else if (given_at_top(q, point.b, reg, bits, &r)) {
        return r;
    } else {
        r = of_definition(q, v, reg, bits, depth - 1).range;
    }
    return narrowed(q, point, reg, v, r);
}

/* ---- queries --------------------------------------------------------------------------------------------------- */

Range value_of_register(const Facts *f, ProgramPoint point, RegId reg, u32 bits)
{
    Instr *undecided;
    return value_of_register_given(f, point, reg, bits, &(Given){.selects = 0}, &undecided);
}

static FactValue predicate_of_branch(const Facts *f, ProgramPoint point, RegId predicate, const Given *given,
                                     Instr **undecided)
{
    Query q = {.f = f, .ssa = facts_ssa(f), .given = given};
    FactValue v = predicate_at(&q, point, predicate, DEPTH);
    *undecided = q.undecided;
    return v;
}

Range value_of_register_given(const Facts *f, ProgramPoint point, RegId reg, u32 bits, const Given *given,
                              Instr **undecided)
{
    Query q = {.f = f, .ssa = facts_ssa(f), .given = given};
    Range r = range_at(&q, point, reg, bits, DEPTH);
    *undecided = q.undecided;
    return r;
}

Block *value_of_branch_given(const Facts *f, const Block *from, Block *b, const Given *given, Instr **undecided)
{
    Instr *end = block_terminator(b);
    ProgramPoint place = {from, b, end};
    *undecided = NULL;
    const Table *table = branch_table(end);
    if (table) {
        const Operand *index = instr_operand(end, 0);
        if (end->guard || !operand_plain_register(index))
            return NULL;
        Range r = value_of_register_given(f, place, index->id, 32, given, undecided);
        return range_is_constant(&r) && r.lo < table->targets.n ? fn_block(b->fn, table->targets.v[r.lo]) : NULL;
    }
    FactValue v = predicate_of_branch(f, place, end->guard, given, undecided);
    if (v == FACT_UNKNOWN)
        return NULL;
    return (v == FACT_TRUE) != end->guard_not ? branch_target(end) : b->fall;
}
