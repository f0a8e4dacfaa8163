/* Sums, products, shifts, extensions: integers of at most 64 bits, modulo 2^bits. */
#include <string.h>

#include "check/prove/term.h"

enum {
    SUM_MAX = 512,    /* terms of a sum; what would be larger is applied and not looked into */
    PRODUCT_MAX = 16, /* terms that multiplying two sums may make */
    FACTORS_MAX = 8
};

/* ---- sums ------------------------------------------------------------------------------------------------------- */

typedef struct Sum {
    u64 constant;
    u32 n;
    const Term *term;
    const u64 *coef;
} Sum;

static const u64 one = 1;

/* x as a sum; `self` is where x stands where it is a single term. Valid until the next term is made. */
static Sum sum_of(const Terms *t, const Term *self)
{
    const TermNode *node = prove_node(t, *self);
    if (node->op == TERM_CONST)
        return (Sum){.constant = node->value};
    if (node->op == TERM_LINEAR)
        return (Sum){node->value, node->n, t->kid.v + node->kids, t->coef.v + node->kids};
    return (Sum){0, 1, self, &one};
}

static Term make_sum(Terms *t, u64 constant, u32 n, const Term *term, const u64 *coef, u32 bits)
{
    if (n == 0)
        return prove_const(t, constant, bits);
    constant &= prove_mask(bits);
    if (n == 1 && coef[0] == 1 && constant == 0)
        return term[0];
    TermNode head = {.op = TERM_LINEAR, .bits = (u8)bits, .n = (u16)n, .value = constant};
    return prove_make(t, head, term, coef);
}

/* a + by * b */
static Term add_scaled(Terms *t, Term a, Term b, u64 by)
{
    u32 bits = prove_bits(t, a);
    u64 mask = prove_mask(bits);
    if (bits > 64) {
        Term kids[] = {a, b};
        return prove_apply(t, prove_name(t, by == 1 ? "add" : "sub"), bits, kids, 2);
    }
    Sum x = sum_of(t, &a), y = sum_of(t, &b);
    if (x.n + y.n > SUM_MAX) {
        Term kids[] = {a, b, prove_const(t, by, 64)};
        return prove_apply(t, prove_name(t, "sum"), bits, kids, 3);
    }
    Term term[SUM_MAX];
    u64 coef[SUM_MAX];
    u32 n = 0;
    for (u32 i = 0, k = 0; i < x.n || k < y.n;) {
        bool from_x = k == y.n || (i < x.n && x.term[i] <= y.term[k]);
        bool from_y = i == x.n || (k < y.n && y.term[k] <= x.term[i]);
        term[n] = from_x ? x.term[i] : y.term[k];
        coef[n] = ((from_x ? x.coef[i] : 0) + (from_y ? y.coef[k] * by : 0)) & mask;
        i += from_x;
        k += from_y;
        n += coef[n] != 0;
    }
    return make_sum(t, x.constant + y.constant * by, n, term, coef, bits);
}

Term prove_add(Terms *t, Term a, Term b) { return add_scaled(t, a, b, 1); }
Term prove_sub(Terms *t, Term a, Term b) { return add_scaled(t, a, b, UINT64_MAX); }

Term prove_scale(Terms *t, Term a, u64 by)
{
    by &= prove_mask(prove_bits(t, a));
    return by == 1 ? a : add_scaled(t, prove_const(t, 0, prove_bits(t, a)), a, by);
}

Term prove_plus(Terms *t, Term a, u64 constant) { return prove_add(t, a, prove_const(t, constant, prove_bits(t, a))); }

/* ---- products --------------------------------------------------------------------------------------------------- */

/* The factors of x, which is no sum. */
static u32 factors_of(const Terms *t, Term x, Term *factor)
{
    const TermNode *node = prove_node(t, x);
    if (node->op != TERM_MUL) {
        *factor = x;
        return 1;
    }
    for (u32 k = 0; k < node->n; k++)
        factor[k] = prove_kid(t, x, k);
    return node->n;
}

static Term multiply_single(Terms *t, Term a, Term b)
{
    Term factor[2 * FACTORS_MAX];
    u32 n = factors_of(t, a, factor);
    if (n + (prove_node(t, b)->op == TERM_MUL ? prove_node(t, b)->n : 1) <= FACTORS_MAX) {
        n += factors_of(t, b, factor + n);
    } else {
        factor[0] = a;
        factor[1] = b;
        n = 2;
    }
    for (u32 i = 1; i < n; i++) /* insertion sort */
        for (u32 k = i; k > 0 && factor[k - 1] > factor[k]; k--) {
            Term swap = factor[k];
            factor[k] = factor[k - 1];
            factor[k - 1] = swap;
        }
    return prove_make(t, (TermNode){.op = TERM_MUL, .bits = (u8)prove_bits(t, a), .n = (u16)n}, factor, NULL);
}

