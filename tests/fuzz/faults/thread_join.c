/* One of the edges into a join that holds a warp operation gets a copy of the join: the warp arrives in two groups. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/phase.h"

static bool holds_warp_operation(Block *b)
{
    for_each_instr(i, b)
        if (instr_is(i, OPF_CONVERGENT) && !instr_is(i, OPF_BARRIER))
            return true;
    return false;
}

static bool holds_scope(Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_SCOPE_BEGIN || i->kind == INSTR_SCOPE_END)
            return true;
    return false;
}

Phase fault_thread_join;
PhaseResult fault_thread_join(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    cfg_build(an->fn);
    Block *last = an->fn->layout_last;
    for (Block *b = an->fn->entry; b; b = b == last ? NULL : b->next) {
        if (!holds_warp_operation(b) || holds_scope(b) || cfg_pred_count(an->fn, b) < 2 || !phase_may_rewrite(run))
            continue;
        Block *from = cfg_preds(an->fn, b).v[0].block;
        Block *copy = block_clone(b);
        block_append_layout(an->fn, copy);
        block_redirect(from, b, copy);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
