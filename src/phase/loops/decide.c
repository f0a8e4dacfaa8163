/* Sound: values and bounds are numbers modulo 2^32 or 2^64. The test computes with integers that do not wrap.
 *
 * The counter. In each iteration but the first the comparison held of y = y0 + k * c, where c is the step and y0 the value that it
 * had, or would have had, in front of the first iteration. Let it be `y < b` and c be positive. If y0 < b, and b - 1 + c does not
 * wrap, then by induction y0 + k * c does not wrap in any iteration, and is at most b - 1. So k * c is at most b - 1 - y0, the
 * distance; a constant step makes it a multiple of c. Where the comparison is `y != b`, c a constant and b - y0 a multiple of c,
 * y comes to b the first time after (b - y0) / c steps, unless b is y0, and c divides 2^32; then after 2^32 / c, and the distance
 * b - y0 - c is right modulo 2^32 as well.
 *
 * The comparisons. A value whose step is c times f is start + t * f modulo 2^32 or 2^64, where t = k * c is at most the distance.
 * The number F(t) = start + t * f is monotone in t. If F(0) and F(distance) lie in the range of the numbers that are compared, and
 * on the right side of the bound, so do all between, and each is what the loop compares. F may use any integer f that is equal
 * modulo 2^32: magnitudes below 2^32, so that a product of two is computed in 64 bits. Of several values that are apart by a
 * constant, or by multiples of f, the least is tested at its beginning and the greatest at its end.
 *
 * Values that are to be unequal to a bound go less far from the least of them than the bound is away, modulo 2^32 or 2^64.
 *
 * A value that is the counter itself is less than a bound if it is so in the first iteration, and the counter's bound is not greater:
 * in each other iteration the counter's comparison has held of it, whether it wrapped or not. */
#include "phase/loops/decide.h"

#include "analysis/ranges.h"
#include "ir/inspect.h"

enum {
    APART = 1 << 16, /* constants and multiples of less than that are added to a distance */
    ROOM = 2 * APART
};

static u64 constant_of(const LoopSums *s, LinearId id) { return linear_at(s->exprs, id)->constant; }
static bool is_below(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_LE; }
static bool is_strict(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_GT; }

/* Whether all terms of the expression have negative scales. */
static bool is_negative(const LoopSums *s, LinearId id)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    bool negative = sem_signed(e->constant, e->bits) <= 0;
    for (u32 k = 0; k < e->terms; k++)
        negative &= sem_signed(e->term[k].scale, e->bits) < 0;
    return negative;
}

/* ---- the counter ------------------------------------------------------------------------------------------------------------ */

bool loop_counter_read(LoopSums *s, const SumCompare *compare, const Block *block, LoopCounter *counter)
{
    const LoopSum *v = &compare->value;
    if (compare->predicate || v->extended || loop_sum_is_zero(s, v->step))
        return false;
    *counter = (LoopCounter){.compare = *compare, .block = block, .down = is_negative(s, v->step)};
    counter->step = counter->down ? linear_scale(s->exprs, v->step, (u64)-1) : v->step;
    if (loop_sum_is_constant(s, v->step))
        counter->constant = constant_of(s, counter->step);
    bool rises = is_below(compare->cmp), falls = compare->cmp == CMP_GT || compare->cmp == CMP_GE;
    if (counter->constant >= (u64)1 << 31)
        return false;
    return counter->down ? falls || (compare->cmp == CMP_NE && counter->constant)
                         : rises || (compare->cmp == CMP_NE && counter->constant);
}

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
    g->down = is_negative(s, g->factor);
    if (g->down)
        g->factor = linear_scale(s->exprs, g->factor, (u64)-1);
    return !loop_sum_is_constant(s, g->factor) || constant_of(s, g->factor) < (u64)1 << 30;
}

