/* A comparison by which a loop goes on or not: of an affine function of the number of the iteration with a bound that stays. */
#ifndef PTXOPT_TRANSFORM_LOOP_TEST_H
#define PTXOPT_TRANSFORM_LOOP_TEST_H

#include "transform/affine.h"

typedef struct LoopTest {
    Instr *compare; /* an unguarded setp of integers of 32 or 64 bits */
    const Operand *bound;
    RegId compared; /* the other operand of the comparison */
    Cmp cmp;        /* compared cmp bound, and the loop goes on */
    Type type;      /* that it compares as */
    Affine value;   /* of what is compared */
} LoopTest;

/* Whether i is an unguarded comparison of two integers of 32 or 64 bits, into one predicate and nothing else. */
bool loop_test_is_compare(const Instr *i);
/* Of a setp that every iteration executes once. opposite: the loop goes on where it is false. False: it is no such comparison. As
 * affine_value. */
bool loop_test_read(Analyses *an, const Loop *loop, Instr *compare, bool opposite, LoopTest *test);
/* Whether ptxas counts by it: a counter that goes up is compared to be below, one that goes down to be above, either to be unequal. */
bool loop_test_runs_towards_bound(const LoopTest *test);
/* After how many iterations it ends the loop, or `most` if these are as many, or more; 0: not known. Asks for AN_SSA. */
u32 loop_test_trips(Analyses *an, const Loop *loop, const LoopTest *test, u32 most);

/* Whether the loop is entered from one block only, where reg holds a constant, and then which. Asks for AN_SSA. */
bool loop_entry_constant(Analyses *an, const Loop *loop, RegId reg, u64 *value);

/* A block that all who enter the loop come through, last; made where there is none. */
Block *loop_entry_block(Function *fn, const Loop *loop);

#endif
