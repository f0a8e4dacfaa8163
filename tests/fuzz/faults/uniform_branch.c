/* A branch that diverges gets .uni, as one that was merged with a uniform one would. */
#include "ir/edit.h"
#include "phase/phase.h"

Phase fault_uniform_branch;
PhaseResult fault_uniform_branch(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    an_freeze(an, AN_UNIFORM);
    for_each_block(b, an->fn) {
        Instr *branch = block_terminator(b);
        bool divergent = branch && branch->op->opcode == OPC_BRA && branch->guard &&
                         !op_has(branch->op, OPF_UNIFORM_HINT) && !uniform_has(&an_uniform(an)->branch_warp, b->id);
        if (!divergent || !phase_may_rewrite(run))
            continue;
        instr_set_op(branch, isa_decode(an->fn->module->isa, "bra.uni", 7));
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
