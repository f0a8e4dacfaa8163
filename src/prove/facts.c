/* What a path knows: sets of values for terms, and what follows from them for others. */
#include <stdlib.h>
#include <string.h>

#include "prove/prover.h"
#include "prove/solver.h"

enum {
    DEPTH_MAX = 12,     /* of terms that are looked into for their values */
    VALUES_TRIED = 256, /* of one term, to see what a condition makes of each */
    TRIED_SIZE = 200,   /* of the condition then */
    COEF_MAX = 1 << 30, /* of a term of a sum whose values are estimated */
    CASES_MAX = 8,      /* nested case splits of an equality */
    RANGES = 2048       /* that are kept, a power of two */
};

/* ---- known values ---------------------------------------------------------------------------------------------------- */

static SetId known(Prover *p, Term x, u32 depth);

static SetId anything(Prover *p, Term x) { return prove_set_range(&p->t.sets, 0, prove_most(&p->t, x)); }

static u32 newest_fact(const Prover *p, Term x) { return x < p->fact_of.n ? p->fact_of.v[x] : 0; }

/* Of a sum with a constant: facts are about the sum without. */
static SetId facts_of_sum(Prover *p, Term x)
{
    u64 constant = prove_node(&p->t, x)->value;
    u32 at = constant ? newest_fact(p, prove_plus(&p->t, x, 0 - constant)) : 0;
    return at ? prove_set_shift(&p->t.sets, p->facts.v[at - 1].set, constant, prove_most(&p->t, x)) : anything(p, x);
}

static SetId range_of_sum(Prover *p, Term x, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    if (node.n == 1 && t->coef.v[node.kids] == 1)
        return prove_set_shift(&t->sets, known(p, prove_kid(t, x, 0), depth), node.value, prove_mask(node.bits));
    SetId facts = facts_of_sum(p, x);
    __int128 lo = prove_signed(node.value, node.bits), hi = lo, most = (__int128)prove_mask(node.bits);
    for (u32 k = 0; k < node.n; k++) {
        SetId set = known(p, prove_kid(t, x, k), depth);
        if (prove_set_is_empty(&t->sets, set))
            return set;
        i64 coef = prove_signed(t->coef.v[node.kids + k], node.bits);
        if (coef > COEF_MAX || coef < -COEF_MAX)
            return facts;
        __int128 a = (__int128)coef * (__int128)prove_set_min(&t->sets, set),
                 b = (__int128)coef * (__int128)prove_set_max(&t->sets, set);
        lo += a < b ? a : b;
        hi += a < b ? b : a;
        if (hi - lo >= most)
            return facts;
    }
    SetId set = prove_set_range(&t->sets, 0, (u64)(hi - lo));
    return prove_set_and(&t->sets, facts, prove_set_shift(&t->sets, set, (u64)lo, prove_mask(node.bits)));
}

/* The values of one case of a choice, whose condition may be about them: min and max are such choices. */
static SetId known_if(Prover *p, Term choice, bool taken, u32 depth)
{
    Terms *t = &p->t;
    Term x = prove_kid(t, choice, taken ? 1 : 2), cond = prove_kid(t, choice, 0);
    SetId set = known(p, x, depth);
    if (prove_node(t, cond)->op == TERM_LOGIC && prove_node(t, cond)->n == 1 && (prove_node(t, cond)->value & 3) == 1) {
        cond = prove_kid(t, cond, 0);
        taken = !taken;
    }
    if (prove_node(t, cond)->op != TERM_IN || prove_kid(t, cond, 0) != x)
        return set;
    SetId in = prove_node(t, cond)->aux;
    return prove_set_and(&t->sets, set, taken ? in : prove_set_not(&t->sets, in, prove_most(t, x)));
}

