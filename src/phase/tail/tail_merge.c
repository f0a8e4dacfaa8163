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
 * Follows LLVM's BranchFolder as cicc has it: TailMergeBlocks over the blocks without successors and over the predecessors
 * of each block, HoistCommonCode, and branch folding in turn until nothing changes; its four gates (length, an end that is
 * understood, reserved registers, gain) and its order of candidates: returns, jumps, then conditional branches.
 *
 * Sound: every thread executes the same instructions with the same values in the same order. Only what dies in the tail may
 * have another name there. Of the instructions that depend on who executes them together only those that name their threads
 * are merged, and only if both copies depended on the same branches. Threads now reconverge where the tail begins, which
 * before they did after its end at the earliest: analysis/reconverge.h says where they may (lanes.h).
 * Tails of one innermost loop are merged, never across loops, so that no cycle gets a second entry.
 * Nothing keeps a promise to be uniform that two copies made.
 *
 * Declines: activemask, elect, votes and shuffles without .sync, calls that may hold such, in the tail or between its end and
 * the point where its threads reconverged; tails in front of which a thread may wait for one that would wait there for it;
 * parts of the sequence around a call; unfinished carry chains; pragmas but those of a load; special registers as
 * --tail-merge-reserved says; parting the test of a loop from the step of its counter (tests/ptxas/LOOPS.md); blocks of two
 * scopes; variables of an inner scope; names of registers that wgmma or tcgen05 may still use; merges that would cost more
 * copies than they save. */
#include <stdlib.h>
#include <string.h>

#include "ir/cfg.h"
#include "phase/tail/ends.h"
#include "phase/tail/hoist.h"
#include "phase/tail/splice.h"
#include "target/ptxas.h"

/* Instructions that candidates must share before they are compared. */
#define HASHED_ITEMS 3
#define DOMINATORS_LOOKED_AT 64
/* A tail of so many instructions is reported as too short where it is not merged, and is merged where very many blocks have it. */
#define SHORT_TAIL 2
/* At most so many instructions are compared for each instruction of the function, and a few more. Code of compilers takes up to six;
 * very many alike blocks that cannot be merged would take their number times their length. */
#define COMPARED_PER_INSTR 16
#define COMPARED_AT_LEAST 4096

typedef struct TailCandidate {
    Block *block;
    u64 key;
    u32 order;   /* of the block in the layout */
    u8 priority; /* 0: leaves the function, 1: jumps or falls, 2: branches */
    bool done;   /* the block gives its tail up, or keeps it for others */
} TailCandidate;

/* A merge to be carried out when all merges are decided. */
typedef struct Splice {
    u32 order; /* of the block that keeps its tail, in the layout */
    Instr *begin;
    Block *tail; /* the block that the tail becomes */
    DuplicateTail *duplicates;
    u32 n;
} Splice;

typedef struct Merge {
    PhaseRun *run;
    Analyses *an;
    Function *fn;
    Matcher *matcher;
    TailGate gate;
    i64 least;     /* tail-merge-size; less where very many tails are alike */
    i64 together;  /* least that all blocks of one merge must save */
    u32 threshold; /* tail-merge-threshold */
    bool always;   /* enable-tail-merge=1: without the gate of gain */
    u64 effort;    /* instructions that may still be compared */
    VEC(TailCandidate) candidates;
    TailCandidate **set; /* candidates of the group under way that are merged */
    Tail *tail;          /* by candidate: its tail with the one that the others are compared with */
    VEC(Splice) splices;
} Merge;

/* ---- candidates ------------------------------------------------------------------------------------------------ */

/* A hash of the last instructions before the end: equal for tails that are the same up to names and exchanged operands. */
static u64 tail_key(const Merge *m, const Block *b, u64 key)
{
    u32 wanted = m->least < HASHED_ITEMS ? (u32)m->least : HASHED_ITEMS, found = 0;
    const Instr *end = block_terminator(b);
    if (end && (end->guard || op_has(end->op, OPF_BRANCH)))
        found++;
    for (const Instr *i = b->last; i && found < wanted; i = i->prev) {
        if (i->kind != INSTR_OP || i == end)
            continue;
        key = (key ^ i->op->text->hash) * 0x100000001b3u;
        found++;
    }
    return found < wanted ? 0 : key;
}

