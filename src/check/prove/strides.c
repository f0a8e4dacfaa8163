/* Comparisons of a counter on the way to a bound: AFTER tests once for several steps.
 *
 * Let c be less than d, and d be b - m s without wrapping around. It does not wrap if m s is at most b and s is not
 * negative. Then c + k s, for k of at most m, is less than b. It does not wrap around either: as a number it lies between
 * c and b. And whatever is at least b is at least d. */
#include "check/prove/prover.h"

enum {
    STEPS_MAX = 16,
    ALL = (1u << PROVE_RELS) - 1,
    EQUAL = 1u << PROVE_EQ,
    LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT, /* unsigned */
    MORE = 1u << PROVE_SLT_UGT | 1u << PROVE_SGT_UGT, /* likewise */
    SIGNED_LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SLT_UGT,
    SIGNED_MORE = 1u << PROVE_SGT_ULT | 1u << PROVE_SGT_UGT
};

#define STEP_MOST ((u64)1 << 40) /* so that STEPS_MAX of them do not wrap around in 64 bits, signed or not */

static bool is_zero(const Terms *t, Term x) { return prove_is_const(t, x) && prove_node(t, x)->value == 0; }

/* x as a multiple of a term. */
static Term part_of(const Terms *t, Term x, u64 *times)
{
    const TermNode *node = prove_node(t, x);
    bool is_multiple = node->op == TERM_LINEAR && node->n == 1 && node->value == 0;
    *times = is_multiple ? t->coef.v[node->kids] : 1;
    return is_multiple ? prove_kid(t, x, 0) : x;
}

/* The number of which x is some steps less; 0: it is none. */
static Term number_above(Terms *t, Term x)
{
    const TermNode *node = prove_node(t, x);
    return node->op == TERM_LINEAR && node->n == 1 ? prove_const(t, node->value, node->bits) : 0;
}

/* Whether one of these relations holds, by facts about just these terms. */
static bool holds(Prover *p, Term a, Term b, u32 relations)
{
    Terms *t = &p->t;
    Term said = prove_rel(t, a, b, relations);
    bool is_not = prove_node(t, said)->op == TERM_LOGIC && prove_node(t, said)->n == 1;
    said = is_not ? prove_kid(t, said, 0) : said;
    TermNode node = *prove_node(t, said);
    if (node.op == TERM_CONST)
        return node.value != is_not;
    return node.op == TERM_IN && prove_is_in(p, prove_kid(t, said, 0), node.aux) == !is_not;
}

/* Whether s is not negative and m s is at most b, as numbers. */
static bool fits(Prover *p, Term b, Term s, u64 m, bool is_signed)
{
    Terms *t = &p->t;
    u32 bits = prove_bits(t, b);
    Term wide = prove_resize(t, s, 64, is_signed);
    SetId set = prove_known(p, wide);
    if (prove_set_is_empty(&t->sets, set) || prove_set_max(&t->sets, set) > STEP_MOST)
        return false;
    if (holds(p, prove_resize(t, b, 64, is_signed), prove_scale(t, wide, m), EQUAL | SIGNED_MORE))
        return true;
    u64 most = prove_mask(bits) >> is_signed;
    return prove_set_max(&t->sets, set) <= most / m &&
           holds(p, b, prove_scale(t, s, m), EQUAL | (is_signed ? SIGNED_MORE : MORE));
}

/* Whether a is less than b, or equal if c may equal d, because c is less than d. a is some steps after c, and b more
 * after d. */
static bool follows(Prover *p, Term c, Term d, Term a, Term b, bool is_signed)
{
    Terms *t = &p->t;
    u64 k = 0, m;
    Term to_a = prove_sub(t, a, c), s = part_of(t, prove_sub(t, b, d), &m);
    bool same = is_zero(t, to_a) || part_of(t, to_a, &k) == s;
    return same && !prove_is_const(t, s) && m >= 1 && m <= STEPS_MAX && k <= m && fits(p, b, s, m, is_signed);
}

/* The same question where a is some steps before c, and b is d. */
static bool precedes(Prover *p, Term c, Term d, Term a, Term b, bool is_signed)
{
    u64 m;
    Term s = b == d ? part_of(&p->t, prove_sub(&p->t, c, a), &m) : 0;
    return s && !prove_is_const(&p->t, s) && m >= 1 && m <= STEPS_MAX && fits(p, c, s, m, is_signed);
}

/* What the fact about c and d leaves of the relations of a and b. */
static u32 left_by(Prover *p, const Fact *f, Term a, Term b, bool is_signed)
{
    Terms *t = &p->t;
    u32 less = is_signed ? SIGNED_LESS : LESS, more = is_signed ? SIGNED_MORE : MORE, given = 0;
    for (u32 r = 0; r < PROVE_RELS; r++)
        given |= (u32)prove_set_has(&t->sets, f->set, r) << r;
    bool is_less = !(given & ~(less | EQUAL)), is_more = !(given & ~(more | EQUAL));
    if (is_less == is_more)
        return ALL;
    Term c = prove_kid(t, f->term, is_less ? 0 : 1), d = prove_kid(t, f->term, is_less ? 1 : 0);
    if (follows(p, c, d, a, b, is_signed) || precedes(p, c, d, a, b, is_signed))
        return less | (given & EQUAL);
    bool is_turned = follows(p, c, d, b, a, is_signed) || precedes(p, c, d, b, a, is_signed);
    return is_turned ? more | (given & EQUAL) : ALL;
}

