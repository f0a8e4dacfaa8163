/* The values that a term can have: what facts say of it, and what follows from those of the terms that it is made of. */
#include "check/prove/prover.h"

enum {
    DEPTH_MAX = 12,     /* of terms that are looked into for their values */
    COEF_MAX = 1 << 30, /* of a term of a sum whose values are estimated */
    RANGES = 2048       /* that are kept, a power of two */
};

/* The values that a term can have, by what was known at a moment. */
struct Range {
    Term term;
    u32 depth, moment;
    SetId set;
};

static SetId known(Prover *p, Term x, u32 depth);

static SetId anything(Prover *p, Term x) { return prove_set_range(&p->t.sets, 0, prove_most(&p->t, x)); }

/* The facts of a sum with a constant: they are about the sum without. */
static SetId facts_of_sum(Prover *p, Term x)
{
    u64 constant = prove_node(&p->t, x)->value;
    u32 at = constant ? prove_newest_fact(&p->facts, prove_plus(&p->t, x, 0 - constant)) : 0;
    return at ? prove_set_shift(&p->t.sets, p->facts.all.v[at - 1].set, constant, prove_most(&p->t, x)) : anything(p, x);
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
    if (prove_node(t, cond)->op != TERM_IN || prove_kid(t, cond, 0) != x)
        return set;
    SetId in = prove_node(t, cond)->aux;
    return prove_set_and(&t->sets, set, taken ? in : prove_set_not(&t->sets, in, prove_most(t, x)));
}

/* The range of a product that does not wrap around. */
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

/* The relations that the values of two numbers leave possible. */
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

/* The range that follows from the values of the terms below x. */
static SetId range_of(Prover *p, Term x, u32 depth)
{
    if (prove_node(&p->t, x)->n == 0)
        return compute_range(p, x, depth);
    u32 moment = p->facts.learned.n ? vec_last(&p->facts.learned) : 0;
    if (!p->facts.ranges)
        p->facts.ranges = arena_array(p->arena, Range, RANGES);
    u32 at = (x * 0x9e3779b1u ^ moment * 0x85ebca6bu) + depth * 0xc2b2ae35u;
    Range *kept = &p->facts.ranges[(at ^ at >> 16) % RANGES];
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
    u32 at = prove_newest_fact(&p->facts, x);
    if (!at || prove_set_within(&p->t.sets, set, p->facts.all.v[at - 1].set))
        return set;
    return prove_set_and(&p->t.sets, set, p->facts.all.v[at - 1].set);
}

int prove_is_in(Prover *p, Term x, SetId asked)
{
    Sets *s = &p->t.sets;
    SetId set = range_of(p, x, DEPTH_MAX - 1);
    for (u32 at = prove_newest_fact(&p->facts, x);; at = 0) {
        if (prove_set_within(s, set, asked) || prove_set_disjoint(s, set, asked))
            return prove_set_within(s, set, asked);
        if (!at)
            return -1;
        set = prove_set_and(s, set, p->facts.all.v[at - 1].set);
    }
}

SetId prove_known(Prover *p, Term x) { return known(p, x, DEPTH_MAX); }
