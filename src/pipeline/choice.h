/* Which phases run over which function. --only-function and --skip-function say it, and directives in comments of the
 * text:
 *     // ptxopt: off
 *     // ptxopt: -O1 no-tail-merge
 * A directive holds for the function in whose body it stands. Outside of all bodies it holds for every function of the
 * module. */
#ifndef PTXOPT_PIPELINE_CHOICE_H
#define PTXOPT_PIPELINE_CHOICE_H

#include "ir/ir.h"
#include "base/diag.h"
#include "pipeline/config.h"

/* The directives of one comment, or of all comments that hold for a function together. */
typedef struct Directives {
    u32 offset; /* of the comment in the text */
    bool off;
    u32 level; /* phases of higher levels do not run */
    bool without[PHASE_COUNT];
} Directives;

typedef struct Choices {
    const PipelineConfig *config;
    VEC(Directives) directives; /* in text order */
    bool *withheld;             /* by SymId of the function, then phase; NULL: nothing is withheld */
} Choices;

/* Reads the directives. A word after `ptxopt:` that means nothing is a warning in `diag`. */
void choices_init(Choices *choices, const PipelineConfig *config, const Module *m, Diag *diag);
/* Appends the phases of `config` that run over fn, in order, to `sequence`, and the phases of the clean-up that nobody
 * disabled to `cleanup`. Answers the level that holds for fn. */
u32 choices_of(const Choices *choices, const PipelineConfig *config, const Function *fn, VecU32 *sequence, VecU32 *cleanup);
void choices_free(Choices *choices);

/* Whether the pattern of --only-function or --skip-function matches a function of the module. */
bool choice_matches_some(const char *pattern, const Module *m);

#endif
