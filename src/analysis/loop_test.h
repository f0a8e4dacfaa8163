/* A comparison that decides whether a loop continues: of an affine function of the iteration's number with an invariant
 * bound. */
#ifndef PTXOPT_ANALYSIS_LOOP_TEST_H
#define PTXOPT_ANALYSIS_LOOP_TEST_H

#include "analysis/loop_sums.h"

typedef struct AffineTerm {
    RegId reg; /* the register's value where the loop is entered */
    u64 factor;
} AffineTerm;

/* The value in iteration k, from 0 on: the sum of the terms, start and k * step, modulo 2^bits. */
typedef struct Affine {
    AffineTerm term[LINEAR_TERMS];
    u32 terms, bits;
    u64 start, step;
} Affine;

typedef struct LoopTest {
    Instr *compare; /* an unguarded setp of integers of 32 or 64 bits */
    const Operand *bound;
    RegId compared; /* the other operand of the comparison */
    Cmp cmp;        /* the loop continues while `compared cmp bound` holds */
    Type type;      /* the type of the comparison */
    Affine value;   /* the value of `compared` */
} LoopTest;

/* Whether i is an unguarded comparison of two integers of 32 or 64 bits, into one predicate and nothing else. */
bool loop_test_is_compare(const Instr *i);
/* Reads a setp that every iteration executes once. opposite: the loop continues where it is false. False: it is no such
 * comparison. */
bool loop_test_read(Analyses *an, const Loop *loop, Instr *compare, bool opposite, LoopTest *test);
/* The same of a loop whose sums are at hand, so that all its tests together are linear in it. */
bool loop_test_read_with(LoopSums *s, Instr *compare, bool opposite, LoopTest *test);
/* Whether ptxas counts by the test. A counter that goes up must be compared to be below, one that goes down to be above, or
 * either to be unequal. */
bool loop_test_runs_towards_bound(const LoopTest *test);
/* Whether the value that the first iteration compares is a constant. Asks for AN_SSA. */
bool loop_test_start(Analyses *an, const Loop *loop, const LoopTest *test, u64 *start);
/* The number of iterations after which the test ends the loop, at most `most`; 0: unknown. Asks for AN_SSA. */
u32 loop_test_trips(Analyses *an, const Loop *loop, const LoopTest *test, u32 most);

/* Whether the loop is entered from one block only, where reg holds a constant, which *value becomes. Asks for AN_SSA. */
bool loop_entry_constant(Analyses *an, const Loop *loop, RegId reg, u64 *value);

#endif
