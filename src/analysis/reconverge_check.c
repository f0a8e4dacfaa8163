#include "analysis/reconverge_check.h"

#include <stdlib.h>

#include "analysis/arrivals.h"
#include "analysis/reconverge.h"
#include "base/marks.h"
#include "base/search.h"
#include "base/sorted.h"
#include "ir/inspect.h"

enum {
    MARKERS = 8,    /* instructions after a point by which it is found again */
    WALK = 1024,    /* blocks of one walk */
    WALKS = 1 << 20 /* of all walks of one comparison */
};

typedef struct ReconvergencePoint {
    u32 branch;          /* Instr.origin */
    u32 marker[MARKERS]; /* origins of what is executed first where its threads reconverge; 0: no more */
    u32 pre, last;       /* of the block where they do: in the dominator tree's numbering (analysis/dom.h) */
    bool leaves;         /* they leave the function first */
    u8 effects;          /* 1 << k: marker[k] does something; no phase removes it but one that merges it with a copy */
} ReconvergencePoint;
_Static_assert(MARKERS <= 8, "a bit for each marker");

/* An instruction in which a part of the threads that come to it together may wait for others of them: a call, an operation of lanes, or the
 * first instruction of a loop that waits. */
typedef struct ApartWait {
    u32 origin;
    u32 first, n; /* origins of branches that it depends on: ReconvergeSnapshot.apart_on */
} ApartWait;

struct ReconvergeSnapshot {
    VEC(ReconvergencePoint) points; /* by branch; without those that are proven uniform */
    u32 origins;                    /* Function.origins then */
    Arrivals *arrivals;
    u32 *pre;                         /* by Instr.origin: number of its block in the dominator tree; NULL: nobody waits */
    VecU32 branch_hints, table_hints; /* origins of bra.uni and brx.idx.uni, sorted */
    VecU32 uniform;                   /* origins of branches that are proven uniform, sorted */
    VEC(ApartWait) apart;             /* by origin */
    VecU32 apart_on;
};

static bool has_origin(const VecU32 *set, u32 origin) { return sorted_has(set->v, set->n, origin); }

/* was: origins of branches that were proven uniform before a phase. */
static bool is_uniform(Analyses *an, const Block *b, const VecU32 *was)
{
    return uniform_has(&an_uniform(an)->branch_warp, b->id) || has_origin(was, block_terminator(b)->origin);
}

/* The reconvergence point of b's branch; NULL: threads leave the function without waiting for one another. */
static Block *point_of(Analyses *an, const Block *b)
{
    Block *point = dom_parent(an_postdom(an), b);
    return point && !reconverge_only_leaves(point) ? point : NULL;
}

/* Whether b is in an infinite loop with several entries: where threads that enter it by different ones reconverge is not defined. */
static bool is_tangled(Analyses *an, const Block *b)
{
    const bool *tangled = an_postdom(an)->tangled;
    return tangled && tangled[b->id];
}

/* Whether it is not defined where threads reconverge that b's branch divides: in such a loop. */
static bool meets_tangled(Analyses *an, const Block *b)
{
    const Block *point = point_of(an, b);
    return is_tangled(an, b) || (point && is_tangled(an, point));
}

/* ---- snapshot ----------------------------------------------------------------------------------------------------- */

static ReconvergencePoint make_point(Analyses *an, const Block *b)
{
    ReconvergencePoint point = {.branch = block_terminator(b)->origin};
    const Block *at = block_skip_empty(point_of(an, b), MARKERS);
    u32 n = 0;
    point.leaves = !at;
    point.pre = at ? an_dom(an)->pre[at->id] : 0;
    point.last = at ? an_dom(an)->last[at->id] : 0;
    for (u32 hops = 0; at && hops < MARKERS && n < MARKERS; at = block_terminator(at) ? NULL : at->fall, hops++)
        for (const Instr *i = at->first; i && n < MARKERS; i = i->next)
            if (i->kind == INSTR_OP) {
                point.effects |= (u8)(!op_is_pure(i->op) && !instr_is(i, OPF_TERMINATOR)) << n;
                point.marker[n++] = i->origin;
            }
    return point;
}

