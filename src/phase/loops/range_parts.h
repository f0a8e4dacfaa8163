/* A loop that runs in parts: which guards go, and the rewrite. */
#ifndef PTXOPT_PHASE_LOOPS_RANGE_PARTS_H
#define PTXOPT_PHASE_LOOPS_RANGE_PARTS_H

#include "phase/loops/interval.h"

typedef struct RangeGuard {
    Block *block, *pass; /* pass: its successor where the guard holds */
    u32 saved;           /* machine instructions */
    bool is_check;       /* where it fails the thread leaves the loop, or stops */
    const char *why;     /* why it stays; NULL: it goes */
    const Instr *blamed; /* the instruction that this is about; NULL: none */
} RangeGuard;

typedef struct RangeSplit {
    Loop *loop;
    LoopSums sums;
    SumCompares compare; /* scratch */
    VEC(RangeGuard) guard;
    FnvMap guard_of; /* by Block.id of its block: the place in `guard`, plus 1 */
    LoopCounter counter;
    Instr *test; /* the latch's comparison, which counts; NULL: there is none */
    LoopInterval interval;
    BlockVec middle; /* blocks of the middle part, the header first */
    u32 gone, saved; /* guards that go, and the machine instructions that they take */
    u32 checks;      /* those of them that are checks */
    u32 size;        /* machine instructions of the copies */
    u32 trips;       /* the least iterations of the loop, */
    u32 enough;      /* and of those without guards; 1: whether it pays or not */
    u64 gain;
} RangeSplit;

static inline bool range_split_has_only_checks(const RangeSplit *s) { return s->checks == s->gone; }

/* The guard that decides the branch of b, if it goes; otherwise NULL. */
const RangeGuard *range_split_guard_at(const RangeSplit *s, const Block *b);

/* Makes the parts. */
void range_split_build(Analyses *an, RangeSplit *s);

#endif