/* Of a product that does not wrap around. */
static SetId range_of_product(Prover *p, Term x, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    unsigned __int128 lo = 1, hi = 1, most = prove_mask(node.bits);
    for (u32 k = 0; k < node.n; k++) {
        SetId set = known(p, prove_kid(t, x, k), depth);
        if (prove_set_is_empty(&t->sets, set))
            return set;
        lo *= prove_set_min(&t->sets, set);
        hi *= prove_set_max(&t->sets, set);
        if (hi > most)
            return anything(p, x);
    }
    return prove_set_range(&t->sets, (u64)lo, (u64)hi);
}

static SetId range_of_sext(Prover *p, Term x, u32 depth)
{
    Sets *s = &p->t.sets;
    Term inner = prove_kid(&p->t, x, 0);
    u64 most = prove_mask(prove_bits(&p->t, inner)), half = most >> 1;
    SetId set = known(p, inner, depth), low = prove_set_and(s, set, prove_set_range(s, 0, half));
    SetId high = prove_set_and(s, set, prove_set_range(s, half + 1, most));
    return prove_set_or(s, low, prove_set_shift(s, high, 0 - (most + 1), prove_most(&p->t, x)));
}

/* What the values of two numbers leave of their relations. */
static SetId range_of_rel(Prover *p, Term x, u32 depth)
{
    Sets *s = &p->t.sets;
    Term a = prove_kid(&p->t, x, 0), b = prove_kid(&p->t, x, 1);
    SetId u = known(p, a, depth), v = known(p, b, depth), all = anything(p, x);
    if (prove_bits(&p->t, a) > 64 || prove_set_is_empty(s, u) || prove_set_is_empty(s, v))
        return all;
    u64 mask = prove_mask(prove_bits(&p->t, a)), half = (mask >> 1) + 1;
    SetId su = prove_set_shift(s, u, half, mask), sv = prove_set_shift(s, v, half, mask);
    bool ult = prove_set_min(s, u)<prove_set_max(s, v), ugt = prove_set_max(s, u)> prove_set_min(s, v);
    bool slt = prove_set_min(s, su)<prove_set_max(s, sv), sgt = prove_set_max(s, su)> prove_set_min(s, sv);
    bool may[PROVE_RELS] = {!prove_set_disjoint(s, u, v), slt && ult, slt && ugt, sgt && ult, sgt && ugt};
    SetId set = prove_set_empty(s);
    for (u32 k = 0; k < PROVE_RELS; k++)
        if (may[k])
            set = prove_set_or(s, set, prove_set_range(s, k, k));
    return set;
}

static SetId range_of_logic(Prover *p, Term x)
{
    const TermNode *node = prove_node(&p->t, x);
    if (node->n == 2 && node->value == 0x8)
        for (u32 k = 0; k < 2; k++)
            if (prove_is_const(&p->t, prove_kid(&p->t, x, k)))
                return prove_set_range(&p->t.sets, 0, prove_node(&p->t, prove_kid(&p->t, x, k))->value);
    return anything(p, x);
}

/* Whether the values below are in the set: a fact about them decides it. */
static SetId range_of_in(Prover *p, Term x, u32 depth)
{
    Sets *s = &p->t.sets;
    Term below = prove_kid(&p->t, x, 0);
    SetId set = known(p, below, depth), asked = prove_node(&p->t, x)->aux;
    if (prove_bits(&p->t, below) > 64 || prove_set_is_empty(s, set))
        return anything(p, x);
    return prove_set_within(s, set, asked)     ? prove_set_range(s, 1, 1)
           : prove_set_disjoint(s, set, asked) ? prove_set_range(s, 0, 0)
                                               : anything(p, x);
}