/* (c + sum of a) * (d + sum of b), multiplied out. */
static Term multiply_out(Terms *t, Term a, Term b)
{
    u32 bits = prove_bits(t, a);
    Term left[PRODUCT_MAX], right[PRODUCT_MAX];
    u64 left_coef[PRODUCT_MAX], right_coef[PRODUCT_MAX];
    Sum x = sum_of(t, &a), y = sum_of(t, &b);
    u32 m = x.n, n = y.n;
    for (u32 k = 0; k < m; k++)
        left[k] = x.term[k], left_coef[k] = x.coef[k];
    for (u32 k = 0; k < n; k++)
        right[k] = y.term[k], right_coef[k] = y.coef[k];
    u64 c = x.constant, d = y.constant;
    Term sum = prove_const(t, c * d, bits);
    for (u32 k = 0; k < m; k++)
        sum = add_scaled(t, sum, left[k], left_coef[k] * d);
    for (u32 k = 0; k < n; k++)
        sum = add_scaled(t, sum, right[k], right_coef[k] * c);
    for (u32 i = 0; i < m; i++)
        for (u32 k = 0; k < n; k++)
            sum = add_scaled(t, sum, multiply_single(t, left[i], right[k]), left_coef[i] * right_coef[k]);
    return sum;
}

Term prove_mul(Terms *t, Term a, Term b)
{
    u32 bits = prove_bits(t, a);
    if (bits > 64) {
        Term kids[] = {a < b ? a : b, a < b ? b : a};
        return prove_apply(t, prove_name(t, "mul"), bits, kids, 2);
    }
    if (prove_is_const(t, a))
        return prove_scale(t, b, prove_node(t, a)->value);
    if (prove_is_const(t, b))
        return prove_scale(t, a, prove_node(t, b)->value);
    u32 m = sum_of(t, &a).n, n = sum_of(t, &b).n;
    return m <= PRODUCT_MAX && n <= PRODUCT_MAX && m * n <= PRODUCT_MAX ? multiply_out(t, a, b) : multiply_single(t, a, b);
}

/* ---- widths ----------------------------------------------------------------------------------------------------- */

static Term make_unary(Terms *t, TermOp op, Term a, u32 bits)
{
    return prove_make(t, (TermNode){.op = (u8)op, .bits = (u8)bits, .n = 1}, &a, NULL);
}

/* An ITE of two constants takes the operation inside. */
static bool chooses_constants(const Terms *t, Term x)
{
    return prove_node(t, x)->op == TERM_ITE && prove_is_const(t, prove_kid(t, x, 1)) &&
           prove_is_const(t, prove_kid(t, x, 2));
}

/* The part of a sum's constant that its other parts, multiples of 2^k, cannot carry into: what is below 2^k. */
static u64 apart_from_rest(const Terms *t, const TermNode *node)
{
    u64 all = 0;
    for (u32 k = 0; k < node->n; k++)
        all |= t->coef.v[node->kids + k];
    return node->op == TERM_LINEAR ? node->value & ((all & -all) - 1) : 0;
}

/* The sign of a wider number is 0, or that of the narrow one. */
static Term extend(Terms *t, Term a, u32 bits, bool sign)
{
    TermNode node = *prove_node(t, a);
    if (node.bits == bits)
        return a;
    if (node.op == TERM_CONST && bits <= 64)
        return prove_const(t, sign ? (u64)prove_signed(node.value, node.bits) : node.value, bits);
    if (node.op == TERM_ZEXT || (sign && node.op == TERM_SEXT))
        return extend(t, prove_kid(t, a, 0), bits, node.op == TERM_SEXT);
    if (chooses_constants(t, a)) {
        Term yes = extend(t, prove_kid(t, a, 1), bits, sign), no = extend(t, prove_kid(t, a, 2), bits, sign);
        return prove_ite(t, prove_kid(t, a, 0), yes, no);
    }
    u64 low = bits <= 64 ? apart_from_rest(t, &node) : 0;
    if (low)
        return prove_plus(t, extend(t, prove_plus(t, a, -low), bits, sign), low);
    return make_unary(t, sign ? TERM_SEXT : TERM_ZEXT, a, bits);
}

Term prove_zext(Terms *t, Term a, u32 bits) { return extend(t, a, bits, false); }
Term prove_sext(Terms *t, Term a, u32 bits) { return extend(t, a, bits, true); }

/* Truncates the operands of an operation whose low bits depend only on theirs. */
static Term truncate_operands(Terms *t, Term a, u32 bits)
{
    TermNode node = *prove_node(t, a);
    Term sum = prove_const(t, node.value, bits);
    if (node.op == TERM_LINEAR) {
        for (u32 k = 0; k < node.n; k++)
            sum = add_scaled(t, sum, prove_trunc(t, prove_kid(t, a, k), bits), t->coef.v[node.kids + k]);
        return sum;
    }
    Term product = prove_trunc(t, prove_kid(t, a, 0), bits);
    for (u32 k = 1; k < node.n; k++)
        product = prove_mul(t, product, prove_trunc(t, prove_kid(t, a, k), bits));
    return product;
}

