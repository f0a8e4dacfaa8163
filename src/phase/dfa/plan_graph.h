/* The control-flow graph that a plan (phase/dfa/state_machine.h) would make, to be asked before anything is changed. */
#ifndef PTXOPT_PHASE_DFA_PLAN_GRAPH_H
#define PTXOPT_PHASE_DFA_PLAN_GRAPH_H

#include "phase/dfa/state_machine.h"

typedef struct PlanGraph {
    Analyses *an;
    const Knobs *knobs;
    const MachinePlan *plan;
    Graph succ, pred;  /* nodes: positions in Order.rpo, then those of the plan */
    u32 *idom, *depth; /* GRAPH_NONE and 0 of nodes that nothing leads to */
    u32 *order, reached;
} PlanGraph;

PlanGraph *plan_graph_make(Analyses *an, const Knobs *knobs, const MachinePlan *plan); /* in scratch memory */
/* Whether `from` can still be reached, and still goes to `to` as it is. */
bool plan_graph_has_edge(const PlanGraph *g, const Block *from, const Block *to);
bool plan_graph_is_reducible(const PlanGraph *g);
/* Whether all paths from each branch that may divide a warp come to the same copy of its immediate post-dominator first: then its
 * threads reconverge where they did. An instruction then depends on no other branches than before, copies taken for
 * originals, because each new path is a copy of an old one. */
bool plan_graph_reconverges_as_before(const PlanGraph *g);
/* Whether the function has a convergent instruction at all. */
bool plan_graph_convergent(const PlanGraph *g);

#endif
