/* What barriers cost: a step of sass_read.
 *
 * A barrier of the block waits for the slowest warp, so it costs the more the more the paths to it differ since the barrier before.
 * The cycles of a warp from there are taken for a random variable, of which every edge out of a block is equally likely. */
#ifndef PTXOPT_JUDGE_MACHINE_SPREAD_H
#define PTXOPT_JUDGE_MACHINE_SPREAD_H

#include "judge/machine/flow.h"

/* Blocks, order and cycles are known; adds to the cycles of blocks with barriers what a warp waits for the slowest one. */
void sass_add_barrier_waits(SassCode *code);

#endif
