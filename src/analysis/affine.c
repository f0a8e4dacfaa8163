#include "analysis/affine.h"

#include "base/bound.h"
#include "ir/inspect.h"

enum { DEFINITIONS_MAX = 8 /* the most definitions that a value is followed through */ };

/* ---- definitions in a loop ----------------------------------------------------------------------------------------- */

Instr *affine_only_write(const AffineLoop *in, RegId reg)
{
    Instr *def = loop_only_write(in->loop, reg);
    return def && loop_passes_once(in->loops, in->dom, in->loop, def->block) ? def : NULL;
}

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

static u32 register_bits(const Function *fn, RegId reg) { return type_bits(fn_reg(fn, reg)->type); }

/* Whether i computes an integer, as wide as the register that it writes, of integers of 32 or 64 bits. */
static bool computes_integer(const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    bool same = sem->op == i->op->opcode && sem->from >= 32 && sem->bits >= sem->from;
    return same && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) && to && register_bits(i->block->fn, to) == sem->bits;
}

static bool is_as_wide(const Function *fn, const Operand *o, u32 bits)
{
    RegId reg = operand_plain_register(o);
    return reg && register_bits(fn, reg) == bits;
}

/* Whether the low bits of a constant are ones. */
static bool is_mask(const Operand *o, u32 bits)
{
    return o->kind == OPND_IMM && ((u64)o->value & sem_max(bits)) == sem_max(bits);
}

bool affine_is_cut(const Instr *i, u32 bits, u32 *from)
{
    const Sem *sem = &i->op->sem;
    bool converts = sem->op == OPC_CVT, masks = sem->op == OPC_AND && sem->from == sem->bits;
    if (i->guard || sem->op != i->op->opcode || (!converts && !masks) || sem->from < bits || sem->bits < bits ||
        bits < 32 || !is_as_wide(i->block->fn, instr_operand(i, 0), sem->bits))
        return false;
    *from = masks && is_mask(instr_operand(i, 1), bits) ? 2 : 1;
    return is_as_wide(i->block->fn, instr_operand(i, *from), sem->from) &&
           (converts || is_mask(instr_operand(i, 3 - *from), bits));
}

/* Reads a copy, or the addition or subtraction of a constant or, in a loop, of what does not change there. */
static bool read_step(const Loop *loop, const Instr *i, AffineStep *step)
{
    if (i->kind != INSTR_OP || i->guard || !computes_integer(i) || i->op->sem.from != i->op->sem.bits)
        return false;
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    Opcode op = i->op->sem.op;
    if (op != OPC_MOV && op != OPC_ADD && op != OPC_SUB)
        return false;
    if (op == OPC_ADD && !loop_is_fixed(loop, b))
        SWAP(a, b);
    *step = (AffineStep){operand_plain_register(a), op == OPC_MOV ? NULL : b, op == OPC_SUB};
    return step->of && register_bits(i->block->fn, step->of) == i->op->sem.bits && (!step->by || loop_is_fixed(loop, b));
}

/* Reads a step of the low bits. */
static bool read_low_step(const Loop *loop, const Instr *i, u32 bits, AffineStep *step)
{
    u32 from;
    if (i->kind != INSTR_OP)
        return false;
    if (!affine_is_cut(i, bits, &from))
        return i->op->sem.bits >= bits && read_step(loop, i, step);
    *step = (AffineStep){operand_plain_register(instr_operand(i, from)), NULL, false};
    return true;
}

bool affine_is_step(const Instr *i, RegId *of, i64 *by)
{
    AffineStep step;
    if (!read_step(NULL, i, &step) || !step.by)
        return false;
    *of = step.of;
    *by = step.less ? (i64)(0 - (u64)step.by->value) : step.by->value;
    return true;
}

u32 affine_steps(const AffineLoop *in, RegId reg, u32 bits, const Instr *def, AffineStep step[AFFINE_STEPS])
{
    if (!loop_passes_once(in->loops, in->dom, in->loop, def->block))
        return 0;
    for (u32 n = 0; WITHIN(AFFINE_STEPS, n < AFFINE_STEPS); n++) {
        if (!read_low_step(in->loop, def, bits, &step[n]))
            return 0;
        if (step[n].of == reg)
            return n + 1;
        const Instr *next = affine_only_write(in, step[n].of);
        if (!next || !instr_dominates(in->dom, next, def))
            return 0;
        def = next;
    }
    return 0;
}

