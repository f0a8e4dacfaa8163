/* Inequalities of integers: how terms are read, what facts give, and what follows from these.
 *
 * A polynomial stands for an integer; its atoms are terms, read as unsigned or as signed numbers. The reading of a term is its own
 * polynomial. That of a sum is the sum of the readings of its parts, if that is shown to lie in the range of the width. Otherwise
 * it is the term as an atom. So no reading rests on a sum that may wrap around.
 *
 * Each fact gives polynomials that are not negative. A polynomial is not negative if the ranges of its atoms say so. It is not
 * negative either if another such polynomial, times a product of unsigned atoms, can be subtracted and the rest is not negative. If
 * that search fails, multiples of several that add up to it are looked for (combine.h). */
#include "check/prove/inequalities.h"

#include "check/prove/combine.h"
#include "check/prove/term_division.h"

enum {
    READING_TRIES = 100,
    PARTS_TRIED = 3,  /* of a sum */
    FEW = 4,          /* monomials, of which those that are not negative are got rid of too */
    BOUNDED_MAX = 32, /* atoms, whose ranges are facts */
    FACTS_ADDED = 64  /* to one another, without those */
};

/* ---- ranges -------------------------------------------------------------------------------------------------------------------- */

Wide integers_least(u32 bits, bool is_signed) { return is_signed ? -((Wide)1 << (bits - 1)) : 0; }
Wide integers_greatest(u32 bits, bool is_signed) { return ((Wide)1 << (bits - is_signed)) - 1; }

static void range_in(Prover *p, SetId set, u32 bits, bool is_signed, Wide *lo, Wide *hi)
{
    u64 half = is_signed ? (u64)1 << (bits - 1) : 0;
    set = is_signed ? prove_set_shift(&p->t.sets, set, half, prove_mask(bits)) : set;
    bool none = prove_set_is_empty(&p->t.sets, set);
    *lo = none ? integers_least(bits, is_signed) : (Wide)prove_set_min(&p->t.sets, set) - half;
    *hi = none ? integers_greatest(bits, is_signed) : (Wide)prove_set_max(&p->t.sets, set) - half;
}

static void range_of_atom(const Integers *z, u32 atom, Wide *lo, Wide *hi)
{
    range_in(z->p, prove_known(z->p, atom >> 1), prove_bits(&z->p->t, atom >> 1), atom & 1, lo, hi);
}

/* The least value that the monomial may have; false: it is not known. */
static bool least_of(const Integers *z, const Monomial *m, Wide *least)
{
    Wide lo = 1, hi = 1;
    for (u32 k = 0; k < m->n; k++) {
        Wide a, b;
        range_of_atom(z, m->atom[k], &a, &b);
        if (a < 0 && m->n > 1)
            return false;
        if (__builtin_mul_overflow(lo, a, &lo) || __builtin_mul_overflow(hi, b, &hi))
            return false;
    }
    return !__builtin_mul_overflow(m->coef, m->coef > 0 ? lo : hi, least);
}

static bool is_clearly_not_negative(const Integers *z, const Polynomial *g)
{
    Wide sum = 0, least;
    for (u32 k = 0; k < g->n; k++)
        if (!least_of(z, &g->m[k], &least) || __builtin_add_overflow(sum, least, &sum))
            return false;
    return !g->lost && sum >= 0;
}

/* ---- readings ------------------------------------------------------------------------------------------------------------------ */

Polynomial integers_atom(Integers *z, Term x, bool is_signed)
{
    Polynomial p = {0};
    u32 bits = prove_bits(&z->p->t, x);
    Wide lo = 0, hi = 0;
    if (is_signed)
        range_in(z->p, prove_known(z->p, x), bits, true, &lo, &hi);
    polynomial_add(&p, (Monomial){.coef = 1, .n = 1, .atom = {2 * x + (is_signed && lo < 0)}});
    return p;
}

/* A sum of facts that is a part of x, or of -x, as a whole, and what is left of x. */
typedef struct SumPart {
    Term sum, rest; /* 0: there is none */
    bool is_less;
} SumPart;

