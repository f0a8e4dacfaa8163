#include "check/prove/exits.h"

#include <stdlib.h>

#include "base/fnvmap.h"

/* The blocks that only end the function, or lead to others that do. */
static BitSet only_leaving(const ProveGraph *g, Arena *arena)
{
    BitSet found = bitset_new(arena, g->n);
    for (u32 k = g->reachable; k-- > 0;) {
        const Block *b = g->by_order[k];
        const Instr *first = b->first;
        while (first && first->kind != INSTR_OP)
            first = first->next;
        bool leaves = !first || op_has(first->op, OPF_TERMINATOR);
        for (u32 edge = 0; edge < block_edge_count(b); edge++)
            leaves &= bitset_has(&found, block_edge_target(b, edge)->id);
        if (leaves)
            bitset_add(&found, b->id);
    }
    return found;
}

/* How many edges lead out of the function, a guarded exit's too, and how many stay. */
static void count_edges(const Block *b, const BitSet *leaving, u32 *out, u32 *stay)
{
    const Instr *end = block_terminator(b);
    *out = block_edge_count(b) == 0 || (end && op_has(end->op, OPF_NO_RETURN));
    *stay = 0;
    for (u32 edge = 0; edge < block_edge_count(b); edge++) {
        bool leaves = bitset_has(leaving, block_edge_target(b, edge)->id);
        *out += leaves;
        *stay += !leaves;
    }
}

/* Adds all blocks from which control comes to one that was found. */
static void add_predecessors(const ProveGraph *g, BitSet *found)
{
    VecU32 work = {0};
    for_each_bit(id, found)
        vec_push(&work, id);
    graph_spread(&g->pred, &work, found);
}

/* Lists exits that ptxas may take for the end. More blocks lead to an exit that follows another one than to that other one,
 * unless control comes back to it. */
bool prove_exits(const ProveGraph *g, VecU32 *exits, Arena *arena)
{
    BitSet leaving = only_leaving(g, arena), passed = bitset_new(arena, g->n);
    u32 out, stay, edges = 0;
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        count_edges(b, &leaving, &out, &stay);
        if (out && !stay && !bitset_has(&leaving, b->id))
            bitset_add(&passed, b->id);
    }
    BitSet last = bitset_new(arena, g->n);
    bitset_or(&last, &passed);
    add_predecessors(g, &passed);
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        count_edges(b, &leaving, &out, &stay);
        if (bitset_has(&leaving, b->id) || !out)
            continue;
        edges++;
        if (bitset_has(&last, b->id) || !bitset_has(&passed, b->id))
            vec_push(exits, b->id);
    }
    return edges > 1;
}

/* A branch from which control does not come to the end, or by no block that all its paths share, keeps its reconvergence point. */
ProveGraph prove_end_at(const ProveGraph *g, u32 exit, Arena *arena)
{
    ProveGraph ended = *g;
    ended.arena = arena;
    ended.postdom = arena_array(arena, u32, g->n);
    ended.influence = arena_array(arena, const BitSet *, g->n);
    prove_find_postdoms(&ended, exit);
    for (u32 id = 0; id < g->n; id++)
        if (ended.postdom[id] == PROVE_NO_BLOCK)
            ended.postdom[id] = g->postdom[id];
    return ended;
}

/* Whether several edges from the branch, or from blocks between it and `at`, lead to `at`. Where only one does no threads come together,
 * and ptxas lets none wait. */
static bool joins(const ProveGraph *g, const BitSet *between, u32 branch, u32 at)
{
    u32 edges = 0;
    for_each_edge(e, &g->pred, at) {
        u32 from = g->pred.to[e];
        edges += from == branch || bitset_has(between, from);
    }
    return edges > 1;
}

