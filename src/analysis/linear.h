/* Linear expressions: constant + sum of scale * term, modulo 2 to the power of their width. Equal expressions are one LinearId,
 * so that equality is a comparison; expressions that differ in the constant alone share their `base`.
 *
 * A term is a value about which no more is known. It is that of a register, of an operation on other expressions, or of a
 * 32-bit expression extended to 64. Extension is not carried through sums here: whoever can prove that they do not wrap
 * adds extended expressions. */
#ifndef PTXOPT_ANALYSIS_LINEAR_H
#define PTXOPT_ANALYSIS_LINEAR_H

#include "base/index.h"
#include "base/vec.h"

typedef u32 TermId;   /* 0: none */
typedef u32 LinearId; /* 0: none */

enum { LINEAR_TERMS = 8 /* beyond, there is no expression */ };

typedef struct Scaled {
    TermId term;
    u64 scale; /* not 0; the low bits that the expression has */
} Scaled;

typedef struct LinearExpr {
    u32 bits, terms;
    u64 constant;
    LinearId base; /* the same without the constant */
    Scaled term[]; /* ascending */
} LinearExpr;

typedef enum TermKind { TERM_VALUE, TERM_OPERATION, TERM_SIGNED, TERM_UNSIGNED, TERM_LOW } TermKind;

typedef struct LinearTerm {
    u32 kind;
    u32 bits;
    u32 zeros; /* so many low bits are known to be zero */
    /* VALUE: any number; OPERATION: LinearIds; SIGNED, UNSIGNED: the LinearId extended; LOW: the TermId cut */
    u32 operand[4];
    const void *tag; /* OPERATION: what it does */
    LinearId alone;  /* the expression that is this term and nothing else; 0: not made yet */
} LinearTerm;

typedef struct LinearExprs {
    Arena *arena;
    VEC(LinearExpr *) exprs;
    VEC(LinearTerm) terms;
    HashIndex expr_index, term_index;
} LinearExprs;

LinearExprs *linear_new(Arena *arena);
void linear_free(LinearExprs *f);
void linear_shrink(LinearExprs *f); /* gives spare room back */

static inline const LinearExpr *linear_at(const LinearExprs *f, LinearId id) { return f->exprs.v[id]; }

TermId term_value(LinearExprs *f, u32 bits, u32 value); /* to be asked for once for each value */
TermId term_operation(LinearExprs *f, u32 bits, const void *tag, const LinearId operand[4], u32 zeros);
LinearId linear_constant(LinearExprs *f, u32 bits, u64 constant);
LinearId linear_term(LinearExprs *f, TermId id);
LinearId linear_sum(LinearExprs *f, LinearId a, LinearId b, u64 scale); /* a + scale * b, of one width; 0: too many terms */
LinearId linear_scale(LinearExprs *f, LinearId a, u64 scale);
/* 32 bits to 64: a term, unless a is a constant. */
LinearId linear_extend(LinearExprs *f, LinearId a, bool is_signed);
LinearId linear_low(LinearExprs *f, LinearId a); /* the low 32 of 64 bits; 0: too many terms */
u32 linear_zeros(const LinearExprs *f, LinearId a);
/* Whether b - a is a constant, as a signed number. */
bool linear_difference(const LinearExprs *f, LinearId a, LinearId b, i64 *difference);

#endif
