/* Which phases run over which function: --only-function and --skip-function, and what comments of the text ask for,
 *     // ptxopt: off
 *     // ptxopt: -O1 no-tail-merge
 * in a function's body for that function, outside of all of them for every function of the module. */
#ifndef PTXOPT_PIPELINE_CHOICE_H
#define PTXOPT_PIPELINE_CHOICE_H

#include "ir/ir.h"
#include "base/diag.h"
#include "pipeline/config.h"

/* What one comment, or all that hold for a function together, ask for. */
typedef struct Wish {
    u32 offset; /* of the comment in the text */
    bool off;
    u32 level; /* phases of higher levels do not run */
    bool without[PHASE_COUNT];
} Wish;

typedef struct Choices {
    const PipelineConfig *config;
    VEC(Wish) wishes; /* in text order */
    bool *withheld;   /* by SymId of the function, then phase; NULL: nothing is withheld */
} Choices;

/* A word after `ptxopt:` that means nothing is a warning in `diag`. */
void choices_init(Choices *choices, const PipelineConfig *config, const Module *m, Diag *diag);
/* Appends the phases of `config` that run over fn, in order, to `sequence`, and those phases of the clean-up to `cleanup` that
 * nobody disabled. */
void choices_of(const Choices *choices, const PipelineConfig *config, const Function *fn, VecU32 *sequence,
                VecU32 *cleanup);
void choices_free(Choices *choices);

#endif
