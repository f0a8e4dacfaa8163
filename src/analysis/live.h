/* Liveness of registers over the CFG. A guarded definition, or one of a part of a register, does not kill. The carry
 * (add.cc ... addc) is one more register: CARRY_REG. Vector registers are one unit. Where control leaves the function, its
 * `.reg` parameters and results are live. Unreachable blocks have nothing live.
 * A set per block is stored, in words that are not empty, of the registers that are live into some block. They are found by walking
 * backwards from the blocks that read a register before they write it, for a word of registers at a time. (This is path
 * exploration: Boissinot, Brandner, Darte, de Dinechin, Rastello, "A non-iterative data-flow algorithm for computing
 * liveness sets", 2011.) Time and memory are those of the result. Beyond a fixed amount (LIVE_LIMIT in live.c) the
 * remaining registers count as live everywhere. */
#ifndef PTXOPT_ANALYSIS_LIVE_H
#define PTXOPT_ANALYSIS_LIVE_H

#include "analysis/order.h"
#include "base/bitset.h"
#include "ir/reg_walk.h"

typedef struct Live {
    const Function *fn;
    u32 blocks, regs; /* ids below these are known */
    RegId *listed;    /* live into some block, ascending; from `explored` on they count as live everywhere */
    u32 listed_count, explored;
    u32 *number; /* by RegId: its place in `listed`, plus 1; 0: none */
    u32 *start;  /* by Block.id: live into b are the registers of set[start[b]] .. set[start[b + 1] - 1] */
    u64 *set;    /* bit k: listed[64 * group + k] */
    u32 *group;  /* of each set, ascending in a block */
} Live;

Live *live_compute(Arena *arena, const Function *fn, const Order *order);

bool live_in(const Live *l, const Block *b, RegId reg);
bool live_out(const Live *l, const Block *b, RegId reg);
/* Whether the value that reg has right after i may be read. Looks at the rest of i's block. */
bool live_after(const Live *l, const Instr *i, RegId reg);
/* for (u32 k = 0; live_in_next(l, b, &k, &reg);) visits the registers live into b, each once. */
bool live_in_next(const Live *l, const Block *b, u32 *cursor, RegId *reg);
/* 32-bit registers that hold reg's value: none for a predicate and the carry. */
u32 live_words_of(const Live *l, RegId reg);
/* 32-bit registers that are live into b, predicates and the carry left out; `most` where they are more. */
u32 live_words(const Live *l, const Block *b, u32 most);
/* The most 32-bit registers, as above, that are live together at a program point; 0 where it is not known. Where they are
 * more than `limit`, the answer is some number above it. */
u32 live_most_words(const Live *l, u32 limit, Arena *scratch);
/* Whether more than `limit` 32-bit registers, as above, are known to be live together. Blocks that cannot have as many are not walked. */
bool live_exceeds(const Live *l, u32 limit, Arena *scratch);
/* Puts the registers live out of b into `set` (fn->regs.n bits), or takes them out again. Where registers are very many,
 * taking them out costs less than clearing the set. */
void live_out_put(const Live *l, const Block *b, BitSet *set, bool in);

#endif