static int compare_points(const void *a, const void *b)
{
    return sorted_compare(&((const ReconvergencePoint *)a)->branch, &((const ReconvergencePoint *)b)->branch);
}

/* Whether i may be such an instruction; where its mask is a constant all threads that come to it wait in it. */
static bool may_wait_apart(Analyses *an, const Instr *i)
{
    if (i->kind != INSTR_OP || op_is_pure(i->op))
        return false;
    u8 waits = instr_effects(i, an->summaries).waits;
    const Operand *mask = i->slots ? &i->opnd[i->slots - 1] : NULL;
    return instr_is(i, OPF_CALL) ? waits != 0 : waits & WAIT_LANES && (i->guard || !mask || mask->kind != OPND_IMM);
}

/* Adds the branches that b depends on, unless they are too many. Those behind b, which decide whether a loop comes to it again, do not
 * count. */
static void add_apart_branches(ReconvergeSnapshot *s, Analyses *an, const Block *b)
{
    BlockVec on = {0};
    u32 left = s->apart_on.n < WALKS ? WALKS - s->apart_on.n : 0;
    if (control_closure_within(an_control(an), b, left < WALK ? left : WALK, &on))
        for (u32 k = 0; k < on.n; k++)
            if (block_terminator(on.v[k]) && !dominates(an_dom(an), b, on.v[k]))
                vec_push(&s->apart_on, block_terminator(on.v[k])->origin);
    vec_free(&on);
}

static void add_apart(ReconvergeSnapshot *s, Analyses *an, const Block *b)
{
    const Instr *of_loop = an_waits(an)->loop[b->id] ? block_first_op(b) : NULL;
    u32 first = s->apart_on.n;
    bool known = false;
    for_each_instr(i, b) {
        if (i != of_loop && !may_wait_apart(an, i))
            continue;
        if (!known)
            add_apart_branches(s, an, b);
        known = true;
        vec_push(&s->apart, ((ApartWait){i->origin, first, s->apart_on.n - first}));
    }
}

static int compare_apart(const void *a, const void *b)
{
    return sorted_compare(&((const ApartWait *)a)->origin, &((const ApartWait *)b)->origin);
}

static void add_hint(ReconvergeSnapshot *s, const Instr *end)
{
    if (end && op_has(end->op, OPF_UNIFORM_HINT) && op_has(end->op, OPF_BRANCH))
        vec_push(branch_table(end) ? &s->table_hints : &s->branch_hints, end->origin);
}

ReconvergeSnapshot *reconverge_snapshot(Arena *arena, Analyses *an)
{
    ReconvergeSnapshot *s = arena_new(arena, ReconvergeSnapshot);
    bool waits = an_waits(an)->any_wait;
    s->origins = an->fn->origins;
    s->pre = waits ? arena_array(arena, u32, s->origins + 1) : NULL;
    for (u32 p = 0; p < an_order(an)->count; p++) {
        const Block *b = an_order(an)->rpo[p];
        add_hint(s, block_terminator(b));
        for_each_instr(i, b)
            if (waits && i->kind == INSTR_OP)
                s->pre[i->origin] = an_dom(an)->pre[b->id];
        if ((an_waits(an)->waits[b->id] || an_waits(an)->loop[b->id]) && !is_tangled(an, b))
            add_apart(s, an, b);
        if (!block_branches(an->fn, b) || !waits || meets_tangled(an, b))
            continue;
        if (uniform_has(&an_uniform(an)->branch_warp, b->id))
            vec_push(&s->uniform, block_terminator(b)->origin);
        else
            vec_push(&s->points, make_point(an, b));
    }
    if (s->points.n)
        qsort(s->points.v, s->points.n, sizeof *s->points.v, compare_points);
    if (s->apart.n)
        qsort(s->apart.v, s->apart.n, sizeof *s->apart.v, compare_apart);
    sorted_make(&s->branch_hints, 0);
    sorted_make(&s->table_hints, 0);
    sorted_make(&s->uniform, 0);
    s->arrivals = arrivals_snapshot(arena, an);
    return s;
}

