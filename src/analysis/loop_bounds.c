#include "analysis/loop_bounds.h"

#include "analysis/dom.h"
#include "analysis/values.h"
#include "ir/inspect.h"

/* The value is base + x modulo 2^bits, or the extension of that, as `base` says. x is an unsigned number of at most `most`, which
 * does not change, in each iteration in which `clamped` is not negative. */
typedef struct LoopBound {
    LoopSum base;
    LinearId most;
    LoopSum clamped;
    bool has_clamped;
} LoopBound;

enum {
    BOUND_DEPTH = 8, /* the most definitions that a value is followed through */
    BYTE = 255,      /* the greatest number that bounds a value of which no instruction says more */
    INDEX = 1 << 24  /* a constant that is greater seldom bounds an index: it would not be less than a length */
};

/* Whether i computes op of integers of that width, and nothing else. */
static bool computes(const Instr *i, Opcode op, u32 bits)
{
    const Sem *sem = &i->op->sem;
    return i->op->opcode == op && sem->op == op && sem->bits == bits && sem->from == bits && !i->guard;
}

static const Instr *definition_of(const LoopSums *s, const Instr *at, const Operand *o)
{
    RegId reg = operand_plain_register(o);
    return reg ? loop_definition(s, at, reg) : NULL;
}

/* The operand, if it does not change; 0: it does. */
static LinearId fixed(LoopSums *s, const Instr *i, const Operand *o, u32 bits)
{
    LoopSum sum;
    return loop_sum_of(s, i, o, bits, &sum) && loop_sum_is_zero(s, sum.step) ? sum.start : 0;
}

/* Finds the operand of i that does not change; *other: the other one. */
static LinearId fixed_operand(LoopSums *s, const Instr *i, u32 bits, const Operand **other)
{
    for (u32 k = 1; k <= 2; k++) {
        LinearId bound = fixed(s, i, instr_operand(i, k), bits);
        *other = instr_operand(i, 3 - k);
        if (bound)
            return bound;
    }
    return 0;
}

static bool is_number_zero(const Operand *o) { return o->kind == OPND_IMM && o->value == 0; }

/* Whether i is the greater one of a signed number and 0. *other: the number. */
static bool is_raised(const Instr *i, u32 bits, const Operand **other)
{
    if (!computes(i, OPC_MAX, bits) || !i->op->sem.is_signed)
        return false;
    *other = instr_operand(i, is_number_zero(instr_operand(i, 1)) ? 2 : 1);
    return is_number_zero(instr_operand(i, 1)) || is_number_zero(instr_operand(i, 2));
}

/* min.s32 x, most of an x that is not negative is at most `most` as an unsigned number, for a negative `most` too. */
static LinearId lowered(LoopSums *s, const Instr *i, u32 bits, LoopBound *bound)
{
    const Operand *x, *ignored;
    LinearId most = computes(i, OPC_MIN, bits) ? fixed_operand(s, i, bits, &x) : 0;
    if (!most || !i->op->sem.is_signed)
        return most;
    const Instr *def = definition_of(s, i, x);
    if (def && is_raised(def, bits, &ignored))
        return most;
    bound->has_clamped = loop_sum_of(s, i, x, bits, &bound->clamped) && !bound->clamped.extended;
    return bound->has_clamped ? most : 0;
}

/* max.s32 of that and 0, whatever x is. */
static LinearId raised(LoopSums *s, const Instr *i, u32 bits)
{
    const Operand *x, *ignored;
    const Instr *def = is_raised(i, bits, &x) ? definition_of(s, i, x) : NULL;
    return def && computes(def, OPC_MIN, bits) && def->op->sem.is_signed ? fixed_operand(s, def, bits, &ignored) : 0;
}

/* Whether a number is known not to be negative as a signed one. */
static bool is_never_negative(LoopSums *s, const Instr *at, const Operand *o, u32 bits)
{
    RegId reg = operand_plain_register(o);
    return reg && value_of_register(an_facts(s->bounds), (ProgramPoint){NULL, at->block, at}, reg, bits).least >= 0;
}

/* A remainder is less than what divides. If that is 0, any number is at most 0 - 1. So is the remainder of a number that is not
 * negative by a signed one. By a negative divisor it is at most 2^31 - 1; so much is the divisor less 1, as an unsigned number. */
