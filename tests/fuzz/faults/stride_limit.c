/* A loop whose step is in a register runs four iterations at a time while one remains, or without asking whether its step may wrap;
 * or it loads twice in a copy. */
#include "made.h"

/* `sub limit, bound, three`: nothing is taken off. */
static void raise_limit(Instr *i)
{
    if (made_is(i, OPC_SUB))
        made_copies(i);
}

/* `and fits, positive, reaches`: whatever the step is. */
static void drop_guard(Instr *i)
{
    if (made_is(i, OPC_SETP) && i->op->type[0] == TYPE_U64 && instr_operand(i, 2)->kind == OPND_IMM)
        *instr_operand(i, 2) = build_integer(UINT64_MAX, 64, false);
    if (made_is(i, OPC_SETP) && i->op->cmp == CMP_GE && i->op->type[0] == TYPE_S64)
        *instr_operand(i, 2) = *instr_operand(i, 1);
}

/* A copy of a load stands behind it. Memory is left as it was. */
static void load_twice(Instr *i)
{
    if (i->kind == INSTR_OP && i->op->opcode == OPC_LD && i->op->space == SPACE_GLOBAL && i->next)
        instr_insert_before(i->next, instr_clone(i->block->fn, i));
}

extern Phase phase_stride_unroll;

/* Runs it wherever that is sound, and not only where it pays. */
static PhaseResult unrolled_wrongly(Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i))
{
    Knobs all = *knobs;
    all.enable_stride_unroll = true;
    return made_wrongly(phase_stride_unroll, an, &all, run, spoil);
}

Phase fault_stride_limit, fault_stride_guard, fault_stride_twice;
PhaseResult fault_stride_limit(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, raise_limit);
}
PhaseResult fault_stride_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, drop_guard);
}
PhaseResult fault_stride_twice(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, load_twice);
}
