#include "analysis/exits.h"

#include "analysis/reconverge.h"

#define WAITS (1ull << 63) /* in a set: the block leads to one where a thread may wait, or sees who is with it */

enum {
    EXITS = 63,  /* the other bits of a set */
    SWEEPS = 16, /* over the function, until the sets stay; a sweep takes each of them around one more loop */
    PASSED = 64, /* different sets of blocks that are passed by */
};

typedef struct Search {
    Analyses *an;
    const Order *order;
    bool *leaves; /* by position: the block does nothing but leave */
    u64 *sets;    /* by position: the exits that the block leads to, and WAITS */
    u32 exits;
    u64 passed[PASSED]; /* of the blocks that are passed by, each once, without WAITS */
    u32 passed_count;
} Search;

static u64 exits_of(const Search *s, u32 position) { return s->sets[position] & ~WAITS; }

/* Finds the blocks that do nothing but leave, from the last block to the first; an edge back counts as one that does not leave. */
static void find_leaves(Search *s)
{
    for (u32 p = s->order->count; p-- > 0;) {
        bool leaves = reconverge_does_nothing(s->order->rpo[p]);
        for_each_edge(e, &s->order->succ, p)
            leaves = leaves && s->leaves[s->order->succ.to[e]];
        s->leaves[p] = leaves;
    }
}

/* Whether the block is an exit that several paths may share. ptxas gives a path that does nothing but leave an exit of its own. */
static bool is_exit(const Search *s, u32 position)
{
    if (s->leaves[position])
        return false;
    for_each_edge(e, &s->order->succ, position)
        if (!s->leaves[s->order->succ.to[e]])
            return false;
    return true;
}

static void find_exits(Search *s)
{
    for (u32 p = 0; p < s->order->count && s->exits <= EXITS; p++)
        if (is_exit(s, p) && s->exits++ < EXITS)
            s->sets[p] = 1ull << (s->exits - 1);
}

static void find_waits(Search *s)
{
    const Waits *w = an_waits(s->an);
    for (u32 p = 0; p < s->order->count; p++) {
        u32 b = s->order->rpo[p]->id;
        if (w->waits[b] || w->loop[b] || w->active_set[b])
            s->sets[p] |= WAITS;
    }
}

/* Adds to each block's set those of its successors, once for each block; whether some set grew. */
static bool sweep(Search *s)
{
    bool grew = false;
    for (u32 p = s->order->count; p-- > 0;) {
        u64 set = s->sets[p];
        for_each_edge(e, &s->order->succ, p)
            set |= s->sets[s->order->succ.to[e]];
        grew |= set != s->sets[p];
        s->sets[p] = set;
    }
    return grew;
}

static bool is_passed_by(const Search *s, u32 position)
{
    u32 edges = 0;
    for_each_edge(e, &s->order->pred, position)
        edges += exits_of(s, s->order->pred.to[e]) != exits_of(s, position);
    return edges > 1 && !s->leaves[position];
}

static void add_passed(Search *s, u64 set)
{
    u32 k = 0;
    while (k < s->passed_count && k < PASSED && s->passed[k] != set)
        k++;
    if (k == s->passed_count)
        s->passed_count++;
    if (k < PASSED)
        s->passed[k] = set;
}

static void find_passed(Search *s)
{
    for (u32 p = 0; p < s->order->count && s->passed_count <= PASSED; p++)
        if (is_passed_by(s, p))
            add_passed(s, exits_of(s, p));
}

/* Whether the threads that the branch divides do not reconverge before they leave. Threads that do reconverge do so before any block
 * that others pass by, whichever exit is taken for the end. */
static bool divides_until_exit(const Search *s, const Block *b)
{
    const Block *point = dom_has(an_postdom(s->an), b) ? an_postdom(s->an)->idom[b->id] : NULL;
    return (!point || s->leaves[s->order->index[point->id]]) && !uniform_has(&an_uniform(s->an)->branch_warp, b->id);
}

/* Whether some branch leads to a block in front of an exit, past this block to another exit, and to a block where a thread waits. */
static bool some_branch_decides(const Search *s)
{
    for (u32 p = 0; p < s->order->count; p++) {
        bool past = false;
        for (u32 k = 0; s->sets[p] & WAITS && !past && k < s->passed_count; k++)
            past = exits_of(s, p) != s->passed[k] && (exits_of(s, p) & s->passed[k]) == s->passed[k];
        if (past && divides_until_exit(s, s->order->rpo[p]))
            return true;
    }
    return false;
}

bool exits_decide_reconvergence(Arena *arena, Analyses *an)
{
    const Order *order = an_order(an);
    Search s = {.an = an, .order = order};
    s.leaves = arena_array(arena, bool, order->count);
    s.sets = arena_array(arena, u64, order->count);
    find_leaves(&s);
    find_exits(&s);
    if (s.exits < 2 || (!an_waits(an)->any_wait && !an_waits(an)->any_active_set))
        return false;
    find_waits(&s);
    u32 sweeps = 1;
    while (sweep(&s) && sweeps <= SWEEPS)
        sweeps++;
    if (s.exits > EXITS || sweeps > SWEEPS)
        return true;
    find_passed(&s);
    return s.passed_count > PASSED || (s.passed_count && some_branch_decides(&s));
}