/* Whether a is less than b by a fact that says what d is, where a is some steps after a number. A loop begins with
 * that. */
static bool begins_below(Prover *p, Term d, Term a, Term b, bool is_signed)
{
    Terms *t = &p->t;
    u64 m;
    Term s = part_of(t, prove_sub(t, b, d), &m), c = a;
    if (prove_is_const(t, s) || m < 1 || m > STEPS_MAX)
        return false;
    for (u64 k = 0; k < m && !prove_is_const(t, c); k++)
        c = prove_sub(t, c, s);
    return prove_is_const(t, c) && holds(p, c, d, is_signed ? SIGNED_LESS : LESS) && fits(p, b, s, m, is_signed);
}

/* Whether a is less than b or equal, since a is some steps below a number that is. */
static bool is_below_number(Prover *p, Term a, Term b, bool is_signed)
{
    Terms *t = &p->t;
    u64 m;
    Term c = number_above(t, a), s = c ? part_of(t, prove_sub(t, c, a), &m) : 0;
    return s && !prove_is_const(t, s) && m >= 1 && m <= STEPS_MAX && fits(p, c, s, m, is_signed) &&
           holds(p, c, b, EQUAL | (is_signed ? SIGNED_LESS : LESS));
}

/* What the fact leaves of the relations of a and b. */
static u32 left_by_fact(Prover *p, const Fact *f, Term a, Term b, bool is_signed)
{
    const TermNode *node = prove_node(&p->t, f->term);
    Term of = node->op == TERM_REL ? prove_kid(&p->t, f->term, 0) : f->term;
    if (prove_bits(&p->t, of) != prove_bits(&p->t, a))
        return ALL;
    if (node->op == TERM_REL)
        return left_by(p, f, a, b, is_signed);
    if (node->op != TERM_LINEAR)
        return ALL;
    return begins_below(p, f->term, a, b, is_signed)   ? is_signed ? SIGNED_LESS : LESS
           : begins_below(p, f->term, b, a, is_signed) ? is_signed ? SIGNED_MORE : MORE
                                                       : ALL;
}

int prove_strided(Prover *p, Term rel, SetId asked)
{
    Terms *t = &p->t;
    Term a = prove_kid(t, rel, 0), b = prove_kid(t, rel, 1);
    u32 bits = prove_bits(t, a), left = ALL, in = 0;
    if (bits != 32 && bits != 64)
        return -1;
    p->facts.looked_at += p->facts.all.n;
    for (u32 k = p->facts.all.n; k-- > 0 && left == ALL;) {
        Fact f = p->facts.all.v[k];
        if (f.term == rel || prove_newest_fact(&p->facts, f.term) != k + 1)
            continue;
        left &= left_by_fact(p, &f, a, b, true);
        left &= left_by_fact(p, &f, a, b, false);
    }
    for (u32 r = 0; r < PROVE_RELS; r++)
        in |= (u32)prove_set_has(&t->sets, asked, r) << r;
    for (u32 is_signed = 0; is_signed < 2 && left == ALL; is_signed++)
        left = is_below_number(p, a, b, is_signed)   ? EQUAL | (is_signed ? SIGNED_LESS : LESS)
               : is_below_number(p, b, a, is_signed) ? EQUAL | (is_signed ? SIGNED_MORE : MORE)
                                                     : ALL;
    return !(left & ~in) ? 1 : !(left & in) ? 0 : -1;
}

/* ---- bounds that are numbers -------------------------------------------------------------------------------------------------- */

static int decided_by(Prover *p, Term x, Term bound, u32 relations, SetId asked)
{
    Terms *t = &p->t;
    Term said = prove_rel(t, x, bound, relations);
    bool is_not = prove_node(t, said)->op == TERM_LOGIC && prove_node(t, said)->n == 1;
    said = is_not ? prove_kid(t, said, 0) : said;
    if (prove_node(t, said)->op != TERM_IN)
        return -1;
    SetId set = prove_node(t, said)->aux;
    set = is_not ? prove_set_not(&t->sets, set, prove_most(t, x)) : set;
    return prove_set_within(&t->sets, set, asked) ? 1 : prove_set_disjoint(&t->sets, set, asked) ? 0 : -1;
}

int prove_strided_number(Prover *p, Term x, SetId asked)
{
    Terms *t = &p->t;
    p->facts.looked_at += p->facts.all.n;
    for (u32 k = p->facts.all.n; k-- > 0;) {
        Fact f = p->facts.all.v[k];
        if (prove_node(t, f.term)->op != TERM_REL || prove_newest_fact(&p->facts, f.term) != k + 1 ||
            prove_bits(t, prove_kid(t, f.term, 0)) != prove_bits(t, x))
            continue;
        for (u32 way = 0; way < 4; way++) {
            bool is_signed = way & 1;
            Term bound = number_above(t, prove_kid(t, f.term, way >> 1));
            u32 left = bound ? left_by(p, &f, x, bound, is_signed) : ALL;
            int is = left != ALL ? decided_by(p, x, bound, left, asked) : -1;
            if (is >= 0)
                return is;
        }
    }
    return -1;
}
