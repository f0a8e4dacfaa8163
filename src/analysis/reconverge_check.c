#include "analysis/reconverge_check.h"
#include "base/marks.h"

#include <stdlib.h>

#include "analysis/arrivals.h"
#include "analysis/reconverge.h"
#include "analysis/wait.h"

enum {
    MARKERS = 8,    /* instructions after a point by which it is found again */
    WALK = 1024,    /* blocks of one walk */
    WALKS = 1 << 20 /* of all walks of one comparison */
};

typedef struct Point {
    u32 branch;          /* Instr.origin */
    u32 marker[MARKERS]; /* origins of what is executed first where its threads reconverge; 0: no more */
    u32 pre, last;       /* of the block where they do: in the dominator tree's numbering (analysis/dom.h) */
    bool leaves;         /* they leave the function first */
    u8 effects;          /* 1 << k: marker[k] does something; no phase removes it but one that merges it with a copy */
} Point;
_Static_assert(MARKERS <= 8, "a bit for each marker");

struct ReconvergeSnapshot {
    VEC(Point) points; /* by branch; without those that are proven uniform */
    u32 origins;       /* Function.origins then */
    Arrivals *arrivals;
    u32 *pre;                         /* by Instr.origin: number of its block in the dominator tree; NULL: nobody waits */
    VecU32 branch_hints, table_hints; /* origins of bra.uni and brx.idx.uni, sorted */
    VecU32 uniform;                   /* origins of branches that are proven uniform, sorted */
};

static int compare_u32(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;
    return x < y ? -1 : x > y;
}

static bool has(const VecU32 *v, u32 x) { return v->n && bsearch(&x, v->v, v->n, sizeof x, compare_u32); }

static void sort(VecU32 *v)
{
    if (v->n)
        qsort(v->v, v->n, sizeof(u32), compare_u32);
}

static bool branches(const Analyses *an, const Block *b)
{
    return block_terminator(b) &&
           (block_edge_count(b) > 1 || (block_edge_count(b) == 1 && block_leaves_function(an->fn, b)));
}

/* was: origins of branches that were proven uniform before a phase. */
static bool is_uniform(Analyses *an, const Block *b, const VecU32 *was)
{
    return uniform_has(&an_uniform(an)->branch_warp, b->id) || has(was, block_terminator(b)->origin);
}

/* NULL: threads leave the function without waiting for one another. */
static Block *point_of(Analyses *an, const Block *b)
{
    Block *point = dom_has(an_postdom(an), b) ? an_postdom(an)->idom[b->id] : NULL;
    return point && !reconverge_only_leaves(point) ? point : NULL;
}

/* ---- snapshot ----------------------------------------------------------------------------------------------------- */

static Point make_point(Analyses *an, const Block *b)
{
    Point point = {.branch = block_terminator(b)->origin};
    const Block *at = point_of(an, b);
    u32 n = 0;
    point.leaves = !at;
    point.pre = at ? an_dom(an)->pre[at->id] : 0;
    point.last = at ? an_dom(an)->last[at->id] : 0;
    for (u32 hops = 0; at && hops < MARKERS && n < MARKERS; at = block_terminator(at) ? NULL : at->fall, hops++)
        for_each_instr(i, at)
            if (i->kind == INSTR_OP && n < MARKERS) {
                point.effects |= (u8)(!op_is_pure(i->op) && !instr_is(i, OPF_TERMINATOR)) << n;
                point.marker[n++] = i->origin;
            }
    return point;
}

static int compare_points(const void *a, const void *b)
{
    return compare_u32(&((const Point *)a)->branch, &((const Point *)b)->branch);
}

static void add_hint(ReconvergeSnapshot *s, const Instr *end)
{
    if (end && op_has(end->op, OPF_UNIFORM_HINT) && op_has(end->op, OPF_BRANCH))
        vec_push(branch_table(end) ? &s->table_hints : &s->branch_hints, end->origin);
}

static bool may_wait(Analyses *an)
{
    for (u32 p = 0; p < an_order(an)->count; p++)
        for_each_instr(i, an_order(an)->rpo[p])
            if (i->kind == INSTR_OP && !op_is_pure(i->op) && (instr_effects(i, an->summaries).waits || an_loops(an)->n))
                return true;
    return false;
}

