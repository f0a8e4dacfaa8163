/* Loops of which AFTER has a copy without checks: counters as multiples of the number of iterations.
 *
 * A 64-bit symbol of the node is the number of iterations so far. It is 0 where control enters the loop, and 1 more wherever it
 * goes back. Let each iteration add the same, S, to a register that entered the loop with X. Then the register is X + S times that
 * number, modulo its width. Such values are guessed from how the arrivals differ; prove_counters_hold() says whether all arrivals
 * agree in the end.
 *
 * Let x = X + c n in iteration n, where c is positive. Let the loop go back only if x is less than b, as signed numbers or unsigned
 * ones, or is not b. Then c n is at most E, an unsigned number: b - X, or that with c - 1 or c added. c n is 0 at first. Where
 * control goes back, the path's facts must show it for n + 1, given that it holds for n. If x is not b, it is enough that E is a
 * multiple of c, and that c n is not E. Then c n is at most E - c. */
#include "check/prove/integers.h"
#include "check/prove/merge.h"

enum { CLAIMS_MAX = 24, AT_MOST = 1u << PROVE_EQ | 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT }; /* unsigned */

/* ---- values -------------------------------------------------------------------------------------------------------------- */

/* Whether the term has the number of iterations in it. */
static bool has_number(const Merge *m, Term x)
{
    Subst to = {.owner = m->n->id};
    *fnvmap_at(&to.map, prove_iterations(m)) = prove_const(m->t, 0, 64);
    bool has = prove_subst(m->t, &to, x) != x;
    fnvmap_free(&to.map);
    return has;
}

static bool may_count(const Merge *m, u32 slot)
{
    u32 bits = prove_merge_bits(m, slot);
    return bits >= 16 && bits <= 64 && !bitset_has(&m->n->broken, slot) && prove_merge_is_clean(m, m->a[0].value[slot]);
}

static bool has_part(const Terms *t, Term sum, Term part)
{
    const TermNode *node = prove_node(t, sum);
    bool has = sum == part;
    for (u32 k = 0; k < node->n && node->op == TERM_LINEAR; k++)
        has |= prove_kid(t, sum, k) == part;
    return has;
}

/* Whether all parts of the first sum are in the second one. If not it is another value, to which nothing was added. */
static bool has_parts_of(const Terms *t, Term x, Term sum)
{
    const TermNode *node = prove_node(t, x);
    bool has = node->op == TERM_LINEAR || node->op == TERM_CONST || has_part(t, sum, x);
    for (u32 k = 0; k < node->n && node->op == TERM_LINEAR; k++)
        has &= has_part(t, sum, prove_kid(t, x, k));
    return has;
}

/* What the slot gained on the way of arrival k since the node, or in its first visits since the loop was entered. 0: that
 * is not the same always. */
static Term gained(const Merge *m, u32 slot, u32 k)
{
    Term x = m->a[k].value[slot], first = m->a[0].value[slot], was = m->n->value[slot];
    bool enters = x == first || prove_merge_is_clean(m, was);
    was = enters ? first : was;
    Term step = prove_sub(m->t, x, was);
    bool is_sum = prove_node(m->t, step)->op != TERM_APPLY && has_parts_of(m->t, was, x);
    return is_sum && prove_merge_is_clean(m, step) ? step : 0;
}

static bool is_nothing(const Merge *m, Term step)
{
    return prove_is_const(m->t, step) && prove_node(m->t, step)->value == 0;
}

/* Finds the arrivals that went around the loop: with something that a counter gained. */
static void find_backs(Merge *m)
{
    m->is_back = arena_array(m->p->arena, bool, m->count);
    for (u32 k = 1; k < m->count; k++)
        for (u32 slot = 0; slot < m->slots && !m->is_back[k]; slot++) {
            Term step = may_count(m, slot) ? gained(m, slot, k) : 0;
            m->is_back[k] = step && !is_nothing(m, step);
            m->counts |= m->is_back[k];
        }
}

/* What each iteration adds to the slot; 0: it is not always the same, or nothing. */
static Term step_of(const Merge *m, u32 slot)
{
    Term step = 0;
    if (!m->counts || !may_count(m, slot))
        return 0;
    for (u32 k = 1; k < m->count; k++) {
        Term by = gained(m, slot, k);
        if (!by || (m->is_back[k] ? step && by != step : m->a[k].value[slot] != m->a[0].value[slot]))
            return 0;
        step = m->is_back[k] ? by : step;
    }
    return step && !is_nothing(m, step) ? step : 0;
}

