/* HoistCommonCode of BranchFolder: what both successors of a branch begin with moves in front of the branch.
 *
 *     @%p bra B;                            ld.global.u32 %r2, [%a];
 *     ld.global.u32 %r1, [%a];              @%p bra B;
 *     add.u32 %r3, %r1, %r0; ...            add.u32 %r3, %r2, %r0; ...
 *  B: ld.global.u32 %r2, [%a];           B: sub.u32 %r3, %r2, %r0; ...
 *     sub.u32 %r3, %r2, %r0; ...
 *
 * Sound: whoever came to the branch executed these instructions next, in this order, whichever edge it took; so nothing is
 * speculated, and they now depend on fewer branches. The names are those of the edge that is taken, if the
 * other successor does not need what they held; it then reads them, or copies the value to its own name where that has other values
 * too. Declined: what depends on who executes it together and does not name its threads, parts of carry chains and of
 * calls, blocks that are entered from elsewhere or are in another loop, what the test of a loop compares, and what would
 * cost as much as it saves: a product whose sum stays after, a copy for each instruction. */
#ifndef PTXOPT_PHASE_TAIL_HOIST_H
#define PTXOPT_PHASE_TAIL_HOIST_H

#include "phase/tail/match.h"

/* Whether anything changed. Asks for AN_LOOPS, AN_DOM and AN_LIVE, which must be frozen. */
bool hoist_common_code(Analyses *an, PhaseRun *run, ReservedChoice gate);

#endif
