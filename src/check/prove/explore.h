/* Explores the product of both functions until it is proved, or the proof has failed. */
#ifndef PTXOPT_CHECK_PROVE_EXPLORE_H
#define PTXOPT_CHECK_PROVE_EXPLORE_H

#include "check/prove/prover.h"

void prove_explore(Prover *p); /* product.c */
/* All paths from where both sides stand: they end in nodes, in ends that match, or fail. */
void prove_explore_path(Prover *p);
/* Every register that can be read before it is written holds garbage. */
void prove_fill_with_garbage(Machine *m);
/* Executes both sides on the numbers of p->t.seed, for so many events: whether they came to differ. */
bool prove_replay(Prover *p, u32 events, const char **why);

#endif
