/* What things cost in the machine code that ptxas makes: one table (target/ptxas.def), asked by every phase that weighs a
 * rewrite. */
#ifndef PTXOPT_TARGET_PTXAS_H
#define PTXOPT_TARGET_PTXAS_H

#include "ir/ir.h"

/* Machine instructions that one more copy of i adds; at least 1 for what executes, 0 for anything else. */
u32 ptxas_cost(const Instr *i);
/* The same of i and of an instruction that reads what it computes, of which ptxas makes less than of both apart where it can. */
u32 ptxas_pair_cost(const Instr *i, const Instr *reader);
/* Whether ptxas makes nothing of i, as a rule: copies of registers, the low half of one, cvta, slots of the stack frame. */
bool ptxas_costs_nothing(const Instr *i);
/* How many 32-bit registers reg takes; a predicate counts as one. */
u32 ptxas_registers(const Function *fn, RegId reg);

#endif
