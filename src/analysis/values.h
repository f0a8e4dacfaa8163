/* What is known of a register at a point, on every path there or on the path over one edge. It is the truth of a
 * predicate, or the range of an integer. It is found lazily, from the point upwards: from what the block wrote before,
 * what the edge's branch says, and what dominating branches say (facts.h). Then the one definition that reaches the point
 * is asked, which passes the question on to its operands, a few steps far. What definitions elsewhere give is remembered;
 * a query costs a bounded number of steps. */
#ifndef PTXOPT_ANALYSIS_VALUES_H
#define PTXOPT_ANALYSIS_VALUES_H

#include "analysis/ranges.h"

/* Assumptions that a query may make beside the facts. */
enum { GIVEN_SELECTS = 6, GIVEN_REGS = 4, GIVEN_COMPARES = 16 };
enum { GIVEN_NO_COMPARES = UINT32_MAX };
typedef struct Given {
    struct {
        const Instr *selp;
        bool first;
    } select[GIVEN_SELECTS]; /* which operand it takes; for those on the path */
    u32 selects;
    const Block *top; /* where it begins, ... */
    struct {
        RegId reg;
        u64 value;
    } reg[GIVEN_REGS]; /* ... registers hold these values */
    u32 regs;
    u32 compares; /* that are looked at for one register, GIVEN_COMPARES at most; 0: a few */
} Given;

/* The range of the low `bits` of the register. */
Range value_of_register(const Facts *f, ProgramPoint point, RegId reg, u32 bits);

/* The successor of b to which its branch or table leads those that came from `from`, or from anywhere (NULL); NULL: not known.
 * *undecided: the first selp on the path, in the point's block or the one before, whose predicate is not known; NULL: none. */
Block *value_of_branch_given(const Facts *f, const Block *from, Block *b, const Given *given, Instr **undecided);
Range value_of_register_given(const Facts *f, ProgramPoint point, RegId reg, u32 bits, const Given *given,
                              Instr **undecided);

#endif