static bool are_alike(const DecideGroup *a, const DecideGroup *b)
{
    const SumCompare *x = &a->compare, *y = &b->compare;
    return x->cmp == y->cmp && x->is_signed == y->is_signed && x->width == y->width && x->bound == y->bound &&
           x->predicate == y->predicate && x->holds == y->holds && x->value.step == y->value.step &&
           x->value.bits == y->value.bits && x->value.extended == y->value.extended &&
           x->value.is_signed == y->value.is_signed && a->early == b->early && a->factor == b->factor && a->down == b->down;
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
    i64 add = sem_signed(constant_of(s, apart), g->compare.value.bits);
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
    for (u32 k = 0; k < d->group.n; k++)
        if (join_group(d->sums, &d->group.v[k], &g))
            return NULL;
    vec_push(&d->group, g);
    return NULL;
}

void loop_decision_free(LoopDecision *d) { vec_free(&d->group); }

/* ---- writing the test ------------------------------------------------------------------------------------------------------- */

typedef struct Test {
    LoopDecision *d;
    SumBuilder sums;
    Operand all;         /* all conditions so far; kind OPND_IMM: there is none */
    bool never;          /* one of them cannot hold */
    Operand distance[2]; /* by `early`: in 32 bits */
    bool known[2], roomy[2];
} Test;

static Operand number(u64 value, u32 bits, bool is_signed) { return build_integer(value, bits, is_signed); }

/* Adds a condition. */
static void require(Test *t, Operand x, Cmp cmp, Operand y, u32 bits, bool is_signed)
{
    if (x.kind == OPND_IMM && y.kind == OPND_IMM) {
        t->never |= range_compare(cmp, is_signed, range_constant(bits, (u64)x.value), range_constant(bits, (u64)y.value)) !=
                    FACT_TRUE;
        return;
    }
    if (x.kind == OPND_IMM) {
        SWAP(x, y);
        cmp = cmp_swapped(cmp);
    }
    bool more = t->all.kind == OPND_REG;
    Type type = is_signed ? signed_type(bits) : unsigned_type(bits);
    OpParts parts = {.cmp = cmp, .bool_op = more ? BOOL_AND : BOOL_NONE, .type = {type}};
    t->all = sum_emit(&t->sums, bits / 32, OPC_SETP, parts, TYPE_PRED, (Operand[]){x, y, t->all}, more ? 3 : 2);
}

static void require_predicate(Test *t, RegId reg, bool holds)
{
    Operand p = register_operand(reg);
    OpParts parts = {.type = {TYPE_PRED}};
    if (!holds)
        p = sum_emit(&t->sums, 0, OPC_NOT, parts, TYPE_PRED, &p, 1);
    bool more = t->all.kind == OPND_REG;
    t->all = more ? sum_emit(&t->sums, 1, OPC_AND, parts, TYPE_PRED, (Operand[]){t->all, p}, 2) : p;
}

/* Computes x op y of unsigned numbers. */
static Operand apply(Test *t, Opcode opcode, u32 bits, Operand x, Operand y)
{
    if (x.kind == OPND_IMM && y.kind == OPND_IMM) {
        Range r = range_binary(opcode, false, range_constant(bits, (u64)x.value), range_constant(bits, (u64)y.value));
        if (range_is_constant(&r))
            return number(r.lo, bits, false);
    }
    if (y.kind == OPND_IMM && y.value == 0 && (opcode == OPC_ADD || opcode == OPC_SUB || opcode == OPC_SHR))
        return x;
    u32 cost = opcode != OPC_DIV && opcode != OPC_REM ? bits / 32 : bits == 32 ? 8 : 80;
    Type type = opcode == OPC_AND ? bits_type(bits) : unsigned_type(bits);
    type = opcode == OPC_ADD || opcode == OPC_SUB ? signed_type(bits) : type;
    return sum_emit(&t->sums, cost, opcode, (OpParts){.type = {type}}, bits_type(bits), (Operand[]){x, y}, 2);
}

