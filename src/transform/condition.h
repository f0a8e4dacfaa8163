/* The condition of a block's branch. It can be had, or its negation, as a plain comparison: `setp p; @p bra`, without a
 * negation between the two. ptxas counts and unrolls a loop only then (tests/ptxas/LOOPS.md). The phases that invert
 * branches share this. */
#ifndef PTXOPT_TRANSFORM_CONDITION_H
#define PTXOPT_TRANSFORM_CONDITION_H

#include "analysis/analyses.h"
#include "analysis/facts.h"

/* The most negations that are looked through between a comparison and its branch. */
#define CONDITION_NOTS 4

typedef enum PlainKind {
    PLAIN_NONE, /* there is no way */
    PLAIN_KEEP, /* a register holds the condition; at most the guard changes */
    PLAIN_FLIP, /* nobody else reads the comparison, so it is inverted */
    PLAIN_SWAP, /* setp p|q becomes the inverse comparison with q|p; every register keeps its value */
    PLAIN_PAIR, /* setp p becomes the inverse comparison with n|p, n a new register */
} PlainKind;

typedef struct PlainCondition {
    PlainKind kind;
    Instr *compare;                  /* the setp: FLIP, SWAP, PAIR */
    RegId reg;                       /* the new guard (PAIR: it is made when the plan is applied) */
    Instr *negation[CONDITION_NOTS]; /* not.preds that nobody needs any more */
    u32 negations;
} PlainCondition;

/* Whether the branch tests a comparison without a negation in between, as far as its block shows. */
bool condition_is_plain(const Instr *branch);

/* How the condition of `branch`, which is guarded and in a block, or its negation can be had plain. Asks for AN_LIVE, which
 * stays true when the plan is applied. */
PlainCondition condition_plain(Analyses *an, Instr *branch, bool opposite);

/* Rewrites the branch as planned. For a negation the caller exchanges the branch's target and the block's fall. */
void condition_apply(Analyses *an, Instr *branch, const PlainCondition *how);

/* The or.pred or and.pred that decides a branch, and how to have the condition or its opposite as an and.pred of comparisons:
 *
 *     setp.ge a; setp.geu b; or.pred r, a, b; @!r bra      setp.lt a; setp.ltu b; and.pred r, a, b; @r bra */
typedef struct Both {
    Instr *logic;      /* the or.pred, or the and.pred with a negated operand */
    Instr *compare[2]; /* the instructions that give its operands their values; NULL: unknown */
    bool flip[2];      /* compare[k] must be inverted; it has no other reader */
} Both;

/* Finds the two comparisons of a branch. False: there are none, or they need no change. Asks for AN_LIVE like condition_plain. */
bool condition_both(Analyses *an, Instr *branch, bool opposite, Both *found);
void condition_apply_both(Analyses *an, Instr *branch, const Both *both);

/* The value of a predicate right before `at`, if the block itself determines it. That is a mov of a constant, or a setp
 * of constants or of a register with itself. */
FactValue predicate_value(const Instr *at, RegId pred);

#endif
