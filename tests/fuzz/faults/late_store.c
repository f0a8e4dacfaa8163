/* A bounds check of a loop is made before a store that stands in front of it. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/phase.h"

static Instr *last_store(const Block *b)
{
    for (Instr *i = b->last; i; i = i->prev)
        if (i->kind == INSTR_OP && i->op->mem == MEM_WRITE && !i->guard)
            return i;
    return NULL;
}

Phase fault_late_store;
PhaseResult fault_late_store(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    an_freeze(an, AN_LOOPS);
    const Loops *loops = an_loops(an);
    for_each_block(b, an->fn) {
        const Loop *loop = loop_of(loops, b);
        Instr *branch = loop ? block_two_way_branch(b) : NULL;
        Instr *store = branch ? last_store(b) : NULL;
        Block *on = b->fall;
        if (!store || !on->first || loop_contains(loops, loop, branch_target(branch)) || !loop_contains(loops, loop, on) ||
            cfg_single_pred(an->fn, on) != b || !phase_may_rewrite(run))
            continue;
        instr_remove(store);
        instr_insert_before(on->first, store);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