/* Extends 32 bits to 64. */
static Operand widen(Test *t, Operand x, bool is_signed)
{
    if (x.kind == OPND_IMM)
        return number(is_signed ? (u64)sem_signed((u64)x.value, 32) : (u64)x.value & UINT32_MAX, 64, is_signed);
    OpParts parts = {.type = {is_signed ? TYPE_S64 : TYPE_U64, is_signed ? TYPE_S32 : TYPE_U32}};
    return sum_emit(&t->sums, is_signed, OPC_CVT, parts, TYPE_B64, &x, 1);
}

static Operand low_half(Test *t, Operand x)
{
    if (x.kind == OPND_IMM)
        return number((u64)x.value, 32, false);
    return sum_emit(&t->sums, 0, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U64}}, TYPE_B32, &x, 1);
}

/* ---- the distance ------------------------------------------------------------------------------------------------------------ */

static u64 greatest(u32 bits, bool is_signed) { return is_signed ? sem_max(bits) >> 1 : sem_max(bits); }
static u64 least(u32 bits, bool is_signed) { return is_signed ? sem_sign(bits) : 0; }

/* Requires that one step past the bound does not wrap. */
static void require_no_wrap(Test *t, const LoopCounter *c)
{
    const SumCompare *cmp = &c->compare;
    u32 bits = cmp->value.bits;
    bool sgn = cmp->is_signed, strict = is_strict(cmp->cmp);
    Operand bound = sum_build(&t->sums, cmp->bound), step;
    if (c->constant == 1 && strict)
        return;
    if (c->constant) {
        u64 past = c->constant - strict;
        Operand end = number(c->down ? least(bits, sgn) + past : greatest(bits, sgn) - past, bits, sgn);
        require(t, bound, c->down ? CMP_GE : CMP_LE, end, bits, sgn);
        return;
    }
    step = sum_build(&t->sums, c->step);
    require(t, step, CMP_GT, number(0, bits, sgn), bits, sgn);
    Operand end = number(c->down ? least(bits, sgn) : greatest(bits, sgn), bits, sgn);
    end = apply(t, c->down ? OPC_ADD : OPC_SUB, bits, end, step);
    require(t, bound, c->down ? CMP_GE : CMP_LE, end, bits, sgn);
}

/* The distance of a counter that is compared to be unequal. */
static Operand exact_distance(Test *t, const LoopCounter *c, LinearId whole)
{
    LinearExprs *f = t->d->sums->exprs;
    u32 bits = c->compare.value.bits;
    u64 step = c->constant;
    Operand all = sum_build(&t->sums, whole);
    if (step & (step - 1)) {
        require(t, all, CMP_NE, number(0, bits, false), bits, false);
        require(t, apply(t, OPC_REM, bits, all, number(step, bits, false)), CMP_EQ, number(0, bits, false), bits, false);
    } else if (step > 1) {
        require(t, apply(t, OPC_AND, bits, all, number(step - 1, bits, false)), CMP_EQ, number(0, bits, false), bits,
                false);
    }
    return sum_build(&t->sums, linear_sum(f, whole, linear_constant(f, bits, step), (u64)-1));
}

/* The distance of a counter that is compared to be less or greater. */
static Operand limited_distance(Test *t, const LoopCounter *c, LinearId first, LinearId whole)
{
    LinearExprs *f = t->d->sums->exprs;
    const SumCompare *cmp = &c->compare;
    u32 bits = cmp->value.bits;
    u64 step = c->constant;
    require(t, sum_build(&t->sums, first), cmp->cmp, sum_build(&t->sums, cmp->bound), bits, cmp->is_signed);
    require_no_wrap(t, c);
    if (is_strict(cmp->cmp))
        whole = linear_sum(f, whole, linear_constant(f, bits, 1), (u64)-1);
    Operand d = sum_build(&t->sums, whole);
    if (step & (step - 1))
        return apply(t, OPC_SUB, bits, d, apply(t, OPC_REM, bits, d, number(step, bits, false)));
    return step > 1 ? apply(t, OPC_AND, bits, d, number(~(step - 1), bits, true)) : d;
}

