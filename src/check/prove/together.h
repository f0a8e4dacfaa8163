/* Knowledge of the threads that passed one branch of AFTER, once all paths are known: see threads.c. */
#ifndef PTXOPT_CHECK_PROVE_TOGETHER_H
#define PTXOPT_CHECK_PROVE_TOGETHER_H

#include "check/prove/prover.h"

/* Asks of threads that diverged at the branch, those of passing `a` and of passing `b`. */
typedef bool PairTest(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b);

/* Whether threads can be together at the branch and have passed so: they took the same edges of what is open in AFTER. */
bool prove_can_be_together(const Passing *a, const Passing *b);
/* Whether those who are together in AFTER are in the same iteration of the loops that the block of BEFORE is in. */
bool prove_is_aligned(const Prover *p, u32 block);
/* Whether the passings tell of one and the same time that their threads came to this branch of BEFORE. Either it is on no
 * cycle, or both came there since their last event. */
bool prove_is_same_time(const Prover *p, const Open *x, const Open *y);
/* Whether the branch of BEFORE, as it is in two passings, divided their threads. */
bool prove_were_divided_at(const Prover *p, const Open *x, const Open *y);
/* Whether it divided threads that came together to the branch of AFTER, or in one iteration of its loop. */
bool prove_were_parted_before(Prover *p, u32 after, const Open *x, const Open *y);
/* Whether the branch of BEFORE, open for the threads of `a`, has not divided them from those of `b`. Those that are together at the
 * last event of texts that are aligned were not divided before it. */
bool prove_went_together(Prover *p, const Passing *a, const Passing *b, u32 before);
/* Whether the test holds of all pairs of threads that diverged at the branch, one of which the path came by. */
bool prove_all_pairs(Prover *p, const OpenAtEvent *m, const Open *open, PairTest *test);
/* Whether a branch that is open in AFTER covers that of BEFORE: threads that are together since they passed it were not divided there. */
bool prove_is_covered(Prover *p, const Opens *after, u32 before);
/* The first branch that is open in BEFORE and that none open in AFTER covers; NULL: all are. */
const Open *prove_not_covered(Prover *p, const OpenAtEvent *m);
/* Finds the regions of BEFORE whose iterations the threads that are together in AFTER need not share: p->threads.unaligned. */
void prove_align(Prover *p);

#endif