/* An arithmetic shift keeps the order of signed numbers: it leads the least and the greatest one to the least and the greatest. */
static SetId range_of_sar(Prover *p, Term x, u32 depth)
{
    Sets *s = &p->t.sets;
    Term number = prove_kid(&p->t, x, 0), by = prove_kid(&p->t, x, 1);
    u32 bits = prove_bits(&p->t, x);
    u64 mask = prove_mask(bits), half = (mask >> 1) + 1;
    if (!prove_is_const(&p->t, by) || bits > 64)
        return anything(p, x);
    SetId set = known(p, number, depth);
    if (prove_set_is_empty(s, set))
        return set;
    set = prove_set_shift(s, set, half, mask);
    u64 amount = prove_node(&p->t, by)->value < bits ? prove_node(&p->t, by)->value : bits - 1;
    u64 least = (u64)(prove_signed(prove_set_min(s, set) ^ half, bits) >> amount);
    u64 most = (u64)(prove_signed(prove_set_max(s, set) ^ half, bits) >> amount);
    return prove_set_shift(s, prove_set_range(s, 0, most - least), least & mask, mask);
}

static SetId compute_range(Prover *p, Term x, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    SetId set;
    switch ((TermOp)node.op) {
    case TERM_CONST: return prove_set_range(&t->sets, node.value, node.value);
    case TERM_SYM:
        if (prove_sym_of(t, x)->kind == PROVE_SYM_SREG) {
            const TermSym *sym = prove_sym_of(t, x);
            u64 least, most;
            prove_sreg_bounds(t, sym->detail, sym->part, &least, &most);
            return sym->part == SUB_W ? anything(p, x) : prove_set_range(&t->sets, least, most);
        }
        return anything(p, x);
    case TERM_ZEXT: return known(p, prove_kid(t, x, 0), depth);
    case TERM_SEXT: return range_of_sext(p, x, depth);
    case TERM_LINEAR: return range_of_sum(p, x, depth);
    case TERM_MUL: return range_of_product(p, x, depth);
    case TERM_REL: return range_of_rel(p, x, depth);
    case TERM_IN: return range_of_in(p, x, depth);
    case TERM_LOGIC: return node.bits > 1 ? range_of_logic(p, x) : anything(p, x);
    case TERM_SAR: return range_of_sar(p, x, depth);
    case TERM_ITE: return prove_set_or(&t->sets, known_if(p, x, true, depth), known_if(p, x, false, depth));
    case TERM_TRUNC:
        if (prove_bits(t, prove_kid(t, x, 0)) > 64)
            return anything(p, x);
        set = known(p, prove_kid(t, x, 0), depth);
        return prove_set_within(&t->sets, set, anything(p, x)) ? set : anything(p, x);
    case TERM_SHR:
        if (!prove_is_const(t, prove_kid(t, x, 1)))
            return anything(p, x);
        set = known(p, prove_kid(t, x, 0), depth);
        if (prove_set_is_empty(&t->sets, set))
            return set;
        node.value = prove_node(t, prove_kid(t, x, 1))->value;
        return prove_set_range(&t->sets, prove_set_min(&t->sets, set) >> node.value,
                               prove_set_max(&t->sets, set) >> node.value);
    default: return anything(p, x);
    }
}

/* What follows from the values of the terms below x. */
static SetId range_of(Prover *p, Term x, u32 depth)
{
    if (prove_node(&p->t, x)->n == 0)
        return compute_range(p, x, depth);
    u32 moment = p->learned.n ? vec_last(&p->learned) : 0;
    if (!p->ranges)
        p->ranges = arena_array(p->arena, Range, RANGES);
    u32 at = (x * 0x9e3779b1u ^ moment * 0x85ebca6bu) + depth * 0xc2b2ae35u;
    Range *kept = &p->ranges[(at ^ at >> 16) % RANGES];
    if (kept->term == x && kept->depth == depth && kept->moment == moment)
        return kept->set;
    SetId set = compute_range(p, x, depth);
    *kept = (Range){x, depth, moment, set};
    return set;
}

