/* tail-merge: identical ends of blocks become one block, identical beginnings move in front of the branch.
 *
 *        sub.u32 %r1, %a, %b;                    sub.u32 %r1, %a, %b;
 *        mul.lo.u32 %r2, %r1, 31;                bra.uni T;
 *        st.global.u32 [%d], %r2;             B: shl.b32 %r1, %a, 4;
 *        ret;                                 T: mul.lo.u32 %r2, %r1, 31;
 *     B: shl.b32 %r3, %a, 4;                     st.global.u32 [%d], %r2;
 *        mul.lo.u32 %r4, %r3, 31;                ret;
 *        st.global.u32 [%d], %r4;
 *        ret;
 *
 * Follows LLVM's BranchFolder as cicc has it. TailMergeBlocks runs over the blocks without successors and over the
 * predecessors of each block. It takes turns with HoistCommonCode and branch folding until nothing changes. The four
 * gates are LLVM's: length, an end that is understood, reserved registers, gain. So is the order of candidates: returns,
 * jumps, then conditional branches.
 *
 * Sound: every thread executes the same instructions with the same values in the same order. Only registers that die in the tail
 * may have another name there. Instructions that depend on which threads execute them together are merged only if they name their
 * threads and both copies depended on the same branches. Threads now reconverge where the tail begins; before, they did so after
 * its end at the earliest. analysis/reconverge.h says where they may (lanes.h). Tails are merged only within one innermost loop, so
 * no cycle gets a second entry. The merged instruction loses .uni, the copies' promise to be uniform.
 *
 * Declines: activemask, elect, votes and shuffles without .sync, calls that may contain these, in the tail or between its end
 * and the point where its threads reconverged; tails in front of which a thread may wait for one that would wait there for
 * it; parts of the sequence around a call; unfinished carry chains; pragmas except those of a load; special registers as
 * --tail-merge-reserved says; parting the test of a loop from the step of its counter (tests/ptxas/LOOPS.md); a load that
 * would no longer be in flight together with loads in front of the tail (loads.h); blocks of two scopes; variables of an
 * inner scope; names of registers that wgmma or tcgen05 may still use; merges that would cost more copies than they save,
 * or a BREAK on each of few edges beside the blocks, or past them; partial joins of two blocks, except at -O3 or by name. */
#include <stdlib.h>
#include <string.h>

#include "ir/cfg.h"
#include "base/bound.h"
#include "phase/tail/candidates.h"
#include "phase/tail/ends.h"
#include "phase/tail/hoist.h"
#include "target/ptxas.h"

/* A tail of this many instructions is reported as too short where it is not merged. It is merged where very many blocks
 * have it, or all predecessors of a block. */
#define SHORT_TAIL 2
/* The most blocks that are looked at between a branch and the blocks to merge. */
#define LOOKED_AT_BETWEEN 32

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* How well the block suits to keep its tail: best if it holds nothing but the tail, well if no jump follows the tail. */
static u32 rank_kept(const Block *b, const Tail *tail)
{
    if (splice_begins_block(tail->kept))
        return 3;
    return !b->falls_off && (!b->fall || b->fall == b->next) ? 2 : 1;
}

static u32 choose_kept(Merge *m, TailCandidate **set, u32 n, u32 items)
{
    u32 best = 0, most = 0;
    for (u32 k = 0; k < n; k++) {
        Tail tail = tail_match(m->matcher, set[k]->block, set[k ? 0 : 1]->block, items);
        u32 rank = tail_pays(m, &tail) ? rank_kept(set[k]->block, &tail) : 0;
        if (rank > most) {
            most = rank;
            best = k;
        }
    }
    return best;
}

