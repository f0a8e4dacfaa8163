/* The 32-bit divisions in innermost loops whose divisor is loop-invariant. */
#ifndef PTXOPT_PHASE_DIVISION_SITES_H
#define PTXOPT_PHASE_DIVISION_SITES_H

#include "phase/phase.h"

/* A divisor, and what is computed of it in front of the loop. */
typedef struct Divisor {
    const Loop *loop;
    RegId reg;           /* what the divisions read */
    const Instr *remade; /* makes it in each iteration, of registers that the loop does not write; NULL: nothing does */
    bool is_signed;
    bool may_be_zero; /* in front of some division */
    bool always;      /* some division by it is executed in every iteration */
    /* These registers stand in front of the loop once they are built. */
    RegId value;      /* the divisor in front of the loop */
    RegId magnitude;  /* its absolute value, if it is signed */
    RegId reciprocal; /* (2^32 - 1) / magnitude */
    RegId opposite;   /* -magnitude */
    RegId is_zero;    /* a predicate */
} Divisor;

/* A div or rem. */
typedef struct Division {
    Instr *i;
    const Block *block;
    RegId dividend;
    ValueId value; /* of the dividend; 0: it has no name */
    u32 divisor;   /* its place in Divisions.divisors */
    bool is_remainder;
    bool may_be_zero; /* the divisor */
    /* These are built for it, or for an earlier division of the same operands. */
    RegId magnitude; /* the dividend's absolute value, if it is signed */
    RegId estimate;  /* the quotient of the magnitudes, or one less */
    RegId remainder; /* what the estimate leaves */
    RegId is_low;    /* a predicate: the estimate is one less */
} Division;

typedef struct Divisions {
    VEC(Division) v; /* in the order of their blocks in each loop, and in these that of the instructions */
    VEC(Divisor) divisors;
} Divisions;

/* Finds them, and reports those that stay as they are. Uses AN_DOM, AN_LOOPS, AN_FACTS and AN_SSA. */
void divisions_find(Analyses *an, PhaseRun *run, Divisions *found);
void divisions_free(Divisions *d);

#endif
