/* Gives a loop a counter of its own if its latch compares something that ptxas does not count by. That is an affine
 * function of the registers that the loop steps, the value before the step, or one stepped in another block.
 *
 *     LOOP: ...                                     cvt.u32.u64 s, rd;
 *           add.s64 rd, rd, 4;                LOOP: ...
 *           cvt.u32.u64 r, rd;                      add.s64 rd, rd, 4;
 *           setp.ne.s32 p, r, n;                    add.s32 s, s, 4;
 *           @p bra LOOP;                            setp.ne.s32 p, s, n;
 *                                                   @p bra LOOP;
 *
 * Sound: in iteration k the register that is compared holds f + k * step, in the width of the comparison. Truncation,
 * sums, differences, products and shifts by constants map residues of 2^n to each other. This also holds for the counter: it
 * starts at f - step before the loop, and is stepped right before the comparison. So any comparison has the same result.
 * Where the number of iterations is known, a register that the loop steps anyway may serve. It is compared with its last
 * value, which it has in no earlier iteration. */
#ifndef PTXOPT_PHASE_LATCHES_COUNTER_H
#define PTXOPT_PHASE_LATCHES_COUNTER_H

#include "phase/phase.h"
#include "transform/miscounted.h"

/* Answers whether the latch's comparison was changed; that of a miscounted loop is not. Uses AN_LOOPS, AN_DOM and AN_SSA, which may
 * be frozen: blocks that were made since stand before loops. Linear in the size of the loop. */
bool latch_counter_add(Analyses *an, PhaseRun *run, const Loop *loop, MiscountedLoops *miscounted);

#endif