/* Whether another block leads wherever b does. */
static bool has_rivals(const Order *order, const Block *b)
{
    for_each_edge(e, &order->succ, order->index[b->id]) {
        u32 to = order->succ.to[e];
        if (order->pred.start[to + 1] - order->pred.start[to] < 2)
            return false;
    }
    return true;
}

static void collect(Merge *m)
{
    u32 order = 0;
    for_each_block(b, m->fn) {
        order++;
        if (!order_reachable(an_order(m->an), b) || !has_rivals(an_order(m->an), b))
            continue;
        u64 key = ends_key(m->fn, b);
        if (key)
            key = tail_key(m, b, key);
        u32 edges = block_edge_count(b);
        if (key)
            vec_push(&m->candidates, ((TailCandidate){b, key, order, (u8)(edges > 2 ? 2 : edges), false}));
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const TailCandidate *one = a, *two = b;
    if (one->priority != two->priority)
        return one->priority < two->priority ? -1 : 1;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->order < two->order ? -1 : 1;
}

/* ---- gates ----------------------------------------------------------------------------------------------------- */

static bool pays(const Merge *m, const Tail *tail)
{
    return tail->items && (m->always ? tail->weight : tail_gain(tail)) >= m->least;
}

static bool same_loop(const Merge *m, const Block *a, const Block *b)
{
    const Loops *loops = an_loops(m->an);
    if (loops->irreducible && (bitset_has(&loops->in_irreducible, a->id) || bitset_has(&loops->in_irreducible, b->id)))
        return false;
    return loop_of(loops, a) == loop_of(loops, b);
}

/* Whether a loop is left on the path from d to b: then d or a block that dominates b is in it. */
static bool leaves_loop(const Merge *m, const Block *d, const Block *b)
{
    const DomTree *dom = an_dom(m->an);
    const Loops *loops = an_loops(m->an);
    u32 steps = 0;
    while (b && b != d && steps++ < DOMINATORS_LOOKED_AT && !loop_of(loops, b))
        b = dom->idom[b->id];
    return b != d || loop_of(loops, b);
}

/* Whether the blocks leave the function from different exits of loops. Their threads never reconverge; in a merged block they would,
 * and ptxas makes the loops pay for that (BSSY before them, BREAK inside). */
static bool exits_of_loops(const Merge *m, Block *a, Block *b)
{
    if (m->always || !an_loops(m->an)->n || cfg_succs(m->fn, a).n)
        return false;
    const Block *d = dom_nearest_common(an_dom(m->an), a, b);
    return leaves_loop(m, d, a) || leaves_loop(m, d, b);
}

/* The number of instructions in front of the tail, up to one more than the limit. */
static u32 head_length(const Instr *begin, u32 limit)
{
    u32 n = 0;
    for (const Instr *i = begin->prev; i && n <= limit; i = i->prev)
        n += i->kind == INSTR_OP;
    return n;
}

static void decline(Merge *m, const char *counter, const Instr *at, const char *why)
{
    if (m->together) /* the pass over longer tails has said it */
        return;
    phase_declined(m->run, counter, "TailKept", at, "this block ends like another one, but is not merged with it: %s", why);
}

/* Why two candidates cannot be merged whatever they hold; NULL: they can. */
static const char *are_far_apart(const Merge *m, Block *a, Block *b)
{
    if (!same_loop(m, a, b))
        return "they are not in the same innermost loop";
    if (exits_of_loops(m, a, b))
        return "they leave loops by different exits";
    return NULL;
}

static bool is_exhausted(const Merge *m) { return matcher_compared(m->matcher) > m->effort; }

static void limit_effort(Merge *m)
{
    u64 instrs = 0;
    for_each_block(b, m->fn)
        for_each_instr(i, b)
            instrs++;
    m->effort = COMPARED_PER_INSTR * instrs + COMPARED_AT_LEAST;
}

/* Compares the first candidate of the group with those after it. */
static void compare_group(Merge *m, const TailCandidate *group, u32 n, u32 first)
{
    const TailCandidate *kept = &group[first];
    const Instr *at = NULL;
    const char *counter = NULL, *why = NULL;
    bool any = false;
    for (u32 k = first + 1; k < n; k++) {
        const TailCandidate *c = &group[k];
        Tail *tail = &m->tail[k];
        *tail = (Tail){0};
        if (c->done || !ends_alike(m->fn, kept->block, c->block) || kept->block->scope != c->block->scope)
            continue;
        const char *far = are_far_apart(m, kept->block, c->block);
        if (far) {
            counter = "DeclinedLoop";
            why = far;
            continue;
        }
        *tail = tail_match(m->matcher, kept->block, c->block, 0);
        if (pays(m, tail)) {
            any = true;
        } else {
            counter = tail_stop_info[tail->stop].counter;
            why = tail_stop_info[tail->stop].text;
            at = tail->at;
            tail->items = 0;
        }
    }
    if (!any && counter)
        decline(m, counter, at ? at : kept->block->last, why);
}

/* ---- choosing what to merge ------------------------------------------------------------------------------------ */

static bool siblings(const Merge *m, const Block *a, const Block *b)
{
    const DomTree *dom = an_dom(m->an);
    return dom->idom[a->id] && dom->idom[a->id] == dom->idom[b->id];
}

/* Whether the k-th candidate can give up a tail of so many items to the first one. */
static bool may_give_up(Merge *m, const TailCandidate *group, u32 first, u32 k, u32 items, Tail *tail)
{
    if (group[k].done || m->tail[k].items < items)
        return false;
    *tail = m->tail[k].items == items ? m->tail[k] : tail_match(m->matcher, group[first].block, group[k].block, items);
    return pays(m, tail);
}

/* What is saved when all candidates that can give up so many items do. */
static i64 gain_of_length(Merge *m, const TailCandidate *group, u32 n, u32 first, u32 items)
{
    i64 sum = 0;
    Tail tail;
    for (u32 k = first + 1; k < n; k++)
        if (may_give_up(m, group, first, k, items, &tail))
            sum += 2 * tail_gain(&tail) + siblings(m, group[first].block, group[k].block);
    return sum;
}

/* The number of items that saves most: each merged tail costs a jump, so that many short ones may be better than few long ones. Of equal
 * numbers the one that the arms of one branch share, since threads of a warp then execute the tail together. */
static u32 best_length(Merge *m, const TailCandidate *group, u32 n, u32 first)
{
    u32 best = 0;
    i64 most = INT64_MIN;
    for (u32 k = first + 1; k < n && !(best && is_exhausted(m)); k++) {
        u32 items = m->tail[k].items;
        bool seen = items == 0;
        for (u32 before = first + 1; before < k && !seen; before++)
            seen = m->tail[before].items == items;
        i64 sum = seen ? INT64_MIN : gain_of_length(m, group, n, first, items);
        if (sum > most) {
            most = sum;
            best = items;
        }
    }
    return best;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* How well the block suits to keep its tail: best if it is nothing but the tail, well if the tail is followed by no jump. */
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
        u32 rank = pays(m, &tail) ? rank_kept(set[k]->block, &tail) : 0;
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
    if (!pays(m, tail))
        return false;
    u32 n;
    const RegPair *renamed = matcher_renamed(m->matcher, &n);
    *duplicate = (DuplicateTail){other, tail->other, arena_array(m->an->scratch, RegPair, n), n};
    if (n)
        memcpy(duplicate->renamed, renamed, n * sizeof *renamed);
    return splice_copies_order(duplicate->renamed, n);
}

/* Whether the threads of any two blocks that give their tails up may reconverge, not only those of each with the one that keeps it. */
static bool may_join(Merge *m, const DuplicateTail *duplicate, u32 duplicates)
{
    const DuplicateTail *last = &duplicate[duplicates];
    for (u32 k = 0; k < duplicates; k++)
        if (!tails_may_join(m->matcher, duplicate[k].begin, last->begin))
            return false;
    return true;
}

/* Whether merging blocks that leave the function pays: where ptxas branches, one block costs a BSSY and a BSYNC. */
static bool returns_pay(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates, i64 saved)
{
    if (cfg_succs(m->fn, begin->block).n || saved >= 2 * m->least)
        return true;
    bool small = duplicates == 1 && head_length(begin, PTXAS_SHORT_HEAD) <= PTXAS_SHORT_HEAD;
    for (u32 k = 0; k < duplicates; k++)
        small &= head_length(duplicate[k].begin, PTXAS_SHORT_HEAD) <= PTXAS_SHORT_HEAD;
    return small;
}

/* Whether merging arms of a branch pays. ptxas executes short arms under predicates if all of them join at one block; two of three or
 * more that join before cost branches, a BSSY and a BSYNC, and moves where they bring several values. */
static bool arms_pay(const Merge *m, const Tail *tail, const DuplicateTail *duplicate, u32 duplicates, i64 saved)
{
    CfgList succs = cfg_succs(m->fn, tail->kept->block);
    bool part = succs.n == 1 && cfg_preds(m->fn, succs.v[0].block).n > duplicates + 1;
    u32 kept = head_length(tail->kept, PTXAS_SHORT_ARM), other = head_length(duplicate->begin, PTXAS_SHORT_ARM);
    bool are_short = kept && other && kept <= PTXAS_SHORT_ARM && other <= PTXAS_SHORT_ARM && saved <= m->least;
    bool bring_values = tail->width > 1 && !tail->copies && saved <= 2 * m->least;
    return !part || duplicates > 1 || (!are_short && !bring_values);
}

/* Whether these are equal blocks among many arms: then the branch out of each is saved, too. */
static bool are_many_arms(const Merge *m, const Instr *begin, const DuplicateTail *duplicate, u32 duplicates)
{
    CfgList succs = cfg_succs(m->fn, begin->block);
    bool whole = succs.n == 1 && cfg_preds(m->fn, succs.v[0].block).n >= PTXAS_MANY_ARMS && splice_begins_block(begin);
    for (u32 k = 0; k < duplicates; k++)
        whole &= splice_begins_block(duplicate[k].begin);
    return whole;
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
    if (!duplicates)
        return;
    if (!m->always && !returns_pay(m, tail.kept, duplicate, duplicates, saved)) {
        decline(m, "DeclinedReturn", tail.kept, "blocks that leave the function would have to reconverge for too little");
        return;
    }
    if (saved < m->together && !are_many_arms(m, tail.kept, duplicate, duplicates))
        return;
    if (!m->always && !arms_pay(m, &tail, duplicate, duplicates, saved)) {
        decline(m, "DeclinedArms", tail.kept, "ptxas would no longer execute these arms of branches under predicates");
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
             ((Splice){set[kept]->order, tail.kept, tail_block(an_loops(m->an), tail.kept), duplicate, duplicates}));
}

/* Merges each candidate in turn with all candidates after it that share its best tail. */
static void merge_group(Merge *m, TailCandidate *group, u32 n)
{
    for (u32 first = 0; first + 1 < n; first++) {
        if (group[first].done)
            continue;
        if (is_exhausted(m)) {
            decline(m, "DeclinedEffort", group[first].block->last,
                    "too many blocks end nearly alike to compare all of them");
            return;
        }
        matcher_set_end(m->matcher, group[first].block);
        compare_group(m, group, n, first);
        u32 items = best_length(m, group, n, first), members = 1;
        Tail tail;
        m->set[0] = &group[first];
        for (u32 k = first + 1; items && k < n; k++)
            if (may_give_up(m, group, first, k, items, &tail))
                m->set[members++] = &group[k];
        if (members > 1)
            merge_set(m, members, items);
    }
}

/* The end of the group that begins at `from`: candidates of one key, `threshold` at most. */
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

/* Carries all merges out in the order of the layout, so that the edges of blocks that follow one another stay close together. */
static void splice_all(Merge *m)
{
    if (m->splices.n)
        qsort(m->splices.v, m->splices.n, sizeof(Splice), compare_splices);
    for (u32 k = 0; k < m->splices.n; k++) {
        const Splice *s = &m->splices.v[k];
        splice_tails(m->fn, s->begin, s->tail, s->duplicates, s->n);
    }
}

static void sort_candidates(Merge *m)
{
    if (m->candidates.n)
        qsort(m->candidates.v, m->candidates.n, sizeof(TailCandidate), compare_candidates);
}

static void report_short_tail(Merge *m, Block *kept, Block *other)
{
    if (!ends_alike(m->fn, kept, other) || kept->scope != other->scope || are_far_apart(m, kept, other))
        return;
    matcher_set_end(m->matcher, kept);
    Tail tail = tail_match(m->matcher, kept, other, 0);
    if (tail.items && tail.weight >= SHORT_TAIL && tail.weight < m->least)
        phase_declined(m->run, NULL, "TailKept", tail.kept,
                       "this block ends like another one, but they share %u instructions, and "
                       "--tail-merge-size asks for %lld",
                       tail.weight, (long long)m->least);
}

/* Reports blocks that share too short a tail to be compared: each with the next one like it only. */
static void report_short_tails(const Merge *merge)
{
    Merge m = *merge;
    m.least = SHORT_TAIL;
    m.candidates.v = NULL;
    m.candidates.n = m.candidates.cap = 0;
    collect(&m);
    sort_candidates(&m);
    m.least = merge->least;
    m.matcher = matcher_new(m.an, m.gate);
    limit_effort(&m);
    for (u32 k = 0; k + 1 < m.candidates.n && !is_exhausted(&m); k++)
        if (m.candidates.v[k].key == m.candidates.v[k + 1].key)
            report_short_tail(&m, m.candidates.v[k].block, m.candidates.v[k + 1].block);
    matcher_free(m.matcher);
    vec_free(&m.candidates);
}

static void merge_alike(Merge *m)
{
    m->candidates.n = 0;
    collect(m);
    sort_candidates(m);
    u32 largest = largest_group(m);
    if (largest < 2)
        return;
    m->matcher = matcher_new(m->an, m->gate);
    limit_effort(m);
    m->set = arena_array(m->an->scratch, TailCandidate *, largest);
    m->tail = arena_array(m->an->scratch, Tail, largest);
    for (u32 from = 0, to; from < m->candidates.n; from = to) {
        to = group_end(m, from);
        if (to - from > 1)
            merge_group(m, &m->candidates.v[from], to - from);
    }
    matcher_free(m->matcher);
    splice_all(m);
}

/* Merges tails, and, when there are no more, short ones. */
static void merge_tails(Merge *m)
{
    if (m->run->sink->wants_remarks && m->least > SHORT_TAIL)
        report_short_tails(m);
    merge_alike(m);
    if (m->splices.n || m->least <= SHORT_TAIL || m->always)
        return;
    m->least = SHORT_TAIL;
    m->together = PTXAS_SHORT_TAILS;
    merge_alike(m);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

static TailGate chosen_gate(const Knobs *knobs)
{
    static const TailGate gate[] = {
        [RESERVED_STRICT] = GATE_STRICT, [RESERVED_VOLATILE] = GATE_VOLATILE, [RESERVED_OFF] = GATE_OFF};
    return gate[knobs->tail_merge_reserved];
}

static bool merge_and_hoist(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Merge m = {.run = run, .an = an, .fn = an->fn, .gate = chosen_gate(knobs), .always = knobs->enable_tail_merge > 0};
    m.least = knobs->tail_merge_size < 1 ? 1 : knobs->tail_merge_size;
    m.threshold = knobs->tail_merge_threshold > UINT16_MAX ? UINT16_MAX : (u32)knobs->tail_merge_threshold;
    an_freeze(an, AN_DOM | AN_LOOPS | AN_POSTDOM | AN_LIVE | AN_CONTROL | AN_UNIFORM);
    an_compute(an, AN_DOM | AN_LOOPS);
    if (knobs->enable_tail_merge && m.threshold > 1)
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
