/* How blocks hand on control. */
#ifndef PTXOPT_PHASE_TAIL_ENDS_H
#define PTXOPT_PHASE_TAIL_ENDS_H

#include "analysis/loop.h"

/* Whether the two blocks hand on control alike, so that one end can stand for both; then their keys are equal, and not 0. */
bool ends_alike(const Function *fn, const Block *a, const Block *b);
u64 ends_key(const Function *fn, const Block *b);

/* Whether b ends with a guarded branch that decides whether its innermost loop goes on. *compare is the comparison that this branch
 * tests; NULL: it is not in the block. */
bool ends_loop_test(const Loops *loops, const Block *b, const Instr **compare);

#endif