static bool was_tried(const SumPart *tried, u32 n, Term sum, bool is_less)
{
    bool was = false;
    for (u32 k = 0; k < n; k++)
        was |= tried[k].sum == sum && tried[k].is_less == is_less;
    return was;
}

/* The largest part that was not tried. */
static SumPart part_of_sum(Integers *z, Term x, const SumPart *tried, u32 n_tried)
{
    Terms *t = &z->p->t;
    u32 best = prove_node(t, x)->n;
    u64 apart = UINT64_MAX;
    SumPart found = {0};
    for (u32 k = 0; k < z->sums.n; k++)
        for (u32 less = 0; less < 2; less++) {
            Term sum = z->sums.v[k];
            u32 many = prove_node(t, sum)->n, all = prove_node(t, x)->n;
            if (prove_bits(t, sum) != prove_bits(t, x) || many > all || (many == all && sum >= x) ||
                was_tried(tried, n_tried, sum, less))
                continue;
            Term rest = less ? prove_add(t, x, sum) : prove_sub(t, x, sum);
            u32 n = prove_node(t, rest)->op == TERM_LINEAR ? prove_node(t, rest)->n : !prove_is_const(t, rest);
            i64 number = prove_signed(prove_node(t, rest)->value, prove_bits(t, rest));
            u64 more = prove_node(t, rest)->op == TERM_LINEAR ? number < 0 ? 0 - (u64)number : (u64)number : 0;
            if (n + many > all || n > best || (n == best && more >= apart))
                continue;
            best = n;
            apart = more;
            found = (SumPart){sum, rest, less};
        }
    return found;
}

/* The sum of the readings of its parts, each of them alone. */
static Polynomial read_parts(Integers *z, Term x, bool is_signed, u32 level)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    Polynomial p = polynomial_constant(prove_signed(node.value, node.bits));
    for (u32 k = 0; k < node.n; k++) {
        Polynomial of = integers_read(z, prove_kid(t, x, k), is_signed, level);
        polynomial_add_scaled(&p, &of, prove_signed(t->coef.v[node.kids + k], node.bits));
    }
    return p;
}

static Polynomial read_part(Integers *z, const SumPart *part, bool is_signed, u32 level)
{
    const Terms *t = &z->p->t;
    Polynomial p = integers_congruent(z, part->rest, is_signed, level), of = integers_read(z, part->sum, is_signed, level);
    if (prove_is_const(t, part->rest)) /* its sign is that of a small number */
        p = polynomial_constant(prove_signed(prove_node(t, part->rest)->value, prove_bits(t, part->rest)));
    polynomial_add_scaled(&p, &of, part->is_less ? -1 : 1);
    return p;
}

static Polynomial read_sum(Integers *z, Term x, bool is_signed, u32 level)
{
    SumPart part = part_of_sum(z, x, NULL, 0);
    return part.sum ? read_part(z, &part, is_signed, level) : read_parts(z, x, is_signed, level);
}

/* The factors of x without those of `part`, as bits; 0: some are not there, or none is left. */
static u64 other_factors(const Terms *t, Term x, Term part)
{
    u32 n = prove_node(t, x)->n, of_part = prove_node(t, part)->n;
    u64 left = ((u64)1 << n) - 1;
    for (u32 i = 0; i < of_part; i++) {
        u32 k = 0;
        while (k < n && !(left >> k & 1 && prove_kid(t, x, k) == prove_kid(t, part, i)))
            k++;
        if (k == n)
            return 0;
        left &= ~((u64)1 << k);
    }
    return left;
}

