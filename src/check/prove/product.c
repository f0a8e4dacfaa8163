/* Exploring the product of two functions: its nodes, one after the other, until no state changes any more. */

#include "check/prove/arguments.h"

enum { CYCLES_MAX = 4096 /* blocks of a function in which cycles are looked for */ };

typedef struct Explorer {
    Prover *p;
    const u32 *to_after, *to_before; /* by Block.id: the block of the same label on the other side, plus 1 */
} Explorer;

/* ---- nodes --------------------------------------------------------------------------------------------------------------------- */

/* Whether control can come from b to `to` without an event on the way, and without going back. */
static bool comes_silently(const Machine *m, const Block *b, const Block *to)
{
    VecU32 work = {0}, seen = {0};
    bool found = false;
    vec_push(&work, b->id);
    while (work.n && !found && seen.n < 64) {
        const Block *at = fn_block(m->fn, vec_pop(&work));
        bool silent = true;
        vec_push(&seen, at->id);
        for (const Instr *i = at->first; i && silent; i = i->next)
            silent = i->kind != INSTR_OP || op_has(i->op, OPF_TERMINATOR) || prove_computes(m, i);
        for (u32 edge = 0; silent && edge < block_edge_count(at); edge++) {
            const Block *next = block_edge_target(at, edge);
            found |= next == to;
            bool is_new = m->g.order[next->id] > m->g.order[at->id];
            for (u32 k = 0; k < seen.n; k++)
                is_new &= seen.v[k] != next->id;
            if (is_new)
                vec_push(&work, next->id);
        }
    }
    vec_free(&work);
    vec_free(&seen);
    return found;
}

/* The block of the other side that stands for this one: of the same label; NULL if there is none. */
static Block *counterpart(const Prover *p, const u32 *map, const Block *b, ProveSide other)
{
    u32 id = map[b->id];
    return id ? fn_block(p->side[other].fn, id - 1) : NULL;
}

/* Makes a join of one side a place to stop in the other as well, so that both can stand there at once. */
static void share_joins(Explorer *e)
{
    ProveGraph *g = &e->p->side[PROVE_BEFORE].g, *h = &e->p->side[PROVE_AFTER].g;
    for (u32 k = 0; k < g->reachable; k++) {
        u32 id = g->by_order[k]->id, other = e->to_after[id];
        if (!other || h->order[other - 1] == UINT32_MAX || e->to_before[other - 1] != id + 1)
            continue;
        u8 *here = &g->is_join[id], *there = &h->is_join[other - 1];
        if (*here != JOIN_NONE || *there != JOIN_NONE) {
            *here = *here == JOIN_LOOP ? JOIN_LOOP : JOIN_SHARED;
            *there = *there == JOIN_LOOP ? JOIN_LOOP : JOIN_SHARED;
        }
    }
}

/* Whether control can come back to b without passing the block `other`; no, where the function is large. */
static bool returns_without(ProveGraph *g, const Block *b, u32 other)
{
    bool returns = false;
    for (u32 edge = 0; g->n <= CYCLES_MAX && edge < block_edge_count(b) && !returns; edge++) {
        const Block *next = block_edge_target(b, edge);
        returns = next == b || (next->id != other && bitset_has(prove_reach(g, next, other), b->id));
    }
    return returns;
}

/* The sides that move on from a node where both stand at joins. */
static u32 movers(const Explorer *e, const Node *n)
{
    Prover *p = e->p;
    const Block *b = n->place[0].block, *a = n->place[1].block;
    if (!n->place[0].joins || !n->place[1].joins)
        return n->place[0].joins ? 1 : 2;
    const Block *of_before = counterpart(p, e->to_after, b, PROVE_AFTER),
                *of_after = counterpart(p, e->to_before, a, PROVE_BEFORE);
    if (of_before && p->side[1].g.is_join[of_before->id] < JOIN_SHARED)
        of_before = NULL;
    if (of_after && p->side[0].g.is_join[of_after->id] < JOIN_SHARED)
        of_after = NULL;
    if (of_before == a)
        return 3;
    bool in_copy = of_before && !of_after && returns_without(&p->side[1].g, a, of_before->id) &&
                   returns_without(&p->side[0].g, b, PROVE_NO_BLOCK);
    if (in_copy) { /* of a loop that BEFORE is in: neither begins an iteration before the other one does */
        bool begins = p->side[0].g.is_join[b->id] == JOIN_LOOP, copy_begins = p->side[1].g.is_join[a->id] == JOIN_LOOP;
        return begins == copy_begins ? 3 : copy_begins ? 1 : 2;
    }
    if (!of_before || !of_after)
        return of_after ? 1 : of_before ? 2 : 3;
    bool before_comes = comes_silently(&p->side[0], b, of_after), after_comes = comes_silently(&p->side[1], a, of_before);
    if (before_comes != after_comes)
        return before_comes ? 1 : 2;
    return p->side[0].g.order[b->id] < p->side[0].g.order[of_after->id] ? 1 : 2;
}

static void start_at(Prover *p, Node *n)
{
    u32 slots = n->slots[0] + n->slots[1];
    p->path.iterations = n->iterations;
    for (u32 side = 0; side < 2; side++) {
        p->path.place[side] = n->place[side];
        p->path.open[side] = n->open[side];
        p->side[side].written = 0;
        p->path.entered[side].block = NULL;
        p->path.moved[side] = 0;
    }
    for (u32 k = 0; k < slots; k++)
        prove_set_reg(&p->side[k >= n->slots[0]], n->reg[k], n->value[k]);
    for (u32 k = 0; k < n->facts; k++)
        prove_learn(p, n->fact[k].term, n->fact[k].set);
}

