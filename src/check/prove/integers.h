/* Comparisons by integers that do not wrap: what a path knows as inequalities of polynomials, and what follows from those. */
#ifndef PTXOPT_CHECK_PROVE_INTEGERS_H
#define PTXOPT_CHECK_PROVE_INTEGERS_H

#include "check/prove/facts.h"

typedef struct Integers Integers;

/* Whether x, a number or a relation of two, is in the set, by what the path knows: 1, 0, or -1. */
int prove_by_integers(Prover *p, Term x, SetId set);
/* Whether a is at most b, as unsigned numbers. */
bool prove_at_most(Prover *p, Term a, Term b);

void prove_integers_free(Integers *z);

#endif