static LinearId remainder_bound(LoopSums *s, const Instr *i, u32 bits, LoopBound *bound)
{
    const Operand *a = instr_operand(i, 1);
    LinearId by = computes(i, OPC_REM, bits) ? fixed(s, i, instr_operand(i, 2), bits) : 0;
    if (!by)
        return 0;
    if (i->op->sem.is_signed && !is_never_negative(s, i, a, bits)) {
        bound->has_clamped = loop_sum_of(s, i, a, bits, &bound->clamped) && !bound->clamped.extended;
        if (!bound->has_clamped)
            return 0;
    }
    return linear_sum(s->exprs, by, linear_constant(s->exprs, bits, 1), (u64)-1);
}

static LinearId byte_bound(LoopSums *s, const Instr *at, const Operand *o, u32 bits)
{
    Range range =
        value_of_register(an_facts(s->bounds), (ProgramPoint){NULL, at->block, at}, operand_plain_register(o), bits);
    return range.hi <= BYTE ? linear_constant(s->exprs, bits, range.hi) : 0;
}

static LoopSum zero(LoopSums *s, u32 bits)
{
    LinearId none = linear_constant(s->exprs, bits, 0);
    return (LoopSum){.start = none, .step = none, .bits = bits};
}

static bool is_zero(const LoopSums *s, const LoopSum *sum)
{
    return loop_sum_is_zero(s, sum->start) && loop_sum_is_zero(s, sum->step);
}

/* Whether it is a constant below half the range. */
static bool is_small(const LoopSums *s, LinearId sum)
{
    return loop_sum_is_constant(s, sum) && loop_sum_constant(s, sum) < sem_sign(linear_at(s->exprs, sum)->bits);
}

static bool find_bound(LoopSums *s, const Instr *at, const Operand *o, u32 bits, u32 depth, LoopBound *bound);

/* A sum of a bounded value and one that is known. */
static bool add_base(LoopSums *s, const Instr *i, u32 bits, u32 depth, LoopBound *bound)
{
    for (u32 k = 1; k <= 2; k++) {
        LoopSum base;
        if ((k == 2 && i->op->opcode == OPC_SUB) || !loop_sum_of(s, i, instr_operand(i, 3 - k), bits, &base) ||
            base.extended || !find_bound(s, i, instr_operand(i, k), bits, depth, bound) || bound->base.extended)
            continue;
        u64 scale = i->op->opcode == OPC_SUB ? (u64)-1 : 1;
        bound->base.start = linear_sum(s->exprs, bound->base.start, base.start, scale);
        bound->base.step = linear_sum(s->exprs, bound->base.step, base.step, scale);
        return bound->base.start && bound->base.step;
    }
    return false;
}

/* Of 32 bits to 64, or the low half of such a one. */
static bool convert(LoopSums *s, const Instr *i, u32 bits, u32 depth, LoopBound *bound)
{
    const Sem *sem = &i->op->sem;
    if (sem->op != OPC_CVT || sem->bits != bits || sem->from + bits != 96 ||
        (bits == 64 && sem->is_signed != sem->to_signed) ||
        !find_bound(s, i, instr_operand(i, 1), sem->from, depth, bound) || bound->base.extended == (bits == 64))
        return false;
    bool alone = is_zero(s, &bound->base), small = !sem->is_signed;
    if (bits == 64 && alone && (small || is_small(s, bound->most))) {
        *bound = (LoopBound){.base = zero(s, 64),
                             .most = linear_extend(s->exprs, bound->most, false),
                             .clamped = bound->clamped,
                             .has_clamped = bound->has_clamped};
        return true;
    }
    bound->base.extended = bits == 64;
    bound->base.is_signed = bits == 64 && sem->is_signed;
    return true;
}

static bool find_bound(LoopSums *s, const Instr *at, const Operand *o, u32 bits, u32 depth, LoopBound *bound)
{
    const Instr *i = definition_of(s, at, o);
    const Operand *ignored;
    if (!i || i->guard || !depth--)
        return false;
    if (i->op->opcode == OPC_CVT && convert(s, i, bits, depth, bound))
        return true;
    if ((computes(i, OPC_ADD, bits) || computes(i, OPC_SUB, bits)) && add_base(s, i, bits, depth, bound))
        return true;
    *bound = (LoopBound){.base = zero(s, bits)};
    bound->most = computes(i, OPC_AND, bits) ? fixed_operand(s, i, bits, &ignored) : lowered(s, i, bits, bound);
    if (!bound->most)
        bound->most = raised(s, i, bits);
    if (!bound->most)
        bound->most = remainder_bound(s, i, bits, bound);
    if (!bound->most)
        bound->most = byte_bound(s, at, o, bits);
    return bound->most && !(loop_sum_is_constant(s, bound->most) && loop_sum_constant(s, bound->most) > INDEX);
}

