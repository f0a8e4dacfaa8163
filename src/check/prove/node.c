/* Product nodes: which is explored next, and what arrives at them. */
#include <string.h>

#include "check/prove/prover.h"

enum { FACTS_MAX = 256 /* that an arrival brings */ };

/* ---- the queue: a heap by the order of BEFORE's blocks, then AFTER's ---------------------------------------------------- */

static bool comes_first(const Prover *p, u32 a, u32 b)
{
    const Node *x = p->product.nodes.v[a], *y = p->product.nodes.v[b];
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
    vec_push(&p->product.queue, n->id);
    for (u32 k = p->product.queue.n - 1; k > 0 && comes_first(p, p->product.queue.v[k], p->product.queue.v[(k - 1) / 2]);
         k = (k - 1) / 2) {
        u32 swap = p->product.queue.v[k];
        p->product.queue.v[k] = p->product.queue.v[(k - 1) / 2];
        p->product.queue.v[(k - 1) / 2] = swap;
    }
}

Node *prove_next_node(Prover *p)
{
    if (!p->product.queue.n)
        return NULL;
    u32 *v = p->product.queue.v, top = v[0], n = --p->product.queue.n;
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
    p->product.nodes.v[top]->queued = false;
    return p->product.nodes.v[top];
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
        for_each_bit(r, &live) {
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
    u64 key = FNV_BASIS;
    for (u32 side = 0; side < 2; side++) {
        key = (key ^ place[side].block->id) * FNV_PRIME;
        key = (key ^ (u64)(uintptr_t)place[side].at ^ place[side].joins) * 0x9e3779b97f4a7c15u;
    }
    HashWalk w = index_walk(&p->product.index, hash_fold(key));
    for (u32 id; (id = index_next(&w)) != 0;)
        if (is_at(p->product.nodes.v[id], place))
            return p->product.nodes.v[id];
    Node *n = arena_new(p->arena, Node);
    *n = (Node){.place = {place[0], place[1]}, .id = p->product.nodes.n};
    index_put(&w, n->id);
    vec_push(&p->product.nodes, n);
    find_slots(p, n);
    return n;
}

void prove_product_init(Product *product) { vec_push(&product->nodes, ((Node *)NULL)); }

void prove_product_free(Product *product)
{
    for (u32 k = 1; k < product->nodes.n; k++) {
        vec_free(&product->nodes.v[k]->arrivals);
        vec_free(&product->nodes.v[k]->next);
    }
    vec_free(&product->nodes);
    vec_free(&product->queue);
    index_free(&product->index);
}

/* ---- arrivals ------------------------------------------------------------------------------------------------------------ */

/* The path's facts, one for each term, the newest first. */
static void collect_facts(Prover *p, Arrival *a)
{
    u32 count = p->facts.all.n < FACTS_MAX ? p->facts.all.n : FACTS_MAX;
    Fact *fact = arena_alloc_raw(p->arena, count * sizeof *fact);
    for (u32 k = p->facts.all.n; k-- > 0 && a->facts < count;) {
        Fact f = p->facts.all.v[k];
        if (!prove_is_newest_fact(&p->facts, k))
            continue;
        fact[a->facts++] = f;
    }
    arena_shrink(p->arena, fact, count * sizeof *fact, a->facts * sizeof *fact);
    a->fact = fact;
}

/* Drops what earlier visits of the explored node brought here: it holds no more. */
static void drop_old(Prover *p, Node *n)
{
    u32 kept = 0;
    for (u32 k = 0; k < n->arrivals.n; k++)
        if (n->arrivals.v[k].from != p->product.at->id || n->arrivals.v[k].version == p->product.at->version)
            n->arrivals.v[kept++] = n->arrivals.v[k];
    n->arrivals.n = kept;
}

static void note_edge(Prover *p, const Node *to)
{
    u32 edge = to->id << 2 | (p->path.moved[0] > 0) | (u32)(p->path.moved[1] > 0) << 1;
    for (u32 k = 0; k < p->product.at->next.n; k++)
        if (p->product.at->next.v[k] == edge)
            return;
    vec_push(&p->product.at->next, edge);
}

/* The symbols that are numbers on the path. */
static Subst known_numbers(Prover *p)
{
    Subst numbers = {0};
    for (u32 k = 0; k < p->facts.all.n; k++) {
        Fact f = p->facts.all.v[k];
        if (prove_is_newest_fact(&p->facts, k) && prove_node(&p->t, f.term)->op == TERM_SYM &&
            prove_set_count(&p->t.sets, f.set, 2) == 1)
            *fnvmap_at(&numbers.map, f.term) =
                prove_const(&p->t, prove_set_min(&p->t.sets, f.set), prove_bits(&p->t, f.term));
    }
    return numbers;
}

bool prove_arrive(Prover *p, const Place place[2])
{
    Node *n = node_of(p, place);
    Arrival a = {.from = p->product.at->id,
                 .version = p->product.at->version,
                 .open = {p->path.open[0], p->path.open[1]},
                 .iterations = p->path.iterations};
    u32 slots = n->slots[0] + n->slots[1];
    Term *value = arena_array(p->arena, Term, slots);
    Subst numbers = p->plan.counts ? known_numbers(p) : (Subst){0};
    for (u32 k = 0; k < slots; k++) {
        const Machine *m = &p->side[k >= n->slots[0]];
        value[k] = m->reg[n->reg[k]];
        if (!value[k]) {
            fnvmap_free(&numbers.map);
            return false;
        }
        if (p->plan.counts)
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

void prove_outdate(Prover *p, const Node *n, const VecU32 *edges)
{
    for (u32 k = 0; k < edges->n && p->plan.counts && !p->product.values_hold; k++) {
        Node *to = p->product.nodes.v[edges->v[k] >> 2];
        for (u32 i = 0; i < to->arrivals.n; i++)
            if (to->arrivals.v[i].from == n->id && to->arrivals.v[i].version != n->version)
                enqueue(p, to);
    }
}
