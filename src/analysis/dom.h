/* Dominators and post-dominators as trees. Queries take constant time, by the intervals of a pre-order numbering.
 * Post-dominance has one virtual exit after every block at whose end control can leave the function. A guarded `ret` or
 * `exit` leads there and to its fall-through. Code that cannot leave is a strongly connected set of blocks without an edge
 * out. It gets a virtual block on the edges back to its first block, with a second edge to the exit. So it is
 * post-dominated by what every iteration of the infinite loop comes to, and no branch of the program gains an edge. Nothing
 * depends on the order in which the graph was searched, with one exception: which entry of a loop with several is its first
 * block. */
#ifndef PTXOPT_ANALYSIS_DOM_H
#define PTXOPT_ANALYSIS_DOM_H

#include "analysis/order.h"

typedef struct DomTree {
    bool post;
    Block **idom;    /* by Block.id; NULL for the root, unreachable blocks, and children of virtual blocks */
    u32 *pre, *last; /* interval numbering by Block.id: the subtree of b is pre[b] .. last[b]; pre 0: not in the tree */
    u32 count;
    /* of dominators only */
    Block **by_pre; /* by_pre[n]: the block numbered n, 1 <= n <= count */
    u32 *jump;      /* by number: that of an ancestor farther up, for searches in logarithmic time */
    /* of post-dominators only, by Block.id */
    u32 *depth;       /* the virtual exit's is 1 */
    Block **infinite; /* first block of the infinite loops around it, NULL; NULL where there is none */
    bool *tangled;    /* the infinite loops around it have several entries; NULL where there are no infinite loops */
    u32 blocks;       /* ids below this one are known; queries about later blocks answer false */
} DomTree;

DomTree *dom_compute(Arena *arena, const Function *fn, const Order *order);
DomTree *postdom_compute(Arena *arena, const Function *fn, const Order *order);

static inline bool dom_has(const DomTree *t, const Block *b) { return b->id < t->blocks && t->pre[b->id] != 0; }

/* NULL too for the root, and where b is not in the tree. */
static inline Block *dom_parent(const DomTree *t, const Block *b) { return dom_has(t, b) ? t->idom[b->id] : NULL; }

/* Reflexive; false if either is not in the tree. */
static inline bool dominates(const DomTree *t, const Block *a, const Block *b)
{
    return dom_has(t, a) && dom_has(t, b) && t->pre[a->id] <= t->pre[b->id] && t->pre[b->id] <= t->last[a->id];
}

static inline bool strictly_dominates(const DomTree *t, const Block *a, const Block *b)
{
    return a != b && dominates(t, a, b);
}

/* Whether every path to b executes a before it. No instruction dominates itself. */
static inline bool instr_dominates(const DomTree *t, const Instr *a, const Instr *b)
{
    return a->block == b->block ? instr_precedes(a, b) : dominates(t, a->block, b->block);
}

/* Reflexive, of dominators; NULL: one of them is not in the tree. */
Block *dom_nearest_common(const DomTree *t, Block *a, Block *b);

#endif
