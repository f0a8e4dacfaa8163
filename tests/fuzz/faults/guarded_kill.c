/* A write is removed because another one, under a guard, follows before anybody reads. */
#include "ir/edit.h"
#include "phase/phase.h"

static bool mentions(const Instr *i, RegId reg)
{
    if (i->guard == reg)
        return true;
    for (const Operand *o = i->opnd; o < i->opnd + i->slots; o++)
        if (o->kind == OPND_REG && o->id == reg)
            return true;
    return false;
}

/* The next instruction of the block that has to do with reg only writes it, under a guard. */
static bool guarded_write_follows(const Instr *i, RegId reg)
{
    const Instr *n = i->next;
    while (n && (n->kind != INSTR_OP || !mentions(n, reg)))
        n = n->next;
    if (!n || !n->guard || n->guard == reg || n->opnd[0].kind != OPND_REG || n->opnd[0].id != reg ||
        n->opnd[0].role != ROLE_DEF)
        return false;
    for (const Operand *o = n->opnd + 1; o < n->opnd + n->slots; o++)
        if (o->kind == OPND_REG && o->id == reg)
            return false;
    return true;
}

Phase fault_guarded_kill;
PhaseResult fault_guarded_kill(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            if (i->kind != INSTR_OP || !i->slots || !op_is_pure(i->op) || i->opnd[0].kind != OPND_REG ||
                !guarded_write_follows(i, i->opnd[0].id) || !phase_may_rewrite(run))
                continue;
            instr_remove(i);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
