/* Of several exits of a function ptxas takes one for its end, and looks for immediate post-dominators as if no thread left by the
 * others. Phases know the post-dominators of all exits, and keep who waits for whom as those say. What they do not know are the
 * reconvergence points that a branch has only if one certain exit is the end: threads that the branch divides wait there for those
 * that leave elsewhere.
 *
 * So these points are looked for, for each exit in turn, before the phases and after them. A point counts if the branch may divide a
 * warp and some thread may wait for others on the way there, or if somebody in the function waits for what others do, sees who is with
 * it, or promises to be uniform; where only one edge leads from the branch to it, ptxas lets nobody wait. As long as none counts it does
 * not matter which exit is the end: who waits for whom is as the points of all exits say, and the phases keep that. Which one ptxas
 * takes is not asked: its choice depends on the machine instructions that lead to each exit after its own optimizations, loops counted
 * several times, and on activemask and bar.warp.sync among them, and a jump less may undo the predication that made two edges one
 * (measured with ptxas 13.0 for sm_80; some also with 12.9 and 13.5 for sm_75 and sm_90). */
#include "analysis/exits.h"

#include "analysis/reconverge.h"
#include "base/marks.h"

#define WAITS (1ull << EXITS) /* in a set: the block leads to one where a thread may wait, or sees who is with it */

enum {
    EXITS = 63,             /* that are told apart: the other bits of a set */
    SWEEPS = 16,            /* over the function, until the sets stay; a sweep takes each of them around one more loop */
    BLOCKS_LEAST = 1 << 16, /* of all walks: so many, */
    BLOCKS_EACH = 64        /* and these for each block of the function */
};

/* Which exits blocks lead to. */
typedef struct ExitPaths {
    Analyses *an;
    const Order *order;
    bool *leaves;    /* by position: the block does nothing but leave */
    u64 *sets;       /* by position: the exits that the block leads to, and WAITS */
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
        s->too_many = s->exits == EXITS;
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
        if (w->waits[b] || w->loop[b] || w->active_set[b])
            s->sets[p] |= WAITS;
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
    s.too_many = sweeps > SWEEPS;
    return s;
}

/* ---- joins ---------------------------------------------------------------------------------------------------------------------- */

typedef struct JoinFinder {
    const ExitPaths *s;
    Marks seen; /* by position */
    VecU32 work;
    u32 *idom, *order; /* if one exit is the end, by position */
    u64 budget;
} JoinFinder;

static void visit(JoinFinder *f, u32 position)
{
    if (marks_add(&f->seen, position))
        vec_push(&f->work, position);
}

/* Answers how many edges lead to the point. */
static u32 follow_edges(JoinFinder *f, u32 from, u32 point)
{
    const Graph *succ = &f->s->order->succ;
    u32 edges = 0;
    for_each_edge(e, succ, from) {
        edges += succ->to[e] == point;
        if (succ->to[e] != point)
            visit(f, succ->to[e]);
    }
    return edges;
}

static bool waits_in(const JoinFinder *f, u32 position)
{
    const Waits *w = an_waits(f->s->an);
    u32 id = f->s->order->rpo[position]->id;
    return w->waits[id] || w->loop[id];
}

/* Whether it matters, wherever that is, which threads come together: one may wait until another one has acted, sees who is with it, or
 * promises to go where those go that are. */
static bool group_matters(const Waits *w) { return w->any_active_set || w->any_promise || w->any_wait & WAIT_OTHERS; }

/* Whether several edges lead from between the branch and the point to that, and a thread may wait for others on the way, or it matters
 * later who came together. True also where the way is too long. */
static bool counts(JoinFinder *f, u32 branch, u32 point)
{
    marks_clear(&f->seen);
    vec_clear(&f->work);
    marks_add(&f->seen, branch);
    bool waits = group_matters(an_waits(f->s->an)) || waits_in(f, branch);
    u32 edges = follow_edges(f, branch, point);
    for (u32 k = 0; k < f->work.n && !(waits && edges > 1); k++, f->budget--) {
        if (f->budget == 0)
            return true;
        waits |= waits_in(f, f->work.v[k]);
        edges += follow_edges(f, f->work.v[k], point);
    }
    return waits && edges > 1;
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

static bool has_join(JoinFinder *f, u32 exit)
{
    const ExitPaths *s = f->s;
    const Order *order = s->order;
    bool found = false;
    graph_dominators(&order->pred, &order->succ, s->exit[exit], f->idom, f->order);
    for (u32 p = 0; p < order->count && !found; p++) {
        u32 point = f->idom[p];
        bool asks = s->sets[p] & WAITS && s->sets[p] >> exit & 1 && block_branches(s->an->fn, order->rpo[p]);
        if (asks && point != GRAPH_NONE && point != point_if_all(s, p))
            found = order->pred.start[point + 1] - order->pred.start[point] > 1 && divides(s, p) && counts(f, p, point);
    }
    return found;
}

static bool has_joins(Arena *arena, const ExitPaths *s)
{
    u32 count = s->order->count;
    JoinFinder f = {.s = s, .budget = BLOCKS_LEAST + (u64)BLOCKS_EACH * count};
    f.seen = marks_new(arena, count);
    f.idom = arena_array(arena, u32, count);
    f.order = arena_array(arena, u32, count);
    bool found = false;
    for (u32 k = 0; k < s->exits && !found; k++)
        found = has_join(&f, k);
    vec_free(&f.work);
    return found;
}

/* Whether something convergent is out of reach. ptxas lets threads wait at fewer points where a function holds bar.warp.sync and the
 * like (sm_90, sm_100, ptxas 13.0), and counts what is never executed; phases remove it. */
static bool has_unreachable_convergent(Analyses *an)
{
    for_each_block(b, an->fn)
        if (!order_reachable(an_order(an), b) && block_is_convergent(b, an->summaries))
            return true;
    return false;
}

bool exits_decide(Analyses *an)
{
    if (has_unreachable_convergent(an) && matter(an))
        return true;
    Arena arena = {0};
    ExitPaths paths = find_paths(&arena, an);
    bool decide = paths.too_many || (paths.exits && has_joins(&arena, &paths));
    arena_free(&arena);
    return decide;
}
