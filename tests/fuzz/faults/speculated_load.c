/* A load moves up before the branch after which it stands: without a guard its address may be out of bounds when the branch goes elsewhere,
 * and with the opposite one it is executed only then. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/phase.h"

/* The block's first instruction, a load: its address is known before. */
static Instr *leading_load(Block *b)
{
    Instr *i = b->first;
    while (i && i->kind == INSTR_LOC)
        i = i->next;
    return i && i->kind == INSTR_OP && i->op->opcode == OPC_LD && i->op->space == SPACE_GLOBAL && !i->guard ? i : NULL;
}

/* guarded: by the predicate of the branch, for the threads that do not go to the load. */
static PhaseResult move_up(Function *fn, PhaseRun *run, bool guarded)
{
    bool changed = false;
    cfg_build(fn);
    for_each_block(b, fn) {
        Block *before = cfg_single_pred(fn, b);
        Instr *load = leading_load(b), *branch = before ? block_terminator(before) : NULL;
        if (!load || !branch || !branch->guard || before->scope != b->scope || !phase_may_rewrite(run))
            continue;
        instr_remove(load);
        if (guarded)
            instr_set_guard(load, branch->guard, (branch_target(branch) == b) != branch->guard_not);
        instr_insert_before(branch, load);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

Phase fault_speculated_load;
PhaseResult fault_speculated_load(Analyses *an, const Knobs *knobs, PhaseRun *run) { return move_up(an->fn, run, false); }

Phase fault_guard_sense;
PhaseResult fault_guard_sense(Analyses *an, const Knobs *knobs, PhaseRun *run) { return move_up(an->fn, run, true); }
