/* Sound: values and bounds are numbers modulo 2^32 or 2^64. The test computes with integers that do not wrap. preheader.c says what
 * holds of the counter.
 *
 * A value whose step is c times f is start + t * f modulo 2^32 or 2^64, where t = k * c is at most the distance. The number F(t) =
 * start + t * f is monotone in t. Let F(0) and F(distance) lie in the range of the compared numbers, and on the right side of the
 * bound. Then so do all between, and each is what the loop compares. F may use any integer f that is equal modulo 2^32: its
 * magnitude is below 2^32, so 64 bits hold a product of two. Several values may differ by a constant, or by multiples of f. Of
 * these the least is tested at its beginning and the greatest at its end.
 *
 * If values must be unequal to a bound, they go, from the least of them, less far than the bound is away, modulo 2^32
 * or 2^64.
 *
 * A value that is the counter itself is less than a bound if two things hold. It is less in the first iteration, and the counter's
 * bound is not greater. In each other iteration the counter's comparison has held for it, whether it wrapped or not. */
#include "phase/loops/decide.h"

#include "ir/inspect.h"
#include "phase/loops/test_words.h"

enum {
    ALIKE_MAX = 64 /* the most groups of one bound and step that are looked at for one that decides a comparison too */
};

/* ---- what is decided ------------------------------------------------------------------------------------------------------- */

/* The expression divided by a constant; 0: it is not a multiple. */
static LinearId quotient(LoopSums *s, LinearId id, u64 by)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    LinearId sum = linear_constant(s->exprs, e->bits, (u64)(sem_signed(e->constant, e->bits) / (i64)by));
    bool whole = sem_signed(e->constant, e->bits) % (i64)by == 0;
    for (u32 k = 0; k < e->terms && whole; k++) {
        i64 scale = sem_signed(e->term[k].scale, e->bits);
        whole = scale % (i64)by == 0;
        sum = linear_sum(s->exprs, sum, linear_term(s->exprs, e->term[k].term), (u64)(scale / (i64)by));
    }
    return whole ? sum : 0;
}

/* How often `part` is in the expression, by its first term. */
static i64 times_in(const LoopSums *s, LinearId id, LinearId part)
{
    const LinearExpr *e = linear_at(s->exprs, id), *p = linear_at(s->exprs, part);
    for (u32 k = 0; k < e->terms && p->terms; k++) {
        i64 scale = sem_signed(e->term[k].scale, e->bits), unit = sem_signed(p->term[0].scale, p->bits);
        if (e->term[k].term == p->term[0].term && unit)
            return scale % unit ? 0 : scale / unit;
    }
    return 0;
}

/* What the step, a register, is to be multiplied by to give the expression; 0: nothing. */
static LinearId quotient_by_register(LoopSums *s, LinearId id, LinearId step)
{
    const LinearExpr *e = linear_at(s->exprs, id), *by = linear_at(s->exprs, step);
    i64 times = e->bits == by->bits ? times_in(s, id, step) : 0;
    if (times && linear_scale(s->exprs, step, (u64)times) == id)
        return linear_constant(s->exprs, e->bits, (u64)times);
    if (e->terms != 1 || e->constant)
        return 0;
    LinearTerm t = s->exprs->terms.v[e->term[0].term];
    if (t.kind == TERM_UNSIGNED && t.operand[0] == step)
        return linear_constant(s->exprs, e->bits, e->term[0].scale);
    if (t.kind != TERM_OPERATION || (t.operand[0] != step && t.operand[1] != step))
        return 0;
    return linear_scale(s->exprs, t.operand[t.operand[0] == step], e->term[0].scale);
}

/* Finds by how much the group's value changes where the counter goes by one, or in an iteration. */
static bool find_factor(const LoopDecision *d, DecideGroup *g)
{
    LoopSums *s = d->sums;
    const LoopCounter *c = d->counter;
    LinearId step = g->compare.value.step;
    g->factor = c->constant ? quotient(s, step, c->constant) : quotient_by_register(s, step, c->step);
    g->iterations = !g->factor && c->constant;
    if (g->iterations)
        g->factor = step;
    if (!g->factor)
        return false;
    g->down = loop_sum_is_negative(s, g->factor);
    if (g->down)
        g->factor = linear_scale(s->exprs, g->factor, (u64)-1);
    return !loop_sum_is_constant(s, g->factor) || loop_sum_constant(s, g->factor) < (u64)1 << 30;
}