/* The product of what its factors are. A product of facts is one factor: it may have wrapped around. */
static Polynomial read_product(Integers *z, Term x, u32 level)
{
    const Terms *t = &z->p->t;
    u32 n = prove_node(t, x)->n;
    if (n > DEGREE_MAX)
        return integers_atom(z, x, false);
    Polynomial p = polynomial_constant(1);
    u64 left = 0;
    for (u32 k = 0; k < z->products.n && !left; k++)
        if (prove_bits(t, z->products.v[k]) == prove_bits(t, x) && (left = other_factors(t, x, z->products.v[k])))
            p = integers_read(z, z->products.v[k], false, level);
    for (u32 k = 0; k < n; k++)
        if (!left || left >> k & 1) {
            Polynomial part = integers_read(z, prove_kid(t, x, k), false, level);
            p = polynomial_multiply(&p, &part);
        }
    return p;
}

/* Whether x is known to be at most a number. Nothing is known of it where no thread can be. */
static bool is_known_below(Prover *p, Term x, u64 most)
{
    SetId known = prove_known(p, x);
    return !prove_set_is_empty(&p->t.sets, known) && prove_set_max(&p->t.sets, known) <= most;
}

/* What is left of x, a number whose lowest bits are cleared, if they are shifted out; 0: it is no such number. */
static Term without_low_bits(Terms *t, Term x, u32 *bits)
{
    TermNode node = *prove_node(t, x);
    for (u32 k = 0; k < node.n && node.op == TERM_LOGIC && node.n == 2 && node.value == 0x8 && node.bits <= 64; k++) {
        Term mask = prove_kid(t, x, k);
        u64 cleared = prove_is_const(t, mask) ? ~prove_node(t, mask)->value & prove_mask(node.bits) : 0;
        *bits = (u32)__builtin_popcountll(cleared);
        if (cleared && !(cleared & (cleared + 1)))
            return prove_shift(t, TERM_SHR, prove_kid(t, x, !k), prove_const(t, *bits, 32));
    }
    return 0;
}

/* An integer that is x modulo 2 to the power of its width. */
Polynomial integers_congruent(Integers *z, Term x, bool is_signed, u32 level)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    Polynomial p = {0};
    Term high;
    u32 by;
    switch ((TermOp)node.op) {
    case TERM_CONST: return polynomial_constant(is_signed ? (Wide)prove_signed(node.value, node.bits) : (Wide)node.value);
    case TERM_LINEAR: return read_sum(z, x, is_signed, level);
    case TERM_MUL: return read_product(z, x, level);
    case TERM_ZEXT: return integers_read(z, prove_kid(t, x, 0), false, level);
    case TERM_SEXT: return integers_read(z, prove_kid(t, x, 0), true, level);
    case TERM_TRUNC:
        if (prove_bits(t, prove_kid(t, x, 0)) <= 64)
            return integers_read(z, prove_kid(t, x, 0), false, level);
        return integers_atom(z, x, is_signed);
    default:
        if ((high = without_low_bits(&z->p->t, x, &by))) {
            Polynomial of = integers_read(z, high, false, level);
            polynomial_add_scaled(&p, &of, (Wide)1 << by);
            return p;
        }
        if (node.bits == 64 && is_known_below(z->p, x, UINT32_MAX)) {
            Term low = prove_trunc(&z->p->t, x, 32);
            if (prove_node(t, low)->op != TERM_TRUNC)
                return integers_read(z, low, false, level);
        }
        return integers_atom(z, x, is_signed);
    }
}

/* Whether a product cannot wrap around, by the ranges of its factors. */
static bool is_whole_product(const Integers *z, Term x)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    Wide most = 1, lo, hi;
    for (u32 k = 0; k < node.n && node.op == TERM_MUL; k++) {
        range_of_atom(z, 2 * prove_kid(t, x, k), &lo, &hi);
        if (__builtin_mul_overflow(most, hi, &most))
            return false;
    }
    return node.op == TERM_MUL && most <= integers_greatest(node.bits, false);
}

/* Whether the term is read as a sum of what is not negative. */
static bool only_adds(Integers *z, Term x)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    bool adds = node.op == TERM_LINEAR && prove_signed(node.value, node.bits) >= 0;
    for (u32 k = 0; k < node.n && adds; k++)
        adds = prove_signed(t->coef.v[node.kids + k], node.bits) > 0;
    return adds && !part_of_sum(z, x, NULL, 0).sum;
}

