/* A single execution: symbols and applications as numbers. Simple operations are computed as by the machine; for others,
 * the result is a number made from the operands, and `guessed` says so. */
#ifndef PTXOPT_CHECK_PROVE_NUMBER_H
#define PTXOPT_CHECK_PROVE_NUMBER_H

#include "check/prove/term.h"

Term prove_number_of(Terms *t, SymKindOf kind, u32 detail, u32 part, u32 bits);
/* 0: an operand is no number. */
Term prove_number_from(Terms *t, u32 name, u32 bits, const Term *kids, u32 n);
/* PROVE_FEQ ... of two numbers as floats of the type that the name begins with. */
u32 prove_float_relation(Terms *t, u32 name, Term a, Term b);

#endif