static SetId known(Prover *p, Term x, u32 depth)
{
    if (prove_bits(&p->t, x) > 64)
        return 0;
    SetId set = depth ? range_of(p, x, depth - 1) : anything(p, x);
    u32 at = newest_fact(p, x);
    if (!at || prove_set_within(&p->t.sets, set, p->facts.v[at - 1].set))
        return set;
    return prove_set_and(&p->t.sets, set, p->facts.v[at - 1].set);
}

/* Whether x is in the set: 1, 0, or -1. */
static int is_in(Prover *p, Term x, SetId asked)
{
    Sets *s = &p->t.sets;
    SetId set = range_of(p, x, DEPTH_MAX - 1);
    for (u32 at = newest_fact(p, x);; at = 0) {
        if (prove_set_within(s, set, asked) || prove_set_disjoint(s, set, asked))
            return prove_set_within(s, set, asked);
        if (!at)
            return -1;
        set = prove_set_and(s, set, p->facts.v[at - 1].set);
    }
}

SetId prove_known(Prover *p, Term x) { return known(p, x, DEPTH_MAX); }

/* ---- decisions --------------------------------------------------------------------------------------------------------- */

enum { BASE_NONE = 0, BASE_MANY = UINT32_MAX }; /* in place of a term: x is constant, or depends on several */

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
    int is = is_in(p, x, set);
    if (is >= 0)
        return is;
    *split = atom;
    if (prove_node(t, x)->n == 0 || prove_node(t, x)->op == TERM_REL || prove_node(t, x)->op == TERM_FREL)
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
    while (p->fact_of.n <= x)
        vec_push(&p->fact_of, 0);
    u32 before = p->fact_of.v[x];
    if (before)
        set = prove_set_and(&p->t.sets, set, p->facts.v[before - 1].set);
    vec_push(&p->facts, ((Fact){x, set, before}));
    p->fact_of.v[x] = p->facts.n;
    vec_push(&p->learned, ++p->moments);
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

/* The symbol is a number now: what is known of sums with it is said of them without. */
static bool restate_facts(Prover *p, Term x, u64 number)
{
    Terms *t = &p->t;
    Subst s = {.owner = prove_sym_of(t, x)->owner};
    bool possible = true;
    *fnvmap_at(&s.map, x) = prove_const(t, number, prove_bits(t, x));
    for (u32 k = 0, n = p->facts.n; k < n && possible; k++) {
        Fact f = p->facts.v[k];
        if (newest_fact(p, f.term) != k + 1 || prove_node(t, f.term)->op != TERM_LINEAR ||
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
    Term x = p->counts ? p->facts.v[p->facts.n - 1].term : 0;
    if (!x || prove_node(&p->t, x)->op != TERM_SYM || prove_sym_of(&p->t, x)->kind != PROVE_SYM_JOIN)
        return true;
    SetId set = prove_known(p, x);
    return prove_set_count(&p->t.sets, set, 2) != 1 || restate_facts(p, x, prove_set_min(&p->t.sets, set));
}

bool prove_is_possible(Prover *p)
{
    for (u32 k = 0; k < p->facts.n; k++)
        if (newest_fact(p, p->facts.v[k].term) == k + 1 &&
            prove_set_is_empty(&p->t.sets, prove_known(p, p->facts.v[k].term)))
            return false;
    return true;
}

void prove_forget(Prover *p, u32 mark)
{
    while (p->facts.n > mark) {
        Fact f = vec_pop(&p->facts);
        p->fact_of.v[f.term] = f.before;
        p->learned.n--;
    }
}

/* ---- simplifying ------------------------------------------------------------------------------------------------------- */

/* Whether the sum has one value in unbounded arithmetic, where its terms and it are read as signed or unsigned numbers. */
static bool sum_fits(Prover *p, Term x, bool is_signed)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, x);
    u64 mask = prove_mask(node.bits), half = (mask >> 1) + 1;
    __int128 lo = prove_signed(node.value, node.bits), hi = lo;
    for (u32 k = 0; k < node.n; k++) {
        SetId set = prove_known(p, prove_kid(t, x, k));
        if (is_signed)
            set = prove_set_shift(&t->sets, set, half, mask);
        if (prove_set_is_empty(&t->sets, set))
            return false;
        __int128 bias = is_signed ? half : 0, coef = prove_signed(t->coef.v[node.kids + k], node.bits);
        __int128 a = coef * ((__int128)prove_set_min(&t->sets, set) - bias),
                 b = coef * ((__int128)prove_set_max(&t->sets, set) - bias);
        lo += a < b ? a : b;
        hi += a < b ? b : a;
    }
    return is_signed ? lo >= -(__int128)half && hi < (__int128)half : lo >= 0 && hi <= (__int128)mask;
}

