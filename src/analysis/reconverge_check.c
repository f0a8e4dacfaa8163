#include "analysis/reconverge_check.h"

#include <stdlib.h>

#include "analysis/convergence.h"
#include "analysis/wait.h"

enum {
    MARKERS = 8,         /* instructions behind a point by which it is found again */
    WALK = 1024,         /* blocks of one walk */
    WALKS = 1 << 20,     /* of all walks of one comparison */
    CLIMB = 64,          /* dominators of a block that are looked at */
    PREDS = 64,          /* predecessors likewise */
    GROUPS_MAX = 1 << 20
};

typedef struct Point {
    u32 branch;          /* Instr.origin */
    u32 marker[MARKERS]; /* origins of what is executed first where its threads reconverge; 0: no more */
    bool leaves;         /* they leave the function first */
} Point;

typedef struct Arrivals {
    u32 origin; /* of an instruction that sees who is there */
    u32 groups; /* of threads that come to it, all its copies together */
    u32 edges;  /* likewise, but with those counted too that uniform branches keep apart */
} Arrivals;

typedef VEC(Arrivals) ArrivalVec;

struct ReconvergeSnapshot {
    VEC(Point) points;  /* by branch; without those that are proven uniform */
    ArrivalVec arrivals;/* by origin */
    VecU32 branch_hints, table_hints; /* origins of bra.uni and brx.idx.uni, sorted */
    VecU32 uniform;     /* origins of branches that are proven uniform, sorted */
    bool irreducible;
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
    return block_terminator(b) && (block_ways(b) > 1 || (block_ways(b) == 1 && block_leaves_function(an->fn, b)));
}

/* was: origins of branches that were proven uniform before a phase, or NULL. */
static bool is_uniform(Analyses *an, const Block *b, const VecU32 *was)
{
    return uniform_has(&an_uniform(an)->branch_warp, b->id) || (was && has(was, block_terminator(b)->origin));
}

static Block *point_of(Analyses *an, const Block *b) { return dom_has(an_postdom(an), b) ? an_postdom(an)->idom[b->id] : NULL; }

/* ---- groups of threads ------------------------------------------------------------------------------------------- */

/* The farthest dominator of b, up to `top`, whose threads reconverge at `join`. */
static Block *gathered_by(Analyses *an, Block *b, const Block *top, const Block *join)
{
    Block *found = b;
    for (u32 k = 0; b && k < CLIMB; k++, b = an_dom(an)->idom[b->id]) {
        if (point_of(an, b) == join)
            found = b;
        if (b == top)
            break;
    }
    return found;
}

/* Whether a branch between `top` and b may divide a warp; true too where there is too much to say. */
static bool divided(Analyses *an, const VecU32 *was, const Block *top, const Block *b, u32 *seen, u32 stamp)
{
    const Order *order = an_order(an);
    VecU32 work = {0};
    bool found = false;
    vec_push(&work, order->index[b->id]);
    for (u32 k = 0; k < work.n && !found; k++) {
        const Block *at = order->rpo[work.v[k]];
        found = k == WALK || (at != b && branches(an, at) && !is_uniform(an, at, was));
        if (at == top)
            continue;
        for_each_edge(e, &order->pred, work.v[k])
            if (seen[order->pred.to[e]] != stamp) {
                seen[order->pred.to[e]] = stamp;
                vec_push(&work, order->pred.to[e]);
            }
    }
    vec_free(&work);
    return found;
}

/* Whether the paths to the two blocks part at a branch that does not divide a warp. */
static bool excludes(Analyses *an, const VecU32 *was, Block *a, Block *b)
{
    const Block *d = nearest_common_dominator(an_dom(an), a, b);
    return d && d != a && d != b && branches(an, d) && is_uniform(an, d, was);
}

