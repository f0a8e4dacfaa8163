#include "check/proof/proof_threads.h"

#include <stdlib.h>

#include "check/proof/proof_steps.h"

/* Keeps the module's text as it is now, and answers the one before, to be freed; NULL where there is none. */
static char *take_text(ProofThreads *t, Str *before)
{
    Str now = {NULL, 0};
    char *old = t->text;
    *before = (Str){old, t->len};
    t->text = proof_print(t->options, t->m, &now);
    t->len = now.len;
    return old;
}

static void begin(void *user)
{
    Str before;
    free(take_text(user, &before));
}

/* That the prover cannot follow the values of a step, or refutes them, is not a fault of its threads. */
static const char *find_fault(void *user, const Function *fn)
{
    ProofThreads *t = user;
    ProveVerdict v = {.of_threads = false};
    Str before;
    char *old = take_text(t, &before);
    if (old && t->text)
        v = proof_of_step(t->options, t->m, fn, before, (Str){t->text, t->len}, true);
    free(old);
    return v.of_threads ? v.why : NULL;
}

void proof_threads_init(ProofThreads *t, const Options *options, Module *m, PipelineConfig *config)
{
    *t = (ProofThreads){.options = options, .m = m};
    config->threads = (ThreadsCheck){begin, find_fault, t};
}

void proof_threads_free(ProofThreads *t) { free(t->text); }
