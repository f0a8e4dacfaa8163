/* The extension of i + c is taken for that of i, plus c: i + c may have wrapped. */
#include "ir/edit.h"
#include "phase/phase.h"

/* `add.s32 t, i, c` right before a mul.wide.s32 of t by a constant, or NULL. */
static Instr *sum_before(Instr *product)
{
    Instr *sum = product->prev;
    if (!sum || sum->kind != INSTR_OP || sum->guard || strcmp(sum->op->text->text, "add.s32") != 0)
        return NULL;
    const Operand *i = instr_operand(sum, 1), *c = instr_operand(sum, 2), *t = instr_operand(product, 1);
    bool fits = i->kind == OPND_REG && c->kind == OPND_IMM && t->kind == OPND_REG && t->id == sum->opnd[0].id;
    return fits && i->id != sum->opnd[0].id ? sum : NULL;
}

Phase fault_wrapped_base;
PhaseResult fault_wrapped_base(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    const char *add = "add.s64";
    for_each_block(b, an->fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || i->guard || strcmp(i->op->text->text, "mul.wide.s32") != 0)
                continue;
            const Instr *sum = sum_before(i);
            if (!sum || instr_operand(i, 2)->kind != OPND_IMM || !phase_may_rewrite(run))
                continue;
            Operand slots[3] = {i->opnd[0], sum->opnd[1], i->opnd[2]};
            Operand plus[3] = {i->opnd[0], i->opnd[0], i->opnd[2]};
            plus[2].value *= sum->opnd[2].value;
            instr_set_operands(i, slots, 3);
            instr_insert_after(i, instr_new(an->fn, isa_decode(an->fn->module->isa, add, (u32)strlen(add)), plus, 3));
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
