/* An addition whose result nobody needs comes between two links of a carry chain; it writes the flag. */
#include "ir/edit.h"
#include "phase/phase.h"

Phase fault_split_carry;
PhaseResult fault_split_carry(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Function *fn = an->fn;
    bool changed = false;
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (!instr_is(i, OPF_CARRY_IN) || !phase_may_rewrite(run))
                continue;
            Operand slots[3] = {{.kind = OPND_REG, .id = reg_new(fn, TYPE_B32)}, {.kind = OPND_IMM}, {.kind = OPND_IMM}};
            instr_insert_before(i, instr_new(fn, isa_decode(fn->module->isa, "add.cc.u32", 10), slots, 3));
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
