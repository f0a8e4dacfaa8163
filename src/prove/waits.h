/* Where a thread may wait for another one. */
#ifndef PTXOPT_PROVE_WAITS_H
#define PTXOPT_PROVE_WAITS_H

#include "prove/graph.h"

/* The blocks; memory from the graph's arena. */
BitSet prove_waits(const Graph *g);

#endif
