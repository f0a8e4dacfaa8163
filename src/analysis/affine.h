/* The value of a register in each iteration of a loop, as an affine function of the iteration's number. */
#ifndef PTXOPT_ANALYSIS_AFFINE_H
#define PTXOPT_ANALYSIS_AFFINE_H

#include "analysis/analyses.h"
#include "ir/ir.h"

enum { AFFINE_TERMS = 4 };

typedef struct AffineTerm {
    RegId reg; /* the register's value where the loop is entered */
    u64 factor;
} AffineTerm;

/* The value in iteration k, from 0 on: the sum of the terms, start and k * step, modulo 2^bits. */
typedef struct Affine {
    AffineTerm term[AFFINE_TERMS];
    u32 terms, bits;
    u64 start, step;
} Affine;

/* Finds the low `bits` of reg right before `at`, which stands in a block of the loop that every iteration passes once.
 * False: they are unknown. The loop is innermost, and has one latch. Uses AN_DOM; linear in the size of the loop for each
 * of a few definitions. */
bool affine_value(Analyses *an, const Loop *loop, const Instr *at, RegId reg, u32 bits, Affine *value);

/* The only instruction of the loop that writes reg, if every iteration executes it once; otherwise NULL. */
Instr *affine_definition(Analyses *an, const Loop *loop, RegId reg);
bool affine_is_invariant(const Loop *loop, RegId reg);

/* Whether i is an `add` or `sub` of a plain register and a constant, of 32 or 64 bits that wrap. *of and *by become the
 * register and what is added. */
bool affine_is_step(const Function *fn, const Instr *i, RegId *of, i64 *by);

#endif
