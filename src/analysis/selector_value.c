#include "analysis/selector_value.h"
#include "ir/inspect.h"

static const Value unknown = {.kind = VALUE_UNKNOWN};

/* 16, 32 or 64; 0 for types that are not plain integers. */
static u32 integer_bits(Type type)
{
    u32 bits = type_bits(type);
    return type_is_integer(type) && (bits == 16 || bits == 32 || bits == 64) ? bits : 0;
}

static u32 register_bits(const Function *fn, RegId reg)
{
    const Reg *r = fn_reg(fn, reg);
    return r->vector == 1 ? type_bits(r->type) : 0;
}

u32 value_integer_register(const Function *fn, RegId reg)
{
    const Reg *r = fn_reg(fn, reg);
    return r->vector == 1 ? integer_bits(r->type) : 0;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

static Value constant_value(u64 constant, u32 width)
{
    return (Value){.kind = VALUE_CONSTANT, .width = (u8)width, .constant = constant & sem_max(width)};
}

/* The value of an operand of `width` bits, 1 for a predicate; o is NULL where the text has too few operands. */
static Value operand_value(const ValueScope *scope, const Operand *o, u32 width)
{
    if (!o)
        return unknown;
    if (o->kind == OPND_IMM && !(o->flags & (OPNDF_NEG | OPNDF_NOT)))
        return constant_value(width == 1 ? o->value != 0 : (u64)o->value, width);
    RegId reg = operand_plain_register(o);
    if (!reg)
        return unknown;
    Value value = scope->of_register(scope->user, reg);
    return value.kind != VALUE_UNKNOWN && value.width == width ? value : unknown;
}

/* A predicate operand, negated or not, as the set of selectors for which it holds. */
static bool operand_truth(const ValueScope *scope, const Operand *o, ValueSet *truth)
{
    if (!o)
        return false;
    Operand plain = *o;
    plain.flags &= (u8)~OPNDF_NOT;
    Value value = operand_value(scope, &plain, 1);
    if (value.kind == VALUE_CONSTANT)
        *truth = value.constant ? value_set_range(scope->arena, 0, sem_max(scope->bits)) : (ValueSet){0};
    else if (value.kind == VALUE_TRUTH)
        *truth = value.truth;
    else
        return false;
    if (o->flags & OPNDF_NOT)
        *truth = value_set_not(scope->arena, *truth, scope->bits);
    return true;
}

static Value truth_value(ValueSet truth) { return (Value){.kind = VALUE_TRUTH, .width = 1, .truth = truth}; }

ValueSet value_preimage(const ValueScope *scope, const Value *linear, ValueSet values)
{
    Arena *arena = scope->arena;
    ValueSet set = value_set_shift(arena, values, 0 - linear->outer, linear->linear_width);
    if (set.n && set.v[set.n - 1].hi > sem_max(scope->bits))
        set = value_set_and(arena, set, value_set_range(arena, 0, sem_max(scope->bits)));
    return value_set_shift(arena, set, 0 - linear->inner, scope->bits);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------ */

/* a op b, one of them a table, the other a constant. */
static Value map_table(const ValueScope *scope, const Instr *i, const Value *a, const Value *b, u32 width)
{
    const Value *table = a->kind == VALUE_TABLE ? a : b;
    u64 *entry = arena_array(scope->arena, u64, VALUE_ENTRIES);
    for (u32 k = 0; k < VALUE_ENTRIES; k++) {
        u64 left = a == table ? table->entry[k] : a->constant, right = b == table ? table->entry[k] : b->constant;
        sem_apply(i->op->sem, left, right, &entry[k]);
    }
    Value result = *table;
    result.width = (u8)width;
    result.entry = entry;
    return result;
}

/* A constant shifted by a linear value: a table by the amount. */
static Value shift_constant(const ValueScope *scope, const Instr *i, const Value *a, const Value *amount, u32 width)
{
    u64 *entry = arena_array(scope->arena, u64, VALUE_ENTRIES);
    for (u32 k = 0; k < VALUE_ENTRIES; k++)
        sem_apply(i->op->sem, a->constant, k, &entry[k]);
    Value result = *amount;
    result.kind = VALUE_TABLE;
    result.width = (u8)width;
    result.entry = entry;
    return result;
}

static Value add_constant(const ValueScope *scope, Value linear, u64 constant)
{
    if (linear.linear_width == scope->bits)
        linear.inner = (linear.inner + constant) & sem_max(scope->bits);
    else
        linear.outer = (linear.outer + constant) & sem_max(linear.linear_width);
    return linear;
}

static Value arithmetic(const ValueScope *scope, Instr *i)
{
    u32 opcode = i->op->sem.op, width = i->op->sem.bits;
    bool shifts = opcode == OPC_SHL || opcode == OPC_SHR;
    Value a = operand_value(scope, instr_operand(i, 1), width);
    Value b = operand_value(scope, instr_operand(i, 2), shifts ? 32 : width);
    u64 constant;
    if (a.kind == VALUE_CONSTANT && b.kind == VALUE_CONSTANT && sem_apply(i->op->sem, a.constant, b.constant, &constant))
        return constant_value(constant, width);
    bool table_and_constant =
        (a.kind == VALUE_TABLE && b.kind == VALUE_CONSTANT) || (a.kind == VALUE_CONSTANT && b.kind == VALUE_TABLE);
    if (table_and_constant)
        return map_table(scope, i, &a, &b, width);
    if (shifts && a.kind == VALUE_CONSTANT && b.kind == VALUE_LINEAR)
        return shift_constant(scope, i, &a, &b, width);
    if (opcode == OPC_ADD && a.kind == VALUE_CONSTANT && b.kind == VALUE_LINEAR)
        return add_constant(scope, b, a.constant);
    if ((opcode == OPC_ADD || opcode == OPC_SUB) && a.kind == VALUE_LINEAR && b.kind == VALUE_CONSTANT)
        return add_constant(scope, a, opcode == OPC_ADD ? b.constant : 0 - b.constant);
    return unknown;
}

/* The value of a cvt to a wider register. A signed source is counted from its smallest number on, which makes it linear too. */
static Value widen(const ValueScope *scope, Instr *i)
{
    const Sem *sem = &i->op->sem;
    u32 to = sem->bits, from = sem->from;
    if (instr_operands(i) != 2 || to < from || from < 16 || (sem->is_signed && !sem->to_signed))
        return unknown;
    Value value = operand_value(scope, instr_operand(i, 1), from);
    if (value.kind != VALUE_LINEAR || value.linear_width != scope->bits || to == from)
        return to == from ? value : unknown;
    value.width = value.linear_width = (u8)to;
    if (sem->is_signed) {
        value.inner = (value.inner + sem_sign(from)) & sem_max(from);
        value.outer = (0 - sem_sign(from)) & sem_max(to);
    }
    return value;
}

/* ---- predicates ------------------------------------------------------------------------------------------------ */

static ValueSet table_compare(const ValueScope *scope, const Value *table, Cmp cmp, Type type, u64 constant)
{
    Arena *arena = scope->arena;
    ValueSet holds = value_set_compare(arena, cmp, type, constant, table->width), amounts = {0};
    for (u32 k = 0; k < VALUE_ENTRIES; k++) {
        u64 last = k + 1 < VALUE_ENTRIES ? k : sem_max(table->linear_width);
        if (value_set_has(holds, table->entry[k]))
            amounts = value_set_or(arena, amounts, value_set_range(arena, k, last));
    }
    return value_preimage(scope, table, amounts);
}

/* `a cmp b` as a set of selectors; false: not known. */
static bool compare_truth(const ValueScope *scope, Instr *setp, ValueSet *truth)
{
    Type type = setp->op->sem.compared;
    u32 width = integer_bits(type);
    if (!width)
        return false;
    Value a = operand_value(scope, instr_operand(setp, 1), width), b = operand_value(scope, instr_operand(setp, 2), width);
    Cmp cmp = setp->op->cmp;
    if (a.kind == VALUE_CONSTANT && b.kind != VALUE_CONSTANT) {
        SWAP(a, b);
        cmp = cmp_swapped(cmp);
    }
    if (b.kind != VALUE_CONSTANT)
        return false;
    ValueSet holds = value_set_compare(scope->arena, cmp, type, b.constant, width);
    if (a.kind == VALUE_CONSTANT)
        *truth = value_set_has(holds, a.constant) ? value_set_range(scope->arena, 0, sem_max(scope->bits)) : (ValueSet){0};
    else if (a.kind == VALUE_LINEAR)
        *truth = value_preimage(scope, &a, holds);
    else if (a.kind == VALUE_TABLE)
        *truth = table_compare(scope, &a, cmp, type, b.constant);
    else
        return false;
    return true;
}

static ValueSet combine(const ValueScope *scope, BoolOp op, ValueSet a, ValueSet b)
{
    Arena *arena = scope->arena;
    if (op == BOOL_AND)
        return value_set_and(arena, a, b);
    if (op == BOOL_OR)
        return value_set_or(arena, a, b);
    return value_set_or(arena, value_set_minus(arena, a, b), value_set_minus(arena, b, a));
}

static Value comparison(const ValueScope *scope, Instr *setp, RegId reg)
{
    const Operand *to = instr_operand(setp, 0), *third = instr_operand(setp, 3);
    bool second = to->kind == OPND_PAIR && !(to[1].kind == OPND_REG && to[1].id == reg);
    ValueSet truth, with;
    if (!compare_truth(scope, setp, &truth))
        return unknown;
    if (second)
        truth = value_set_not(scope->arena, truth, scope->bits);
    if (setp->op->bool_op != BOOL_NONE) {
        if (!third || !operand_truth(scope, third, &with))
            return unknown;
        truth = combine(scope, setp->op->bool_op, truth, with);
    }
    return truth_value(truth);
}

static Value predicate(const ValueScope *scope, Instr *i)
{
    ValueSet a, b;
    if (!operand_truth(scope, instr_operand(i, 1), &a))
        return unknown;
    switch (i->op->sem.op) {
    case OPC_MOV: return truth_value(a);
    case OPC_NOT: return truth_value(value_set_not(scope->arena, a, scope->bits));
    case OPC_AND:
    case OPC_OR:
    case OPC_XOR:
        if (!operand_truth(scope, instr_operand(i, 2), &b))
            return unknown;
        return truth_value(combine(scope,
                                   i->op->sem.op == OPC_AND  ? BOOL_AND
                                   : i->op->sem.op == OPC_OR ? BOOL_OR
                                                             : BOOL_XOR,
                                   a, b));
    default: return unknown;
    }
}

Value value_of_result(const ValueScope *scope, Instr *i, RegId reg)
{
    const Operand *to = instr_operand(i, 0);
    bool whole = to && (operand_plain_register(to) == reg || to->kind == OPND_PAIR);
    if (!i->op->known || !op_is_pure(i->op) || i->guard || !whole)
        return unknown;
    const Sem *sem = &i->op->sem;
    if (sem->op == OPC_SETP)
        return comparison(scope, i, reg);
    if (to->kind == OPND_PAIR)
        return unknown;
    if (sem->bits == 1)
        return predicate(scope, i);
    u32 width = sem->bits;
    if (width < 16 || register_bits(scope->fn, reg) != width)
        return unknown;
    switch (sem->op) {
    case OPC_MOV: return operand_value(scope, instr_operand(i, 1), width);
    case OPC_CVT: return widen(scope, i);
    case OPC_ADD:
    case OPC_SUB:
    case OPC_AND:
    case OPC_OR:
    case OPC_XOR:
    case OPC_SHL:
    case OPC_SHR: return arithmetic(scope, i);
    default: return unknown;
    }
}

/* ---- offsets --------------------------------------------------------------------------------------------------- */

static bool is_immediate(Instr *i, u32 n)
{
    const Operand *o = instr_operand(i, n);
    return o && o->kind == OPND_IMM && !(o->flags & (OPNDF_NEG | OPNDF_NOT));
}

RegId value_offset_source(const Function *fn, Instr *i)
{
    u32 opcode = i->op->sem.op, width = i->op->sem.bits;
    if (!op_is_pure(i->op) || i->guard || width < 16)
        return 0;
    RegId to = operand_plain_register(instr_operand(i, 0)), from = operand_plain_register(instr_operand(i, 1));
    if (opcode == OPC_ADD && !from && is_immediate(i, 1))
        from = operand_plain_register(instr_operand(i, 2));
    else if (opcode == OPC_ADD || opcode == OPC_SUB)
        from = is_immediate(i, 2) ? from : 0;
    else if (opcode != OPC_MOV)
        from = 0;
    bool same_width = to && from && register_bits(fn, to) == width && value_integer_register(fn, from) == width;
    return same_width ? from : 0;
}
