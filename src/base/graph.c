#include "base/graph.h"

#include "base/limit.h"

Graph graph_from_edges(Arena *arena, u32 nodes, const u32 *from, const u32 *to, u32 count)
{
    Graph g = {nodes, arena_array(arena, u32, (size_t)nodes + 2), arena_alloc_raw(arena, sizeof(u32) * (size_t)count)};
    u32 *next = g.start + 1; /* filling moves next[u] from the beginning of u's edges to their end */
    for (u32 i = 0; i < count; i++)
        next[from[i] + 1]++;
    for (u32 u = 0; u < nodes; u++)
        next[u + 1] += next[u];
    for (u32 i = 0; i < count; i++)
        g.to[next[from[i]]++] = to[i];
    return g;
}

Graph graph_reverse(Arena *arena, const Graph *g)
{
    u32 count = g->start[g->nodes];
    Graph r = {g->nodes, arena_array(arena, u32, (size_t)g->nodes + 2),
               arena_alloc_raw(arena, sizeof(u32) * (size_t)count)};
    u32 *next = r.start + 1;
    for (u32 e = 0; e < count; e++)
        next[g->to[e] + 1]++;
    for (u32 u = 0; u < g->nodes; u++)
        next[u + 1] += next[u];
    for (u32 u = 0; u < g->nodes; u++)
        for_each_edge(e, g, u)
            r.to[next[g->to[e]]++] = u;
    return r;
}

u32 graph_reverse_postorder(const Graph *g, u32 root, u32 *order)
{
    VecU32 path = {0};
    u32 *next = mem_zalloc(sizeof *next * g->nodes),
        first = g->nodes; /* next: 1 + the edges taken so far; 0: not visited */
    vec_push(&path, root);
    next[root] = 1;
    while (path.n) {
        u32 u = vec_last(&path), e = g->start[u] + next[u] - 1;
        if (e == g->start[u + 1]) {
            order[--first] = vec_pop(&path);
            continue;
        }
        next[u]++;
        if (!next[g->to[e]]) {
            next[g->to[e]] = 1;
            vec_push(&path, g->to[e]);
        }
    }
    vec_free(&path);
    mem_free(next);
    memmove(order, order + first, sizeof *order * (g->nodes - first));
    return g->nodes - first;
}

u32 graph_spread(const Graph *g, VecU32 *work, BitSet *found)
{
    u32 looked = 0;
    for (; work->n; looked++) {
        u32 u = vec_pop(work);
        limit_poll();
        for_each_edge(e, g, u)
            if (bitset_add(found, g->to[e]))
                vec_push(work, g->to[e]);
    }
    vec_free(work);
    return looked;
}

/* ---- strongly connected components ----------------------------------------------------------------------------- */

typedef struct Components {
    const Graph *g;
    u32 *component;
    u32 *number;  /* number of the visit, from 1; 0: not visited */
    u32 *low;     /* the smallest number known to be reachable inside the component */
    u32 *next;    /* edge to follow next */
    u32 *path;    /* the depth-first path */
    u32 *pending; /* visited nodes whose component is not known yet */
    u32 depth, pendings, visited, found;
} Components;

static void components_enter(Components *c, u32 u)
{
    c->number[u] = c->low[u] = ++c->visited;
    c->next[u] = c->g->start[u];
    c->path[c->depth++] = u;
    c->pending[c->pendings++] = u;
}

static void components_leave(Components *c, u32 u)
{
    c->depth--;
    if (c->low[u] == c->number[u]) {
        u32 member;
        do {
            member = c->pending[--c->pendings];
            c->component[member] = c->found;
        } while (member != u);
        c->found++;
    }
    if (c->depth > 0) {
        u32 parent = c->path[c->depth - 1];
        if (c->low[u] < c->low[parent])
            c->low[parent] = c->low[u];
    }
}

static void components_from(Components *c, u32 root)
{
    components_enter(c, root);
    while (c->depth > 0) {
        u32 u = c->path[c->depth - 1];
        if (c->next[u] == c->g->start[u + 1]) {
            components_leave(c, u);
            continue;
        }
        u32 v = c->g->to[c->next[u]++];
        if (!c->number[v])
            components_enter(c, v);
        else if (c->component[v] == GRAPH_NONE && c->number[v] < c->low[u])
            c->low[u] = c->number[v];
    }
}

u32 graph_components(const Graph *g, u32 *component)
{
    size_t n = g->nodes;
    u32 *scratch = mem_zalloc(sizeof(u32) * (5 * n + 1));
    Components c = {.g = g,
                    .component = component,
                    .number = scratch,
                    .low = scratch + n,
                    .next = scratch + 2 * n,
                    .path = scratch + 3 * n,
                    .pending = scratch + 4 * n};
    for (u32 u = 0; u < g->nodes; u++)
        component[u] = GRAPH_NONE;
    for (u32 u = 0; u < g->nodes; u++)
        if (!c.number[u])
            components_from(&c, u);
    mem_free(scratch);
    return c.found;
}

