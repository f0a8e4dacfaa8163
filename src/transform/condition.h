/* The condition of a block's branch, and how to have it, or its opposite, as a plain comparison: `setp p; @p bra`, with no
 * negation between the two. ptxas counts and unrolls a loop only then (tests/ptxas/LOOPS.md). Shared by the phases that
 * invert branches. */
#ifndef PTXOPT_TRANSFORM_CONDITION_H
#define PTXOPT_TRANSFORM_CONDITION_H

#include "analysis/facts.h"
#include "analysis/analyses.h"

/* Negations that can be looked through between a comparison and its branch. */
#define CONDITION_NOTS 4

typedef enum PlainKind {
    PLAIN_NONE, /* cannot be had */
    PLAIN_KEEP, /* a register holds it: only the guard changes, if anything */
    PLAIN_FLIP, /* nobody else reads the comparison: it is inverted */
    PLAIN_SWAP, /* setp p|q becomes the inverse comparison with q|p: every register keeps its value */
    PLAIN_PAIR, /* setp p becomes the inverse comparison with n|p, n a new register */
} PlainKind;

typedef struct Plain {
    PlainKind kind;
    Instr *compare;                  /* the setp: FLIP, SWAP, PAIR */
    RegId reg;                       /* the guard to be (PAIR: made when applied) */
    Instr *negation[CONDITION_NOTS]; /* not.preds that nobody needs any more */
    u32 negations;
} Plain;

/* Whether the branch tests a comparison without a negation in between, as far as its block tells. */
bool condition_is_plain(const Instr *branch);

/* How the condition of `branch` (guarded, in a block) or its opposite can be had plain. Asks for AN_LIVE, which stays true
 * when the answer is applied. */
Plain condition_plain(Analyses *an, Instr *branch, bool opposite);

/* Puts it under the branch. For an opposite the caller exchanges the branch's target and the block's fall. */
void condition_apply(Analyses *an, Instr *branch, const Plain *how);

/* The or.pred or and.pred that decides a branch, and how to have the condition or its opposite as an and.pred of comparisons:
 *
 *     setp.ge a; setp.geu b; or.pred r, a, b; @!r bra      setp.lt a; setp.ltu b; and.pred r, a, b; @r bra */
typedef struct Both {
    Instr *logic;      /* the or.pred, or the and.pred with a negated operand */
    Instr *compare[2]; /* what gives its operands their values, NULL: not known */
    bool flip[2];      /* compare[k] has to be inverted: it has no other reader */
} Both;

/* False when it cannot be had, or is there already. Asks for AN_LIVE like condition_plain. */
bool condition_both(Analyses *an, Instr *branch, bool opposite, Both *found);
void condition_apply_both(Analyses *an, Instr *branch, const Both *both);

/* The write that gives `reg` its value at `at` within at's block, if it is unguarded and gives all of it; else NULL. */
Instr *local_definition(const Instr *at, RegId reg);

/* The value of a predicate right before `at`, if the block itself tells: mov of a constant, setp of constants or of a
 * register with itself. */
FactValue predicate_value(const Instr *at, RegId pred);

#endif
