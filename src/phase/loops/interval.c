/* Sound: in iteration k a value is start + k * step modulo 2^32 or 2^64, and the loop runs T iterations. The test asks whether
 * start + T * step, the value after the last iteration, is on the side of start to which the values go. T * step is less than 2^31,
 * so it is there if and only if no value wraps. Then values are monotone in k.
 *
 * Let them rise. `value < bound` holds up to the first k for which start + k * step is at least the bound, and `value >= bound`
 * from there on. The bound is clamped to lie between start and start + T * step. Then its distance from start does not wrap, and k
 * is the distance divided by the step and rounded up: at most T. For falling values, `greater` takes the place of `less`. The other
 * comparisons are those with a bound one more or less, if that does not wrap.
 *
 * A step in a register is tested not to be 0, and T * step is computed in 64 bits, so it does not wrap. If the text subtracts the
 * step, the value is taken to fall, and the step's negative is tested.
 *
 * Values of one base differ by constants. If the least of them does not wrap up to the greatest after the last iteration, none
 * between wraps. The least of them is the last to reach a bound.
 *
 * An unsigned value less than a bound that is not negative as a signed number is, as a signed one, from 0 up to the bound. Beside
 * an unsigned counter it is read as unsigned.
 *
 * A check must hold from the first iteration on. Let its value rise, and let it be less than the bound at first. It stays so as
 * long as k * step is less than their distance: up to there it does not wrap. Nor does an extended one whose distance from the end
 * of its own range is not less. If the value is not less in the first iteration, the distance is 0. A value that goes away from its
 * bound satisfies the comparison, if it does in the first iteration, up to the end of its range. One that must be unequal reaches
 * the bound, if at all, after as many steps as fit into their distance. It is then there for the first time. None of that depends
 * on how often the loop runs. */
#include "phase/loops/interval.h"

#include "analysis/ranges.h"

enum {
    LIMITS_MAX = 64,      /* the most different comparisons, and lines of values */
    OFFSET_MAX = 1 << 16, /* values are apart by less than that */
    RUN_MOST =
        1 << 30 /* the most iterations of a middle part that ends before a check, where their number has to be limited */
};

#define WAY_MOST (((u64)1 << 31) - 2 * OFFSET_MAX - 1) /* the farthest that a value goes in all iterations */

const char *const loop_interval_unchanged = "it does not change in the loop";

/* ---- what is compared ------------------------------------------------------------------------------------------------- */

static bool is_same(const SumCompare *a, const SumCompare *b)
{
    if (a->predicate || b->predicate)
        return a->predicate == b->predicate && a->holds == b->holds;
    return a->value.start == b->value.start && a->bound == b->bound && a->width == b->width && a->cmp == b->cmp &&
           a->is_signed == b->is_signed;
}

static const char *add_always(LoopInterval *in, const SumCompare *c)
{
    for (u32 k = 0; k < in->always.n; k++)
        if (is_same(&in->always.v[k], c))
            return NULL;
    if (in->always.n == LIMITS_MAX)
        return "enough others go";
    vec_push(&in->always, *c);
    return NULL;
}

/* Finds the line of a value, and how far the value is from the line's base; NULL: there are too many. */
static IntervalLine *find_line(LoopInterval *in, const LoopSum *v, bool is_signed, i64 *add)
{
    *add = 0;
    for (u32 k = 0; k < in->line.n; k++) {
        IntervalLine *l = &in->line.v[k];
        if (l->by == v->step && l->is_signed == is_signed && linear_difference(in->sums->exprs, l->base, v->start, add) &&
            *add > -OFFSET_MAX / 2 && *add < OFFSET_MAX / 2)
            return l;
    }
    if (in->line.n == LIMITS_MAX)
        return NULL;
    *add = 0;
    bool constant = loop_sum_is_constant(in->sums, v->step);
    i64 step = constant ? sem_signed(loop_sum_constant(in->sums, v->step), v->bits) : 0;
    vec_push(&in->line, ((IntervalLine){.base = v->start,
                                        .by = v->step,
                                        .step = step < 0 ? 0 - (u64)step : (u64)step,
                                        .down = step < 0 || (!step && loop_sum_is_negative(in->sums, v->step)),
                                        .bits = v->bits,
                                        .is_signed = is_signed}));
    return &in->line.v[in->line.n - 1];
}

