/* Product nodes: what arrives in them, and the state that all arrivals have in common. */
#include <string.h>

#include "prove/merge.h"

enum {
    FACTS_MAX = 256,   /* that an arrival brings */
    RENAMED_MAX = 64,  /* that are told of the symbols of a join anew */
    WIDEN_VISITS = 4,  /* from then on ranges of joined values do not change any more */
    BREAK_VISITS = 12, /* from then on what changes loses its relation to others */
    OTHERS_VISITS = 60 /* from then on ranges of what other nodes joined do not change any more: these are done before */
};

/* ---- the queue: a heap by the order of BEFORE's blocks, then AFTER's ---------------------------------------------------- */

static bool comes_first(const Prover *p, u32 a, u32 b)
{
    const Node *x = p->nodes.v[a], *y = p->nodes.v[b];
    for (u32 side = 0; side < 2; side++) {
        const u32 *order = p->side[side].g.order;
        u32 i = order[x->place[side].block->id], k = order[y->place[side].block->id];
        if (i != k)
            return i < k;
    }
    return a < b;
}

static void enqueue(Prover *p, Node *n)
{
    if (n->queued)
        return;
    n->queued = true;
    vec_push(&p->queue, n->id);
    for (u32 k = p->queue.n - 1; k > 0 && comes_first(p, p->queue.v[k], p->queue.v[(k - 1) / 2]); k = (k - 1) / 2) {
        u32 swap = p->queue.v[k];
        p->queue.v[k] = p->queue.v[(k - 1) / 2];
        p->queue.v[(k - 1) / 2] = swap;
    }
}

Node *prove_next_node(Prover *p)
{
    if (!p->queue.n)
        return NULL;
    u32 *v = p->queue.v, top = v[0], n = --p->queue.n;
    v[0] = v[n];
    for (u32 k = 0, least; 2 * k + 1 < n; k = least) {
        least = 2 * k + 1;
        if (least + 1 < n && comes_first(p, v[least + 1], v[least]))
            least++;
        if (!comes_first(p, v[least], v[k]))
            break;
        u32 swap = v[k];
        v[k] = v[least];
        v[least] = swap;
    }
    p->nodes.v[top]->queued = false;
    return p->nodes.v[top];
}

/* ---- nodes --------------------------------------------------------------------------------------------------------------- */

static bool is_at(const Node *n, const Place place[2])
{
    for (u32 side = 0; side < 2; side++)
        if (n->place[side].block != place[side].block || n->place[side].at != place[side].at ||
            n->place[side].joins != place[side].joins)
            return false;
    return true;
}

static void find_slots(Prover *p, Node *n)
{
    VecU32 regs = {0};
    for (u32 side = 0; side < 2; side++) {
        const Machine *m = &p->side[side];
        BitSet live = bitset_new(p->arena, m->fn->regs.n);
        prove_live_at(&m->g, n->place[side].block, n->place[side].at, &live);
        for (u32 r = bitset_next(&live, 0); r < live.bits; r = bitset_next(&live, r + 1)) {
            vec_push(&regs, r);
            n->slots[side]++;
        }
    }
    RegId *copy = arena_array(p->arena, RegId, regs.n);
    if (regs.n)
        memcpy(copy, regs.v, regs.n * sizeof *copy);
    n->reg = copy;
    n->broken = bitset_new(p->arena, regs.n);
    vec_free(&regs);
}

static Node *node_of(Prover *p, const Place place[2])
{
    u64 key = 0xcbf29ce484222325u;
    for (u32 side = 0; side < 2; side++) {
        key = (key ^ place[side].block->id) * 0x100000001b3u;
        key = (key ^ (u64)(uintptr_t)place[side].at ^ place[side].joins) * 0x9e3779b97f4a7c15u;
    }
    u64 *found;
    for (; *(found = fnvmap_at(&p->node_of, key)); key++)
        if (is_at(p->nodes.v[*found], place))
            return p->nodes.v[*found];
    Node *n = arena_new(p->arena, Node);
    *n = (Node){.place = {place[0], place[1]}, .id = p->nodes.n};
    *found = n->id;
    vec_push(&p->nodes, n);
    find_slots(p, n);
    return n;
}

/* ---- arrivals ------------------------------------------------------------------------------------------------------------ */

/* The path's facts, one for each term, the newest first. */
static void collect_facts(Prover *p, Arrival *a)
{
    u32 count = p->facts.n < FACTS_MAX ? p->facts.n : FACTS_MAX;
    Fact *fact = arena_array(p->arena, Fact, count);
    for (u32 k = p->facts.n; k-- > 0 && a->facts < count;) {
        Fact f = p->facts.v[k];
        if (p->fact_of.v[f.term] != k + 1)
            continue;
        fact[a->facts++] = f;
    }
    a->fact = fact;
}

