#include "analysis/affine.h"

#include "base/bound.h"
#include "ir/inspect.h"

enum { DEFINITIONS_MAX = 8 /* the most definitions that a value is followed through */ };

/* ---- definitions in a loop ----------------------------------------------------------------------------------------- */

bool affine_is_invariant(const Loop *loop, RegId reg)
{
    u32 writes;
    loop_last_write(loop, reg, &writes);
    return writes == 0;
}

Instr *affine_definition(Analyses *an, const Loop *loop, RegId reg)
{
    u32 writes;
    Instr *def = loop_last_write(loop, reg, &writes);
    bool once = writes == 1 && !def->guard && dominates(an_dom(an), def->block, loop->latches[0]);
    return once && operand_plain_register(instr_operand(def, 0)) == reg ? def : NULL;
}

/* ---- operations ---------------------------------------------------------------------------------------------------- */

static u32 register_bits(const Function *fn, RegId reg) { return type_bits(fn_reg(fn, reg)->type); }

/* Whether i computes an integer of 32 or 64 bits, as wide as the register that it writes. */
static bool is_plain_integer(const Function *fn, const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    bool same = sem->op == i->op->opcode && sem->from == sem->bits && sem->bits >= 32;
    return same && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) && to && register_bits(fn, to) == sem->bits;
}

bool affine_is_step(const Function *fn, const Instr *i, RegId *of, i64 *by)
{
    if (i->kind != INSTR_OP || i->guard || (i->op->opcode != OPC_ADD && i->op->opcode != OPC_SUB) ||
        !is_plain_integer(fn, i))
        return false;
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    if (i->op->opcode == OPC_ADD && a->kind == OPND_IMM)
        SWAP(a, b);
    *of = operand_plain_register(a);
    *by = i->op->opcode == OPC_SUB ? (i64)(0 - (u64)b->value) : b->value;
    return *of && b->kind == OPND_IMM;
}

static bool is_copy(const Function *fn, const Instr *i, RegId *of)
{
    *of = i->op->opcode == OPC_MOV && !i->guard ? operand_plain_register(instr_operand(i, 1)) : 0;
    return *of && is_plain_integer(fn, i) && register_bits(fn, *of) == i->op->sem.bits;
}

/* Finds what the loop adds to reg in an iteration, between two executions of def, its only write. def must end a chain of
 * steps and copies that leads back to reg's earlier value. */
static bool find_step(Analyses *an, const Loop *loop, RegId reg, const Instr *def, u64 *step)
{
    *step = 0;
    for (u32 k = 0; WITHIN(DEFINITIONS_MAX, k < DEFINITIONS_MAX); k++) {
        RegId of;
        i64 by = 0;
        if (!is_copy(an->fn, def, &of) && !affine_is_step(an->fn, def, &of, &by))
            return false;
        *step += (u64)by;
        if (of == reg)
            return true;
        const Instr *next = affine_definition(an, loop, of);
        if (!next || !instr_dominates(an_dom(an), next, def))
            return false;
        def = next;
    }
    return false;
}

/* ---- sums ---------------------------------------------------------------------------------------------------------- */

static bool add_term(Affine *to, RegId reg, u64 factor)
{
    u32 k = 0;
    while (k < to->terms && to->term[k].reg != reg)
        k++;
    if (BEYOND(AFFINE_TERMS, k == AFFINE_TERMS))
        return false;
    if (k == to->terms)
        to->term[to->terms++] = (AffineTerm){reg, 0};
    to->term[k].factor += factor;
    return true;
}

