/* A counter of its own for a loop whose latch compares something that ptxas does not count by: an affine function of what
 * the loop steps, the value before the step, a step that stands elsewhere.
 *
 *     LOOP: ...                                     cvt.u32.u64 s, rd;
 *           add.s64 rd, rd, 4;                LOOP: ...
 *           cvt.u32.u64 r, rd;                      add.s64 rd, rd, 4;
 *           setp.ne.s32 p, r, n;                    add.s32 s, s, 4;
 *           @p bra LOOP;                            setp.ne.s32 p, s, n;
 *                                                   @p bra LOOP;
 *
 * Sound: in iteration k the register that is compared holds f + k * step, in the width of the comparison: truncation, sums,
 * differences, products and shifts by constants map residues of 2^n to each other. So does the counter, which starts at
 * f - step before the loop and is stepped right before the comparison, which then tells the same, whatever it is. */
#ifndef PTXOPT_PHASE_LATCHES_COUNTER_H
#define PTXOPT_PHASE_LATCHES_COUNTER_H

#include "phase/phase.h"

/* Whether the loop was given one. Uses AN_LOOPS, AN_DOM and AN_SSA, which may be frozen: blocks that were made since are before
 * loops. Linear in the size of the loop. */
bool latch_counter_add(Analyses *an, PhaseRun *run, const Loop *loop);

#endif
