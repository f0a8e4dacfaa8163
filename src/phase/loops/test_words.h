/* What a test in front of a loop asks, in terms of the PTX: "n > 0 as s32, n - 1 < len as u32". Made together with the test,
 * the words say what it computes. */
#ifndef PTXOPT_PHASE_LOOPS_TEST_WORDS_H
#define PTXOPT_PHASE_LOOPS_TEST_WORDS_H

#include "phase/loops/sum_builder.h"
#include "phase/phase.h"

typedef struct TestWords {
    PhaseRun *run;
    const LoopSums *sums;
    VEC(const char *) value; /* what was computed; operands name it by its place */
    VEC(RegId) named;        /* registers of the source that the words name */
    char *conditions;
    u32 count; /* of conditions */
} TestWords;

TestWords test_words_new(PhaseRun *run, const LoopSums *sums);
/* Answers an operand that stands for what op computes. */
Operand test_words_value(TestWords *w, const SumOp *op, const Operand *sources);
void test_words_compare(TestWords *w, Operand x, Cmp cmp, Operand y, u32 bits, bool is_signed);
void test_words_predicate(TestWords *w, RegId reg, bool holds);
/* All conditions, and which registers they are about, in the memory of the run; *w is freed. */
const char *test_words_end(TestWords *w);

#endif
