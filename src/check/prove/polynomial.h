/* Polynomials with integers for coefficients, as sums of few monomials (integers.h says what they stand for). */
#ifndef PTXOPT_CHECK_PROVE_POLYNOMIAL_H
#define PTXOPT_CHECK_PROVE_POLYNOMIAL_H

#include "base/types.h"

enum { MONOMIALS_MAX = 20, DEGREE_MAX = 4 };

typedef __int128 Wide;

typedef struct Monomial {
    Wide coef;
    u32 n;
    u32 atom[DEGREE_MAX]; /* 2 * term + whether it is read as a signed number; ascending */
} Monomial;

typedef struct Polynomial {
    u32 n;
    bool lost; /* it has grown too large: nothing is known of it */
    Monomial m[MONOMIALS_MAX];
} Polynomial;

bool polynomial_same_atoms(const Monomial *a, const Monomial *b);
/* What the second one, a divisor of the first, is to be multiplied by; its coefficient is left out. False: it is none, or
 * the product may be negative. */
bool polynomial_quotient(const Monomial *a, const Monomial *b, Monomial *by);

void polynomial_add(Polynomial *p, Monomial m);
Polynomial polynomial_constant(Wide value);
void polynomial_add_scaled(Polynomial *p, const Polynomial *q, Wide by);
Polynomial polynomial_multiply(const Polynomial *a, const Polynomial *b);
/* a - b - less. */
Polynomial polynomial_difference(const Polynomial *a, const Polynomial *b, Wide less);

/* If all monomials except a constant are multiples of a number, the constant may be rounded: up where it is asked whether
 * g is negative, and down where it is known not to be. If 4 x is at least 1, it is at least 4. */
Polynomial polynomial_rounded(const Polynomial *g, bool is_fact, bool *is_multiple);

/* g less a multiple of p, so that g no longer has the monomial `from`. What p is multiplied by is not negative. An
 * integer is not negative if f times it, and f - 1, is not. False: there is no such multiple. */
bool polynomial_subtract(const Polynomial *g, const Monomial *from, const Polynomial *p, Polynomial *left);

#endif
