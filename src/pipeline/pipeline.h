/* Runs phases over the functions of a module. The runner verifies, times, counts and dumps, and thaws what a phase froze.
 * It holds no state between two runs. */
#ifndef PTXOPT_PIPELINE_PIPELINE_H
#define PTXOPT_PIPELINE_PIPELINE_H

#include <stdio.h>

#include "base/diag.h"
#include "pipeline/config.h"
#include "pipeline/stats.h"

typedef enum PipelineResult {
    PIPELINE_OK,
    PIPELINE_FAILED,   /* an output could not be written */
    PIPELINE_INTERNAL, /* a phase broke its function, so the module must not be printed */
} PipelineResult;

/* remarks: where to write them, or NULL. Any answer but PIPELINE_OK comes with a message in `messages`. */
PipelineResult pipeline_run(Module *m, const PipelineConfig *config, Diag *diag, FILE *remarks, FILE *messages,
                            Stats *stats);

#endif
