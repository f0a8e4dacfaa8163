/* ptxas takes one of a function's exits for its end. It looks for immediate post-dominators as if no thread left by the
 * others. Phases know the post-dominators of all exits, and keep who waits for whom as those say. They do not know the
 * reconvergence points that a branch has only if one certain exit is the end. Threads that the branch divides wait there
 * for those that leave elsewhere.
 *
 * So these points are looked for, for each exit in turn, before the phases and after them. If the branch is uniform, or
 * only one edge leads from it to the point, ptxas lets nobody wait there. A pair of branch and point counts if threads that
 * the branch divides may wait for others on the way to the point. It also counts if what follows the point depends on who
 * comes together there. That is so if somebody waits there for what others do, sees who is with it, or promises to be
 * uniform. This also holds if an instruction on the way sees who is with it. A wait that all threads have passed when they
 * come to the branch, or that none of them comes to, holds nobody up. Those on the way come to the point, or leave, by
 * themselves.
 *
 * As long as no pair counts it does not matter which exit is the end. If some do, the phases may change nothing in them:
 * the same branches, points and waits are left. ptxas may have no more reason than before to choose an exit that has such a
 * pair. Then it either did so before, and the same threads wait for the same ones; or it did not, and still does not. If it
 * no longer does, fewer threads wait. If it matters who comes together, ptxas may have no less reason, either.
 *
 * Measurements say what ptxas goes by (13.0 for sm_80; some also with 12.9 and 13.5 for sm_75 and sm_90). It counts the
 * blocks that lead to an exit, in loops several times, as they are after its own optimizations. Instructions matter where a
 * block is so short that it is predicated, and a jump may be a block. The exit's own instructions do not count: 200 more in
 * one case of a switch change nothing. That is not the whole rule. In a small function six diamonds before one of two exits
 * do not move the end. So no choice is predicted. The blocks, jumps and instructions that lead to one of two exits alone
 * are compared. None of the three may grow for an exit with pairs, or shrink for another one. tests/ptxas/SWITCHES.md shows
 * an example. */
#include "analysis/exits.h"

#include "base/bound.h"
#include "analysis/reconverge.h"
#include "base/fnvmap.h"
#include "base/marks.h"
#include "ir/inspect.h"

/* Bits of a set. WAITS: the block leads to one where a thread may wait; TOGETHER: to one that depends on who comes there
 * together. */
#define WAITS (1ull << 63)
#define TOGETHER (1ull << 62)

enum {
    EXITS = 62,  /* the most exits that are told apart: the other bits of a set */
    SWEEPS = 16, /* the most sweeps over the function until the sets stay; each takes them around one more loop */
    BLOCKS_LEAST = 1 << 16, /* the most blocks of all walks: so many, */
    BLOCKS_EACH = 64,       /* and these for each block of the function */
    LOOP_TIMES = 8,         /* what a block in a loop counts for, */
    LOOP_TIMES_MOST = 512   /* and at most in several */
};

/* Threads that the branch divides meet at the point if the exit is the end. */
typedef struct ExitPair {
    u32 exit;          /* index */
    u32 branch, point; /* Instr.origin: the branch, and the mark of the block */
    u64 waits;         /* sum over what waits on the way */
    bool together;     /* what follows depends on who comes together */
} ExitPair;

/* The size of the code that leads to one exit and not to another one. */
typedef struct ExitWeight {
    u64 blocks, code, all; /* all: blocks and jumps of any kind */
} ExitWeight;

struct ExitsSnapshot {
    VEC(ExitPair) pairs; /* that count */
    u32 origins;         /* Function.origins then */
    bool unknown;        /* too much to tell */
    /* where there are pairs: */
    u32 exits, *mark;  /* by exit: origin of its last instruction that does something */
    ExitWeight *apart; /* by exit * exits + another one: what leads to the first one alone */
};

/* Which exits blocks lead to. */
typedef struct ExitPaths {
    Analyses *an;
    const Order *order;
    bool *leaves;    /* by position: the block does nothing but leave */
    u64 *sets;       /* by position: the exits that the block leads to, WAITS, TOGETHER */
    u32 exit[EXITS]; /* positions */
    u32 exits;       /* 0: there is but one, or nobody waits for others or sees who is there */
    bool too_many;   /* exits, or loops, to tell */
} ExitPaths;

static bool matter(Analyses *an)
{
    return an_waits(an)->any_wait || an_waits(an)->any_active_set || an_waits(an)->any_promise;
}

/* Finds the blocks that do nothing but leave, from the last block to the first; an edge back counts as one that does not leave. */
static void find_leaves(ExitPaths *s)
{
    for (u32 p = s->order->count; p-- > 0;) {
        bool leaves = reconverge_does_nothing(s->order->rpo[p]);
        for_each_edge(e, &s->order->succ, p)
            leaves = leaves && s->leaves[s->order->succ.to[e]];
        s->leaves[p] = leaves;
    }
}

