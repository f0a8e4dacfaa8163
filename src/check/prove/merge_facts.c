/* Merging facts: what all arrivals know of values that they share, and of those that are joined. */
#include "check/prove/merge.h"

enum {
    RENAMED_MAX = 64,  /* that are restated of the symbols of a join */
    WIDEN_VISITS = 4,  /* from then on ranges of joined values do not change any more */
    OTHERS_VISITS = 60 /* from then on ranges of what other nodes joined do not change any more: these are done before */
};

/* A part of a list of facts, whose values are the same for all arrivals, or joined. */
typedef struct Part {
    const Fact *fact;
    u32 n;
    bool joined; /* `before` is their slot */
} Part;

static void know(Merge *m, const Part *part, const Arrival *a, SetId *set)
{
    Prover *p = m->p;
    u32 mark = p->facts.all.n;
    prove_merge_load(p, a->fact, a->facts);
    for (u32 k = 0; k < part->n; k++)
        set[k] = prove_known(p, part->joined ? a->value[part->fact[k].before] : part->fact[k].term);
    prove_forget(p, mark);
}

/* Unites what some arrivals know. Each half is united by itself: a set that grew with each arrival would be kept each time. */
static void unite_all(Merge *m, const Part *part, const Arrival *a, u32 count, SetId *set)
{
    if (count == 1) {
        know(m, part, a, set);
        return;
    }
    SetId *more = mem_alloc(part->n * sizeof *more);
    unite_all(m, part, a, count / 2, set);
    unite_all(m, part, a + count / 2, count - count / 2, more);
    for (u32 k = 0; k < part->n; k++)
        set[k] = prove_set_or(&m->t->sets, set[k], more[k]);
    mem_free(more);
}

/* Widens the sets of facts from `first` on by what arrivals from number `from` on know. */
static void unite_facts(Merge *m, FactList *list, u32 first, u32 from)
{
    Part part = {list->v.v + first, list->v.n - first, from == 0};
    if (part.n == 0 || from >= m->count)
        return;
    SetId *set = mem_alloc(part.n * sizeof *set);
    unite_all(m, &part, m->a + from, m->count - from, set);
    for (u32 k = 0; k < part.n; k++)
        list->v.v[first + k].set = prove_set_or(&m->t->sets, list->v.v[first + k].set, set[k]);
    mem_free(set);
}

/* The least number after `from`, by whole steps, that is not in the set; 0: there is none. */
static u64 first_missing(const Merge *m, SetId id, u64 from, u64 step, u64 most)
{
    const Set *set = prove_set(&m->t->sets, id);
    u64 gap = 0;
    for (u32 k = 0; k <= set->n; k++) {
        u64 end = k < set->n ? set->v[k].lo : most; /* of the gap, excluded; the largest number is not looked at */
        u64 least = gap > from ? gap : from + 1, steps = (least - from - 1) / step + 1;
        if (least < end && steps <= (most - from) / step && from + steps * step < end)
            return from + steps * step;
        if (k == set->n || set->v[k].hi == most)
            break;
        gap = set->v[k].hi + 1;
    }
    return 0;
}

/* The values that a counter can have. It begins with a number, maybe on several paths, and each way back adds a step to it.
 * If none is taken with what it would be after so many steps, it does not pass that. */
static SetId range_of_counter(Merge *m, u32 slot, SetId otherwise)
{
    Prover *p = m->p;
    Terms *t = m->t;
    Term own = m->value[slot], first = m->a[0].value[slot];
    u64 most = prove_most(t, own), step = 0, end = 0;
    if (m->count < 2 || !prove_is_const(t, first))
        return otherwise;
    u64 from = prove_node(t, first)->value;
    for (u32 k = 1; k < m->count; k++) {
        if (m->a[k].value[slot] == first)
            continue;
        Term by = prove_sub(t, m->a[k].value[slot], own);
        if (!prove_is_const(t, by) || (step && prove_node(t, by)->value != step))
            return otherwise;
        bool is_new = step == 0;
        step = prove_node(t, by)->value;
        u32 mark = p->facts.all.n;
        prove_merge_load(p, m->a[k].fact, m->a[k].facts);
        SetId set = prove_known(p, m->a[k].value[slot]);
        prove_forget(p, mark);
        if (step == 0 || step > most / 2 || from >= most)
            return otherwise;
        if (is_new)
            end = first_missing(m, set, from, step, most);
        if (end == 0 || prove_set_has(&t->sets, set, end))
            return otherwise;
    }
    return end ? prove_set_and(&t->sets, otherwise, prove_set_range(&t->sets, from, end - step)) : otherwise;
}

/* Whether the range of the slot's values is looked for: its value is its own symbol, or a sum with symbols of the node. Where counters
 * are looked for, countdown.c bounds such sums. */