void reconverge_snapshot_free(ReconvergeSnapshot *s)
{
    vec_free(&s->points);
    vec_free(&s->apart);
    vec_free(&s->apart_on);
    arrivals_free(s->arrivals);
    vec_free(&s->branch_hints);
    vec_free(&s->table_hints);
    vec_free(&s->uniform);
}

/* ---- comparison: .uni ---------------------------------------------------------------------------------------------- */

typedef struct PointsChecker {
    const ReconvergeSnapshot *before;
    Analyses *an;
    Arena *arena;
    const Waits *waits;
    u32 *first,
        *copy; /* by Instr.origin: it stands at the positions copy[first[origin]] .. copy[first[origin + 1] - 1] now */
    Marks seen, stop; /* by position; stop: where a walk ends */
    VecU32 work;
    u32 budget;
    const char *wrong;
} PointsChecker;

static const char *check_hint(PointsChecker *c, const Block *b)
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
    if (has_origin(&c->before->table_hints, end->origin) || (!table && has_origin(&c->before->branch_hints, end->origin)))
        return NULL;
    origin_sources_since(c->an->fn, end->origin, c->before->origins, &sources);
    for (u32 k = 0; k < sources.n; k++)
        kept &= has_origin(&c->before->table_hints, sources.v[k]) ||
                (!table && has_origin(&c->before->branch_hints, sources.v[k]));
    vec_free(&sources);
    return kept ? NULL
                : arena_printf(c->arena, "block %u: '%s' promises what no branch promised before", b->id,
                               end->op->text->text);
}

/* ---- comparison: points -------------------------------------------------------------------------------------------- */

static void visit(PointsChecker *c, u32 position)
{
    if (marks_add(&c->seen, position))
        vec_push(&c->work, position);
}

