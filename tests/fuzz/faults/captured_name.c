/* Inside of a scope that declares a name anew, a use is taken for the outer register of that name. */
#include "ir/edit.h"
#include "phase/phase.h"

static RegId outer_of_same_name(const Function *fn, RegId inner)
{
    const Reg *r = &fn->regs.v[inner];
    for (RegId id = 1; id < fn->regs.n && r->scope; id++) {
        const Reg *o = &fn->regs.v[id];
        if (o->scope == 0 && o->name == r->name && o->number == r->number && o->type == r->type && o->vector == r->vector)
            return id;
    }
    /* `%r4` alone is a whole name, `%r4` of `%r<10>` a stem and a number. */
    for (RegId id = 1; id < fn->regs.n && r->scope && r->number < 0; id++) {
        const Reg *o = &fn->regs.v[id];
        u32 stem = o->name->len, number = 0;
        if (o->scope != 0 || o->number < 0 || o->type != r->type || r->name->len <= stem ||
            memcmp(o->name->text, r->name->text, stem) != 0)
            continue;
        for (u32 i = stem; i < r->name->len; i++)
            number = number * 10 + (u32)(r->name->text[i] - '0');
        if ((i32)number == o->number)
            return id;
    }
    return 0;
}

static bool capture(Analyses *an, PhaseRun *run, Instr *i)
{
    Operand slots[16];
    bool found = false;
    if (i->kind != INSTR_OP || i->slots > COUNT_OF(slots) || instr_is(i, OPF_CALL))
        return false;
    memcpy(slots, i->opnd, i->slots * sizeof *slots);
    for (u32 k = 0; k < i->slots; k++) {
        RegId outer = slots[k].kind == OPND_REG && slots[k].role == ROLE_USE ? outer_of_same_name(an->fn, slots[k].id) : 0;
        if (outer) {
            slots[k].id = outer;
            found = true;
        }
    }
    if (!found || !phase_may_rewrite(run))
        return false;
    instr_set_operands(i, slots, i->slots);
    return true;
}

Phase fault_captured_name;
PhaseResult fault_captured_name(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            changed |= capture(an, run, i);
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
