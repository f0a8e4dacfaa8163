/* Comparisons of integers: the questions that inequalities.c answers. */
#include "check/prove/inequalities.h"
#include "check/prove/term_division.h"

enum {
    SUMS_MAX = 24,
    TRIES_MAX = 300, /* of one question */
    LOOKS = 5,       /* how deep terms are looked into */
    ALL = (1u << PROVE_RELS) - 1
};

/* ---- the integers of a moment --------------------------------------------------------------------------------------------------- */

static bool has_truncated(const Terms *t, Term x)
{
    const TermNode *node = prove_node(t, x);
    bool has = node->op == TERM_TRUNC;
    for (u32 k = 0; k < node->n && !has && (node->op == TERM_LINEAR || node->op == TERM_MUL); k++)
        has = has_truncated(t, prove_kid(t, x, k));
    return has;
}

static bool is_looked_into(TermOp op)
{
    return op == TERM_REL || op == TERM_LINEAR || op == TERM_MUL || op == TERM_ZEXT || op == TERM_SEXT || op == TERM_SHR ||
           op == TERM_LOGIC;
}

static void list_once(VecU32 *list, Term x)
{
    for (u32 k = 0; k < list->n; k++)
        if (list->v[k] == x)
            return;
    if (list->n < SUMS_MAX)
        vec_push(list, x);
}

/* Sums and products that facts speak of, but not those with the number of iterations. */
static void find_sums(Integers *z, Term x, u32 depth)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    if (node.op == TERM_LINEAR && node.n >= 2)
        list_once(&z->sums, x);
    if (node.op == TERM_MUL && !has_truncated(t, x))
        list_once(&z->products, x);
    for (u32 k = 0; depth && is_looked_into((TermOp)node.op) && k < node.n; k++)
        find_sums(z, prove_kid(t, x, k), depth - 1);
}

static void find_masked(Integers *z, Term x, u32 depth)
{
    const Terms *t = &z->p->t;
    TermNode node = *prove_node(t, x);
    Remainder unused;
    if (node.bits >= 32 && (node.op == TERM_SHR || node.op == TERM_LOGIC || prove_is_remainder(&z->p->t, x, &unused)))
        list_once(&z->masked, x);
    for (u32 k = 0; depth && is_looked_into((TermOp)node.op) && k < node.n; k++)
        find_masked(z, prove_kid(t, x, k), depth - 1);
}

/* What is asked of may be shifted or masked, too. */
static void look_into(Integers *z, Term x)
{
    u32 from = z->masked.n;
    find_masked(z, x, LOOKS);
    for (u32 level = 0; level < INTEGERS_LEVELS; level++)
        for (u32 k = from; k < z->masked.n && z->known[level].made; k++)
            integers_know(z, &z->known[level], z->masked.v[k], level);
}

/* The integers of this moment. */
static Integers *at_this_moment(Prover *p)
{
    u32 moment = p->facts.learned.n ? vec_last(&p->facts.learned) : 0;
    Integers *z = p->facts.integers;
    if (!z)
        z = p->facts.integers = arena_new(p->arena, Integers);
    if (z->p && z->moment == moment)
        return z;
    prove_integers_free(z);
    *z = (Integers){.p = p, .moment = moment};
    for (u32 k = 0, read = 0; k < p->facts.all.n && read < INTEGERS_FACTS; k++)
        if (prove_is_newest_fact(&p->facts, k)) {
            find_sums(z, p->facts.all.v[k].term, LOOKS);
            find_masked(z, p->facts.all.v[k].term, LOOKS);
            read++;
        }
    return z;
}

void prove_integers_free(Integers *z)
{
    if (!z)
        return;
    arena_free(&z->arena);
    fnvmap_free(&z->read);
    vec_free(&z->sums);
    vec_free(&z->products);
    vec_free(&z->masked);
}

/* ---- questions ---------------------------------------------------------------------------------------------------------------- */

static bool holds(Integers *z, const Polynomial *g)
{
    z->tries = TRIES_MAX;
    return integers_not_negative(z, g, INTEGERS_LEVELS, INTEGERS_SUBTRACTIONS);
}

/* Whether a <= b - apart. It is enough that an integer congruent to a lies between the least number and b. So it is if
 * one congruent to b lies between a and the greatest. */
static bool is_below(Integers *z, Term a, Term b, bool is_signed, u32 apart)
{
    u32 bits = prove_bits(&z->p->t, a);
    z->tries = TRIES_MAX;
    Polynomial x = integers_congruent(z, a, is_signed, INTEGERS_LEVELS - 1),
               y = integers_read(z, b, is_signed, INTEGERS_LEVELS - 1);
    Polynomial lo = polynomial_constant(integers_least(bits, is_signed)),
               hi = polynomial_constant(integers_greatest(bits, is_signed));
    Polynomial g = polynomial_difference(&y, &x, apart), above = polynomial_difference(&x, &lo, 0);
    if (holds(z, &g) && holds(z, &above))
        return true;
    x = integers_read(z, a, is_signed, INTEGERS_LEVELS - 1);
    g = polynomial_difference(&y, &x, apart);
    if (holds(z, &g))
        return true;
    y = integers_congruent(z, b, is_signed, INTEGERS_LEVELS - 1);
    Polynomial below = polynomial_difference(&hi, &y, 0);
    g = polynomial_difference(&y, &x, apart);
    if (holds(z, &g) && holds(z, &below))
        return true;
    x = integers_atom(z, a, is_signed);
    y = integers_read(z, b, is_signed, INTEGERS_LEVELS - 1);
    g = polynomial_difference(&y, &x, apart);
    return holds(z, &g);
}