/* Plans how `other` gives its tail up; false: it cannot. */
static bool plan_duplicate(Merge *m, Block *kept, Block *other, u32 items, Tail *tail, DuplicateTail *duplicate)
{
    *tail = tail_match(m->matcher, kept, other, items);
    if (!tail_pays(m, tail))
        return false;
    u32 n;
    const RegPair *renamed = matcher_renamed(m->matcher, &n);
    *duplicate = (DuplicateTail){other, tail->other, arena_array(m->an->scratch, RegPair, n), n};
    if (n)
        memcpy(duplicate->renamed, renamed, n * sizeof *renamed);
    return splice_copies_order(duplicate->renamed, n);
}

/* Whether the threads of any two blocks that give their tails up may reconverge, not only those of each with the kept one. */
static bool may_join(Merge *m, const DuplicateTail *duplicate, u32 duplicates)
{
    const DuplicateTail *last = &duplicate[duplicates];
    for (u32 k = 0; k < duplicates; k++)
        if (!tails_may_join(m->matcher, duplicate[k].begin, last->begin))
            return false;
    return true;
}

/* The number of instructions in front of the tail, up to one more than the limit. */
static u32 head_length(const Instr *begin, u32 limit)
{
    u32 n = 0;
    for (const Instr *i = begin->prev; i && n <= limit; i = i->prev)
        n += i->kind == INSTR_OP;
    return n;
}

/* Whether merging blocks that leave the function pays. Where ptxas branches, one block costs a BSSY and a BSYNC. */
static bool returns_pay(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates, i64 saved)
{
    if (cfg_succs(m->fn, begin->block).n || saved >= 2 * m->least)
        return true;
    bool small = duplicates == 1 && head_length(begin, PTXAS_SHORT_HEAD) <= PTXAS_SHORT_HEAD;
    for (u32 k = 0; k < duplicates; k++)
        small &= head_length(duplicate[k].begin, PTXAS_SHORT_HEAD) <= PTXAS_SHORT_HEAD;
    return small;
}

/* Whether `blocks` blocks, b among them, can be all predecessors of the block after b, where their threads come together
 * anyway. */
static bool are_all_arms(const Merge *m, const Block *b, u32 blocks)
{
    CfgList succs = cfg_succs(m->fn, b);
    return succs.n == 1 && cfg_preds(m->fn, succs.v[0].block).n <= blocks;
}

/* Whether merging arms of a branch pays. ptxas executes short arms under predicates if all of them join at one block. Two
 * of three or more that join earlier cost branches, a BSSY and a BSYNC, and moves where they bring several values. */
static bool arms_pay(const Merge *m, const Tail *tail, const DuplicateTail *duplicate, u32 duplicates, i64 saved)
{
    const Block *b = tail->kept->block;
    bool part = cfg_succs(m->fn, b).n == 1 && !are_all_arms(m, b, duplicates + 1);
    u32 kept = head_length(tail->kept, PTXAS_SHORT_ARM), other = head_length(duplicate->begin, PTXAS_SHORT_ARM);
    bool are_short = kept && other && kept <= PTXAS_SHORT_ARM && other <= PTXAS_SHORT_ARM && saved <= m->least;
    bool bring_values = tail->width > 1 && !tail->copies && saved <= 2 * m->least;
    return !part || duplicates > 1 || (!are_short && !bring_values);
}

/* Whether the tails are whole blocks: none keeps a part of its own in front of its tail. */
static bool are_whole(const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    bool whole = splice_begins_block(begin);
    for (u32 k = 0; k < duplicates; k++)
        whole &= splice_begins_block(duplicate[k].begin);
    return whole;
}

/* Whether the tails are whole blocks among many arms, so that merging also saves the branch out of each. */
static bool are_many_arms(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    CfgList succs = cfg_succs(m->fn, begin->block);
    return succs.n == 1 && cfg_preds(m->fn, succs.v[0].block).n >= PTXAS_MANY_ARMS &&
           are_whole(begin, duplicate, duplicates);
}

