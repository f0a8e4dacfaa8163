/* State machines: loops around a dispatch on a register whose next value is known where an arm ends.
 *
 * A plan says which blocks between the arms and the dispatch are to be copied, once for each state that arrives there. A node
 * is a block together with what the state registers hold where it begins; the edges out of a node lead to other nodes or to
 * blocks as they are. The dispatch itself is decided in its nodes. Arms are not copied. */
#ifndef PTXOPT_PHASE_DFA_STATE_MACHINE_H
#define PTXOPT_PHASE_DFA_STATE_MACHINE_H

#include "analysis/values.h"
#include "phase/phase.h"

enum { STATE_REGS = GIVEN_REGS, STATE_SELECTS = 3, NO_NODE = -1, NODE_ITEMS = 64 /* of a block that is copied */ };

/* What state registers hold, by position in Machine.reg. */
typedef struct StateValues {
    u64 value[STATE_REGS];
    u32 known; /* a bit each */
} StateValues;

/* Where an edge of the plan leads: to a node (its number), or to the block itself (NO_NODE). */
typedef struct PlanTarget {
    Block *to;
    i32 node;
} PlanTarget;

typedef struct PlanNode {
    Block *b;
    StateValues at_entry;
    u32 first, targets; /* in Plan.target: one if the branch is decided, else as block_edge_target() has them */
    u32 group;          /* 0, or nodes are shared only by edges of the same group */
    u32 depth;          /* blocks from the edge on which it was found */
    bool decided;       /* by the state */
    bool used;          /* it is decided, or a decided one can be reached */
    Block *made;        /* by whoever carries out the plan */
} PlanNode;

/* An edge that is to lead elsewhere. With selects, which stand in `from` and give the state its value, it becomes a tree of
 * branches on their predicates. */
typedef struct PlanEdge {
    Block *from, *to;
    u32 first, leaves; /* in Plan.leaf, in the order of the tree: true before false */
    bool used;
} PlanEdge;

typedef struct PlanLeaf {
    const Instr *select[STATE_SELECTS]; /* on the path to the leaf */
    bool holds[STATE_SELECTS];          /* whether the predicate of each is true */
    u32 selects;
    PlanTarget target;
} PlanLeaf;

typedef struct MachinePlan {
    RegId reg[STATE_REGS];
    u32 regs;
    VEC(PlanNode) node;
    VEC(PlanTarget) target;
    VEC(PlanEdge) edge;
    VEC(PlanLeaf) leaf;
    u32 states;      /* edges that decided nodes take, each once */
    u32 cost;        /* instructions of the nodes */
    bool table;      /* the dispatch is a brx */
    const Instr *at; /* a branch that is decided: for remarks */
} MachinePlan;

/* The plan for the loop's dispatch on `selector`; false, with *why NULL if it is no state machine at all. The caller frees
 * the plan with plan_free in any case. */
bool plan_make(Analyses *an, const Knobs *knobs, const Loop *loop, RegId selector, MachinePlan *plan, const char **why);
void plan_free(MachinePlan *plan);

/* The registers that branches of the loop compare with constants, and tables are indexed with, each once, if the loop writes
 * them; their number. */
u32 state_selectors(const Loop *loop, RegId *out, u32 limit);

#endif
