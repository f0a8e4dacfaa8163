/* Inside of integers.c: integers that terms stand for, and what facts say of them as inequalities of polynomials. */
#ifndef PTXOPT_CHECK_PROVE_INEQUALITIES_H
#define PTXOPT_CHECK_PROVE_INEQUALITIES_H

#include "check/prove/integers.h"
#include "check/prove/polynomial.h"
#include "check/prove/prover.h"

enum {
    INTEGERS_FACTS = 96,         /* that are read */
    INTEGERS_LEVELS = 4,         /* how often a sum is asked of that is in a fact by which another one is shown */
    INTEGERS_SUBTRACTIONS = 6,   /* of facts, one after the other */
    INTEGERS_INEQUALITIES = 320, /* that facts give */
    INTEGERS_LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT,
    INTEGERS_MORE = 1u << PROVE_SLT_UGT | 1u << PROVE_SGT_UGT,
    INTEGERS_SIGNED_LESS = 1u << PROVE_SLT_ULT | 1u << PROVE_SLT_UGT,
    INTEGERS_SIGNED_MORE = 1u << PROVE_SGT_ULT | 1u << PROVE_SGT_UGT,
    INTEGERS_EQUAL = 1u << PROVE_EQ
};

/* Polynomials that are not negative, by the facts of one moment. */
typedef struct Inequalities {
    u32 n;
    bool made;
    const Polynomial *v[INTEGERS_INEQUALITIES];
} Inequalities;

struct Integers {
    Prover *p;
    Arena arena;
    u32 moment, tries;
    Inequalities known[INTEGERS_LEVELS];
    FnvMap read;           /* by term, reading and level: the polynomial */
    VecU32 sums, products; /* in facts, of several terms: parts of others */
    VecU32 masked;         /* in facts and questions: numbers that are shifted or masked, and remainders */
};

Wide integers_least(u32 bits, bool is_signed);
Wide integers_greatest(u32 bits, bool is_signed);

/* x as an atom of its own. */
Polynomial integers_atom(Integers *z, Term x, bool is_signed);
/* An integer that is x modulo 2 to the power of its width. */
Polynomial integers_congruent(Integers *z, Term x, bool is_signed, u32 level);
/* The polynomial that is the number x. */
Polynomial integers_read(Integers *z, Term x, bool is_signed, u32 level);

/* Adds what is known of a number that is shifted or masked, and of a remainder. */
void integers_know(Integers *z, Inequalities *known, Term x, u32 level);
/* Whether facts of the level below show it, by few of them if possible. z->tries bounds the search. */
bool integers_not_negative(Integers *z, const Polynomial *g, u32 level, u32 depth);

#endif