/* Whether one branch leads to the block, or past it to the block that follows it. */
static bool is_branched_past(const Function *fn, const Block *b)
{
    CfgList preds = cfg_preds(fn, b), succs = cfg_succs(fn, b);
    if (preds.n != 1 || succs.n != 1)
        return false;
    CfgList both = cfg_succs(fn, preds.v[0].block);
    return both.n == 2 && (both.v[0].block == succs.v[0].block || both.v[1].block == succs.v[0].block);
}

/* The number of machine instructions from `begin` to the block's end, without its jump. A constant that only the block
 * reads is an operand there and costs nothing. */
static u32 machine_length(const Merge *m, const Instr *begin)
{
    const Live *live = an_live(m->an);
    u32 n = 0;
    for (const Instr *i = begin; i; i = i->next) {
        bool operand = match_loads_constant(i) && !live_out(live, begin->block, i->opnd[0].id);
        n += operand || instr_is(i, OPF_BRANCH) ? 0 : ptxas_cost(i);
    }
    return n;
}

/* Whether the tails are whole blocks of one machine instruction, which ptxas executes under the predicate of the branch
 * past it. */
static bool are_guarded_alone(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    bool alone = machine_length(m, begin) <= 1 && splice_begins_block(begin) && is_branched_past(m->fn, begin->block);
    for (u32 k = 0; k < duplicates; k++)
        alone &= splice_begins_block(duplicate[k].begin) && is_branched_past(m->fn, duplicate[k].begin->block);
    return alone;
}

static bool is_among(const Block *const *blocks, u32 n, const Block *b)
{
    for (u32 k = 0; k < n; k++)
        if (blocks[k] == b)
            return true;
    return false;
}

/* The block of the branch that divides the paths to the blocks of one merge. */
static Block *dividing_block(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    Block *top = begin->block;
    for (u32 k = 0; k < duplicates; k++)
        top = dom_nearest_common(an_dom(m->an), top, duplicate[k].block);
    return top;
}

/* Whether the branch above these blocks may divide a warp, whose threads would then come together in a merged block. */
static bool are_divided(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    return !uniform_has(&an_uniform(m->an)->branch_warp, dividing_block(m, begin, duplicate, duplicates)->id);
}

/* Lists in in[] the n blocks of one merge, and those between `top` and them. Returns how many these are; 0: too many. */
static u32 list_between(const Merge *m, const Block *top, const Block **in, u32 n)
{
    for (u32 k = 0; k < n; k++)
        for_each_cfg_edge(pred, cfg_preds(m->fn, in[k])) {
            if (in[k] == top || is_among(in, n, pred.v->block))
                continue;
            if (BEYOND(LOOKED_AT_BETWEEN, n == LOOKED_AT_BETWEEN))
                return 0;
            in[n++] = pred.v->block;
        }
    return n;
}

/* What lies between the branch that divides the paths and the blocks of one merge. */
typedef struct Between {
    u32 past, elsewhere; /* edges out of it to where these blocks lead, and to other places */
    bool cheap;          /* ptxas executes each block of it under a predicate */
} Between;

static Between look_between(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    CfgList succs = cfg_succs(m->fn, begin->block);
    const Block *in[LOOKED_AT_BETWEEN] = {begin->block}, *end = succs.n ? succs.v[0].block : NULL;
    Between between = {0};
    if (BEYOND(LOOKED_AT_BETWEEN, duplicates + 1 > LOOKED_AT_BETWEEN))
        return between;
    for (u32 k = 0; k < duplicates; k++)
        in[k + 1] = duplicate[k].block;
    u32 n = list_between(m, dividing_block(m, begin, duplicate, duplicates), in, duplicates + 1);
    between.cheap = n > 0;
    for (u32 k = duplicates + 1; k < n; k++) {
        between.cheap &= ptxas_block_cost(in[k], PTXAS_PREDICATED) <= PTXAS_PREDICATED;
        for_each_cfg_edge(succ, cfg_succs(m->fn, in[k])) {
            between.past += succ.v->block == end;
            between.elsewhere += succ.v->block != end && !is_among(in, n, succ.v->block);
        }
    }
    return between;
}