/* What earlier visits of the node that is explored brought here holds no more. */
static void drop_old(Prover *p, Node *n)
{
    u32 kept = 0;
    for (u32 k = 0; k < n->arrivals.n; k++)
        if (n->arrivals.v[k].from != p->at->id || n->arrivals.v[k].version == p->at->version)
            n->arrivals.v[kept++] = n->arrivals.v[k];
    n->arrivals.n = kept;
}

static void note_edge(Prover *p, const Node *to)
{
    u32 edge = to->id << 2 | (p->moved[0] > 0) | (u32)(p->moved[1] > 0) << 1;
    for (u32 k = 0; k < p->at->next.n; k++)
        if (p->at->next.v[k] == edge)
            return;
    vec_push(&p->at->next, edge);
}

/* The symbols that are numbers on the path. */
static Subst known_numbers(Prover *p)
{
    Subst numbers = {0};
    for (u32 k = 0; k < p->facts.n; k++) {
        Fact f = p->facts.v[k];
        if (p->fact_of.v[f.term] == k + 1 && prove_node(&p->t, f.term)->op == TERM_SYM &&
            prove_set_count(&p->t.sets, f.set, 2) == 1)
            *fnvmap_at(&numbers.map, f.term) =
                prove_const(&p->t, prove_set_min(&p->t.sets, f.set), prove_bits(&p->t, f.term));
    }
    return numbers;
}

bool prove_arrive(Prover *p, const Place place[2])
{
    Node *n = node_of(p, place);
    Arrival a = {
        .from = p->at->id, .version = p->at->version, .open = {p->open[0], p->open[1]}, .iterations = p->iterations};
    u32 slots = n->slots[0] + n->slots[1];
    Term *value = arena_array(p->arena, Term, slots);
    Subst numbers = p->counts ? known_numbers(p) : (Subst){0};
    for (u32 k = 0; k < slots; k++) {
        const Machine *m = &p->side[k >= n->slots[0]];
        value[k] = m->reg[n->reg[k]];
        if (!value[k]) {
            fnvmap_free(&numbers.map);
            return false;
        }
        if (p->counts)
            value[k] = prove_subst(&p->t, &numbers, value[k]);
        else if (prove_node(&p->t, value[k])->choices)
            value[k] = prove_simplify(p, value[k]);
    }
    fnvmap_free(&numbers.map);
    a.value = value;
    collect_facts(p, &a);
    drop_old(p, n);
    vec_push(&n->arrivals, a);
    note_edge(p, n);
    enqueue(p, n);
    return true;
}

/* ---- merging: values ------------------------------------------------------------------------------------------------------ */

static bool is_clean(const Merge *m, Term x) { return !prove_mentions(m->t, x, m->n->id); }

u32 prove_merge_bits(const Merge *m, u32 slot)
{
    return prove_reg_bits(&m->p->side[slot >= m->n->slots[0]], m->n->reg[slot]);
}

Term prove_merge_symbol(const Merge *m, u32 slot)
{
    return prove_sym(m->t, PROVE_SYM_JOIN, m->n->id, slot, 0, prove_merge_bits(m, slot));
}

/* The value that all arrivals bring, if it is none of this node's; 0: there is no such value. Where values are looked for again, one
 * that brings what the state has, of the node's symbols, left the slot as it was: whether it still does so from the value of the
 * others, its next visit says. */
static Term sole_value(const Merge *m, u32 slot)
{
    Term was = m->n->value ? m->n->value[slot] : 0, sole = 0;
    bool was_joined = m->p->restores && was && !is_clean(m, was);
    for (u32 k = 0; k < m->count; k++) {
        Term value = m->a[k].value[slot];
        if (was_joined && value == was)
            continue;
        if (sole && value != sole)
            return 0;
        sole = value;
    }
    return sole && is_clean(m, sole) ? sole : 0;
}

static bool has_equal_values(const Merge *m, u32 a, u32 b)
{
    for (u32 k = 0; k < m->count; k++)
        if (m->a[k].value[a] != m->a[k].value[b])
            return false;
    return prove_merge_bits(m, a) == prove_merge_bits(m, b);
}