/* The low half of an address that became a generic one, and came back; 0: it is something else. */
static Term truncate_address(Terms *t, Term a, u32 bits)
{
    const TermNode *node = prove_node(t, a);
    const char *name = t->name.v[node->aux]->text;
    if (bits > 32 || node->n != 1 || strncmp(name, "cvta.to.", 8) != 0)
        return 0;
    Term x = prove_undone_window(t, name + 8, prove_kid(t, a, 0));
    return x ? prove_trunc(t, x, bits) : 0;
}

static Term truncate_term(Terms *t, Term a, u32 bits)
{
    TermNode node = *prove_node(t, a);
    switch ((TermOp)node.op) {
    case TERM_CONST: return prove_const(t, node.value, bits);
    case TERM_LINEAR:
    case TERM_MUL: return truncate_operands(t, a, bits);
    case TERM_TRUNC: return prove_trunc(t, prove_kid(t, a, 0), bits);
    case TERM_ZEXT:
    case TERM_SEXT: {
        Term x = prove_kid(t, a, 0);
        if (prove_bits(t, x) >= bits)
            return prove_trunc(t, x, bits);
        return node.op == TERM_ZEXT ? prove_zext(t, x, bits) : prove_sext(t, x, bits);
    }
    case TERM_ITE: {
        Term yes = prove_trunc(t, prove_kid(t, a, 1), bits), no = prove_trunc(t, prove_kid(t, a, 2), bits);
        return prove_ite(t, prove_kid(t, a, 0), yes, no);
    }
    case TERM_LOGIC: { /* the low bits of a bitwise function are the function of the low bits */
        Term kids[6];
        for (u32 k = 0; k < node.n; k++)
            kids[k] = prove_trunc(t, prove_kid(t, a, k), bits);
        return prove_logic_of(t, node.value, kids, node.n, bits);
    }
    case TERM_APPLY: {
        Term x = truncate_address(t, a, bits);
        return x ? x : make_unary(t, TERM_TRUNC, a, bits);
    }
    default: return make_unary(t, TERM_TRUNC, a, bits);
    }
}

/* Results are remembered, since many paths may lead to a term through others. */
Term prove_trunc(Terms *t, Term a, u32 bits)
{
    if (prove_bits(t, a) == bits)
        return a;
    u64 key = (u64)a << 8 | bits, *known = fnvmap_find(&t->truncated, key);
    if (known)
        return (Term)*known;
    Term low = truncate_term(t, a, bits);
    *fnvmap_at(&t->truncated, key) = low;
    return low;
}

Term prove_resize(Terms *t, Term a, u32 bits, bool sign)
{
    u32 has = prove_bits(t, a);
    return has >= bits ? prove_trunc(t, a, bits) : sign ? prove_sext(t, a, bits) : prove_zext(t, a, bits);
}

/* ---- shifts ----------------------------------------------------------------------------------------------------- */

static u64 shift_number(TermOp op, u64 x, u32 by, u32 bits)
{
    if (op == TERM_SAR)
        return (u64)(prove_signed(x, bits) >> (by >= bits ? bits - 1 : by));
    return by >= bits ? 0 : op == TERM_SHL ? x << by : x >> by;
}

static Term shift_by_number(Terms *t, TermOp op, Term a, u64 amount)
{
    TermNode node = *prove_node(t, a);
    u32 bits = node.bits, by = amount > bits ? bits : (u32)amount;
    if (by == 0)
        return a;
    if (node.op == TERM_CONST)
        return prove_const(t, shift_number(op, node.value, by, bits), bits);
    if (op == TERM_SHL)
        return by >= bits ? prove_const(t, 0, bits) : prove_scale(t, a, (u64)1 << by);
    if (op == TERM_SAR && by >= bits)
        by = bits - 1;
    if (op == TERM_SHR && by >= bits)
        return prove_const(t, 0, bits);
    if (node.op == TERM_ZEXT) {
        Term x = prove_kid(t, a, 0);
        return by >= prove_bits(t, x) ? prove_const(t, 0, bits) : prove_zext(t, shift_by_number(t, TERM_SHR, x, by), bits);
    }
    Term kids[] = {a, prove_const(t, by, 32)};
    return prove_make(t, (TermNode){.op = (u8)op, .bits = (u8)bits, .n = 2}, kids, NULL);
}

Term prove_shift(Terms *t, TermOp op, Term a, Term by)
{
    if (prove_is_const(t, by) && prove_bits(t, a) <= 64)
        return shift_by_number(t, op, a, prove_node(t, by)->value);
    Term kids[] = {a, by};
    return prove_make(t, (TermNode){.op = (u8)op, .bits = (u8)prove_bits(t, a), .n = 2}, kids, NULL);
}
