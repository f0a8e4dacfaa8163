/* The comparison that a loop's latch tests, and the step of the counter that it reads. ptxas counts and unrolls a loop only
 * when the comparison stands after the step in the same block (tests/ptxas/LOOPS.md). */
#ifndef PTXOPT_PHASE_LATCHES_COMPARE_H
#define PTXOPT_PHASE_LATCHES_COMPARE_H

#include "phase/phase.h"

/* The setp of a latch that may be moved right after `step`:
 *
 *     LOOP: add i, i, 1;                        LOOP: add i, i, 1;
 *           @q bra JOIN; ...                          setp.lt p, i, n;
 *     JOIN: ...                            to         @q bra JOIN; ...
 *           setp.lt p, i, n;                    JOIN: ...
 *           @p bra LOOP;                              @p bra LOOP; */
typedef struct LoopCompare {
    Instr *compare; /* in the latch */
    Instr *step;    /* in another block of the loop, which dominates the latch */
} LoopCompare;

/* Finds them in an innermost loop with one latch and no other exit. Between the two places nothing changes what the setp
 * reads, and nothing reads or writes its result. So each thread finds the same value at the branch. Uses AN_LOOPS and
 * AN_DOM; linear in the size of the loop. */
bool latch_compare_find(Analyses *an, const Loop *loop, LoopCompare *found);

/* Whether `compare` tests a counter whose start, step and end are constants. It is in the loop's only latch, or NULL. False
 * if blocks were made since AN_LOOPS was computed. Asks for AN_SSA. */
bool latch_compare_counts(Analyses *an, const Loop *loop, Instr *compare);

#endif
