#include "optimize.h"

#include <stdlib.h>

#include "parse/parse.h"
#include "pipeline/options.h"

enum { WORDS_MAX = 64 };

static bool parse_flags(Options *options, char *flags, FILE *messages)
{
    char *argv[WORDS_MAX + 3] = {"ptxopt"};
    int argc = 1;
    for (char *word = strtok(flags, " "); word && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = "-";
    return options_parse(options, argc, argv, messages, messages) == OPTIONS_RUN;
}

static Optimized optimize_module(const Options *options, const char *ptx, u32 len, FILE *out, FILE *messages)
{
    Optimized result = BAD_TEXT;
    Arena arena = {0};
    Stats stats = {0};
    Diag diag;
    Str text = {ptx, len};
    diag_init(&diag, messages, "input", text);
    Module *m = parse_module(&arena, "input", text, &diag);
    if (diag.errors == 0) {
        PrintOptions print = {.reprint = options->pipeline.reprint};
        bool ok = pipeline_run(m, &options->pipeline, &diag, NULL, messages, &stats) == PIPELINE_OK;
        result = ok ? OPTIMIZED : BROKE_FUNCTION;
        if (ok)
            print_module(out, m, &print);
    }
    stats_free(&stats);
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
    return result;
}

static void take_stream(Text *t, FILE *stream, char **buffer, size_t *size)
{
    fclose(stream);
    text_append(t, *buffer, *size);
    free(*buffer);
}

Optimized optimize_text(const char *flags, const char *ptx, u32 len, Text *out, Text *messages)
{
    char words[FLAGS_BYTES], *printed = NULL, *said = NULL;
    size_t printed_size = 0, said_size = 0;
    FILE *out_stream = open_memstream(&printed, &printed_size), *message_stream = open_memstream(&said, &said_size);
    snprintf(words, sizeof words, "%s", flags);
    Options options;
    Optimized result = BAD_FLAGS;
    if (parse_flags(&options, words, message_stream))
        result = optimize_module(&options, ptx, len, out_stream, message_stream);
    options_free(&options);
    take_stream(out, out_stream, &printed, &printed_size);
    take_stream(messages, message_stream, &said, &said_size);
    return result;
}

const char *optimize_phase(u32 n)
{
    for (u32 i = 0; i < phase_table.phases; i++)
        if (phase_table.phase[i].level <= 3 && n-- == 0)
            return phase_table.phase[i].name;
    return NULL;
}