static Term times(Terms *t, Term step, Term number)
{
    return prove_mul(t, step, prove_trunc(t, number, prove_bits(t, step)));
}

void prove_counters_find(Merge *m)
{
    if (!m->n->value)
        return;
    find_backs(m);
    m->step = arena_array(m->p->arena, Term, m->slots);
    bool any = false;
    for (u32 slot = 0; slot < m->slots; slot++)
        any |= (m->step[slot] = step_of(m, slot)) != 0;
    m->counts &= any;
}

Term prove_counter_value(Merge *m, u32 slot)
{
    if (!m->counts || !m->step[slot])
        return 0;
    return prove_add(m->t, m->a[0].value[slot], times(m->t, m->step[slot], prove_iterations(m)));
}

/* The number of iterations when the arrival came, by the number of the node; 0: it is not known. */
static Term number_at(const Merge *m, u32 k)
{
    Terms *t = m->t;
    Term own = prove_iterations(m), numbers[] = {prove_const(t, 0, 64), prove_const(t, 1, 64), prove_plus(t, own, 1)};
    for (u32 i = 0; i < COUNT_OF(numbers); i++) {
        bool fits = true;
        Subst to = {.owner = m->n->id};
        *fnvmap_at(&to.map, own) = numbers[i];
        for (u32 slot = 0; slot < m->slots && fits; slot++)
            if (has_number(m, m->value[slot]))
                fits = prove_subst(t, &to, m->value[slot]) == m->a[k].value[slot];
        fnvmap_free(&to.map);
        if (fits)
            return numbers[i];
    }
    return 0;
}

void prove_counters_arrive(Merge *m)
{
    m->number = arena_array(m->p->arena, Term, m->count);
    for (u32 k = 0; k < m->count; k++)
        m->number[k] = number_at(m, k);
}

/* ---- how often --------------------------------------------------------------------------------------------------------------- */

/* c times the number of iterations is at most `most`. For x, c times the number and something, is less than a bound, or
 * not it. */
typedef struct Claim {
    Term step, most, said; /* the step is positive, as an unsigned number, or claimed to be */
    Term x, bound;
} Claim;

typedef VEC(Claim) Claims;

/* The sum's part that the number of iterations multiplies. */
static Term step_in(const Merge *m, Term x, Term *first)
{
    Terms *t = m->t;
    Term at[2];
    for (u64 number = 0; number < 2; number++) {
        Subst to = {.owner = m->n->id};
        *fnvmap_at(&to.map, prove_iterations(m)) = prove_const(t, number, 64);
        at[number] = prove_subst(t, &to, x);
        fnvmap_free(&to.map);
    }
    Term step = prove_sub(t, at[1], at[0]);
    *first = at[0];
    bool is_so = prove_merge_is_clean(m, step) && prove_merge_is_clean(m, at[0]) && !is_nothing(m, step) &&
                 prove_add(t, at[0], times(t, step, prove_iterations(m))) == x;
    return is_so ? step : 0;
}

static bool is_negative(const Terms *t, Term step)
{
    const TermNode *node = prove_node(t, step);
    if (node->op == TERM_CONST)
        return prove_signed(node->value, node->bits) < 0;
    for (u32 k = 0; k < node->n && node->op == TERM_LINEAR; k++)
        if (prove_signed(t->coef.v[node->kids + k], node->bits) >= 0)
            return false;
    return node->op == TERM_LINEAR && prove_signed(node->value, node->bits) <= 0;
}