static bool are_alike(const DecideGroup *a, const DecideGroup *b)
{
    const SumCompare *x = &a->compare, *y = &b->compare;
    return x->cmp == y->cmp && x->is_signed == y->is_signed && x->width == y->width && x->bound == y->bound &&
           x->predicate == y->predicate && x->holds == y->holds && x->value.step == y->value.step &&
           x->value.bits == y->value.bits && x->value.extended == y->value.extended &&
           x->value.is_signed == y->value.is_signed && a->early == b->early && a->factor == b->factor && a->down == b->down;
}

static u64 key_of(const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    u64 key[] = {c->bound, c->value.step, c->predicate, c->cmp, c->is_signed};
    return fnv_bytes(FNV_BASIS, (const char *)key, sizeof key);
}

static bool changes(const LoopSums *s, const SumCompare *c) { return !c->predicate && !loop_sum_is_zero(s, c->value.step); }

/* Lets the group decide the value too. False: it cannot. */
static bool join_group(LoopSums *s, DecideGroup *g, const DecideGroup *more)
{
    if (!are_alike(g, more))
        return false;
    if (g->compare.value.start == more->compare.value.start)
        return true;
    if (!changes(s, &g->compare) || g->down)
        return false;
    LinearId apart = linear_sum(s->exprs, more->compare.value.start, g->compare.value.start, (u64)-1);
    i64 times = apart ? times_in(s, apart, g->factor) : 0;
    if (times)
        apart = linear_sum(s->exprs, apart, g->factor, 0 - (u64)times);
    if (!apart || !loop_sum_is_constant(s, apart))
        return false;
    i64 add = sem_signed(loop_sum_constant(s, apart), g->compare.value.bits);
    if (add <= -APART || add >= APART || times <= -APART || times >= APART || (add < 0 && times > 0) ||
        (add > 0 && times < 0))
        return false;
    bool below = add < 0 || times < 0;
    u64 most_add = below ? g->add + (u64)-add : (u64)add, most_times = below ? g->times + (u64)-times : (u64)times;
    if (most_add >= APART || most_times >= APART)
        return false;
    if (below)
        g->compare.value.start = more->compare.value.start;
    g->add = most_add > g->add ? most_add : g->add;
    g->times = most_times > g->times ? most_times : g->times;
    return true;
}

/* Finds a group that decides it too, the first of those with its key, or begins one. */
static void add_group(LoopDecision *d, DecideGroup g)
{
    u64 *first = fnvmap_at(&d->first, key_of(&g)), last = 0;
    u32 left = ALIKE_MAX;
    for (u64 k = *first; k && left; k = d->group.v[k - 1].next, left--) {
        if (join_group(d->sums, &d->group.v[k - 1], &g)) {
            d->last = (u32)k - 1;
            return;
        }
        last = k;
    }
    d->last = d->group.n;
    vec_push(&d->group, g);
    if (!last)
        *first = d->group.n;
    else if (left)
        d->group.v[last - 1].next = d->group.n;
}

const char *loop_decision_add(LoopDecision *d, const SumCompare *compare, bool early)
{
    DecideGroup g = {.compare = *compare, .early = early};
    if (changes(d->sums, compare)) {
        if (!d->counter)
            return "it is not known how often the loop runs";
        if (compare->cmp == CMP_EQ || (compare->cmp == CMP_NE && compare->value.extended))
            return "it compares for equality";
        if (!find_factor(d, &g))
            return "its value goes in other steps than the loop's counter";
    } else {
        g.early = false;
    }
    add_group(d, g);
    return NULL;
}

void loop_decision_close(LoopDecision *d)
{
    vec_shrink(&d->group);
    fnvmap_free(&d->first);
}

