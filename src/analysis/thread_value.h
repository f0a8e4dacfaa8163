/* Integer registers as functions of the thread. They let a phase show that two threads cannot touch one address.
 *
 * A value is tracked as long as only the thread's index in its CTA and the launch decide it. That is %tid, other special
 * registers that never change, kernel parameters, addresses of variables, constants, and pure instructions on these. Such a
 * value is the same whenever a thread computes it, in every iteration of every loop. So the same `function` in two places
 * means the same function of the thread. Everything else has no function (number 0): loads, what joins at a phi, loop
 * counters. Ranges are known of some of those too (`x & 31`).
 *
 *         mov.u32 r, %tid.x;  shl.b32 r, r, 2;  add.u32 r, r, tile;  add.u32 r, r, 8;
 *         function f, offset 8, threads that differ in .x differ by 4 (spread) to 4092 (extent); tile + [8, 4100]
 *
 * Arithmetic wraps as in PTX. One walk visits the blocks in reverse post-order, in which definitions come before what they
 * reach. It computes only what the answers are made of. It is linear, without recursion. */
#ifndef PTXOPT_ANALYSIS_THREAD_VALUE_H
#define PTXOPT_ANALYSIS_THREAD_VALUE_H

#include "analysis/linear.h"
#include "analysis/ssa.h"
#include "base/bitset.h"
#include "base/vec.h"

typedef struct ThreadValue {
    LinearId function; /* less `offset`; 0: not known. Constants also have one */
    u8 dims;           /* bit d: may depend on %tid component d; 0: the same in all threads */
    bool ranged;       /* lo and hi are known */
    SymId through;     /* the value is this variable's address plus something, however large; 0: of none that is known */
    SymId symbol;      /* the value is this variable's address and ... */
    i64 lo, hi;        /* ... a number from lo to hi (modulo 2^bits of the register); symbol 0: that number alone */
    i64 offset;
    u64 spread, extent; /* the values of two threads that differ in a component of dims are at least spread and at most
                           extent apart; spread 0: they may be equal, and extent says nothing */
} ThreadValue;

enum { THROUGH_MANY = UINT32_MAX }; /* made of an address otherwise, or of two */

typedef struct ThreadValues {
    const Function *fn;
    const Ssa *ssa;
    bool one_dimensional; /* blocks are, says the user */
    LinearExprs *exprs;   /* functions are those without a constant */
    u32 *place;           /* by ValueId: in `known`, plus 1; 0: nothing is known */
    VEC(ThreadValue) known;
    const Block *block; /* the program point that is asked about: right before `before` in the block */
    const Instr *before;
} ThreadValues;

/* asked: the registers that questions will be about; those that their values are made of are added. */
ThreadValues *thread_values_new(Arena *arena, const Function *fn, const Order *order, const Ssa *ssa, BitSet *asked,
                                bool assume_1d_blocks);
void thread_values_free(ThreadValues *t); /* what is not in the arena */

/* The value of an operand right before `before`, an instruction of b (NULL: at the end of b). The operand is a register,
 * constant, symbol or special register, maybe as the only member of an address. */
ThreadValue thread_value(ThreadValues *t, const Block *b, const Instr *before, const Operand *o);

/* The value of its low 32 bits, signed. */
ThreadValue thread_value_low(ThreadValues *t, const Block *b, const Instr *before, const Operand *o);

/* Components of %tid that together distinguish the threads of a CTA. */
u8 thread_dims(const ThreadValues *t);

#endif
