/* Loops of AFTER that count down to 0 where BEFORE makes several tests: the first half of a loop that was split.
 *
 * Such a counter c enters the loop with C, which is not 0. Each iteration subtracts 1 and goes back only if the rest is not 0. So c
 * does not wrap around, and k = C - c is the number of iterations so far, less than C. A register that entered with X, and to which
 * each iteration adds d, is then X + d * k. If C is at most X, a register that goes down by 1 is at least c. Let C be at most the
 * distance from X to a bound. Then a register that goes towards it by 1 has not reached it, and is still on the side of X. */
#include "check/prove/merge.h"

enum {
    CHOICES_MAX = 24,                                 /* within one another */
    LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT, /* unsigned */
    MORE = 1u << PROVE_SLT_UGT | 1u << PROVE_SGT_UGT, /* unsigned */
    SIGNED_LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SLT_UGT,
    SIGNED_MORE = 1u << PROVE_SGT_ULT | 1u << PROVE_SGT_UGT,
    EQUAL = 1u << PROVE_EQ
};

/* ---- the counter --------------------------------------------------------------------------------------------------------- */

/* The arrival comes into the loop: with the number that the counter begins with. */
static bool is_entry(const Merge *m, const Arrival *a, u32 counter) { return a->value[counter] == m->a[0].value[counter]; }

static bool is_not_zero(const Merge *m, const Arrival *a, u32 slot)
{
    Prover *p = m->p;
    u32 mark = p->facts.all.n;
    prove_merge_load(p, a->fact, a->facts);
    bool has_zero = prove_set_has(&p->t.sets, prove_known(p, prove_simplify(p, a->value[slot])), 0);
    prove_forget(p, mark);
    return !has_zero;
}

static bool is_in_before(const Merge *m, u32 slot)
{
    for (u32 s = 0; s < m->n->slots[0]; s++) {
        bool same = prove_merge_bits(m, s) == prove_merge_bits(m, slot);
        for (u32 k = 0; k < m->count && same; k++)
            same = m->a[k].value[s] == m->a[k].value[slot];
        if (same)
            return true;
    }
    return false;
}

static bool counts_down(const Merge *m, u32 slot)
{
    bool goes_back = false;
    if (prove_merge_bits(m, slot) != 32 || bitset_has(&m->n->broken, slot) || !prove_merge_is_clean(m, m->a[0].value[slot]))
        return false;
    for (u32 k = 0; k < m->count; k++) {
        if (is_entry(m, &m->a[k], slot))
            continue;
        if (prove_sub(m->t, m->a[k].value[slot], m->n->value[slot]) != prove_const(m->t, UINT32_MAX, 32))
            return false;
        goes_back = true;
    }
    for (u32 k = 0; k < m->count && goes_back; k++)
        goes_back = is_not_zero(m, &m->a[k], slot);
    return goes_back && !is_in_before(m, slot);
}

u32 prove_countdown(Merge *m)
{
    for (u32 slot = m->n->slots[0]; slot < m->slots && m->n->value; slot++)
        if (counts_down(m, slot))
            return slot + 1;
    return 0;
}

/* The number that each iteration adds to the slot. 0: it is not always the same number, or not always added to the same one
 * at first. */
static u64 step_of(const Merge *m, u32 slot)
{
    Term first = m->a[0].value[slot], step = 0;
    u32 bits = prove_merge_bits(m, slot);
    if (bits < 16 || bits > 64 || !prove_merge_is_clean(m, first))
        return 0;
    for (u32 k = 0; k < m->count; k++) {
        bool enters = is_entry(m, &m->a[k], m->countdown - 1);
        Term by = enters ? 0 : prove_sub(m->t, m->a[k].value[slot], m->n->value[slot]);
        if (enters ? m->a[k].value[slot] != first : !prove_is_const(m->t, by) || (step && by != step))
            return 0;
        step = by ? by : step;
    }
    return prove_node(m->t, step)->value;
}

Term prove_countdown_value(Merge *m, u32 slot)
{
    Terms *t = m->t;
    u32 bits = prove_merge_bits(m, slot), counter = m->countdown - 1;
    u64 step = step_of(m, slot);
    if (!step)
        return 0;
    Term iterations = prove_sub(t, prove_resize(t, m->a[0].value[counter], bits, false),
                                prove_resize(t, prove_merge_symbol(m, counter), bits, false));
    return prove_add(t, m->a[0].value[slot], prove_scale(t, iterations, step));
}

