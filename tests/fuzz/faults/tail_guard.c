/* Two arms end alike but for a guard; the common end stands after the join, with the guard of one of them. */
#include <string.h>

#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/phase.h"

static Instr *last_op(Block *b) { return b->last && b->last->kind == INSTR_OP && !block_terminator(b) ? b->last : NULL; }

/* All but the guard. */
static bool same_work(const Instr *a, const Instr *b)
{
    return a->op == b->op && a->slots == b->slots && memcmp(a->opnd, b->opnd, a->slots * sizeof *a->opnd) == 0;
}

static bool merge(Analyses *an, PhaseRun *run, Block *join)
{
    CfgList preds = cfg_preds(an->fn, join);
    if (preds.n != 2 || preds.v[0].multiplicity != 1 || preds.v[1].multiplicity != 1)
        return false;
    Instr *a = last_op(preds.v[0].block), *b = last_op(preds.v[1].block);
    if (!a || !b || a->scope != b->scope || a->guard == b->guard || !same_work(a, b) || !phase_may_rewrite(run))
        return false;
    Instr *merged = instr_clone(an->fn, a);
    instr_remove(a);
    instr_remove(b);
    if (join->first)
        instr_insert_before(join->first, merged);
    else
        instr_append(join, merged);
    return true;
}

Phase fault_tail_guard;
PhaseResult fault_tail_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    cfg_build(an->fn);
    for_each_block(b, an->fn)
        if (b != an->fn->entry)
            changed |= merge(an, run, b);
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
