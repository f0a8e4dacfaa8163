/* How often a warp executes each block of a function, estimated: per call of the function.
 *
 * A loop runs as many iterations as it is said to, whatever its exits are; what enters a loop leaves it. The lanes of a warp part at
 * branches, so that it takes all ways, once each (three of four of a table's): tests that are made one and arms that are merged
 * change nothing but what is executed. Ways to a block that is said to be cold, and branches that are rare, are hardly ever taken.
 * No block runs more often than its dominator in the same loop. */
#ifndef PTXOPT_MACHINE_FREQUENCY_H
#define PTXOPT_MACHINE_FREQUENCY_H

#include "machine/flow.h"

/* `iterations` by loop, `cold` and the answer by block; blocks that cannot be reached get 0. False when memory is short. */
bool sass_frequencies(const SassCode *code, const double *iterations, const bool *cold, double *frequency);

#endif
