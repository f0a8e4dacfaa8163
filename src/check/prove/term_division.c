/* A division of 32 bits is a term of the unsigned quotient U(A, D) of absolute values. ptxas has all ones for division by
 * zero of either sign, and 2^31 for -2^31 by -1 (tests/ptxas/DIVISIONS.md). So
 *
 *     div(a, d) = d == 0 ? ~0 : (a ^ d) < 0 ? -U(|a|, |d|) : U(|a|, |d|)
 *     rem(a, d) = d == 0 ? ~0 : a < 0 ? -(|a| - |d| U(|a|, |d|)) : |a| - |d| U(|a|, |d|)
 *
 * and without signs where the numbers have none.
 *
 * Let d be at least 1, r = U(2^32 - 1, d), q = mul.hi(a, r), and m = a - q d. Then r d = 2^32 - 1 - e with 0 <= e < d, and
 * a / d - a r / 2^32 = a (1 + e) / (2^32 d), which is not negative, and less than 1, since a < 2^32 and 1 + e <= d. So q
 * is U(a, d) or one less. m is a - q d in unbounded arithmetic too, and is at least d exactly where q is one less. So
 *
 *     (m >= d ? q + 1 : q) = U(a, d)        (m >= d ? m - d : m) = a - d U(a, d)
 *
 * If d is 0, both stay as they are. The shape must be exactly this one: all parts are made again from a and d, and compared. */
#include "check/prove/term_division.h"

#include <string.h>

#include "ir/inspect.h"

enum {
    CHOSEN_DEPTH = 6,
    CHOSEN_TERMS = 100 /* the most that are looked at */
};

bool prove_has_reciprocal(const Function *fn)
{
    for (const Block *b = fn->entry; b; b = b->next)
        for (const Instr *i = b->first; i; i = i->next)
            if (i->kind == INSTR_OP && i->op->opcode == OPC_DIV && i->op->type[0] == TYPE_U32 &&
                instr_operand(i, 1)->kind == OPND_IMM && (u32)instr_operand(i, 1)->value == UINT32_MAX)
                return true;
    return false;
}

/* ---- divisions ----------------------------------------------------------------------------------------------------------- */

static Term quotient(Terms *t, Term a, Term d) { return prove_apply(t, prove_name(t, "div.u32"), 32, (Term[]){a, d}, 2); }

static Term absolute(Terms *t, Term x) { return prove_apply(t, prove_name(t, "abs.s32"), 32, &x, 1); }

static bool is_application(const Terms *t, Term x, const char *name, u32 kids)
{
    const TermNode *node = prove_node(t, x);
    return node->op == TERM_APPLY && node->n == kids && strcmp(t->name.v[node->aux]->text, name) == 0;
}

static Term is_zero(Terms *t, Term x)
{
    if (is_application(t, x, "abs.s32", 1))
        x = prove_kid(t, x, 0);
    return prove_in(t, x, prove_set_range(&t->sets, 0, 0));
}

static Term negated_if(Terms *t, Term cond, Term x)
{
    return prove_ite(t, cond, prove_sub(t, prove_const(t, 0, 32), x), x);
}

Term prove_divide(Terms *t, bool is_remainder, bool is_signed, Term a, Term d)
{
    Term size = is_signed ? absolute(t, a) : a, by = is_signed ? absolute(t, d) : d, q = quotient(t, size, by);
    Term result = is_remainder ? prove_sub(t, size, prove_mul(t, by, q)) : q;
    if (is_signed) {
        Term sign = is_remainder ? a : prove_xor(t, a, d);
        SetId negative = prove_set_range(&t->sets, (u64)1 << 31, UINT32_MAX);
        result = negated_if(t, prove_in(t, sign, negative), result);
    }
    return prove_ite(t, is_zero(t, d), prove_const(t, UINT32_MAX, 32), result);
}

Term prove_divisor_part(Terms *t, DivisorPart part, Term d)
{
    switch (part) {
    case PROVE_RECIPROCAL: return quotient(t, prove_const(t, UINT32_MAX, 32), d);
    case PROVE_ABSOLUTE: return absolute(t, d);
    case PROVE_OPPOSITE: return prove_sub(t, prove_const(t, 0, 32), d);
    default: return is_zero(t, d);
    }
}

Term prove_part_of(Terms *t, Term x, DivisorPart *part)
{
    *part = PROVE_ABSOLUTE;
    if (is_application(t, x, "abs.s32", 1))
        return prove_kid(t, x, 0);
    *part = PROVE_RECIPROCAL;
    bool is = is_application(t, x, "div.u32", 2) && prove_kid(t, x, 0) == prove_const(t, UINT32_MAX, 32);
    return is ? prove_kid(t, x, 1) : 0;
}

