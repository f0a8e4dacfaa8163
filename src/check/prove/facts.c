/* What a path knows: whether a condition follows from it, and what a branch adds. */
#include "check/prove/integers.h"
#include "check/prove/prover.h"

enum {
    VALUES_TRIED = 256, /* of one term, to see what a condition makes of each */
    TRIED_SIZE = 200    /* of the condition then */
};

enum { BASE_NONE = 0 };
enum { BASE_MANY = UINT32_MAX }; /* in place of a term: x is constant, or depends on several */

/* The term below x of which the path knows few values, and on which alone x depends. */
static Term sole_base(Prover *p, Term x, bool may_be_itself)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    Term base = node.n || node.op == TERM_CONST ? BASE_NONE : BASE_MANY;
    for (u32 k = 0; k < node.n && base != BASE_MANY; k++) {
        Term below = sole_base(p, prove_kid(t, x, k), true);
        if (below != BASE_NONE)
            base = base == BASE_NONE || base == below ? below : BASE_MANY;
    }
    if (base != BASE_MANY || !may_be_itself || node.bits > 64 || node.op == TERM_REL || node.op == TERM_FREL)
        return base;
    return prove_set_count(&t->sets, prove_known(p, x), VALUES_TRIED + 1) <= VALUES_TRIED ? x : BASE_MANY;
}

/* Tries all values of the one term on which x depends. `in` gets those for which x is in the set, and `all` the others too. */
static Term try_values(Prover *p, Term x, SetId set, SetId *in, SetId *all)
{
    Terms *t = &p->t;
    if (prove_node(t, x)->size > TRIED_SIZE)
        return 0;
    Term base = sole_base(p, x, false);
    if (base == BASE_NONE || base == BASE_MANY)
        return 0;
    *all = prove_known(p, base);
    *in = prove_set_empty(&t->sets);
    Set values = *prove_set(&t->sets, *all);
    for (u32 k = 0; k < values.n; k++)
        for (u64 v = values.v[k].lo;; v++) {
            Subst s = {0};
            *fnvmap_at(&s.map, base) = prove_const(t, v, prove_bits(t, base));
            Term made = prove_subst(t, &s, prove_in(t, x, set));
            fnvmap_free(&s.map);
            if (!prove_is_const(t, made))
                return 0;
            if (prove_node(t, made)->value)
                *in = prove_set_or(&t->sets, *in, prove_set_range(&t->sets, v, v));
            if (v == values.v[k].hi)
                break;
        }
    return base;
}

static int decide_in(Prover *p, Term atom, Term *split)
{
    Terms *t = &p->t;
    Term x = prove_kid(t, atom, 0);
    SetId set = prove_node(t, atom)->aux, in, all;
    int is = prove_is_in(p, x, set);
    if (is >= 0)
        return is;
    *split = atom;
    if (prove_node(t, x)->op == TERM_REL) {
        is = prove_strided(p, x, set);
        return is < 0 && p->plan.iterates ? prove_by_integers(p, x, set) : is;
    }
    is = prove_strided_number(p, x, set);
    if (is >= 0)
        return is;
    is = p->plan.iterates ? prove_by_integers(p, x, set) : -1;
    if (is >= 0)
        return is;
    if (prove_node(t, x)->n == 0 || prove_node(t, x)->op == TERM_FREL)
        return -1;
    Term base = try_values(p, x, set, &in, &all);
    if (!base)
        return -1;
    if (prove_set_is_empty(&t->sets, in) || in == all)
        return in == all;
    Term other = prove_in(t, base, in);
    if (prove_node(t, other)->op == TERM_LOGIC)
        other = prove_kid(t, other, 0);
    *split = other;
    return -1;
}

/* Whether the table has one value where the leaves of `fixed` have these: 1, 0, or -1. */
static int value_of_table(u64 table, u32 n, u32 fixed, u32 values)
{
    bool yes = false, no = false;
    for (u32 x = 0; x < 1u << n; x++)
        if ((x & fixed) == (values & fixed)) {
            yes |= table >> x & 1;
            no |= !(table >> x & 1);
        }
    return yes && no ? -1 : yes;
}

static int decide_logic(Prover *p, Term cond, Term *split)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, cond);
    u32 fixed = 0, values = 0;
    *split = 0;
    for (u32 k = 0; k < node.n; k++) {
        Term atom = 0;
        int is = prove_decide(p, prove_kid(t, cond, k), &atom);
        if (is >= 0) {
            fixed |= 1u << k;
            values |= (u32)is << k;
        } else if (!*split) {
            *split = atom;
        }
    }
    return value_of_table(node.value, node.n, fixed, values);
}

int prove_decide(Prover *p, Term cond, Term *atom)
{
    Terms *t = &p->t;
    const TermNode *node = prove_node(t, cond);
    if (node->op == TERM_CONST)
        return (int)node->value;
    if (node->op == TERM_IN)
        return decide_in(p, cond, atom);
    if (node->op == TERM_LOGIC)
        return decide_logic(p, cond, atom);
    SetId values = prove_known(p, cond);
    *atom = cond;
    return prove_set_count(&t->sets, values, 2) != 1 ? -1 : prove_set_has(&t->sets, values, 1);
}