static bool is_joined(const Merge *m, u32 slot)
{
    const TermNode *node = prove_node(m->t, m->value[slot]);
    if (node->bits > 64 || prove_merge_is_clean(m, m->value[slot]))
        return false;
    return node->op == TERM_SYM ? prove_sym_of(m->t, m->value[slot])->detail == slot
                                : node->op == TERM_LINEAR && node->n > 1 && !m->p->plan.counts;
}

/* The values of joined slots: the union of what the arrivals know of theirs. Of a sum with a number the rest is said. */
static void range_of_joins(Merge *m, FactList *list)
{
    Terms *t = m->t;
    u32 first = list->v.n;
    for (u32 slot = 0; slot < m->slots; slot++)
        if (is_joined(m, slot))
            vec_push(&list->v, ((Fact){m->value[slot], prove_set_empty(&t->sets), slot}));
    unite_facts(m, list, first, 0);
    for (u32 i = first; i < list->v.n; i++) {
        Fact *f = &list->v.v[i];
        f->set = range_of_counter(m, f->before, f->set);
        u64 more = prove_node(t, f->term)->op == TERM_LINEAR ? prove_node(t, f->term)->value : 0;
        f->set = prove_set_shift(&t->sets, f->set, 0 - more, prove_most(t, f->term));
        f->term = more ? prove_plus(t, f->term, 0 - more) : f->term;
    }
}

void prove_merge_unite(Merge *m, FactList *list)
{
    for (u32 k = 0; k < m->a[0].facts; k++)
        if (prove_merge_is_clean(m, m->a[0].fact[k].term))
            vec_push(&list->v, m->a[0].fact[k]);
    unite_facts(m, list, 0, 1);
    range_of_joins(m, list);
}

/* Restates a fact of the first arrival about values that are joined here of the symbols that stand for them. It is kept if
 * the others know it of theirs. */
static Term rename_fact(Merge *m, Subst *to_joins, const Fact *f)
{
    if (!prove_merge_is_clean(m, f->term))
        return 0;
    Term said = prove_subst(m->t, to_joins, prove_in(m->t, f->term, f->set));
    return prove_merge_is_clean(m, said) ? 0 : said;
}

bool prove_merge_holds_in(Merge *m, Term said, u32 k)
{
    if (m->counts && !m->number[k])
        return false;
    const Arrival *a = &m->a[k];
    Prover *p = m->p;
    Subst from = {.owner = m->n->id};
    for (u32 slot = 0; slot < m->slots; slot++) {
        const TermNode *node = prove_node(m->t, m->value[slot]);
        if (node->op == TERM_SYM && prove_sym_of(m->t, m->value[slot])->owner == m->n->id)
            *fnvmap_at(&from.map, m->value[slot]) = a->value[slot];
    }
    if (m->counts)
        *fnvmap_at(&from.map, prove_iterations(m)) = m->number[k];
    u32 mark = p->facts.all.n;
    Term unused;
    prove_merge_load(p, a->fact, a->facts);
    bool holds = prove_decide(p, prove_subst(m->t, &from, said), &unused) == 1;
    prove_forget(p, mark);
    fnvmap_free(&from.map);
    return holds;
}

/* The slot that is joined and for which the arrival brings x, plus 1. 0: there is none, or y is not the same in all
 * iterations. */
static u32 joined_as(const Merge *m, const Arrival *a, Term x, Term y)
{
    for (u32 slot = 0; slot < m->slots && prove_merge_is_clean(m, y); slot++)
        if (a->value[slot] == x && !prove_merge_is_clean(m, m->value[slot]))
            return slot + 1;
    return 0;
}

/* What an arrival knows of the order of a value that is joined here and one that is not, said of the symbol. 0: it is no
 * such fact. */
static Term order_of_join(Merge *m, const Arrival *a, const Fact *f)
{
    Terms *t = m->t;
    if (prove_node(t, f->term)->op != TERM_REL)
        return 0;
    Term x = prove_kid(t, f->term, 0), y = prove_kid(t, f->term, 1);
    u32 first = joined_as(m, a, x, y), second = first ? 0 : joined_as(m, a, y, x), relations = 0;
    for (u32 r = 0; r < PROVE_RELS; r++)
        relations |= (u32)prove_set_has(&t->sets, f->set, r) << r;
    return first    ? prove_rel(t, m->value[first - 1], y, relations)
           : second ? prove_rel(t, x, m->value[second - 1], relations)
                    : 0;
}

