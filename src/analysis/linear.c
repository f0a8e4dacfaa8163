#include "analysis/linear.h"

#include "base/bound.h"
#include "base/fnvmap.h"

static u64 low_bits(u64 v, u32 bits) { return bits == 64 ? v : v & (((u64)1 << bits) - 1); }

static u64 mix(u64 hash, u64 v) { return (hash ^ v ^ v >> 29) * FNV_PRIME; }

LinearExprs *linear_new(Arena *arena)
{
    LinearExprs *f = arena_new(arena, LinearExprs);
    f->arena = arena;
    vec_push(&f->exprs, NULL);
    vec_push(&f->terms, ((LinearTerm){.bits = 0}));
    return f;
}

void linear_free(LinearExprs *f)
{
    vec_free(&f->exprs);
    vec_free(&f->terms);
    index_free(&f->expr_index);
    index_free(&f->term_index);
}

void linear_shrink(LinearExprs *f)
{
    vec_shrink(&f->exprs);
    vec_shrink(&f->terms);
}

/* ---- terms ----------------------------------------------------------------------------------------------------- */

static bool same_term(const LinearTerm *a, const LinearTerm *b)
{
    return a->kind == b->kind && a->bits == b->bits && a->tag == b->tag &&
           memcmp(a->operand, b->operand, sizeof a->operand) == 0;
}

static TermId intern_term(LinearExprs *f, LinearTerm t)
{
    u64 hash = mix(mix(t.kind, t.bits), (u64)(uintptr_t)t.tag);
    for (u32 k = 0; k < COUNT_OF(t.operand); k++)
        hash = mix(hash, t.operand[k]);
    HashWalk w = index_walk(&f->term_index, hash_fold(hash));
    for (TermId id; (id = index_next(&w)) != 0;)
        if (same_term(&f->terms.v[id], &t))
            return id;
    index_put(&w, f->terms.n);
    vec_push(&f->terms, t);
    return f->terms.n - 1;
}

TermId term_value(LinearExprs *f, u32 bits, u32 value)
{
    vec_push(&f->terms, ((LinearTerm){.kind = TERM_VALUE, .bits = bits, .operand = {value}}));
    return f->terms.n - 1;
}

TermId term_operation(LinearExprs *f, u32 bits, const void *tag, const LinearId operand[4], u32 zeros)
{
    LinearTerm t = {.kind = TERM_OPERATION, .bits = bits, .zeros = zeros, .tag = tag};
    memcpy(t.operand, operand, sizeof t.operand);
    return intern_term(f, t);
}

/* ---- expressions ----------------------------------------------------------------------------------------------------- */

static bool same_expr(const LinearExpr *a, u32 bits, const Scaled *term, u32 terms, u64 constant)
{
    if (a->bits != bits || a->terms != terms || a->constant != constant)
        return false;
    for (u32 k = 0; k < terms; k++)
        if (a->term[k].term != term[k].term || a->term[k].scale != term[k].scale)
            return false;
    return true;
}

static LinearId expr_new(LinearExprs *f, u32 bits, const Scaled *term, u32 terms, u64 constant, LinearId base)
{
    LinearExpr *expr = arena_alloc_raw(f->arena, sizeof *expr + terms * sizeof *term);
    *expr = (LinearExpr){.bits = bits, .terms = terms, .constant = constant, .base = base ? base : f->exprs.n};
    if (terms)
        memcpy(expr->term, term, terms * sizeof *term);
    vec_push(&f->exprs, expr);
    return f->exprs.n - 1;
}

LinearId linear_term(LinearExprs *f, TermId id)
{
    if (!f->terms.v[id].alone)
        f->terms.v[id].alone = expr_new(f, f->terms.v[id].bits, &(Scaled){id, 1}, 1, 0, 0);
    return f->terms.v[id].alone;
}

/* The expression of these parts. The terms are in order; their scales are cut to the width, and none is 0. */
static LinearId intern_expr(LinearExprs *f, u32 bits, const Scaled *term, u32 terms, u64 constant)
{
    constant = low_bits(constant, bits);
    if (constant == 0 && terms == 1 && term[0].scale == 1)
        return linear_term(f, term[0].term);
    LinearId base = constant ? intern_expr(f, bits, term, terms, 0) : 0;
    u64 hash = mix(mix(bits, terms), constant);
    for (u32 k = 0; k < terms; k++)
        hash = mix(mix(hash, term[k].term), term[k].scale);
    HashWalk w = index_walk(&f->expr_index, hash_fold(hash));
    for (LinearId id; (id = index_next(&w)) != 0;)
        if (same_expr(linear_at(f, id), bits, term, terms, constant))
            return id;
    index_put(&w, f->exprs.n);
    return expr_new(f, bits, term, terms, constant, base);
}

