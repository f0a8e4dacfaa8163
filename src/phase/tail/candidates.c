/* Candidates of tail-merge: blocks whose ends look alike, which of them may be merged, and by how many instructions. */
#include "phase/tail/candidates.h"

#include <stdlib.h>

#include "base/bound.h"
#include "ir/cfg.h"
#include "phase/tail/ends.h"
#include "target/ptxas.h"

/* Instructions at their ends that candidates must have in common before they are compared. */
#define HASHED_ITEMS 3
#define DOMINATORS_LOOKED_AT 64
/* Bounds the comparisons to this many for each instruction of the function, and a few more. Code of compilers takes up to
 * six. Very many similar blocks that cannot be merged would take their number times their length. */
#define COMPARED_PER_INSTR 16
#define COMPARED_AT_LEAST 4096

/* ---- which blocks --------------------------------------------------------------------------------------------- */

/* Continues the key by a hash of the last instructions before the end. It is equal for tails that are the same up to names
 * and exchanged operands; 0: the block is too short. */
static u64 tail_key(const Merge *m, const Block *b, u64 key)
{
    u32 wanted = m->least < HASHED_ITEMS ? (u32)m->least : HASHED_ITEMS, found = 0;
    const Instr *end = block_terminator(b);
    if (end && (end->guard || op_has(end->op, OPF_BRANCH)))
        found++;
    for (const Instr *i = b->last; i && found < wanted; i = i->prev) {
        if (i->kind != INSTR_OP || i == end)
            continue;
        key = (key ^ i->op->text->hash) * FNV_PRIME;
        found++;
    }
    return found < wanted ? 0 : key;
}

/* Whether each successor of b has another predecessor. */
static bool has_rivals(const Order *order, const Block *b)
{
    for_each_edge(e, &order->succ, order->index[b->id]) {
        u32 to = order->succ.to[e];
        if (order->pred.start[to + 1] - order->pred.start[to] < 2)
            return false;
    }
    return true;
}

static u32 place_of(const TailCandidate *c, u32 places)
{
    return (u32)(c->key >> 32 ^ c->key ^ c->priority) & (places - 1);
}

/* Drops most candidates that have their key alone. */
static void drop_lonely(Merge *m)
{
    u32 places = 64, kept = 0;
    while (places < 4 * m->candidates.n)
        places *= 2;
    u8 *seen = mem_zalloc(places); /* 2: several candidates have the place */
    for (u32 k = 0; k < m->candidates.n; k++)
        seen[place_of(&m->candidates.v[k], places)] = seen[place_of(&m->candidates.v[k], places)] ? 2 : 1;
    for (u32 k = 0; k < m->candidates.n; k++)
        if (seen[place_of(&m->candidates.v[k], places)] > 1)
            m->candidates.v[kept++] = m->candidates.v[k];
    m->candidates.n = kept;
    mem_free(seen);
}

void candidates_collect(Merge *m)
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
    drop_lonely(m);
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

void candidates_sort(Merge *m)
{
    if (m->candidates.n)
        qsort(m->candidates.v, m->candidates.n, sizeof(TailCandidate), compare_candidates);
}

/* ---- gates ----------------------------------------------------------------------------------------------------- */

TailTerms tail_terms(const Merge *m) { return (TailTerms){m->least, m->always, m->run->sink->wants_reasons}; }

bool tail_pays(const Merge *m, const Tail *tail)
{
    return tail->items && (m->always ? tail->weight : tail_gain(tail)) >= m->least;
}

static bool same_loop(const Merge *m, const Block *a, const Block *b)
{
    const Loops *loops = an_loops(m->an);
    return !loop_is_around_irreducible(loops, a) && !loop_is_around_irreducible(loops, b) &&
           loop_of(loops, a) == loop_of(loops, b);
}

/* Whether the path from d to b leaves a loop: d, or a block between them in the dominator tree, is in a loop. True also
 * where DOMINATORS_LOOKED_AT does not suffice. */
static bool leaves_loop(const Merge *m, const Block *d, const Block *b)
{
    const DomTree *dom = an_dom(m->an);
    const Loops *loops = an_loops(m->an);
    u32 steps = 0;
    while (b && b != d && !loop_of(loops, b) && WITHIN(DOMINATORS_LOOKED_AT, steps++ < DOMINATORS_LOOKED_AT))
        b = dom->idom[b->id];
    return b != d || loop_of(loops, b);
}

/* Whether the blocks leave the function from different exits of loops. Their threads never reconverge; in a merged block
 * they would, and ptxas makes the loops pay for that (BSSY before them, BREAK inside). */
static bool exits_of_loops(const Merge *m, Block *a, Block *b)
{
    if (m->always || !an_loops(m->an)->n || !ends_leave(m->fn, a))
        return false;
    const Block *d = dom_nearest_common(an_dom(m->an), a, b);
    return leaves_loop(m, d, a) || leaves_loop(m, d, b);
}