bool prove_learn(Prover *p, Term x, SetId set)
{
    if (prove_bits(&p->t, x) > 64)
        return true;
    while (p->facts.newest.n <= x)
        vec_push(&p->facts.newest, 0);
    u32 before = p->facts.newest.v[x];
    if (before)
        set = prove_set_and(&p->t.sets, set, p->facts.all.v[before - 1].set);
    vec_push(&p->facts.all, ((Fact){x, set, before}));
    p->facts.newest.v[x] = p->facts.all.n;
    vec_push(&p->facts.learned, ++p->facts.moments);
    return !prove_set_is_empty(&p->t.sets, prove_known(p, x));
}

static bool assume(Prover *p, Term atom, bool value)
{
    TermNode node = *prove_node(&p->t, atom);
    if (node.op != TERM_IN)
        return prove_learn(p, atom, prove_set_range(&p->t.sets, value, value));
    Term x = prove_kid(&p->t, atom, 0);
    return prove_learn(p, x, value ? node.aux : prove_set_not(&p->t.sets, node.aux, prove_most(&p->t, x)));
}

/* What is less than something is not the greatest number, and what is more is not the least one. That says something of a
 * symbol to which a number is added. */
static bool assume_not_at_end(Prover *p, Term x, bool is_less, bool is_signed)
{
    Terms *t = &p->t;
    u32 bits = prove_bits(t, x);
    u64 end = (is_less ? prove_mask(bits) : 0) ^ (is_signed ? (u64)1 << (bits - 1) : 0);
    TermNode node = *prove_node(t, x);
    bool is_moved = node.op == TERM_LINEAR && node.n == 1 && t->coef.v[node.kids] == 1;
    Term symbol = is_moved ? prove_kid(t, x, 0) : 0;
    if (!symbol || prove_node(t, symbol)->op != TERM_SYM)
        return true;
    end = (end - node.value) & prove_mask(bits);
    return prove_learn(p, symbol, prove_set_not(&t->sets, prove_set_range(&t->sets, end, end), prove_mask(bits)));
}

static bool assume_no_ends(Prover *p, Term rel, SetId set)
{
    static const u32 less[] = {1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT, 1u << PROVE_SLT_ULT | 1u << PROVE_SLT_UGT};
    u32 given = 0, all = (1u << PROVE_RELS) - 1 - (1u << PROVE_EQ);
    bool possible = true;
    for (u32 r = 0; r < PROVE_RELS; r++)
        given |= (u32)prove_set_has(&p->t.sets, set, r) << r;
    for (u32 is_signed = 0; is_signed < 2 && given; is_signed++)
        for (u32 is_less = 0; is_less < 2 && possible; is_less++)
            if (!(given & ~(is_less ? less[is_signed] : all & ~less[is_signed])))
                possible = assume_not_at_end(p, prove_kid(&p->t, rel, 0), is_less, is_signed) &&
                           assume_not_at_end(p, prove_kid(&p->t, rel, 1), !is_less, is_signed);
    return possible;
}

/* The symbol is a number now: what is known of sums with it is said of them without. */
static bool restate_facts(Prover *p, Term x, u64 number)
{
    Terms *t = &p->t;
    Subst s = {.owner = prove_sym_of(t, x)->owner};
    bool possible = true;
    *fnvmap_at(&s.map, x) = prove_const(t, number, prove_bits(t, x));
    for (u32 k = 0, n = p->facts.all.n; k < n && possible; k++) {
        Fact f = p->facts.all.v[k];
        if (prove_newest_fact(&p->facts, f.term) != k + 1 || prove_node(t, f.term)->op != TERM_LINEAR ||
            !prove_mentions(t, f.term, s.owner))
            continue;
        Term said = prove_subst(t, &s, prove_in(t, f.term, f.set));
        bool is_not = prove_node(t, said)->op == TERM_LOGIC && prove_node(t, said)->n == 1;
        said = is_not ? prove_kid(t, said, 0) : said;
        if (prove_is_const(t, said))
            possible = prove_node(t, said)->value != is_not;
        else if (prove_node(t, said)->op == TERM_IN)
            possible = assume(p, said, !is_not);
    }
    fnvmap_free(&s.map);
    return possible;
}

bool prove_assume(Prover *p, Term atom, bool value)
{
    if (!assume(p, atom, value))
        return false;
    Fact f = p->facts.all.v[p->facts.all.n - 1];
    if (p->plan.iterates && prove_node(&p->t, f.term)->op == TERM_REL && !assume_no_ends(p, f.term, f.set))
        return false;
    Term x = p->plan.counts ? p->facts.all.v[p->facts.all.n - 1].term : 0;
    if (!x || prove_node(&p->t, x)->op != TERM_SYM || prove_sym_of(&p->t, x)->kind != PROVE_SYM_JOIN)
        return true;
    SetId set = prove_known(p, x);
    return prove_set_count(&p->t.sets, set, 2) != 1 || restate_facts(p, x, prove_set_min(&p->t.sets, set));
}

bool prove_is_possible(Prover *p)
{
    p->facts.looked_at += p->facts.all.n;
    for (u32 k = 0; k < p->facts.all.n; k++)
        if (prove_newest_fact(&p->facts, p->facts.all.v[k].term) == k + 1 &&
            prove_set_is_empty(&p->t.sets, prove_known(p, p->facts.all.v[k].term)))
            return false;
    return true;
}

void prove_facts_free(Facts *f)
{
    vec_free(&f->all);
    vec_free(&f->newest);
    vec_free(&f->learned);
    prove_integers_free(f->integers);
}

void prove_forget(Prover *p, u32 mark)
{
    while (p->facts.all.n > mark) {
        Fact f = vec_pop(&p->facts.all);
        p->facts.newest.v[f.term] = f.before;
        p->facts.learned.n--;
    }
}
