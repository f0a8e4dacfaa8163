/* How often a warp executes each block of a function, estimated per call of the function. A loop runs as many iterations as the
 * caller says, whatever its exits are. The lanes of a warp diverge at branches. So the warp takes every edge once (three of four
 * edges of a table), and leaves a loop by each exit. Combining tests, merging arms or exchanging exits of a loop changes only
 * those, and not how often the code after them is executed. Edges to a cold block, and rare branches, are hardly ever taken. No
 * block runs more often than its dominator in the same loop. */
#ifndef PTXOPT_JUDGE_MACHINE_FREQUENCY_H
#define PTXOPT_JUDGE_MACHINE_FREQUENCY_H

#include "judge/machine/flow.h"

/* `iterations` by loop, `cold` and the answer by block; blocks that cannot be reached get 0. */
void sass_frequencies(const SassCode *code, const double *iterations, const bool *cold, double *frequency);

#endif
