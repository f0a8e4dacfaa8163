/* How control leaves blocks. */
#ifndef PTXOPT_PHASE_TAIL_ENDS_H
#define PTXOPT_PHASE_TAIL_ENDS_H

#include "analysis/loop.h"

/* Whether control leaves both blocks alike, so that one end can stand for both. Their keys are then equal, and not 0. */
bool ends_alike(const Function *fn, const Block *a, const Block *b);
u64 ends_key(const Function *fn, const Block *b);

/* Whether threads leave the function at the end of b. ptxas writes the EXIT of a block that holds nothing else into each
 * block that leads to it. */
bool ends_leave(const Function *fn, const Block *b);

/* Whether b ends with a guarded branch that decides whether its innermost loop continues. *compare becomes the comparison
 * that sets this branch's guard; NULL: it is not in the block. */
bool ends_loop_test(const Loops *loops, const Block *b, const Instr **compare);

#endif
