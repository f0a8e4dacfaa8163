/* Threads that diverge at a branch wait for one another at its immediate post-dominator, and before that wherever some of them come
 * together. For ptxas takes the post-dominators away and looks for others in what is left, as if some end of it were the only one.
 * So threads wait, too,
 *
 *   - at a join that not all threads of the branch come to;
 *   - at an exit of a loop with several, for those that are still in the loop: one edge is enough.
 *
 * Both are partial joins here. One that has no rival is a point of waiting whatever the code looks like. Of two that some branch leads
 * to, neither of them by way of the other, one is, or none. It is the one with more machine instructions on the paths to it and from
 * it, after ptxas has optimized them. (That was measured with ptxas 13.0 for sm_75 to sm_120; sm_75 chooses otherwise between exits of
 * loops.) With
 *
 *     LOOP: ld.volatile f, [flag]; @f bra B;          the thread that leaves by A waits for the others where B is
 *           ld.volatile w, [work]; @!w bra LOOP;      the shorter one, and the kernel hangs; and does not where
 *        A: st.volatile [flag], 1; ...; bra J;        B is the longer one, until its two arms are merged
 *        B: @p bra C; ...; bra J;  C: ...
 *        J:
 *
 * Phases do not know which it is. So the code that decides must be the same after them in certain places. There a thread may wait for
 * another one on the way to a partial join with a rival. And what follows, up to the reconvergence point, may be what it waits for, or
 * sees who is with it. */
#include "analysis/joins.h"

#include "base/bound.h"
#include "analysis/reconverge.h"
#include "base/fnvmap.h"
#include "base/index.h"
#include "base/marks.h"

enum {
    EDGES = 32,             /* the most edges into a join that are looked at pair by pair */
    BLOCKS_LEAST = 1 << 16, /* the most blocks of all walks: so many, */
    BLOCKS_EACH = 64        /* and these for each block of the function */
};

typedef struct PartialJoins {
    Analyses *an;
    const Order *order;
    ReconvergeGate *gate;
    Marks after, before, region; /* by position: walks from a join, back from it, and from the branch above it */
    const Block *walked_to;      /* where the walks from a join and back from it end, if there are both */
    bool walked;
    u32 region_to; /* where the last region ends */
    VecU32 work;
    VecU32 joins;   /* positions of the blocks that some threads of a branch may come to over several edges */
    u32 *number;    /* by position: place in the walk of the region, plus 1 */
    FnvMap regions; /* by the positions of their ends: their numbers */
    u64 *code;      /* by position: hash of the block's code; 0: not computed */
    i64 budget;     /* negative: too much was looked at */
    u64 hash;
} PartialJoins;

/* ---- partial joins ---------------------------------------------------------------------------------------------- */

/* The outermost loop that some edge to b leaves; NULL: none. */
static const Loop *loop_left(const PartialJoins *f, const Block *b)
{
    const Loops *loops = an_loops(f->an);
    for_each_edge(e, &f->order->pred, f->order->index[b->id]) {
        const Loop *left = NULL;
        const Loop *l = loop_of(loops, f->order->rpo[f->order->pred.to[e]]);
        for (; l && !loop_contains(loops, l, b); l = l->parent)
            left = l;
        if (left)
            return left;
    }
    return NULL;
}

static u32 forward_edges(const PartialJoins *f, const Block *b)
{
    u32 edges = 0;
    for_each_edge(e, &f->order->pred, f->order->index[b->id])
        edges += !edge_is_back(an_dom(f->an), f->order->rpo[f->order->pred.to[e]], b);
    return edges;
}

/* Finds the blocks that some threads of a branch may come to over several edges, or in several iterations of a loop. */
static void find_joins(PartialJoins *f)
{
    for (u32 p = 1; p < f->order->count; p++) {
        const Block *b = f->order->rpo[p];
        if (an_dom(f->an)->idom[b->id] && (forward_edges(f, b) > 1 || loop_left(f, b)) && !reconverge_only_leaves(b))
            vec_push(&f->joins, p);
    }
}