static Term chosen(Terms *t, Term x, Term cond, bool is_true, u32 depth, u32 *left)
{
    TermNode node = *prove_node(t, x);
    Term kids[8];
    if (!node.choices || depth == 0 || node.n > COUNT_OF(kids) || *left == 0)
        return x;
    --*left;
    if (node.op == TERM_ITE && prove_kid(t, x, 0) == cond)
        return chosen(t, prove_kid(t, x, is_true ? 1 : 2), cond, is_true, depth - 1, left);
    bool changed = false;
    for (u32 k = 0; k < node.n; k++) {
        kids[k] = chosen(t, prove_kid(t, x, k), cond, is_true, depth - 1, left);
        changed |= kids[k] != prove_kid(t, x, k);
    }
    return changed ? prove_rebuild(t, x, kids) : x;
}

Term prove_chosen(Terms *t, Term x, Term cond, bool is_true)
{
    u32 left = CHOSEN_TERMS;
    return chosen(t, x, cond, is_true, CHOSEN_DEPTH, &left);
}

/* ---- divisions by a reciprocal ------------------------------------------------------------------------------------------- */

/* A choice that may correct `q`. */
typedef struct Correction {
    Term cond, yes, no;
} Correction;

/* By the kid number `k` of q, if that is a reciprocal. */
static Term corrected_by(Terms *t, const Correction *c, Term q, u32 k)
{
    Term r = prove_kid(t, q, k), a = prove_kid(t, q, 1 - k);
    const u32 less = 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT, not_less = ((1u << PROVE_RELS) - 1) & ~less;
    if (!is_application(t, r, "div.u32", 2) || prove_kid(t, r, 0) != prove_const(t, UINT32_MAX, 32))
        return 0;
    Term d = prove_kid(t, r, 1), rest = prove_sub(t, a, prove_mul(t, q, d));
    if (c->cond != prove_rel(t, rest, d, not_less))
        return 0;
    Term exact = 0;
    if (c->no == q && c->yes == prove_plus(t, q, 1))
        exact = quotient(t, a, d);
    else if (c->no == rest && c->yes == prove_sub(t, rest, d))
        exact = prove_sub(t, a, prove_mul(t, d, quotient(t, a, d)));
    return exact ? prove_ite(t, is_zero(t, d), prove_choice(t, c->cond, c->yes, c->no), exact) : 0;
}

static Term corrected(Terms *t, const Correction *c, Term q)
{
    if (!is_application(t, q, "mul.hi 32u", 2))
        return 0;
    Term x = corrected_by(t, c, q, 0);
    return x ? x : corrected_by(t, c, q, 1);
}

/* Looks for the quotient in a term of the sum that it leaves. */
static Term corrected_factor(Terms *t, const Correction *c, Term part)
{
    TermNode node = *prove_node(t, part);
    Term made = node.op == TERM_MUL ? 0 : corrected(t, c, part);
    for (u32 k = 0; node.op == TERM_MUL && k < node.n && !made; k++)
        made = corrected(t, c, prove_kid(t, part, k));
    return made;
}

static Term corrected_choice(Terms *t, const Correction *c)
{
    TermNode node = *prove_node(t, c->no);
    Term made = 0;
    if (node.op != TERM_LINEAR)
        return corrected(t, c, c->no);
    for (u32 k = 0; k < node.n && !made; k++)
        made = corrected_factor(t, c, prove_kid(t, c->no, k));
    return made;
}

/* d == 0 ? ~0 : the reciprocal of d, which is ~0 then. */
static Term whole_reciprocal(Terms *t, Term cond, Term yes, Term no)
{
    DivisorPart part;
    if (yes != prove_const(t, UINT32_MAX, 32))
        return 0;
    Term r = prove_chosen(t, no, cond, false), d = prove_part_of(t, r, &part);
    return d && part == PROVE_RECIPROCAL && cond == is_zero(t, d) ? r : 0;
}

Term prove_corrected(Terms *t, Term cond, Term yes, Term no)
{
    if (!t->divides || prove_bits(t, yes) != 32)
        return 0;
    Term opposite = prove_not(t, cond), made = corrected_choice(t, &(Correction){cond, yes, no});
    made = made ? made : corrected_choice(t, &(Correction){opposite, no, yes});
    made = made ? made : whole_reciprocal(t, cond, yes, no);
    return made ? made : whole_reciprocal(t, opposite, no, yes);
}

/* ---- remainders ---------------------------------------------------------------------------------------------------------- */

