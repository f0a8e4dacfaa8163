/* Loops that their compiler unrolled, and the rest of such loops: another copy by ptxas does not pay. */
#ifndef PTXOPT_PHASE_LATCHES_UNROLLED_H
#define PTXOPT_PHASE_LATCHES_UNROLLED_H

#include "transform/loop_test.h"

/* NULL, or why the loop, which tests that, and runs so often (0: not known), and loads and stores so often in an iteration, is
 * taken for one. Asks for AN_SSA. */
const char *latch_unrolled_before(Analyses *an, const Loop *loop, const LoopTest *test, u32 trips, u32 accesses);

#endif
