/* Which barriers of the block may become barriers of the warp in blocks of one warp, given what ptxas makes of either. */
#ifndef PTXOPT_PHASE_BARRIER_OF_WARP_H
#define PTXOPT_PHASE_BARRIER_OF_WARP_H

#include "phase/phase.h"

typedef struct OfWarp {
    PhaseRun *run;
    Analyses *an;
    u8 *loop; /* by place in Loops.v: a LoopKind */
} OfWarp;

/* Make it before any barrier is changed. */
OfWarp of_warp_new(Analyses *an, PhaseRun *run);

/* Before sm_90 ptxas unrolls loops around bar.sync, and none around bar.warp.sync or another operation of the warp
 * (tests/ptxas/LOOPS.md). True: the loop around this barrier seems to count, so ptxas may unroll it as it is. */
bool of_warp_stops_unrolling(OfWarp *w, const Instr *barrier);

#endif
