/* The cost of barriers: a step of sass_read. A barrier of the block waits for the slowest warp. So it costs the more, the
 * more the paths to it since the barrier before differ. The cycles of a warp from there are taken for a random variable, of
 * which every edge out of a block is equally likely. */
#ifndef PTXOPT_JUDGE_MACHINE_SPREAD_H
#define PTXOPT_JUDGE_MACHINE_SPREAD_H

#include "judge/machine/flow.h"

/* Blocks, order and cycles are known; adds to the cycles of blocks with barriers what a warp waits for the slowest one. */
void sass_add_barrier_waits(SassCode *code);

/* The same by block, once loops are known and how many rounds of them count: by loop, one where that is not known. */
void sass_barrier_waits(const SassCode *code, const double *rounds, unsigned *wait);

#endif