/* Whether reconverging in front of the place that these blocks lead to saves less than it costs. That is a BSSY, a BSYNC,
 * a BRA, and a BREAK on each of the few edges that lead past the merged block. */
static bool costs_breaks(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates, i64 saved)
{
    CfgList succs = cfg_succs(m->fn, begin->block);
    if (succs.n != 1)
        return false;
    Between between = look_between(m, begin, duplicate, duplicates);
    if (between.elsewhere > PTXAS_BREAKS)
        return false;
    bool whole = are_whole(begin, duplicate, duplicates), partial = between.past && !(whole && between.cheap);
    bool if_divided = saved <= PTXAS_PARTIAL_JOIN + between.past + between.elsewhere,
         if_together = whole && duplicates == 1 && between.elsewhere && saved <= 2 + between.elsewhere;
    if (partial && if_divided != if_together && are_divided(m, begin, duplicate, duplicates))
        return if_divided;
    return if_together;
}

/* Whether some threads of a branch that may divide a warp would come together at a pair of tails, and with the others behind it.
 * Of 15 kernels changed by that 5 got worse: tests/ptxas/TAILS.md. */
static bool is_partial_join(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    return duplicates == 1 && cfg_succs(m->fn, begin->block).n == 1 && !are_all_arms(m, begin->block, 2) &&
           !are_whole(begin, duplicate, duplicates) && are_divided(m, begin, duplicate, duplicates);
}

/* Whether the blocks are all arms of a branch in a loop. ptxas schedules each arm of a loop with what it reads there. */
static bool are_loop_arms(const Merge *m, const Block *b, u32 blocks)
{
    return loop_of(an_loops(m->an), b) && are_all_arms(m, b, blocks);
}

static void merge_set(Merge *m, u32 n, u32 items)
{
    TailCandidate **set = m->set;
    u32 kept = choose_kept(m, set, n, items), duplicates = 0;
    DuplicateTail *duplicate = arena_array(m->an->scratch, DuplicateTail, n);
    Tail tail = {0};
    i64 saved = 0;
    for (u32 k = 0; k < n; k++) {
        Tail one;
        if (k == kept || !plan_duplicate(m, set[kept]->block, set[k]->block, items, &one, &duplicate[duplicates]) ||
            !may_join(m, duplicate, duplicates))
            continue;
        tail = one;
        saved += tail_gain(&one);
        duplicate[duplicates++].block = set[k]->block;
    }
    if (!duplicates || (m->all_arms && !are_all_arms(m, tail.kept->block, duplicates + 1)))
        return;
    if (!m->always && !returns_pay(m, tail.kept, duplicate, duplicates, saved)) {
        tail_decline(m, "DeclinedReturn", tail.kept,
                     "blocks that leave the function would have to reconverge for too little");
        return;
    }
    if (saved < m->together && !are_many_arms(m, tail.kept, duplicate, duplicates))
        return;
    if (!m->always &&
        (!arms_pay(m, &tail, duplicate, duplicates, saved) || are_guarded_alone(m, tail.kept, duplicate, duplicates))) {
        tail_decline(m, "DeclinedArms", tail.kept, "ptxas would no longer execute these arms of branches under predicates");
        return;
    }
    if (!m->always && costs_breaks(m, tail.kept, duplicate, duplicates, saved)) {
        tail_decline(m, "DeclinedArms", tail.kept, "threads would have to come together there for too little");
        return;
    }
    if (!m->always && phase_waits(m->run, KIND_PARTIAL_JOIN) && is_partial_join(m, tail.kept, duplicate, duplicates)) {
        tail_decline(m, "DeclinedPartialJoin", tail.kept,
                     "some threads would come together there before the others: -O3 merges them");
        return;
    }
    if (!m->always && phase_waits(m->run, KIND_LOOP_ARMS) && are_loop_arms(m, tail.kept->block, duplicates + 1)) {
        tail_decline(m, "DeclinedLoopArms", tail.kept, "arms of a branch in a loop: -O3 or the guard merges them");
        return;
    }
    if (!phase_may_rewrite(m->run))
        return;
    phase_passed(m->run, "TailMerged", tail.kept, "%u blocks end with the same %u instruction%s, which are now one block",
                 duplicates + 1, tail.weight, tail.weight == 1 ? "" : "s");
    phase_count(m->run, "TailsMerged", duplicates);
    phase_count(m->run, "InstructionsMerged", duplicates * tail.weight);
    set[kept]->done = true;
    for (u32 k = 0; k < n; k++)
        for (u32 g = 0; g < duplicates; g++)
            set[k]->done |= set[k]->block == duplicate[g].block;
    vec_push(&m->splices,
             ((Splice){.order = set[kept]->order, .begin = tail.kept, .duplicates = duplicate, .n = duplicates}));
}

