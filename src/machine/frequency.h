/* How often a warp executes each block of a function, estimated: per call of the function.
 *
 * A loop runs as many iterations as it is said to, whatever its exits are; what enters a loop leaves it. Of two arms of a branch a
 * warp takes both half of the time, and one else, so that each is taken three times of four (of a table's ways, less often); what a branch only skips, or leaves
 * the function in front of, is always executed, so that tests that are made one change nothing. Ways to a block that is said to be
 * cold, and branches that are rare, are hardly ever taken. No block runs more often than its dominator in the same loop. */
#ifndef PTXOPT_MACHINE_FREQUENCY_H
#define PTXOPT_MACHINE_FREQUENCY_H

#include "machine/flow.h"

/* `iterations` by loop, `cold` and the answer by block; blocks that cannot be reached get 0. False when memory is short. */
bool sass_frequencies(const SassCode *code, const double *iterations, const bool *cold, double *frequency);

#endif
