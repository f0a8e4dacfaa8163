#include "pipeline/optimize.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parse/reading.h"
#include "pipeline/explain.h"
#include "base/source.h"
#include "pipeline/choice.h"
#include "pipeline/other_language.h"
#include "pipeline/output.h"
#include "pipeline/pipeline.h"

ToolStatus optimize_file_error(const char *what, const char *path)
{
    int error = errno;
    if (strcmp(path, "-") == 0)
        fprintf(stderr, "ptxopt: error: cannot %s standard %s: %s\n", what, strcmp(what, "read") == 0 ? "input" : "output",
                strerror(error));
    else
        fprintf(stderr, "ptxopt: error: cannot %s '%s': %s\n", what, path, strerror(error));
    return TOOL_BAD_INPUT;
}

static void add_seconds(Stats *stats, StepTimed step, double since) { stats->step[step] += stats_clock(stats) - since; }

/* Closes the remarks; false: not all could be written. Remarks are written as they come, since those before an internal
 * error help to find it. */
static bool close_remarks(FILE *remarks)
{
    bool ok = fflush(remarks) == 0 && !ferror(remarks);
    return (remarks == stdout || fclose(remarks) == 0) && ok;
}

static ToolStatus run_pipeline(const Options *options, const Validator *validator, Module *m, Diag *diag, Stats *stats)
{
    static const ToolStatus status[] = {
        [PIPELINE_OK] = TOOL_OK, [PIPELINE_FAILED] = TOOL_BAD_INPUT, [PIPELINE_INTERNAL] = TOOL_INTERNAL};
    FILE *remarks = NULL;
    if (options->remarks) {
        remarks = output_stream(options->remarks);
        if (!remarks)
            return optimize_file_error("write", options->remarks);
    }
    Arena arena = {0};
    PipelineConfig config = options->pipeline;
    Explanation *explanation = options->explain ? explain_begin(&arena, config.remark_taker) : NULL;
    if (explanation)
        config.remark_taker = explain_taker(explanation);
    void *proof = validator ? validator->begin(options, m, stats, &config) : NULL;
    PipelineResult result = pipeline_run(m, &config, diag, remarks, stderr, stats);
    if (validator)
        validator->end(proof, result == PIPELINE_OK, diag, remarks);
    if (explanation && result == PIPELINE_OK)
        explain_print(options->explain_to_messages ? stderr : stdout, explanation, m,
                      config.build_name ? config.build_name : diag->file);
    if (explanation)
        explain_end(explanation);
    arena_free(&arena);
    if (remarks && !close_remarks(remarks) && result == PIPELINE_OK)
        return optimize_file_error("write", options->remarks);
    return status[result];
}

static ToolStatus write_module(const Options *options, Module *m, Stats *stats)
{
    double start = stats_clock(stats);
    PrintOptions print = {.reprint = options->pipeline.reprint, .file_time = options->pipeline.file_time};
    Output output;
    if (!output_open(&output, options->output))
        return optimize_file_error("write", options->output);
    print_module(output.file, m, &print);
    if (!output_commit(&output))
        return optimize_file_error("write", options->output);
    add_seconds(stats, STEP_PRINT, start);
    return TOOL_OK;
}

static void warn_of_unmatched(const char *option, const VecGlob *globs, const Module *m)
{
    for (u32 i = 0; i < globs->n; i++)
        if (!choice_matches_some(globs->v[i], m))
            fprintf(stderr, "ptxopt: warning: %s=%s matches no function of this file\n", option, globs->v[i]);
}

static ToolStatus optimize_text(const Options *options, const Validator *validator, Str text, Stats *stats)
{
    const char *file = options->input_name                ? options->input_name
                       : strcmp(options->input, "-") == 0 ? "<stdin>"
                                                          : options->input;
    const char *hint = other_binary(text);
    if (hint) {
        fprintf(stderr, "ptxopt: error: '%s' is not PTX: %s\n", file, hint);
        return TOOL_BAD_INPUT;
    }
    Reading reading;
    double start = stats_clock(stats);
    bool good = reading_init(&reading, file, text, options->strict ? parse_module_strict : parse_module, stderr);
    add_seconds(stats, STEP_PARSE, start);
    hint = good ? NULL : other_language(text);
    if (hint)
        fprintf(stderr, "ptxopt: note: %s\n", hint);
    if (good && options->warns_unmatched) {
        warn_of_unmatched("--only-function", &options->pipeline.only, reading.module);
        warn_of_unmatched("--skip-function", &options->pipeline.skip, reading.module);
    }

    ToolStatus status = good ? run_pipeline(options, validator, reading.module, &reading.diag, stats) : TOOL_BAD_INPUT;
    if (status == TOOL_OK && (options->has_output || !options->explain))
        status = write_module(options, reading.module, stats);
    if (status == TOOL_OK)
        options_print_stats(options, stats, stderr);
    if (status == TOOL_OK && options->counts)
        *options->counts = (FunctionCounts){stats->functions, stats->changed};
    reading_free(&reading);
    return status;
}

ToolStatus optimize_file(const Options *options, const Validator *validator)
{
    if (options->prove == PROVING_NOT && !options->pipeline.verify_each)
        validator = NULL;
    if (options->prove != PROVING_NOT && !validator) {
        fputs("ptxopt: error: this program was built without the prover: --prove is not available\n", stderr);
        return TOOL_BAD_INPUT;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is reported like a full disk */
    Stats stats = {.timed = options->time, .is_unread = options->stats == STATS_NONE};
    Str text;
    double start = stats_clock(&stats);
    if (!source_read(options->input, &text))
        return optimize_file_error("read", options->input);
    add_seconds(&stats, STEP_READ, start);
    ToolStatus status = optimize_text(options, validator, text, &stats);
    stats_free(&stats);
    source_free(&text);
    return status;
}
