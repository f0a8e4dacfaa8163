/* The end of a proof, and what its messages say of places in the texts. */
#ifndef PTXOPT_CHECK_PROVE_VERDICT_H
#define PTXOPT_CHECK_PROVE_VERDICT_H

#include "check/prove/machine.h"
#include "check/prove/prove.h"

typedef struct Prover Prover;

/* Changed by verdict.c; its verdict also by who asks a solver, or looks for inputs. */
typedef struct Outcome {
    ProveVerdict *verdict;
    Arena *arena;      /* of the verdict's texts */
    bool failed;       /* the proof has ended */
    bool only_threads; /* each thread does the same in both texts, but not with the same others */
} Outcome;

/* Ends the proof. The first one counts. */
void prove_fail(Prover *p, ProveAnswer answer, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What failed is only which threads are together, or who waits. */
void prove_blame_threads(Prover *p);

u32 prove_line(const Function *fn, const Instr *i); /* in its text; of NULL, where the function ends */
u32 prove_branch_line(const Prover *p, ProveSide side, u32 block);
/* Where the side stands: file, line, opcode. */
const char *prove_describe(const Prover *p, ProveSide side);

#endif
