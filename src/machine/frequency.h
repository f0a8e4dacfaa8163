/* How often each block of a function runs, estimated: per call of the function.
 *
 * A loop runs as many iterations as it is said to, whatever its exits are; what enters a loop leaves it. The ways on from a block
 * are taken alike, but for those to a block that is said to be cold, or by a branch that is rare. Linear, but for nests of
 * loops that are left through several headers at once. */
#ifndef PTXOPT_MACHINE_FREQUENCY_H
#define PTXOPT_MACHINE_FREQUENCY_H

#include "machine/flow.h"

/* `iterations` by loop, `cold` and the answer by block; blocks that cannot be reached get 0. False when memory is short. */
bool sass_frequencies(const SassCode *code, const double *iterations, const bool *cold, double *frequency);

#endif