void loop_decision_free(LoopDecision *d)
{
    vec_free(&d->group);
    fnvmap_free(&d->first);
}

/* ---- writing the test ------------------------------------------------------------------------------------------------------- */

/* The distance of the group, and its multiples, in 32 bits. add: it must be possible to add the group's constant too. */
static Operand build_times(Preheader *t, const DecideGroup *g, bool add)
{
    const LoopCounter *c = t->counter;
    Operand d = preheader_distance(t, g->early);
    u64 more = g->times + (add ? g->add : 0);
    if (more && more >= c->constant && !t->roomy[g->early]) {
        preheader_require(t, d, CMP_LT, preheader_number(UINT32_MAX - ROOM, 32, false), 32, false);
        t->roomy[g->early] = true;
    }
    if (g->iterations && c->constant & (c->constant - 1))
        d = preheader_apply(t, OPC_DIV, 32, d, preheader_number(c->constant, 32, false));
    else if (g->iterations)
        d = preheader_apply(t, OPC_SHR, 32, d, preheader_number((u64)__builtin_ctzll(c->constant), 32, false));
    return preheader_apply(t, OPC_ADD, 32, d, preheader_number(more, 32, false));
}

/* ---- a group ------------------------------------------------------------------------------------------------------------------ */

/* The factor in 32 bits. */
static Operand build_factor(Preheader *t, const DecideGroup *g)
{
    LoopSums *s = t->sums.sums;
    Operand f = sum_build(&t->sums, g->factor);
    const LinearExpr *e = linear_at(s->exprs, g->factor);
    if (e->bits == 32 || f.kind == OPND_IMM)
        return f;
    bool extended =
        e->terms == 1 && !e->constant && e->term[0].scale == 1 && s->exprs->terms.v[e->term[0].term].kind == TERM_UNSIGNED;
    if (!extended)
        preheader_require(t, f, CMP_LT, preheader_number((u64)1 << 32, 64, false), 64, false);
    return preheader_low_half(t, f);
}

/* Computes times * factor + more in 64 bits. */
static Operand build_way(Preheader *t, Operand times, Operand factor, Operand more)
{
    if (times.kind == OPND_IMM) {
        times.value &= UINT32_MAX;
        SWAP(times, factor);
    }
    bool one = factor.kind == OPND_IMM && factor.value == 1, none = more.kind == OPND_IMM && more.value == 0;
    if (times.kind == OPND_IMM)
        return preheader_apply(t, OPC_ADD, 64, preheader_number((u64)times.value * (u64)factor.value, 64, false), more);
    if (one)
        return preheader_apply(t, OPC_ADD, 64, preheader_widen(t, times, false), more);
    OpParts parts = {.type = {TYPE_U32}, .wide = true};
    Operand slots[] = {times, factor, more};
    Operand product = sum_emit(&t->sums, (SumOp){OPC_MUL, parts, TYPE_B64, 1}, slots, 2);
    return none ? product : preheader_apply(t, OPC_ADD, 64, product, more);
}

/* Compares the distance of numbers of the compared width to the bound, or to the end of their range. */
static void require_same_width(Preheader *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    u32 bits = c->value.bits;
    bool above = cmp_is_below(c->cmp), sgn = c->is_signed;
    Operand start = sum_build(&t->sums, c->value.start), bound = sum_build(&t->sums, c->bound), way;
    if (bits == 32)
        way = build_times(t, g, true);
    else
        way = build_way(t, build_times(t, g, false), build_factor(t, g), preheader_number(g->add, 64, false));
    preheader_require(t, start, c->cmp, bound, bits, sgn);
    Operand end = preheader_number(g->down ? preheader_least(bits, sgn) : preheader_greatest(bits, sgn), bits, sgn);
    bool to_bound = above != g->down;
    if (to_bound)
        end = bound;
    Operand room = g->down ? preheader_apply(t, OPC_SUB, bits, start, end) : preheader_apply(t, OPC_SUB, bits, end, start);
    preheader_require(t, way, to_bound && cmp_is_strict(c->cmp) ? CMP_LT : CMP_LE, room, bits, false);
}

