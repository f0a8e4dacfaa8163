/* --prove-each: every step of the pipeline is proved by itself, from text to text. */
#ifndef PTXOPT_CHECK_PROOF_PROOF_STEPS_H
#define PTXOPT_CHECK_PROOF_PROOF_STEPS_H

#include "parse/reading.h"
#include "pipeline/options.h"
#include "check/prove/prove.h"

/* The knowledge of a function's steps so far. */
typedef struct FunctionSteps {
    char *text; /* of the module after the last step of this function; NULL: as it came in */
    u32 len;
    ProveVerdict worst; /* of all steps */
} FunctionSteps;

typedef struct ProofSteps {
    const Options *options;
    Module *m;
    Stats *stats;
    FunctionSteps *of; /* by index of the function */
} ProofSteps;

void proof_steps_init(ProofSteps *s, const Options *options, Module *m, Stats *stats);
void proof_steps_free(ProofSteps *s);
/* After a step: a function of PipelineConfig. */
void proof_steps_take(void *user, Function *fn, const char *phase);
/* The worst verdict of the steps of function k, or NULL where its text in `printed` is not that of its last step. */
const ProveVerdict *proof_steps_verdict(const ProofSteps *s, u32 k, const Reading *printed);

/* ---- texts of a module, printed and read again ---- */

/* NUL-terminated, to be freed; NULL where there is no memory for it. */
char *proof_print(const Options *options, Module *m, Str *text);
/* A module in two readings, and what all proofs of them share; callees: NULL where one of them has errors. */
typedef struct ProofTexts {
    const Reading *before, *after;
    Callees *callees;
} ProofTexts;

ProofTexts proof_texts(const Reading *before, const Reading *after, Arena *arena);
/* The verdict about function k of m in two readings; proof_unread: one of them lacks it. Memory comes from the module's
 * arena. threads_alone: see ProveOptions. */
ProveVerdict proof_of_texts(const Options *options, const Module *m, u32 k, const ProofTexts *texts, bool threads_alone);
/* The same, of fn, and texts that nobody has read yet. */
ProveVerdict proof_of_step(const Options *options, const Module *m, const Function *fn, Str before, Str after,
                           bool threads_alone);
extern const ProveVerdict proof_unread;

#endif