/* The distance in 32 bits. */
static Operand build_distance(Test *t, bool early)
{
    if (t->known[early])
        return t->distance[early];
    const LoopCounter *c = t->d->counter;
    const SumCompare *cmp = &c->compare;
    LinearExprs *f = t->d->sums->exprs;
    LinearId first = early ? linear_sum(f, cmp->value.start, cmp->value.step, (u64)-1) : cmp->value.start;
    LinearId whole = c->down ? linear_sum(f, first, cmp->bound, (u64)-1) : linear_sum(f, cmp->bound, first, (u64)-1);
    Operand d = cmp->cmp == CMP_NE ? exact_distance(t, c, whole) : limited_distance(t, c, first, whole);
    if (cmp->value.bits == 64) {
        require(t, d, CMP_LT, number(((u64)1 << 32) - ROOM, 64, false), 64, false);
        d = low_half(t, d);
        t->roomy[early] = true;
    }
    t->known[early] = true;
    return t->distance[early] = d;
}

/* The distance of the group, and its multiples, in 32 bits. add: it must be possible to add the group's constant too. */
static Operand build_times(Test *t, const DecideGroup *g, bool add)
{
    const LoopCounter *c = t->d->counter;
    Operand d = build_distance(t, g->early);
    u64 more = g->times + (add ? g->add : 0);
    if (more && more >= c->constant && !t->roomy[g->early]) {
        require(t, d, CMP_LT, number(UINT32_MAX - ROOM, 32, false), 32, false);
        t->roomy[g->early] = true;
    }
    if (g->iterations && c->constant & (c->constant - 1))
        d = apply(t, OPC_DIV, 32, d, number(c->constant, 32, false));
    else if (g->iterations)
        d = apply(t, OPC_SHR, 32, d, number((u64)__builtin_ctzll(c->constant), 32, false));
    return apply(t, OPC_ADD, 32, d, number(more, 32, false));
}

/* ---- a group ------------------------------------------------------------------------------------------------------------------ */

/* The factor in 32 bits. */
static Operand build_factor(Test *t, const DecideGroup *g)
{
    LoopSums *s = t->d->sums;
    Operand f = sum_build(&t->sums, g->factor);
    const LinearExpr *e = linear_at(s->exprs, g->factor);
    if (e->bits == 32 || f.kind == OPND_IMM)
        return f;
    bool extended =
        e->terms == 1 && !e->constant && e->term[0].scale == 1 && s->exprs->terms.v[e->term[0].term].kind == TERM_UNSIGNED;
    if (!extended)
        require(t, f, CMP_LT, number((u64)1 << 32, 64, false), 64, false);
    return low_half(t, f);
}

/* Computes times * factor + more in 64 bits. */
static Operand build_way(Test *t, Operand times, Operand factor, Operand more)
{
    if (times.kind == OPND_IMM) {
        times.value &= UINT32_MAX;
        SWAP(times, factor);
    }
    bool one = factor.kind == OPND_IMM && factor.value == 1, none = more.kind == OPND_IMM && more.value == 0;
    if (times.kind == OPND_IMM)
        return apply(t, OPC_ADD, 64, number((u64)times.value * (u64)factor.value, 64, false), more);
    if (one)
        return apply(t, OPC_ADD, 64, widen(t, times, false), more);
    OpParts parts = {.type = {TYPE_U32}, .wide = true};
    Operand slots[] = {times, factor, more};
    Operand product = sum_emit(&t->sums, 1, OPC_MUL, parts, TYPE_B64, slots, 2);
    return none ? product : apply(t, OPC_ADD, 64, product, more);
}