/* Whether threads that come to b over these edges may have diverged at a branch of which other threads do not come there. */
static bool edges_divide(PartialJoins *f, const Block *b, Block *from, Block *other)
{
    const DomTree *dom = an_dom(f->an);
    const Block *top = dom_nearest_common(dom, from, other);
    return !edge_is_back(dom, from, b) && !edge_is_back(dom, other, b) && !dominates(an_postdom(f->an), b, top) &&
           reconverge_divides(f->gate, from, other);
}

static bool is_partial(PartialJoins *f, const Block *b)
{
    const Graph *pred = &f->order->pred;
    u32 p = f->order->index[b->id];
    const Loop *left = loop_left(f, b);
    if (BEYOND(EDGES, pred->start[p + 1] - pred->start[p] > EDGES) ||
        (left && !dominates(an_postdom(f->an), b, left->header)))
        return true;
    for_each_edge(e, pred, p)
        for (u32 other = pred->start[p]; other < e; other++)
            if (edges_divide(f, b, f->order->rpo[pred->to[e]], f->order->rpo[pred->to[other]]))
                return true;
    return false;
}

/* ---- rivals ------------------------------------------------------------------------------------------------------ */

static u32 position_of(const PartialJoins *f, const Block *b) { return b ? f->order->index[b->id] : GRAPH_NONE; }

static void walk(PartialJoins *f, Marks *seen, const Graph *edges, const Block *from, const Block *stop)
{
    const u32 *start = edges->start, *to = edges->to; /* what the stores below do not change */
    u32 end = position_of(f, stop), n = 1, *work;
    marks_clear(seen);
    Marks marked = *seen;
    vec_reserve(&f->work, f->order->count + 2); /* `from` may come twice, and one more is written than counts */
    work = f->work.v;
    work[0] = position_of(f, from);
    for (u32 k = 0; k < n; k++)
        for (u32 e = start[work[k]], last = start[work[k] + 1]; e < last; e++) {
            work[n] = to[e];
            n += to[e] != end && marks_add(&marked, to[e]);
        }
    f->budget -= n;
}

/* Whether b does not lead to the join at position p before `old`, to which both lead. */
static bool is_beside(const PartialJoins *f, u32 p, const Block *b, const Block *old)
{
    return f->order->rpo[p] != b && f->order->rpo[p] != old && !marks_has(&f->after, p);
}

/* Whether the last walks are those of b, too: a cycle that does not pass `old` holds b and the join from which they began. */
static bool walks_hold(const PartialJoins *f, const Block *b, const Block *old)
{
    u32 p = f->order->index[b->id];
    return f->walked && f->walked_to == old && marks_has(&f->after, p) && marks_has(&f->before, p);
}

/* Walks from b and back from it; false: every join lies on the first walk. */
static bool walk_both(PartialJoins *f, const Block *b, const Block *old)
{
    bool any = false;
    walk(f, &f->after, &f->order->succ, b, old);
    for (u32 k = 0; k < f->joins.n && !any; k++)
        any = is_beside(f, f->joins.v[k], b, old);
    if (any)
        walk(f, &f->before, &f->order->pred, b, old);
    f->walked = any;
    f->walked_to = old;
    return any;
}

/* Whether a branch that leads to b leads to another join, and neither of them to the other before `old`. */
static bool has_rival(PartialJoins *f, const Block *b, const Block *old)
{
    bool found = false;
    if (!walks_hold(f, b, old) && !walk_both(f, b, old))
        return false;
    f->budget -= f->joins.n;
    for (u32 k = 0; k < f->joins.n && !found; k++) {
        u32 p = f->joins.v[k], top = f->order->index[an_dom(f->an)->idom[f->order->rpo[p]->id]->id];
        found = is_beside(f, p, b, old) && !marks_has(&f->before, p) && marks_has(&f->before, top);
    }
    return found;
}

/* ---- the code that decides --------------------------------------------------------------------------------------- */

static void add(PartialJoins *f, u64 number) { f->hash = hash_mix(f->hash, number); }

/* How many instructions of which opcodes and widths: not which way a comparison asks, nor of what. */
static u64 code_of(PartialJoins *f, u32 position)
{
    u64 code = f->code[position];
    if (code)
        return code;
    code = FNV_BASIS;
    for_each_instr(i, f->order->rpo[position])
        if (i->kind == INSTR_OP)
            code = hash_mix(code, (u32)i->op->opcode << 8 | i->op->type[0]);
    return f->code[position] = code;
}

