/* HoistCommonCode of BranchFolder: what both successors begin with moves in front of their branch.
 *
 *     @%p bra B;                            ld.global.u32 %r2, [%a];
 *     ld.global.u32 %r1, [%a];              @%p bra B;
 *     add.u32 %r3, %r1, %r0; ...            add.u32 %r3, %r2, %r0; ...
 *  B: ld.global.u32 %r2, [%a];           B: sub.u32 %r3, %r2, %r0; ...
 *     sub.u32 %r3, %r2, %r0; ...
 *
 * Sound: every thread that came to the branch executed these instructions next, in this order, whichever edge it took. So
 * nothing is speculated, and the instructions now depend on fewer branches. Their results get the names of the taken
 * successor, which the other successor must not need for other values. It reads these names, or copies the value to its own
 * name if that also has other values. Declined: instructions that depend on which threads execute them together and do
 * not name them; parts of carry chains and of calls; blocks that are entered from elsewhere or are in another loop; values
 * that the test of a loop compares. So are rewrites that cost as much as they save: a product whose sum stays in the
 * successors, a copy for each instruction. */
#ifndef PTXOPT_PHASE_TAIL_HOIST_H
#define PTXOPT_PHASE_TAIL_HOIST_H

#include "phase/tail/match.h"

/* Answers whether anything changed. Asks for AN_LOOPS, AN_DOM and AN_LIVE, which must be frozen. */
bool hoist_common_code(Analyses *an, PhaseRun *run, ReservedChoice gate);

#endif