/* Adds the EffectWaits and WaitEnds of the blocks on paths from those that were visited to those where the walk ends. */
static void collect(PointsChecker *c, u8 *waits, u8 *ends)
{
    const Order *order = an_order(c->an);
    for (u32 k = 0; k < c->work.n; k++) {
        const Block *b = order->rpo[c->work.v[k]];
        if (marks_has(&c->stop, c->work.v[k]))
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

/* The index of the branch's first point, or where it would stand. */
static u32 find_point(const ReconvergeSnapshot *s, u32 origin)
{
    return partition_point(k, 0, s->points.n, s->points.v[k].branch < origin);
}

/* The first marker from the k-th on that is left, MARKERS: none, or code that it stood in was merged with other code. */
static u32 find_marker(const PointsChecker *c, const ReconvergencePoint *point, u32 k)
{
    for (; k < MARKERS && point->marker[k]; k++) {
        if (c->first[point->marker[k]] < c->first[point->marker[k] + 1])
            return k;
        if (point->effects >> k & 1)
            break;
    }
    return MARKERS;
}

/* Whether the threads of a branch have passed the old point when they reconverge at `now`: a copy of the marker stands on a path that
 * was just walked from the branch, or, where all threads go to `now`, all copies do. */
static bool is_after(const PointsChecker *c, const Block *now, u32 marker)
{
    const Order *order = an_order(c->an);
    bool all = marker != 0;
    for (u32 k = c->first[marker]; k < c->first[marker + 1]; k++) {
        const Block *old = order->rpo[c->copy[k]];
        if (old != now && marks_has(&c->seen, c->copy[k]))
            return true;
        all &= old != now && dominates(an_postdom(c->an), now, old);
    }
    return all;
}

/* Whether i stood after the old point: it may have been hoisted, and the point has not moved. */
static bool was_after(const PointsChecker *c, const Instr *i, const ReconvergencePoint *point)
{
    u32 pre = i->origin <= c->before->origins ? c->before->pre[i->origin] : 0;
    return pre && point->pre <= pre && pre <= point->last;
}

/* WaitEnds of the instructions in the walked blocks that stand in front of the marker now, and did before the phase. */
static u8 ends_before(const PointsChecker *c, u32 marker, const ReconvergencePoint *point)
{
    u8 ends = 0;
    for (u32 k = c->first[marker]; k < c->first[marker + 1]; k++) {
        const Instr *i = marks_has(&c->seen, c->copy[k]) ? an_order(c->an)->rpo[c->copy[k]]->first : NULL;
        for (; i && i->origin != marker; i = i->next)
            if (i->kind == INSTR_OP && !was_after(c, i, point))
                ends |= instr_ends(i, c->an->summaries);
    }
    return ends;
}

static void start_walk(PointsChecker *c)
{
    marks_clear(&c->seen);
    marks_clear(&c->stop);
    vec_clear(&c->work);
}

static void start_walk_to(PointsChecker *c, u32 marker)
{
    start_walk(c);
    for (u32 k = c->first[marker]; k < c->first[marker + 1]; k++)
        marks_add(&c->stop, c->copy[k]);
}

/* WaitEnds on the paths from what was visited to the copies of the marker. *reached: some path comes to one, or there is no marker. */
static u8 ends_to(PointsChecker *c, const ReconvergencePoint *point, u32 marker, bool *reached)
{
    u8 rest = 0, ends = 0;
    collect(c, &rest, &ends);
    *reached = marker == 0;
    for (u32 k = c->first[marker]; k < c->first[marker + 1]; k++)
        *reached |= marks_has(&c->seen, c->copy[k]);
    return ends | ends_before(c, marker, point);
}

/* Whether threads of b, which reconverge at `now`, may wait there for others that an instruction between `now` and the marker would
 * release. *reached: whether some path from `now` leads to a copy of the marker, or there is no marker. */
static bool waits_too_early(PointsChecker *c, const Block *b, const Block *now, const ReconvergencePoint *point, u32 marker,
                            bool *reached)
{
    const Order *order = an_order(c->an);
    u8 waits = 0, rest = 0;
    start_walk(c);
    marks_add(&c->stop, order->index[now->id]);
    for_each_edge(e, &order->succ, order->index[b->id])
        visit(c, order->succ.to[e]);
    collect(c, &waits, &rest);
    *reached = true;
    if (is_after(c, now, marker))
        return false;
    start_walk_to(c, marker);
    visit(c, order->index[now->id]);
    return wait_may_end(c->waits, waits, ends_to(c, point, marker, reached));
}

/* Judges one point of the branch by its markers in turn: one without effects that no path reaches was removed as dead, and the next
 * one is asked. */
static const char *check_point(PointsChecker *c, const Block *b, const ReconvergencePoint *point)
{
    const Block *now = point_of(c->an, b);
    for (u32 k = 0; now && (k = point->leaves ? 0 : find_marker(c, point, k)) < MARKERS; k++) {
        u32 marker = point->leaves ? 0 : point->marker[k];
        u32 copies = c->first[marker + 1] - c->first[marker];
        bool reached;
        if (copies >= c->budget)
            return NULL;
        c->budget -= copies + 1;
        if (!waits_too_early(c, b, now, point, marker, &reached))
            return NULL;
        if (reached || point->effects >> k & 1)
            return arena_printf(c->arena,
                                "threads that diverge in block %u now wait for one another at block %u, in front of what "
                                "one of them may wait for",
                                b->id, now->id);
    }
    return NULL;
}

/* NULL if some point of the branch of this origin is kept: b may be a copy of any block that ended in it. */
static const char *check_points(PointsChecker *c, const Block *b, u32 origin)
{
    const ReconvergeSnapshot *s = c->before;
    const char *wrong = NULL;
    for (u32 k = find_point(s, origin); k < s->points.n && s->points.v[k].branch == origin; k++)
        if (!(wrong = check_point(c, b, &s->points.v[k])))
            return NULL;
    return wrong;
}

static const char *check_branch(PointsChecker *c, const Block *b)
{
    VecU32 sources = {0};
    const char *wrong = NULL;
    if (!block_branches(c->an->fn, b) || meets_tangled(c->an, b) || is_uniform(c->an, b, &c->before->uniform))
        return NULL;
    origin_sources_since(c->an->fn, block_terminator(b)->origin, c->before->origins, &sources);
    for (u32 k = 0; k < sources.n && !wrong; k++)
        wrong = check_points(c, b, sources.v[k]);
    vec_free(&sources);
    return wrong;
}

/* ---- comparison: waits in which threads come together --------------------------------------------------------------- */

/* Where part of the threads may wait, and where all of them go on. */
typedef struct ApartPlace {
    const Block *block; /* of the wait */
    u8 waits;
    const Block *after; /* where they go on, from `from` on; NULL: they leave the function */
    const Instr *from;
} ApartPlace;

/* WaitEnds from `from` on to the marker or the end of the block. *reached: the marker is there. */
static u8 ends_from(const PointsChecker *c, const Instr *from, u32 marker, bool *reached)
{
    u8 ends = 0;
    for (const Instr *i = from; i && !*reached; i = i->next) {
        *reached = marker && i->kind == INSTR_OP && i->origin == marker;
        ends |= *reached || i->kind != INSTR_OP ? 0 : instr_ends(i, c->an->summaries);
    }
    return ends;
}

/* WaitEnds from there to the copies of the marker. *reached: some path comes to one, or there is no marker. */
static u8 ends_up_to(PointsChecker *c, const ApartPlace *place, const ReconvergencePoint *point, u32 marker, bool *reached)
{
    const Order *order = an_order(c->an);
    u32 from = order->index[place->after->id];
    *reached = false;
    u8 ends = ends_from(c, place->from, marker, reached);
    if (*reached)
        return ends;
    start_walk_to(c, marker);
    for_each_edge(e, &order->succ, from)
        visit(c, order->succ.to[e]);
    bool leaves = order_leaves_function(order, from);
    return ends | ends_to(c, point, marker, reached) | (leaves ? END_LEAVE : 0);
}

/* Whether a thread that waits there may wait for what those do later that a branch with this point led elsewhere. */
static bool waits_for_later(PointsChecker *c, const ApartPlace *place, const ReconvergencePoint *point)
{
    for (u32 k = 0; place->after && (k = point->leaves ? 0 : find_marker(c, point, k)) < MARKERS; k++) {
        u32 marker = point->leaves ? 0 : point->marker[k];
        bool reached;
        u8 ends = ends_up_to(c, place, point, marker, &reached);
        if (!wait_may_end(c->waits, place->waits, ends))
            return false;
        if (reached || point->effects >> k & 1)
            return true;
    }
    return false;
}

/* Whether threads that this branch divides come to b together now, and did not before. */
static bool comes_together(const PointsChecker *c, const Block *b, u32 branch, const VecU32 *on)
{
    const Order *order = an_order(c->an);
    if (has_origin(on, branch))
        return false;
    for (u32 k = c->first[branch]; k < c->first[branch + 1]; k++) {
        const Block *from = order->rpo[c->copy[k]];
        if (dominates(an_postdom(c->an), b, from) || dominates(an_dom(c->an), from, b) || dominates(an_dom(c->an), b, from))
            return true;
    }
    return false;
}

/* Origins of the branches that b depends on; false: there are too many. */
static bool find_branches_on(PointsChecker *c, const Block *b, VecU32 *on)
{
    BlockVec blocks = {0};
    bool within = control_closure_within(an_control(c->an), b, WALK < c->budget ? WALK : c->budget, &blocks);
    c->budget -= within ? blocks.n : 0;
    for (u32 k = 0; within && k < blocks.n; k++)
        if (block_terminator(blocks.v[k]))
            origin_sources_since(c->an->fn, block_terminator(blocks.v[k])->origin, c->before->origins, on);
    sorted_make(on, 0);
    vec_free(&blocks);
    return within;
}

/* Whether all writes of the register give it the same constant. */
static bool is_one_constant(const Function *fn, RegId reg)
{
    const Operand *value = NULL;
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || !instr_writes(i, reg))
                continue;
            const Operand *from = i->op->opcode == OPC_MOV && !i->guard ? instr_operand(i, 1) : NULL;
            if (!from || from->kind != OPND_IMM || (value && (u32)value->value != (u32)from->value))
                return false;
            value = from;
        }
    return value != NULL;
}