/* Whether the number, as a signed one, is the unsigned one. */
static bool is_small(Integers *z, Term x, u32 level)
{
    Polynomial most = polynomial_constant(integers_greatest(prove_bits(&z->p->t, x), true)),
               own = integers_atom(z, x, false);
    Polynomial below = polynomial_difference(&most, &own, 0);
    return integers_not_negative(z, &below, level, INTEGERS_SUBTRACTIONS);
}

/* Whether the polynomial, which is congruent to x, is shown to be in the range of x. */
static bool is_in_range(Integers *z, Term x, const Polynomial *p, bool is_signed, u32 level)
{
    u32 bits = prove_bits(&z->p->t, x);
    Polynomial lo = polynomial_constant(integers_least(bits, is_signed)),
               hi = polynomial_constant(integers_greatest(bits, is_signed));
    Polynomial above = polynomial_difference(p, &lo, 0), below = polynomial_difference(&hi, p, 0);
    if (p->lost)
        return false;
    if (!is_signed && is_whole_product(z, x))
        return true;
    bool adds = !is_signed && only_adds(z, x);
    return (adds || integers_not_negative(z, &above, level, INTEGERS_SUBTRACTIONS)) &&
           integers_not_negative(z, &below, level, INTEGERS_SUBTRACTIONS);
}

/* By other parts of the sum, or none. */
static bool read_otherwise(Integers *z, Term x, bool is_signed, u32 level, Polynomial *p)
{
    SumPart tried[PARTS_TRIED] = {part_of_sum(z, x, NULL, 0)};
    for (u32 k = 1; k <= PARTS_TRIED && tried[k - 1].sum; k++) {
        SumPart part = part_of_sum(z, x, tried, k);
        z->tries = READING_TRIES;
        *p = part.sum && k < PARTS_TRIED ? read_part(z, &part, is_signed, level) : read_parts(z, x, false, level);
        if (is_in_range(z, x, p, is_signed, level))
            return true;
        if (k < PARTS_TRIED)
            tried[k] = part;
    }
    return false;
}

/* The polynomial that is the number x. */
Polynomial integers_read(Integers *z, Term x, bool is_signed, u32 level)
{
    u64 key = ((u64)x << 1 | is_signed) * INTEGERS_LEVELS + level, *found = fnvmap_find(&z->read, key);
    if (found)
        return *(const Polynomial *)(uintptr_t)*found;
    u32 tries = z->tries;
    z->tries = READING_TRIES;
    Polynomial p = integers_congruent(z, x, is_signed, level);
    bool is_read = is_in_range(z, x, &p, is_signed, level);
    if (!is_read && prove_node(&z->p->t, x)->op == TERM_LINEAR)
        is_read = read_otherwise(z, x, is_signed, level, &p);
    if (!is_read)
        p = integers_atom(z, x, is_signed);
    if (p.n == 1 && p.m[0].coef == 1 && p.m[0].n == 1 && p.m[0].atom[0] == 2 * x + 1 && is_small(z, x, level))
        p = integers_atom(z, x, false);
    z->tries = tries;
    Polynomial *kept = arena_new(&z->arena, Polynomial);
    *kept = p;
    *fnvmap_at(&z->read, key) = (u64)(uintptr_t)kept;
    return p;
}

/* ---- facts ------------------------------------------------------------------------------------------------------------------------ */

static const Polynomial *keep_polynomial(Integers *z, const Polynomial *p)
{
    Polynomial *kept = arena_new(&z->arena, Polynomial);
    *kept = *p;
    return kept;
}

static void keep(Integers *z, Inequalities *known, const Polynomial *p) { known->v[known->n++] = keep_polynomial(z, p); }

static void know(Integers *z, Inequalities *known, const Polynomial *p)
{
    bool is_multiple;
    Polynomial round = polynomial_rounded(p, true, &is_multiple);
    if (!p->lost && known->n < INTEGERS_INEQUALITIES && !is_clearly_not_negative(z, &round))
        keep(z, known, &round);
}