/* Whether threads execute something together after the blocks `between`, before the join of all of the branch's paths. */
static bool is_convergent_after(ProveGraph *g, const BitSet *between, u32 branch, const Waits *w)
{
    const BitSet *all = prove_influence(g, fn_block(g->fn, branch));
    for_each_bit(id, all)
        if (!bitset_has(between, id) && bitset_has(&w->blocks, id))
            return true;
    return false;
}

bool prove_joins_earlier(ProveGraph *g, ProveGraph *ended, const Waits *w, bool waits)
{
    for (u32 id = 0; id < g->n; id++) {
        u32 at = ended->postdom[id];
        if (!bitset_has(&g->splits, id) || at == g->postdom[id] || prove_preds(g, at) < 2)
            continue;
        const BitSet *between = prove_influence(ended, fn_block(g->fn, id));
        if (joins(g, between, id, at) && ((waits && prove_waits_in(w, between)) || is_convergent_after(g, between, id, w)))
            return true;
    }
    return false;
}

/* ---- exits that correspond ---------------------------------------------------------------------------------------------------- */

/* Classes of events: those that matched, directly or through others, are in one. */
typedef struct Events {
    FnvMap index; /* by instruction, plus 1 */
    VecU32 same;  /* by index another one that is the same; the last one's is itself */
} Events;

static u32 last_same(const Events *e, u32 k)
{
    while (e->same.v[k] != k)
        k = e->same.v[k];
    return k;
}

static u32 index_of(Events *e, const Instr *i)
{
    u64 *at = fnvmap_at(&e->index, (u64)(uintptr_t)i);
    if (!*at) {
        u32 own = e->same.n;
        vec_push(&e->same, own);
        *at = own + 1;
    }
    return last_same(e, (u32)*at - 1);
}

static Events events_that_match(const ProveMatched *matched, u32 n)
{
    Events e = {0};
    for (u32 k = 0; k < n; k++)
        if (matched[k].before) {
            u32 x = index_of(&e, matched[k].before), y = index_of(&e, matched[k].after);
            e.same.v[x] = y;
        }
    return e;
}

/* The last event in the block; NULL: there is none. */
static const Instr *last_event(const Block *b, const Events *e)
{
    const Instr *i = b->last;
    while (i && !fnvmap_find(&e->index, (u64)(uintptr_t)i))
        i = i->prev;
    return i;
}

/* The blocks from which control comes to the exit; with `events`, without one of them on the way. */
static VecU32 blocks_to(const ProveGraph *g, u32 exit, const Events *events)
{
    VecU32 found = {0};
    BitSet seen = {.word = mem_zalloc(bitset_words(g->n) * sizeof(u64)), .bits = g->n};
    vec_push(&found, exit);
    bitset_add(&seen, exit);
    for (u32 at = 0; at < found.n; at++) {
        u32 id = found.v[at];
        if (events && last_event(fn_block(g->fn, id), events))
            continue;
        for_each_edge(e, &g->pred, id)
            if (bitset_add(&seen, g->pred.to[e]))
                vec_push(&found, g->pred.to[e]);
    }
    mem_free(seen.word);
    return found;
}

/* A number for the set of events after which a thread may come to the exit without another one. */
static u64 signature(const ProveGraph *g, u32 exit, Events *e)
{
    VecU32 blocks = blocks_to(g, exit, e);
    FnvMap counted = {0};
    u64 sum = 0;
    for (u32 k = 0; k < blocks.n; k++) {
        const Instr *i = last_event(fn_block(g->fn, blocks.v[k]), e);
        u64 *at = i ? fnvmap_at(&counted, index_of(e, i) + 1) : NULL;
        if (at && !*at)
            sum += (index_of(e, i) + 1) * 0x9e3779b97f4a7c15u >> 7;
        if (at)
            *at = 1;
    }
    fnvmap_free(&counted);
    vec_free(&blocks);
    return sum;
}