/* Finds what the loop adds to the low bits of reg in an iteration, between two executions of def, its only write. */
static bool find_step(const AffineLoop *in, RegId reg, u32 bits, const Instr *def, u64 *sum)
{
    AffineStep step[AFFINE_STEPS];
    u32 n = affine_steps(in, reg, bits, def, step);
    *sum = 0;
    for (u32 k = 0; k < n; k++) {
        if (step[k].by && step[k].by->kind != OPND_IMM)
            return false;
        *sum += !step[k].by ? 0 : step[k].less ? 0 - (u64)step[k].by->value : (u64)step[k].by->value;
    }
    return n != 0;
}

/* ---- sums ---------------------------------------------------------------------------------------------------------- */

/* Each term is a definition that is looked at, and so is each sum of two. */
_Static_assert(DEFINITIONS_MAX < 2 * AFFINE_TERMS + 1, "a value has no more terms than there is room for");

static void add_term(Affine *to, RegId reg, u64 factor)
{
    u32 k = 0;
    while (k < to->terms && to->term[k].reg != reg)
        k++;
    assert(k < AFFINE_TERMS);
    if (k == to->terms)
        to->term[to->terms++] = (AffineTerm){reg, 0};
    to->term[k].factor += factor;
}

/* Adds x * factor to `to`. */
static void add_value(Affine *to, const Affine *x, u64 factor)
{
    to->start += x->start * factor;
    to->step += x->step * factor;
    for (u32 k = 0; k < x->terms; k++)
        add_term(to, x->term[k].reg, x->term[k].factor * factor);
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

typedef struct AffineSearch {
    const AffineLoop *in;
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
    Affine x, y;
    bool adds = i->op->opcode != OPC_MUL;
    if (b->kind != OPND_IMM || !operand_value(s, i, a, bits, &x) ||
        (adds && !operand_value(s, i, instr_operand(i, 3), bits, &y)))
        return false;
    add_value(value, &x, (u64)b->value);
    if (adds)
        add_value(value, &y, 1);
    return true;
}

static bool sum_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    Affine a, b;
    if (!operand_value(s, i, instr_operand(i, 1), bits, &a) || !operand_value(s, i, instr_operand(i, 2), bits, &b))
        return false;
    add_value(value, &a, 1);
    add_value(value, &b, i->op->opcode == OPC_ADD ? 1 : (u64)-1);
    return true;
}

static bool result_value(AffineSearch *s, const Instr *i, u32 bits, Affine *value)
{
    Affine x;
    u32 from;
    *value = (Affine){.bits = bits};
    if (affine_is_cut(i, bits, &from))
        return value_of(s, i, operand_plain_register(instr_operand(i, from)), bits, value);
    bool shift = i->op->opcode == OPC_SHL && i->op->sem.op == OPC_SHL && i->op->sem.bits >= bits;
    if (!shift && (!computes_integer(i) || i->op->sem.from < bits))
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
        if (!known || !operand_value(s, i, instr_operand(i, 1), bits, &x))
            return false;
        add_value(value, &x, (u64)1 << by->value);
        return true;
    }
    default: return false;
    }
}

static bool value_of(AffineSearch *s, const Instr *at, RegId reg, u32 bits, Affine *value)
{
    *value = (Affine){.bits = bits};
    if (register_bits(at->block->fn, reg) < bits || BEYOND(DEFINITIONS_MAX, s->left == 0))
        return false;
    s->left--;
    if (loop_is_invariant(s->in->loop, reg)) {
        add_term(value, reg, 1);
        return true;
    }
    const Instr *def = affine_only_write(s->in, reg);
    if (!def)
        return false;
    bool before = instr_dominates(s->in->dom, def, at);
    u64 step;
    if (find_step(s->in, reg, bits, def, &step)) {
        value->step = step;
        value->start = before ? step : 0;
        add_term(value, reg, 1);
        return true;
    }
    return before && result_value(s, def, bits, value);
}

bool affine_value(const AffineLoop *in, const Instr *at, RegId reg, u32 bits, Affine *value)
{
    AffineSearch s = {in, DEFINITIONS_MAX};
    return value_of(&s, at, reg, bits, value);
}
