/* A test in front of a loop that decides comparisons in all its iterations: that they hold whenever they are made. */
#ifndef PTXOPT_PHASE_LOOPS_DECIDE_H
#define PTXOPT_PHASE_LOOPS_DECIDE_H

#include "phase/loops/comparisons.h"

/* A comparison that ends the loop where it fails: of a value that goes in even steps towards a bound. The distance is how far it
 * has gone from the first iteration to the last one, at most; a multiple of the step where that is a constant. */
typedef struct LoopCounter {
    SumCompare compare;
    const Block *block; /* whose branch the comparison decides */
    LinearId step;      /* its magnitude */
    u64 constant;       /* the step, if it is a constant; otherwise 0 */
    bool down;
    bool alone; /* no other comparison decides that branch */
} LoopCounter;

/* Comparisons that one test decides: their values are start + add + (distance + times) * factor, or start - distance * factor,
 * where add and times are at most those below. */
typedef struct DecideGroup {
    SumCompare compare; /* with the least start */
    LinearId factor;    /* a magnitude */
    bool down;
    bool iterations; /* their number stands for the distance */
    bool early;      /* the comparison is made before the counter's in an iteration */
    u64 add, times;
} DecideGroup;

typedef struct LoopDecision {
    LoopSums *sums;
    const LoopCounter *counter; /* NULL: none */
    VEC(DecideGroup) group;
    RegId trips; /* how often the loop runs, where the test passes; 0: it was not written */
} LoopDecision;

/* Whether the comparison, which decides the branch of the block, counts. */
bool loop_counter_read(LoopSums *s, const SumCompare *compare, const Block *block, LoopCounter *counter);

/* Adds a comparison to those that are decided. early: it is made before the counter's in an iteration. NULL, or why it cannot
 * be decided; then nothing is added. */
const char *loop_decision_add(LoopDecision *d, const SumCompare *compare, bool early);
void loop_decision_free(LoopDecision *d);

/* The cost of the test in machine instructions; UINT32_MAX: it would always fail. */
u32 loop_decision_cost(LoopDecision *d);
/* Writes the test; answers the predicate that is true where all comparisons hold in all iterations; 0: they always do. trips: writes
 * how often a loop whose latch counts runs, if that is known exactly. */
RegId loop_decision_build(LoopDecision *d, const Builder *at, bool trips);

#endif