/* Values do not come to the bound: they go less far than it is away in their direction. */
static void require_unequal(Preheader *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    LoopSums *s = t->sums.sums;
    Operand start = sum_build(&t->sums, c->value.start), bound = sum_build(&t->sums, c->bound);
    Operand room = preheader_apply(t, OPC_SUB, c->value.bits, g->down ? start : bound, g->down ? bound : start);
    if (c->value.bits == 32 && loop_sum_is_constant(s, g->factor) && loop_sum_constant(s, g->factor) == 1) {
        preheader_require(t, build_times(t, g, true), CMP_LT, room, 32, false);
        return;
    }
    Operand way = build_way(t, build_times(t, g, false), build_factor(t, g), preheader_number(g->add, 64, false));
    preheader_require(t, way, CMP_LT, c->value.bits == 32 ? preheader_widen(t, room, false) : room, 64, false);
}

/* Numbers of 32 bits whose comparison is computed in 64. */
typedef struct Widened {
    bool sgn;
    u64 most; /* the greatest number */
    Operand start, factor, bound;
} Widened;

/* Makes the distance. Where a register multiplies it, as a signed number, it is also required to be less than 2^31: then the
 * product is less than 2^63. */
static Operand build_multiplied_times(Preheader *t, const DecideGroup *g, const Widened *w)
{
    Operand times = build_times(t, g, false);
    if (w->sgn && w->factor.kind != OPND_IMM)
        preheader_require(t, times, CMP_GE, preheader_number(0, 32, true), 32, true);
    return times;
}

/* Requires the comparison of numbers that rise. */
static void require_rising(Preheader *t, const DecideGroup *g, const Widened *w)
{
    const SumCompare *c = &g->compare;
    bool above = cmp_is_below(c->cmp);
    Operand times = build_multiplied_times(t, g, w);
    Operand first = preheader_apply(t, OPC_ADD, 64, w->start, preheader_number(g->add, 64, false));
    Operand last = build_way(t, times, w->factor, first);
    if (c->value.extended || !above)
        preheader_require(t, last, CMP_LE, preheader_number(w->most, 64, w->sgn), 64, w->sgn);
    preheader_require(t, above ? last : w->start, c->cmp, w->bound, 64, c->value.extended ? c->is_signed : w->sgn);
}

/* Requires the comparison of numbers that fall. */
static void require_falling(Preheader *t, const DecideGroup *g, const Widened *w)
{
    const SumCompare *c = &g->compare;
    bool above = cmp_is_below(c->cmp);
    Operand times = build_multiplied_times(t, g, w);
    Operand way = build_way(t, times, w->factor, preheader_number(0, 64, false));
    if (w->most == INT32_MAX && !w->sgn)
        preheader_require(t, w->start, CMP_LE, preheader_number(w->most, 64, false), 64, false);
    if (!w->sgn)
        preheader_require(t, way, CMP_LE, w->start, 64, false);
    Operand last = preheader_apply(t, OPC_SUB, 64, w->start, way);
    if (w->sgn && (c->value.extended || above))
        preheader_require(t, last, CMP_GE, preheader_number(preheader_least(32, true) | ~(u64)UINT32_MAX, 64, true), 64,
                          true);
    preheader_require(t, above ? w->start : last, c->cmp, w->bound, 64, c->value.extended ? c->is_signed : w->sgn);
}

static void require_in_64(Preheader *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    bool ext = c->value.extended, sgn = ext ? c->value.is_signed && c->is_signed : c->is_signed;
    bool half = ext && c->value.is_signed && !c->is_signed; /* negative numbers become large ones */
    u64 most = sgn || half ? (u64)INT32_MAX : UINT32_MAX;
    Operand start = preheader_widen(t, sum_build(&t->sums, c->value.start), sgn), bound = sum_build(&t->sums, c->bound);
    if (!ext)
        bound = preheader_widen(t, bound, sgn);
    Widened w = {sgn, most, start, build_factor(t, g), bound};
    if (g->down)
        require_falling(t, g, &w);
    else
        require_rising(t, g, &w);
}

