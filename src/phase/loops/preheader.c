/* Sound: in each iteration except the first, the comparison held for y = y0 + k * c, where c is the step. y0 is the value that y
 * had, or would have had, in front of the first iteration. Let it be `y < b` and c be positive. Let y0 < b, and let b - 1 + c not
 * wrap. By induction y0 + k * c then wraps in no iteration, and is at most b - 1. So k * c is at most b - 1 - y0, the distance; a
 * constant step makes it a multiple of c. Let the comparison be `y != b`, c a constant, and b - y0 a multiple of c. Then y first
 * reaches b after (b - y0) / c steps, unless b is y0, and c divides 2^32. In that case it does so after 2^32 / c, and the distance
 * b - y0 - c is right modulo 2^32 as well. */
#include "phase/loops/preheader.h"

#include "analysis/values.h"
#include "phase/loops/test_words.h"

/* ---- the counter ------------------------------------------------------------------------------------------------------------ */

/* How far the bound is from what the counter begins with, which becomes *first. early: from one step before that. 0: the distance has
 * too many terms. */
static LinearId whole_distance(LinearExprs *f, const LoopCounter *c, bool early, LinearId *first)
{
    const SumCompare *cmp = &c->compare;
    *first = early ? linear_sum(f, cmp->value.start, cmp->value.step, (u64)-1) : cmp->value.start;
    return c->down ? linear_sum(f, *first, cmp->bound, (u64)-1) : linear_sum(f, cmp->bound, *first, (u64)-1);
}

static bool has_distance(LinearExprs *f, const LoopCounter *c)
{
    LinearId first;
    return whole_distance(f, c, false, &first) && whole_distance(f, c, true, &first);
}

bool loop_counter_read(LoopSums *s, const SumCompare *compare, const Block *block, LoopCounter *counter)
{
    const LoopSum *v = &compare->value;
    if (compare->predicate || v->extended || loop_sum_is_zero(s, v->step))
        return false;
    *counter = (LoopCounter){.compare = *compare, .block = block, .down = loop_sum_is_negative(s, v->step)};
    counter->step = counter->down ? linear_scale(s->exprs, v->step, (u64)-1) : v->step;
    if (loop_sum_is_constant(s, v->step))
        counter->constant = loop_sum_constant(s, counter->step);
    bool rises = cmp_is_below(compare->cmp), falls = compare->cmp == CMP_GT || compare->cmp == CMP_GE;
    if (counter->constant >= (u64)1 << 31 || !has_distance(s->exprs, counter))
        return false;
    return counter->down ? falls || (compare->cmp == CMP_NE && counter->constant)
                         : rises || (compare->cmp == CMP_NE && counter->constant);
}

u64 loop_counter_most_trips(Analyses *an, LoopSums *s, const LoopCounter *c, u64 most)
{
    if (!c || !c->constant)
        return UINT64_MAX;
    const SumCompare *cmp = &c->compare;
    LinearId way =
        linear_sum(s->exprs, c->down ? cmp->value.start : cmp->bound, c->down ? cmp->bound : cmp->value.start, (u64)-1);
    const LinearExpr *e = way ? linear_at(s->exprs, way) : NULL;
    if (e && e->terms == 0)
        return e->constant / c->constant + 1;
    LinearTerm t = {.kind = TERM_LOW};
    if (e && e->terms == 1 && e->term[0].scale == 1 && s->from)
        t = s->exprs->terms.v[e->term[0].term];
    if (t.kind != TERM_VALUE)
        return UINT64_MAX;
    ProgramPoint entry = {s->from, s->in.loop->header, s->in.loop->header->first};
    Range r = value_of_register(an_facts(an), entry, t.operand[0], e->bits);
    r = range_binary(OPC_ADD, false, r, range_constant(e->bits, e->constant));
    return r.hi / c->constant < most ? r.hi / c->constant + 1 : UINT64_MAX;
}

Preheader preheader_new(LoopSums *sums, const LoopCounter *counter, const Builder *at, struct TestWords *words)
{
    Preheader t = {.counter = counter, .all = {.kind = OPND_IMM}};
    sum_builder_init(&t.sums, sums, at);
    t.sums.words = words;
    return t;
}

void preheader_free(Preheader *t) { sum_builder_free(&t->sums); }

/* ---- conditions ---------------------------------------------------------------------------------------------------------- */