/* The block that falls through to b if no label parts them; to ptxas the two are one block. NULL: there is none. */
static const Block *begins_in(const ProveGraph *g, const Block *b)
{
    const Block *pred = !b->labels && prove_preds(g, b->id) == 1 ? fn_block(g->fn, g->pred.to[g->pred.start[b->id]]) : NULL;
    return pred && !block_terminator(pred) ? pred : NULL;
}

static bool does_something(const Block *b)
{
    return block_edge_count(b) != 1 || (b->first && b->first != block_terminator(b));
}

/* How many blocks lead to the exit that do something, or divide threads. */
static u32 size_of(const ProveGraph *g, u32 exit)
{
    VecU32 blocks = blocks_to(g, exit, NULL);
    u32 count = 0;
    for (u32 k = 0; k < blocks.n; k++) {
        const Block *b = fn_block(g->fn, blocks.v[k]), *from = begins_in(g, b);
        if (!does_something(b))
            continue;
        while (from && !does_something(from))
            from = begins_in(g, from);
        count += !from;
    }
    vec_free(&blocks);
    return count;
}

/* Moves to place k the exit of BEFORE that the same events lead to; false: there is none. */
static bool find_exit(const ProveGraph *before, VecU32 *exits, u32 k, u64 wanted, Events *e)
{
    u32 i = k;
    while (i < exits->n && signature(before, exits->v[i], e) != wanted)
        i++;
    if (i >= exits->n)
        return false;
    u32 other = exits->v[k];
    exits->v[k] = exits->v[i];
    exits->v[i] = other;
    return true;
}

/* The exit of AFTER that the same events lead to as to this one; n: there is none. */
static u32 find_merged(const ProveGraph *before, u32 exit, const u64 *wanted, u32 n, Events *e)
{
    u64 own = signature(before, exit, e);
    u32 k = 0;
    while (k < n && wanted[k] != own)
        k++;
    return k;
}

bool prove_pair_exits(const ProveGraph graph[2], VecU32 both[2], const ProveMatched *matched, u32 n, ProveExitPairs *pairs)
{
    const ProveGraph *before = &graph[PROVE_BEFORE], *after = &graph[PROVE_AFTER];
    VecU32 *exits = &both[PROVE_BEFORE];
    const VecU32 *others = &both[PROVE_AFTER];
    Events e = events_that_match(matched, n);
    u64 wanted[EXITS_MAX];
    bool paired = others->n && others->n <= exits->n && exits->n <= EXITS_MAX;
    pairs->n = exits->n;
    for (u32 k = 0; k < others->n && paired; k++) {
        wanted[k] = signature(after, others->v[k], &e);
        paired = find_exit(before, exits, k, wanted[k], &e) || (others->n == 1 && exits->n == 1);
    }
    for (u32 k = 0; k < exits->n && paired; k++) {
        pairs->now[k] = k < others->n ? k : find_merged(before, exits->v[k], wanted, others->n, &e);
        paired = pairs->now[k] < others->n;
        pairs->size[PROVE_BEFORE][k] = size_of(before, exits->v[k]);
        pairs->size[PROVE_AFTER][k] = paired ? size_of(after, others->v[pairs->now[k]]) : 0;
    }
    vec_free(&e.same);
    fnvmap_free(&e.index);
    return paired;
}

bool prove_end_is_as_likely(const ProveExitPairs *pairs, u32 exit, bool no_less)
{
    const u32 *x = pairs->size[PROVE_BEFORE], *y = pairs->size[PROVE_AFTER];
    for (u32 i = 0; i < pairs->n; i++) {
        if (i == exit)
            continue;
        bool more = (y[exit] > y[i] && x[exit] <= x[i]) || (y[exit] == y[i] && x[exit] < x[i]);
        bool less = (y[exit] < y[i] && x[exit] >= x[i]) || (y[exit] == y[i] && x[exit] > x[i]);
        if (pairs->now[i] == pairs->now[exit] || more || (no_less && less))
            return false;
    }
    return true;
}