/* Merges each candidate in turn with all candidates after it that share its best tail. */
static void merge_group(Merge *m, TailCandidate *group, u32 n)
{
    for (u32 first = 0; first + 1 < n; first++) {
        if (group[first].done)
            continue;
        if (candidates_exhausted(m)) {
            tail_decline(m, "DeclinedEffort", group[first].block->last,
                         "too many blocks end nearly alike to compare all of them");
            return;
        }
        candidates_compare(m, group, n, first);
        u32 items = candidates_best_length(m, group, n, first), members = 1;
        Tail tail;
        m->set[0] = &group[first];
        for (u32 k = first + 1; items && k < n; k++)
            if (candidates_may_give_up(m, group, first, k, items, &tail))
                m->set[members++] = &group[k];
        if (members > 1)
            merge_set(m, members, items);
    }
}

/* The end of the group that begins at `from`: candidates of one key, at most `threshold`. */
static u32 group_end(const Merge *m, u32 from)
{
    const TailCandidate *first = &m->candidates.v[from];
    u32 to = from + 1;
    while (to < m->candidates.n && to - from < m->threshold && m->candidates.v[to].key == first->key &&
           m->candidates.v[to].priority == first->priority)
        to++;
    return to;
}

static u32 largest_group(const Merge *m)
{
    u32 largest = 0;
    for (u32 from = 0, to; from < m->candidates.n; from = to) {
        to = group_end(m, from);
        largest = to - from > largest ? to - from : largest;
    }
    return largest;
}

static int compare_splices(const void *a, const void *b)
{
    const Splice *one = a, *two = b;
    return one->order < two->order ? -1 : one->order > two->order;
}

/* Carries all merges out in the order of the layout, which keeps the edges of neighbouring blocks close together. The blocks are
 * made here, since the analyses of a function that has new blocks are no longer those of the function that was looked at. */
static void splice_all(Merge *m)
{
    for (u32 k = 0; k < m->splices.n; k++)
        m->splices.v[k].tail = tail_block(an_loops(m->an), m->splices.v[k].begin);
    if (m->splices.n)
        qsort(m->splices.v, m->splices.n, sizeof(Splice), compare_splices);
    for (u32 k = 0; k < m->splices.n; k++) {
        const Splice *s = &m->splices.v[k];
        splice_tails(m->fn, s->begin, s->tail, s->duplicates, s->n);
    }
}

static void report_short_tail(Merge *m, Block *kept, Block *other)
{
    if (!ends_alike(m->fn, kept, other) || kept->scope != other->scope || tail_why_separate(m, kept, other))
        return;
    matcher_set_end(m->matcher, kept, tail_terms(m));
    Tail tail = tail_match(m->matcher, kept, other, 0);
    if (tail.items && tail.weight >= SHORT_TAIL && tail.weight < m->least)
        phase_declined(m->run, NULL, "TailKept", tail.kept,
                       "equal ends not merged: %u instructions in common, "
                       "--tail-merge-size asks for %lld",
                       tail.weight, (long long)m->least);
}

