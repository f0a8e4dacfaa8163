/* State machines: loops around a dispatch on a register whose next value is known where an arm ends.
 *
 * A plan says which blocks between the arms and the dispatch are to be copied, once for each state that arrives there. A
 * node is a block together with the values of the state registers at its start. The edges out of a node lead to other
 * nodes, or to original blocks. The dispatch itself is decided in its nodes. Arms are not copied. */
#ifndef PTXOPT_PHASE_DFA_STATE_MACHINE_H
#define PTXOPT_PHASE_DFA_STATE_MACHINE_H

#include "analysis/values.h"
#include "phase/phase.h"

enum { STATE_REGS = GIVEN_REGS, STATE_SELECTS = 3, NO_NODE = -1, NODE_ITEMS = 64 /* of a block that is copied */ };

/* The known values of state registers, by position in MachinePlan.reg. */
typedef struct StateValues {
    u64 value[STATE_REGS];
    u32 known; /* one bit for each register */
} StateValues;

/* The target of an edge of the plan: a node, by number, or the block itself (NO_NODE). */
typedef struct PlanTarget {
    Block *to;
    i32 node;
} PlanTarget;

typedef struct PlanNode {
    Block *b;
    StateValues at_entry;
    u32 first,
        targets;  /* in MachinePlan.target: one if the branch is decided; otherwise as block_edge_target() lists them */
    u32 group;    /* 0: shared by all edges; otherwise shared only by edges of the same group */
    u32 depth;    /* blocks on the path on which it was found, from the first edge on */
    bool decided; /* the state decides its branch */
    bool used;    /* an edge of the plan leads to it, and it is decided or leads to a decided node */
    Block *made;  /* the copy, set by whoever carries out the plan */
} PlanNode;

/* An edge that is to get another target. Selps in `from` may give the state its value; the edge then becomes a tree of
 * branches on their predicates. */
typedef struct PlanEdge {
    Block *from, *to;
    u32 first, leaves; /* in MachinePlan.leaf, in the order of the tree: true before false */
    bool used;
} PlanEdge;

typedef struct PlanLeaf {
    const Instr *select[STATE_SELECTS]; /* the selps on the path to the leaf */
    bool holds[STATE_SELECTS];          /* the predicate of each is true */
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
    u32 states;      /* blocks that decided nodes lead to, each counted once */
    u32 cost;        /* machine instructions of the nodes */
    bool table;      /* the dispatch is a brx */
    const Instr *at; /* a decided branch, for remarks */
} MachinePlan;

/* Makes the plan for the loop's dispatch on `selector`. False: there is none, and *why says why, or is NULL if this is no
 * state machine. The caller frees the plan with plan_free in any case. */
bool plan_make(Analyses *an, const Knobs *knobs, const Loop *loop, RegId selector, MachinePlan *plan, const char **why);
void plan_free(MachinePlan *plan);

/* Lists the registers that the loop copies or selects values into, and that its branches compare with constants or index
 * tables with. Answers their number. */
u32 state_selectors(const Loop *loop, RegId *out, u32 limit);

#endif