void tail_decline(Merge *m, const char *counter, const Instr *at, const char *why)
{
    if (m->together) /* the pass over longer tails has reported it */
        return;
    phase_declined(m->run, counter, "TailKept", at, "equal ends not merged: %s", why);
}

const char *tail_why_separate(const Merge *m, Block *a, Block *b)
{
    if (!same_loop(m, a, b))
        return "they are not in the same innermost loop";
    if (exits_of_loops(m, a, b))
        return "they leave loops by different exits";
    return NULL;
}

bool candidates_exhausted(const Merge *m) { return BEYOND(COMPARED_PER_INSTR, matcher_compared(m->matcher) > m->effort); }

void candidates_limit_effort(Merge *m)
{
    u64 instrs = 0;
    for_each_block(b, m->fn)
        for_each_instr(i, b)
            instrs++;
    m->effort = matcher_compared(m->matcher) + COMPARED_PER_INSTR * instrs + COMPARED_AT_LEAST;
}

void candidates_compare(Merge *m, const TailCandidate *group, u32 n, u32 first)
{
    const TailCandidate *kept = &group[first];
    const Instr *at = NULL;
    const char *counter = NULL, *why = NULL;
    bool any = false, is_set = false;
    for (u32 k = first + 1; k < n; k++) {
        const TailCandidate *c = &group[k];
        Tail *tail = &m->tail[k];
        *tail = (Tail){0};
        if (c->done || !ends_alike(m->fn, kept->block, c->block) || kept->block->scope != c->block->scope)
            continue;
        const char *far = tail_why_separate(m, kept->block, c->block);
        if (far) {
            counter = "DeclinedLoop";
            why = far;
            continue;
        }
        if (!is_set)
            matcher_set_end(m->matcher, kept->block, tail_terms(m));
        is_set = true;
        *tail = tail_match(m->matcher, kept->block, c->block, 0);
        if (tail_pays(m, tail)) {
            any = true;
        } else {
            counter = tail_stop_info[tail->stop].counter;
            why = tail_stop_info[tail->stop].text;
            at = tail->at;
            tail->items = 0;
        }
    }
    if (!any && counter)
        tail_decline(m, counter, at ? at : kept->block->last, why);
}

/* ---- how many instructions -------------------------------------------------------------------------------------- */

static bool siblings(const Merge *m, const Block *a, const Block *b)
{
    const DomTree *dom = an_dom(m->an);
    return dom->idom[a->id] && dom->idom[a->id] == dom->idom[b->id];
}

bool candidates_may_give_up(Merge *m, const TailCandidate *group, u32 first, u32 k, u32 items, Tail *tail)
{
    if (group[k].done || m->tail[k].items < items)
        return false;
    *tail = m->tail[k].items == items ? m->tail[k] : tail_match(m->matcher, group[first].block, group[k].block, items);
    return tail_pays(m, tail);
}

/* What is saved when all candidates that can give up this many items do. */
static i64 gain_of_length(Merge *m, const TailCandidate *group, u32 n, u32 first, u32 items)
{
    i64 sum = 0;
    Tail tail;
    for (u32 k = first + 1; k < n; k++)
        if (candidates_may_give_up(m, group, first, k, items, &tail))
            sum += 2 * tail_gain(&tail) + siblings(m, group[first].block, group[k].block);
    return sum;
}

/* What a block saves at most that gives up this many items of its end. */
static u32 most_saved(const Block *b, u32 items)
{
    const Instr *end = block_terminator(b);
    u32 cost = 1; /* of the end */
    for (const Instr *i = end ? end->prev : b->last; i && items; i = i->prev) {
        items -= i->kind != INSTR_LOC;
        cost += i->kind == INSTR_OP ? ptxas_cost(i) : 0;
    }
    return cost;
}

/* Whether the gain of this length can exceed `most`. */
static bool may_gain_more(const Merge *m, const TailCandidate *group, u32 n, u32 first, u32 items, i64 most)
{
    i64 each = 2 * (i64)most_saved(group[first].block, items) + 1, sum = 0;
    for (u32 k = first + 1; k < n; k++)
        sum += !group[k].done && m->tail[k].items >= items ? each : 0;
    return sum > most;
}

u32 candidates_best_length(Merge *m, const TailCandidate *group, u32 n, u32 first)
{
    u32 best = 0;
    i64 most = INT64_MIN;
    for (u32 k = first + 1; k < n && !(best && candidates_exhausted(m)); k++) {
        u32 items = m->tail[k].items;
        bool seen = items == 0;
        for (u32 before = first + 1; before < k && !seen; before++)
            seen = m->tail[before].items == items;
        if (seen || !may_gain_more(m, group, n, first, items, most))
            continue;
        i64 sum = gain_of_length(m, group, n, first, items);
        if (sum > most) {
            most = sum;
            best = items;
        }
    }
    return best;
}
