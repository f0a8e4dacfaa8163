/* A loop of one block that polls a word that others write does so once: what it waits for need not have come. */
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/phase.h"

static bool polls(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && i->op->opcode == OPC_LD && i->op->strength == STRENGTH_STRONG)
            return true;
    return false;
}

Phase fault_poll_once;
PhaseResult fault_poll_once(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn) {
        Instr *end = block_two_way_branch(b);
        if (!end || branch_target(end) != b || !polls(b) || !phase_may_rewrite(run))
            continue;
        block_remove_terminator(b);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
