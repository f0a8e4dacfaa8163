/* What prmt makes of two numbers of 32 bits: each digit of the selector takes one of their eight bytes, or its sign. */
#ifndef PTXOPT_CHECK_PROVE_PERMUTE_H
#define PTXOPT_CHECK_PROVE_PERMUTE_H

#include "check/prove/term.h"

/* 0: there is no term for it. */
Term prove_permuted(Terms *t, Term a, Term b, u32 selector);

#endif