/* A slot before this one that has the same values in all arrivals, or this one itself. */
static u32 leader_by_values(Merge *m, u32 slot)
{
    u64 key = prove_merge_bits(m, slot);
    for (u32 k = 0; k < m->count; k++)
        key = (key ^ m->a[k].value[slot]) * 0x9e3779b97f4a7c15u;
    for (u64 *found;; key++) {
        found = fnvmap_at(&m->by_values, key);
        if (!*found)
            *found = slot + 1;
        if (has_equal_values(m, (u32)*found - 1, slot))
            return (u32)*found - 1;
    }
}

/* What the slot's lower bits have moved on since the first arrival. */
static Term step_of(Merge *m, u32 slot, u32 arrival, u32 bits)
{
    return prove_trunc(m->t, prove_sub(m->t, m->a[arrival].value[slot], m->a[0].value[slot]), bits);
}

static u64 *leader_by_steps(Merge *m, u32 slot, u32 bits)
{
    u64 key = bits;
    for (u32 k = 1; k < m->count; k++)
        key = (key ^ step_of(m, slot, k, bits)) * 0x9e3779b97f4a7c15u;
    return fnvmap_at(&m->by_steps, key);
}

static bool has_equal_steps(Merge *m, u32 slot, u32 leader)
{
    u32 bits = prove_merge_bits(m, slot);
    for (u32 k = 1; k < m->count; k++)
        if (step_of(m, slot, k, bits) != step_of(m, leader, k, bits))
            return false;
    return true;
}

/* The value that the slot had in the first arrival plus what the leader has moved on since. A leader of 64 bits also leads slots of
 * 32. */
static Term value_by_step(Merge *m, u32 slot)
{
    u32 bits = prove_merge_bits(m, slot);
    if (bits < 16 || bits > 64 || m->count < 2 || m->count > 8 || !is_clean(m, m->a[0].value[slot]))
        return 0;
    u64 *found = leader_by_steps(m, slot, bits);
    if (!*found) {
        *found = slot + 1;
        u64 *lower = bits == 64 ? leader_by_steps(m, slot, 32) : found;
        if (!*lower)
            *lower = slot + 1;
        return 0;
    }
    u32 leader = (u32)*found - 1;
    if (prove_bits(m->t, m->value[leader]) < bits || !has_equal_steps(m, slot, leader))
        return 0;
    return prove_add(m->t, prove_trunc(m->t, m->value[leader], bits),
                     prove_sub(m->t, m->a[0].value[slot], prove_trunc(m->t, m->a[0].value[leader], bits)));
}

/* Whether in all arrivals the slot is the sum of both leaders, or the first less the second, but for a number that is the same in
 * all of them; then that. */
static Term value_of_two(Merge *m, u32 slot, u32 a, u32 b, bool is_sum)
{
    Terms *t = m->t;
    Term rest = 0;
    for (u32 k = 0; k < m->count; k++) {
        const Term *v = m->a[k].value;
        Term differ = prove_sub(t, v[slot], is_sum ? prove_add(t, v[a], v[b]) : prove_sub(t, v[a], v[b]));
        if (k > 0 && differ != rest)
            return 0;
        rest = differ;
    }
    return is_clean(m, rest)
               ? prove_add(t, rest,
                           is_sum ? prove_add(t, m->value[a], m->value[b]) : prove_sub(t, m->value[a], m->value[b]))
               : 0;
}

/* Of what two slots before this one have moved on since the first arrival: i + j and i - j, where each has a symbol of its own. */
static Term value_by_two_steps(Merge *m, u32 slot)
{
    Terms *t = m->t;
    u32 bits = prove_merge_bits(m, slot);
    if (!m->p->follows || bits < 32 || bits > 64 || m->count < 2 || m->count > 4)
        return 0;
    for (u32 a = 0; a < slot; a++) {
        if (prove_merge_bits(m, a) != bits || m->value[a] != prove_merge_symbol(m, a))
            continue;
        for (u32 is_sum = 0; is_sum < 2; is_sum++) {
            u64 key = bits;
            for (u32 k = 1; k < m->count; k++) {
                Term x = step_of(m, slot, k, bits), y = step_of(m, a, k, bits);
                key = (key ^ (is_sum ? prove_sub(t, x, y) : prove_add(t, x, y))) * 0x9e3779b97f4a7c15u;
            }
            const u64 *found = fnvmap_find(&m->by_steps, key);
            u32 b = found ? (u32)*found - 1 : slot;
            Term made = b < slot && prove_merge_bits(m, b) == bits ? value_of_two(m, slot, b, a, is_sum) : 0;
            if (made)
                return made;
        }
    }
    return 0;
}