LinearId linear_constant(LinearExprs *f, u32 bits, u64 constant) { return intern_expr(f, bits, NULL, 0, constant); }

LinearId linear_sum(LinearExprs *f, LinearId a, LinearId b, u64 scale)
{
    if (!a || !b)
        return 0;
    const LinearExpr *x = linear_at(f, a), *y = linear_at(f, b);
    Scaled sum[2 * LINEAR_TERMS];
    u32 n = 0, j = 0, k = 0;
    while (j < x->terms || k < y->terms) {
        bool left = j < x->terms && (k == y->terms || x->term[j].term <= y->term[k].term);
        bool right = k < y->terms && (j == x->terms || y->term[k].term <= x->term[j].term);
        Scaled s = {left ? x->term[j].term : y->term[k].term, 0};
        s.scale += left ? x->term[j++].scale : 0;
        s.scale += right ? scale * y->term[k++].scale : 0;
        s.scale = low_bits(s.scale, x->bits);
        if (s.scale)
            sum[n++] = s;
    }
    return WITHIN(LINEAR_TERMS, n <= LINEAR_TERMS) ? intern_expr(f, x->bits, sum, n, x->constant + scale * y->constant) : 0;
}

LinearId linear_scale(LinearExprs *f, LinearId a, u64 scale)
{
    if (!a)
        return 0;
    const LinearExpr *x = linear_at(f, a);
    Scaled product[LINEAR_TERMS];
    u32 n = 0;
    for (u32 k = 0; k < x->terms; k++) {
        product[n] = (Scaled){x->term[k].term, low_bits(scale * x->term[k].scale, x->bits)};
        n += product[n].scale != 0;
    }
    return intern_expr(f, x->bits, product, n, scale * x->constant);
}

LinearId linear_extend(LinearExprs *f, LinearId a, bool is_signed)
{
    const LinearExpr *x = linear_at(f, a);
    if (x->terms == 0)
        return linear_constant(f, 64, is_signed ? (u64)(i64)(i32)x->constant : x->constant);
    LinearTerm t = {.kind = is_signed ? TERM_SIGNED : TERM_UNSIGNED, .bits = 64, .operand = {a}};
    t.zeros = linear_zeros(f, a);
    return linear_term(f, intern_term(f, t));
}

/* The low 32 bits of a term of 64. */
static LinearId low_of_term(LinearExprs *f, TermId id)
{
    LinearTerm t = f->terms.v[id];
    if (t.kind == TERM_SIGNED || t.kind == TERM_UNSIGNED)
        return t.operand[0];
    return linear_term(
        f,
        intern_term(f, (LinearTerm){.kind = TERM_LOW, .bits = 32, .zeros = t.zeros < 32 ? t.zeros : 32, .operand = {id}}));
}

LinearId linear_low(LinearExprs *f, LinearId a)
{
    const LinearExpr *x = linear_at(f, a);
    LinearId sum = linear_constant(f, 32, x->constant);
    for (u32 k = 0; k < x->terms && sum; k++)
        sum = linear_sum(f, sum, low_of_term(f, x->term[k].term), x->term[k].scale);
    return sum;
}

u32 linear_zeros(const LinearExprs *f, LinearId a)
{
    const LinearExpr *x = linear_at(f, a);
    u32 zeros = x->constant ? (u32)__builtin_ctzll(x->constant) : x->bits;
    for (u32 k = 0; k < x->terms; k++) {
        u32 own = (u32)__builtin_ctzll(x->term[k].scale) + f->terms.v[x->term[k].term].zeros;
        zeros = own < zeros ? own : zeros;
    }
    return zeros < x->bits ? zeros : x->bits;
}

bool linear_difference(const LinearExprs *f, LinearId a, LinearId b, i64 *difference)
{
    if (!a || !b || linear_at(f, a)->base != linear_at(f, b)->base)
        return false;
    u64 d = linear_at(f, b)->constant - linear_at(f, a)->constant;
    *difference = linear_at(f, a)->bits == 32 ? (i64)(i32)d : (i64)d;
    return true;
}
