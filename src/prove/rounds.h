/* Rounds of loops, counted in both texts. Each loop of BEFORE has at most one of AFTER as its partner, in the partner of the loop around
 * it. Of a path it is known how many rounds one is ahead of the other since both were entered, in the same iteration of the loops around. */
#ifndef PTXOPT_PROVE_ROUNDS_H
#define PTXOPT_PROVE_ROUNDS_H

#include "prove/machine.h"

typedef struct Prover Prover;

/* A natural loop. One header may be that of several, each within the one before: a round of that one enters the inner ones anew. */
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

typedef enum RoundState {
    ROUND_UNKNOWN,
    ROUND_OF_BEFORE, /* BEFORE has entered the loop, and AFTER has not entered the partner since */
    ROUND_OF_AFTER,  /* the other way round */
    ROUND_OF_BOTH
} RoundState;

/* Of a loop of BEFORE, on a path. */
typedef struct Round {
    u8 state;
    u8 ahead; /* ROUND_SAME, and rounds that BEFORE has begun since it entered the loop, less those of AFTER */
} Round;

enum { ROUND_SAME = 8 }; /* Open.version if BEFORE passed the branch in the round in which AFTER is */

/* Once the states are final, and nodes show which loops are entered together: p->rounds is NULL where no loop has a partner. */
void prove_find_loops(Prover *p, const u32 *to_after);
/* The side goes on from a block to another one. */
void prove_count_round(Prover *p, ProveSide side, const Block *from, const Block *to);
/* Open.version of a branch that BEFORE passes now; 0: it is not known. */
u32 prove_round_of(const Prover *p, u32 block);
const Round *prove_unite_rounds(Prover *p, const Round *a, const Round *b);
bool prove_same_rounds(const Prover *p, const Round *a, const Round *b);
/* Whether two threads that are together at block `after` of AFTER, and of which this is known, came to that branch of BEFORE in the same
 * rounds of all loops that it is in; and whether who is together in these is in the same rounds, in both texts. A branch on no cycle
 * is passed once. */
bool prove_is_same_round(Prover *p, u32 after, u32 block, u32 round, u32 other);
/* Whether threads that the branch of AFTER parts in one round stay apart for as long as those do that the one of BEFORE parts: both are in
 * the same loops, and in the outermost one in which the threads of BEFORE do not join, neither do those of AFTER. */
bool prove_keeps_parted(const Prover *p, u32 after, u32 block);
/* Whether at most one successor of the branch of BEFORE leads back to it before its threads join. */
bool prove_returns_one_way(Prover *p, u32 block);

#endif
