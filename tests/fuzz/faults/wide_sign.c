/* An index of 32 bits is multiplied as an unsigned number where it was extended as a signed one. */
#include "ir/edit.h"
#include "phase/phase.h"

static bool is_named(const Instr *i, const char *op)
{
    return i && i->kind == INSTR_OP && !i->guard && !strcmp(i->op->text->text, op);
}

Phase fault_wide_sign;
PhaseResult fault_wide_sign(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    const char *product = "mul.wide.u32";
    for_each_block(b, an->fn)
        for_each_instr(i, b) {
            const Instr *extended = i->prev;
            if (!is_named(i, "shl.b64") || !is_named(extended, "cvt.s64.s32") || instr_operand(i, 2)->kind != OPND_IMM ||
                instr_operand(i, 1)->id != extended->opnd[0].id || !phase_may_rewrite(run))
                continue;
            Operand slots[3] = {i->opnd[0], extended->opnd[1], i->opnd[2]};
            slots[2].value = (i64)1 << slots[2].value;
            instr_set_op(i, isa_decode(an->fn->module->isa, product, (u32)strlen(product)));
            instr_set_operands(i, slots, 3);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