/* How many groups of threads come to the join at position p, each of which was one group at the entry. */
static u32 groups_at_join(Analyses *an, const VecU32 *was, bool plain, const u32 *groups, u32 p, u32 *seen)
{
    const Order *order = an_order(an);
    const Block *join = order->rpo[p], *top = an_dom(an)->idom[join->id];
    Block *from[PREDS];
    u32 count[PREDS], n = 0, sum = 0;
    if (!top)
        return 1;
    if (!divided(an, was, top, join, seen, p + 1))
        return groups[order->index[top->id]];
    for_each_edge(e, &order->pred, p) {
        Block *pred = order->rpo[order->pred.to[e]];
        if (edge_is_back(an_dom(an), pred, join))
            continue;
        Block *by = gathered_by(an, pred, top, join);
        bool known = n == PREDS;
        u32 with = n, now = groups[order->index[by->id]];
        for (u32 k = 0; k < n && !known; k++) {
            known = from[k] == by;
            if (!plain && with == n && !known && excludes(an, was, from[k], by))
                with = k;
        }
        if (known)
            continue;
        count[n] = now;
        if (with < n) /* a warp comes from one of the two */
            count[with] = count[with] > now ? count[with] : now, count[n] = 0;
        from[n++] = by;
    }
    for (u32 k = 0; k < n; k++)
        sum = sum + count[k] > GROUPS_MAX ? GROUPS_MAX : sum + count[k];
    return sum;
}

static int compare_arrivals(const void *a, const void *b)
{
    return compare_u32(&((const Arrivals *)a)->origin, &((const Arrivals *)b)->origin);
}

static void add_arrivals(Analyses *an, const Block *b, u32 groups, u32 edges, ArrivalVec *out)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && instr_effects(i, an->summaries).active_set)
            vec_push(out, ((Arrivals){i->origin, groups, edges}));
}

/* By position, of every block. */
static u32 *count_groups(Arena *arena, Analyses *an, const VecU32 *was, bool plain)
{
    const Order *order = an_order(an);
    u32 *groups = arena_array(arena, u32, order->count), *seen = arena_array(arena, u32, order->count);
    for (u32 p = 0; p < order->count; p++) {
        const u32 *pred = &order->pred.to[order->pred.start[p]];
        u32 preds = order->pred.start[p + 1] - order->pred.start[p];
        groups[p] = p == 0 ? 1 : preds == 1 ? groups[*pred] : groups_at_join(an, was, plain, groups, p, seen);
    }
    return groups;
}

/* Copies of one instruction become one entry. */
static void find_arrivals(Arena *arena, Analyses *an, const VecU32 *was, ArrivalVec *out)
{
    const u32 *groups = count_groups(arena, an, was, false), *edges = count_groups(arena, an, was, true);
    u32 kept = 0;
    for (u32 p = 0; p < an_order(an)->count; p++)
        add_arrivals(an, an_order(an)->rpo[p], groups[p], edges[p], out);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, compare_arrivals);
    for (u32 k = 0; k < out->n; k++) {
        Arrivals *last = kept ? &out->v[kept - 1] : NULL;
        if (!last || last->origin != out->v[k].origin) {
            out->v[kept++] = out->v[k];
            continue;
        }
        last->groups += out->v[k].groups;
        last->edges += out->v[k].edges;
    }
    out->n = kept;
}

static bool any_active_set(Analyses *an)
{
    for (u32 p = 0; p < an_order(an)->count; p++)
        for_each_instr(i, an_order(an)->rpo[p])
            if (i->kind == INSTR_OP && instr_effects(i, an->summaries).active_set)
                return true;
    return false;
}

/* ---- snapshot ----------------------------------------------------------------------------------------------------- */

static Point make_point(Analyses *an, const Block *b)
{
    Point point = {.branch = block_terminator(b)->origin};
    const Block *at = point_of(an, b);
    u32 n = 0;
    point.leaves = !at;
    for (u32 hops = 0; at && hops < MARKERS && n < MARKERS; at = block_terminator(at) ? NULL : at->fall, hops++)
        for_each_instr(i, at)
            if (i->kind == INSTR_OP && n < MARKERS)
                point.marker[n++] = i->origin;
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
    bool waits = may_wait(an), sees = any_active_set(an);
    s->irreducible = an_loops(an)->irreducible;
    for (u32 p = 0; p < an_order(an)->count; p++) {
        const Block *b = an_order(an)->rpo[p];
        add_hint(s, block_terminator(b));
        if (!branches(an, b) || !(waits || sees))
            continue;
        if (is_uniform(an, b, NULL))
            vec_push(&s->uniform, block_terminator(b)->origin);
        else
            vec_push(&s->points, make_point(an, b));
    }
    if (s->points.n)
        qsort(s->points.v, s->points.n, sizeof *s->points.v, compare_points);
    sort(&s->branch_hints);
    sort(&s->table_hints);
    sort(&s->uniform);
    if (sees && !s->irreducible)
        find_arrivals(arena, an, NULL, &s->arrivals);
    return s;
}

