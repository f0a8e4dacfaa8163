/* What things cost in the machine code that ptxas makes: prices of instructions (target/ptxas.def) and the limits
 * at which it decides otherwise (target/limits.def). Every phase that weighs a rewrite asks here. */
#ifndef PTXOPT_TARGET_PTXAS_H
#define PTXOPT_TARGET_PTXAS_H

#include "ir/ir.h"

/* PTXAS_NAME: the rows of target/limits.def. */
enum PtxasLimit {
#define LIMIT(name, value, ...) PTXAS_##name = value,
#include "target/limits.def"
};

/* Machine instructions that one more copy of i adds; at least 1 for what executes, 0 for anything else. */
u32 ptxas_cost(const Instr *i);
/* Of a block's instructions together, or a number above `most` where they cost more. */
u32 ptxas_block_cost(const Block *b, u32 most);
/* The same of i and of an instruction that reads what it computes, of which ptxas makes less than of both apart where it can. */
u32 ptxas_pair_cost(const Instr *i, const Instr *reader);
/* Whether ptxas makes nothing of i, as a rule: copies of registers, the low half of one, cvta, slots of the stack frame. */
bool ptxas_costs_nothing(const Instr *i);
/* How many 32-bit registers reg takes; a predicate counts as one. */
u32 ptxas_registers(const Function *fn, RegId reg);
/* How many registers of 32 bits ptxas can give a thread of the function, by what .maxntid, .reqntid, .minnctapersm and .maxnreg say. */
u32 ptxas_thread_registers(const Function *fn);

#endif