static void add_edges(PartialJoins *f, u32 position, u32 old)
{
    const Graph *succ = &f->order->succ;
    u64 hash = f->hash;
    for (u32 e = succ->start[position], last = succ->start[position + 1]; e < last; e++) {
        u32 to = succ->to[e];
        if (to != old && marks_add(&f->region, to)) {
            vec_push(&f->work, to);
            f->number[to] = f->work.n;
        }
        hash = hash_mix(hash, to == old ? 0 : f->number[to]);
    }
    f->hash = hash;
}

/* The number of the block where a region ends; if it ends nowhere, a number that no block has. */
static u32 end_of(const PartialJoins *f, const Block *old) { return old ? f->order->index[old->id] : f->order->count; }

/* Whether the region from `top` to `old` is a part of the one that was added last. It is if nothing leads from `top` to the end of
 * that one but by `old`. */
static bool is_added(const PartialJoins *f, const Block *top, const Block *old)
{
    u32 to = end_of(f, old), end = f->region_to;
    if (!marks_has(&f->region, f->order->index[top->id]))
        return false;
    if (end == to || end == f->order->count)
        return true;
    const DomTree *dom = an_dom(f->an);
    return old && marks_has(&f->region, to) && strictly_dominates(dom, top, old) && dominates(dom, old, f->order->rpo[end]);
}

/* Adds the blocks from the end of `top` to `old`, and how they are connected. A region that was added before is added by
 * its number. */
static void add_region(PartialJoins *f, const Block *top, const Block *old)
{
    u32 to = end_of(f, old);
    u64 *number = fnvmap_at(&f->regions, (u64)f->order->index[top->id] << 32 | to);
    if (*number) {
        add(f, *number);
        return;
    }
    *number = f->regions.count;
    marks_clear(&f->region);
    vec_clear(&f->work);
    f->region_to = to;
    add_edges(f, f->order->index[top->id], to);
    for (u32 k = 0; k < f->work.n; k++, f->budget--) {
        add(f, code_of(f, f->work.v[k]));
        add_edges(f, f->work.v[k], to);
    }
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* What was added holds the code by which ptxas chooses between the joins in it, whether or not one of them matters. */
static void look_at(PartialJoins *f, Block *b)
{
    const Block *top = an_dom(f->an)->idom[b->id];
    const Block *old = reconvergence_point(f->gate, top);
    if (b == old || is_added(f, top, old) || !is_partial(f, b))
        return;
    f->budget -= old ? 0 : f->order->count; /* where threads leave the function the gate walks over all of it */
    if (reconverge_at(f->gate, b, old) != RECONVERGE_SAFE && has_rival(f, b, old))
        add_region(f, top, old);
}

static const Waits *known_waits(Arena *arena, Analyses *an)
{
    const Waits *all = an_waits(an);
    if (all->all_known)
        return all;
    return waits_compute(arena, an_order(an), an_dom(an), an_loops(an), an->summaries, WAITS_KNOWN);
}

u64 joins_hash(Analyses *an)
{
    Arena arena = {0};
    const Order *order = an_order(an);
    const Waits *waits = known_waits(&arena, an);
    PartialJoins f = {.an = an, .order = order, .gate = reconverge_new_of(&arena, an, waits), .hash = FNV_BASIS};
    bool asks = reconverge_matters(f.gate);
    f.budget = BLOCKS_LEAST + (i64)BLOCKS_EACH * order->count;
    f.after = marks_new(&arena, asks ? order->count : 0);
    f.before = marks_new(&arena, asks ? order->count : 0);
    f.region = marks_new(&arena, asks ? order->count : 0);
    f.number = arena_array(&arena, u32, order->count);
    f.code = arena_array(&arena, u64, order->count);
    if (asks)
        find_joins(&f);
    for (u32 k = 0; k < f.joins.n && f.budget >= 0; k++)
        look_at(&f, order->rpo[f.joins.v[k]]);
    if (BEYOND(BLOCKS_EACH, f.budget < 0))
        add_region(&f, order->rpo[0], NULL);
    reconverge_free(f.gate);
    vec_free(&f.work);
    vec_free(&f.joins);
    fnvmap_free(&f.regions);
    arena_free(&arena);
    return f.hash;
}
