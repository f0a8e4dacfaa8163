/* Comparisons in a loop of values that are not sums (loop_sums.h), but are at most one: masked and clamped indices,
 * remainders, bytes. */
#ifndef PTXOPT_ANALYSIS_LOOP_BOUNDS_H
#define PTXOPT_ANALYSIS_LOOP_BOUNDS_H

#include "analysis/loop_compares.h"

/* Appends comparisons that are enough for the comparison of i, a setp, to hold as c has it without value and bound. False: none are
 * known, and nothing is appended. Uses AN_FACTS. */
bool loop_bound_compares(LoopSums *s, const Instr *i, SumCompare c, SumCompares *out);

#endif