void preheader_require(Preheader *t, Operand x, Cmp cmp, Operand y, u32 bits, bool is_signed)
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
    if (t->sums.words) {
        test_words_compare(t->sums.words, x, cmp, y, bits, is_signed);
        return;
    }
    bool more = t->all.kind == OPND_REG;
    Type type = is_signed ? signed_type(bits) : unsigned_type(bits);
    OpParts parts = {.cmp = cmp, .bool_op = more ? BOOL_AND : BOOL_NONE, .type = {type}};
    SumOp compare = {OPC_SETP, parts, TYPE_PRED, bits / 32};
    t->all = sum_emit(&t->sums, compare, (Operand[]){x, y, t->all}, more ? 3 : 2);
}

void preheader_require_predicate(Preheader *t, RegId reg, bool holds)
{
    if (t->sums.words) {
        test_words_predicate(t->sums.words, reg, holds);
        return;
    }
    Operand p = register_operand(reg);
    OpParts parts = {.type = {TYPE_PRED}};
    if (!holds)
        p = sum_emit(&t->sums, (SumOp){OPC_NOT, parts, TYPE_PRED, 0}, &p, 1);
    bool more = t->all.kind == OPND_REG;
    t->all = more ? sum_emit(&t->sums, (SumOp){OPC_AND, parts, TYPE_PRED, 1}, (Operand[]){t->all, p}, 2) : p;
}

Operand preheader_apply(Preheader *t, Opcode opcode, u32 bits, Operand x, Operand y)
{
    if (x.kind == OPND_IMM && y.kind == OPND_IMM) {
        Range r = range_binary(opcode, false, range_constant(bits, (u64)x.value), range_constant(bits, (u64)y.value));
        if (range_is_constant(&r))
            return preheader_number(r.lo, bits, false);
    }
    if (opcode == OPC_ADD && x.kind == OPND_IMM)
        SWAP(x, y);
    if (y.kind == OPND_IMM && y.value == 0 && (opcode == OPC_ADD || opcode == OPC_SUB || opcode == OPC_SHR))
        return x;
    u32 division = bits == 64 ? 80 : y.kind == OPND_IMM ? 8 : 18;
    u32 cost = opcode != OPC_DIV && opcode != OPC_REM ? bits / 32 : division;
    Type type = opcode == OPC_AND || opcode == OPC_SHL ? bits_type(bits) : unsigned_type(bits);
    type = opcode == OPC_ADD || opcode == OPC_SUB ? signed_type(bits) : type;
    OpParts parts = {.type = {type}, .low = opcode == OPC_MUL};
    return sum_emit(&t->sums, (SumOp){opcode, parts, bits_type(bits), cost}, (Operand[]){x, y}, 2);
}

Operand preheader_widen(Preheader *t, Operand x, bool is_signed)
{
    if (x.kind == OPND_IMM)
        return preheader_number(is_signed ? (u64)sem_signed((u64)x.value, 32) : (u64)x.value & UINT32_MAX, 64, is_signed);
    OpParts parts = {.type = {is_signed ? TYPE_S64 : TYPE_U64, is_signed ? TYPE_S32 : TYPE_U32}};
    return sum_emit(&t->sums, (SumOp){OPC_CVT, parts, TYPE_B64, is_signed}, &x, 1);
}

Operand preheader_low_half(Preheader *t, Operand x)
{
    if (x.kind == OPND_IMM)
        return preheader_number((u64)x.value, 32, false);
    OpParts parts = {.type = {TYPE_U32, TYPE_U64}};
    return sum_emit(&t->sums, (SumOp){OPC_CVT, parts, TYPE_B32, 0}, &x, 1);
}

/* ---- the distance ----------------------------------------------------------------------------------------------------------- */

/* Requires that one step past the bound does not wrap. */
static void require_no_wrap(Preheader *t, const LoopCounter *c)
{
    const SumCompare *cmp = &c->compare;
    u32 bits = cmp->value.bits;
    bool sgn = cmp->is_signed, strict = cmp_is_strict(cmp->cmp);
    Operand bound = sum_build(&t->sums, cmp->bound), step;
    if (c->constant == 1 && strict)
        return;
    if (c->constant) {
        u64 past = c->constant - strict;
        Operand end =
            preheader_number(c->down ? preheader_least(bits, sgn) + past : preheader_greatest(bits, sgn) - past, bits, sgn);
        preheader_require(t, bound, c->down ? CMP_GE : CMP_LE, end, bits, sgn);
        return;
    }
    step = sum_build(&t->sums, c->step);
    preheader_require(t, step, CMP_GT, preheader_number(0, bits, sgn), bits, sgn);
    Operand end = preheader_number(c->down ? preheader_least(bits, sgn) : preheader_greatest(bits, sgn), bits, sgn);
    end = preheader_apply(t, c->down ? OPC_ADD : OPC_SUB, bits, end, step);
    preheader_require(t, bound, c->down ? CMP_GE : CMP_LE, end, bits, sgn);
}

