/* The two successors of a branch are exchanged, its guard stays. */
#include "ir/edit.h"
#include "phase/phase.h"

Phase fault_opposite_sense;
PhaseResult fault_opposite_sense(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    if (!run->first_round) /* once more would undo it */
        return false;
    for_each_block(b, an->fn) {
        Instr *branch = block_terminator(b);
        Block *target = branch && branch->guard && branch->op->opcode == OPC_BRA ? branch_target(branch) : NULL;
        if (!target || !b->fall || target == b->fall || !phase_may_rewrite(run))
            continue;
        Block *fall = b->fall;
        block_set_fall(b, target);
        block_set_branch_target(b, fall);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
