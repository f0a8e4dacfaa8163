/* The values of a function's registers as linear expressions (analysis/linear.h). They are made through add sub mul mad shl
 * mov cvt cvta, mul.wide and mad.wide, and or/lop3 of operands without common bits. Other pure operations on equal operands
 * are equal terms. Addresses wrap as PTX computes them. A 32-bit value extended to 64 bits is the sum of its operands'
 * extensions only if their ranges prove that nothing wraps. cvta to and from global memory adds a number that no thread
 * needs to know. An address may leave the windows of other spaces on the way. There cvta.to undoes cvta, and both are
 * operations otherwise. */
#ifndef PTXOPT_ANALYSIS_LINEAR_VALUE_H
#define PTXOPT_ANALYSIS_LINEAR_VALUE_H

#include "analysis/linear.h"
#include "analysis/listing.h"
#include "analysis/values.h"
#include "base/fnvmap.h"

/* The value of one phi, given by that of another of its block: `other` plus `plus`. */
typedef struct PhiFact {
    RegId other;
    i64 plus;
} PhiFact;

typedef struct LinearValues {
    Arena arena; /* of the expressions, and of `of` */
    LinearExprs *exprs;
    const Listing *listing;
    const Function *fn;
    const Facts *facts;
    const BitSet *asked;    /* by value: its expression is, and so are those of what it is made of */
    const BitSet *computes; /* by instruction: linear_is_operation, where its value is asked for */
    u32 max_depth;          /* operations that an expression is followed through */
    const FnvMap *phis;     /* block << 32 | register -> index into phi_facts */
    const PhiFact *phi_facts;
    LinearId *of; /* by value; 0: not asked for */
    /* while expressions are computed */
    LinearId *extended[2]; /* by value of 32 bits: zero- and sign-extended; 0: not asked for yet */
    u8 *depth;             /* by value */
} LinearValues;

/* listing, facts, phis and phi_facts are the caller's, and outlive it. To be freed with linear_values_free. */
LinearValues *linear_values_compute(LinearValues setup);
void linear_values_free(LinearValues *a);

/* Whether i only computes, and something that expressions follow or compare. It may be removed when nobody reads the
 * result, and repeated where its operands hold the same values. */
bool linear_is_operation(const Instr *i);
/* A phi that is another one of its block plus a constant, in every iteration of its loop. */
bool linear_phi_follows(const LinearValues *a, u32 phi, u32 leader, i64 *plus);

#endif