static void claim(Merge *m, Claims *claims, Term x, Term bound)
{
    Terms *t = m->t;
    Term first = 0, step = prove_merge_is_clean(m, bound) ? step_in(m, x, &first) : 0, one;
    if (!step || claims->n >= CLAIMS_MAX)
        return;
    u32 bits = prove_bits(t, x);
    bool down = is_negative(t, step);
    one = prove_const(t, 1, bits);
    Term distance = down ? prove_sub(t, first, bound) : prove_sub(t, bound, first);
    step = down ? prove_scale(t, step, UINT64_MAX) : step;
    if (bits == 64 && !prove_is_const(t, step))
        return;
    Term done = prove_mul(t, prove_zext(t, step, 64), prove_iterations(m)), more = prove_add(t, distance, step);
    Term most[] = {distance, prove_sub(t, more, one), more};
    for (u32 k = 0; k < COUNT_OF(most) && claims->n < CLAIMS_MAX; k++) {
        Term said = prove_rel(t, done, prove_zext(t, most[k], 64), AT_MOST);
        bool is_new = true;
        for (u32 i = 0; i < claims->n; i++)
            is_new &= claims->v[i].said != said || claims->v[i].x != x || claims->v[i].bound != bound;
        if (is_new)
            vec_push(claims, ((Claim){step, most[k], said, x, bound}));
    }
}

/* The numbers at the ends of a set are what a counter is compared with. */
static void claim_ends(Merge *m, Claims *claims, Term x, SetId id)
{
    Set set = *prove_set(&m->t->sets, id);
    u32 bits = prove_bits(m->t, x);
    for (u32 k = 0; k < set.n && k < 2; k++) {
        if (set.v[k].lo)
            claim(m, claims, x, prove_const(m->t, set.v[k].lo - 1, bits));
        if (set.v[k].hi != prove_mask(bits))
            claim(m, claims, x, prove_const(m->t, set.v[k].hi + 1, bits));
    }
}

static bool is_own_fact(const Merge *m, const Fact *f)
{
    for (u32 k = 0; k < m->n->facts; k++)
        if (m->n->fact[k].term == f->term && m->n->fact[k].set == f->set)
            return true;
    return false;
}

/* What the facts of the arrival compare counters with. */
static Claims make_claims(Merge *m)
{
    Claims claims = {0};
    for (u32 k = 0; k < m->count; k++)
        for (u32 i = 0; i < m->a[k].facts; i++) {
            Fact f = m->a[k].fact[i];
            const TermNode *node = prove_node(m->t, f.term);
            if (prove_merge_is_clean(m, f.term) || is_own_fact(m, &f))
                continue;
            if (node->op == TERM_REL && prove_bits(m->t, prove_kid(m->t, f.term, 0)) >= 32) {
                Term x = prove_kid(m->t, f.term, 0), y = prove_kid(m->t, f.term, 1);
                claim(m, &claims, x, y);
                claim(m, &claims, y, x);
            } else if ((node->op == TERM_LINEAR || node->op == TERM_TRUNC || node->op == TERM_SYM) && node->bits >= 32) {
                claim_ends(m, &claims, f.term, f.set);
            }
        }
    return claims;
}

/* The greatest value that the term may have by what all arrivals know. */
static u64 greatest(const Merge *m, Term x, u64 *least)
{
    Prover *p = m->p;
    u64 most = 0;
    *least = UINT64_MAX;
    for (u32 k = 0; k < m->count; k++) {
        u32 mark = p->facts.all.n;
        prove_merge_load(p, m->a[k].fact, m->a[k].facts);
        SetId set = prove_known(p, x);
        prove_forget(p, mark);
        if (prove_set_is_empty(&m->t->sets, set))
            continue;
        most = prove_set_max(&m->t->sets, set) > most ? prove_set_max(&m->t->sets, set) : most;
        *least = prove_set_min(&m->t->sets, set) < *least ? prove_set_min(&m->t->sets, set) : *least;
    }
    return most;
}

/* The range that the claim leaves to the number of iterations; 0: with one iteration more, the product might wrap around. */
static SetId range_of_number(const Merge *m, const Claim *c)
{
    u64 unused, least;
    u64 most = greatest(m, c->most, &unused), step = greatest(m, c->step, &least);
    if (least == 0 || step < least || most / least == UINT64_MAX || step > UINT64_MAX / (most / least + 1))
        return 0;
    return prove_set_range(&m->t->sets, 0, most / least);
}