/* Compares the distance of numbers of the compared width to the bound, or to the end of their range. */
static void require_same_width(Test *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    u32 bits = c->value.bits;
    bool above = is_below(c->cmp), sgn = c->is_signed;
    Operand start = sum_build(&t->sums, c->value.start), bound = sum_build(&t->sums, c->bound), way;
    if (bits == 32)
        way = build_times(t, g, true);
    else
        way = build_way(t, build_times(t, g, false), build_factor(t, g), number(g->add, 64, false));
    require(t, start, c->cmp, bound, bits, sgn);
    Operand end = number(g->down ? least(bits, sgn) : greatest(bits, sgn), bits, sgn);
    bool to_bound = above != g->down;
    if (to_bound)
        end = bound;
    Operand room = g->down ? apply(t, OPC_SUB, bits, start, end) : apply(t, OPC_SUB, bits, end, start);
    require(t, way, to_bound && is_strict(c->cmp) ? CMP_LT : CMP_LE, room, bits, false);
}

/* Values do not come to the bound: they go less far than it is away in their direction. */
static void require_unequal(Test *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    LoopSums *s = t->d->sums;
    Operand start = sum_build(&t->sums, c->value.start), bound = sum_build(&t->sums, c->bound);
    Operand room = apply(t, OPC_SUB, c->value.bits, g->down ? start : bound, g->down ? bound : start);
    if (c->value.bits == 32 && loop_sum_is_constant(s, g->factor) && constant_of(s, g->factor) == 1) {
        require(t, build_times(t, g, true), CMP_LT, room, 32, false);
        return;
    }
    Operand way = build_way(t, build_times(t, g, false), build_factor(t, g), number(g->add, 64, false));
    require(t, way, CMP_LT, c->value.bits == 32 ? widen(t, room, false) : room, 64, false);
}

/* The distance. If a register multiplies it and numbers are signed, it is less than 2^31: the product is then less than 2^63. */
static Operand build_multiplied_times(Test *t, const DecideGroup *g, bool sgn, Operand factor)
{
    Operand times = build_times(t, g, false);
    if (sgn && factor.kind != OPND_IMM)
        require(t, times, CMP_GE, number(0, 32, true), 32, true);
    return times;
}

/* Requires the comparison of numbers of 32 bits that rise; the last one is computed in 64 bits. */
static void require_rising(Test *t, const DecideGroup *g, bool sgn, u64 most, Operand start, Operand factor, Operand bound)
{
    const SumCompare *c = &g->compare;
    bool above = is_below(c->cmp);
    Operand times = build_multiplied_times(t, g, sgn, factor);
    Operand last = build_way(t, times, factor, apply(t, OPC_ADD, 64, start, number(g->add, 64, false)));
    if (c->value.extended || !above)
        require(t, last, CMP_LE, number(most, 64, sgn), 64, sgn);
    require(t, above ? last : start, c->cmp, bound, 64, c->value.extended ? c->is_signed : sgn);
}

/* Requires the same of numbers that fall. */
static void require_falling(Test *t, const DecideGroup *g, bool sgn, u64 most, Operand start, Operand factor, Operand bound)
{
    const SumCompare *c = &g->compare;
    bool above = is_below(c->cmp);
    Operand times = build_multiplied_times(t, g, sgn, factor);
    Operand way = build_way(t, times, factor, number(0, 64, false));
    if (most == INT32_MAX && !sgn)
        require(t, start, CMP_LE, number(most, 64, false), 64, false);
    if (!sgn)
        require(t, way, CMP_LE, start, 64, false);
    Operand last = apply(t, OPC_SUB, 64, start, way);
    if (sgn && (c->value.extended || above))
        require(t, last, CMP_GE, number(least(32, true) | ~(u64)UINT32_MAX, 64, true), 64, true);
    require(t, above ? start : last, c->cmp, bound, 64, c->value.extended ? c->is_signed : sgn);
}

