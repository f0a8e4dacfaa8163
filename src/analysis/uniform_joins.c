/* Finds where the paths from a divergent branch join, and what differs there. */
#include "analysis/uniform_solver.h"

#include <stdlib.h>

#include "base/bound.h"

/* Steps of all propagations in one function, per block, edge and reading instruction: beyond that, see give_up(). */
enum {
    PROPAGATION_LIMIT = 32,
    AROUND = 64 /* dominators of a branch that are looked at, and loops that one edge leaves */
};

/* ---- propagation ----------------------------------------------------------------------------------------------- */

static void add_join(Solver *s, u32 p)
{
    if (s->walk.reach[p].join == s->walk.propagation)
        return;
    s->walk.reach[p].join = s->walk.propagation;
    vec_push(&s->walk.joins, p);
}

static void make_pending(Solver *s, u32 p)
{
    bitset_add(&s->walk.pending, p);
    if (p < s->walk.cursor)
        s->walk.cursor = p;
}

/* Brings a path to p. Its label is the last join on the path, or its first block: paths of two labels join at p. */
static inline void arrive(Solver *s, u32 p, u32 label)
{
    Reach *r = &s->walk.reach[p];
    if (r->propagation != s->walk.propagation) {
        r->propagation = s->walk.propagation;
        r->label = label;
        s->walk.region[s->walk.region_size++] = p;
        make_pending(s, p);
    } else if (r->label != label && r->join != s->walk.propagation) {
        add_join(s, p);
        if (r->label != p) {
            r->label = p;
            make_pending(s, p);
        }
    }
}

static bool is_reached(const Solver *s, const Block *b)
{
    return s->walk.reach[s->order->index[b->id]].propagation == s->walk.propagation;
}

/* The block where all paths from a branch have joined: its immediate post-dominator. Some of them may have got there
 * through the header of a loop around both. Threads are then there in different iterations, and join only after the
 * loop. */
static const Block *find_stop(const Solver *s, const Block *branch)
{
    const Block *stop = s->postdom->idom[branch->id];
    for (const Loop *loop = loop_of(s->loops, branch); loop; loop = loop->parent)
        if (is_reached(s, loop->header))
            while (stop && stop != loop->header && loop_contains(s->loops, loop, stop))
                stop = s->postdom->idom[stop->id];
    return stop;
}

/* The limit, of which the part of the instructions is added when the rest does not suffice: few functions come to that. */
static void limit_steps(Solver *s)
{
    u64 readers = 0;
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p]) {
            RegWalk w = reg_walk(i);
            readers += next_read(&w);
        }
    s->step_limit += PROPAGATION_LIMIT * readers;
    s->limit_known = true;
}

static inline bool out_of_steps(Solver *s)
{
    if (s->steps > s->step_limit && !s->limit_known)
        limit_steps(s);
    return s->steps > s->step_limit;
}

/* Brings the path of this label from p to its successors; each edge counts as a step. */
static inline void leave(Solver *s, u32 p, u32 label)
{
    const Graph *succ = &s->order->succ;
    const u32 *to = succ->to + succ->start[p], *end = succ->to + succ->start[p + 1];
    s->steps += (u64)(end - to);
    for (; to < end; to++)
        arrive(s, *to, label == GRAPH_NONE ? *to : label);
}

static void spread_pending(Solver *s, u32 b)
{
    u32 stop = s->walk.stop ? s->order->index[s->walk.stop->id] : s->order->count;
    while (!out_of_steps(s)) {
        u32 p = bitset_next(&s->walk.pending, s->walk.cursor);
        if (p >= s->order->count)
            return;
        s->walk.cursor = p;
        bitset_del(&s->walk.pending, p);
        if (p != b && p != stop)
            leave(s, p, s->walk.reach[p].label);
    }
}

/* Follows the paths from the branch at b to the block where all of them have joined. If the branch is in a loop, follows
 * them back to b itself, too. */
static void propagate_from(Solver *s, u32 b)
{
    const Block *branch = s->order->rpo[b];
    s->walk.propagation++;
    s->walk.region_size = 0;
    vec_clear(&s->walk.joins);
    s->walk.cursor = s->order->count;
    s->walk.stop = s->postdom->idom[branch->id];
    leave(s, b, GRAPH_NONE);
    for (const Block *stop = s->walk.stop;; stop = s->walk.stop) {
        spread_pending(s, b);
        s->walk.stop = find_stop(s, branch);
        if (s->walk.stop == stop || out_of_steps(s))
            return;
        if (is_reached(s, stop))
            make_pending(s, s->order->index[stop->id]); /* the paths go on */
    }
}

