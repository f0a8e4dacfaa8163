/* ptxopt: reads PTX, runs the phases, writes PTX. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "parse/parse.h"
#include "parse/source.h"
#include "pipeline/options.h"
#include "pipeline/output.h"
#include "pipeline/pipeline.h"

enum ExitStatus { EXIT_OK = 0, EXIT_BAD_INPUT = 1, EXIT_INTERNAL = 70 };

enum { ERRORS_SHOWN = 20 };

static enum ExitStatus file_error(const char *what, const char *path)
{
    int error = errno;
    fprintf(stderr, "ptxopt: error: cannot %s '%s': %s\n", what, path, strerror(error));
    return EXIT_BAD_INPUT;
}

static void add_seconds(Stats *stats, StepTimed step, double since)
{
    stats->step[step] += stats_clock(stats) - since;
}

/* Remarks are written as they come: what was remarked before an internal error helps to find it. */
static bool close_remarks(FILE *remarks)
{
    bool ok = fflush(remarks) == 0 && !ferror(remarks);
    return (remarks == stdout || fclose(remarks) == 0) && ok;
}

static enum ExitStatus run_pipeline(const Options *options, Module *m, Diag *diag, Stats *stats)
{
    static const enum ExitStatus status[] = {
        [PIPELINE_OK] = EXIT_OK, [PIPELINE_FAILED] = EXIT_BAD_INPUT, [PIPELINE_INTERNAL] = EXIT_INTERNAL};
    FILE *remarks = NULL;
    if (options->remarks) {
        remarks = strcmp(options->remarks, "-") == 0 ? stdout : fopen(options->remarks, "we");
        if (!remarks)
            return file_error("write", options->remarks);
    }
    PipelineResult result = pipeline_run(m, &options->pipeline, diag, remarks, stderr, stats);
    if (remarks && !close_remarks(remarks) && result == PIPELINE_OK)
        return file_error("write", options->remarks);
    return status[result];
}

static enum ExitStatus write_module(const Options *options, Module *m, Stats *stats)
{
    double start = stats_clock(stats);
    PrintOptions print = {.reprint = options->pipeline.reprint};
    Output output;
    if (!output_open(&output, options->output))
        return file_error("write", options->output);
    print_module(output.file, m, &print);
    if (!output_commit(&output))
        return file_error("write", options->output);
    add_seconds(stats, STEP_PRINT, start);
    return EXIT_OK;
}

static void report(const Options *options, const Stats *stats)
{
    if (options->stats == STATS_TEXT)
        stats_print(stderr, stats);
    if (options->stats == STATS_JSON)
        stats_print_json(stderr, stats);
    if (options->time)
        stats_print_times(stderr, stats);
}

static enum ExitStatus optimize_text(const Options *options, Str text, Stats *stats)
{
    const char *file = strcmp(options->input, "-") == 0 ? "<stdin>" : options->input;
    Arena arena = {0};
    Diag diag;
    diag_init(&diag, stderr, file, text);
    diag.error_limit = ERRORS_SHOWN;
    double start = stats_clock(stats);
    Module *m = parse_module(&arena, file, text, &diag);
    add_seconds(stats, STEP_PARSE, start);

    enum ExitStatus status = diag.errors > 0 ? EXIT_BAD_INPUT : run_pipeline(options, m, &diag, stats);
    if (status == EXIT_OK)
        status = write_module(options, m, stats);
    if (status == EXIT_OK)
        report(options, stats);
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
    return status;
}

static enum ExitStatus optimize(const Options *options)
{
    Stats stats = {.timed = options->time};
    Str text;
    double start = stats_clock(&stats);
    if (!source_read(options->input, &text))
        return file_error("read", options->input);
    add_seconds(&stats, STEP_READ, start);
    enum ExitStatus status = optimize_text(options, text, &stats);
    stats_free(&stats);
    source_free(&text);
    return status;
}

/* The table of phases is checked once, before anything else. */
static bool table_is_sound(void)
{
    Arena arena = {0};
    const char *fault = phase_table_fault(&phase_table, &arena);
    if (fault)
        fprintf(stderr, "ptxopt: internal error: %s\n", fault);
    arena_free(&arena);
    return !fault;
}

int main(int argc, char **argv)
{
    mem_return_large();
    if (!table_is_sound())
        return EXIT_INTERNAL;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to report like a full disk */
    Options options;
    enum ExitStatus status = EXIT_BAD_INPUT;
    switch (options_parse(&options, argc, argv, stdout, stderr)) {
    case OPTIONS_RUN: status = optimize(&options); break;
    case OPTIONS_DONE: status = EXIT_OK; break;
    case OPTIONS_BAD: break;
    }
    options_free(&options);
    if (fflush(stdout) != 0 && status == EXIT_OK)
        status = file_error("write", "standard output");
    return status;
}