/* ---- at most -------------------------------------------------------------------------------------------------------------- */

static bool at_most(Prover *p, Term a, Term b, u32 depth);

/* Whether the choice is the smaller one, as unsigned numbers, of its two. */
static bool is_minimum(const Terms *t, Term cond, Term yes, Term no)
{
    const TermNode *node = prove_node(t, cond);
    Term rel = node->op == TERM_IN ? prove_kid(t, cond, 0) : 0;
    if (!rel || prove_node(t, rel)->op != TERM_REL)
        return false;
    Term x = prove_kid(t, rel, 0), y = prove_kid(t, rel, 1);
    if (!(x == yes && y == no) && !(x == no && y == yes))
        return false;
    for (u32 k = 0; k < PROVE_RELS; k++) {
        bool takes_x = prove_set_has(&t->sets, node->aux, k) == (x == yes);
        if ((takes_x ? MORE : LESS) >> k & 1)
            return false;
    }
    return true;
}

static bool at_most_if(Prover *p, Term atom, bool value, Term a, Term b, u32 depth)
{
    u32 mark = p->facts.all.n;
    bool holds = (atom && !prove_assume(p, atom, value)) || at_most(p, a, b, depth);
    prove_forget(p, mark);
    return holds;
}

/* Whether a choice, with the number added to both of its sides, is not more than b. */
static bool choice_at_most(Prover *p, Term choice, u64 plus, Term b, u32 depth)
{
    Terms *t = &p->t;
    Term cond = prove_kid(t, choice, 0), atom = 0;
    Term yes = prove_plus(t, prove_kid(t, choice, 1), plus), no = prove_plus(t, prove_kid(t, choice, 2), plus);
    if (!plus && is_minimum(t, cond, yes, no) && (at_most(p, yes, b, depth) || at_most(p, no, b, depth)))
        return true;
    int is = prove_decide(p, cond, &atom);
    if (is >= 0)
        return at_most(p, is ? yes : no, b, depth);
    bool is_negated = atom && atom != cond && prove_not(t, atom) == cond;
    atom = is_negated || atom == cond ? atom : 0; /* else it is not the whole condition */
    return at_most_if(p, atom, !is_negated, yes, b, depth) && at_most_if(p, atom, is_negated, no, b, depth);
}

/* Whether a is not more than b, as unsigned numbers of whatever widths, on this path. What is cut off or shifted to the right does
 * not become more. */
static bool at_most(Prover *p, Term a, Term b, u32 depth)
{
    Terms *t = &p->t;
    TermNode node = *prove_node(t, a);
    if (a == b)
        return true;
    if (depth-- == 0 || node.bits > 64)
        return false;
    SetId x = prove_known(p, a), y = prove_known(p, b);
    if (!prove_set_is_empty(&t->sets, x) && !prove_set_is_empty(&t->sets, y) &&
        prove_set_max(&t->sets, x) <= prove_set_min(&t->sets, y))
        return true;
    switch ((TermOp)node.op) {
    case TERM_ZEXT:
    case TERM_TRUNC:
    case TERM_SHR: return at_most(p, prove_kid(t, a, 0), b, depth);
    case TERM_ITE: return choice_at_most(p, a, 0, b, depth);
    case TERM_LINEAR:
        return node.n == 1 && t->coef.v[node.kids] == 1 && prove_node(t, prove_kid(t, a, 0))->op == TERM_ITE &&
               choice_at_most(p, prove_kid(t, a, 0), node.value, b, depth);
    default: return false;
    }
}

/* ---- what holds in each iteration ----------------------------------------------------------------------------------------------- */

/* Whether the condition holds in the arrival, whose facts are loaded: if it did not the counter would be 0, which it is not. */
static bool holds_at_entry(Prover *p, Term cond, Term counter)
{
    Term atom = 0;
    int is = prove_decide(p, cond, &atom);
    bool is_atom = is < 0 && (atom == cond || prove_not(&p->t, atom) == cond);
    if (is > 0 || (is < 0 && !is_atom))
        return is > 0;
    return at_most_if(p, is_atom ? atom : 0, atom != cond, counter, prove_const(&p->t, 0, 32), CHOICES_MAX);
}

