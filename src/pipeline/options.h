/* The command line, read into what main and the pipeline do. */
#ifndef PTXOPT_PIPELINE_OPTIONS_H
#define PTXOPT_PIPELINE_OPTIONS_H

#include <stdio.h>

#include "pipeline/pipeline.h"

typedef enum StatsForm { STATS_NONE, STATS_TEXT, STATS_JSON } StatsForm;

typedef struct Options {
    const char *input, *output; /* "-": standard input, standard output */
    const char *remarks;        /* file, "-" for standard output; NULL: none */
    StatsForm stats;
    bool time;
    PipelineConfig pipeline;
} Options;

typedef enum OptionsResult {
    OPTIONS_RUN,  /* there is a module to optimize */
    OPTIONS_DONE, /* an option asked for a text, which has been printed to `out` */
    OPTIONS_BAD,  /* a message has been printed to `messages` */
} OptionsResult;

/* Strings of the options point into argv. */
OptionsResult options_parse(Options *options, int argc, char **argv, FILE *out, FILE *messages);
void options_free(Options *options);

#endif