static void know_relation(Integers *z, Inequalities *known, const Fact *f, bool is_signed, u32 level)
{
    const Terms *t = &z->p->t;
    u32 less = is_signed ? INTEGERS_SIGNED_LESS : INTEGERS_LESS, more = is_signed ? INTEGERS_SIGNED_MORE : INTEGERS_MORE,
        given = 0;
    for (u32 r = 0; r < PROVE_RELS; r++)
        given |= (u32)prove_set_has(&t->sets, f->set, r) << r;
    bool at_most = !(given & ~(less | INTEGERS_EQUAL)), at_least = !(given & ~(more | INTEGERS_EQUAL));
    if (!given || (!at_most && !at_least))
        return;
    Polynomial a = integers_read(z, prove_kid(t, f->term, 0), is_signed, level),
               b = integers_read(z, prove_kid(t, f->term, 1), is_signed, level);
    Polynomial up = polynomial_difference(&b, &a, !(given & INTEGERS_EQUAL)),
               down = polynomial_difference(&a, &b, !(given & INTEGERS_EQUAL));
    if (at_most)
        know(z, known, &up);
    if (at_least)
        know(z, known, &down);
}

static void know_range(Integers *z, Inequalities *known, const Fact *f, bool is_signed, u32 level)
{
    Wide lo, hi;
    range_in(z->p, f->set, prove_bits(&z->p->t, f->term), is_signed, &lo, &hi);
    Polynomial x = integers_read(z, f->term, is_signed, level), least = polynomial_constant(lo),
               most = polynomial_constant(hi);
    Polynomial above = polynomial_difference(&x, &least, 0), below = polynomial_difference(&most, &x, 0);
    know(z, known, &above);
    know(z, known, &below);
}

/* By tries of its own: what is not so takes all of them. */
static bool is_shown(Integers *z, const Polynomial *g, u32 level)
{
    z->tries = READING_TRIES;
    return integers_not_negative(z, g, level, INTEGERS_SUBTRACTIONS);
}

/* A number that is on one side of a hole of its set. */
static void know_hole(Integers *z, Inequalities *known, const Fact *f, u32 level)
{
    Set set = *prove_set(&z->p->t.sets, f->set);
    if (set.n != 2)
        return;
    Polynomial x = integers_read(z, f->term, false, level), end = polynomial_constant(set.v[0].hi),
               next = polynomial_constant(set.v[1].lo);
    Polynomial above = polynomial_difference(&x, &end, 1), below = polynomial_difference(&next, &x, 1);
    Polynomial least = polynomial_difference(&x, &next, 0), most = polynomial_difference(&end, &x, 0);
    if (is_shown(z, &above, level))
        know(z, known, &least);
    else if (is_shown(z, &below, level))
        know(z, known, &most);
}

/* The sum is one number, or is not. An integer congruent to it that is less than 2^bits away from the number is that
 * number, too. */
static void know_number(Integers *z, Inequalities *known, const Fact *f, u32 level)
{
    Sets *s = &z->p->t.sets;
    u32 bits = prove_bits(&z->p->t, f->term);
    SetId rest = prove_set_not(s, f->set, prove_mask(bits));
    bool is_one = prove_set_count(s, f->set, 2) == 1, is_not = prove_set_count(s, rest, 2) == 1;
    if (!is_one && !is_not)
        return;
    Polynomial far = polynomial_constant((Wide)prove_mask(bits)), zero = {0};
    Polynomial number = polynomial_constant(prove_signed(prove_set_min(s, is_one ? f->set : rest), bits));
    Polynomial x = integers_congruent(z, f->term, false, level), up = polynomial_difference(&x, &number, 0),
               down = polynomial_difference(&number, &x, 0);
    Polynomial low = polynomial_difference(&far, &down, 0), high = polynomial_difference(&far, &up, 0);
    if (is_one && is_shown(z, &low, level) && is_shown(z, &high, level)) {
        know(z, known, &up);
        know(z, known, &down);
    }
    if (is_not && is_shown(z, &up, level)) {
        up = polynomial_difference(&up, &zero, 1);
        know(z, known, &up);
    } else if (is_not && is_shown(z, &down, level)) {
        down = polynomial_difference(&down, &zero, 1);
        know(z, known, &down);
    }
}

