/* 32-bit divisions, their computation by a reciprocal, and remainders. */
#ifndef PTXOPT_CHECK_PROVE_TERM_DIVISION_H
#define PTXOPT_CHECK_PROVE_TERM_DIVISION_H

#include "check/prove/term.h"

struct Function;

/* Whether the function divides 2^32 - 1 by a register, as what divides by a reciprocal does first. */
bool prove_has_reciprocal(const struct Function *fn);

/* The quotient or the remainder of a by d, made of the quotient of absolute values. */
Term prove_divide(Terms *t, bool is_remainder, bool is_signed, Term a, Term d);

/* What is computed of a divisor once: the reciprocal, the absolute value, the opposite, and whether it is zero. */
typedef enum DivisorPart { PROVE_RECIPROCAL, PROVE_ABSOLUTE, PROVE_OPPOSITE, PROVE_IS_ZERO } DivisorPart;
Term prove_divisor_part(Terms *t, DivisorPart part, Term d);
/* What x is the reciprocal or the absolute value of; 0: it is none of anything. */
Term prove_part_of(Terms *t, Term x, DivisorPart *part);

/* cond ? yes : no, where that corrects a quotient by a reciprocal, or what it leaves: as a division. 0: it is no such thing. */
Term prove_corrected(Terms *t, Term cond, Term yes, Term no);

/* x, where `cond` is true or false: choices by it near the top are made. */
Term prove_chosen(Terms *t, Term x, Term cond, bool is_true);

/* What is left of a division of 32 or 64 bits. */
typedef struct Remainder {
    Term of, by;
    bool has_sign; /* that of the dividend, a signed number */
} Remainder;
/* Whether x is one. Then x <= by - 1 modulo 2^bits, as unsigned numbers, unless it has a sign and the dividend is negative. */
bool prove_is_remainder(Terms *t, Term x, Remainder *r);

#endif
