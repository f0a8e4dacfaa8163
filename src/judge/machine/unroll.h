/* Which loops ptxas unrolled in one version of a function and not in the other. */
#ifndef PTXOPT_JUDGE_MACHINE_UNROLL_H
#define PTXOPT_JUDGE_MACHINE_UNROLL_H

#include "judge/machine/unit.h"

/* Sets the iterations of both versions so that each loop does the same work in both: a loop that was unrolled k times runs a k-th
 * of the iterations, what remains after it half of k, and a loop that is gone, unrolled to the end, as many as there are copies.
 * Loops are recognized by what is in them, in the same depth or, where both versions have as many, in another one: first by all
 * operations and constants, then by most of the operations. Then those of the same depth are by the work that ptxas neither adds
 * nor removes. Notes which loops are twins, and which were remade. Returns how many are unrolled in `after` and were not before. */
int unroll_match(const Unit *before, const Unit *after, Iterations *old, Iterations *new);

#endif
