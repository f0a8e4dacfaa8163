/* What both arms of a branch begin with is hoisted although threads wait in it, in a callee or for lanes of a mask, for what others do
 * later. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "merge.h"

typedef bool HoistSite(const Instr *i);

static bool waits_in_callee(const Instr *i) { return instr_is(i, OPF_CALL); }
static bool waits_for_lanes(const Instr *i) { return instr_is(i, OPF_CONVERGENT) && i->op->sync == SYNC_LANES; }

/* How many instructions both blocks begin with, up to the last that is one of the site's. */
static u32 common_begin(const Block *a, const Block *b, HoistSite *site)
{
    const Instr *x = a->first, *y = b->first, *end = block_terminator(a);
    u32 best = 0;
    for (u32 n = 1; x && y && x != end && x->kind == INSTR_OP && y->kind == INSTR_OP && merge_same_work(x, y); n++) {
        best = site(x) ? n : best;
        x = x->next;
        y = y->next;
    }
    return best;
}

static bool writes_guard(const Block *b, u32 n, RegId guard)
{
    const Instr *i = b->first;
    for (; n--; i = i->next)
        for (RegWalk w = reg_walk(i); next_write(&w);)
            if (w.reg == guard)
                return true;
    return false;
}

static PhaseResult hoist(Analyses *an, PhaseRun *run, HoistSite *site)
{
    bool changed = false;
    cfg_build(an->fn);
    for_each_block(b, an->fn) {
        Instr *branch = block_terminator(b);
        Block *taken = branch && branch->guard ? branch_target(branch) : NULL;
        if (!taken || !b->fall || taken == b->fall || cfg_single_pred(an->fn, taken) != b ||
            cfg_single_pred(an->fn, b->fall) != b)
            continue;
        u32 n = common_begin(taken, b->fall, site);
        if (!n || writes_guard(taken, n, branch->guard) || !phase_may_rewrite(run))
            continue;
        while (n--) {
            Instr *moved = taken->first;
            instr_remove(moved);
            instr_insert_before(branch, moved);
            instr_remove(b->fall->first);
        }
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

Phase fault_hoist_call;
PhaseResult fault_hoist_call(Analyses *an, const Knobs *knobs, PhaseRun *run) { return hoist(an, run, waits_in_callee); }
Phase fault_hoist_masks;
PhaseResult fault_hoist_masks(Analyses *an, const Knobs *knobs, PhaseRun *run) { return hoist(an, run, waits_for_lanes); }
