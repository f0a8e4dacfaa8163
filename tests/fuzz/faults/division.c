/* Divisions by a reciprocal that are wrong for some operands. */
#include "made.h"

/* `add q1, q0, 1` and `sub m1, m0, d`: nothing is corrected. */
static void drop_correction(Instr *i)
{
    bool adds = made_is(i, OPC_ADD) && instr_operand(i, 2)->kind == OPND_IMM;
    if ((adds || made_is(i, OPC_SUB)) && i->op->type[0] == TYPE_U32)
        made_copies(i);
}

/* `div r, 2^32 - 1, d`: of too few bits. */
static void shorten_reciprocal(Instr *i)
{
    if (made_is(i, OPC_DIV) && instr_operand(i, 1)->kind == OPND_IMM)
        *instr_operand(i, 1) = build_integer(0xffff0000, 32, false);
}

/* `setp.lt is_negative, a, 0`: a remainder is negative where its dividend is not. */
static void invert_sign(Instr *i)
{
    if (!made_is(i, OPC_SETP) || i->op->cmp != CMP_LT || i->op->type[0] != TYPE_S32)
        return;
    if (!made_is(i->prev, OPC_XOR))
        instr_set_op(i, isa_with_cmp(i->block->fn->module->isa, i->op, CMP_GE));
}

/* `selp q, -1, q2, zero`: a division by zero is as any other. */
static void forget_zero(Instr *i)
{
    if (made_is(i, OPC_SELP) && instr_operand(i, 1)->kind == OPND_IMM)
        *instr_operand(i, 1) = *instr_operand(i, 2);
}

extern Phase phase_invariant_division;
Phase fault_division_correction, fault_division_reciprocal, fault_division_sign, fault_division_zero;
PhaseResult fault_division_correction(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_invariant_division, an, knobs, run, drop_correction);
}
PhaseResult fault_division_reciprocal(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_invariant_division, an, knobs, run, shorten_reciprocal);
}
PhaseResult fault_division_sign(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_invariant_division, an, knobs, run, invert_sign);
}
PhaseResult fault_division_zero(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_invariant_division, an, knobs, run, forget_zero);
}