static void explore_node(Explorer *e, Node *n)
{
    Prover *p = e->p;
    if (!n->value) { /* the second exploration takes the paths of the first one: this is reached only if it does not */
        prove_fail(p, PROVE_UNKNOWN, "limit: a node without a state");
        return;
    }
    Saved s = prove_save(p);
    u32 who = movers(e, n);
    n->version++;
    n->in_doubt = false;
    VecU32 old = n->next;
    n->next = (VecU32){0};
    p->product.at = n;
    p->path.depth = p->path.passed = 0;
    p->path.branches = NULL;
    p->path.trail = n->id;
    start_at(p, n);
    for (u32 side = 0; side < 2; side++)
        if (who >> side & 1)
            p->path.place[side].joins = false;
    prove_explore_path(p);
    prove_restore(p, &s);
    prove_outdate(p, n, &old);
    vec_free(&old);
}

/* ---- progress ------------------------------------------------------------------------------------------------------------------- */

/* Whether there is a cycle of edges on which the side does not move: the other one could go around for ever while it waits. */
static bool waits_for_ever(const Prover *p, u32 side)
{
    Arena scratch = {0};
    VecU32 from = {0}, to = {0};
    bool found = false;
    for (u32 k = 1; k < p->product.nodes.n; k++)
        for (u32 i = 0; i < p->product.nodes.v[k]->next.n; i++) {
            u32 edge = p->product.nodes.v[k]->next.v[i];
            if (edge >> side & 1)
                continue;
            found |= edge >> 2 == k;
            vec_push(&from, k);
            vec_push(&to, edge >> 2);
        }
    Graph g = graph_from_edges(&scratch, p->product.nodes.n, from.v, to.v, from.n);
    found |= graph_components(&g, arena_array(&scratch, u32, g.nodes)) < g.nodes;
    vec_free(&from);
    vec_free(&to);
    arena_free(&scratch);
    return found;
}

/* ---- the whole function ------------------------------------------------------------------------------------------------------------ */

static u64 label_key(Prover *p, const Label *l) { return (u64)(uintptr_t)intern(&p->names, l->name->text, l->name->len); }

/* The block of each label, by its name, plus 1; NO_BLOCK: several scopes have such a label. */
static FnvMap blocks_by_label(Prover *p, const Function *fn)
{
    FnvMap map = {0};
    for_each_block(b, fn)
        for (const Label *l = b->labels; l; l = l->next) {
            u64 *at = fnvmap_at(&map, label_key(p, l));
            *at = *at ? PROVE_NO_BLOCK : b->id + 1;
        }
    return map;
}

/* The blocks of the other function that have a label in common with those of this one, plus 1, by Block.id of this one. */
static u32 *labels_in(Prover *p, ProveSide side)
{
    Function *fn = p->side[side].fn, *other = p->side[!side].fn;
    u32 *map = arena_array(p->arena, u32, fn->blocks.n);
    FnvMap own = blocks_by_label(p, fn), others = blocks_by_label(p, other);
    for_each_block(b, fn)
        for (const Label *l = b->labels; l && !map[b->id]; l = l->next) {
            const u64 *id = fnvmap_find(&others, label_key(p, l));
            if (id && *id != PROVE_NO_BLOCK && *fnvmap_at(&own, label_key(p, l)) != PROVE_NO_BLOCK)
                map[b->id] = (u32)*id;
        }
    map[fn->entry->id] = other->entry->id + 1;
    fnvmap_free(&own);
    fnvmap_free(&others);
    return map;
}

/* Explores from the entries on, until no node's state changes any more. */
static void explore_all(Explorer *e)
{
    Prover *p = e->p;
    Node start = {0};
    p->product.at = &start;
    p->path.branches = NULL;
    p->path.trail = 0;
    p->path.depth = p->path.passed = 0;
    for (u32 side = 0; side < 2; side++) {
        Machine *m = &p->side[side];
        prove_fill_with_garbage(m);
        p->path.entered[side].block = NULL;
        p->path.open[side] = (Opens){0};
        p->path.place[side] = (Place){m->fn->entry, m->fn->entry->first, m->g.is_join[m->fn->entry->id] != JOIN_NONE};
    }
    prove_explore_path(p);
    for (u32 side = 0; side < 2; side++)
        prove_undo(&p->side[side], 0);
    prove_forget(p, 0);
    vec_free(&start.next);
    for (Node *n; !p->outcome.failed && (n = prove_next_node(p));)
        if (prove_merge(p, n))
            explore_node(e, n);
    for (u32 k = 1; k < p->product.nodes.n && !p->outcome.failed; k++)
        if (p->product.nodes.v[k]->in_doubt)
            prove_fail(p, PROVE_UNKNOWN, "in its last state a loop's iterations are not the same");
}

void prove_explore(Prover *p)
{
    Explorer e = {.p = p, .to_after = labels_in(p, PROVE_BEFORE), .to_before = labels_in(p, PROVE_AFTER)};
    share_joins(&e);
    explore_all(&e);
    for (u32 k = 1; k < p->product.nodes.n && !p->outcome.failed; k++)
        if (!prove_state_holds(p, p->product.nodes.v[k]))
            prove_fail(p, PROVE_UNKNOWN, "in its last state a loop counts otherwise than its iterations do");
    p->product.values_hold = true;
    for (u32 k = 1; k < p->product.nodes.n; k++)
        vec_clear(&p->product.nodes.v[k]->arrivals);
    if (!p->outcome.failed && (p->barriers.skipped.word || prove_threads_matter(p))) {
        prove_find_loops(p, e.to_after);
        explore_all(&e);
    }
    for (u32 side = 0; side < 2 && !p->outcome.failed; side++)
        if (waits_for_ever(p, side))
            prove_fail(p, PROVE_UNKNOWN, "termination: a loop of one text has no counterpart in the other");
}
