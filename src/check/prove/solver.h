/* An SMT solver is asked what rewriting does not decide. It is a command that reads SMT-LIB 2 from its standard input. It
 * may be missing, die, hang, or answer nonsense; then nothing is known. */
#ifndef PTXOPT_CHECK_PROVE_SOLVER_H
#define PTXOPT_CHECK_PROVE_SOLVER_H

#include "check/prove/term.h"

typedef struct Prover Prover;

/* Changed by smt.c alone. */
typedef struct SolverTime {
    double until; /* of clock_now; 0: not asked yet */
    bool fails;   /* it is not asked any more */
} SolverTime;

/* Whether a and b are equal on this path, as far as the solver can tell in the function's time. */
bool prove_solver_equal(Prover *p, Term a, Term b);
/* Whether no values of the symbols make all these conditions true, with what the path knows. */
bool prove_solver_excludes(Prover *p, const Term *conditions, u32 n);

/* Feeds `text` to the command and answers the first word that it prints, in `word`; false: it printed none in time. */
bool prove_solver_run(const char *command, const char *text, u32 len, u32 milliseconds, char *word, u32 size);
/* The command line of z3, cvc5, boolector, bitwuzla; of another name the name itself. */
const char *prove_solver_command(const char *name);

#endif
