/* Where a thread may wait for another one. */
#ifndef PTXOPT_PROVE_WAITS_H
#define PTXOPT_PROVE_WAITS_H

#include "prove/graph.h"

/* The blocks; memory from the graph's arena. */
/* With `on_strong`, loops count only where they read what PTX orders: volatile, relaxed or atomic. One that spins on a weak read
 * need not ever end, for that may be read once. */
BitSet prove_waits(const Graph *g, bool on_strong);

#endif
