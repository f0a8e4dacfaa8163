/* A bug of ptxas 12.9 to 13.5, found in its machine code: one uniform counter for lanes that went different ways.
 *
 *         UMOV UR4, 5;                  all lanes
 *         @P0 BRA LATCH;                divides the warp
 *     BODY: ...
 *     LATCH: UISETP UP0, UR4, 0;        reached by both groups, one after the other
 *         @UP0 UIADD3 UR4, UR4, -1;
 *         @UP0 BRA BODY;
 *
 * The first group counts UR4 down, and the second begins where the first ended. */
#ifndef PTXOPT_JUDGE_MACHINE_UNIFORM_COUNTER_H
#define PTXOPT_JUDGE_MACHINE_UNIFORM_COUNTER_H

#include "judge/machine/flow.h"

/* How many uniform registers are stepped in a loop with several entries, and live where it is entered, though lanes come to different
 * entries. They do if the branch or the table that decides between the entries asks each lane. Linear in the code, except that what is
 * live is found in as many passes as loops are nested. */
unsigned sass_uniform_counters(const SassCode *code, const CubinFunction *function, unsigned sm);

#endif
