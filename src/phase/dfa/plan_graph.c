#include "phase/dfa/plan_graph.h"

typedef struct Edges {
    VecU32 from, to;
} Edges;

static u32 index_of(const PlanGraph *g, const Block *b) { return an_order(g->an)->index[b->id]; }

static u32 index_of_target(const PlanGraph *g, const PlanTarget *target)
{
    return target->node == NO_NODE ? index_of(g, target->to) : an_order(g->an)->count + (u32)target->node;
}

static void add_edge(Edges *edges, u32 from, u32 to)
{
    vec_push(&edges->from, from);
    vec_push(&edges->to, to);
}

static const PlanEdge *planned_edge(const MachinePlan *plan, const Block *from, const Block *to)
{
    for (u32 e = 0; e < plan->edge.n; e++)
        if (plan->edge.v[e].used && plan->edge.v[e].from == from && plan->edge.v[e].to == to)
            return &plan->edge.v[e];
    return NULL;
}

static Block *block_at(const PlanGraph *g, u32 v)
{
    const Order *order = an_order(g->an);
    return v < order->count ? order->rpo[v] : g->plan->node.v[v - order->count].b;
}

static void add_block_edges(const PlanGraph *g, Edges *edges, const BitSet *leaving, u32 p)
{
    const Order *order = an_order(g->an);
    const MachinePlan *plan = g->plan;
    for_each_edge(e, &order->succ, p) {
        const Block *to = order->rpo[order->succ.to[e]];
        const PlanEdge *planned = bitset_has(leaving, p) ? planned_edge(plan, order->rpo[p], to) : NULL;
        if (!planned)
            add_edge(edges, p, order->succ.to[e]);
        for (u32 k = 0; planned && k < planned->leaves; k++)
            add_edge(edges, p, index_of_target(g, &plan->leaf.v[planned->first + k].target));
    }
}

PlanGraph *plan_graph_make(Analyses *an, const Knobs *knobs, const MachinePlan *plan)
{
    PlanGraph *g = arena_new(an->scratch, PlanGraph);
    const Order *order = an_order(an);
    u32 nodes = order->count + plan->node.n;
    Edges edges = {.from = {0}};
    BitSet leaving = bitset_new(an->scratch, order->count);
    *g = (PlanGraph){.an = an, .knobs = knobs, .plan = plan};
    for (u32 e = 0; e < plan->edge.n; e++)
        bitset_add(&leaving, index_of(g, plan->edge.v[e].from));
    for (u32 p = 0; p < order->count; p++)
        add_block_edges(g, &edges, &leaving, p);
    for (u32 k = 0; k < plan->node.n; k++) {
        const PlanNode *node = &plan->node.v[k];
        for (u32 w = node->first; node->used && w < node->first + node->targets; w++)
            add_edge(&edges, order->count + k, index_of_target(g, &plan->target.v[w]));
    }
    g->succ = graph_from_edges(an->scratch, nodes, edges.from.v, edges.to.v, edges.from.n);
    g->pred = graph_reverse(an->scratch, &g->succ);
    g->idom = arena_array(an->scratch, u32, nodes);
    g->depth = arena_array(an->scratch, u32, nodes);
    g->order = arena_array(an->scratch, u32, nodes);
    g->reached = graph_dominators(&g->succ, &g->pred, index_of(g, an->fn->entry), g->idom, g->order);
    for (u32 k = 0; k < g->reached; k++) {
        u32 v = g->order[k];
        g->depth[v] = g->idom[v] == GRAPH_NONE ? 1 : g->depth[g->idom[v]] + 1;
    }
    vec_free(&edges.from);
    vec_free(&edges.to);
    return g;
}

bool plan_graph_has_edge(const PlanGraph *g, const Block *from, const Block *to)
{
    if (!order_reachable(an_order(g->an), from))
        return false;
    u32 p = index_of(g, from);
    for_each_edge(e, &g->succ, p)
        if (g->depth[p] && g->succ.to[e] == index_of(g, to))
            return true;
    return false;
}

static bool dominates_in(const PlanGraph *g, u32 a, u32 b)
{
    while (g->depth[b] > g->depth[a])
        b = g->idom[b];
    return a == b;
}

/* Without its back edges, which are the edges to dominators, a reducible graph has no cycle, so all of it can be ordered
 * (Kahn). */
bool plan_graph_is_reducible(const PlanGraph *g)
{
    u32 *waiting = arena_array(g->an->scratch, u32, g->succ.nodes), ordered = 0;
    VecU32 work = {0};
    for (u32 k = 0; k < g->reached; k++) {
        u32 v = g->order[k];
        for_each_edge(e, &g->succ, v)
            waiting[g->succ.to[e]] += !dominates_in(g, g->succ.to[e], v);
    }
    vec_push(&work, g->order[0]);
    while (work.n) {
        u32 v = vec_pop(&work);
        ordered++;
        for_each_edge(e, &g->succ, v)
            if (!dominates_in(g, g->succ.to[e], v) && --waiting[g->succ.to[e]] == 0)
                vec_push(&work, g->succ.to[e]);
    }
    vec_free(&work);
    return ordered == g->reached;
}

/* Whether all paths from v first come to at most one copy of `point`. */
static bool reconverges_in_one_copy(const PlanGraph *g, u32 v, const Block *point, BitSet *seen)
{
    VecU32 work = {0};
    u32 found = GRAPH_NONE;
    bool once = true;
    bitset_clear(seen);
    vec_push(&work, v);
    while (work.n && once) {
        u32 at = vec_pop(&work);
        for_each_edge(e, &g->succ, at) {
            u32 to = g->succ.to[e];
            if (!bitset_add(seen, to))
                continue;
            if (block_at(g, to) != point)
                vec_push(&work, to);
            else if (found == GRAPH_NONE)
                found = to;
            else
                once = false;
        }
    }
    vec_free(&work);
    return once;
}

static bool has_successors(const PlanGraph *g, u32 v)
{
    for_each_edge(e, &g->succ, v)
        if (g->succ.to[e] != g->succ.to[g->succ.start[v]])
            return true;
    return false;
}

bool plan_graph_reconverges_as_before(const PlanGraph *g)
{
    Analyses *an = g->an;
    BitSet copied = bitset_new(g->an->scratch, g->an->fn->blocks.n), seen = bitset_new(g->an->scratch, g->succ.nodes);
    for (u32 k = 0; k < g->plan->node.n; k++)
        if (g->plan->node.v[k].used)
            bitset_add(&copied, g->plan->node.v[k].b->id);
    for (u32 k = 0; k < g->reached; k++) {
        u32 v = g->order[k];
        const Block *b = block_at(g, v), *point = dom_parent(an_postdom(an), b);
        bool uniform =
            block_terminator(b) ? uniform_has(&an_uniform(an)->branch_warp, b->id) : g->knobs->dfa_where != DFA_ANYWHERE;
        if (!uniform && point && bitset_has(&copied, point->id) && has_successors(g, v) &&
            !reconverges_in_one_copy(g, v, point, &seen))
            return false;
    }
    return true;
}

bool plan_graph_convergent(const PlanGraph *g)
{
    Analyses *an = g->an;
    for (u32 p = 0; p < an_order(an)->count; p++)
        if (block_is_convergent(an_order(an)->rpo[p], an->summaries))
            return true;
    return false;
}
