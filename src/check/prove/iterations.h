/* Iterations of loops, counted in both texts. Each loop of BEFORE has at most one partner in AFTER, which is in the partner
 * of the loop around it. A path knows how many iterations one is ahead of the other since both were entered, in the same
 * iteration of the loops around. */
#ifndef PTXOPT_CHECK_PROVE_ITERATIONS_H
#define PTXOPT_CHECK_PROVE_ITERATIONS_H

#include "check/prove/machine.h"

typedef struct Prover Prover;

/* A natural loop. One header may be that of several, each within the one before: an iteration of that one enters the inner ones anew. */
typedef struct CountedLoop {
    u32 header;
    u32 around, partner; /* index of the loop around it, and of its partner, plus 1; 0: there is none */
    u32 in_step;         /* 1: no; 2: yes; 0: was not asked yet */
    BitSet latches;      /* where its edges back come from, without those of inner loops */
    BitSet body;
} CountedLoop;

typedef struct CountedLoops {
    u32 n;
    CountedLoop *loop; /* those around come first */
    u32 *innermost;    /* by block: the loop that it is in, plus 1; 0: none */
} CountedLoops;

/* Changed by iterations.c alone. */
typedef struct LoopPairs {
    CountedLoops of[2];
    u8 *one_way; /* by block of BEFORE: answers of prove_returns_one_way: 1 no, 2 yes */
} LoopPairs;

typedef enum IterationState {
    ITERATION_UNKNOWN,
    ITERATION_OF_BEFORE, /* BEFORE has entered the loop, and AFTER has not entered the partner since */
    ITERATION_OF_AFTER,  /* the other way around */
    ITERATION_OF_BOTH
} IterationState;

/* The iteration of a loop of BEFORE, on a path. */
typedef struct Iteration {
    u8 state;
    u8 ahead; /* ITERATION_SAME, and iterations that BEFORE has begun since it entered the loop, less those of AFTER */
} Iteration;

enum { ITERATION_SAME = 8 }; /* Open.iteration if BEFORE passed the branch in the iteration in which AFTER is */

/* Once the states are final, and nodes show which loops are entered together: Path.iterations is NULL where no loop has a partner. */
void prove_find_loops(Prover *p, const u32 *to_after);
/* The side goes on from a block to another one. */
void prove_count_iteration(Prover *p, ProveSide side, const Block *from, const Block *to);
/* Open.iteration of a branch that BEFORE passes now; 0: it is not known. */
u32 prove_iteration_of(const Prover *p, u32 block);
const Iteration *prove_unite_iterations(Prover *p, const Iteration *a, const Iteration *b);
bool prove_same_iterations(const Prover *p, const Iteration *a, const Iteration *b);
/* This is known of two threads that are together at block `after` of AFTER. Whether they came to that branch of BEFORE in
 * the same iterations of all loops that it is in. Whoever is together in these loops must also be in the same iterations,
 * in both texts. A branch on no cycle is passed once. */
bool prove_is_same_iteration(Prover *p, u32 after, u32 block, u32 iteration, u32 other);
/* Whether threads that the branch of AFTER divides in one iteration stay apart for as long as those that the branch of
 * BEFORE divides. Both branches must be in the same loops. In the outermost one in which the threads of BEFORE do not
 * join, those of AFTER must not either. */
bool prove_keeps_parted(const Prover *p, u32 after, u32 block);
/* Whether at most one successor of the branch of BEFORE leads back to it before its threads join. */
bool prove_returns_one_way(Prover *p, u32 block);

#endif
