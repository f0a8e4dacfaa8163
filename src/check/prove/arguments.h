/* The parameter variables of calls. A thread fills them, calls, and reads what was returned; nobody else sees them. So they
 * are values and not events: a call has equal arguments if its variables hold equal values, whatever they are named. */
#ifndef PTXOPT_CHECK_PROVE_ARGUMENTS_H
#define PTXOPT_CHECK_PROVE_ARGUMENTS_H

#include "check/prove/prover.h"

/* A part of a parameter variable of a call that was written, or, without bits, all that a call returned in it. */
struct Cell {
    SymId sym;
    u32 offset, bits;
    Term term;
    u32 owner, call, result; /* of what was returned: node, number of the call, and which of its results */
    const Cell *next;        /* older */
};

/* Whether the instruction reads or writes such a variable. */
bool prove_is_argument(const Machine *m, const Instr *i);
/* One whose guard holds on this path. */
void prove_execute_argument(Prover *p, ProveSide side, const Instr *i);

bool prove_is_variable_of_call(const Machine *m, const Operand *o);
/* Whether the variables that two calls pass hold the same. */
bool prove_same_arguments(Prover *p, const Operand *before, const Operand *after);
/* The calls returned the same, unknown, in their n-th results. */
void prove_return(Prover *p, u32 call, u32 n, const Operand *before, const Operand *after);

/* Stands on the way to a product node where it is lost what variables hold: after it that is not known. */
extern const Cell prove_cells_lost;

#endif
