/* Frequencies of a function's two versions: code that is the same in both runs as often in both; only new code is estimated.
 *
 * Blocks are the same if they are in the same loops and hold the same operations and constants. The registers and the order do not
 * matter. If equally many blocks do the same in both versions, they are paired in order. Each of the rest is paired with a block
 * beside its neighbours' partners that shares most of its operations. Blocks of loops that were unrolled, of which some remained,
 * or that are gone are never matched: unroll.h knows how often these run. */
#ifndef PTXOPT_JUDGE_MACHINE_MATCH_H
#define PTXOPT_JUDGE_MACHINE_MATCH_H

#include "judge/machine/unroll.h"

/* Changes the frequencies, which were estimated alone. Two blocks that are matched run as often as the estimates say in the mean. Any
 * other one keeps its estimated ratio to its closest dominator. */
void match_frequencies(const Unit *before, const Unit *after, const Iterations *old, const Iterations *new,
                       Frequencies *was, Frequencies *is);

#endif
