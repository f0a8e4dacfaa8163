/* A barrier goes because no two accesses around it can touch one place: behind a poll, and in front of a store that is polled for. */
#include "ir/edit.h"
#include "phase/phase.h"

static bool accesses(const Instr *i, MemEffect mem)
{
    return i && i->kind == INSTR_OP && i->op->mem == mem && i->op->space == SPACE_GLOBAL;
}

static PhaseResult drop(Analyses *an, PhaseRun *run, MemEffect below)
{
    bool changed = false;
    for_each_block(b, an->fn)
        for (Instr *i = b->first, *next; i; i = next) {
            next = i->next;
            if (!instr_is(i, OPF_BARRIER) || op_has_modifier(i->op, ".red") || !accesses(next, below) ||
                (below == MEM_READ) != !accesses(i->prev, MEM_READ) || !phase_may_rewrite(run))
                continue;
            instr_remove(i);
            changed = true;
        }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

Phase fault_poll_barrier;
PhaseResult fault_poll_barrier(Analyses *an, const Knobs *knobs, PhaseRun *run) { return drop(an, run, MEM_READ); }
Phase fault_signal_barrier;
PhaseResult fault_signal_barrier(Analyses *an, const Knobs *knobs, PhaseRun *run) { return drop(an, run, MEM_WRITE); }
