/* Table entries go past blocks that only jump: threads that came to what follows in groups of their own come as one. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/phase.h"

/* Whether entries of the table that ends b lead to `to`, and others to the empty block before it. */
static bool other_entries_lead_to(const Block *b, const Block *to)
{
    CfgList succs = cfg_succs(b->fn, b);
    for (u32 k = 0; k < succs.n; k++)
        if (succs.v[k].block == to)
            return true;
    return false;
}

static bool pass_over(Analyses *an, PhaseRun *run, Block *b)
{
    CfgList succs = cfg_succs(an->fn, b);
    for (u32 k = 0; k < succs.n; k++) {
        Block *hop = succs.v[k].block;
        if (!block_is_empty(hop) || !hop->fall || hop->fall == hop || !other_entries_lead_to(b, hop->fall))
            continue;
        if (!phase_may_rewrite(run))
            return false;
        block_redirect(b, hop, hop->fall);
        return true;
    }
    return false;
}

Phase fault_table_groups;
PhaseResult fault_table_groups(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    cfg_build(an->fn);
    for_each_block(b, an->fn)
        while (block_terminator(b) && branch_table(block_terminator(b)) && pass_over(an, run, b))
            changed = true;
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
