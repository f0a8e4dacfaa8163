/* Integers in a loop as linear expressions (analysis/linear.h) of registers in front of the loop. */
#ifndef PTXOPT_ANALYSIS_LOOP_SUMS_H
#define PTXOPT_ANALYSIS_LOOP_SUMS_H

#include "analysis/affine.h"
#include "analysis/linear.h"
#include "base/fnvmap.h"

/* The value in iteration k, from 0 on: start + k * step modulo 2^bits; or, where it is extended, the extension of that to 64
 * bits. The step is 0 where the value does not change, and then nothing is extended. */
typedef struct LoopSum {
    LinearId start, step;
    u32 bits;
    bool extended, is_signed; /* is_signed: of the extension */
} LoopSum;

typedef struct LoopSums {
    AffineLoop in;
    const Ssa *ssa;    /* NULL: registers are not followed in front of the loop */
    const Block *from; /* the only block from which the loop is entered; NULL: there are several, or nobody asks */
    Analyses *bounds;  /* whose facts loop_compares_of asks for values that are no sums; NULL: it does not */
    LinearExprs *exprs;
    FnvMap entries;     /* by register: the LinearId of what it holds in front of the loop */
    VEC(RegId) entered; /* the registers of `entries` */
    FnvMap results;     /* by Instr: its place in `result`, plus 1; 0: it is being looked at, or its result is not known */
    VEC(LoopSum) result;
    u32 depth, in_front; /* of the definition that is looked at: in an iteration, in front of the loop */
    const Instr *blamed; /* where what the last unknown comparison compares is computed in the loop; NULL: nowhere */
} LoopSums;

/* Linear in the loop. ssa: by which registers are followed in front of it; NULL: they are not. The expressions are in `arena`. */
void loop_sums_init(LoopSums *s, Arena *arena, AffineLoop in, const Ssa *ssa);
/* Gives back what only questions about sums need. None is asked any more; the expressions stay. */
void loop_sums_close(LoopSums *s);
void loop_sums_free(LoopSums *s);

/* The instruction of the loop that gives the register its value right before `at`, in the same iteration; NULL: it is not known. */
const Instr *loop_definition(const LoopSums *s, const Instr *at, RegId reg);

/* Finds the low `bits` (32 or 64) of a register right before `at`, which stands in the loop. False: they are not known. */
bool loop_sum_of_register(LoopSums *s, const Instr *at, RegId reg, u32 bits, LoopSum *sum);
/* The same of a constant or a plain register. */
bool loop_sum_of(LoopSums *s, const Instr *at, const Operand *o, u32 bits, LoopSum *sum);

static inline bool loop_sum_is_zero(const LoopSums *s, LinearId id)
{
    return linear_at(s->exprs, id)->terms == 0 && linear_at(s->exprs, id)->constant == 0;
}
static inline bool loop_sum_is_constant(const LoopSums *s, LinearId id) { return linear_at(s->exprs, id)->terms == 0; }
static inline u64 loop_sum_constant(const LoopSums *s, LinearId id) { return linear_at(s->exprs, id)->constant; }
/* Whether all terms of the expression have negative scales. */
bool loop_sum_is_negative(const LoopSums *s, LinearId id);

#endif
