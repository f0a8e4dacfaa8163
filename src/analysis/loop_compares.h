/* Comparisons of a loop's counters with loop invariants, as linear expressions, and the branches that they decide. */
#ifndef PTXOPT_ANALYSIS_LOOP_COMPARES_H
#define PTXOPT_ANALYSIS_LOOP_COMPARES_H

#include "analysis/loop_sums.h"

/* `value cmp bound` as numbers of `width` bits. Where `predicate` is set, it is a register that does not change instead. */
typedef struct SumCompare {
    LoopSum value;
    LinearId bound;
    u32 width;
    Cmp cmp; /* EQ NE LT LE GT GE */
    bool is_signed;
    RegId predicate;
    bool holds; /* the value that the predicate must have */
} SumCompare;

static inline bool cmp_is_below(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_LE; }
static inline bool cmp_is_strict(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_GT; }

typedef VEC(SumCompare) SumCompares;

/* Appends comparisons that together make the branch of a block continue at `pass`. NULL, or why they are not known; s->blamed
 * is then the instruction of the loop that the reason is about, if there is one. bounds: by whose facts values are bounded that are no
 * sums (loop_bounds.h): the branch may continue there although the comparisons fail. NULL: it does exactly where they hold. */
const char *loop_compares_of(LoopSums *s, const Block *b, const Block *pass, SumCompares *out, Analyses *bounds);

#endif