void reconverge_snapshot_free(ReconvergeSnapshot *s)
{
    vec_free(&s->points);
    vec_free(&s->arrivals);
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
    Block **block;     /* by Instr.origin: where it stands now; NULL */
    u32 *seen, stamp;  /* by position */
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
    origin_expand(c->an->fn, end->origin, &sources);
    for (u32 k = 0; k < sources.n; k++)
        kept &= has(&c->before->table_hints, sources.v[k]) || (!table && has(&c->before->branch_hints, sources.v[k]));
    vec_free(&sources);
    return kept ? NULL : arena_printf(c->arena, "block %u: '%s' promises what no branch promised before", b->id, end->op->text->text);
}

/* ---- comparison: groups -------------------------------------------------------------------------------------------- */

static const char *check_arrivals(Checker *c)
{
    ArrivalVec now = {0};
    const ArrivalVec *before = &c->before->arrivals;
    const char *wrong = NULL;
    if (before->n)
        find_arrivals(c->arena, c->an, &c->before->uniform, &now);
    for (u32 k = 0, b = 0; k < now.n && !wrong; k++) {
        while (b < before->n && before->v[b].origin < now.v[k].origin)
            b++;
        /* Either count may be too high where paths that branches part meet in parts. That threads come in more groups is found
         * by what instructions depend on (analysis/convergence.h). */
        bool is_known = b < before->n && before->v[b].origin == now.v[k].origin;
        if (is_known && before->v[b].groups > now.v[k].groups && before->v[b].edges > now.v[k].edges)
            wrong = arena_printf(c->arena, "block %u: threads come in %u groups instead of %u to an instruction that sees who is there",
                                 c->block[now.v[k].origin]->id, now.v[k].groups, before->v[b].groups);
    }
    vec_free(&now);
    return wrong;
}

/* ---- comparison: points -------------------------------------------------------------------------------------------- */

static void visit(Checker *c, u32 position)
{
    if (c->seen[position] == c->stamp)
        return;
    c->seen[position] = c->stamp;
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

/* Where the old point is now: in front of *marker; *gone: nothing that marked it is left. */
static const Block *find_old(const Checker *c, const Point *point, u32 *marker, bool *gone)
{
    *gone = false;
    *marker = 0;
    if (point->leaves)
        return NULL;
    for (u32 k = 0; k < MARKERS && point->marker[k]; k++)
        if (c->block[point->marker[k]]) {
            *marker = point->marker[k];
            return c->block[*marker];
        }
    *gone = true;
    return NULL;
}

/* WaitEnds of what stands in b in front of the instruction. */
static u8 ends_before(const Checker *c, const Block *b, u32 marker)
{
    u8 ends = 0;
    for (const Instr *i = b->first; i && i->origin != marker; i = i->next)
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
    c->stamp++;
    vec_clear(&c->work);
    for_each_edge(e, &order->succ, order->index[b->id])
        visit(c, order->succ.to[e]);
    collect(c, now, &waits, &rest);
    c->stamp++;
    vec_clear(&c->work);
    visit(c, order->index[now->id]);
    rest = 0;
    collect(c, old, &rest, &ends);
    ends |= old ? ends_before(c, old, marker) : 0;
    if (!wait_may_end(c->waits, waits, ends))
        return NULL;
    return arena_printf(c->arena, "threads that part in block %u now wait for one another at block %u, in front of what one of them may wait for",
                        b->id, now->id);
}

static const char *check_branch(Checker *c, const Block *b)
{
    VecU32 sources = {0};
    const char *wrong = NULL;
    if (!branches(c->an, b) || is_uniform(c->an, b, &c->before->uniform))
        return NULL;
    origin_expand(c->an->fn, block_terminator(b)->origin, &sources);
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
    if (c.wrong || !before->points.n)
        return c.wrong;
    find_blocks(&c);
    c.waits = waits_compute(arena, an);
    c.seen = arena_array(arena, u32, order->count);
    for (u32 p = 0; p < order->count && c.waits->any_wait && !c.wrong; p++)
        c.wrong = check_branch(&c, order->rpo[p]);
    if (!c.wrong && !before->irreducible)
        c.wrong = check_arrivals(&c);
    vec_free(&c.work);
    return c.wrong;
}