/* Whether i is an operation of lanes that all threads name by the same constant. */
static bool names_constant(const Function *fn, const Instr *i)
{
    RegId mask = instr_is(i, OPF_CALL) || i->guard ? 0 : operand_plain_register(&i->opnd[i->slots - 1]);
    return mask && is_one_constant(fn, mask);
}

static void check_apart(PointsChecker *c, const Instr *i, const ApartPlace *place)
{
    const ReconvergeSnapshot *s = c->before;
    u32 at = partition_point(k, 0, s->apart.n, s->apart.v[k].origin < i->origin);
    VecU32 on = {0};
    if (at == s->apart.n || s->apart.v[at].origin != i->origin || !find_branches_on(c, place->block, &on))
        return;
    const ApartWait *was = &s->apart.v[at];
    bool alike = false;
    for (u32 e = 0; e < was->n && !alike && !c->wrong; e++) {
        u32 branch = s->apart_on.v[was->first + e];
        if (!comes_together(c, place->block, branch, &on))
            continue;
        alike = !(place->waits & WAIT_OTHERS) && names_constant(c->an->fn, i);
        for (u32 k = find_point(s, branch); !alike && k < s->points.n && s->points.v[k].branch == branch && !c->wrong; k++)
            if (waits_for_later(c, place, &s->points.v[k]))
                c->wrong =
                    arena_printf(c->arena, "block %u: threads come to '%s' together, and one may wait there for another",
                                 i->block->id, i->op->text->text);
    }
    vec_free(&on);
}

