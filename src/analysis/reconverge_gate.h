/* The state that the files of the gate share (reconverge.h), and bounded walks over the function. */
#ifndef PTXOPT_ANALYSIS_RECONVERGE_GATE_H
#define PTXOPT_ANALYSIS_RECONVERGE_GATE_H

#include "base/bound.h"
#include "analysis/reconverge.h"
#include "base/marks.h"

enum {
    WALK = 256,         /* the most blocks of one walk */
    WALKS = 64,         /* the most blocks of all walks: so many for each block of the function, */
    WALKS_MIN = 1 << 16 /* and these */
};

/* Whether a block only leaves the function, by its code in this epoch; epoch 0: nobody asked yet. */
typedef struct LeavesKnown {
    u32 epoch;
    bool leaves;
} LeavesKnown;

struct ReconvergeGate {
    Arena *arena;
    Analyses *an;
    const Waits *w;   /* a copy of the gate's own: the analysis follows the function as it changes */
    bool caller_sees; /* what follows a return may depend on which lanes return together */
    Marks seen;       /* by position in the order */
    Marks above;      /* of the walk from above_of up to above_top */
    const Block *above_of, *above_top;
    bool above_whole;    /* it was not too long */
    u32 *owner;          /* by position; NULL: nobody asked yet */
    LeavesKnown *leaves; /* by Block.id, below `blocks`; NULL: nobody asked yet */
    u32 blocks;
    /* the last answer of reconverge_after(): a branch is asked about for each of its in-edges */
    const Block *after_of, *after_old;
    u32 after_epoch;
    ReconvergeRegion after;
    VecU32 work, points;
    Marks spare;  /* of the second one of two walks at a time */
    VecU32 exits; /* positions of blocks that leave the function */
    u32 *only;    /* by position: of the only block that the branch still leads to, plus 1; 0: not decided; NULL: none is */
    u32 last;     /* the last position of a branch in `only` */
    Marks bypassed; /* by position: on the paths from a branch that some threads bypass to its reconvergence point */
    bool exits_known;
    bool bypassed_all; /* one of these walks was too long */
    u64 budget;       /* blocks that all walks may still look at */
};

/* The block where a region ends whose threads reconverged at `old`. That is `old`; or NULL if `old` only leaves the
 * function, or is NULL. */
const Block *reconverge_stop(ReconvergeGate *g, const Block *old);
/* Whether threads may return to a caller at the end of the block at this position. */
bool reconverge_returns(const Order *order, u32 position);
/* Whether the branch that ends b may divide a warp. */
bool reconverge_branch_divides(const ReconvergeGate *g, const Block *b);
/* The region that is assumed where one is too large to be walked. */
ReconvergeRegion reconverge_whole_function(const ReconvergeGate *g);
/* Adds to the region that threads leave the function at the end of the block at this position, if they do. */
void reconverge_add_end(const ReconvergeGate *g, u32 position, ReconvergeRegion *region);
/* Visits all that the blocks of the walk lead to without passing `old`; false: the walk is too long. */
bool reconverge_walk_on(ReconvergeGate *g, const Block *old);

/* ---- walks: the blocks of g->work, each once ----------------------------------------------------------------------- */

static inline void gate_start(ReconvergeGate *g)
{
    marks_clear(&g->seen);
    vec_clear(&g->work);
}

static inline void gate_visit(ReconvergeGate *g, u32 position)
{
    if (marks_add(&g->seen, position))
        vec_push(&g->work, position);
}

/* Whether the walk may look at its block number k. */
static inline bool gate_may_look(ReconvergeGate *g, u32 k)
{
    if (BEYOND(WALK, k >= WALK) || BEYOND(WALKS, g->budget == 0))
        return false;
    g->budget--;
    return true;
}

/* Whether b is reachable, and was there when the gate was made. */
static inline bool gate_knows(const ReconvergeGate *g, const Block *b)
{
    return order_reachable(an_order(g->an), b) && b->id < g->w->blocks;
}

/* EffectWaits of the instructions of b, and of the loop that it heads. */
static inline u8 gate_waits(const ReconvergeGate *g, const Block *b)
{
    return g->w->waits[b->id] | (g->w->loop[b->id] ? WAIT_OTHERS : 0);
}

/* Begins a walk backwards that stops at `top`: the block is not looked at, nor are its predecessors. */
static inline void gate_start_below(ReconvergeGate *g, const Block *top)
{
    gate_start(g);
    gate_visit(g, an_order(g->an)->index[top->id]);
}

static inline void gate_visit_preds(ReconvergeGate *g, u32 position)
{
    const Graph *pred = &an_order(g->an)->pred;
    for_each_edge(e, pred, position)
        gate_visit(g, pred->to[e]);
}

#endif
