/* What an iteration of a loop adds to a register. */
#ifndef PTXOPT_ANALYSIS_AFFINE_H
#define PTXOPT_ANALYSIS_AFFINE_H

#include "analysis/analyses.h"
#include "ir/ir.h"

enum { AFFINE_STEPS = 8 /* the most instructions by which an iteration steps a register */ };

/* A loop, of the function as these answer for it. */
typedef struct AffineLoop {
    const Loops *loops;
    const DomTree *dom;
    const Loop *loop;
} AffineLoop;

static inline AffineLoop affine_loop(Analyses *an, const Loop *loop)
{
    return (AffineLoop){an_loops(an), an_dom(an), loop};
}

/* The only instruction of the loop that writes reg, if every iteration executes it once; otherwise NULL. */
Instr *affine_only_write(const AffineLoop *in, RegId reg);
static inline Instr *affine_definition(Analyses *an, const Loop *loop, RegId reg)
{
    AffineLoop in = affine_loop(an, loop);
    return affine_only_write(&in, reg);
}

/* Whether i is an `add` or `sub` of a plain register and a constant, of 32 or 64 bits that wrap. *of and *by become the
 * register and what is added. */
bool affine_is_step(const Instr *i, RegId *of, i64 *by);

/* Whether i leaves at least the low `bits`, 32 or 64, of its source, operand *from, as they are. It converts between 32 and 64
 * bits, or sets others to zero. */
bool affine_is_cut(const Instr *i, u32 bits, u32 *from);

/* What one instruction adds to a register, or subtracts from it: nothing, a constant, or a register that the loop does not write. */
typedef struct AffineStep {
    RegId of;
    const Operand *by; /* NULL: it copies */
    bool less;
} AffineStep;

/* Finds the chain of steps from def, the only write of reg in the loop, back to what reg held before. The last step comes first.
 * They are steps of the low `bits` of registers, which may be wider. Answers their number; 0: there is no such chain. */
u32 affine_steps(const AffineLoop *in, RegId reg, u32 bits, const Instr *def, AffineStep step[AFFINE_STEPS]);

#endif
