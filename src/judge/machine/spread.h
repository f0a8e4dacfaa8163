/* The cost of barriers: a step of sass_read. A barrier of the block waits for the slowest warp. So it costs more if the
 * paths to it from the previous barrier differ more. A warp's cycles since then are treated as a random variable: every
 * edge out of a block is equally likely. */
#ifndef PTXOPT_JUDGE_MACHINE_SPREAD_H
#define PTXOPT_JUDGE_MACHINE_SPREAD_H

#include "judge/machine/flow.h"

/* Blocks, order and cycles are known; adds to the cycles of blocks with barriers what a warp waits for the slowest one. */
void sass_add_barrier_waits(SassCode *code);

/* The same by block, once loops are known and how many rounds of them count: by loop, one where that is not known. */
void sass_barrier_waits(const SassCode *code, const double *rounds, unsigned *wait);

#endif