/* Whether a fact says that the number is a multiple of one, a power of two, or that one by so much greater is. */
static bool is_multiple_of(Integers *z, Term x, u64 of, u32 level)
{
    Prover *p = z->p;
    Terms *t = &p->t;
    Polynomial read = integers_read(z, x, false, level);
    bool all = !read.lost;
    for (u32 k = 0; k < read.n && all; k++)
        all = read.m[k].coef % of == 0;
    if (all)
        return true;
    for (u32 k = 0; k < 2; k++) {
        Term low = prove_and(t, prove_plus(t, x, k * of), prove_const(t, of - 1, prove_bits(t, x)));
        if (is_known_below(p, low, 0))
            return true;
    }
    return false;
}

/* A remainder is at most the divisor less 1, both modulo 2^bits: see prove_is_remainder(). */
static void know_remainder(Integers *z, Inequalities *known, Term x, u32 level)
{
    Terms *t = &z->p->t;
    Remainder r;
    if (!prove_is_remainder(t, x, &r))
        return;
    Polynomial of = integers_read(z, r.of, true, level);
    if (r.has_sign && !is_shown(z, &of, level))
        return;
    Polynomial own = integers_read(z, x, false, level),
               most = integers_read(z, prove_plus(t, r.by, UINT64_MAX), false, level);
    Polynomial below = polynomial_difference(&most, &own, 0);
    know(z, known, &below);
}

/* What holds of an atom by what it computes: a number that is shifted or masked, or a remainder. */
void integers_know(Integers *z, Inequalities *known, Term x, u32 level)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    bool shifts = node.op == TERM_SHR && prove_is_const(t, prove_kid(t, x, 1)) &&
                  prove_node(t, prove_kid(t, x, 1))->value < node.bits && node.bits <= 64;
    bool masks = node.op == TERM_LOGIC && node.n == 2 && node.value == 0x8 && node.bits <= 64;
    if (!shifts && !masks) {
        know_remainder(z, known, x, level);
        return;
    }
    Polynomial own = integers_atom(z, x, false), by = polynomial_constant(1);
    if (shifts) {
        Wide scale = (Wide)1 << prove_node(t, prove_kid(t, x, 1))->value;
        Polynomial of = integers_read(z, prove_kid(t, x, 0), false, level), low = of, high = {0};
        polynomial_add_scaled(&low, &own, -scale);
        know(z, known, &low);
        polynomial_add_scaled(&high, &own, scale);
        if (!is_multiple_of(z, prove_kid(t, x, 0), (u64)scale, level))
            polynomial_add_scaled(&high, &by, scale - 1);
        polynomial_add_scaled(&high, &of, -1);
        know(z, known, &high);
        return;
    }
    for (u32 k = 0; k < 2; k++) {
        Polynomial of = integers_read(z, prove_kid(t, x, k), false, level), low = polynomial_difference(&of, &own, 0);
        know(z, known, &low);
        if (prove_is_const(t, prove_kid(t, x, !k))) {
            Wide cleared = (Wide)(~prove_node(t, prove_kid(t, x, !k))->value & prove_mask(node.bits));
            Polynomial high = polynomial_difference(&own, &of, -cleared);
            know(z, known, &high);
        }
    }
}

static void know_least(Integers *z, Inequalities *known, u32 x)
{
    Wide lo, hi;
    Polynomial p = {0}, one = polynomial_constant(1);
    range_of_atom(z, x, &lo, &hi);
    if (lo <= 0 || known->n == INTEGERS_INEQUALITIES)
        return;
    polynomial_add(&p, (Monomial){.coef = 1, .n = 1, .atom = {x}});
    polynomial_add_scaled(&p, &one, -lo);
    keep(z, known, &p);
}

