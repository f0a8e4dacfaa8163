/* The parameter variables of calls. A thread fills them, calls, and reads what was returned; nobody else sees them. So they
 * are values, not events: calls have equal arguments if their variables hold equal values, whatever their names. */
#ifndef PTXOPT_CHECK_PROVE_ARGUMENTS_H
#define PTXOPT_CHECK_PROVE_ARGUMENTS_H

#include "check/prove/prover.h"

/* Knows what the function's instructions write. To be called before the first path. */
void prove_arguments_init(Machine *m);

/* Whether the instruction reads or writes such a variable. */
bool prove_is_argument(const Machine *m, const Instr *i);
/* One whose guard holds on this path. */
void prove_execute_argument(Prover *p, ProveSide side, const Instr *i);

bool prove_is_variable_of_call(const Machine *m, const Operand *o);
/* Whether the variables that two calls pass hold the same. */
bool prove_same_arguments(Prover *p, const Operand *before, const Operand *after);
/* The calls returned the same, unknown, in their n-th results. */
void prove_return(Prover *p, u32 call, u32 n, const Operand *before, const Operand *after);

#endif