bool prove_at_most(Prover *p, Term a, Term b) { return is_below(at_this_moment(p), a, b, false, 0); }

/* The relations that a and b may have. */
static u32 relations_of(Integers *z, Term a, Term b)
{
    u32 left = ALL;
    for (u32 is_signed = 0; is_signed < 2; is_signed++) {
        u32 less = is_signed ? INTEGERS_SIGNED_LESS : INTEGERS_LESS,
            more = is_signed ? INTEGERS_SIGNED_MORE : INTEGERS_MORE;
        if (is_below(z, a, b, is_signed, 0))
            left &= less | (is_below(z, a, b, is_signed, 1) ? 0 : (u32)INTEGERS_EQUAL);
        if ((left & more || left & INTEGERS_EQUAL) && is_below(z, b, a, is_signed, 0))
            left &= more | (is_below(z, b, a, is_signed, 1) ? 0 : (u32)INTEGERS_EQUAL);
    }
    return left;
}

/* Whether x is the number: an integer that is congruent to x is it, or is less than 2^bits away from it. */
static int is_number(Integers *z, Term x, u64 number)
{
    u32 bits = prove_bits(&z->p->t, x);
    Polynomial is = integers_congruent(z, x, false, INTEGERS_LEVELS - 1), far = polynomial_constant((Wide)prove_mask(bits)),
               value = polynomial_constant(prove_signed(number, bits));
    Polynomial up = polynomial_difference(&is, &value, 0), down = polynomial_difference(&value, &is, 0);
    bool at_least = holds(z, &up), at_most = holds(z, &down);
    if (at_least && at_most)
        return 1;
    Polynomial one = polynomial_constant(1), apart = polynomial_difference(at_least ? &up : &down, &one, 0),
               near = polynomial_difference(&far, at_least ? &up : &down, 0);
    return (at_least || at_most) && holds(z, &apart) && holds(z, &near) ? 0 : -1;
}

/* The interval that is in the set, or between two in it. */
static int number_by_integers(Integers *z, Term x, SetId asked)
{
    Terms *t = &z->p->t;
    u32 bits = prove_bits(t, x);
    bool gap = prove_set(&t->sets, asked)->n == 2;
    SetId set = gap ? prove_set_not(&t->sets, asked, prove_mask(bits)) : asked;
    if (prove_set(&t->sets, set)->n != 1)
        return -1;
    u64 lo = prove_set_min(&t->sets, set), hi = prove_set_max(&t->sets, set);
    Term least = prove_const(t, lo, bits), most = prove_const(t, hi, bits);
    if (is_below(z, least, x, false, 0) && is_below(z, x, most, false, 0))
        return !gap;
    if ((lo && is_below(z, x, least, false, 1)) || (hi != prove_mask(bits) && is_below(z, most, x, false, 1)))
        return gap;
    int is = lo == hi ? is_number(z, x, lo) : -1;
    return is < 0 ? -1 : is != gap;
}

/* Whether x is in the set: 1, 0, or -1. x is a constant and the difference of two numbers, either way around, of which the path knows
 * that they are equal, or that they are not. */
static int by_difference(Prover *p, Term x, SetId asked)
{
    Terms *t = &p->t;
    SetId equal = prove_set_range(&t->sets, PROVE_EQ, PROVE_EQ);
    for (u32 k = p->facts.all.n, read = 0; k-- > 0 && read < INTEGERS_FACTS;) {
        Fact f = p->facts.all.v[k];
        bool is = f.set == equal;
        if (!prove_is_newest_fact(&p->facts, k) || prove_node(t, f.term)->op != TERM_REL ||
            (!is && prove_set_has(&t->sets, f.set, PROVE_EQ)) || prove_bits(t, prove_kid(t, f.term, 0)) != prove_bits(t, x))
            continue;
        read++;
        Term apart = prove_sub(t, prove_kid(t, f.term, 0), prove_kid(t, f.term, 1));
        for (u32 opposite = 0; opposite < 2; opposite++) {
            Term rest = opposite ? prove_add(t, x, apart) : prove_sub(t, x, apart);
            u64 number = prove_node(t, rest)->value;
            if (!prove_is_const(t, rest))
                continue;
            if (is)
                return prove_set_has(&t->sets, asked, number);
            SetId one = prove_set_range(&t->sets, number, number);
            if (asked == one || asked == prove_set_not(&t->sets, one, prove_mask(prove_bits(t, x))))
                return asked != one;
        }
    }
    return -1;
}

int prove_by_integers(Prover *p, Term x, SetId set)
{
    Terms *t = &p->t;
    bool is_rel = prove_node(t, x)->op == TERM_REL;
    u32 bits = prove_bits(t, is_rel ? prove_kid(t, x, 0) : x), in = 0;
    if ((bits != 32 && bits != 64) || prove_node(t, x)->op == TERM_FREL)
        return -1;
    Integers *z = at_this_moment(p);
    look_into(z, x);
    if (!is_rel) {
        int is = number_by_integers(z, x, set);
        return is < 0 && prove_node(t, x)->op == TERM_LINEAR ? by_difference(p, x, set) : is;
    }
    u32 left = relations_of(z, prove_kid(t, x, 0), prove_kid(t, x, 1));
    for (u32 r = 0; r < PROVE_RELS; r++)
        in |= (u32)prove_set_has(&t->sets, set, r) << r;
    return !(left & ~in) ? 1 : !(left & in) ? 0 : -1;
}
