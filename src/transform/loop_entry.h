/* The block in front of a loop, and what is computed there of an affine function of the loop's iterations. */
#ifndef PTXOPT_TRANSFORM_LOOP_ENTRY_H
#define PTXOPT_TRANSFORM_LOOP_ENTRY_H

#include "analysis/loop_test.h"
#include "ir/builder.h"

/* The block through which all paths enter the loop, and that leads only there. It is made where there is none. */
Block *loop_entry_block(Function *fn, const Loop *loop);

/* Whether loop_entry_sum() can make the value, since all factors are plus or minus a power of two. */
bool loop_entry_has_sum(const Affine *v);
/* The sum of the value's terms and `more`, where the loop is entered. It may be a register of one of the terms. */
Operand loop_entry_sum(const Builder *at, const Affine *v, u64 more);

#endif
