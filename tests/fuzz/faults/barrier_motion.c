/* A load after a barrier is done before it. */
#include "ir/edit.h"
#include "phase/phase.h"

static bool writes_address(const Instr *writer, const Instr *load)
{
    for (const Operand *d = writer->opnd; d < writer->opnd + writer->slots; d++)
        for (const Operand *u = load->opnd; u < load->opnd + load->slots; u++)
            if (slot_is_def(d) && u->kind == OPND_REG && u->id == d->id)
                return true;
    return false;
}

/* The first load of shared memory after the barrier, in the same block, whose address is known before it. */
static Instr *load_after(Instr *barrier)
{
    for (Instr *i = barrier->next; i; i = i->next) {
        if (i->kind != INSTR_OP || i->op->opcode != OPC_LD || i->op->space != SPACE_SHARED || i->guard)
            continue;
        Instr *between = barrier->next;
        while (between != i && !writes_address(between, i))
            between = between->next;
        if (between == i)
            return i;
    }
    return NULL;
}

Phase fault_barrier_motion;
PhaseResult fault_barrier_motion(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for_each_instr(i, b) {
            Instr *load = instr_is(i, OPF_BARRIER) ? load_after(i) : NULL;
            if (!load || !phase_may_rewrite(run))
                continue;
            instr_remove(load);
            instr_insert_before(i, load);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
