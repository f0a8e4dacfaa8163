/* Who may wait in a function, and what others may wait for. A thread waits in a loop that another thread has to end, and
 * at a barrier. At a warp operation it waits until the lanes that its mask names come to one or leave. */
#ifndef PTXOPT_ANALYSIS_WAIT_H
#define PTXOPT_ANALYSIS_WAIT_H

#include "analysis/effects.h"
#include "analysis/loop.h"

/* The things that may end the wait of another thread. */
enum WaitEnd {
    END_ACCESS = 1 << 0,  /* a write, or an operation that orders accesses */
    END_LANES = 1 << 1,   /* an operation of the warp */
    END_BARRIER = 1 << 2, /* a barrier of the block or cluster, or an arrival at one */
    END_LEAVE = 1 << 3    /* the thread leaves the function */
};

/* Who waits in the reachable blocks of a function as it is now. */
typedef struct Waits {
    u8 *waits;        /* by Block.id: EffectWaits of its instructions; of irreducible code, loops included */
    u8 *ends;         /* by Block.id: WaitEnds of its instructions and its end */
    bool *convergent; /* by Block.id: an instruction is */
    bool *active_set; /* by Block.id: an instruction depends on which lanes execute it, and does not name them */
    bool *loop;       /* by Block.id of the header: a thread may stay in the loop until another one acts */
    u8 any_wait, any_end;
    bool any_convergent, any_active_set;
    bool any_promise;    /* a branch that a guard or an index decides is .uni; its block counts in active_set alone */
    bool awaits_leaving; /* some thread may wait, other than in a loop, or what comes after a return may end a wait */
    bool polls;          /* some thread of the grid may wait for an access */
    bool all_known;      /* nothing is called, and every instruction is known: WAITS_KNOWN is the same */
    u32 blocks;          /* ids below this one are known */
} Waits;

/* WAITS_KNOWN: without waits of instructions and callees of which nothing is known, and of loops for what a callee reads with weak loads
 * alone. What all of these may end counts all the same. */
typedef enum WaitsOf { WAITS_ALL, WAITS_KNOWN } WaitsOf;

Waits *waits_compute(Arena *arena, const Order *order, const DomTree *dom, const Loops *loops, const Summaries *summaries,
                     WaitsOf of);
Waits *waits_copy(Arena *arena, const Waits *of);
/* The WaitEnds of one instruction; the end of its block not included. */
u8 instr_ends(const Instr *i, const Summaries *summaries);
/* Whether i, with these effects, reads what a thread may wait for: in a loop that waits, or in a callee that does. Who waits there
 * orders what other threads do as a strong operation does. */
bool wait_polls(const Waits *w, const Loops *loops, const Instr *i, const Effects *e);
/* Whether one of these EffectWaits may be ended by one of these WaitEnds, directly or through a third thread. */
bool wait_may_end(const Waits *w, u8 waits, u8 ends);

#endif