ReconvergeSnapshot *reconverge_snapshot(Arena *arena, Analyses *an)
{
    ReconvergeSnapshot *s = arena_new(arena, ReconvergeSnapshot);
    bool waits = may_wait(an);
    s->origins = an->fn->origins;
    s->pre = waits ? arena_array(arena, u32, s->origins + 1) : NULL;
    for (u32 p = 0; p < an_order(an)->count; p++) {
        const Block *b = an_order(an)->rpo[p];
        add_hint(s, block_terminator(b));
        for_each_instr(i, b)
            if (waits && i->kind == INSTR_OP)
                s->pre[i->origin] = an_dom(an)->pre[b->id];
        if (!branches(an, b) || !waits)
            continue;
        if (uniform_has(&an_uniform(an)->branch_warp, b->id))
            vec_push(&s->uniform, block_terminator(b)->origin);
        else
            vec_push(&s->points, make_point(an, b));
    }
    if (s->points.n)
        qsort(s->points.v, s->points.n, sizeof *s->points.v, compare_points);
    sort(&s->branch_hints);
    sort(&s->table_hints);
    sort(&s->uniform);
    s->arrivals = arrivals_snapshot(arena, an);
    return s;
}

void reconverge_snapshot_free(ReconvergeSnapshot *s)
{
    vec_free(&s->points);
    arrivals_free(s->arrivals);
    vec_free(&s->branch_hints);
    vec_free(&s->table_hints);
    vec_free(&s->uniform);
}

/* ---- comparison: .uni ---------------------------------------------------------------------------------------------- */

typedef struct Checker {
    const ReconvergeSnapshot *before;
    Analyses *an;
    Arena *arena;
    Waits *waits;
    Block **block; /* by Instr.origin: where it stands now; NULL */
    Marks seen;    /* by position */
    VecU32 work;
    u32 budget;
    const char *wrong;
} Checker;

static const char *check_hint(Checker *c, const Block *b)
{
    const Instr *end = block_terminator(b);
    VecU32 sources = {0};
    bool kept = true;
    if (!end || !op_has(end->op, OPF_UNIFORM_HINT) || !op_has(end->op, OPF_BRANCH))
        return NULL;
    bool table = branch_table(end) != NULL;
    RegId reg = end->guard ? end->guard : end->opnd[0].id;
    if ((end->guard || table) && uniform_has(&an_uniform(c->an)->warp, reg))
        return NULL;
    /* One that stood for others before still does. */
    if (has(&c->before->table_hints, end->origin) || (!table && has(&c->before->branch_hints, end->origin)))
        return NULL;
    origin_sources_since(c->an->fn, end->origin, c->before->origins, &sources);
    for (u32 k = 0; k < sources.n; k++)
        kept &= has(&c->before->table_hints, sources.v[k]) || (!table && has(&c->before->branch_hints, sources.v[k]));
    vec_free(&sources);
    return kept ? NULL
                : arena_printf(c->arena, "block %u: '%s' promises what no branch promised before", b->id,
                               end->op->text->text);
}

/* ---- comparison: points -------------------------------------------------------------------------------------------- */

static void visit(Checker *c, u32 position)
{
    if (marks_add(&c->seen, position))
        vec_push(&c->work, position);
}

/* EffectWaits, or WaitEnds, from the blocks that were visited to `stop`. */
static void collect(Checker *c, const Block *stop, u8 *waits, u8 *ends)
{
    const Order *order = an_order(c->an);
    for (u32 k = 0; k < c->work.n; k++) {
        const Block *b = order->rpo[c->work.v[k]];
        if (b == stop)
            continue;
        if (k == WALK || c->budget == 0) { /* too much to say: nothing is said */
            *waits = *ends = 0;
            return;
        }
        c->budget--;
        *waits |= c->waits->waits[b->id] | (c->waits->loop[b->id] ? WAIT_OTHERS : 0);
        *ends |= c->waits->ends[b->id];
        for_each_edge(e, &order->succ, c->work.v[k])
            visit(c, order->succ.to[e]);
    }
}

static const Point *find_point(const ReconvergeSnapshot *s, u32 origin)
{
    Point key = {.branch = origin};
    return s->points.n ? bsearch(&key, s->points.v, s->points.n, sizeof key, compare_points) : NULL;
}

