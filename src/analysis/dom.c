#include "analysis/dom.h"

#include <stdlib.h>

/* ---- trees ----------------------------------------------------------------------------------------------------- */

/* A dominator tree over graph nodes: `reached` nodes in `order`, parents before children. */
typedef struct NodeTree {
    u32 nodes, reached;
    u32 *idom, *order;
    u32 *pre, *size, *depth, *jump;
} NodeTree;

/* Assigns pre-order numbers from 1, subtree sizes, depths, and a second ancestor of each node. Walking up by the farther
 * ancestor that does not overshoot takes O(log depth) steps (Myers, "An applicative random-access stack", 1983). */
static void node_tree_number(NodeTree *t)
{
    size_t nodes = t->nodes;
    u32 *place = mem_alloc(sizeof(u32) * nodes); /* number of the next child */
    t->pre = mem_zalloc(sizeof(u32) * 4 * nodes);
    t->size = t->pre + nodes;
    t->depth = t->pre + 2 * nodes;
    t->jump = t->pre + 3 * nodes;
    for (u32 k = t->reached; k-- > 0;) {
        u32 u = t->order[k];
        t->size[u]++;
        if (t->idom[u] != GRAPH_NONE)
            t->size[t->idom[u]] += t->size[u];
    }
    for (u32 k = 0; k < t->reached; k++) {
        u32 u = t->order[k], up = t->idom[u];
        if (up == GRAPH_NONE) {
            t->pre[u] = t->depth[u] = 1;
            t->jump[u] = u;
        } else {
            t->pre[u] = place[up];
            place[up] += t->size[u];
            t->depth[u] = t->depth[up] + 1;
            u32 far = t->jump[up];
            bool even = t->depth[up] - t->depth[far] == t->depth[far] - t->depth[t->jump[far]];
            t->jump[u] = even ? t->jump[far] : up;
        }
        place[u] = t->pre[u] + 1;
    }
    mem_free(place);
}

/* Nodes below order->count are positions in the reverse post-order, the others are virtual. */
static DomTree *dom_tree_of(Arena *arena, const Function *fn, const Order *order, const NodeTree *nt, bool post)
{
    u32 blocks = fn->blocks.n;
    DomTree *t = arena_new(arena, DomTree);
    *t = (DomTree){.post = post, .blocks = blocks, .count = nt->reached};
    t->idom = arena_array(arena, Block *, blocks);
    t->pre = arena_array(arena, u32, blocks);
    t->last = arena_array(arena, u32, blocks);
    if (post)
        t->depth = arena_array(arena, u32, blocks);
    for (u32 p = 0; p < order->count; p++) {
        u32 id = order->rpo[p]->id, up = nt->idom[p];
        if (!nt->pre[p])
            continue;
        t->idom[id] = up < order->count ? order->rpo[up] : NULL;
        t->pre[id] = nt->pre[p];
        t->last[id] = nt->pre[p] + nt->size[p] - 1;
        if (post)
            t->depth[id] = nt->depth[p];
    }
    return t;
}

/* The tree, which node_tree_number() has still to number. */
static NodeTree node_tree_compute(const Graph *succ, const Graph *pred, u32 root)
{
    u32 *memory = mem_alloc(sizeof(u32) * 2 * (size_t)succ->nodes);
    NodeTree nt = {.nodes = succ->nodes, .idom = memory, .order = memory + succ->nodes};
    nt.reached = graph_dominators(succ, pred, root, nt.idom, nt.order);
    return nt;
}

static void node_tree_free(NodeTree *t)
{
    mem_free(t->idom);
    mem_free(t->pre);
}

DomTree *dom_compute(Arena *arena, const Function *fn, const Order *order)
{
    NodeTree nt = node_tree_compute(&order->succ, &order->pred, 0);
    node_tree_number(&nt);
    DomTree *t = dom_tree_of(arena, fn, order, &nt, false);
    t->by_pre = arena_array(arena, Block *, (size_t)nt.reached + 1);
    t->jump = arena_array(arena, u32, (size_t)nt.reached + 1);
    for (u32 p = 0; p < order->count; p++) {
        t->by_pre[nt.pre[p]] = order->rpo[p];
        t->jump[nt.pre[p]] = nt.pre[nt.jump[p]];
    }
    node_tree_free(&nt);
    return t;
}

Block *dom_nearest_common(const DomTree *t, Block *a, Block *b)
{
    if (!dom_has(t, a) || !dom_has(t, b))
        return NULL;
    while (!dominates(t, a, b)) {
        Block *far = t->by_pre[t->jump[t->pre[a->id]]];
        a = !dominates(t, far, b) ? far : t->idom[a->id];
    }
    return a;
}

/* ---- the graph of post-dominance ------------------------------------------------------------------------------- */

