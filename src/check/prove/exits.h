/* Functions with several exits. When ptxas looks for reconvergence points it ignores all exits but one, the end, and does not say which:
 * any may be the end. Threads that diverge on paths to it then wait for one another before they come there. */
#ifndef PTXOPT_CHECK_PROVE_EXITS_H
#define PTXOPT_CHECK_PROVE_EXITS_H

#include "check/prove/shape.h"
#include "check/prove/waits.h"

/* Blocks in which threads end the function, that ptxas may take for the end, in reverse postorder. One that does nothing else is part of
 * each edge that leads to it; one from which control comes to another exit is none. Answers whether threads leave in several places. */
bool prove_exits(const ProveGraph *g, VecU32 *exits, Arena *arena);
/* The graph if this exit is the end. What the other one says stays where it is. */
ProveGraph prove_end_at(const ProveGraph *g, u32 exit, Arena *arena);
/* Whether threads that diverge reconverge earlier in `ended`, made by prove_end_at, than in the graph, and execute something convergent
 * after that; with `waits`, also whether they may wait before it. */
bool prove_joins_earlier(ProveGraph *g, ProveGraph *ended, const Waits *w, bool waits);
/* Whether each exit of AFTER has one of BEFORE that the same events lead to, and of any two the same one is larger: ptxas takes for
 * the end what more blocks lead to. Then the exits of BEFORE stand as those of AFTER do. */
bool prove_pair_exits(const ProveGraph *before, VecU32 *exits, const ProveGraph *after, const VecU32 *others,
                      const ProveMatched *matched, u32 n);

#endif
