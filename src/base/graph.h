/* Directed graphs over 0 .. nodes-1 as adjacency arrays, and the algorithms on them that know nothing of programs.
 * Everything is iterative; scratch memory is returned before the call ends, results come from the arena. */
#ifndef PTXOPT_BASE_GRAPH_H
#define PTXOPT_BASE_GRAPH_H

#include "base/bitset.h"
#include "base/vec.h"

typedef struct Graph {
    u32 nodes;
    u32 *start; /* nodes + 1 entries: the edges of u are to[start[u]] .. to[start[u + 1] - 1] */
    u32 *to;
} Graph;

#define GRAPH_NONE UINT32_MAX

#define for_each_edge(e, g, u) for (u32 e = (g)->start[u], e##_end = (g)->start[(u) + 1]; e < e##_end; e++)

/* The graph with the edges from[i] -> to[i], in this order for each node. */
Graph graph_from_edges(Arena *arena, u32 nodes, const u32 *from, const u32 *to, u32 count);
Graph graph_reverse(Arena *arena, const Graph *g);

/* Finds the nodes that root reaches, in reverse post-order of a walk that takes edges in their order. Answers how many
 * there are. order: nodes entries. */
u32 graph_reverse_postorder(const Graph *g, u32 root, u32 *order);

/* Adds to `found` the nodes that edges lead to from the nodes of `work`, directly or through other nodes. It goes no
 * further from nodes that were in `found` before. Frees `work`; answers how many nodes it looked at. */
u32 graph_spread(const Graph *g, VecU32 *work, BitSet *found);

/* Finds the strongly connected components (Tarjan, 1972): component[u] for every node. Answers their number. A component's
 * number is smaller than that of every component that leads to it: callees before callers. component: nodes entries. */
u32 graph_components(const Graph *g, u32 *component);

/* Finds the immediate dominators of the nodes that root reaches. The algorithm is that of Lengauer and Tarjan, 1979, with
 * simple linking. It takes O(m log n) on every graph; iterative schemes are quadratic on long ladders of early exits.
 * idom[root] and idom of unreached nodes are GRAPH_NONE. order receives the reached nodes, parents before children; the
 * answer is their number. idom, order: nodes entries. */
u32 graph_dominators(const Graph *succ, const Graph *pred, u32 root, u32 *idom, u32 *order);

#endif
