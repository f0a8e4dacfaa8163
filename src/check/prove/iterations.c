#include "check/prove/iterations.h"

#include <string.h>

#include "check/prove/prover.h"

enum { LOOPS_MAX = 1024, ITERATIONS_APART_MAX = 2 * ITERATION_SAME - 1 };

/* ---- loops ------------------------------------------------------------------------------------------------------------------- */

/* Whether threads that diverge at the block join in the loop, after an iteration of it has begun. */
static bool joins_after_iteration(ProveGraph *g, const CountedLoop *loop, u32 block)
{
    u32 at = g->postdom[block];
    return at != PROVE_NO_BLOCK && bitset_has(&loop->body, at) &&
           bitset_has(prove_influence(g, fn_block(g->fn, block)), loop->header);
}

/* Edges back that lie between where threads part and where they join, in the loop, are those of a loop inside, unless all are. */
static BitSet inner_latches(Prover *p, ProveGraph *g, const CountedLoop *loop)
{
    BitSet inner = bitset_new(p->arena, g->n);
    for_each_bit(id, &g->splits) {
        if (!joins_after_iteration(g, loop, id))
            continue;
        const BitSet *between = prove_influence(g, fn_block(g->fn, id));
        for_each_bit(k, &loop->latches)
            if (k == id || bitset_has(between, k))
                bitset_add(&inner, k);
    }
    if (bitset_subset(&loop->latches, &inner))
        bitset_clear(&inner);
    return inner;
}

/* All loops of the header. False: there are too many, or the loop can be entered past its header. */
static bool add_loops(Prover *p, ProveGraph *g, CountedLoops *l, u32 header, BitSet latches)
{
    while (bitset_next(&latches, 0) < g->n) {
        if (l->n == LOOPS_MAX)
            return false;
        CountedLoop *loop = &l->loop[l->n++];
        *loop = (CountedLoop){.header = header, .around = l->innermost[header], .latches = latches};
        loop->body = bitset_new(p->arena, g->n);
        prove_loop_body(g, header, &latches, &loop->body);
        if (bitset_has(&loop->body, g->fn->entry->id))
            return false;
        for_each_bit(id, &loop->body)
            l->innermost[id] = l->n;
        latches = inner_latches(p, g, loop);
        bitset_andnot(&loop->latches, &latches);
    }
    return true;
}

static BitSet latches_of(Prover *p, const ProveGraph *g, u32 header)
{
    BitSet latches = bitset_new(p->arena, g->n);
    for_each_edge(e, &g->pred, header) {
        u32 from = g->pred.to[e];
        if (g->order[from] >= g->order[header])
            bitset_add(&latches, from);
    }
    return latches;
}

static CountedLoops find_loops(Prover *p, ProveGraph *g)
{
    CountedLoops l = {.innermost = arena_array(p->arena, u32, g->n)};
    u32 most = 0;
    for (u32 id = 0; id < g->n; id++)
        most += g->is_join[id] == JOIN_LOOP ? prove_preds(g, id) : 0;
    l.loop = arena_array(p->arena, CountedLoop, most < LOOPS_MAX ? most : LOOPS_MAX);
    for (u32 k = 0; k < g->reachable; k++) {
        u32 header = g->by_order[k]->id;
        if (g->is_join[header] == JOIN_LOOP && !add_loops(p, g, &l, header, latches_of(p, g, header)))
            return (CountedLoops){0};
    }
    return l;
}

/* Whether they may be partners. */
static bool can_pair(const CountedLoops *before, const CountedLoop *x, const CountedLoop *y)
{
    return !y->partner && (x->around ? before->loop[x->around - 1].partner : 0) == y->around;
}

static CountedLoop *partner_at(const Prover *p, const CountedLoop *x, u32 header)
{
    const CountedLoops *l = &p->loops.of[PROVE_AFTER];
    for (u32 k = 0; k < l->n; k++)
        if (l->loop[k].header == header && can_pair(&p->loops.of[PROVE_BEFORE], x, &l->loop[k]))
            return &l->loop[k];
    return NULL;
}