typedef struct ExitGraph {
    const Order *order;
    Arena *arena;
    u32 components;    /* strongly connected ones; 0: not looked for */
    u32 *component;    /* by position */
    u32 *virtual_node; /* by component: the block on its edges back, if control cannot leave it; else GRAPH_NONE */
    u32 *header;       /* by component: first position */
    u32 exit, nodes;
    VecU32 from, to;
} ExitGraph;

/* Finds the components that control cannot leave: no edge leads out of them, and no block of them leaves the function. */
static void find_infinite_loops(ExitGraph *x)
{
    const Graph *succ = &x->order->succ;
    x->component = arena_array(x->arena, u32, x->order->count);
    x->components = graph_components(succ, x->component);
    x->virtual_node = arena_array(x->arena, u32, x->components);
    x->header = arena_array(x->arena, u32, x->components);
    for (u32 c = 0; c < x->components; c++) {
        x->header[c] = GRAPH_NONE;
        x->virtual_node[c] = 0;
    }
    for (u32 p = 0; p < x->order->count; p++) {
        u32 c = x->component[p];
        if (x->header[c] == GRAPH_NONE)
            x->header[c] = p;
        bool leaves = order_leaves_function(x->order, p);
        for_each_edge(e, succ, p)
            leaves = leaves || x->component[succ->to[e]] != c;
        if (leaves)
            x->virtual_node[c] = GRAPH_NONE;
    }
    for (u32 c = 0; c < x->components; c++)
        if (x->virtual_node[c] != GRAPH_NONE)
            x->virtual_node[c] = x->nodes++;
}

static void add_edge(ExitGraph *x, u32 from, u32 to)
{
    vec_push(&x->from, from);
    vec_push(&x->to, to);
}

static void add_edges(ExitGraph *x)
{
    const Graph *succ = &x->order->succ;
    for (u32 p = 0; p < x->order->count; p++) {
        u32 c = x->components ? x->component[p] : 0, around = x->components ? x->virtual_node[c] : GRAPH_NONE;
        for_each_edge(e, succ, p) {
            u32 to = succ->to[e];
            add_edge(x, p, around != GRAPH_NONE && to == x->header[c] ? around : to);
        }
        if (order_leaves_function(x->order, p))
            add_edge(x, p, x->exit);
    }
    for (u32 c = 0; c < x->components; c++) {
        if (x->virtual_node[c] == GRAPH_NONE)
            continue;
        add_edge(x, x->virtual_node[c], x->header[c]);
        add_edge(x, x->virtual_node[c], x->exit);
    }
}

static NodeTree exit_tree(ExitGraph *x)
{
    add_edges(x);
    Graph forward = graph_from_edges(x->arena, x->nodes, x->from.v, x->to.v, x->from.n);
    Graph backward = graph_from_edges(x->arena, x->nodes, x->to.v, x->from.v, x->from.n);
    vec_free(&x->from);
    vec_free(&x->to);
    return node_tree_compute(&backward, &forward, x->exit);
}

static Block **infinite_loops(Arena *arena, const Function *fn, const ExitGraph *x)
{
    Block **infinite = arena_array(arena, Block *, fn->blocks.n);
    for (u32 p = 0; p < x->order->count; p++) {
        u32 c = x->component[p];
        if (x->virtual_node[c] != GRAPH_NONE)
            infinite[x->order->rpo[p]->id] = x->order->rpo[x->header[c]];
    }
    return infinite;
}

static bool *tangled_loops(Arena *arena, const Function *fn, const ExitGraph *x)
{
    const Graph *succ = &x->order->succ;
    bool *tangled = arena_array(arena, bool, fn->blocks.n), *several = arena_array(x->arena, bool, x->components);
    for (u32 p = 0; p < x->order->count; p++)
        for_each_edge(e, succ, p) {
            u32 to = succ->to[e], c = x->component[to];
            several[c] = several[c] || (x->component[p] != c && to != x->header[c]);
        }
    for (u32 p = 0; p < x->order->count; p++)
        tangled[x->order->rpo[p]->id] = several[x->component[p]] && x->virtual_node[x->component[p]] != GRAPH_NONE;
    return tangled;
}

/* Most functions have no infinite loops: from the exit, everything is reached backwards. */
DomTree *postdom_compute(Arena *arena, const Function *fn, const Order *order)
{
    Arena scratch = {0};
    ExitGraph x = {.order = order, .arena = &scratch, .exit = order->count, .nodes = order->count + 1};
    NodeTree nt = exit_tree(&x);
    bool infinite = nt.reached < x.nodes;
    if (infinite) {
        node_tree_free(&nt);
        find_infinite_loops(&x);
        nt = exit_tree(&x);
    }
    node_tree_number(&nt);
    DomTree *t = dom_tree_of(arena, fn, order, &nt, true);
    if (infinite) {
        t->infinite = infinite_loops(arena, fn, &x);
        t->tangled = tangled_loops(arena, fn, &x);
    }
    node_tree_free(&nt);
    arena_free(&scratch);
    return t;
}
