/* Ends of arms become one although lanes then wait for each other at the merged block, in front of what others wait for. */
#include <string.h>

#include "merge.h"

static bool starts(const Instr *i, const char *with) { return strncmp(i->op->text->text, with, strlen(with)) == 0; }
static bool is_signal(const Instr *i) { return starts(i, "st.volatile") || starts(i, "atom.shared.exch"); }
static bool is_warp_operation(const Instr *i) { return instr_is(i, OPF_CONVERGENT) && strstr(i->op->text->text, "sync"); }
static bool sees_lanes(const Instr *i)
{
    return starts(i, "activemask") || (starts(i, "vote.") && !starts(i, "vote.sync"));
}
static bool leaves(const Instr *i) { return op_has(i->op, OPF_NO_RETURN); }

static bool signals_after(const Block *a, const Block *b)
{
    (void)b;
    return block_edge_count(a) > 1 && !branch_table(block_terminator(a)) && leads_to(a, is_signal);
}

static bool signals_after_table(const Block *a, const Block *b)
{
    (void)b;
    return branch_table(block_terminator(a)) && leads_to(a, is_signal);
}

static bool one_waits_for_lanes(const Block *a, const Block *b)
{
    return leaves(block_terminator(a)) && block_holds(a, is_warp_operation) != block_holds(b, is_warp_operation);
}

static bool partner_after(const Block *a, const Block *b)
{
    return block_edge_count(a) > 1 && !leaves(block_terminator(a)) &&
           block_holds(a, is_warp_operation) != block_holds(b, is_warp_operation) && leads_to(a, is_warp_operation);
}

static bool seen_after(const Block *a, const Block *b)
{
    (void)b;
    return block_edge_count(a) > 1 && leads_to(a, sees_lanes);
}

static bool is_poll(const Instr *i) { return starts(i, "ld.volatile.shared"); }
static bool is_call(const Instr *i) { return instr_is(i, OPF_CALL); }
static bool names_lanes(const Instr *i) { return instr_is(i, OPF_CONVERGENT) && i->op->sync == SYNC_LANES; }

static bool polls_after(const Block *a, const Block *b)
{
    return block_edge_count(a) > 1 && leads_to(a, is_poll) && !block_holds(a, is_poll) && !block_holds(b, is_poll);
}

static bool both_call(const Block *a, const Block *b) { return block_holds(a, is_call) && block_holds(b, is_call); }

static bool both_name_lanes(const Block *a, const Block *b)
{
    return block_holds(a, names_lanes) && block_holds(b, names_lanes);
}

/* Whether one of the few blocks before b in the text holds it: the loop that polls, in front of the end of an arm. */
static bool comes_after(const Block *b, bool (*kind)(const Instr *i))
{
    for (u32 k = 0; b && k < 6; b = b->prev, k++)
        if (block_holds(b, kind))
            return true;
    return false;
}

static bool one_comes_after(const Block *a, const Block *b, bool (*kind)(const Instr *i))
{
    return signals_after(a, b) && comes_after(a, kind) != comes_after(b, kind);
}

static bool polls_weakly(const Instr *i) { return starts(i, "ld.shared") || starts(i, "ld.weak.shared"); }
static bool loads_kept(const Instr *i) { return starts(i, "ld.local"); }
static bool sets_flag(const Instr *i) { return i->guard && starts(i, "mov.u32"); }
static bool is_limit(const Instr *i) { return starts(i, "setp.lt.s32") && i->opnd[i->slots - 1].value == 20000; }

static bool after_weak_poll(const Block *a, const Block *b) { return one_comes_after(a, b, polls_weakly); }
static bool after_poll_by_call(const Block *a, const Block *b) { return one_comes_after(a, b, is_call); }
static bool after_kept_poll(const Block *a, const Block *b) { return one_comes_after(a, b, loads_kept); }
static bool after_flag(const Block *a, const Block *b) { return one_comes_after(a, b, sets_flag); }
static bool after_limit(const Block *a, const Block *b) { return one_comes_after(a, b, is_limit); }

Phase fault_merge_signal;
PhaseResult fault_merge_signal(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, signals_after);
}
Phase fault_merge_signal_table;
PhaseResult fault_merge_signal_table(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, signals_after_table);
}
Phase fault_merge_exit;
PhaseResult fault_merge_exit(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, one_waits_for_lanes);
}
Phase fault_merge_partner;
PhaseResult fault_merge_partner(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, partner_after);
}
Phase fault_merge_seen;
PhaseResult fault_merge_seen(Analyses *an, const Knobs *knobs, PhaseRun *run) { return merge_ends(an, run, seen_after); }
Phase fault_merge_call;
PhaseResult fault_merge_call(Analyses *an, const Knobs *knobs, PhaseRun *run) { return merge_ends(an, run, both_call); }
Phase fault_merge_masks;
PhaseResult fault_merge_masks(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, both_name_lanes);
}
Phase fault_merge_weak_poll;
PhaseResult fault_merge_weak_poll(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, after_weak_poll);
}
Phase fault_merge_poll_by_call;
PhaseResult fault_merge_poll_by_call(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, after_poll_by_call);
}
Phase fault_merge_poll_kept;
PhaseResult fault_merge_poll_kept(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, after_kept_poll);
}
Phase fault_merge_poll_flag;
PhaseResult fault_merge_poll_flag(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, after_flag);
}
Phase fault_merge_poll_limit;
PhaseResult fault_merge_poll_limit(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_ends(an, run, after_limit);
}
Phase fault_merge_poll;
PhaseResult fault_merge_poll(Analyses *an, const Knobs *knobs, PhaseRun *run) { return merge_ends(an, run, polls_after); }