/* Let r be what a division of `of` by `by` leaves, where `of` is no negative number. Then r <= by - 1 modulo 2^bits, as unsigned
 * numbers, whatever `by` is:
 *
 *   - by zero: by - 1 is the greatest number;
 *   - by less than zero, where it is signed: r < |by| <= 2^(bits - 1), and by - 1 modulo 2^bits is at least 2^(bits - 1) - 1;
 *   - else: 0 <= r < by.
 *
 * So is |of| - |by| U(|of|, |by|) for any signed number `of`: it is what |of| leaves, or |of| where `by` is zero. Whatever a
 * division by zero gives, it is multiplied by zero in of - by * div(of, by). */

/* The quotient that is a factor of the term, or the term; 0: there is none. */
static Term quotient_in(const Terms *t, Term x, const char *name)
{
    TermNode node = *prove_node(t, x);
    Term found = is_application(t, x, name, 2) ? x : 0;
    for (u32 k = 0; node.op == TERM_MUL && k < node.n && !found; k++)
        found = is_application(t, prove_kid(t, x, k), name, 2) ? prove_kid(t, x, k) : 0;
    return found;
}

/* Whether x is a - d q for a quotient q of a by d. */
static bool leaves(Terms *t, Term x, const char *name, Term *q)
{
    TermNode node = *prove_node(t, x);
    for (u32 k = 0; node.op == TERM_LINEAR && k < node.n; k++) {
        *q = quotient_in(t, prove_kid(t, x, k), name);
        if (*q && prove_sub(t, prove_kid(t, *q, 0), prove_mul(t, prove_kid(t, *q, 1), *q)) == x)
            return true;
    }
    return false;
}

/* The number of which x is the absolute value, or x. */
static Term without_absolute(const Terms *t, Term x) { return is_application(t, x, "abs.s32", 1) ? prove_kid(t, x, 0) : x; }

/* The quotient of absolute values, or of numbers without a sign, in the choices that prove_divide() makes; 0: there is none. */
static Term chosen_quotient(Terms *t, Term x, u32 depth)
{
    TermNode node = *prove_node(t, x);
    Term q = 0;
    if (node.op == TERM_LINEAR)
        return leaves(t, x, "div.u32", &q) ? q : 0;
    for (u32 k = 1; k < node.n && node.op == TERM_ITE && depth && !q; k++)
        q = chosen_quotient(t, prove_kid(t, x, k), depth - 1);
    return q;
}

/* Whether x is the remainder as prove_divide() makes it, with or without what it is where the divisor is zero. */
static bool is_made_remainder(Terms *t, Term x, bool is_signed, Term a, Term d)
{
    Term whole = prove_divide(t, true, is_signed, a, d);
    bool is_choice = prove_node(t, whole)->op == TERM_ITE;
    return whole == x || (is_choice && (prove_kid(t, whole, 1) == x || prove_kid(t, whole, 2) == x));
}

static bool is_chosen_remainder(Terms *t, Term x, Remainder *r)
{
    Term q = prove_bits(t, x) == 32 ? chosen_quotient(t, x, 2) : 0;
    if (!q)
        return false;
    Term size = prove_kid(t, q, 0), by = prove_kid(t, q, 1), a = without_absolute(t, size), d = without_absolute(t, by);
    bool is_sum = prove_node(t, x)->op == TERM_LINEAR;
    *r = (Remainder){a, d, !is_sum && is_made_remainder(t, x, true, a, d)};
    return is_sum || r->has_sign || is_made_remainder(t, x, false, size, by);
}

bool prove_is_remainder(Terms *t, Term x, Remainder *r)
{
    static const struct {
        const char *remainder, *quotient;
        u32 bits;
        bool is_signed;
    } forms[] = {{"rem.u32", "div.u32", 32, false},
                 {"rem.s32", "div.s32", 32, true},
                 {"rem.u64", "div.u64", 64, false},
                 {"rem.s64", "div.s64", 64, true}};
    if (is_chosen_remainder(t, x, r))
        return true;
    for (u32 k = 0; k < COUNT_OF(forms); k++) {
        Term q = is_application(t, x, forms[k].remainder, 2) ? x : 0;
        if (q || leaves(t, x, forms[k].quotient, &q)) {
            *r = (Remainder){prove_kid(t, q, 0), prove_kid(t, q, 1), forms[k].is_signed};
            return prove_bits(t, x) == forms[k].bits && prove_bits(t, r->of) == prove_bits(t, x) &&
                   prove_bits(t, r->by) == prove_bits(t, x);
        }
    }
    return false;
}
