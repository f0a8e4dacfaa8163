/* A loop runs without its bounds checks once too often, or although the index is beyond the bound from the start. */
#include "made.h"

/* `mov left, n`, alone in the block in front of the part without checks: n is one more. */
static void count_more(Instr *i)
{
    if (!made_is(i, OPC_MOV) || i->prev || i->next || instr_operand(i, 1)->kind != OPND_REG)
        return;
    Builder at = build_before(i);
    Operand n = *instr_operand(i, 1);
    build(&at, OPC_ADD, (OpParts){.type = {TYPE_S32}}, (Operand[]){n, n, build_integer(1, 32, true)}, 3);
}

/* `max at, bound, start`: the bound, wherever the index starts. */
static void drop_guard(Instr *i)
{
    if (made_is(i, OPC_MAX))
        made_copies(i);
}

static PhaseResult split_wrongly(Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i))
{
    extern Phase phase_range_split;
    Knobs all = *knobs;
    all.range_split_always = true;
    return made_wrongly(phase_range_split, an, &all, run, spoil);
}

Phase fault_split_count, fault_split_guard;
PhaseResult fault_split_count(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return split_wrongly(an, knobs, run, count_more);
}
PhaseResult fault_split_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return split_wrongly(an, knobs, run, drop_guard);
}
