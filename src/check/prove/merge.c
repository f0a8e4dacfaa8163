/* The state of a product node: what all arrivals have in common. */
#include <string.h>

#include "check/prove/merge.h"

static void merge_values(Merge *m)
{
    m->countdown = m->p->plan.counts && !m->p->plan.iterates ? prove_countdown(m) : 0;
    if (m->p->plan.iterates)
        prove_counters_find(m);
    for (u32 slot = 0; slot < m->slots; slot++) {
        Term sole = prove_merge_sole(m, slot), own = prove_merge_symbol(m, slot), moved;
        if (bitset_has(&m->n->broken, slot)) {
            m->value[slot] = own;
        } else if (sole) {
            m->value[slot] = sole;
        } else if (m->countdown == slot + 1) {
            m->value[slot] = own;
        } else if ((moved = prove_counter_value(m, slot))) {
            m->value[slot] = moved;
        } else if (m->countdown && (moved = prove_countdown_value(m, slot))) {
            m->value[slot] = moved;
        } else {
            m->value[slot] = prove_merge_related(m, slot);
        }
    }
}

static FactList merge_facts(Merge *m)
{
    FactList list = {0};
    prove_merge_unite(m, &list);
    prove_counter_facts(m, &list);
    if (m->countdown)
        prove_countdown_facts(m, &list);
    if (m->count <= 8)
        prove_merge_rename(m, &list);
    prove_merge_keep(m, &list);
    return list;
}

/* The condition of a branch speaks of the symbols that the path had then; those of this node are others now. */
static Opens forget_conditions(Prover *p, const Node *n, Opens from)
{
    Open *v = arena_array(p->arena, Open, from.n);
    for (u32 k = 0; k < from.n; k++) {
        v[k] = from.v[k];
        if (v[k].cond && prove_mentions(&p->t, v[k].cond, n->id))
            v[k].cond = 0;
    }
    return (Opens){from.n, v};
}

static bool same_facts(const Node *n, const FactList *list)
{
    if (n->facts != list->v.n)
        return false;
    for (u32 k = 0; k < n->facts; k++)
        if (n->fact[k].term != list->v.v[k].term || n->fact[k].set != list->v.v[k].set)
            return false;
    return true;
}

static void break_slots(Merge *m)
{
    for (u32 slot = 0; m->n->value && slot < m->slots; slot++)
        if (m->n->moves >= BREAK_VISITS && m->value[slot] != m->n->value[slot]) {
            bitset_add(&m->n->broken, slot);
            m->value[slot] = prove_merge_symbol(m, slot);
        }
}

/* Merges what is open. In the second visit the branches that are open only ever become more. */
static bool merge_threads(Prover *p, Node *n)
{
    const Arrival *first = &n->arrivals.v[0];
    Opens open[2] = {n->opened ? n->open[0] : first->open[0], n->opened ? n->open[1] : first->open[1]};
    const Iteration *iterations = n->opened ? n->iterations : first->iterations;
    for (u32 k = 0; k < n->arrivals.n; k++) {
        prove_unite_opens(p, open, n->arrivals.v[k].open);
        iterations = prove_unite_iterations(p, iterations, n->arrivals.v[k].iterations);
    }
    open[0] = forget_conditions(p, n, open[0]);
    bool same = n->opened && prove_same_opens(&open[0], &n->open[0]) && prove_same_opens(&open[1], &n->open[1]) &&
                prove_same_iterations(p, iterations, n->iterations);
    n->iterations = iterations;
    n->open[0] = open[0];
    n->open[1] = open[1];
    n->opened++;
    return !same;
}

static u32 count_unclean(Prover *p, const Node *n, const Arrival *a)
{
    u32 count = 0;
    for (u32 k = 0; k < n->slots[0] + n->slots[1]; k++)
        count += prove_mentions(&p->t, a->value[k], n->id);
    return count;
}

/* The first arrival is what others are compared with: best one that comes from outside of the loop. */
static void put_clean_first(Prover *p, Node *n)
{
    u32 best = 0, least = count_unclean(p, n, &n->arrivals.v[0]);
    for (u32 k = 1; k < n->arrivals.n && least; k++) {
        u32 count = count_unclean(p, n, &n->arrivals.v[k]);
        if (count < least) {
            best = k;
            least = count;
        }
    }
    Arrival first = n->arrivals.v[0];
    n->arrivals.v[0] = n->arrivals.v[best];
    n->arrivals.v[best] = first;
}

static bool merge_state(Prover *p, Node *n)
{
    put_clean_first(p, n);
    Merge m = {.p = p, .t = &p->t, .n = n, .slots = n->slots[0] + n->slots[1], .a = n->arrivals.v, .count = n->arrivals.n};
    m.value = arena_array(p->arena, Term, m.slots);
    merge_values(&m);
    break_slots(&m);
    if (m.counts)
        prove_counters_arrive(&m);
    FactList list = merge_facts(&m);
    bool same_values = n->value && memcmp(n->value, m.value, m.slots * sizeof *m.value) == 0;
    bool same = same_values && same_facts(n, &list);
    n->moves += !same_values;
    if (!same) {
        n->value = m.value;
        n->facts = list.v.n;
        n->fact = arena_array(p->arena, Fact, list.v.n);
        if (list.v.n)
            memcpy(n->fact, list.v.v, list.v.n * sizeof *n->fact);
        n->visits++;
    }
    vec_free(&list.v);
    fnvmap_free(&m.by_values);
    fnvmap_free(&m.by_steps);
    return !same;
}

/* Drops arrivals from states that other nodes had, and no longer have or no longer have so. */
static void drop_outdated(Prover *p, Node *n)
{
    u32 kept = 0;
    for (u32 k = 0; k < n->arrivals.n; k++) {
        u32 from = n->arrivals.v[k].from;
        if (!from || p->product.nodes.v[from]->version == n->arrivals.v[k].version)
            n->arrivals.v[kept++] = n->arrivals.v[k];
    }
    n->arrivals.n = kept;
}

/* No path comes to the node any more, nor from it. */
static void give_up_node(Prover *p, Node *n)
{
    n->version++;
    n->value = NULL;
    n->in_doubt = false;
    prove_outdate(p, n, &n->next);
    n->next.n = 0;
}

bool prove_merge(Prover *p, Node *n)
{
    if (p->product.values_hold)
        return merge_threads(p, n);
    if (p->plan.counts)
        drop_outdated(p, n);
    if (n->arrivals.n)
        return merge_state(p, n);
    give_up_node(p, n);
    return false;
}

bool prove_state_holds(Prover *p, Node *n)
{
    if (!p->plan.iterates || !n->value)
        return true;
    drop_outdated(p, n);
    Merge m = {.p = p, .t = &p->t, .n = n, .slots = n->slots[0] + n->slots[1], .a = n->arrivals.v, .count = n->arrivals.n};
    m.value = n->value;
    return prove_counters_hold(&m);
}
