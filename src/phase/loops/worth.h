/* Whether several iterations in a row are faster than one at a time. */
#ifndef PTXOPT_PHASE_LOOPS_WORTH_H
#define PTXOPT_PHASE_LOOPS_WORTH_H

#include "phase/loops/copy.h"

/* Why `times` copies of an iteration are not expected to pay; NULL: they are. An iteration passes through the blocks of
 * `checks`. Uses AN_DOM and AN_LIVE; linear in the size of these blocks. */
const char *loop_copies_cost(Analyses *an, const Loop *loop, const LoopBody *checks, u32 times);

#endif
