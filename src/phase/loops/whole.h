/* Loops with a counter halved or doubled from a constant, as in reductions over a warp or a block. They run a constant number of
 * times, and are fully unrolled. ptxas does not count by shifts (tests/ptxas/LOOPS.md). */
#ifndef PTXOPT_PHASE_LOOPS_WHOLE_H
#define PTXOPT_PHASE_LOOPS_WHOLE_H

#include "phase/loops/copy.h"

typedef struct Whole {
    Instr *compare;
    u32 trips; /* at least 2 */
    LoopBody body;
    LoopDropped dropped;
} Whole;

/* Whether the loop is one of them. *why becomes a reason to leave it as it is, or NULL. Uses AN_LOOPS, AN_DOM, AN_SSA and
 * AN_LIVE. */
bool loop_whole_find(Analyses *an, const Loop *loop, Whole *found, const char **why);
/* Writes its iterations out. The last one stays where the loop is. */
void loop_whole_unroll(Analyses *an, const Loop *loop, const Whole *whole);

#endif