/* Adds a comparison, as one of signed or of unsigned numbers. NULL, or why it stays. */
static const char *add_limit(LoopInterval *in, const SumCompare *c, bool is_signed, Cmp cmp, LinearId bound,
                             bool not_negative)
{
    IntervalLimit new = {.bound = bound, .width = c->width, .is_signed = is_signed, .not_negative = not_negative};
    IntervalLine *l = find_line(in, &c->value, c->value.extended ? c->value.is_signed : is_signed, &new.add);
    if (!l || in->limit.n == LIMITS_MAX)
        return "enough others go";
    bool below = cmp_is_below(cmp), strict = cmp_is_strict(cmp);
    new.line = (u32)(l - in->line.v);
    new.from = below == l->down;
    new.past = strict != new.from ? 0 : l->down ? -1 : 1;
    l->least = new.add < l->least ? new.add : l->least;
    l->most = new.add > l->most ? new.add : l->most;
    for (u32 k = 0; k < in->limit.n; k++) {
        IntervalLimit *old = &in->limit.v[k];
        if (old->line != new.line || old->bound != bound || old->width != new.width || old->is_signed != is_signed ||
            old->from != new.from || old->past != new.past || old->not_negative != not_negative)
            continue;
        bool first = new.from != l->down ? new.add < old->add : new.add > old->add;
        old->add = first ? new.add : old->add;
        return NULL;
    }
    vec_push(&in->limit, new);
    return NULL;
}

/* Why it is not known in which iterations the comparison, of a value that changes, holds. */
static const char *why_no_limit(const LoopInterval *in, const SumCompare *c)
{
    bool constant = loop_sum_is_constant(in->sums, c->value.step);
    i64 step = constant ? sem_signed(loop_sum_constant(in->sums, c->value.step), c->value.bits) : 0;
    if (step <= -OFFSET_MAX || step >= OFFSET_MAX)
        return "its value goes in large steps";
    if (c->cmp == CMP_EQ || c->cmp == CMP_NE)
        return "it compares for equality";
    bool half = c->value.extended && c->value.is_signed && !c->is_signed;
    return half && !cmp_is_below(c->cmp) ? "it compares negative numbers as large ones" : NULL;
}

/* Whether the value is likely an unsigned number: what the counter compares as one goes in the same steps, and begins before it. */
static bool is_unsigned(const LoopInterval *in, const SumCompare *c)
{
    const LoopSum *counts = &in->counter->compare.value, *v = &c->value;
    LinearExprs *f = in->sums->exprs;
    if (in->counter->compare.cmp == CMP_NE || in->counter->compare.is_signed || v->extended || counts->step != v->step ||
        in->counter->down)
        return false;
    LinearId first = linear_sum(f, counts->start, counts->step, (u64)-1);
    LinearId more = first ? linear_sum(f, v->start, first, (u64)-1) : 0;
    const LinearExpr *e = more ? linear_at(f, more) : NULL;
    bool after = e && sem_signed(e->constant, e->bits) >= 0;
    for (u32 k = 0; after && k < e->terms; k++)
        after = sem_signed(e->term[k].scale, e->bits) > 0;
    return after;
}

static const char *add_change(LoopInterval *in, const SumCompare *c)
{
    const char *why = why_no_limit(in, c);
    if (why)
        return why;
    if (c->is_signed || !cmp_is_below(c->cmp) || (c->value.extended && !c->value.is_signed) || is_unsigned(in, c))
        return add_limit(in, c, c->is_signed, c->cmp, c->bound, false);
    LinearId zero = linear_constant(in->sums->exprs, c->width, 0);
    why = add_limit(in, c, true, c->cmp, c->bound, true);
    return why ? why : add_limit(in, c, true, CMP_GE, zero, false);
}

static bool is_invariant(const LoopInterval *in, const SumCompare *c)
{
    return c->predicate || loop_sum_is_zero(in->sums, c->value.step);
}

