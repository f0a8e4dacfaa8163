/* Barriers of the block that may become barriers of the warp, in blocks of one warp: what ptxas makes of that. */
#ifndef PTXOPT_PHASE_BARRIER_OF_WARP_H
#define PTXOPT_PHASE_BARRIER_OF_WARP_H

#include "phase/phase.h"

typedef struct OfWarp {
    PhaseRun *run;
    Analyses *an;
    u8 *loop; /* by place in Loops.v: what is known of the loop */
} OfWarp;

/* To be made before any barrier is changed. */
OfWarp of_warp_new(Analyses *an, PhaseRun *run);

/* Before sm_90 ptxas unrolls loops around bar.sync, and none around bar.warp.sync or another operation of the warp
 * (tests/ptxas/LOOPS.md). Whether it may unroll the loop around the barrier as it is, so far as counting goes. */
bool of_warp_stops_unrolling(OfWarp *w, const Instr *barrier);

#endif
