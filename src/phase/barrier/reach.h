/* Finds the barriers of a function that all threads of the CTA execute together, at the same place in the sequence of
 * barriers.
 *
 * A barrier is reached together if every branch that it transitively depends on is of one of two kinds. The branch takes
 * the same edge in all threads of the CTA, or a barrier can follow after only one of its edges. Threads that take another
 * edge leave the kernel, and no longer count. In a function that is called, nothing is known of the caller, so no barrier
 * there is. All threads reach it if no branch decides whether one leaves before.
 *
 * Barriers of one number pair in the order in which threads come to them, wherever they stand. Suppose that a barrier can
 * come first that not all threads reach together, that counts threads, or that only arrives. Then a later barrier of that
 * number may pair with another one than itself: the number is mispaired there. */
#ifndef PTXOPT_PHASE_BARRIER_REACH_H
#define PTXOPT_PHASE_BARRIER_REACH_H

#include "phase/phase.h"

enum { ALL_BARRIERS = 0xffff };

/* How an instruction uses the 16 barriers of its CTA. */
typedef struct BarrierUse {
    u16 ids;           /* bit n: may use barrier n */
    bool full;         /* waits for all threads of the CTA, at the one barrier `ids` */
    bool carries_data; /* .red */
    bool arrives;      /* it arrives and does not wait */
    bool called;       /* by a callee */
} BarrierUse;

typedef struct BarrierReach {
    Analyses *an;
    const Knobs *knobs;
    VEC(Instr *) barriers;   /* barriers, and calls that may use some, in the order of Order.rpo */
    BitSet together;         /* blocks that all threads reach together, by Block.id */
    BitSet by_all;           /* those of `together` before which no thread has left */
    BitSet leads_to_barrier; /* blocks from whose start a barrier can be reached */
    u8 *kept;       /* by Block.id: whether the threads that stay in the kernel all take one edge there, once asked */
    u16 *mispaired; /* by position in Order.rpo: numbers that are mispaired where the block starts */
    u16 partial;    /* numbers of barriers that some instruction uses for some of the threads only */
} BarrierReach;

/* Needs AN_CONTROL. Looks at the barriers of the function before any of them is removed. */
BarrierReach *reach_compute(Analyses *an, const Knobs *knobs);
void reach_free(BarrierReach *reach); /* the scratch memory stays */

BarrierUse barrier_use(const BarrierReach *reach, const Instr *i);
/* Whether all threads execute the barrier together, its block and its guard considered. */
bool reached_together(const BarrierReach *reach, const Instr *barrier);
/* Whether all threads execute the barrier together, and no thread has left before. False where a call in the function may
 * end a thread. */
bool reached_by_all(const BarrierReach *reach, const Instr *barrier);
/* Whether a barrier of this use waits for all threads of the CTA, and its number is used for nothing else. */
static inline bool waits_for_all(const BarrierReach *reach, BarrierUse use)
{
    return use.full && !(use.ids & reach->partial);
}
/* Whether i is a barrier that waits for all threads, as above. */
static inline bool is_full_barrier(const BarrierReach *reach, const Instr *i)
{
    return instr_is(i, OPF_BARRIER) && waits_for_all(reach, barrier_use(reach, i));
}
/* Whether the terminator of b, if any, takes the same edge in all threads of the CTA. AN_UNIFORM is computed at the first
 * question, which most functions never ask. */
bool reach_branch_is_uniform(const BarrierReach *reach, const Block *b);
/* The barrier numbers that i leaves mispaired: a later barrier of such a number may pair with another one than itself. */
u16 reach_mispaired_by(const BarrierReach *reach, const Instr *i);
/* Whether threads that enter `to` leave the kernel without executing a barrier. */
bool reach_only_leaves(const BarrierReach *reach, const Block *to);

#endif