const char *loop_interval_add(LoopInterval *in, const SumCompare *v, u32 count)
{
    u32 changing = 0;
    const char *why = NULL;
    for (u32 k = 0; k < count && !why; k++)
        if (!is_invariant(in, &v[k])) {
            changing++;
            why = why_no_limit(in, &v[k]);
        }
    if (why || !changing)
        return why ? why : loop_interval_unchanged;
    for (u32 k = 0; k < count && !why; k++)
        why = is_invariant(in, &v[k]) ? add_always(in, &v[k]) : add_change(in, &v[k]);
    return why;
}

static bool goes_down(const LoopInterval *in, const SumCompare *c)
{
    return sem_signed(loop_sum_constant(in->sums, c->value.step), c->value.bits) < 0;
}

/* Whether the comparison is the more true the farther its value goes. */
static bool goes_away(const LoopInterval *in, const SumCompare *c)
{
    return c->cmp != CMP_NE && cmp_is_below(c->cmp) == goes_down(in, c);
}

/* Why it is not known for how long the comparison, of a value that changes, holds. */
static const char *why_no_check(const LoopInterval *in, const SumCompare *c)
{
    if (!loop_sum_is_constant(in->sums, c->value.step))
        return "its value goes in steps that are in a register";
    i64 step = sem_signed(loop_sum_constant(in->sums, c->value.step), c->value.bits);
    if (step <= -OFFSET_MAX || step >= OFFSET_MAX)
        return "its value goes in large steps";
    if (c->cmp == CMP_EQ || (c->cmp == CMP_NE && c->value.extended))
        return "it compares for equality";
    bool half = c->value.extended && c->value.is_signed && !c->is_signed;
    return half && goes_away(in, c) ? "it compares negative numbers as large ones" : NULL;
}

static const char *add_check(LoopInterval *in, const SumCompare *c)
{
    for (u32 k = 0; k < in->check.n; k++) {
        const SumCompare *old = &in->check.v[k];
        if (is_same(old, c) && old->value.step == c->value.step && old->value.extended == c->value.extended &&
            old->value.is_signed == c->value.is_signed)
            return NULL;
    }
    if (in->check.n == LIMITS_MAX)
        return "enough others go";
    vec_push(&in->check, *c);
    return NULL;
}

const char *loop_interval_add_check(LoopInterval *in, const SumCompare *v, u32 count)
{
    u32 changing = 0;
    const char *why = NULL;
    for (u32 k = 0; k < count && !why; k++)
        if (!is_invariant(in, &v[k])) {
            changing++;
            why = why_no_check(in, &v[k]);
        }
    if (why || !changing)
        return why ? why : loop_interval_unchanged;
    for (u32 k = 0; k < count && !why; k++)
        why = is_invariant(in, &v[k]) ? add_always(in, &v[k]) : add_check(in, &v[k]);
    return why;
}

void loop_interval_free(LoopInterval *in)
{
    vec_free(&in->line);
    vec_free(&in->limit);
    vec_free(&in->check);
    vec_free(&in->always);
}

bool loop_interval_is_counted(const LoopInterval *in)
{
    return !in->counter || in->check.n || in->counter->constant != 1 || loop_interval_has(in, true);
}

bool loop_interval_has(const LoopInterval *in, bool from)
{
    for (u32 k = 0; k < in->limit.n; k++)
        if (in->limit.v[k].from == from)
            return true;
    return false;
}

/* ---- building --------------------------------------------------------------------------------------------------------- */

typedef struct IntervalBuild {
    LoopInterval *in;
    Preheader preheader;
    Operand trips;            /* the number of iterations, in 32 bits, */
    bool has_trips;           /* once it has been computed */
    Operand way[LIMITS_MAX];  /* by line: how far its values go in all iterations */
    Operand step[LIMITS_MAX]; /* by line: its step, in 32 bits */
    Operand end[2];           /* the first of those in which the comparisons hold, and the first one after them */
} IntervalBuild;

/* The smaller or the greater of two numbers. */
static Operand pick(Preheader *t, Opcode opcode, u32 bits, bool is_signed, Operand x, Operand y)
{
    Type type = is_signed ? signed_type(bits) : unsigned_type(bits);
    if (x.kind == OPND_IMM && y.kind == OPND_IMM) {
        Range r = range_binary(opcode, is_signed, range_constant(bits, (u64)x.value), range_constant(bits, (u64)y.value));
        if (range_is_constant(&r))
            return preheader_number(r.lo, bits, is_signed);
    }
    if (x.kind == OPND_IMM)
        SWAP(x, y);
    if (opcode == OPC_MAX && !is_signed && y.kind == OPND_IMM && y.value == 0)
        return x;
    SumOp op = {opcode, {.type = {type}}, bits_type(bits), bits / 16 - 1};
    return sum_emit(&t->sums, op, (Operand[]){x, y}, 2);
}

