/* --verify-each: the prover is asked of each step of the pipeline whether threads are together, and wait for one another, as before it. */
#ifndef PTXOPT_CHECK_PROOF_PROOF_THREADS_H
#define PTXOPT_CHECK_PROOF_PROOF_THREADS_H

#include "pipeline/options.h"

typedef struct ProofThreads {
    const Options *options;
    Module *m;
    char *text; /* of the module before the step that runs; NULL: no function has begun */
    u32 len;
} ProofThreads;

/* Has the pipeline call it; `t` lives until proof_threads_free(). */
void proof_threads_init(ProofThreads *t, const Options *options, Module *m, PipelineConfig *config);
void proof_threads_free(ProofThreads *t);

#endif