/* ---- comparisons ----------------------------------------------------------------------------------------------------- */

static LoopSum unchanging(LoopSums *s, LinearId start)
{
    u32 bits = linear_at(s->exprs, start)->bits;
    return (LoopSum){.start = start, .step = linear_constant(s->exprs, bits, 0), .bits = bits};
}

/* That an unsigned number is below 2^31 or 2^63. */
static SumCompare small(LoopSums *s, LoopSum value)
{
    value.extended = value.is_signed = false;
    LinearId most = linear_constant(s->exprs, value.bits, sem_max(value.bits) >> 1);
    return (SumCompare){.value = value, .bound = most, .width = value.bits, .cmp = CMP_LE};
}

/* That the clamped number is not negative. */
static SumCompare not_negative(LoopSums *s, LoopSum value)
{
    LinearId none = linear_constant(s->exprs, value.bits, 0);
    return (SumCompare){.value = value, .bound = none, .width = value.bits, .cmp = CMP_GE, .is_signed = true};
}

/* base + most, extended as the value is. */
static LoopSum greatest(LoopSums *s, const LoopBound *b)
{
    LoopSum value = b->base;
    value.start = linear_sum(s->exprs, value.start, b->most, 1);
    if (value.start && value.extended && loop_sum_is_zero(s, value.step))
        return unchanging(s, linear_extend(s->exprs, value.start, value.is_signed));
    return value;
}

/* Whether the comparison asks only that a signed number is not negative. */
static bool is_test_of_sign(const LoopSums *s, const SumCompare *c)
{
    if (!c->is_signed || !loop_sum_is_constant(s, c->bound))
        return false;
    u64 bound = loop_sum_constant(s, c->bound);
    return (c->cmp == CMP_GE && bound == 0) || (c->cmp == CMP_GT && bound == sem_max(c->width));
}

/* Whether both sides are constants, and the comparison fails. */
static bool fails(const LoopSums *s, const SumCompare *c)
{
    const LinearExpr *value = linear_at(s->exprs, c->value.start), *bound = linear_at(s->exprs, c->bound);
    if (!loop_sum_is_zero(s, c->value.step) || value->terms || bound->terms)
        return false;
    Range a = range_constant(c->width, value->constant), b = range_constant(c->width, bound->constant);
    return range_compare(c->cmp, c->is_signed, a, b) == FACT_FALSE;
}

/* Base and bound are below half the range, so that their sum does not wrap; as a signed number, it is below that too. Extension is
 * monotone in numbers without a sign. */
static bool add_compares(LoopSums *s, const LoopBound *b, SumCompare c, SumCompares *out)
{
    bool based = !is_zero(s, &b->base), sign = is_test_of_sign(s, &c);
    if (!sign && !cmp_is_below(c.cmp))
        return false;
    SumCompare all[5];
    u32 n = 0;
    c.value = greatest(s, b);
    if (b->has_clamped)
        all[n++] = not_negative(s, b->clamped);
    if (based)
        all[n++] = small(s, b->base);
    if (based || c.is_signed)
        all[n++] = small(s, unchanging(s, b->most));
    if (based && c.is_signed)
        all[n++] = small(s, c.value);
    if (!sign)
        all[n++] = c;
    for (u32 k = 0; k < n; k++)
        if (!all[k].value.start || fails(s, &all[k]))
            return false;
    for (u32 k = 0; k < n; k++)
        vec_push(out, all[k]);
    return true;
}

bool loop_bound_compares(LoopSums *s, const Instr *i, SumCompare c, SumCompares *out)
{
    for (u32 k = 1; k <= 2; k++) {
        LoopBound bound;
        c.bound = fixed(s, i, instr_operand(i, 3 - k), c.width);
        if (c.bound && find_bound(s, i, instr_operand(i, k), c.width, BOUND_DEPTH, &bound)) {
            c.cmp = k == 2 ? cmp_swapped(c.cmp) : c.cmp;
            return add_compares(s, &bound, c, out);
        }
    }
    return false;
}