/* No bit of a number is set that a mask of the lowest ones has: it is a multiple. */
static void know_multiple(Integers *z, Inequalities *known, Term x, u32 level)
{
    Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    for (u32 k = 0; k < 2 && node.n == 2 && node.value == 0x8 && node.bits <= 64; k++) {
        Term mask = prove_kid(t, x, k), of = prove_kid(t, x, !k);
        u64 low = prove_is_const(t, mask) ? prove_node(t, mask)->value : 0;
        if (low && low < UINT32_MAX && (low & (low + 1)) == 0)
            integers_know(z, known, prove_shift(t, TERM_SHR, of, prove_const(t, (u64)__builtin_popcountll(low), 32)),
                          level);
    }
}

static void know_atoms(Integers *z, Inequalities *known, u32 level)
{
    FnvMap seen = {0};
    for (u32 k = 0; k < known->n; k++)
        for (u32 i = 0; i < known->v[k]->n; i++)
            for (u32 a = 0; a < known->v[k]->m[i].n; a++) {
                u32 x = known->v[k]->m[i].atom[a];
                u64 *was = fnvmap_at(&seen, x);
                if (!*was && !(x & 1))
                    integers_know(z, known, x >> 1, level);
                if (!*was)
                    know_least(z, known, x);
                *fnvmap_at(&seen, x) = 1;
            }
    fnvmap_free(&seen);
}

static const Inequalities *known_at(Integers *z, u32 level)
{
    Prover *p = z->p;
    Inequalities *known = &z->known[level];
    if (known->made)
        return known;
    known->made = true;
    u32 tries = z->tries;
    for (u32 k = 0; k < z->masked.n; k++)
        integers_know(z, known, z->masked.v[k], level);
    u32 read = 0;
    for (u32 k = p->facts.all.n; k-- > 0 && read < INTEGERS_FACTS;) {
        Fact f = p->facts.all.v[k];
        TermOp op = (TermOp)prove_node(&p->t, f.term)->op;
        if (!prove_is_newest_fact(&p->facts, k) || op == TERM_FREL || prove_set_is_empty(&p->t.sets, f.set))
            continue;
        read++;
        if (op == TERM_LOGIC && prove_set_max(&p->t.sets, f.set) == 0)
            know_multiple(z, known, f.term, level);
        u32 bits = prove_bits(&p->t, op == TERM_REL ? prove_kid(&p->t, f.term, 0) : f.term);
        bool is_number = op != TERM_REL && bits >= 32 && bits <= 64;
        if (is_number)
            know_hole(z, known, &f, level);
        if (is_number && op == TERM_LINEAR)
            know_number(z, known, &f, level);
        for (u32 is_signed = 0; is_signed < 2; is_signed++)
            if (op == TERM_REL && bits <= 64)
                know_relation(z, known, &f, is_signed, level);
            else if (is_number)
                know_range(z, known, &f, is_signed, level);
    }
    know_atoms(z, known, level);
    z->tries = tries;
    return known;
}

/* ---- what follows -------------------------------------------------------------------------------------------------------------- */

/* The negative monomial that may be the largest: it is got rid of first. */
static const Monomial *worst(const Integers *z, const Polynomial *g)
{
    const Monomial *found = NULL;
    Wide most = 0, least = 0;
    for (u32 k = 0; k < g->n; k++) {
        if (g->m[k].coef > 0 || g->m[k].n == 0)
            continue;
        if (!least_of(z, &g->m[k], &least))
            return &g->m[k];
        if (!found || least < most) {
            most = least;
            found = &g->m[k];
        }
    }
    return found;
}

/* The polynomial with the least value that the monomial may have in place of it. False: it is not known. */
static bool replace_by_least(const Integers *z, const Polynomial *g, const Monomial *from, Polynomial *p)
{
    Monomial less = *from;
    Wide least;
    if (!least_of(z, from, &least))
        return false;
    less.coef = -less.coef;
    *p = *g;
    polynomial_add(p, less);
    polynomial_add(p, (Monomial){.coef = least});
    return !p->lost;
}