/* Reports blocks that share too short a tail to be compared. Each is compared only with the next one of the same key. */
static void report_short_tails(const Merge *merge)
{
    Merge m = *merge;
    m.least = SHORT_TAIL;
    m.candidates.v = NULL;
    m.candidates.n = m.candidates.cap = 0;
    candidates_collect(&m);
    candidates_sort(&m);
    m.least = merge->least;
    m.matcher = matcher_new(m.an, m.gate, m.always);
    candidates_limit_effort(&m);
    for (u32 k = 0; k + 1 < m.candidates.n && !candidates_exhausted(&m); k++)
        if (m.candidates.v[k].key == m.candidates.v[k + 1].key)
            report_short_tail(&m, m.candidates.v[k].block, m.candidates.v[k + 1].block);
    matcher_free(m.matcher);
    vec_free(&m.candidates);
}

static void merge_alike(Merge *m)
{
    m->candidates.n = 0;
    candidates_collect(m);
    candidates_sort(m);
    u32 largest = largest_group(m);
    if (largest < 2)
        return;
    if (!m->matcher)
        m->matcher = matcher_new(m->an, m->gate, m->always);
    candidates_limit_effort(m);
    m->set = arena_array(m->an->scratch, TailCandidate *, largest);
    m->tail = arena_array(m->an->scratch, Tail, largest);
    for (u32 from = 0, to; from < m->candidates.n; from = to) {
        to = group_end(m, from);
        const Block *first = m->candidates.v[from].block;
        if (to - from > 1 && !(m->all_arms && !are_all_arms(m, first, to - from)))
            merge_group(m, &m->candidates.v[from], to - from);
    }
    splice_all(m);
}

/* Merges shorter tails, of at least `least` instructions, that save `together` in one merge. */
static void merge_short(Merge *m, i64 least, i64 together, bool all_arms)
{
    m->least = least;
    m->together = together;
    m->all_arms = all_arms;
    merge_alike(m);
}

/* Merges tails and, when there are none left, short ones. Those that very many blocks share come first, then those of all
 * arms that join at one block. */
static void merge_tails(Merge *m)
{
    bool and_short = m->least > SHORT_TAIL && !m->always;
    if (m->run->sink->wants_remarks && m->least > SHORT_TAIL)
        report_short_tails(m);
    merge_alike(m);
    if (!m->splices.n && and_short)
        merge_short(m, SHORT_TAIL, PTXAS_SHORT_TAILS, false);
    if (!m->splices.n && and_short)
        merge_short(m, 1, PTXAS_SHORT_ARMS, true);
    if (m->matcher)
        matcher_free(m->matcher);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

static bool merge_and_hoist(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Merge m = {.run = run,
               .an = an,
               .fn = an->fn,
               .gate = (ReservedChoice)knobs->tail_merge_reserved,
               .always = knobs->tail_merge_when == TAIL_ALWAYS};
    m.least = knobs->tail_merge_size < 1 ? 1 : knobs->tail_merge_size;
    m.threshold = knobs->tail_merge_threshold > UINT16_MAX ? UINT16_MAX : (u32)knobs->tail_merge_threshold;
    an_freeze(an, AN_DOM | AN_LOOPS | AN_POSTDOM | AN_LIVE | AN_CONTROL | AN_UNIFORM);
    an_compute(an, AN_DOM | AN_LOOPS);
    if (knobs->tail_merge_when != TAIL_NEVER && m.threshold > 1)
        merge_tails(&m);
    bool changed = m.splices.n > 0 || (knobs->hoist_common_code && hoist_common_code(an, run, m.gate));
    vec_free(&m.candidates);
    vec_free(&m.splices);
    return changed;
}

Phase phase_tail_merge;
PhaseResult phase_tail_merge(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return merge_and_hoist(an, knobs, run) ? PHASE_AGAIN : PHASE_UNCHANGED;
}
