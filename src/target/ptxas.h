/* Costs in the machine code that ptxas makes: prices of instructions (target/ptxas.def), and the limits at which ptxas
 * decides otherwise (target/limits.def). Every phase that weighs a rewrite asks here. */
#ifndef PTXOPT_TARGET_PTXAS_H
#define PTXOPT_TARGET_PTXAS_H

#include "ir/ir.h"

/* PTXAS_NAME is the value of a row of target/limits.def. */
enum PtxasLimit {
#define LIMIT(name, value, ...) PTXAS_##name = value,
#include "target/limits.def"
};

/* The machine instructions that one more copy of i adds; at least 1 for what executes, 0 for anything else. */
u32 ptxas_cost(const Instr *i);
/* The cost of a block's instructions together; some number above `most` if they cost more. */
u32 ptxas_block_cost(const Block *b, u32 most);
/* The cost of i and of an instruction that reads its result together, which may be less than the sum of both. */
u32 ptxas_pair_cost(const Instr *i, const Instr *reader);
/* Whether ptxas, as a rule, makes nothing of i: copies of registers, the low half of one, cvta, slots of the stack frame. */
bool ptxas_costs_nothing(const Instr *i);
/* The number of 32-bit registers that reg takes; a predicate counts as one. */
u32 ptxas_registers(const Function *fn, RegId reg);
/* The number of 32-bit registers that ptxas can give a thread of the function, according to .maxntid, .reqntid,
 * .minnctapersm and .maxnreg. */
u32 ptxas_thread_registers(const Function *fn);

#endif
