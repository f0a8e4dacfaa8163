/* A load moves up before the branch after which it stands: its address may be out of bounds when the branch goes elsewhere. */
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

Phase fault_speculated_load;
PhaseResult fault_speculated_load(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    cfg_build(an->fn);
    for_each_block(b, an->fn) {
        Block *before = cfg_single_pred(an->fn, b);
        Instr *load = leading_load(b), *branch = before ? block_terminator(before) : NULL;
        if (!load || !branch || !branch->guard || before->scope != b->scope || !phase_may_rewrite(run))
            continue;
        instr_remove(load);
        instr_insert_before(branch, load);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
