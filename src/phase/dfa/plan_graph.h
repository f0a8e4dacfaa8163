/* The control flow that a plan (phase/dfa/state_machine.h) would leave: asked before anything is changed. */
#ifndef PTXOPT_PHASE_DFA_PLAN_GRAPH_H
#define PTXOPT_PHASE_DFA_PLAN_GRAPH_H

#include "phase/dfa/state_machine.h"

typedef struct PlanGraph {
    PhaseRun *run;
    const MachinePlan *plan;
    Graph succ, pred;  /* nodes: positions in Order.rpo, then those of the plan */
    u32 *idom, *depth; /* GRAPH_NONE and 0 where nothing leads to */
    u32 *order, reached;
} PlanGraph;

PlanGraph *plan_graph_make(PhaseRun *run, const MachinePlan *plan); /* in run->arena */
/* Whether `from` can still be reached, and still goes to `to` as it is. */
bool plan_graph_has_edge(const PlanGraph *g, const Block *from, const Block *to);
bool plan_graph_is_reducible(const PlanGraph *g);
/* Whether threads that a branch parts still meet where they met: of its immediate post-dominator, its paths come to one and
 * the same copy first. Branches that do not divide a warp do not count. Then the branches that an instruction transitively
 * depends on are those it depended on before, copies taken for originals: it depends on those from which it can be reached
 * before the paths meet, and new paths are old ones. */
bool plan_graph_reconverges_as_before(const PlanGraph *g);
/* Whether the function has a convergent instruction at all. */
bool plan_graph_convergent(const PlanGraph *g);

#endif