/* Adds x * factor to `to`; false: there are too many terms. */
static bool add_value(Affine *to, const Affine *x, u64 factor)
{
    to->start += x->start * factor;
    to->step += x->step * factor;
    for (u32 k = 0; k < x->terms; k++)
        if (!add_term(to, x->term[k].reg, x->term[k].factor * factor))
            return false;
    return true;
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

typedef struct AffineSearch {
    Analyses *an;
    const Loop *loop;
    u32 left; /* how many definitions may still be looked at */
} AffineSearch;

static bool value_of(AffineSearch *s, const Instr *at, RegId reg, u32 bits, Affine *value);

static bool operand_value(AffineSearch *s, const Instr *at, const Operand *o, u32 bits, Affine *value)
{
    *value = (Affine){.bits = bits};
    if (o && o->kind == OPND_IMM) {
        value->start = (u64)o->value;
        return true;
    }
    RegId reg = operand_plain_register(o);
    return reg && value_of(s, at, reg, bits, value);
}

/* Finds a * b + c, where a or b is a constant. */
static bool product_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    if (a->kind == OPND_IMM)
        SWAP(a, b);
    Affine x;
    if (b->kind != OPND_IMM || !operand_value(s, i, a, bits, &x) || !add_value(value, &x, (u64)b->value))
        return false;
    return i->op->opcode == OPC_MUL || (operand_value(s, i, instr_operand(i, 3), bits, &x) && add_value(value, &x, 1));
}

static bool sum_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    Affine a, b;
    return operand_value(s, i, instr_operand(i, 1), bits, &a) && operand_value(s, i, instr_operand(i, 2), bits, &b) &&
           add_value(value, &a, 1) && add_value(value, &b, i->op->opcode == OPC_ADD ? 1 : (u64)-1);
}

/* Finds the low bits of a conversion, which are those of its source, as many as both have. */
static bool converted_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    const Sem *sem = &i->op->sem;
    RegId from = operand_plain_register(instr_operand(i, 1)), to = operand_plain_register(instr_operand(i, 0));
    bool plain = sem->op == OPC_CVT && sem->from >= 32 && sem->bits >= 32;
    if (!plain || !from || !to || register_bits(s->an->fn, from) != sem->from || register_bits(s->an->fn, to) != sem->bits)
        return false;
    return sem->from >= bits && value_of(s, i, from, bits, value);
}

static bool result_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    Affine x;
    *value = (Affine){.bits = bits};
    if (i->op->opcode == OPC_CVT)
        return converted_value(s, i, bits, value);
    bool shift = i->op->opcode == OPC_SHL && i->op->sem.op == OPC_SHL && i->op->sem.bits >= bits;
    if (!shift && !is_plain_integer(s->an->fn, i))
        return false;
    switch (i->op->sem.op) {
    case OPC_MOV: return operand_value(s, i, instr_operand(i, 1), bits, value);
    case OPC_ADD:
    case OPC_SUB: return sum_value(s, i, bits, value);
    case OPC_MUL:
    case OPC_MAD: return product_value(s, i, bits, value);
    case OPC_SHL: {
        const Operand *by = instr_operand(i, 2);
        bool known = by->kind == OPND_IMM && by->value >= 0 && by->value < (i64)bits;
        return known && operand_value(s, i, instr_operand(i, 1), bits, &x) && add_value(value, &x, (u64)1 << by->value);
    }
    default: return false;
    }
}

static bool value_of(AffineSearch *s, const Instr *at, RegId reg, u32 bits, Affine *value)
{
    *value = (Affine){.bits = bits};
    if (register_bits(s->an->fn, reg) < bits || BEYOND(DEFINITIONS_MAX, s->left == 0))
        return false;
    s->left--;
    if (affine_is_invariant(s->loop, reg))
        return add_term(value, reg, 1);
    const Instr *def = affine_definition(s->an, s->loop, reg);
    if (!def)
        return false;
    bool before = instr_dominates(an_dom(s->an), def, at);
    u64 step;
    if (find_step(s->an, s->loop, reg, def, &step)) {
        value->step = step;
        value->start = before ? step : 0;
        return add_term(value, reg, 1);
    }
    return before && result_value(s, def, bits, value);
}

bool affine_value(Analyses *an, const Loop *loop, const Instr *at, RegId reg, u32 bits, Affine *value)
{
    AffineSearch s = {an, loop, DEFINITIONS_MAX};
    return value_of(&s, at, reg, bits, value);
}
