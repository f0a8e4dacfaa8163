/* Writes linear expressions in front of a loop, each once, or finds out what that would cost. */
#ifndef PTXOPT_PHASE_LOOPS_SUM_BUILDER_H
#define PTXOPT_PHASE_LOOPS_SUM_BUILDER_H

#include "analysis/loop_sums.h"
#include "ir/builder.h"

typedef struct SumBuilder {
    LoopSums *sums;
    const Builder *at; /* NULL: nothing is written */
    u32 cost;          /* in machine instructions */
    FnvMap made;       /* by LinearId: the place of its operand in `operand`, plus 1 */
    VEC(Operand) operand;
} SumBuilder;

void sum_builder_init(SumBuilder *b, LoopSums *sums, const Builder *at);
void sum_builder_free(SumBuilder *b);
Operand sum_build(SumBuilder *b, LinearId id);
/* Writes one instruction of this cost with a new register of the type; answers the register. */
Operand sum_emit(SumBuilder *b, u32 cost, Opcode opcode, OpParts parts, Type type, const Operand *sources, u32 count);

#endif