/* The distance of a counter that is compared to be unequal. */
static Operand exact_distance(Preheader *t, const LoopCounter *c, LinearId whole)
{
    LinearExprs *f = t->sums.sums->exprs;
    u32 bits = c->compare.value.bits;
    u64 step = c->constant;
    Operand all = sum_build(&t->sums, whole);
    if (step & (step - 1)) {
        preheader_require(t, all, CMP_NE, preheader_number(0, bits, false), bits, false);
        preheader_require(t, preheader_apply(t, OPC_REM, bits, all, preheader_number(step, bits, false)), CMP_EQ,
                          preheader_number(0, bits, false), bits, false);
    } else if (step > 1) {
        preheader_require(t, preheader_apply(t, OPC_AND, bits, all, preheader_number(step - 1, bits, false)), CMP_EQ,
                          preheader_number(0, bits, false), bits, false);
    }
    return sum_build(&t->sums, linear_sum(f, whole, linear_constant(f, bits, step), (u64)-1));
}

/* The distance of a counter that is compared to be less or greater. */
static Operand limited_distance(Preheader *t, const LoopCounter *c, LinearId first, LinearId whole)
{
    LinearExprs *f = t->sums.sums->exprs;
    const SumCompare *cmp = &c->compare;
    u32 bits = cmp->value.bits;
    u64 step = c->constant;
    preheader_require(t, sum_build(&t->sums, first), cmp->cmp, sum_build(&t->sums, cmp->bound), bits, cmp->is_signed);
    require_no_wrap(t, c);
    if (cmp_is_strict(cmp->cmp))
        whole = linear_sum(f, whole, linear_constant(f, bits, 1), (u64)-1);
    Operand d = sum_build(&t->sums, whole);
    if (step & (step - 1))
        return preheader_apply(t, OPC_SUB, bits, d,
                               preheader_apply(t, OPC_REM, bits, d, preheader_number(step, bits, false)));
    return step > 1 ? preheader_apply(t, OPC_AND, bits, d, preheader_number(~(step - 1), bits, true)) : d;
}

Operand preheader_distance(Preheader *t, bool early)
{
    if (t->known[early])
        return t->distance[early];
    const LoopCounter *c = t->counter;
    const SumCompare *cmp = &c->compare;
    LinearExprs *f = t->sums.sums->exprs;
    LinearId first, whole = whole_distance(f, c, early, &first);
    Operand d = cmp->cmp == CMP_NE ? exact_distance(t, c, whole) : limited_distance(t, c, first, whole);
    if (cmp->value.bits == 64) {
        preheader_require(t, d, CMP_LT, preheader_number(((u64)1 << 32) - ROOM, 64, false), 64, false);
        d = preheader_low_half(t, d);
        t->roomy[early] = true;
    }
    t->known[early] = true;
    return t->distance[early] = d;
}

Operand preheader_whole_way(Preheader *t)
{
    LinearId first;
    return sum_build(&t->sums, whole_distance(t->sums.sums->exprs, t->counter, true, &first));
}

Operand preheader_way(Preheader *t, u32 trips, u64 *least)
{
    const LoopCounter *c = t->counter;
    LinearExprs *f = t->sums.sums->exprs;
    LinearId first, whole = whole_distance(f, c, true, &first);
    u32 bits = c->compare.value.bits;
    u64 constant = (u64)sem_signed(linear_at(f, whole)->constant, bits);
    bool exact = c->compare.cmp == CMP_NE;
    *least = c->constant * (trips - !exact) + (!exact && cmp_is_strict(c->compare.cmp)) - constant;
    if (!c->constant || *least > sem_max(bits) >> 1)
        *least = 0;
    return *least ? sum_build(&t->sums, linear_sum(f, whole, linear_constant(f, bits, constant), (u64)-1))
                  : (Operand){.kind = OPND_IMM};
}
