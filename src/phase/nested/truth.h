/* A boolean function of predicates, like the condition of a branch that stands for several, and its cheapest form in PTX.
 *
 *     a & b & c        setp.lt.and.s32 %p, %x, %y, %q;      comparisons take the rest as their third predicate
 *     (a & b) | !c     and.pred, or.pred, not.pred          what is no comparison, or a test of bits
 *     a ? b : c        the two conjunctions, or.pred; xor.pred where c is !b
 *     x == 0 & (y & m) == 0 & z == w
 *                      logic on the values, one comparison with zero
 *
 * Which form is cheapest is what ptxas makes of it: tests/ptxas/NESTED.md. */
#ifndef PTXOPT_PHASE_NESTED_TRUTH_H
#define PTXOPT_PHASE_NESTED_TRUTH_H

#include "phase/phase.h"

/* Functions of more predicates are not built. */
#define TRUTH_LEAVES 32

typedef enum TruthKind { TRUTH_LEAF, TRUTH_AND, TRUTH_SELECT } TruthKind;

typedef struct Truth Truth;

/* A function or its negation. */
typedef struct TruthTerm {
    Truth *truth;
    bool inverted;
} TruthTerm;

struct Truth {
    u8 kind;   /* TruthKind */
    bool kept; /* LEAF: the instruction that computes the predicate stays where it is */
    u32 leaves;
    RegId reg;      /* LEAF */
    TruthTerm of[]; /* AND: both; SELECT: of[0] ? of[1] : of[2] */
};

/* A register or its negation. */
typedef struct Literal {
    RegId reg;
    bool inverted;
} Literal;

TruthTerm truth_leaf(Arena *arena, RegId reg, bool inverted);
TruthTerm truth_and(Arena *arena, TruthTerm a, TruthTerm b);
TruthTerm truth_select(Arena *arena, TruthTerm which, TruthTerm yes, TruthTerm no);
static inline TruthTerm term_not(TruthTerm t) { return (TruthTerm){t.truth, !t.inverted}; }

u32 truth_uses(const Truth *t, RegId reg); /* the number of leaves that are this register */
void truth_rename(Truth *t, RegId from, RegId to);

/* The leaf's comparison, or other definition, in the block that `at` ends; NULL: it is not there. */
Instr *truth_leaf_definition(const Instr *at, const Truth *leaf);

/* Writes t in front of b's branch, whose guard the result shall be; comparisons that only t reads move there. Every leaf
 * must hold its value at the branch, and the old guard is not read any more. Asks for AN_LIVE, which stays true for
 * registers that existed before. */
Literal truth_emit(Analyses *an, const Knobs *knobs, PhaseRun *run, Block *b, TruthTerm t);

#endif