static Operand scaled(Preheader *t, Operand x, u64 by, u32 bits)
{
    if (by == 1)
        return x;
    bool shifts = !(by & (by - 1));
    return preheader_apply(t, shifts ? OPC_SHL : OPC_MUL, bits, x,
                           shifts ? preheader_number((u64)__builtin_ctzll(by), 32, false)
                                  : preheader_number(by, bits, false));
}

static Operand divided(Preheader *t, Operand x, u64 by)
{
    if (by == 1)
        return x;
    bool shifts = !(by & (by - 1));
    return preheader_apply(t, shifts ? OPC_SHR : OPC_DIV, 32, x,
                           preheader_number(shifts ? (u64)__builtin_ctzll(by) : by, 32, false));
}

/* Finds x / by of 32 bits, where by is a constant or in a register. */
static Operand quotient(Preheader *t, Operand x, Operand by)
{
    if (by.kind == OPND_IMM)
        return divided(t, x, (u64)by.value & UINT32_MAX);
    return preheader_apply(t, OPC_DIV, 32, x, by);
}

/* The magnitude of a step in 32 bits. */
static Operand build_step(Preheader *t, LinearId magnitude, u32 bits)
{
    Operand step = sum_build(&t->sums, magnitude);
    if (bits == 32 || step.kind == OPND_IMM)
        return step;
    preheader_require(t, step, CMP_LE, preheader_number(UINT32_MAX, 64, false), 64, false);
    return preheader_low_half(t, step);
}

/* Finds how often the loop runs, and requires that no value of a line goes farther than WAY_MOST. */
static void build_trips(IntervalBuild *b)
{
    const LoopCounter *c = b->in->counter;
    u64 step = 1;
    b->has_trips = true;
    for (u32 k = 0; k < b->in->line.n; k++)
        step = b->in->line.v[k].step > step ? b->in->line.v[k].step : step;
    Operand distance = preheader_distance(&b->preheader, true);
    u64 most = (WAY_MOST / step - 1) * (c->constant ? c->constant : 1);
    if (most < UINT32_MAX && b->in->line.n)
        preheader_require(&b->preheader, distance, CMP_LE, preheader_number(most, 32, false), 32, false);
    Operand by =
        c->constant ? preheader_number(c->constant, 32, false) : build_step(&b->preheader, c->step, c->compare.value.bits);
    b->trips =
        preheader_apply(&b->preheader, OPC_ADD, 32, quotient(&b->preheader, distance, by), preheader_number(1, 32, false));
}

static LinearId moved(const IntervalBuild *b, LinearId base, i64 by)
{
    LinearExprs *f = b->in->sums->exprs;
    return linear_sum(f, base, linear_constant(f, linear_at(f, base)->bits, (u64)by), 1);
}

/* Finds how far values of the line go, whose step is in a register. Requires that this is no farther than WAY_MOST. */
static void build_register_way(IntervalBuild *b, u32 line)
{
    Preheader *t = &b->preheader;
    const IntervalLine *l = &b->in->line.v[line];
    for (u32 k = 0; k < line; k++)
        if (b->in->line.v[k].by == l->by) {
            b->step[line] = b->step[k];
            b->way[line] = b->way[k];
            return;
        }
    LinearId by = l->down ? linear_scale(b->in->sums->exprs, l->by, (u64)-1) : l->by;
    Operand step = b->step[line] = build_step(t, by, l->bits);
    preheader_require(t, step, CMP_GT, preheader_number(0, 32, false), 32, false);
    OpParts parts = {.type = {TYPE_U32}, .wide = true};
    Operand way = sum_emit(&t->sums, (SumOp){OPC_MUL, parts, TYPE_B64, 1}, (Operand[]){step, b->trips}, 2);
    preheader_require(t, way, CMP_LE, preheader_number(WAY_MOST, 64, false), 64, false);
    b->way[line] = l->bits == 64 ? way : preheader_low_half(t, way);
}