/* The loop of AFTER whose header has a label of that one's, or which a path comes to as BEFORE does to that one. */
static CountedLoop *partner_of(const Prover *p, const CountedLoop *x, u32 same_label)
{
    CountedLoop *y = same_label ? partner_at(p, x, same_label - 1) : NULL;
    for (u32 k = 1; k < p->product.nodes.n && !y; k++)
        if (p->product.nodes.v[k]->place[PROVE_BEFORE].block->id == x->header)
            y = partner_at(p, x, p->product.nodes.v[k]->place[PROVE_AFTER].block->id);
    return y;
}

void prove_find_loops(Prover *p, const u32 *to_after)
{
    CountedLoops *before = &p->loops.of[PROVE_BEFORE], *after = &p->loops.of[PROVE_AFTER];
    p->loops.one_way = arena_array(p->arena, u8, p->side[PROVE_BEFORE].g.n);
    for (u32 side = 0; side < 2; side++)
        p->loops.of[side] = find_loops(p, &p->side[side].g);
    for (u32 k = 0; k < before->n && after->n; k++) {
        CountedLoop *x = &before->loop[k], *y = NULL;
        if (!x->around || before->loop[x->around - 1].partner)
            y = partner_of(p, x, to_after[x->header]);
        if (!y)
            continue;
        x->partner = (u32)(y - after->loop) + 1;
        y->partner = k + 1;
        p->path.iterations = arena_array(p->arena, Iteration, before->n);
    }
}

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

/* Updates the branches that BEFORE passed in the loop: AFTER begins another iteration of the partner, or enters it anew. */
static void move_on(Prover *p, u32 loop, bool enters)
{
    const Opens from = p->path.open[PROVE_BEFORE];
    Open *v = NULL;
    for (u32 k = 0; k < from.n; k++)
        if (from.v[k].iteration && p->loops.of[PROVE_BEFORE].innermost[from.v[k].block] == loop + 1) {
            if (!v) {
                v = arena_array(p->arena, Open, from.n);
                memcpy(v, from.v, from.n * sizeof *v);
            }
            v[k].iteration = enters ? 0 : v[k].iteration - 1;
        }
    if (v)
        p->path.open[PROVE_BEFORE].v = v;
}

/* The state in which the side alone has entered a loop. */
static IterationState alone(ProveSide side) { return side == PROVE_BEFORE ? ITERATION_OF_BEFORE : ITERATION_OF_AFTER; }

/* The side begins an iteration of the loop: it is in none of those inside any more. */
static void leave_inner(Prover *p, ProveSide side, u32 loop, Iteration *v)
{
    const CountedLoops *before = &p->loops.of[PROVE_BEFORE];
    for (u32 k = loop + 1; k < before->n; k++) {
        u32 around = before->loop[k].around;
        while (around > loop + 1)
            around = before->loop[around - 1].around;
        if (around == loop + 1 && v[k].state != alone((ProveSide)!side))
            v[k].state = ITERATION_UNKNOWN;
    }
}

static void enter_loop(Prover *p, ProveSide side, u32 loop, Iteration *v)
{
    u32 around = p->loops.of[PROVE_BEFORE].loop[loop].around;
    bool is_same = !around || (v[around - 1].state == ITERATION_OF_BOTH && v[around - 1].ahead == ITERATION_SAME);
    if (is_same && v[loop].state == alone((ProveSide)!side))
        v[loop].state = ITERATION_OF_BOTH;
    else
        v[loop] = (Iteration){(u8)alone(side), ITERATION_SAME};
    leave_inner(p, side, loop, v);
    if (side == PROVE_AFTER)
        move_on(p, loop, true);
}

