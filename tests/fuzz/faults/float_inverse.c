/* a < b becomes not (a >= b): another answer where one of them is NaN. */
#include <string.h>

#include "ir/edit.h"
#include "phase/phase.h"

static const OpInfo *ordered_inverse(const Function *fn, const OpInfo *op)
{
    static const char *const pair[][2] = {{".lt.", ".ge."}, {".le.", ".gt."}, {".gt.", ".le."}, {".ge.", ".lt."}};
    for (u32 i = 0; i < COUNT_OF(pair); i++) {
        const char *at = strstr(op->text->text, pair[i][0]);
        char text[64];
        if (!at || op->text->len >= sizeof text)
            continue;
        memcpy(text, op->text->text, op->text->len + 1);
        memcpy(text + (at - op->text->text), pair[i][1], 4);
        return isa_decode(fn->module->isa, text, op->text->len);
    }
    return NULL;
}

Phase fault_float_inverse;
PhaseResult fault_float_inverse(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Function *fn = an->fn;
    bool changed = false;
    if (!run->first_round) /* once more would undo it */
        return false;
    for_each_block(b, fn)
        for_each_instr(i, b) {
            bool plain = i->kind == INSTR_OP && i->op->opcode == OPC_SETP && i->opnd[0].kind == OPND_REG && !i->guard &&
                         i->op->bool_op == BOOL_NONE && type_class((Type)i->op->type[0]) == TC_FLOAT;
            const OpInfo *inverse = plain ? ordered_inverse(fn, i->op) : NULL;
            if (!inverse || !phase_may_rewrite(run))
                continue;
            Operand slots[2] = {{.kind = OPND_REG, .id = i->opnd[0].id}, {.kind = OPND_REG, .id = i->opnd[0].id}};
            instr_set_op(i, inverse);
            instr_insert_after(i, instr_new(fn, isa_decode(fn->module->isa, "not.pred", 8), slots, 2));
            i = i->next;
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
