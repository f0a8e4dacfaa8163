/* Partial joins: where ptxas may let some threads of a branch wait for others before its reconvergence point. See joins.c. */
#ifndef PTXOPT_ANALYSIS_JOINS_H
#define PTXOPT_ANALYSIS_JOINS_H

#include "analysis/analyses.h"

/* A hash of all code by which ptxas chooses between partial joins where it matters who waits for whom; of nothing, where that matters
 * nowhere. Time and memory are linear. */
u64 joins_hash(Analyses *an);

#endif