/* Whether the block is an exit that several paths may share. ptxas gives a path that does nothing but leave an exit of its own. */
static bool is_exit(const ExitPaths *s, u32 position)
{
    if (s->leaves[position])
        return false;
    for_each_edge(e, &s->order->succ, position)
        if (!s->leaves[s->order->succ.to[e]])
            return false;
    return true;
}

static void find_exits(ExitPaths *s)
{
    for (u32 p = 0; p < s->order->count && !s->too_many; p++) {
        if (!is_exit(s, p))
            continue;
        s->too_many = BEYOND(EXITS, s->exits == EXITS);
        if (s->too_many)
            break;
        s->sets[p] = 1ull << s->exits;
        s->exit[s->exits++] = p;
    }
}

static void find_waits(ExitPaths *s)
{
    const Waits *w = an_waits(s->an);
    for (u32 p = 0; p < s->order->count; p++) {
        u32 b = s->order->rpo[p]->id;
        s->sets[p] |= w->waits[b] || w->loop[b] ? WAITS : 0;
        s->sets[p] |= w->loop[b] || w->active_set[b] || w->waits[b] & WAIT_OTHERS ? TOGETHER : 0;
    }
}

/* Adds to each block's set those of its successors, once for each block; whether some set grew. */
static bool sweep(ExitPaths *s)
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

static ExitPaths find_paths(Arena *arena, Analyses *an)
{
    ExitPaths s = {.an = an, .order = an_order(an)};
    s.leaves = arena_array(arena, bool, s.order->count);
    s.sets = arena_array(arena, u64, s.order->count);
    find_leaves(&s);
    find_exits(&s);
    s.exits = s.exits < 2 || !matter(an) ? 0 : s.exits;
    s.too_many = s.too_many && s.exits;
    if (s.exits == 0 || s.too_many)
        return s;
    find_waits(&s);
    u32 sweeps = 1;
    while (sweep(&s) && sweeps <= SWEEPS)
        sweeps++;
    s.too_many = BEYOND(SWEEPS, sweeps > SWEEPS);
    return s;
}

/* ---- joins ---------------------------------------------------------------------------------------------------------------------- */

typedef struct JoinFinder {
    const ExitPaths *s;
    ExitsSnapshot *to;
    Marks seen; /* by position */
    VecU32 work;
    u32 *idom, *order; /* if one exit is the end, by position */
    u64 budget;
} JoinFinder;

static bool waits_in(const JoinFinder *f, u32 position)
{
    const Waits *w = an_waits(f->s->an);
    u32 id = f->s->order->rpo[position]->id;
    return w->waits[id] || w->loop[id];
}

/* Whether an instruction of the block sees its lanes. No point on the way has brought together the threads that a callee
 * sees there. Such a point would be in a pair of its own. */
static bool sees_lanes(const JoinFinder *f, u32 position)
{
    const Block *b = f->s->order->rpo[position];
    if (!an_waits(f->s->an)->active_set[b->id])
        return false;
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && !instr_is(i, OPF_CALL) && instr_effects(i, f->s->an->summaries).active_set)
            return true;
    return false;
}

/* A number for what waits in the block: the sum is one for a set of blocks. */
static u64 waits_number(const JoinFinder *f, u32 position)
{
    Block *b = f->s->order->rpo[position];
    const Instr *first = an_waits(f->s->an)->loop[b->id] ? block_first_op(b) : NULL;
    u64 sum = 0;
    for_each_instr(i, b)
        if (i == first || (i->kind == INSTR_OP && !op_is_pure(i->op) && instr_effects(i, f->s->an->summaries).waits))
            sum += fnv_bytes(FNV_BASIS, (const char *)&i->origin, sizeof i->origin) | 1;
    return sum;
}

/* Follows the edges from a block, and answers how many lead to the point. One that leads back to the branch makes what waits in its
 * block count, too: the first time its threads have passed that together. */
static u32 follow_edges(JoinFinder *f, u32 from, u32 point)
{
    const Graph *succ = &f->s->order->succ;
    u32 edges = 0;
    for_each_edge(e, succ, from) {
        u32 to = succ->to[e];
        edges += to == point;
        if (to != point && marks_add(&f->seen, to))
            vec_push(&f->work, to);
    }
    return edges;
}

/* Whether the pair of branch and point counts. Several edges must lead from between the two to the point. Besides, a
 * thread that the branch divides may wait for others on the way, or it matters, there or after the point, who came
 * together. */
