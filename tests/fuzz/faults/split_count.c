/* A loop runs without its bounds checks once too often, or although the index is beyond the bound from the start. */
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/phase.h"

extern Phase phase_loop_split;

static bool is_made(const Instr *i, Opcode opcode)
{
    return i && i->kind == INSTR_OP && i->text.end == i->text.beg && i->op->opcode == opcode;
}

/* `mov left, n; setp.eq none, n, 0; @none bra`: n is one more. */
static bool count_more(Instr *i)
{
    if (!is_made(i, OPC_MOV) || !is_made(i->next, OPC_SETP) || i->next->next != block_terminator(i->block))
        return false;
    Builder at = build_before(i);
    Operand n = *instr_operand(i, 1);
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, (Operand[]){n, n, build_integer(1, 32, true)}, 3);
    return true;
}

/* `selp n, distance, 0, inside`: whatever `inside` is. */
static bool drop_guard(Instr *i)
{
    if (!is_made(i, OPC_SELP))
        return false;
    Builder at = build_before(i);
    build_copy(&at, instr_operand(i, 0)->id, instr_operand(i, 1)->id);
    instr_remove(i);
    return true;
}

static PhaseResult split_wrongly(Analyses *an, PhaseRun *run, bool (*change)(Instr *i))
{
    if (phase_loop_split(an, run) == PHASE_UNCHANGED)
        return PHASE_UNCHANGED;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            change(i);
        }
    return PHASE_CHANGED;
}

Phase fault_split_count, fault_split_guard;
PhaseResult fault_split_count(Analyses *an, PhaseRun *run) { return split_wrongly(an, run, count_more); }
PhaseResult fault_split_guard(Analyses *an, PhaseRun *run) { return split_wrongly(an, run, drop_guard); }
