/* Extensions from 32 bits to 64 in a loop's copy, in front of which comparisons were decided. */
#ifndef PTXOPT_PHASE_LOOPS_WIDENED_H
#define PTXOPT_PHASE_LOOPS_WIDENED_H

#include "phase/loops/decide.h"

/* A group of comparisons, one of which decides the branch of a block. */
typedef struct DecidedAt {
    const Block *block;
    const DecideGroup *group;
} DecidedAt;

typedef struct WidenedCopy {
    const LoopDecision *decision;
    Block *const *of, *const *copy; /* blocks of the loop in the order in which they were found, and their copies */
    u32 blocks;
    VEC(DecidedAt) decided;
} WidenedCopy;

/* Computes extended values of one group from the first of them. */
void loop_share_widened(Analyses *an, const WidenedCopy *c);

#endif