static void merge_values(Merge *m)
{
    m->countdown = m->p->counts ? prove_countdown(m) : 0;
    for (u32 slot = 0; slot < m->slots; slot++) {
        Term sole = sole_value(m, slot), own = prove_merge_symbol(m, slot), moved;
        if (bitset_has(&m->n->broken, slot)) {
            m->value[slot] = own;
        } else if (sole) {
            m->value[slot] = sole;
        } else if (m->countdown == slot + 1) {
            m->value[slot] = own;
        } else if (m->countdown && (moved = prove_countdown_value(m, slot))) {
            m->value[slot] = moved;
        } else {
            u32 leader = leader_by_values(m, slot);
            moved = leader == slot ? value_by_step(m, slot) : m->value[leader];
            moved = moved ? moved : value_by_two_steps(m, slot);
            m->value[slot] = moved ? moved : own;
        }
    }
}

/* ---- merging: facts --------------------------------------------------------------------------------------------------------- */

void prove_merge_load(Prover *p, const Fact *fact, u32 n)
{
    for (u32 k = n; k-- > 0;)
        prove_learn(p, fact[k].term, fact[k].set);
}

/* Narrows list[k] to what arrival `a` knows too, by union. */
static void unite_facts(Merge *m, FactList *list, const Arrival *a)
{
    Prover *p = m->p;
    u32 mark = p->facts.n;
    prove_merge_load(p, a->fact, a->facts);
    for (u32 k = 0; k < list->v.n; k++) {
        Fact *f = &list->v.v[k];
        f->set = prove_set_or(&m->t->sets, f->set, prove_known(p, f->term));
    }
    prove_forget(p, mark);
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

/* What a counter can be: it begins with a number, maybe on several paths, each way back adds a step to it, and none is taken with
 * what it would be after so many steps. Then it does not pass that. */
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
        u32 mark = p->facts.n;
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

/* Whether values of the slot are asked for: it has the node's symbol, or one that others also have with something added. What goes
 * with a countdown is told of that. */
static bool is_joined(const Merge *m, u32 slot)
{
    const TermNode *node = prove_node(m->t, m->value[slot]);
    if (node->bits > 64 || is_clean(m, m->value[slot]))
        return false;
    return node->op == TERM_SYM ? prove_sym_of(m->t, m->value[slot])->detail == slot
                                : node->op == TERM_LINEAR && node->n > 1 && !m->p->counts;
}

/* The values of joined slots: the union of what the arrivals know of theirs. Of a sum with a number the rest is said. */
static void range_of_joins(Merge *m, FactList *list)
{
    Prover *p = m->p;
    Terms *t = m->t;
    u32 first = list->v.n;
    for (u32 slot = 0; slot < m->slots; slot++)
        if (is_joined(m, slot))
            vec_push(&list->v, ((Fact){m->value[slot], prove_set_empty(&t->sets), slot}));
    for (u32 k = 0; k < m->count; k++) {
        u32 mark = p->facts.n;
        prove_merge_load(p, m->a[k].fact, m->a[k].facts);
        for (u32 i = first; i < list->v.n; i++) {
            Fact *f = &list->v.v[i];
            f->set = prove_set_or(&t->sets, f->set, prove_known(p, m->a[k].value[f->before]));
        }
        prove_forget(p, mark);
    }
    for (u32 i = first; i < list->v.n; i++) {
        Fact *f = &list->v.v[i];
        f->set = range_of_counter(m, f->before, f->set);
        u64 more = prove_node(t, f->term)->op == TERM_LINEAR ? prove_node(t, f->term)->value : 0;
        f->set = prove_set_shift(&t->sets, f->set, 0 - more, prove_most(t, f->term));
        f->term = more ? prove_plus(t, f->term, 0 - more) : f->term;
    }
}

/* What the first arrival knows of values that are joined here, said of the symbols that stand for them: kept if the others
 * know it of theirs. */
static Term rename_fact(Merge *m, Subst *to_joins, const Fact *f)
{
    if (!is_clean(m, f->term))
        return 0;
    Term said = prove_subst(m->t, to_joins, prove_in(m->t, f->term, f->set));
    return is_clean(m, said) ? 0 : said;
}

static bool holds_in(Merge *m, Term said, const Arrival *a)
{
    Prover *p = m->p;
    Subst from = {.owner = m->n->id};
    for (u32 slot = 0; slot < m->slots; slot++) {
        const TermNode *node = prove_node(m->t, m->value[slot]);
        if (node->op == TERM_SYM && prove_sym_of(m->t, m->value[slot])->owner == m->n->id)
            *fnvmap_at(&from.map, m->value[slot]) = a->value[slot];
    }
    u32 mark = p->facts.n;
    Term unused;
    prove_merge_load(p, a->fact, a->facts);
    bool holds = prove_decide(p, prove_subst(m->t, &from, said), &unused) == 1;
    prove_forget(p, mark);
    fnvmap_free(&from.map);
    return holds;
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

static void rename_facts(Merge *m, FactList *list)
{
    Subst to_joins = {0};
    bool any = false;
    for (u32 slot = 0; slot < m->slots; slot++)
        if (!is_clean(m, m->value[slot]) && !prove_is_const(m->t, m->a[0].value[slot])) {
            *fnvmap_at(&to_joins.map, m->a[0].value[slot]) = m->value[slot];
            any = true;
        }
    for (u32 k = 0; any && k < m->a[0].facts && k < RENAMED_MAX; k++) {
        Term said = rename_fact(m, &to_joins, &m->a[0].fact[k]);
        for (u32 i = 1; said && i < m->count; i++)
            if (!holds_in(m, said, &m->a[i]))
                said = 0;
        if (said)
            prove_merge_add(m, list, said);
    }
    fnvmap_free(&to_joins.map);
}

static SetId old_range(const Node *n, Term x)
{
    for (u32 k = 0; k < n->facts; k++)
        if (n->fact[k].term == x)
            return n->fact[k].set;
    return 0;
}

/* A counter's range that grows each time, up to the next number that BEFORE compares something with: a guess, which the next visits
 * confirm or widen. 0: there is none. */
static SetId guess_range(Merge *m, Term x, SetId set)
{
    Terms *t = m->t;
    const TermNode *node = prove_node(t, x);
    if (node->op != TERM_SYM || prove_sym_of(t, x)->owner != m->n->id || m->count < 2)
        return 0;
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

/* Facts that say nothing go, and after some visits those that still change. */
static void keep_facts(Merge *m, FactList *list)
{
    u32 kept = 0;
    for (u32 k = 0; k < list->v.n; k++) {
        Fact f = list->v.v[k];
        if (f.set == prove_set_range(&m->t->sets, 0, prove_most(m->t, f.term)))
            continue;
        SetId old = old_range(m->n, f.term);
        u32 limit = is_clean(m, f.term) ? OTHERS_VISITS : old ? WIDEN_VISITS : BREAK_VISITS;
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

static FactList merge_facts(Merge *m)
{
    FactList list = {0};
    for (u32 k = 0; k < m->a[0].facts; k++)
        if (is_clean(m, m->a[0].fact[k].term))
            vec_push(&list.v, m->a[0].fact[k]);
    for (u32 k = 1; k < m->count; k++)
        unite_facts(m, &list, &m->a[k]);
    range_of_joins(m, &list);
    if (m->countdown)
        prove_countdown_facts(m, &list);
    if (m->count <= 8)
        rename_facts(m, &list);
    keep_facts(m, &list);
    return list;
}

/* ---- merging: branches that are open ----------------------------------------------------------------------------------------- */

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

/* ---- merging ----------------------------------------------------------------------------------------------------------------- */

static void break_slots(Merge *m)
{
    for (u32 slot = 0; m->n->value && slot < m->slots; slot++)
        if (m->n->moves >= BREAK_VISITS && m->value[slot] != m->n->value[slot]) {
            bitset_add(&m->n->broken, slot);
            m->value[slot] = prove_merge_symbol(m, slot);
        }
}

/* In the second visit: branches that are open only ever become more. */
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

/* What came from states that other nodes had, and have no more, or not so. */
static void drop_outdated(Prover *p, Node *n)
{
    u32 kept = 0;
    for (u32 k = 0; k < n->arrivals.n; k++) {
        u32 from = n->arrivals.v[k].from;
        if (!from || p->nodes.v[from]->version == n->arrivals.v[k].version)
            n->arrivals.v[kept++] = n->arrivals.v[k];
    }
    n->arrivals.n = kept;
}

void prove_outdate(Prover *p, const Node *n, const VecU32 *edges)
{
    for (u32 k = 0; k < edges->n && p->counts && !p->values_hold; k++) {
        Node *to = p->nodes.v[edges->v[k] >> 2];
        for (u32 i = 0; i < to->arrivals.n; i++)
            if (to->arrivals.v[i].from == n->id && to->arrivals.v[i].version != n->version)
                enqueue(p, to);
    }
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
    if (p->values_hold)
        return merge_threads(p, n);
    if (p->counts)
        drop_outdated(p, n);
    if (n->arrivals.n)
        return merge_state(p, n);
    give_up_node(p, n);
    return false;
}
