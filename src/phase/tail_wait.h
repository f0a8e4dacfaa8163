/* Where threads may wait for others of their warp. Blocks that are merged are a place where ptxas lets the threads of a
 * warp meet: the first ones to get there wait for the others. If those are still in a loop, until a store behind that place
 * lets them go, nobody ever goes on:
 *
 *        st.volatile [%flag], 1;  bra JOIN;
 *     B: ld.volatile %r, [%flag];  setp.eq %p, %r, 0;  @%p bra B;
 *        st.volatile [%done], 1;
 *     JOIN: */
#ifndef PTXOPT_PHASE_TAIL_WAIT_H
#define PTXOPT_PHASE_TAIL_WAIT_H

#include "phase/phase.h"

typedef struct Waits Waits;

/* Of the function as it is now, with AN_LOOPS. */
Waits *waits_find(PhaseRun *run);
void waits_free(Waits *waits);
/* Whether a thread may wait between the branch that parts the ways to a and b, and the end of one of them. */
bool waits_before(Waits *waits, Block *a, Block *b);
/* Whether another thread may wait for i. */
bool may_end_wait(const Instr *i, const Summaries *summaries);

#endif
