/* A test in front of a loop that decides comparisons in all iterations: they hold whenever they are made. */
#ifndef PTXOPT_PHASE_LOOPS_DECIDE_H
#define PTXOPT_PHASE_LOOPS_DECIDE_H

#include "phase/loops/preheader.h"
#include "phase/phase.h"

/* Comparisons that one test decides. Their values are start + add + (distance + times) * factor, or start - distance *
 * factor, where add and times are at most those below. */
typedef struct DecideGroup {
    SumCompare compare; /* with the least start */
    LinearId factor;    /* a magnitude */
    bool down;
    bool iterations; /* their number stands for the distance */
    bool early;      /* the comparison is made before the counter's in an iteration */
    u64 add, times;
    u32 next; /* the place of the next group with its key, plus 1; 0: none */
} DecideGroup;

typedef struct LoopDecision {
    LoopSums *sums;
    const LoopCounter *counter; /* NULL: none */
    VEC(DecideGroup) group;
    u32 last;     /* the group of the comparison that was added last */
    FnvMap first; /* by key of groups: the place of the first one, plus 1 */
    RegId trips;  /* how often the loop runs, where the test passes; 0: it was not written */
} LoopDecision;

/* Adds a comparison to those that are decided. early: it is made before the counter's in an iteration. NULL, or why it cannot
 * be decided; then nothing is added. */
const char *loop_decision_add(LoopDecision *d, const SumCompare *compare, bool early);
/* Gives back what only adding needs. */
void loop_decision_close(LoopDecision *d);
void loop_decision_free(LoopDecision *d);

/* The cost of the test in machine instructions; UINT32_MAX: it would always fail. */
u32 loop_decision_cost(LoopDecision *d);
/* Writes the test; answers the predicate that is true where all comparisons hold in all iterations; 0: they always do. trips: writes
 * how often a loop whose latch counts runs, if that is known exactly. */
RegId loop_decision_build(LoopDecision *d, const Builder *at, bool trips);
/* What the test asks, in words of the PTX. In the memory of the run. */
const char *loop_decision_words(PhaseRun *run, LoopDecision *d);

#endif