/* ---- dominators ------------------------------------------------------------------------------------------------ */

/* All arrays except `number` are indexed by depth-first number, where 0 is the root. */
typedef struct Dominators {
    const Graph *succ, *pred;
    u32 *number; /* by node */
    u32 *node;
    u32 *parent; /* for linked nodes, an ancestor, which comes closer to the root as paths are compressed */
    u32 *semi, *label;
    u32 *bucket; /* the first node with this semidominator, or GRAPH_NONE */
    u32 *idom;   /* for a node in a bucket, the next node there */
    u32 *path;   /* for eval; before that, the cursors of the search */
    u32 reached;
    u32 linked; /* the nodes from this one on are linked to their parents */
} Dominators;

static void dominators_search(Dominators *d, u32 root)
{
    u32 *cursor = d->path, current = 0;
    d->number[root] = 0;
    d->node[0] = root;
    d->parent[0] = GRAPH_NONE;
    cursor[0] = d->succ->start[root];
    d->reached = 1;
    while (current != GRAPH_NONE) {
        u32 u = d->node[current];
        if (cursor[current] == d->succ->start[u + 1]) {
            current = d->parent[current];
            continue;
        }
        u32 v = d->succ->to[cursor[current]++];
        if (d->number[v] != GRAPH_NONE)
            continue;
        u32 fresh = d->reached++;
        d->number[v] = fresh;
        d->node[fresh] = v;
        d->parent[fresh] = current;
        cursor[fresh] = d->succ->start[v];
        current = fresh;
    }
}

/* The node with the smallest semidominator on the linked path above v, including v; compresses the path. */
static u32 dominators_eval(Dominators *d, u32 v)
{
    if (v < d->linked)
        return v;
    u32 n = 0;
    for (u32 u = v; d->parent[u] >= d->linked; u = d->parent[u])
        d->path[n++] = u;
    while (n > 0) {
        u32 u = d->path[--n], above = d->parent[u];
        if (d->semi[d->label[above]] < d->semi[d->label[u]])
            d->label[u] = d->label[above];
        d->parent[u] = d->parent[above];
    }
    return d->label[v];
}

/* Finds idom, or a node with the same one, of the nodes whose semidominator is p. Call it when p's subtree is linked up to
 * the current child. */
static void dominators_empty_bucket(Dominators *d, u32 p)
{
    for (u32 v = d->bucket[p], next; v != GRAPH_NONE; v = next) {
        u32 u = dominators_eval(d, v);
        next = d->idom[v];
        d->idom[v] = d->semi[u] < d->semi[v] ? u : p;
    }
    d->bucket[p] = GRAPH_NONE;
}

static void dominators_solve(Dominators *d)
{
    for (u32 v = 0; v < d->reached; v++) {
        d->semi[v] = d->label[v] = v;
        d->bucket[v] = GRAPH_NONE;
    }
    for (u32 w = d->reached - 1; w > 0; w--) {
        u32 node = d->node[w], parent = d->parent[w];
        d->linked = w + 1;
        for_each_edge(e, d->pred, node) {
            u32 v = d->number[d->pred->to[e]];
            if (v == GRAPH_NONE)
                continue;
            u32 u = dominators_eval(d, v);
            if (d->semi[u] < d->semi[w])
                d->semi[w] = d->semi[u];
        }
        d->idom[w] = d->bucket[d->semi[w]];
        d->bucket[d->semi[w]] = w;
        d->linked = w;
        dominators_empty_bucket(d, parent);
    }
    for (u32 w = 1; w < d->reached; w++)
        if (d->idom[w] != d->semi[w])
            d->idom[w] = d->idom[d->idom[w]];
}

u32 graph_dominators(const Graph *succ, const Graph *pred, u32 root, u32 *idom, u32 *order)
{
    size_t n = succ->nodes;
    u32 *scratch = mem_alloc(sizeof(u32) * 6 * n);
    /* The numbers are kept where the answers will be. */
    Dominators d = {.succ = succ,
                    .pred = pred,
                    .number = idom,
                    .node = order,
                    .parent = scratch,
                    .semi = scratch + n,
                    .label = scratch + 2 * n,
                    .bucket = scratch + 3 * n,
                    .idom = scratch + 4 * n,
                    .path = scratch + 5 * n};
    for (u32 u = 0; u < n; u++)
        d.number[u] = GRAPH_NONE;
    dominators_search(&d, root);
    dominators_solve(&d);
    idom[root] = GRAPH_NONE;
    for (u32 w = 1; w < d.reached; w++)
        idom[order[w]] = order[d.idom[w]];
    mem_free(scratch);
    return d.reached;
}
