/* Addresses of local variables, and what is added to them, in operands and registers. In an iteration that is looked at by itself
 * (iterations.h), registers hold what they hold there. */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_ADDRESSES_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_ADDRESSES_H

#include "analysis/values.h"
#include "phase/local_to_registers/variables.h"

enum { LOCAL_SEVERAL = UINT32_MAX /* LocalVariables.of_reg: addresses of more than one variable */ };

/* What the iteration is known to leave in the register for i; NULL: nothing is known. */
const LocalHeld *local_address_held(const LocalVariables *l, const Instr *i, RegId reg);
/* The value of the register that the operand reads in i. */
ValueId local_address_value(LocalVariables *l, const Instr *i, const Operand *o);
/* The address that the operand has in i, with its offset; variable 0: none that is followed. */
LocalAddress local_address_in(LocalVariables *l, const Instr *i, const Operand *o);
/* Notes that reg holds an address of the variable (its number, plus 1) at times. */
void local_address_note(LocalVariables *l, RegId reg, u32 variable);
/* The values of a register; a widening product by a constant, as indices are multiplied, is followed to its factor. */
Range local_address_range(LocalVariables *l, const Instr *i, const Operand *o, u32 bits);

/* Whether i computes what may be an address. One of local memory has 32 bits, also where it stands in a register of 64. */
bool local_address_is_moved(const Function *fn, const Instr *i);
/* The address that such an instruction computes. */
LocalAddress local_address_of_result(LocalVariables *l, const Instr *i);

#endif