/* Requires that no value of the line wraps. */
static void require_line(IntervalBuild *b, u32 line)
{
    Preheader *t = &b->preheader;
    const IntervalLine *l = &b->in->line.v[line];
    if (l->step) {
        Operand gone = scaled(t, b->trips, l->step, 32);
        b->step[line] = preheader_number(l->step, 32, false);
        b->way[line] = l->bits == 64 ? preheader_widen(t, gone, false) : gone;
    } else {
        build_register_way(b, line);
    }
    Operand start = sum_build(&t->sums, moved(b, l->base, l->down ? l->most : l->least));
    Operand way =
        preheader_apply(t, OPC_ADD, l->bits, b->way[line], preheader_number((u64)(l->most - l->least), l->bits, false));
    Operand end = preheader_apply(t, l->down ? OPC_SUB : OPC_ADD, l->bits, start, way);
    preheader_require(t, end, l->down ? CMP_LT : CMP_GT, start, l->bits, l->is_signed);
}

/* The bound that values which rise are less than, or not, and those that fall are greater than, or not. */
static Operand build_bound(IntervalBuild *b, const IntervalLimit *m)
{
    Preheader *t = &b->preheader;
    u64 end = m->past > 0 ? preheader_greatest(m->width, m->is_signed) : preheader_least(m->width, m->is_signed);
    Operand bound = sum_build(&t->sums, m->bound);
    if (m->not_negative)
        preheader_require(t, bound, CMP_GE, preheader_number(0, m->width, true), m->width, true);
    if (m->past)
        preheader_require(t, bound, CMP_NE, preheader_number(end, m->width, m->is_signed), m->width, m->is_signed);
    return sum_build(&t->sums, moved(b, m->bound, m->past));
}

/* How far the value is from its bound, in 32 bits: 0 where it is at it, or past it, before the first iteration. */
static Operand build_distance(IntervalBuild *b, const IntervalLimit *m)
{
    Preheader *t = &b->preheader;
    const IntervalLine *l = &b->in->line.v[m->line];
    Operand bound = build_bound(b, m), start = sum_build(&t->sums, moved(b, l->base, m->add));
    Operand end = preheader_apply(t, l->down ? OPC_SUB : OPC_ADD, l->bits, start, b->way[m->line]);
    if (m->width != l->bits) {
        start = preheader_widen(t, start, l->is_signed);
        end = preheader_widen(t, end, l->is_signed);
    }
    Operand at = pick(t, l->down ? OPC_MIN : OPC_MAX, m->width, m->is_signed, bound, start);
    at = pick(t, l->down ? OPC_MAX : OPC_MIN, m->width, m->is_signed, at, end);
    Operand way = preheader_apply(t, OPC_SUB, m->width, l->down ? start : at, l->down ? at : start);
    return m->width == 64 ? preheader_low_half(t, way) : way;
}

static bool is_joined(const LoopInterval *in, u32 a, u32 b)
{
    const IntervalLimit *x = &in->limit.v[a], *y = &in->limit.v[b];
    return x->from == y->from && in->line.v[x->line].by == in->line.v[y->line].by;
}

/* The first iteration in which the value of the limit, or of one that goes in the same steps, is at its bound, or past it; the
 * last such iteration of those that hold from one on. 0: an earlier limit has been asked for it. */
static bool build_limit(IntervalBuild *b, u32 k, Operand *at)
{
    Preheader *t = &b->preheader;
    const LoopInterval *in = b->in;
    for (u32 j = 0; j < k; j++)
        if (is_joined(in, j, k))
            return false;
    const IntervalLimit *m = &in->limit.v[k];
    Operand way = build_distance(b, m), step = b->step[m->line];
    for (u32 j = k + 1; j < in->limit.n; j++)
        if (is_joined(in, k, j))
            way = pick(t, m->from ? OPC_MAX : OPC_MIN, 32, false, way, build_distance(b, &in->limit.v[j]));
    if (step.kind == OPND_IMM) {
        way = preheader_apply(t, OPC_ADD, 32, way, preheader_number((u64)step.value - 1, 32, false));
    } else {
        way = preheader_apply(t, OPC_ADD, 32, way, step);
        way = preheader_apply(t, OPC_SUB, 32, way, preheader_number(1, 32, false));
    }
    *at = quotient(t, way, step);
    return true;
}

