/* The last case of a table goes where the first one goes. */
#include "ir/edit.h"
#include "phase/phase.h"

Phase fault_lost_case;
PhaseResult fault_lost_case(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Function *fn = an->fn;
    bool changed = false;
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        const Table *t = end ? branch_table(end) : NULL;
        if (!t || t->targets.n < 2 || t->targets.v[0] == vec_last(&t->targets) || !phase_may_rewrite(run))
            continue;
        block_redirect(b, fn_block(fn, vec_last(&t->targets)), fn_block(fn, t->targets.v[0]));
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
