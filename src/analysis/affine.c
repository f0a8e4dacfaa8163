#include "analysis/affine.h"

#include "base/bound.h"
#include "ir/inspect.h"

Instr *affine_only_write(const AffineLoop *in, RegId reg)
{
    Instr *def = loop_only_write(in->loop, reg);
    return def && loop_passes_once(in->loops, in->dom, in->loop, def->block) ? def : NULL;
}

static u32 register_bits(const Function *fn, RegId reg) { return type_bits(fn_reg(fn, reg)->type); }

/* Whether i computes an integer of 32 or 64 bits, as wide as the register that it writes, of integers as wide. */
static bool computes_integer(const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    bool same = sem->op == i->op->opcode && sem->from >= 32 && sem->bits == sem->from;
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
    if (i->kind != INSTR_OP || i->guard || !computes_integer(i))
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
