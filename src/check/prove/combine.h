/* Inequalities as sums of others. */
#ifndef PTXOPT_CHECK_PROVE_COMBINE_H
#define PTXOPT_CHECK_PROVE_COMBINE_H

#include "check/prove/polynomial.h"

/* Multiplies g + 3/4 by a positive number, and subtracts multiples of facts. A fact is multiplied by a product of
 * unsigned atoms, and by a number that is not negative. So g, an integer, is not negative if the facts and `left` are
 * not. False: nothing was found to subtract that leaves no negative coefficient. */
bool polynomial_combine(const Polynomial *g, const Polynomial *const *fact, u32 facts, Polynomial *left, u32 *work);

#endif