static bool counts(JoinFinder *f, u32 branch, u32 point, ExitPair *pair)
{
    marks_clear(&f->seen);
    vec_clear(&f->work);
    bool waits = false;
    u32 edges = follow_edges(f, branch, point);
    for (u32 k = 0; k < f->work.n; k++, f->budget--) {
        if (BEYOND(BLOCKS_EACH, f->budget == 0)) {
            f->to->unknown = true;
            return false;
        }
        waits |= waits_in(f, f->work.v[k]);
        pair->together |= sees_lanes(f, f->work.v[k]);
        pair->waits += waits_number(f, f->work.v[k]);
        edges += f->work.v[k] == branch ? 0 : follow_edges(f, f->work.v[k], point);
    }
    pair->together |= (f->s->sets[point] & TOGETHER) != 0;
    return edges > 1 && (waits || pair->together);
}

static u32 point_if_all(const ExitPaths *s, u32 position)
{
    const Block *point = dom_parent(an_postdom(s->an), s->order->rpo[position]);
    return point ? s->order->index[point->id] : GRAPH_NONE;
}

static bool divides(const ExitPaths *s, u32 position)
{
    return !uniform_has(&an_uniform(s->an)->branch_warp, s->order->rpo[position]->id);
}

/* Origin of the last instruction of the block that does something, by which it is found again; 0: none does. */
static u32 mark_of(const Block *b)
{
    const Instr *i = b->last;
    while (i && (i->kind != INSTR_OP || op_is_pure(i->op) || instr_is(i, OPF_TERMINATOR)))
        i = i->prev;
    return i ? i->origin : 0;
}

static void find_joins_of(JoinFinder *f, u32 exit)
{
    const ExitPaths *s = f->s;
    const Order *order = s->order;
    graph_dominators(&order->pred, &order->succ, s->exit[exit], f->idom, f->order);
    for (u32 p = 0; p < order->count && !f->to->unknown; p++) {
        u32 point = f->idom[p];
        bool asks = s->sets[p] & (WAITS | TOGETHER) && s->sets[p] >> exit & 1 && block_branches(s->an->fn, order->rpo[p]);
        if (!asks || point == GRAPH_NONE || point == point_if_all(s, p) ||
            order->pred.start[point + 1] - order->pred.start[point] < 2 || !divides(s, p))
            continue;
        ExitPair pair = {exit, block_terminator(order->rpo[p])->origin, mark_of(order->rpo[point]), 0, false};
        if (counts(f, p, point, &pair))
            vec_push(&f->to->pairs, pair);
    }
}

static void find_joins(Arena *arena, const ExitPaths *s, ExitsSnapshot *to)
{
    u32 count = s->order->count;
    JoinFinder f = {.s = s, .to = to, .budget = BLOCKS_LEAST + (u64)BLOCKS_EACH * count};
    f.seen = marks_new(arena, count);
    f.idom = arena_array(arena, u32, count);
    f.order = arena_array(arena, u32, count);
    for (u32 k = 0; k < s->exits && !to->unknown; k++)
        find_joins_of(&f, k);
    vec_free(&f.work);
}

/* ---- what leads to an exit ------------------------------------------------------------------------------------------------------ */

/* Adds what a block or a jump that leads to the exits of the set counts for. In a loop it counts several times. */
static void add_weight(ExitsSnapshot *to, u64 set, u32 blocks, u32 code, u32 times)
{
    for (u32 k = 0; k < to->exits * to->exits; k++) {
        if (!(set >> k / to->exits & 1) || set >> k % to->exits & 1)
            continue;
        to->apart[k].blocks += (u64)blocks * times;
        to->apart[k].code += (u64)code * times;
        to->apart[k].all += times;
    }
}

static void weigh_block(const ExitPaths *s, ExitsSnapshot *to, u32 position)
{
    const Block *b = s->order->rpo[position];
    u32 times = 1, code = 0;
    for (const Loop *l = loop_of(an_loops(s->an), b); l && WITHIN(LOOP_TIMES_MOST, times < LOOP_TIMES_MOST); l = l->parent)
        times *= LOOP_TIMES;
    for_each_instr(i, b)
        code += i->kind == INSTR_OP && !instr_is(i, OPF_TERMINATOR);
    add_weight(to, s->sets[position], code || block_edge_count(b) != 1, code, times);
    if (b->jump && b->fall)
        add_weight(to, s->sets[s->order->index[b->fall->id]], 0, 0, times);
}

