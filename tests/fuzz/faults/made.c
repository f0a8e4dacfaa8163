#include "made.h"

bool made_is(const Instr *i, Opcode opcode)
{
    return i && i->kind == INSTR_OP && i->text.end == i->text.beg && i->op->opcode == opcode;
}

PhaseResult made_wrongly(Phase *phase, Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i))
{
    if (phase(an, knobs, run) == PHASE_UNCHANGED)
        return PHASE_UNCHANGED;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            spoil(i);
        }
    return PHASE_CHANGED;
}

void made_copies(Instr *i)
{
    Builder at = build_before(i);
    build_copy(&at, instr_operand(i, 0)->id, instr_operand(i, 1)->id);
    instr_remove(i);
}
