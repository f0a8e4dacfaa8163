/* --prove-each: every step of the pipeline is proved by itself, from text to text. */
#ifndef PTXOPT_TOOL_PROOF_STEPS_H
#define PTXOPT_TOOL_PROOF_STEPS_H

#include "pipeline/options.h"
#include "prove/prove.h"

/* What is known of a function's steps so far. */
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
/* The worst verdict of the steps of function k, or NULL where its text is no longer that of its last step. */
const ProveVerdict *proof_steps_verdict(const ProofSteps *s, u32 k, const Function *printed);

#endif
