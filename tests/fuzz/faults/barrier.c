/* A barrier is dropped without asking whether it is needed: threads read what others have not written yet. */
#include "ir/edit.h"
#include "phase/phase.h"

Phase fault_barrier;
PhaseResult fault_barrier(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            if (!instr_is(i, OPF_BARRIER) || op_has_modifier(i->op, ".red") || !phase_may_rewrite(run))
                continue;
            instr_remove(i);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
