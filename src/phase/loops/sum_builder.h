/* Writes linear expressions in front of a loop, each once, or finds out what that would cost. */
#ifndef PTXOPT_PHASE_LOOPS_SUM_BUILDER_H
#define PTXOPT_PHASE_LOOPS_SUM_BUILDER_H

#include "analysis/loop_sums.h"
#include "ir/builder.h"

struct TestWords;

typedef struct SumBuilder {
    LoopSums *sums;
    const Builder *at;       /* NULL: nothing is written */
    struct TestWords *words; /* are made instead; NULL: none */
    u32 cost;                /* in machine instructions */
    FnvMap made;             /* by LinearId: the place of its operand in `operand`, plus 1 */
    VEC(Operand) operand;
} SumBuilder;

void sum_builder_init(SumBuilder *b, LoopSums *sums, const Builder *at);
void sum_builder_free(SumBuilder *b);
Operand sum_build(SumBuilder *b, LinearId id);

/* An instruction to write: its opcode, the type of its new register, and what it costs in machine instructions. */
typedef struct SumOp {
    Opcode opcode;
    OpParts parts;
    Type type;
    u32 cost;
} SumOp;

/* Writes one instruction, and answers its new register. */
Operand sum_emit(SumBuilder *b, SumOp op, const Operand *sources, u32 count);

#endif
