/* Writes out the iterations of a loop. */
#ifndef PTXOPT_TRANSFORM_UNROLL_H
#define PTXOPT_TRANSFORM_UNROLL_H

#include "analysis/analyses.h"

enum { UNROLL_BLOCKS = 32 /* the most blocks of a loop that unroll_copy() takes */ };

/* Whether i does in several places, one after the other, what it does in one. */
bool unroll_may_repeat(Analyses *an, const Instr *i);

/* Copies the n blocks of the loop, which has one latch. The copies are laid out after `after`, in the order of `block`. Edges between
 * the blocks lead between the copies, except for that of the latch: its copy only falls through to the loop's header. */
void unroll_copy(const Loop *loop, Block *const *block, u32 n, Block *after, Block **copy);
/* Lets control always leave the loop at its latch, which ends in a branch. */
void unroll_last(const Loop *loop);

#endif
