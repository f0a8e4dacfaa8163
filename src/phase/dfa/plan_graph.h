/* The control-flow graph that a plan (phase/dfa/state_machine.h) would make, for questions before anything is changed. */
#ifndef PTXOPT_PHASE_DFA_PLAN_GRAPH_H
#define PTXOPT_PHASE_DFA_PLAN_GRAPH_H

#include "phase/dfa/state_machine.h"

typedef struct PlanGraph {
    Analyses *an;
    const Knobs *knobs;
    const MachinePlan *plan;
    Graph succ, pred;  /* the nodes are positions in Order.rpo, then nodes of the plan */
    u32 *idom, *depth; /* GRAPH_NONE and 0 for nodes that nothing leads to */
    u32 *order, reached;
} PlanGraph;

PlanGraph *plan_graph_make(Analyses *an, const Knobs *knobs, const MachinePlan *plan); /* in scratch memory */
/* Whether `from` can still be reached, and still has an edge to `to` itself. */
bool plan_graph_has_edge(const PlanGraph *g, const Block *from, const Block *to);
bool plan_graph_is_reducible(const PlanGraph *g);
/* Whether all paths from each branch that may divide a warp come first to the same copy of its immediate post-dominator.
 * Its threads then reconverge where they did. Each new path is a copy of an old one. So an instruction depends on the
 * branches that it depended on, or on copies of them. */
bool plan_graph_reconverges_as_before(const PlanGraph *g);
/* Whether the function has a convergent instruction. */
bool plan_graph_convergent(const PlanGraph *g);

#endif