/* Whether the counter is at most `most` in the arrival, whose facts are loaded. */
static bool begins_at_most(Prover *p, Term most, Term counter) { return at_most(p, counter, most, CHOICES_MAX); }

/* Whether that is so of the term and the counter wherever control comes into the loop. */
static bool at_all_entries(const Merge *m, bool is_so(Prover *p, Term x, Term counter), Term x)
{
    Prover *p = m->p;
    bool holds = true;
    for (u32 k = 0; k < m->count && holds; k++) {
        u32 mark = p->facts.all.n;
        if (!is_entry(m, &m->a[k], m->countdown - 1))
            continue;
        prove_merge_load(p, m->a[k].fact, m->a[k].facts);
        holds = is_so(p, x, m->a[k].value[m->countdown - 1]);
        prove_forget(p, mark);
    }
    return holds;
}

/* A register that goes up by 1, or down, and what BEFORE compares it with. */
static void add_bound(Merge *m, FactList *list, u32 slot, bool is_up, Term bound)
{
    Terms *t = m->t;
    Term first = m->a[0].value[slot], distance = is_up ? prove_sub(t, bound, first) : prove_sub(t, first, bound);
    u32 all = (1u << PROVE_RELS) - 1, left = all;
    if (at_all_entries(m, begins_at_most, distance))
        left &= ~(u32)EQUAL;
    if (is_up ? left != all : at_all_entries(m, begins_at_most, prove_plus(t, distance, 1))) {
        u32 side[2] = {is_up ? LESS : MORE | EQUAL, is_up ? SIGNED_LESS : SIGNED_MORE | EQUAL};
        for (u32 k = 0; k < COUNT_OF(side); k++)
            if (at_all_entries(m, holds_at_entry, prove_rel(t, first, bound, side[k])))
                left &= side[k];
    }
    if (left != all)
        prove_merge_add(m, list, prove_rel(t, m->value[slot], bound, left));
}

/* The operand as it is in the node, if no iteration changes it; 0: it is not known. */
static Term fixed_operand(const Merge *m, const Operand *o, u32 bits)
{
    if (o->kind == OPND_IMM)
        return prove_const(m->t, (u64)o->value, bits);
    for (u32 s = 0; s < m->n->slots[0] && o->kind == OPND_REG && !o->sub && !o->value; s++)
        if (m->n->reg[s] == o->id)
            return prove_merge_is_clean(m, m->value[s]) && prove_merge_bits(m, s) == bits ? m->value[s] : 0;
    return 0;
}

static void add_bounds(Merge *m, FactList *list, u32 slot, bool is_up)
{
    u32 bits = prove_merge_bits(m, slot);
    for_each_block(b, m->p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || i->op->opcode != OPC_SETP || i->slots != 3 || type_bits(i->op->type[0]) != bits ||
                type_class(i->op->type[0]) == TC_FLOAT)
                continue;
            for (u32 k = 1; k < 3; k++) {
                const Operand *o = &i->opnd[k];
                Term bound = o->kind == OPND_REG && o->id == m->n->reg[slot] && !o->sub && !o->value
                                 ? fixed_operand(m, &i->opnd[3 - k], bits)
                                 : 0;
                if (bound)
                    add_bound(m, list, slot, is_up, bound);
            }
        }
}

void prove_countdown_facts(Merge *m, FactList *list)
{
    Terms *t = m->t;
    u32 counter = m->countdown - 1;
    Term own = prove_merge_symbol(m, counter);
    prove_merge_add(m, list, prove_in(t, own, prove_set_range(&t->sets, 1, UINT32_MAX)));
    for (u32 slot = 0; slot < m->n->slots[0]; slot++) {
        u32 bits = prove_merge_bits(m, slot);
        u64 step = bits >= 32 ? step_of(m, slot) : 0;
        if (step == prove_mask(bits) && at_all_entries(m, begins_at_most, m->a[0].value[slot]))
            prove_merge_add(m, list, prove_rel(t, prove_resize(t, own, bits, false), m->value[slot], LESS | EQUAL));
        if (step == 1 || step == prove_mask(bits))
            add_bounds(m, list, slot, step == 1);
    }
}