static bool search(Integers *z, const Polynomial *g, u32 level, u32 depth)
{
    if (g->lost || is_clearly_not_negative(z, g))
        return !g->lost;
    bool is_multiple;
    Polynomial round = polynomial_rounded(g, false, &is_multiple);
    g = &round;
    if (is_clearly_not_negative(z, g))
        return true;
    const Monomial *from = worst(z, g);
    for (u32 k = 0; k < g->n && !from && is_multiple; k++)
        from = g->m[k].n ? &g->m[k] : NULL;
    if ((!from && g->n > 2) || level == 0 || depth == 0 || z->tries == 0 || prove_is_over(z->p))
        return false;
    z->tries--;
    z->p->t.work++;
    Polynomial least;
    const Inequalities *known = known_at(z, level - 1);
    z->p->t.work += known->n / 16;
    for (u32 k = 0; k < known->n && from; k++) {
        Polynomial left;
        if (polynomial_subtract(g, from, known->v[k], &left) && search(z, &left, level, depth - 1))
            return true;
    }
    if (from && replace_by_least(z, g, from, &least) && search(z, &least, level, depth - 1))
        return true;
    for (u32 i = 0; i < g->n && g->n <= FEW; i++) {
        bool is_tried = g->m[i].coef > 0 && g->m[i].n == 1 && &g->m[i] != from;
        z->p->t.work += is_tried ? known->n / 16 : 0;
        for (u32 k = 0; k < known->n && is_tried; k++) {
            Polynomial left;
            if (polynomial_subtract(g, &g->m[i], known->v[k], &left) && search(z, &left, level, depth - 1))
                return true;
        }
    }
    return false;
}

/* Facts by the ranges of the atoms. */
static u32 list_bounds(Integers *z, const Polynomial *p, const Polynomial **bound, u32 n, u32 *seen)
{
    for (u32 k = 0; k < p->n; k++)
        for (u32 i = 0; i < p->m[k].n; i++) {
            u32 x = p->m[k].atom[i], was = 0;
            while (was < n / 2 && seen[was] != x)
                was++;
            if (was < n / 2 || was == BOUNDED_MAX)
                continue;
            Wide lo, hi;
            range_of_atom(z, x, &lo, &hi);
            Polynomial own = {.n = 1, .m = {{.coef = 1, .n = 1, .atom = {x}}}};
            Polynomial least = polynomial_constant(lo), most = polynomial_constant(hi);
            least = polynomial_difference(&own, &least, 0);
            most = polynomial_difference(&most, &own, 0);
            seen[n / 2] = x;
            bound[n++] = keep_polynomial(z, &least);
            bound[n++] = keep_polynomial(z, &most);
        }
    return n;
}

/* Whether facts of the level below add up to it. */
static bool combines(Integers *z, const Polynomial *g, u32 level)
{
    u32 seen[BOUNDED_MAX], n = 0, bounds = 0;
    if (level == 0 || g->lost || prove_is_over(z->p))
        return false;
    const Inequalities *known = known_at(z, level - 1);
    const Polynomial *fact[FACTS_ADDED + 2 * BOUNDED_MAX], *bound[2 * BOUNDED_MAX];
    bounds = list_bounds(z, g, bound, bounds, seen);
    for (u32 k = 0; k < known->n && n < FACTS_ADDED; k++) {
        bounds = list_bounds(z, known->v[k], bound, bounds, seen);
        fact[n++] = known->v[k];
    }
    for (u32 k = 0; k < bounds; k++)
        fact[n++] = bound[k];
    Polynomial left;
    return polynomial_combine(g, fact, n, &left, &z->p->t.work) && is_clearly_not_negative(z, &left);
}

/* By facts of the level below: few of them, if possible. */
bool integers_not_negative(Integers *z, const Polynomial *g, u32 level, u32 depth)
{
    for (u32 most = 0; most <= depth; most++)
        if (search(z, g, level, most))
            return true;
    return combines(z, g, level);
}
