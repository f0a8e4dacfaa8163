/* Explores the product of both functions until it is proved, or the proof has failed. */
#ifndef PTXOPT_CHECK_PROVE_EXPLORE_H
#define PTXOPT_CHECK_PROVE_EXPLORE_H

#include "check/prove/open.h"

/* How an attempt explores, and up to where. Made by attempt.c and refute.c, and read by the others. */
typedef struct ProvePlan {
    u32 pass_limit; /* lone joins that a path passes */
    u32 step_limit;
    u32 effort_part;  /* what the size of the texts allows is divided by this; 0: by 1 */
    u64 effort_limit; /* see prove_effort() */
    u64 memory_limit; /* bytes */
    bool follows;          /* past joins to what the other side asks */
    bool counts;           /* looks for counters of AFTER that BEFORE has not; values keep their choices */
    bool iterates;         /* looks for what a loop adds in each iteration; with `counts` */
    bool restores;         /* looks again for the values of slots that changed in between */
    BitSet early;          /* barriers of BEFORE by origin that are left out as soon as it comes to them; empty: none */
    const ProveLate *late; /* found by an earlier attempt */
    u32 lates;
} ProvePlan;

void prove_explore(Prover *p); /* product.c */
/* All paths from where both sides stand: they end in nodes, in ends that match, or fail. */
void prove_explore_path(Prover *p);
/* Every register that can be read before it is written holds garbage. */
void prove_fill_with_garbage(Machine *m);
/* Executes both sides on the numbers of p->t.seed, for so many events: whether they came to differ. */
bool prove_replay(Prover *p, u32 events, const char **why);

#endif