/* Some threads stay in the loop while others leave it: where they leave it, their iterations differ. */
static void join_after(Solver *s, const Loop *loop)
{
    const Graph *succ = &s->order->succ;
    s->steps += s->walk.region_size;
    for (u32 k = 0; k < s->walk.region_size; k++) {
        u32 p = s->walk.region[k];
        if (!bitset_has(&s->leaving, p) || !loop_contains(s->loops, loop, s->order->rpo[p]))
            continue;
        for_each_edge(e, succ, p)
            if (!loop_contains(s->loops, loop, s->order->rpo[succ->to[e]]))
                add_join(s, succ->to[e]);
    }
}

/* Lists what the block writes that is live somewhere and uniform so far. */
static void list_written(Solver *s, u32 p)
{
    u32 first = s->walk.writes.n, instrs = 0;
    for_each_instr(i, s->order->rpo[p]) {
        instrs++;
        for (RegWalk w = reg_walk(i); next_write(&w);) {
            u32 number = s->live->number[w.reg];
            if (number && bitset_has(&s->listed, number - 1))
                vec_push(&s->walk.writes, number - 1);
        }
    }
    s->walk.written[p] = (Written){first, s->walk.writes.n, instrs + 1};
}

static void mark_written(Solver *s, u32 p)
{
    if (!s->walk.written[p].instrs)
        list_written(s, p);
    for (u32 k = s->walk.written[p].first; k < s->walk.written[p].end; k++)
        s->walk.written_mark[s->walk.writes.v[k]] = s->walk.propagation;
    s->steps += s->walk.written[p].instrs - 1;
}

/* Whether something is live at p that is uniform so far. Nothing becomes uniform again: what was passed over once stays so. */
static bool is_open(Solver *s, u32 p)
{
    const Live *l = s->live;
    u32 *open = &s->places.open[p], end = l->start[s->order->rpo[p]->id + 1];
    for (; *open < end; ++*open, s->steps++)
        if (l->set[*open] & s->listed.word[l->group[*open]])
            return true;
    return false;
}

static bool any_open(Solver *s, u32 *list)
{
    while (*list && !is_open(s, s->places.listed.v[*list - 1].position))
        *list = s->places.listed.v[*list - 1].next;
    return *list;
}

/* Whether paths from the branch at b may join where that matters. That is after a loop around it, or at a block whose
 * immediate dominator dominates the branch. From any other dominator of a join the paths to it go on as one. */
static bool may_join(Solver *s, u32 b)
{
    const Block *d = s->order->rpo[b];
    bool found = loop_of(s->loops, d) && any_open(s, &s->places.exits[0]);
    for (const Loop *loop = loop_of(s->loops, d); loop && !found && !out_of_steps(s); loop = loop->parent, s->steps++)
        found = any_open(s, &s->places.exits[s->loops->of[loop->header->id]]);
    for (u32 left = AROUND; d && left > 0 && !found; left--, s->steps++) {
        found = any_open(s, &s->places.joins_below[s->order->index[d->id]]);
        d = s->dom->idom[d->id];
    }
    return found || BEYOND(AROUND, d != NULL);
}

/* Whether something that is uniform so far is live where the paths join. */
static bool joins_matter(Solver *s)
{
    for (u32 k = 0; k < s->walk.joins.n && !out_of_steps(s); k++)
        if (is_open(s, s->walk.joins.v[k]))
            return true;
    return false;
}

/* Makes divergent what is written on a path, of a set of registers (Live.set). */
static void diverge_written(Solver *s, u32 group, u64 set)
{
    for (set &= s->listed.word[group]; set; set &= set - 1, s->steps++) {
        u32 number = 64 * group + (u32)__builtin_ctzll(set);
        if (s->walk.written_mark[number] == s->walk.propagation)
            uniform_make_divergent(s, s->live->listed[number]);
    }
}