/* Where the threads of a loop that waits go on: after it. */
static void check_apart_loop(PointsChecker *c, const Block *b)
{
    const Loops *loops = an_loops(c->an);
    const Loop *loop = loop_headed_by(loops, b) ? loop_of(loops, b) : NULL;
    const Instr *first = block_first_op(b);
    const Block *after = b;
    while (loop && after && loop_contains(loops, loop, after))
        after = point_of(c->an, after);
    if (!loop || !first || !after)
        return;
    check_apart(c, first, &(ApartPlace){b, WAIT_OTHERS, after, after->first});
}

static void check_apart_waits(PointsChecker *c, const Block *b)
{
    if (c->waits->loop[b->id])
        check_apart_loop(c, b);
    for (const Instr *i = c->waits->waits[b->id] ? b->first : NULL; i && !c->wrong; i = i->next) {
        bool is_call = i->kind == INSTR_OP && instr_is(i, OPF_CALL);
        if (may_wait_apart(c->an, i) && (is_call || !uniform_names_lanes(an_uniform(c->an), i)))
            check_apart(c, i, &(ApartPlace){b, instr_effects(i, c->an->summaries).waits, b, is_call ? i : i->next});
    }
}

static void find_copies(PointsChecker *c)
{
    const Order *order = an_order(c->an);
    u32 origins = c->an->fn->origins;
    c->first = arena_array(c->arena, u32, (size_t)origins + 3);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (i->kind == INSTR_OP)
                c->first[i->origin + 2]++;
    for (u32 k = 2; k <= origins + 2; k++)
        c->first[k] += c->first[k - 1];
    c->copy = arena_array(c->arena, u32, (size_t)c->first[origins + 2] + 1);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (i->kind == INSTR_OP)
                c->copy[c->first[i->origin + 1]++] = p;
}

const char *reconverge_compare(const ReconvergeSnapshot *before, Analyses *an, Arena *arena)
{
    PointsChecker c = {.before = before, .an = an, .arena = arena, .budget = WALKS};
    const Order *order = an_order(an);
    for (u32 p = 0; p < order->count && !c.wrong; p++)
        c.wrong = check_hint(&c, order->rpo[p]);
    if (!c.wrong)
        c.wrong = arrivals_compare(before->arrivals, an, arena);
    if (c.wrong || !before->points.n)
        return c.wrong;
    find_copies(&c);
    c.waits = waits_now(arena, an);
    c.seen = marks_new(arena, order->count);
    c.stop = marks_new(arena, order->count);
    for (u32 p = 0; p < order->count && c.waits->any_wait && !c.wrong; p++)
        c.wrong = check_branch(&c, order->rpo[p]);
    for (u32 p = 0; p < order->count && before->apart.n && !c.wrong; p++)
        check_apart_waits(&c, order->rpo[p]);
    vec_free(&c.work);
    return c.wrong;
}