void prove_merge_add(Merge *m, FactList *list, Term said)
{
    TermNode node = *prove_node(m->t, said);
    bool value = true;
    if (node.op == TERM_LOGIC && node.n == 1) {
        said = prove_kid(m->t, said, 0);
        node = *prove_node(m->t, said);
        value = false;
    }
    if (node.op == TERM_LOGIC || node.op == TERM_CONST)
        return;
    Fact f = {said, prove_set_range(&m->t->sets, value, value), 0};
    if (node.op == TERM_IN) {
        f.term = prove_kid(m->t, said, 0);
        f.set = value ? node.aux : prove_set_not(&m->t->sets, node.aux, prove_most(m->t, f.term));
    }
    vec_push(&list->v, f);
}

/* Adds what is said, if it is something and holds in the arrivals from the given one on. */
static void add_if_held(Merge *m, FactList *list, Term said, u32 from)
{
    for (u32 i = from; said && i < m->count; i++)
        if (!prove_merge_holds_in(m, said, i))
            return;
    if (said)
        prove_merge_add(m, list, said);
}

/* What the last arrival knows of orders, if the others know it of their values. The first one may begin with a number, of which that
 * is said in another form. */
static void rename_orders(Merge *m, FactList *list)
{
    const Arrival *last = &m->a[m->count - 1];
    for (u32 k = 0; m->count > 1 && k < last->facts && k < RENAMED_MAX; k++)
        add_if_held(m, list, order_of_join(m, last, &last->fact[k]), 0);
}

void prove_merge_rename(Merge *m, FactList *list)
{
    Subst to_joins = {0};
    bool any = false;
    for (u32 slot = 0; slot < m->slots; slot++)
        if (!prove_merge_is_clean(m, m->value[slot]) && !prove_is_const(m->t, m->a[0].value[slot])) {
            *fnvmap_at(&to_joins.map, m->a[0].value[slot]) = m->value[slot];
            any = true;
        }
    for (u32 k = 0; any && k < m->a[0].facts && k < RENAMED_MAX; k++)
        add_if_held(m, list, rename_fact(m, &to_joins, &m->a[0].fact[k]), 1);

    fnvmap_free(&to_joins.map);
    rename_orders(m, list);
}

static SetId old_range(const Node *n, Term x)
{
    for (u32 k = 0; k < n->facts; k++)
        if (n->fact[k].term == x)
            return n->fact[k].set;
    return 0;
}

/* A counter's range that grows each time grows up to the next number that BEFORE compares something with. That is a
 * guess, which the next visits confirm or widen. 0: there is none. */
static SetId guess_range(Merge *m, Term x, SetId set)
{
    Terms *t = m->t;
    const TermNode *node = prove_node(t, x);
    if (node->op != TERM_SYM || prove_sym_of(t, x)->owner != m->n->id || m->count < 2)
        return 0;
    if (prove_sym_of(t, x)->detail >= m->slots)
        return 0; /* the number of iterations */
    u32 slot = prove_sym_of(t, x)->detail, back = 1;
    while (back + 1 < m->count && m->a[back].value[slot] == m->a[0].value[slot])
        back++;
    Term by = prove_sub(t, m->a[back].value[slot], x);
    u64 most = prove_most(t, x), step = prove_is_const(t, by) ? prove_node(t, by)->value : 0, best = 0;
    if (step == 0 || step > most / 2 || !prove_is_const(t, m->a[0].value[slot]) || prove_set_is_empty(&t->sets, set))
        return 0;
    u64 from = prove_node(t, m->a[0].value[slot])->value, to = prove_set_max(&t->sets, set);
    for_each_block(b, m->p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            for_each_slot(o, i)
                if (i->kind == INSTR_OP && i->op->opcode == OPC_SETP && o->kind == OPND_IMM) {
                    u64 end = (u64)o->value & most;
                    if (end > from && (end - from) % step == 0 && end - step >= to && (best == 0 || end < best))
                        best = end;
                }
    SetId guess = best ? prove_set_range(&t->sets, from, best - step) : 0;
    return guess && prove_set_within(&t->sets, set, guess) ? guess : 0;
}

void prove_merge_keep(Merge *m, FactList *list)
{
    u32 kept = 0;
    for (u32 k = 0; k < list->v.n; k++) {
        Fact f = list->v.v[k];
        if (f.set == prove_set_range(&m->t->sets, 0, prove_most(m->t, f.term)))
            continue;
        SetId old = old_range(m->n, f.term);
        u32 limit = prove_merge_is_clean(m, f.term) ? OTHERS_VISITS : old ? WIDEN_VISITS : BREAK_VISITS;
        if (old != f.set && m->n->visits >= limit) {
            f.set = m->n->visits < BREAK_VISITS ? guess_range(m, f.term, f.set) : 0;
            if (!f.set)
                continue;
        }
        f.before = 0;
        list->v.v[kept++] = f;
    }
    list->v.n = kept;
}