static void require_in_64(Test *t, const DecideGroup *g)
{
    const SumCompare *c = &g->compare;
    bool ext = c->value.extended, sgn = ext ? c->value.is_signed && c->is_signed : c->is_signed;
    bool half = ext && c->value.is_signed && !c->is_signed; /* negative numbers become large ones */
    u64 most = sgn || half ? (u64)INT32_MAX : UINT32_MAX;
    Operand start = widen(t, sum_build(&t->sums, c->value.start), sgn), bound = sum_build(&t->sums, c->bound);
    if (!ext)
        bound = widen(t, bound, sgn);
    Operand factor = build_factor(t, g);
    if (g->down)
        require_falling(t, g, sgn, most, start, factor, bound);
    else
        require_rising(t, g, sgn, most, start, factor, bound);
}

/* Whether the group's value is what the counter compares, so that the counter's bound bounds it. */
static bool is_counter(const Test *t, const DecideGroup *g)
{
    const SumCompare *x = &g->compare, *y = t->d->counter ? &t->d->counter->compare : NULL;
    if (!y || y->cmp == CMP_NE || g->add || g->times || x->value.extended || x->value.bits != y->value.bits ||
        x->is_signed != y->is_signed || x->value.step != y->value.step)
        return false;
    bool above = is_below(x->cmp);
    LinearId first = g->early ? linear_sum(t->d->sums->exprs, y->value.start, y->value.step, (u64)-1) : y->value.start;
    return x->value.start == first && above == is_below(y->cmp);
}

static void require_counter(Test *t, const DecideGroup *g)
{
    const SumCompare *x = &g->compare, *y = &t->d->counter->compare;
    bool above = is_below(x->cmp), apart = !is_strict(y->cmp) && is_strict(x->cmp);
    Operand bound = sum_build(&t->sums, x->bound);
    Cmp cmp = above ? (apart ? CMP_LT : CMP_LE) : apart ? CMP_GT : CMP_GE;
    require(t, sum_build(&t->sums, x->value.start), x->cmp, bound, x->width, x->is_signed);
    require(t, sum_build(&t->sums, y->bound), cmp, bound, x->width, x->is_signed);
}

static void require_group(Test *t, const DecideGroup *g)
{
    LoopSums *s = t->d->sums;
    const SumCompare *c = &g->compare;
    if (c->predicate) {
        require_predicate(t, c->predicate, c->holds);
        return;
    }
    if (!changes(s, c)) {
        require(t, sum_build(&t->sums, c->value.start), c->cmp, sum_build(&t->sums, c->bound), c->width, c->is_signed);
        return;
    }
    bool one = loop_sum_is_constant(s, g->factor) && constant_of(s, g->factor) == 1;
    if (c->cmp == CMP_NE)
        require_unequal(t, g);
    else if (is_counter(t, g))
        require_counter(t, g);
    else if (!c->value.extended && (c->value.bits == 64 || one))
        require_same_width(t, g);
    else
        require_in_64(t, g);
}

static Test run(LoopDecision *d, const Builder *at)
{
    Test t = {.d = d, .all = {.kind = OPND_IMM}};
    sum_builder_init(&t.sums, d->sums, at);
    for (u32 k = 0; k < d->group.n && !t.never; k++)
        require_group(&t, &d->group.v[k]);
    sum_builder_free(&t.sums);
    return t;
}

u32 loop_decision_cost(LoopDecision *d)
{
    Test t = run(d, NULL);
    return t.never ? UINT32_MAX : t.sums.cost;
}

/* The number of iterations of a loop whose latch counts, where its distance is in a register, and exact. */
static RegId build_trips(Test *t)
{
    const LoopCounter *c = t->d->counter;
    if (!c || !t->known[true] || t->distance[true].kind != OPND_REG || !c->constant || c->constant & (c->constant - 1))
        return 0;
    Operand way = apply(t, OPC_SHR, 32, t->distance[true], number((u64)__builtin_ctzll(c->constant), 32, false));
    return apply(t, OPC_ADD, 32, way, number(1, 32, false)).id;
}

RegId loop_decision_build(LoopDecision *d, const Builder *at, bool trips)
{
    Test t = run(d, at);
    d->trips = trips ? build_trips(&t) : 0;
    return t.all.kind == OPND_REG ? t.all.id : 0;
}
