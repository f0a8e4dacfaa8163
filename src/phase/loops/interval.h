/* The iterations of a loop in which comparisons hold, from a first one up to one before a last one. */
#ifndef PTXOPT_PHASE_LOOPS_INTERVAL_H
#define PTXOPT_PHASE_LOOPS_INTERVAL_H

#include "phase/loops/preheader.h"

/* Values that go in the same steps: base + a number from `least` to `most` + the number of the iteration * step, or - that. */
typedef struct IntervalLine {
    LinearId base, by; /* by: the step as an expression */
    i64 least, most;
    u64 step; /* its magnitude; 0: it is in a register */
    bool down;
    u32 bits;
    bool is_signed; /* as which numbers the values do not wrap */
} IntervalLine;

/* A comparison that holds from some iteration on, or up to one: of base + add, and its steps, with a bound. */
typedef struct IntervalLimit {
    u32 line;
    LinearId bound;
    i64 add;
    u32 width;
    bool is_signed;
    bool from; /* it holds from some iteration on */
    i32 past; /* is added to the bound: values that rise are less than that, or not; values that fall are greater, or not */
    bool not_negative; /* the bound must not be negative, as a signed number */
} IntervalLimit;

typedef struct LoopInterval {
    LoopSums *sums;
    const LoopCounter
        *counter; /* NULL: it is not known how often the loop runs, and all are checks */
    VEC(IntervalLine) line;
    VEC(IntervalLimit) limit;
    SumCompares check;  /* comparisons that are to hold from the first iteration on */
    SumCompares always; /* comparisons of what does not change */
} LoopInterval;

/* Adds comparisons that are to hold together. NULL, or why it is not known in which iterations one of them holds; then
 * some of the others may have been added. */
extern const char *const loop_interval_unchanged; /* the reason where none of them changes in the loop */
const char *loop_interval_add(LoopInterval *in, const SumCompare *v, u32 count);
/* Adds comparisons of a check, which is to pass from the first iteration on: NULL, or why it is not known for how long. */
const char *loop_interval_add_check(LoopInterval *in, const SumCompare *v, u32 count);
void loop_interval_free(LoopInterval *in);
/* Whether some comparison holds from some iteration on, or up to one. */
bool loop_interval_has(const LoopInterval *in, bool from);
/* Whether these iterations are to be counted down, and not ended by the counter's comparison. */
bool loop_interval_is_counted(const LoopInterval *in);

/* What is computed in front of the loop. Registers are 0 where the loop does not need them. */
typedef struct IntervalEnds {
    RegId is_long;    /* predicate: the loop runs long enough; what follows is computed only where it is true; 0: always */
    RegId known;      /* predicate: the iterations are known, and enough; 0: always */
    RegId begin, end; /* predicates: the first of them is the loop's first; the last one is the loop's last */
    Operand last
        [2]; /* what the counter's comparison compares right before the first of them, and in the last one if not counted */
    Operand many; /* how many they are */
    u32 cost;     /* machine instructions; UINT32_MAX: there are never enough */
} IntervalEnds;

/* Where it is written: the length of the loop, and what is computed for long loops. */
typedef struct IntervalPlaces {
    Builder at, rest;
} IntervalPlaces;

/* trips: a loop that runs so often is long; 0: any. least: so many iterations are enough. NULL: the cost alone is found out. */
IntervalEnds loop_interval_build(LoopInterval *in, u32 trips, u32 least, const IntervalPlaces *places);

#endif
