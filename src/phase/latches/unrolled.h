/* Loops that their compiler unrolled, and the remainder loops of these. It does not pay if ptxas copies them again. */
#ifndef PTXOPT_PHASE_LATCHES_UNROLLED_H
#define PTXOPT_PHASE_LATCHES_UNROLLED_H

#include "analysis/loop_test.h"

/* Why the loop with this test counts as unrolled before; NULL: it does not. trips: its iterations, 0: unknown; accesses:
 * loads and stores in one iteration. Asks for AN_SSA. */
const char *latch_unrolled_before(Analyses *an, const Loop *loop, const LoopTest *test, u32 trips, u32 accesses);

#endif
