/* Liveness of registers over the CFG. A guarded definition, or one of a part of a register, does not kill. The carry
 * (add.cc ... addc) is one more register: CARRY_REG. Vector registers are one unit. Where control leaves the function,
 * its `.reg` parameters and results are live. Unreachable blocks have nothing live.
 *
 * A set per block is stored only of registers that are live into a block at all, as sorted arrays. They are found by walking
 * backwards from the blocks that read a register before they write it, for a word of registers at a time (path exploration:
 * Boissinot, Brandner, Darte, de Dinechin, Rastello, "A non-iterative data-flow algorithm for computing liveness sets",
 * 2011). Time and memory are those of the result. Beyond a fixed amount (LIVE_LIMIT in live.c) the remaining registers count
 * as live everywhere. */
#ifndef PTXOPT_ANALYSIS_LIVE_H
#define PTXOPT_ANALYSIS_LIVE_H

#include "analysis/order.h"
#include "base/bitset.h"

#define CARRY_REG 0u /* RegId 0 names no register, so it is free for the carry */

typedef struct Live {
    const Function *fn;
    u32 blocks; /* ids below this one are known */
    u32 *start; /* by Block.id: live into b are regs[start[b]] .. regs[start[b + 1] - 1], ascending */
    RegId *regs;
    RegId *everywhere; /* ascending; disjoint from the above */
    u32 everywhere_count;
} Live;

Live *live_compute(Arena *arena, const Function *fn, const Order *order);

bool live_in(const Live *l, const Block *b, RegId reg);
bool live_out(const Live *l, const Block *b, RegId reg);
/* Whether the value that reg has right after i may be read. Looks at the rest of i's block. */
bool live_after(const Live *l, const Instr *i, RegId reg);
/* for (u32 k = 0; live_in_next(l, b, &k, &reg);) visits the registers live into b, each once. */
bool live_in_next(const Live *l, const Block *b, u32 *cursor, RegId *reg);
/* Puts the registers live out of b into `set` (fn->regs.n bits), or takes them out again: where registers are very many that
 * costs less than to clear the set. */
void live_out_put(const Live *l, const Block *b, BitSet *set, bool in);
/* Turns the set of registers live after i into the set live before it. */
void live_step_back(BitSet *live, const Instr *i);

/* ---- what one instruction reads and writes ---------------------------------------------------------------------- */

/* for (RegWalk w = reg_walk(i); next_read(&w);) ... w.reg: guard, carry and operands; a register may come twice.
 * next_write() likewise: w.kills tells whether nothing of the old value is left. */
typedef struct RegWalk {
    const Instr *i;
    u32 at;
    RegId reg;
    bool kills;
} RegWalk;

/* Place 0 is the guard, 1 the carry, the operand slots follow. */
static inline RegWalk reg_walk(const Instr *i) { return (RegWalk){.i = i}; }

static inline bool next_read(RegWalk *walk)
{
    const Instr *i = walk->i;
    if (walk->at == 0) {
        walk->at = 1;
        if (i->guard) {
            walk->reg = i->guard;
            return true;
        }
    }
    if (walk->at == 1) {
        walk->at = 2;
        if (instr_is(i, OPF_CARRY_IN)) {
            walk->reg = CARRY_REG;
            return true;
        }
    }
    while (walk->at < i->slots + 2u) {
        const Operand *o = &i->opnd[walk->at++ - 2];
        if (slot_is_use(o)) {
            walk->reg = o->id;
            return true;
        }
    }
    return false;
}

/* Whether nothing is left of what the register held that slot o of i writes. */
static inline bool slot_kills(const Instr *i, const Operand *o)
{
    return !i->guard && o->role == ROLE_DEF && o->sub == SUB_NONE;
}

static inline bool next_write(RegWalk *walk)
{
    const Instr *i = walk->i;
    if (walk->at < 2) {
        walk->at = 2;
        if (instr_is(i, OPF_CARRY_OUT)) {
            walk->reg = CARRY_REG;
            walk->kills = !i->guard;
            return true;
        }
    }
    while (walk->at < i->def_slots + 2u) {
        const Operand *o = &i->opnd[walk->at++ - 2];
        if (slot_is_def(o)) {
            walk->reg = o->id;
            walk->kills = slot_kills(i, o);
            return true;
        }
    }
    return false;
}

bool instr_reads(const Instr *i, RegId reg);
/* Whether i writes reg so that nothing of the old value is left. */
bool instr_kills(const Instr *i, RegId reg);
/* The last write of reg before `at`, in its block as it is now; NULL: none of the 256 instructions before it. What reaches `at`
 * from other blocks is analysis/ssa.h's to say. */
Instr *instr_last_write(const Instr *at, RegId reg);

/* Unconditionally or not. */
static inline bool instr_writes(const Instr *i, RegId reg)
{
    if (reg == CARRY_REG)
        return instr_is(i, OPF_CARRY_OUT);
    for (u32 k = 0; k < i->def_slots; k++)
        if (i->opnd[k].id == reg && slot_is_def(&i->opnd[k]))
            return true;
    return false;
}

#endif
