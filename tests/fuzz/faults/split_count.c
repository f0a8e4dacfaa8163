/* A loop runs without its bounds checks once too often, or although the index is beyond the bound from the start. */
#include "made.h"

/* `mov left, n; setp.eq none, n, 0; @none bra`: n is one more. */
static void count_more(Instr *i)
{
    if (!made_is(i, OPC_MOV) || !made_is(i->next, OPC_SETP) || i->next->next != block_terminator(i->block))
        return;
    Builder at = build_before(i);
    Operand n = *instr_operand(i, 1);
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, (Operand[]){n, n, build_integer(1, 32, true)}, 3);
}

/* `selp n, distance, 0, inside`: whatever `inside` is. */
static void drop_guard(Instr *i)
{
    if (made_is(i, OPC_SELP))
        made_copies(i);
}

extern Phase phase_loop_split;
Phase fault_split_count, fault_split_guard;
PhaseResult fault_split_count(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_split, an, knobs, run, count_more);
}
PhaseResult fault_split_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_split, an, knobs, run, drop_guard);
}
