/* Whether it matters which exit of a function ptxas takes for the function's end. See exits.c. */
#ifndef PTXOPT_ANALYSIS_EXITS_H
#define PTXOPT_ANALYSIS_EXITS_H

#include "analysis/analyses.h"

/* The pairs of a branch and a point at which the threads that it divides meet only if a certain exit is the end. Pairs are
 * listed only if that matters. The snapshot also says what leads to each exit. Time and memory are linear. */
typedef struct ExitsSnapshot ExitsSnapshot;

/* The snapshot is in the arena, except for what exits_free() returns. */
ExitsSnapshot *exits_snapshot(Arena *arena, Analyses *an);
void exits_free(ExitsSnapshot *snapshot);
/* Whether something convergent is out of reach, in a function where it matters who waits for whom. Then nothing is known of exits. */
bool exits_hide_convergent(Analyses *an);
/* Whether exits, blocks, or loops are too many to tell, or the above holds. */
bool exits_unknown(const ExitsSnapshot *snapshot);
/* Compares the function before and after phases. Whether no such pair is new, and ptxas has no more reason to choose an
 * exit that has one. */
bool exits_kept(const ExitsSnapshot *before, const ExitsSnapshot *after, const Function *fn);

#endif
