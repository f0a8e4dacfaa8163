/* Reverse post-order of the blocks that the entry reaches, and their edges as arrays over the positions in it. The other
 * analyses walk these instead of the edge maps. */
#ifndef PTXOPT_ANALYSIS_ORDER_H
#define PTXOPT_ANALYSIS_ORDER_H

#include "base/graph.h"
#include "ir/cfg.h"

typedef struct Order {
    Block **rpo; /* reachable blocks, entry first */
    u32 count;
    u32 *index; /* by Block.id; ORDER_UNREACHABLE if not reachable */
    u32 blocks; /* ids below this one have an index */
    /* Positions in rpo; one edge for a pair of blocks, whatever their multiplicity; a branch's target first. */
    Graph succ, pred;
} Order;

#define ORDER_UNREACHABLE UINT32_MAX

Order *order_compute(Arena *arena, const Function *fn); /* iterative depth-first search, the target of a branch first */

/* False too for a block made since. */
static inline bool order_reachable(const Order *o, const Block *b)
{
    return b->id < o->blocks && o->index[b->id] != ORDER_UNREACHABLE;
}

/* Whether control can leave the function at the block's end, for all threads or (guarded ret, exit) for some. */
bool block_leaves_function(const Function *fn, const Block *b);
/* Whether control goes on from the end of b by more than one edge: to two blocks, or to one and out of the function. */
bool block_branches(const Function *fn, const Block *b);
/* Answers the same for a position, when the order has just been computed. */
static inline bool order_leaves_function(const Order *o, u32 p)
{
    const Instr *end = block_terminator(o->rpo[p]);
    return o->rpo[p]->falls_off || (end && op_has(end->op, OPF_NO_RETURN)) || o->succ.start[p] == o->succ.start[p + 1];
}

#endif