static void begin_iteration(Prover *p, ProveSide side, u32 loop, Iteration *v)
{
    Iteration *r = &v[loop];
    bool is_far = side == PROVE_BEFORE ? r->ahead == ITERATIONS_APART_MAX : r->ahead == 1;
    if (r->state == ITERATION_OF_BOTH || r->state == alone(side))
        *r = is_far ? (Iteration){ITERATION_UNKNOWN, 0}
                    : (Iteration){r->state, (u8)(r->ahead + (side == PROVE_BEFORE ? 1 : -1))};
    leave_inner(p, side, loop, v);
    if (side == PROVE_AFTER)
        move_on(p, loop, false);
}

void prove_count_iteration(Prover *p, ProveSide side, const Block *from, const Block *to)
{
    const CountedLoops *l = &p->loops.of[side];
    if (!p->path.iterations || p->side[side].g.is_join[to->id] != JOIN_LOOP)
        return;
    u32 n = p->loops.of[PROVE_BEFORE].n;
    Iteration *v = arena_array(p->arena, Iteration, n);
    bool goes_on = false; /* in a loop further out */
    memcpy(v, p->path.iterations, n * sizeof *v);
    for (u32 k = l->n; k-- > 0;)
        goes_on |= l->loop[k].header == to->id && bitset_has(&l->loop[k].latches, from->id);
    for (u32 k = 0; k < l->n; k++) {
        const CountedLoop *loop = &l->loop[k];
        u32 index = side == PROVE_BEFORE ? k : loop->partner - 1;
        if (loop->header != to->id)
            continue;
        bool begins = bitset_has(&loop->latches, from->id);
        if (loop->partner && begins)
            begin_iteration(p, side, index, v);
        else if (loop->partner && !goes_on)
            enter_loop(p, side, index, v);
        goes_on &= !begins;
    }
    p->path.iterations = v;
}

u32 prove_iteration_of(const Prover *p, u32 block)
{
    u32 loop = p->path.iterations ? p->loops.of[PROVE_BEFORE].innermost[block] : 0;
    return loop && p->path.iterations[loop - 1].state == ITERATION_OF_BOTH ? p->path.iterations[loop - 1].ahead : 0;
}

bool prove_same_iterations(const Prover *p, const Iteration *a, const Iteration *b)
{
    return a == b || memcmp(a, b, p->loops.of[PROVE_BEFORE].n * sizeof *a) == 0;
}

const Iteration *prove_unite_iterations(Prover *p, const Iteration *a, const Iteration *b)
{
    if (prove_same_iterations(p, a, b))
        return a;
    u32 n = p->loops.of[PROVE_BEFORE].n;
    Iteration *v = arena_array(p->arena, Iteration, n);
    for (u32 k = 0; k < n; k++)
        if (a[k].state == b[k].state && a[k].ahead == b[k].ahead)
            v[k] = a[k];
    return v;
}

/* ---- threads that are together ------------------------------------------------------------------------------------------------ */

/* The effect of an edge to the header of a loop on the number of its iterations. */
typedef enum Effect { EFFECT_NONE, EFFECT_KEEPS, EFFECT_COUNTS, EFFECT_BEGINS } Effect;

static Effect effect_of(const CountedLoops *l, const CountedLoop *loop, u32 from)
{
    for (const CountedLoop *inner = loop + 1; inner < l->loop + l->n && inner->header == loop->header; inner++)
        if (bitset_has(&inner->latches, from))
            return EFFECT_KEEPS;
    return bitset_has(&loop->latches, from) ? EFFECT_COUNTS : EFFECT_BEGINS;
}

