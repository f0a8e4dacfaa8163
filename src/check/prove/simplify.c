/* Applies what a path knows to a term, and says whether two terms are equal by it. */
#include <stdlib.h>
#include <string.h>

#include "check/prove/prover.h"

enum { CASES_MAX = 8 /* nested case splits of an equality */ };

/* Adds the least and the most of coef * x, read as a signed or an unsigned number. False: the path cannot be. */
static bool add_bounds(Prover *p, Term x, __int128 coef, bool is_signed, __int128 *lo, __int128 *hi)
{
    Sets *sets = &p->t.sets;
    u64 mask = prove_mask(prove_bits(&p->t, x)), half = is_signed ? (mask >> 1) + 1 : 0;
    SetId set = prove_known(p, x);
    if (is_signed)
        set = prove_set_shift(sets, set, half, mask);
    if (prove_set_is_empty(sets, set))
        return false;
    __int128 a = coef * ((__int128)prove_set_min(sets, set) - half), b = coef * ((__int128)prove_set_max(sets, set) - half);
    *lo += a < b ? a : b;
    *hi += a < b ? b : a;
    return true;
}

static bool fits(__int128 lo, __int128 hi, u32 bits, bool is_signed)
{
    u64 mask = prove_mask(bits), half = (mask >> 1) + 1;
    return is_signed ? lo >= -(__int128)half && hi < (__int128)half : lo >= 0 && hi <= (__int128)mask;
}

/* Whether the sum has one value in unbounded arithmetic, where its terms and it are read as signed or unsigned numbers. */
static bool sum_fits(Prover *p, Term x, bool is_signed)
{
    const Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    __int128 lo = prove_signed(node.value, node.bits), hi = lo;
    for (u32 k = 0; k < node.n; k++)
        if (!add_bounds(p, prove_kid(t, x, k), prove_signed(t->coef.v[node.kids + k], node.bits), is_signed, &lo, &hi))
            return false;
    return fits(lo, hi, node.bits, is_signed);
}

/* Whether adding the sum's constant to the rest of it stays within the signed, or the unsigned, numbers. */
static bool constant_fits(Prover *p, Term x, Term rest, bool is_signed)
{
    u32 bits = prove_bits(&p->t, x);
    __int128 lo = prove_signed(prove_node(&p->t, x)->value, bits), hi = lo;
    return add_bounds(p, rest, 1, is_signed, &lo, &hi) && fits(lo, hi, bits, is_signed);
}

/* The extension of a sum that fits is the sum of extensions. */
static Term extend(Prover *p, Term inner, u32 bits, bool is_signed);

static Term extend_sum(Prover *p, Term x, u32 bits, bool is_signed)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    Term sum = prove_const(t, (u64)prove_signed(node.value, node.bits), bits);
    for (u32 k = 0; k < node.n; k++) {
        Term part = extend(p, prove_kid(t, x, k), bits, is_signed);
        sum = prove_add(t, sum, prove_scale(t, part, (u64)prove_signed(t->coef.v[node.kids + k], node.bits)));
    }
    return sum;
}

/* The sign of a number that is not negative is 0. */
static Term extend(Prover *p, Term inner, u32 bits, bool is_signed)
{
    Terms *t = &p->t;
    if (prove_bits(t, inner) > 32 || bits > 64)
        return is_signed ? prove_sext(t, inner, bits) : prove_zext(t, inner, bits);
    if (prove_node(t, inner)->op == TERM_LINEAR && sum_fits(p, inner, is_signed))
        return extend_sum(p, inner, bits, is_signed);
    if (prove_node(t, inner)->op == TERM_LINEAR && prove_node(t, inner)->value) {
        u64 by = prove_node(t, inner)->value;
        Term rest = prove_plus(t, inner, 0 - by);
        if (constant_fits(p, inner, rest, is_signed))
            return prove_plus(t, extend(p, rest, bits, is_signed), (u64)prove_signed(by, prove_bits(t, inner)));
    }
    SetId set = prove_known(p, inner);
    u64 half = prove_mask(prove_bits(t, inner)) >> 1;
    if (is_signed && !prove_set_is_empty(&t->sets, set) && prove_set_max(&t->sets, set) <= half)
        return prove_zext(t, inner, bits);
    return is_signed ? prove_sext(t, inner, bits) : prove_zext(t, inner, bits);
}

