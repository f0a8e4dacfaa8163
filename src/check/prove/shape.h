/* Whether two graphs are the same except for blocks that do nothing. Threads then diverge and come together in the same
 * places, whichever exits and joins ptxas looks at. Events that other threads do not see are ignored. */
#ifndef PTXOPT_CHECK_PROVE_SHAPE_H
#define PTXOPT_CHECK_PROVE_SHAPE_H

#include "check/prove/graph.h"

/* Two events of which the proof found that they are the same. */
typedef struct ProveMatched {
    const Instr *before, *after;
    bool unseen; /* by other threads */
} ProveMatched;

typedef struct Prover Prover;

/* Answers once all paths are known whether the texts have the same shape. Each event that others see must have one partner
 * only, and events must stand in the same order in blocks that correspond. Then each thread is at such an event where it is
 * in the other text, and takes the same edges of branches that correspond. */
bool prove_same_shape(Prover *p);

#endif
