/* Which loops of a function's two versions do the same work, and how many iterations each of them runs. */
#ifndef PTXOPT_JUDGE_MACHINE_UNROLL_H
#define PTXOPT_JUDGE_MACHINE_UNROLL_H

#include "judge/machine/unit.h"

/* Sets the iterations of both versions so that each loop does the same work in both. What became of one loop shares its
 * iterations in each place: copies, parts of its range, an unrolled part with a loop for what remains, copies of the loops
 * around it. A loop that was unrolled k times runs a k-th of the iterations, and what remains after it half of k. A loop
 * that is gone multiplies nothing if what is in it stands in the other version as often; else it was unrolled to the end. It
 * ran as often as there are copies of its work, and of what slow units do in it, where it stood. Otherwise the copies of its
 * instructions are counted. Loops are recognized by what is in them, in the same depth, or in another one if both versions
 * have as many. First all operations and constants count, then most of the operations. Then those of the same depth are
 * recognized by the work that ptxas neither adds nor removes, and copies by their accesses. Notes which loops are twins, and
 * which were remade.
 *
 * The parts of a loop that was split share its iterations. What stands before and after each part is executed as well, and that
 * is no error of the estimate: two parts of a loop of one load, which ptxas unrolls four times each, take 4 % longer. Each has a
 * test in front of it and a remainder behind it, which waits for its own load.
 *
 * Returns how many are unrolled in `after` and were not before. */
int unroll_match(const Unit *before, const Unit *after, Iterations *old, Iterations *new);

#endif