/* Whether the group's value is what the counter compares, so that the counter's bound bounds it. */
static bool is_counter(const Preheader *t, const DecideGroup *g)
{
    const SumCompare *x = &g->compare, *y = t->counter ? &t->counter->compare : NULL;
    if (!y || y->cmp == CMP_NE || g->add || g->times || x->value.extended || x->value.bits != y->value.bits ||
        x->is_signed != y->is_signed || x->value.step != y->value.step)
        return false;
    bool above = cmp_is_below(x->cmp);
    LinearId first = g->early ? linear_sum(t->sums.sums->exprs, y->value.start, y->value.step, (u64)-1) : y->value.start;
    return x->value.start == first && above == cmp_is_below(y->cmp);
}

static void require_counter(Preheader *t, const DecideGroup *g)
{
    const SumCompare *x = &g->compare, *y = &t->counter->compare;
    bool above = cmp_is_below(x->cmp), apart = !cmp_is_strict(y->cmp) && cmp_is_strict(x->cmp);
    Operand bound = sum_build(&t->sums, x->bound);
    Cmp cmp = above ? (apart ? CMP_LT : CMP_LE) : apart ? CMP_GT : CMP_GE;
    preheader_require(t, sum_build(&t->sums, x->value.start), x->cmp, bound, x->width, x->is_signed);
    preheader_require(t, sum_build(&t->sums, y->bound), cmp, bound, x->width, x->is_signed);
}

static void require_group(Preheader *t, const DecideGroup *g)
{
    LoopSums *s = t->sums.sums;
    const SumCompare *c = &g->compare;
    if (c->predicate) {
        preheader_require_predicate(t, c->predicate, c->holds);
        return;
    }
    if (!changes(s, c)) {
        preheader_require(t, sum_build(&t->sums, c->value.start), c->cmp, sum_build(&t->sums, c->bound), c->width,
                          c->is_signed);
        return;
    }
    bool one = loop_sum_is_constant(s, g->factor) && loop_sum_constant(s, g->factor) == 1;
    if (c->cmp == CMP_NE)
        require_unequal(t, g);
    else if (is_counter(t, g))
        require_counter(t, g);
    else if (!c->value.extended && (c->value.bits == 64 || one))
        require_same_width(t, g);
    else
        require_in_64(t, g);
}

static Preheader build_test(LoopDecision *d, const Builder *at, TestWords *words)
{
    Preheader t = preheader_new(d->sums, d->counter, at, words);
    for (u32 k = 0; k < d->group.n && !t.never; k++)
        require_group(&t, &d->group.v[k]);
    preheader_free(&t);
    return t;
}

u32 loop_decision_cost(LoopDecision *d)
{
    Preheader t = build_test(d, NULL, NULL);
    return t.never ? UINT32_MAX : t.sums.cost;
}

/* The number of iterations of a loop whose latch counts, where its distance is in a register, and exact. */
static RegId build_trips(Preheader *t)
{
    const LoopCounter *c = t->counter;
    if (!c || !t->known[true] || t->distance[true].kind != OPND_REG || !c->constant || c->constant & (c->constant - 1))
        return 0;
    Operand way =
        preheader_apply(t, OPC_SHR, 32, t->distance[true], preheader_number((u64)__builtin_ctzll(c->constant), 32, false));
    return preheader_apply(t, OPC_ADD, 32, way, preheader_number(1, 32, false)).id;
}

RegId loop_decision_build(LoopDecision *d, const Builder *at, bool trips)
{
    Preheader t = build_test(d, at, NULL);
    d->trips = trips ? build_trips(&t) : 0;
    return t.all.kind == OPND_REG ? t.all.id : 0;
}

const char *loop_decision_words(PhaseRun *run, LoopDecision *d)
{
    TestWords words = test_words_new(run, d->sums);
    build_test(d, NULL, &words);
    return test_words_end(&words);
}
