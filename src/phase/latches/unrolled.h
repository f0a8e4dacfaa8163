/* Loops that their compiler unrolled, and the remainder loops of such: another copy by ptxas does not pay. */
#ifndef PTXOPT_PHASE_LATCHES_UNROLLED_H
#define PTXOPT_PHASE_LATCHES_UNROLLED_H

#include "transform/loop_test.h"

/* NULL, or why the loop with this test is taken for one. trips: its iterations, 0: not known; accesses: loads and stores in one of
 * them. Asks for AN_SSA. */
const char *latch_unrolled_before(Analyses *an, const Loop *loop, const LoopTest *test, u32 trips, u32 accesses);

#endif