/* Makes divergent what is written on a path and live where the paths join. */
static void spread_from_branch(Solver *s, u32 b)
{
    const Block *branch = s->order->rpo[b];
    const Live *l = s->live;
    if (s->gave_up || s->order->succ.start[b + 1] - s->order->succ.start[b] < 2)
        return; /* threads that return do not join the others again */
    if (!may_join(s, b))
        return;
    propagate_from(s, b);
    for (const Loop *loop = loop_of(s->loops, branch); loop && !out_of_steps(s); loop = loop->parent)
        if (is_reached(s, loop->header))
            join_after(s, loop);
    if (!joins_matter(s))
        return;
    for (u32 k = 0; k < s->walk.region_size && !out_of_steps(s); k++)
        if (s->order->rpo[s->walk.region[k]] != s->walk.stop)
            mark_written(s, s->walk.region[k]);
    for (u32 k = 0; k < s->walk.joins.n && !out_of_steps(s); k++) {
        u32 end = l->start[s->order->rpo[s->walk.joins.v[k]]->id + 1];
        for (u32 at = s->places.open[s->walk.joins.v[k]]; at < end; at++)
            diverge_written(s, l->group[at], l->set[at]);
    }
}

/* Answers when propagation took too many steps. Every register that lives beyond a block is then divergent, as if values of
 * it joined there. */
static void give_up(Solver *s)
{
    const Live *l = s->live;
    s->gave_up = true;
    bitset_clear(&s->walk.pending);
    for (u32 k = 0; k < l->explored; k++)
        uniform_make_divergent(s, l->listed[k]);
}

void uniform_diverge_branch(Solver *s, const Block *b)
{
    spread_from_branch(s, s->order->index[b->id]);
    if (BEYOND(PROPAGATION_LIMIT, out_of_steps(s)) && !s->gave_up)
        give_up(s);
}

/* ---- the state -------------------------------------------------------------------------------------------------- */

static void put(Solver *s, u32 *list, u32 p)
{
    vec_push(&s->places.listed, ((Listed){p, *list}));
    *list = s->places.listed.n;
}

static void find_joins(Solver *s)
{
    const Graph *pred = &s->order->pred;
    s->places.open = arena_alloc_raw(s->scratch, sizeof *s->places.open * s->order->count);
    s->places.joins_below = arena_array(s->scratch, u32, s->order->count);
    for (u32 p = 0; p < s->order->count; p++) {
        const Block *b = s->order->rpo[p], *d = s->dom->idom[b->id];
        s->places.open[p] = s->live->start[b->id];
        if (pred->start[p + 1] - pred->start[p] > (d != NULL))
            put(s, &s->places.joins_below[d ? s->order->index[d->id] : p], p);
    }
}

/* Notes that an edge leads from a block of the loop to p, outside of it. */
static void list_exit(Solver *s, const Loop *loop, u32 p)
{
    u32 left = AROUND;
    while (loop->parent && left > 0 && !loop_contains(s->loops, loop->parent, s->order->rpo[p])) {
        loop = loop->parent;
        left--;
    }
    put(s, &s->places.exits[WITHIN(AROUND, left) ? s->loops->of[loop->header->id] : 0], p);
}

static void find_leaving(Solver *s)
{
    const Graph *succ = &s->order->succ;
    s->leaving = bitset_new(s->scratch, s->order->count);
    s->places.exits = arena_array(s->scratch, u32, s->loops->n + 1);
    for (u32 p = 0; p < s->order->count; p++) {
        const Loop *loop = loop_of(s->loops, s->order->rpo[p]);
        for_each_edge(e, succ, p)
            if (loop && !loop_contains(s->loops, loop, s->order->rpo[succ->to[e]])) {
                bitset_add(&s->leaving, p);
                list_exit(s, loop, succ->to[e]);
            }
    }
}

void uniform_find_joins(Solver *s)
{
    u32 blocks = s->order->count;
    find_joins(s);
    find_leaving(s);
    s->walk.reach = arena_array(s->scratch, Reach, blocks);
    s->walk.region = arena_alloc_raw(s->scratch, sizeof *s->walk.region * blocks);
    s->walk.written_mark = arena_array(s->scratch, u32, s->live->listed_count);
    s->walk.written = arena_array(s->scratch, Written, blocks);
    s->walk.pending = bitset_new(s->scratch, blocks);
    s->step_limit = PROPAGATION_LIMIT * ((u64)blocks + s->order->succ.start[blocks]);
}
