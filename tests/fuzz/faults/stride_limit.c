/* A loop whose step is in a register runs four iterations at a time while one remains, or without asking whether its step may wrap. */
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/phase.h"

extern Phase phase_stride_unroll;

static bool is_made(const Instr *i, Opcode opcode)
{
    return i->kind == INSTR_OP && i->text.end == i->text.beg && i->op->opcode == opcode;
}

/* `sub limit, bound, three`: nothing is taken off. */
static void raise_limit(Instr *i)
{
    if (!is_made(i, OPC_SUB))
        return;
    Builder at = build_before(i);
    build_copy(&at, instr_operand(i, 0)->id, instr_operand(i, 1)->id);
    instr_remove(i);
}

/* `and fits, positive, reaches`: whatever the step is. */
static void drop_guard(Instr *i)
{
    if (is_made(i, OPC_SETP) && i->op->type[0] == TYPE_U64 && instr_operand(i, 2)->kind == OPND_IMM)
        *instr_operand(i, 2) = build_integer(UINT64_MAX, 64, false);
    if (is_made(i, OPC_SETP) && i->op->cmp == CMP_GE && i->op->type[0] == TYPE_S64)
        *instr_operand(i, 2) = *instr_operand(i, 1);
}

static PhaseResult unroll_wrongly(Analyses *an, PhaseRun *run, void (*change)(Instr *i))
{
    Knobs knobs = *run->knobs;
    const Knobs *own = run->knobs;
    knobs.enable_stride_unroll = 1;
    run->knobs = &knobs;
    PhaseResult result = phase_stride_unroll(an, run);
    run->knobs = own;
    if (result == PHASE_UNCHANGED)
        return PHASE_UNCHANGED;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            change(i);
        }
    return PHASE_CHANGED;
}

Phase fault_stride_limit, fault_stride_guard;
PhaseResult fault_stride_limit(Analyses *an, PhaseRun *run) { return unroll_wrongly(an, run, raise_limit); }
PhaseResult fault_stride_guard(Analyses *an, PhaseRun *run) { return unroll_wrongly(an, run, drop_guard); }