/* Whether adding the sum's constant to the rest of it stays within the signed, or the unsigned, numbers. */
static bool constant_fits(Prover *p, Term x, Term rest, bool is_signed)
{
    Terms *t = &p->t;
    u32 bits = prove_bits(t, x);
    u64 mask = prove_mask(bits), half = (mask >> 1) + 1;
    SetId set = prove_known(p, rest);
    if (is_signed)
        set = prove_set_shift(&t->sets, set, half, mask);
    if (prove_set_is_empty(&t->sets, set))
        return false;
    __int128 bias = is_signed ? half : 0, by = prove_signed(prove_node(t, x)->value, bits);
    __int128 lo = (__int128)prove_set_min(&t->sets, set) - bias + by,
             hi = (__int128)prove_set_max(&t->sets, set) - bias + by;
    return is_signed ? lo >= -(__int128)half && hi < (__int128)half : lo >= 0 && hi <= (__int128)mask;
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
    if (is_signed && !prove_set_is_empty(&t->sets, set) && prove_set_max(&t->sets, set) <= half) {
        if (prove_node(t, inner)->op == TERM_LINEAR && sum_fits(p, inner, false))
            return extend_sum(p, inner, bits, false);
        return prove_zext(t, inner, bits);
    }
    return is_signed ? prove_sext(t, inner, bits) : prove_zext(t, inner, bits);
}

/* Bitwise with constants, where the only other number has no bit that they change but where it has none: its sum with the bits
 * that they set. */
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
    if (node.op == TERM_ITE || node.bits == 1) {
        Term cond = node.op == TERM_ITE ? prove_kid(t, x, 0) : x;
        if (prove_decide(p, cond, &atom) < 0 && atom && (node.op == TERM_ITE || node.op == TERM_LOGIC))
            return atom;
    }
    for (u32 k = 0; k < node.n; k++)
        if ((atom = atom_of_choice(p, prove_kid(t, x, k), depth - 1)))
            return atom;
    return 0;
}

static bool has_one_value(Prover *p, Term a, Term b)
{
    SetId x = prove_known(p, a), y = prove_known(p, b);
    return x && x == y && prove_set_count(&p->t.sets, x, 2) == 1;
}

static bool equal(Prover *p, Term a, Term b, u32 cases)
{
    if (a == b)
        return true;
    if (prove_bits(&p->t, a) != prove_bits(&p->t, b))
        return false;
    a = prove_simplify(p, a);
    b = prove_simplify(p, b);
    if (a == b || has_one_value(p, a, b))
        return true;
    if (prove_bits(&p->t, a) == 1 && prove_bits(&p->t, b) == 1 && cases) {
        Term differ = prove_xor(&p->t, a, b), unused;
        if (prove_is_const(&p->t, differ) || prove_decide(p, differ, &unused) == 0)
            return prove_is_const(&p->t, differ) ? !prove_node(&p->t, differ)->value : true;
    }
    Term atom = cases ? atom_of_choice(p, a, 16) : 0;
    if (!atom && cases)
        atom = atom_of_choice(p, b, 16);
    if (!atom)
        return false;
    for (u32 value = 0; value < 2; value++) {
        u32 mark = p->facts.n;
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
