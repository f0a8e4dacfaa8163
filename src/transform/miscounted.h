/* Loops that ptxas 12.9 to 13.5 are known to count or to fold wrongly, if their tests have the form that it counts. */
#ifndef PTXOPT_TRANSFORM_MISCOUNTED_H
#define PTXOPT_TRANSFORM_MISCOUNTED_H

#include "analysis/analyses.h"

/* By place in AN_LOOPS: the loops of which either holds.
 *   - They hold nothing but arithmetic and branches, on registers that are functions of constants wherever they are written. What
 *     they leave is a constant; which of them ptxas folds wrongly depends on the form of their tests.
 *   - They are counted, and go on while the counter equals the bound, or moves away from it, or by an unsigned comparison with a
 *     constant that would be negative as a signed one. ptxas unrolls some of these by a wrong number of iterations.
 * In the scratch arena. Linear in the loops, and where one of them only computes, in the function. Uses AN_LOOPS and AN_DOM, and asks
 * for AN_SSA where a comparison is unsigned. */
BitSet miscounted_loops(Analyses *an);

#endif