/* How often the step fits into the way, at most RUN_MOST or the steps of 2^32; up: with what is left as one more. */
static Operand build_steps(Preheader *t, Operand way, u32 bits, u64 step, bool up)
{
    if (bits == 64)
        way = preheader_low_half(t, pick(t, OPC_MIN, 64, false, way, preheader_number(RUN_MOST, 64, false)));
    else if (up && step > 1)
        way = pick(t, OPC_MIN, 32, false, way, preheader_number(RUN_MOST, 32, false));
    if (up)
        way = preheader_apply(t, OPC_ADD, 32, way, preheader_number(step - 1, 32, false));
    return divided(t, way, step);
}

/* The last number of so many bits in a direction, as one of the compared width. */
static Operand last_number(u32 bits, bool is_signed, bool down, u32 width)
{
    u64 last = down ? preheader_least(bits, is_signed) : preheader_greatest(bits, is_signed);
    return preheader_number(is_signed ? (u64)sem_signed(last, bits) : last, width, is_signed);
}

/* Up to where the value of a check may go. */
static Operand check_end(IntervalBuild *b, const SumCompare *c, bool down, Operand start)
{
    Preheader *t = &b->preheader;
    if (c->cmp == CMP_NE)
        return sum_build(&t->sums, c->bound);
    if (goes_away(b->in, c)) {
        preheader_require(t, start, c->cmp, sum_build(&t->sums, c->bound), c->width, c->is_signed);
        return last_number(c->value.bits, c->value.extended ? c->value.is_signed : c->is_signed, down, c->width);
    }
    IntervalLimit m = {.bound = c->bound, .width = c->width, .is_signed = c->is_signed};
    m.past = cmp_is_strict(c->cmp) ? 0 : down ? -1 : 1;
    return pick(t, down ? OPC_MIN : OPC_MAX, c->width, c->is_signed, build_bound(b, &m), start);
}

/* In how many iterations, from the first one on, the check surely holds. */
static Operand build_check(IntervalBuild *b, const SumCompare *c)
{
    Preheader *t = &b->preheader;
    i64 by = sem_signed(loop_sum_constant(b->in->sums, c->value.step), c->value.bits);
    bool down = by < 0, up = c->cmp != CMP_NE && !goes_away(b->in, c);
    Operand start = sum_build(&t->sums, c->value.start);
    if (c->value.extended)
        start = preheader_widen(t, start, c->value.is_signed);
    Operand end = check_end(b, c, down, start);
    Operand way = preheader_apply(t, OPC_SUB, c->width, down ? start : end, down ? end : start);
    if (c->value.extended && up) {
        end = last_number(32, c->value.is_signed, down, 64);
        Operand room = preheader_apply(t, OPC_SUB, 64, down ? start : end, down ? end : start);
        way = pick(t, OPC_MIN, 64, false, way, room);
    }
    return build_steps(t, way, c->width, down ? 0 - (u64)by : (u64)by, up);
}

static void build_checks(IntervalBuild *b)
{
    for (u32 k = 0; k < b->in->check.n; k++) {
        Operand n = build_check(b, &b->in->check.v[k]);
        bool first = !k && !b->in->counter;
        b->end[1] = first ? n : pick(&b->preheader, OPC_MIN, 32, false, b->end[1], n);
    }
}

static void build_ends(IntervalBuild *b)
{
    bool any[2] = {false, false};
    b->end[0] = preheader_number(0, 32, false);
    b->end[1] = b->trips;
    for (u32 k = 0; k < b->in->line.n; k++)
        require_line(b, k);
    for (u32 k = 0; k < b->in->limit.n; k++) {
        const IntervalLimit *m = &b->in->limit.v[k];
        u32 to = !m->from;
        Operand at;
        if (!build_limit(b, k, &at))
            continue;
        b->end[to] = any[to] ? pick(&b->preheader, to ? OPC_MIN : OPC_MAX, 32, false, b->end[to], at) : at;
        any[to] = true;
    }
    build_checks(b);
}

