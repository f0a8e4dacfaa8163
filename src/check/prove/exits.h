/* Functions with several exits. When ptxas looks for reconvergence points, it ignores all exits but one, the end, and does not
 * say which: any may be the end. Threads that diverge on paths to it then wait for one another before they get there. */
#ifndef PTXOPT_CHECK_PROVE_EXITS_H
#define PTXOPT_CHECK_PROVE_EXITS_H

#include "check/prove/machine.h"
#include "check/prove/shape.h"
#include "check/prove/waits.h"

/* Blocks in which threads end the function, that ptxas may take for the end, in reverse postorder. One that does nothing else is part of
 * each edge that leads to it; one from which control comes to another exit is none. Answers whether threads leave in several places. */
bool prove_exits(const ProveGraph *g, VecU32 *exits, Arena *arena);
/* The graph if this exit is the end. What the other one says stays where it is. */
ProveGraph prove_end_at(const ProveGraph *g, u32 exit, Arena *arena);
/* Whether threads that diverge reconverge earlier in `ended`, made by prove_end_at, than in the graph, and execute
 * something convergent after that. With `waits`, also whether they may wait before it. */
bool prove_joins_earlier(ProveGraph *g, ProveGraph *ended, const Waits *w, bool waits);
enum { EXITS_MAX = 64 };

/* Exits of BEFORE, each with the one of AFTER that the same events lead to: several may have been merged into that. */
typedef struct ProveExitPairs {
    u32 n, now[EXITS_MAX];
    u32 size[2][EXITS_MAX]; /* by exit of BEFORE: how many blocks lead to it, and to the one of AFTER */
} ProveExitPairs;

/* Whether each exit has one. Then the exits of BEFORE stand in front as those of AFTER do. */
bool prove_pair_exits(const ProveGraph graph[2], VecU32 exits[2], const ProveMatched *matched, u32 n,
                      ProveExitPairs *pairs);
/* ptxas takes for the end what more blocks lead to. Whether it has no more reason to take this exit than before, and, with `no_less`,
 * none less. */
bool prove_end_is_as_likely(const ProveExitPairs *pairs, u32 exit, bool no_less);

#endif
