/* A barrier becomes one of the warp in blocks of more than one. */
#include "ir/builder.h"
#include "phase/phase.h"

Phase fault_warp_wide;
PhaseResult fault_warp_wide(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool wide = an->fn->tuning.shape_exact && an->fn->tuning.block_shape[0] * an->fn->tuning.block_shape[1] > 32, changed = false;
    for_each_block(b, an->fn)
        for_each_instr(i, b) {
            bool full =
                instr_is(i, OPF_BARRIER) && i->op->sync == SYNC_BARRIER && i->slots == 1 && i->opnd[0].kind == OPND_IMM;
            if (!wide || !full || !phase_may_rewrite(run))
                continue;
            Operand mask = build_integer(0xffffffff, 32, false);
            instr_set_op(i, isa_op(an->fn->module->isa, OPC_BAR_WARP_SYNC, (OpParts){.uniform = false}));
            i = instr_set_operands(i, &mask, 1);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