/* Whether threads that diverge at the block, in the same iteration, join in the same iteration. */
static bool join_in_step(ProveGraph *g, const CountedLoops *l, const CountedLoop *loop, u32 block)
{
    u32 at = g->postdom[block];
    const BitSet *between = prove_influence(g, fn_block(g->fn, block));
    Effect all = at == loop->header ? EFFECT_NONE : EFFECT_KEEPS;
    if (at == PROVE_NO_BLOCK || !bitset_has(&loop->body, at))
        return true;
    for_each_edge(e, &g->pred, loop->header) {
        u32 from = g->pred.to[e];
        if (from != block && !bitset_has(between, from))
            continue;
        Effect one = effect_of(l, loop, from);
        if (all != EFFECT_NONE && one != all)
            return false;
        all = one;
    }
    return true;
}

/* Whether threads that are together in the loop are in the same iteration of it, if they are so in the loops around. */
static bool look_for_step(ProveGraph *g, const CountedLoops *l, const CountedLoop *loop)
{
    for_each_bit(id, &g->splits)
        if (!join_in_step(g, l, loop, id))
            return false;
    return true;
}

static bool is_in_step(Prover *p, ProveSide side, u32 loop)
{
    for (; loop; loop = p->loops.of[side].loop[loop - 1].around) {
        CountedLoop *l = &p->loops.of[side].loop[loop - 1];
        if (!l->in_step)
            l->in_step = 1 + look_for_step(&p->side[side].g, &p->loops.of[side], l);
        if (l->in_step == 1)
            return false;
    }
    return true;
}

bool prove_is_same_iteration(Prover *p, u32 after, u32 block, u32 iteration, u32 other)
{
    const CountedLoops *before = &p->loops.of[PROVE_BEFORE];
    if (before->innermost && !before->innermost[block])
        return true;
    u32 loop = p->path.iterations ? before->innermost[block] : 0,
        partner = loop ? p->loops.of[PROVE_BEFORE].loop[loop - 1].partner : 0;
    return partner && iteration && iteration == other &&
           bitset_has(&p->loops.of[PROVE_AFTER].loop[partner - 1].body, after) && is_in_step(p, PROVE_BEFORE, loop) &&
           is_in_step(p, PROVE_AFTER, partner);
}

/* ---- a branch that is passed again ------------------------------------------------------------------------------------------- */

/* Whether control can come from one block to another before it comes to `stop`. */
static bool comes_to(ProveGraph *g, const Block *from, u32 to, u32 stop)
{
    return from->id != stop && (from->id == to || bitset_has(prove_reach(g, from, stop), to));
}

static bool look_for_ways_back(ProveGraph *g, u32 block)
{
    const Block *b = fn_block(g->fn, block), *back = NULL;
    for (u32 edge = 0; edge < block_edge_count(b); edge++) {
        const Block *to = block_edge_target(b, edge);
        if (to == back || !comes_to(g, to, block, g->postdom[block]))
            continue;
        if (back)
            return false;
        back = to;
    }
    return true;
}

bool prove_returns_one_way(Prover *p, u32 block)
{
    u8 *known = &p->loops.one_way[block];
    if (!*known)
        *known = 1 + look_for_ways_back(&p->side[PROVE_BEFORE].g, block);
    return *known == 2;
}

static bool joins_in(const ProveGraph *g, const CountedLoop *loop, u32 block)
{
    return g->postdom[block] != PROVE_NO_BLOCK && bitset_has(&loop->body, g->postdom[block]);
}

bool prove_keeps_parted(const Prover *p, u32 after, u32 block)
{
    const CountedLoops *before = &p->loops.of[PROVE_BEFORE];
    u32 loop = p->path.iterations ? before->innermost[block] : 0, outermost = 0;
    if (!loop || !before->loop[loop - 1].partner ||
        p->loops.of[PROVE_AFTER].innermost[after] != before->loop[loop - 1].partner)
        return false;
    for (; loop && !joins_in(&p->side[PROVE_BEFORE].g, &before->loop[loop - 1], block);
         loop = before->loop[loop - 1].around)
        outermost = before->loop[loop - 1].partner;
    return outermost && !joins_in(&p->side[PROVE_AFTER].g, &p->loops.of[PROVE_AFTER].loop[outermost - 1], after);
}