/* Where the old point is now: in front of *marker; *gone: it cannot be said, since nothing that marked it is left, or its code
 * was merged with other code. */
static const Block *find_old(const Checker *c, const Point *point, u32 *marker, bool *gone)
{
    *gone = false;
    *marker = 0;
    if (point->leaves)
        return NULL;
    for (u32 k = 0; k < MARKERS && point->marker[k]; k++) {
        if (c->block[point->marker[k]]) {
            *marker = point->marker[k];
            return c->block[*marker];
        }
        if (point->effects >> k & 1)
            break;
    }
    *gone = true;
    return NULL;
}

/* Whether i stood behind the old point: it may have been hoisted, and the point has not moved. */
static bool was_behind(const Checker *c, const Instr *i, const Point *point)
{
    u32 pre = i->origin <= c->before->origins ? c->before->pre[i->origin] : 0;
    return pre && point->pre <= pre && pre <= point->last;
}

/* WaitEnds of what stands in b in front of the instruction that marks the old point, and did before. */
static u8 ends_before(const Checker *c, const Block *b, u32 marker, const Point *point)
{
    u8 ends = 0;
    for (const Instr *i = b->first; i && i->origin != marker; i = i->next)
        if (i->kind == INSTR_OP && !was_behind(c, i, point))
            ends |= instr_ends(i, c->an->summaries);
    return ends;
}

static const char *check_point(Checker *c, const Block *b, const Point *point)
{
    const Block *now = point_of(c->an, b);
    bool gone;
    u32 marker;
    const Block *old = find_old(c, point, &marker, &gone);
    u8 waits = 0, ends = 0, rest = 0;
    if (!now || gone || (old && now != old && dominates(an_postdom(c->an), now, old)))
        return NULL;
    const Order *order = an_order(c->an);
    marks_clear(&c->seen);
    vec_clear(&c->work);
    for_each_edge(e, &order->succ, order->index[b->id])
        visit(c, order->succ.to[e]);
    collect(c, now, &waits, &rest);
    marks_clear(&c->seen);
    vec_clear(&c->work);
    visit(c, order->index[now->id]);
    rest = 0;
    collect(c, old, &rest, &ends);
    ends |= old ? ends_before(c, old, marker, point) : 0;
    if (!wait_may_end(c->waits, waits, ends))
        return NULL;
    return arena_printf(
        c->arena,
        "threads that part in block %u now wait for one another at block %u, in front of what one of them may wait for",
        b->id, now->id);
}

static const char *check_branch(Checker *c, const Block *b)
{
    VecU32 sources = {0};
    const char *wrong = NULL;
    if (!branches(c->an, b) || is_uniform(c->an, b, &c->before->uniform))
        return NULL;
    origin_sources_since(c->an->fn, block_terminator(b)->origin, c->before->origins, &sources);
    for (u32 k = 0; k < sources.n && !wrong; k++) {
        const Point *point = find_point(c->before, sources.v[k]);
        wrong = point ? check_point(c, b, point) : NULL;
    }
    vec_free(&sources);
    return wrong;
}

static void find_blocks(Checker *c)
{
    c->block = arena_array(c->arena, Block *, c->an->fn->origins + 1);
    for (u32 p = an_order(c->an)->count; p-- > 0;)
        for_each_instr(i, an_order(c->an)->rpo[p])
            if (i->kind == INSTR_OP)
                c->block[i->origin] = an_order(c->an)->rpo[p];
}

const char *reconverge_compare(const ReconvergeSnapshot *before, Analyses *an, Arena *arena)
{
    Checker c = {.before = before, .an = an, .arena = arena, .budget = WALKS};
    const Order *order = an_order(an);
    for (u32 p = 0; p < order->count && !c.wrong; p++)
        c.wrong = check_hint(&c, order->rpo[p]);
    if (!c.wrong)
        c.wrong = arrivals_compare(before->arrivals, an, arena);
    if (c.wrong || !before->points.n)
        return c.wrong;
    find_blocks(&c);
    c.waits = waits_compute(arena, an);
    c.seen = marks_new(arena, order->count);
    for (u32 p = 0; p < order->count && c.waits->any_wait && !c.wrong; p++)
        c.wrong = check_branch(&c, order->rpo[p]);
    vec_free(&c.work);
    return c.wrong;
}