/* Bitwise with constants and one other number, where the constants change only bits that the number never has. The result
 * is its sum with the bits that they set. */
static Term sum_of_bits(Prover *p, Term x)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    Term number = 0;
    u64 set = 0;
    if (node.op != TERM_LOGIC || node.bits == 1 || node.bits > 64 || node.n > 6)
        return x;
    for (u32 k = 0; k < node.n; k++)
        if (!prove_is_const(t, prove_kid(t, x, k))) {
            if (number)
                return x;
            number = prove_kid(t, x, k);
        }
    SetId values = number ? prove_known(p, number) : 0;
    if (!values || prove_set_is_empty(&t->sets, values))
        return x;
    u64 most = prove_set_max(&t->sets, values), mask = most ? UINT64_MAX >> __builtin_clzll(most) : 0;
    for (u32 bit = 0; bit < node.bits; bit++) {
        u32 row[2] = {0, 0};
        for (u32 k = 0; k < node.n; k++)
            for (u32 v = 0; v < 2; v++) {
                Term kid = prove_kid(t, x, k);
                row[v] |= (u32)(kid == number ? v : prove_node(t, kid)->value >> bit & 1) << k;
            }
        bool zero = node.value >> row[0] & 1, one = node.value >> row[1] & 1;
        if ((mask >> bit & 1) && (zero || !one))
            return x;
        set |= (u64)zero << bit;
    }
    return prove_plus(t, number, set);
}

static Term simplify(Prover *p, FnvMap *seen, Term x, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    Term few[16], *kids = few, unused;
    if (depth == 0 || node.n == 0 || node.n > COUNT_OF(few))
        return x;
    u64 *done = fnvmap_find(seen, x);
    if (done)
        return (Term)*done;
    Term made = 0;
    if (node.op == TERM_ITE) {
        int is = prove_decide(p, prove_kid(t, x, 0), &unused);
        if (is >= 0)
            made = simplify(p, seen, prove_kid(t, x, is ? 1 : 2), depth - 1);
    } else if (node.bits == 1) {
        int is = prove_decide(p, x, &unused);
        if (is >= 0)
            made = prove_bool(t, is);
    }
    if (!made) {
        for (u32 k = 0; k < node.n; k++)
            kids[k] = simplify(p, seen, prove_kid(t, x, k), depth - 1);
        made = node.op == TERM_SEXT || node.op == TERM_ZEXT ? extend(p, kids[0], node.bits, node.op == TERM_SEXT)
                                                            : sum_of_bits(p, prove_rebuild(t, x, kids));
    }
    *fnvmap_at(seen, x) = made;
    return made;
}

Term prove_simplify(Prover *p, Term x)
{
    FnvMap seen = {0};
    Term made = simplify(p, &seen, x, 64);
    fnvmap_free(&seen);
    return made;
}

/* An atom on which a choice in x depends; 0: there is none. */
static Term atom_of_choice(Prover *p, Term x, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    Term atom = 0;
    if (depth == 0 || (!node.choices && node.bits > 1))
        return 0;
    if (node.op == TERM_ITE && prove_decide(p, prove_kid(t, x, 0), &atom) < 0 && atom)
        return atom;
    for (u32 k = 0; k < node.n; k++)
        if ((atom = atom_of_choice(p, prove_kid(t, x, k), depth - 1)))
            return atom;
    return 0;
}

static bool equal(Prover *p, Term a, Term b, u32 cases)
{
    if (a == b)
        return true;
    if (prove_bits(&p->t, a) != prove_bits(&p->t, b))
        return false;
    a = prove_simplify(p, a);
    b = prove_simplify(p, b);
    if (a == b)
        return true;
    Term atom = cases ? atom_of_choice(p, a, 16) : 0;
    if (!atom && cases)
        atom = atom_of_choice(p, b, 16);
    if (!atom)
        return false;
    for (u32 value = 0; value < 2; value++) {
        u32 mark = p->facts.all.n;
        bool same = !prove_assume(p, atom, value) || equal(p, a, b, cases - 1);
        prove_forget(p, mark);
        if (!same)
            return false;
    }
    return true;
}

bool prove_equal(Prover *p, Term a, Term b)
{
    return equal(p, a, b, CASES_MAX) || prove_solver_equal(p, prove_simplify(p, a), prove_simplify(p, b));
}
