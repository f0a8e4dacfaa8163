/* Optimizes one file as the options say. */
#ifndef PTXOPT_PIPELINE_OPTIMIZE_H
#define PTXOPT_PIPELINE_OPTIMIZE_H

#include "pipeline/options.h"

/* The exit status of a program. */
typedef enum ToolStatus { TOOL_OK = 0, TOOL_BAD_INPUT = 1, TOOL_INTERNAL = 70 } ToolStatus;

/* What --prove and --verify-each need from a program that links the prover. */
typedef struct Validator {
    /* Called before the phases if the options ask for one of them. It may have the pipeline call it after each of its steps.
     * The result lives as long as the module. */
    void *(*begin)(const Options *options, Module *m, Stats *stats, PipelineConfig *config);
    /* Called after the phases with that result. `good`: the phases ended without an error. */
    void (*end)(void *proof, bool good, Diag *diag, FILE *remarks);
} Validator;

/* Optimizes the file that the options name into their output; messages go to standard error. validator: NULL where there is
 * no prover, so --prove is an error, and --verify-each does not ask about threads. */
ToolStatus optimize_file(const Options *options, const Validator *validator);

/* Reports, by errno, why a file cannot be read or written. */
ToolStatus optimize_file_error(const char *what, const char *path);

#endif
