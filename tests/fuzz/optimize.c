#include "optimize.h"

#include <stdlib.h>

#include "check/proof/proof_threads.h"
#include "parse/parse.h"
#include "pipeline/knobs.h"
#include "pipeline/options.h"

enum { WORDS_MAX = 64 };

bool optimize_asks_prover;

static bool parse_flags(Options *options, char *flags, FILE *messages)
{
    char *argv[WORDS_MAX + 3] = {"ptxopt"};
    int argc = 1;
    for (char *word = strtok(flags, " "); word && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = "-";
    return options_parse(options, argc, argv, messages, messages) == OPTIONS_RUN;
}

static Optimized optimize_module(const Options *options, const char *ptx, u32 len, FILE *out, FILE *messages,
                                 bool *went_back)
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
        PipelineConfig config = options->pipeline;
        ProofThreads threads = {.text = NULL};
        if (config.verify_each && optimize_asks_prover)
            proof_threads_init(&threads, options, m, &config);
        bool ok = pipeline_run(m, &config, &diag, NULL, messages, &stats) == PIPELINE_OK;
        proof_threads_free(&threads);
        result = ok ? OPTIMIZED : BROKE_FUNCTION;
        if (ok)
            print_module(out, m, &print);
    }
    *went_back = stats.went_back > 0;
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

Optimized optimize_text(const char *flags, const char *ptx, u32 len, Text *out, Text *messages, bool *went_back)
{
    char words[FLAGS_BYTES], *printed = NULL, *said = NULL;
    size_t printed_size = 0, said_size = 0;
    FILE *out_stream = open_memstream(&printed, &printed_size), *message_stream = open_memstream(&said, &said_size);
    snprintf(words, sizeof words, "%s", flags);
    Options options;
    Optimized result = BAD_FLAGS;
    if (parse_flags(&options, words, message_stream))
        result = optimize_module(&options, ptx, len, out_stream, message_stream, went_back ? went_back : &(bool){false});
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

/* ---- random orders and knobs ------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void add_flag(char flags[FLAGS_BYTES], const char *format, ...)
{
    size_t len = strlen(flags);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(flags + len, FLAGS_BYTES - len, format, arguments);
    va_end(arguments);
}

/* Whether the table wants a phase that is still to come to run before this one. */
static bool must_wait(const bool *left, u32 phase)
{
    for (const PhaseOrder *order = phase_table.order; order < phase_table.order + phase_table.orders; order++)
        if (phase_find(&phase_table, order->then, strlen(order->then)).first == phase &&
            left[phase_find(&phase_table, order->first, strlen(order->first)).first])
            return true;
    return false;
}

/* Only the first run of a phase is bound to the order of the table: it may come again at any time. */
static void add_phases(Random *random, char flags[FLAGS_BYTES])
{
    bool left[PHASE_COUNT] = {false};
    u32 placed[PHASE_COUNT], n = 0, chosen = 0, chance = 20 + random_below(random, 80), again = random_below(random, 60);
    for (u32 i = 0; i < PHASE_COUNT; i++)
        chosen += left[i] = phase_table.phase[i].level <= 3 && random_percent(random, chance);
    while (n < chosen) {
        u32 next = random_below(random, PHASE_COUNT);
        if (!left[next] || must_wait(left, next))
            continue;
        left[next] = false;
        placed[n++] = next;
        do {
            add_flag(flags, "%s%s", *flags ? "," : "--phases=", phase_table.phase[next].name);
            next = placed[random_below(random, n)];
        } while (random_percent(random, again) && strlen(flags) < FLAGS_BYTES / 4);
    }
}

/* What a knob assumes of the kernel, no generated one promises. */
static bool assumes(const KnobInfo *knob) { return strstr(knob->help, "unsafe") || !strncmp(knob->help, "assume", 6); }

/* Small numbers, those around the initial one, and a few of all that it takes. */
static i64 random_number(Random *random, const KnobInfo *knob)
{
    static const u32 bounds[] = {3, 3, 12, 100, 2000, 1u << 30};
    i64 least = knob_least(knob), near = knob->number > 0 ? 2 * knob->number : 2;
    u32 kind = random_below(random, COUNT_OF(bounds) + 2);
    i64 value = least + (i64)random_below(random, kind < COUNT_OF(bounds) ? bounds[kind] : (u32)near + 1);
    return value < knob->most ? value : knob->most;
}

static void add_choice(Random *random, const KnobInfo *knob, char flags[FLAGS_BYTES])
{
    const char *word = knob->choices;
    u32 words = 1;
    for (const char *at = word; (at = strchr(at, '|')); at++)
        words++;
    for (u32 skip = random_below(random, words); skip > 0; skip--)
        word = strchr(word, '|') + 1;
    add_flag(flags, " --%s=%.*s", knob->name, (int)strcspn(word, "|"), word);
}

static void add_knob(Random *random, const KnobInfo *knob, char flags[FLAGS_BYTES])
{
    if (assumes(knob) || knob->kind == KNOB_TEXT)
        return;
    if (knob->kind == KNOB_FLAG)
        add_flag(flags, " --%s", random_percent(random, 50) ? knob->name : knob->negation);
    else if (knob->kind == KNOB_NUMBER)
        add_flag(flags, " --%s=%lld", knob->name, (long long)random_number(random, knob));
    else
        add_choice(random, knob, flags);
}

void optimize_random_flags(Random *random, char flags[FLAGS_BYTES])
{
    enum { LONGEST_FLAG = 100 };
    static const u32 chances[] = {0, 5, 10, 30};
    u32 chance = chances[random_below(random, COUNT_OF(chances))];
    *flags = '\0';
    add_phases(random, flags);
    for (u32 k = 0; k < knob_count(); k++)
        if (random_percent(random, chance) && strlen(flags) < FLAGS_BYTES - LONGEST_FLAG)
            add_knob(random, knob_info(k), flags);
}