static void require_always(IntervalBuild *b)
{
    Preheader *t = &b->preheader;
    for (u32 k = 0; k < b->in->always.n; k++) {
        const SumCompare *c = &b->in->always.v[k];
        if (c->predicate)
            preheader_require_predicate(t, c->predicate, c->holds);
        else
            preheader_require(t, sum_build(&t->sums, c->value.start), c->cmp, sum_build(&t->sums, c->bound), c->width,
                              c->is_signed);
    }
}

/* What the counter's comparison compares in the last of so many iterations. */
static Operand build_last(IntervalBuild *b, Operand iterations)
{
    Preheader *t = &b->preheader;
    const LoopCounter *c = b->in->counter;
    const LoopSum *v = &c->compare.value;
    LinearId before = linear_sum(b->in->sums->exprs, v->start, v->step, (u64)-1);
    if (v->bits == 64)
        iterations = preheader_widen(t, iterations, false);
    Operand way = c->constant ? scaled(t, iterations, c->constant, v->bits)
                              : preheader_apply(t, OPC_MUL, v->bits, iterations, sum_build(&t->sums, c->step));
    return preheader_apply(t, c->down ? OPC_SUB : OPC_ADD, v->bits, sum_build(&t->sums, before), way);
}

/* Whether x compares so with y, which is a constant or in a register as x is. */
static RegId build_is(IntervalBuild *b, Operand x, Cmp cmp, Operand y, u32 bits)
{
    OpParts parts = {.cmp = cmp, .type = {unsigned_type(bits)}};
    b->preheader.never |= x.kind == OPND_IMM;
    return sum_emit(&b->preheader.sums, (SumOp){OPC_SETP, parts, TYPE_PRED, bits / 32}, (Operand[]){x, y}, 2).id;
}

/* Whether the loop runs so often. It takes a difference, and a product where the step is in a register, so that short loops pay
 * for nothing else. Where one of them wraps, a short loop counts as a long one, or the other way around: the test decides, or the
 * loop stays. */
static RegId build_is_long(IntervalBuild *b, u32 trips)
{
    const LoopCounter *c = b->in->counter;
    u32 bits = c->compare.value.bits;
    u64 least;
    Operand way = preheader_way(&b->preheader, trips, &least);
    if (least)
        return build_is(b, way, CMP_GE, preheader_number(least, bits, false), bits);
    if (!c->constant) {
        Operand step = sum_build(&b->preheader.sums, c->step);
        Operand far = trips > 1 ? scaled(&b->preheader, step, trips - 1, bits) : preheader_number(0, bits, false);
        return build_is(b, preheader_whole_way(&b->preheader), CMP_GT, far, bits);
    }
    build_trips(b);
    return build_is(b, b->trips, CMP_GE, preheader_number(trips, 32, false), 32);
}

IntervalEnds loop_interval_build(LoopInterval *in, u32 trips, u32 least, const IntervalPlaces *places)
{
    IntervalBuild b = {.in = in, .preheader = preheader_new(in->sums, in->counter, places ? &places->at : NULL, NULL)};
    Preheader *t = &b.preheader;
    IntervalEnds ends = {0};
    bool from = loop_interval_has(in, true), to = loop_interval_has(in, false) || in->check.n;
    if (trips) {
        ends.is_long = build_is_long(&b, trips);
        t->sums.at = places ? &places->rest : NULL;
    }
    if (in->counter && !b.has_trips)
        build_trips(&b);
    require_always(&b);
    build_ends(&b);
    ends.many = preheader_apply(t, OPC_SUB, 32, b.end[1], b.end[0]);
    preheader_require(t, ends.many, CMP_GE, preheader_number(least, 32, true), 32, in->line.n > 0);
    if (from) {
        ends.begin = build_is(&b, b.end[0], CMP_EQ, preheader_number(0, 32, false), 32);
        ends.last[0] = build_last(&b, b.end[0]);
    }
    if (to && in->counter) {
        ends.end = build_is(&b, b.end[1], CMP_EQ, b.trips, 32);
        if (!loop_interval_is_counted(in))
            ends.last[1] = build_last(&b, b.end[1]);
    }
    ends.known = t->all.kind == OPND_REG ? t->all.id : 0;
    ends.cost = t->never ? UINT32_MAX : t->sums.cost;
    preheader_free(t);
    return ends;
}