/* Weighs for each two exits the code that leads to the first one and not to the second one. */
static void weigh(Arena *arena, const ExitPaths *s, ExitsSnapshot *to)
{
    to->exits = s->exits;
    to->mark = arena_array(arena, u32, s->exits);
    to->apart = arena_array(arena, ExitWeight, s->exits * s->exits);
    for (u32 k = 0; k < s->exits; k++)
        to->mark[k] = mark_of(s->order->rpo[s->exit[k]]);
    for (u32 p = 0; p < s->order->count; p++)
        weigh_block(s, to, p);
}

/* Whether something convergent is out of reach. ptxas lets threads wait at fewer points where a function holds
 * bar.warp.sync and the like (sm_90, sm_100, ptxas 13.0). It counts those that are never executed, too; phases remove
 * these. */
bool exits_hide_convergent(Analyses *an)
{
    for_each_block(b, an->fn)
        if (!order_reachable(an_order(an), b) && block_is_convergent(b, an->summaries))
            return matter(an);
    return false;
}

ExitsSnapshot *exits_snapshot(Arena *arena, Analyses *an)
{
    ExitsSnapshot *to = arena_new(arena, ExitsSnapshot);
    to->origins = an->fn->edits.origins;
    to->unknown = exits_hide_convergent(an);
    if (to->unknown)
        return to;
    Arena scratch = {0};
    ExitPaths paths = find_paths(&scratch, an);
    to->unknown = paths.too_many;
    if (paths.exits && !to->unknown)
        find_joins(&scratch, &paths, to);
    if (to->pairs.n && !to->unknown)
        weigh(arena, &paths, to);
    arena_free(&scratch);
    return to;
}

void exits_free(ExitsSnapshot *snapshot) { vec_free(&snapshot->pairs); }

bool exits_unknown(const ExitsSnapshot *snapshot) { return snapshot->unknown; }

/* ---- comparison ----------------------------------------------------------------------------------------------------------------- */

typedef struct ExitMatch {
    const Function *fn;
    const ExitsSnapshot *before, *after;
    u32 now[EXITS]; /* by exit before: the one after that it is a part of */
} ExitMatch;

/* Whether the instruction with origin `now` stands for that with origin `was`. */
static bool stands_for(const ExitMatch *m, u32 now, u32 was)
{
    VecU32 sources = {0};
    bool found = now == was && now;
    if (now && !found)
        origin_sources_since(m->fn, now, m->before->origins, &sources);
    for (u32 k = 0; k < sources.n; k++)
        found |= sources.v[k] == was;
    vec_free(&sources);
    return found;
}

/* Each exit has to be left: ptxas might have taken it. */
static bool match_exits(ExitMatch *m)
{
    for (u32 x = 0; x < m->before->exits; x++) {
        u32 y = 0;
        while (y < m->after->exits && !stands_for(m, m->after->mark[y], m->before->mark[x]))
            y++;
        if (y == m->after->exits)
            return false;
        m->now[x] = y;
    }
    return true;
}

static const ExitPair *find_pair(const ExitMatch *m, const ExitPair *now)
{
    for (u32 k = 0; k < m->before->pairs.n; k++) {
        const ExitPair *was = &m->before->pairs.v[k];
        if (m->now[was->exit] == now->exit && was->branch == now->branch && was->point && was->point == now->point &&
            was->waits == now->waits && was->together == now->together)
            return was;
    }
    return NULL;
}

static bool at_most(ExitWeight a, ExitWeight b) { return a.blocks <= b.blocks && a.code <= b.code && a.all <= b.all; }

/* Whether ptxas has no more reason than before to take this exit for the end, and, with `no_less`, none less. */
static bool as_likely(const ExitMatch *m, u32 was, u32 now, bool no_less)
{
    u32 n = m->before->exits, n_now = m->after->exits;
    bool ok = !no_less || n == n_now;
    for (u32 x = 0; x < n && ok; x++) {
        u32 y = m->now[x];
        ExitWeight to = m->before->apart[was * n + x], from = m->before->apart[x * n + was];
        ExitWeight to_now = m->after->apart[now * n_now + y], from_now = m->after->apart[y * n_now + now];
        if (x == was)
            continue;
        ok = y != now && at_most(to_now, to) && at_most(from, from_now);
        ok = ok && (!no_less || (at_most(to, to_now) && at_most(from_now, from)));
    }
    return ok;
}

bool exits_kept(const ExitsSnapshot *before, const ExitsSnapshot *after, const Function *fn)
{
    ExitMatch m = {.fn = fn, .before = before, .after = after};
    if (after->unknown || before->pairs.n != after->pairs.n)
        return false;
    if (before->pairs.n && !match_exits(&m))
        return false;
    for (u32 k = 0; k < after->pairs.n; k++) {
        const ExitPair *now = &after->pairs.v[k], *was = find_pair(&m, now);
        if (!was || !as_likely(&m, was->exit, now->exit, now->together))
            return false;
    }
    return true;
}
