/* Control dependence: b depends on block a when one edge out of a always leads to b and another need not (Ferrante,
 * Ottenstein, Warren, 1987). A guarded `ret` or `exit` is such a branch too. The lists of all blocks together can be
 * quadratic (nested loops), so they are not stored. An edge a -> s makes some blocks dependent on a: those on the
 * post-dominator tree's path from s up to below idom(a). Edges are sorted by s, so those that matter to b lie in b's
 * subtree. Among them the ones whose path ends above b are found in logarithmic time each. (That is a simpler form of
 * Pingali and Bilardi, "Optimal Control Dependence Computation", 1997.) If paths of one branch share blocks, one path holds
 * these. If all lists together are short, as in most functions, they are stored after all. */
#ifndef PTXOPT_ANALYSIS_CONTROL_H
#define PTXOPT_ANALYSIS_CONTROL_H

#include "base/marks.h"
#include "analysis/dom.h"

typedef VEC(Block *) BlockVec;

typedef struct Control {
    const DomTree *postdom;
    u32 edges;
    Block **branch; /* by edge: the block that branches; edges in the order of the pre-numbers of where they lead */
    u32 *first;     /* by pre-number: first edge to it; count + 2 entries */
    u32 *top;       /* segment tree over the edges: smallest depth of the blocks where the paths end, exclusively */
    u32 leaves;     /* of the segment tree: a power of two */
    u32 *listed;    /* by Block.id: its edges are list[listed[id]] .. list[listed[id + 1] - 1]; NULL: they are too many */
    u32 *list;
    Marks seen;     /* by Block.id: scratch of the queries */
    VecU32 taken;   /* scratch: tops and edges out of the segment tree during a query */
} Control;

Control *control_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *postdom);
void control_free(Control *control); /* what is not in the arena */

/* Appends the blocks whose branch b directly depends on, each once. Costs their number times a logarithm. */
void control_direct(Control *control, const Block *b, BlockVec *out);
/* Appends the blocks whose branches b transitively depends on, each once, b itself perhaps among them. Costs their number times a
 * logarithm. */
void control_closure(Control *control, const Block *b, BlockVec *out);
/* Does the same as control_closure() up to `limit` blocks. False: there are more, of which only some are appended. */
bool control_closure_within(Control *control, const Block *b, u32 limit, BlockVec *out);

#endif