static bool is_multiple(Prover *p, Term x, u64 of)
{
    Terms *t = &p->t;
    u32 bits = prove_bits(t, x);
    Term unused, low = prove_const(t, of - 1, bits), none = prove_const(t, 0, bits);
    if (of & (of - 1))
        return false;
    for (u32 k = 0; k < 2; k++) { /* it may be asked of the number, or of one that is a step away */
        Term masked = prove_and(t, prove_plus(t, x, k * of), low);
        if (prove_decide(p, prove_rel(t, masked, none, 1u << PROVE_EQ), &unused) == 1)
            return true;
    }
    return false;
}

/* Whether what is done is less than the most by a whole step. It is if it is not the most, and both are multiples of the
 * step. */
static bool is_not_there(const Merge *m, const Claim *c)
{
    Terms *t = m->t;
    Term left = prove_sub(t, c->most, times(t, c->step, prove_iterations(m))), unused;
    if (left != prove_sub(t, c->bound, c->x) && left != prove_sub(t, c->x, c->bound))
        return false;
    return prove_is_const(t, c->step) && is_multiple(m->p, c->most, prove_node(t, c->step)->value) &&
           prove_decide(m->p, prove_rel(t, c->x, c->bound, 1u << PROVE_EQ), &unused) == 0;
}

/* Whether the claim holds when arrival k comes, given that it held of the number of iterations before. */
static bool holds_at(Merge *m, const Claim *c, SetId range, u32 k)
{
    Prover *p = m->p;
    Terms *t = m->t;
    Term number = m->number[k], own = prove_iterations(m);
    if (!number || (prove_is_const(t, number) && prove_node(t, number)->value == 0))
        return number != 0;
    u32 mark = p->facts.all.n;
    prove_merge_load(p, m->a[k].fact, m->a[k].facts);
    bool goes_on = !prove_is_const(t, number);
    if (goes_on) {
        FactList given = {0};
        prove_merge_add(m, &given, c->said);
        prove_learn(p, own, range);
        prove_merge_load(p, given.v.v, given.v.n);
        vec_free(&given.v);
    }
    Term step = prove_zext(t, c->step, 64), most = prove_zext(t, c->most, 64);
    bool holds = (goes_on && is_not_there(m, c)) || prove_at_most(p, prove_mul(t, step, number), most);
    prove_forget(p, mark);
    return holds;
}

static void add_range(Merge *m, FactList *list, SetId range)
{
    Term own = prove_iterations(m);
    for (u32 k = 0; k < list->v.n; k++)
        if (list->v.v[k].term == own) {
            list->v.v[k].set = prove_set_and(&m->t->sets, list->v.v[k].set, range);
            return;
        }
    vec_push(&list->v, ((Fact){own, range, 0}));
}

void prove_counter_facts(Merge *m, FactList *list)
{
    if (!m->counts)
        return;
    Claims claims = make_claims(m);
    for (u32 i = 0; i < claims.n; i++) {
        const Claim *c = &claims.v[i];
        SetId range = range_of_number(m, c);
        bool holds = range != 0;
        for (u32 k = 0; k < m->count && holds; k++)
            holds = holds_at(m, c, range, k);
        if (!holds)
            continue;
        prove_merge_add(m, list, c->said);
        add_range(m, list, range);
    }
    vec_free(&claims);
}

/* ---- in the end ------------------------------------------------------------------------------------------------------------- */

static bool is_claimed(const Merge *m, const FactList *list, const Fact *f)
{
    for (u32 k = 0; k < list->v.n; k++)
        if (list->v.v[k].term == f->term && prove_set_within(&m->t->sets, list->v.v[k].set, f->set))
            return true;
    return false;
}

static bool fact_holds(Merge *m, const FactList *list, const Fact *f)
{
    bool holds = true;
    if (!has_number(m, f->term) || is_claimed(m, list, f))
        return true;
    for (u32 k = 0; k < m->count && holds; k++)
        holds = prove_merge_holds_in(m, prove_in(m->t, f->term, f->set), k);
    return holds;
}

bool prove_counters_hold(Merge *m)
{
    FactList list = {0};
    m->counts = true;
    prove_counters_arrive(m);
    bool holds = true;
    for (u32 k = 0; k < m->count && holds; k++)
        holds = m->number[k] != 0;
    if (holds)
        prove_counter_facts(m, &list);
    for (u32 k = 0; k < m->n->facts && holds; k++)
        holds = fact_holds(m, &list, &m->n->fact[k]);
    vec_free(&list.v);
    return holds;
}
