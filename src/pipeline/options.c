/* The command line of ptxopt, one option after the other. */
#include "pipeline/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fnvmap.h"
#include "pipeline/help.h"
#include "pipeline/knobs.h"
#include "pipeline/option_parser.h"
#include "pipeline/tuned.h"
#include "version.h"

enum { MOST_SECONDS = 1000000, MOST_JOBS = 128 };

/* ---- single options --------------------------------------------------------------------------------------------- */

static void take_phases(OptionParser *parser, const char *option, const char *list)
{
    parser->options->phases_option = option;
    parser->options->phases = list;
}

static void take_stats(OptionParser *parser, const char *form)
{
    if (!form || strcmp(form, "json") == 0)
        parser->options->stats = form ? STATS_JSON : STATS_TEXT;
    else
        option_complain(parser, "--stats takes 'json' or nothing, not '%s'", form);
}

static void take_proving(OptionParser *parser, const char *word)
{
    static const char *const words[] = {
        [PROVING_REPORT] = "report", [PROVING_REVERT] = "revert", [PROVING_STRICT] = "strict"};
    for (u32 k = PROVING_REPORT; k < COUNT_OF(words); k++)
        if (strcmp(word, words[k]) == 0) {
            parser->options->prove = (Proving)k;
            return;
        }
    option_complain(parser, "--prove takes 'report', 'revert' or 'strict', not '%s'", word);
}

static void take_bisect_limit(OptionParser *parser, const char *text)
{
    if (!knob_parse_number(text, BISECT_ALL, INT64_MAX, &parser->options->pipeline.bisect_limit))
        option_complain(parser, "--opt-bisect-limit takes a number of rewrites or -1, not '%s'", text);
}

/* Reads the word of --guard: on, off, search, all, or the path of a ptxas. `search` and `all` may be given beside a path. */
static void take_guard(Options *options, const char *word)
{
    bool off = word && strcmp(word, "off") == 0, search = word && strcmp(word, "search") == 0,
         all = word && strcmp(word, "all") == 0;
    options->guard_off = off;
    options->guard_search = !off && (search || options->guard_search);
    options->guard_all = !off && (all || options->guard_all);
    if (off)
        options->guard_by = NULL;
    else if (search || all)
        options->guard_by = options->guard_by ? options->guard_by : "";
    else
        options->guard_by = word && strcmp(word, "on") != 0 ? word : "";
}

bool option_is_target(const char *text)
{
    size_t digits = strncmp(text, "sm_", 3) == 0 ? strspn(text + 3, "0123456789") : 0;
    return digits >= 2 && digits <= 3 && strlen(text + 3) - digits <= 1 && strtol(text + 3, NULL, 10) >= 75;
}

static void take_guard_arch(OptionParser *parser, const char *text)
{
    parser->options->guard_arch = text;
    if (!option_is_target(text))
        option_complain(parser, "--guard-arch takes a target from sm_75 on, like sm_90, not '%s'", text);
}

/* Takes one word of --assume: a promise of knobs.def, or `exits`. */
static void take_promise(OptionParser *parser, Str word)
{
    PipelineConfig *pipeline = &parser->options->pipeline;
    if (str_is(word, "exits")) {
        pipeline->ignore_exits = true;
        return;
    }
    for (u32 i = 0; i < knob_count(); i++)
        if (knob_info(i)->promise && str_is(word, knob_info(i)->promise)) {
            knob_set_flag(&pipeline->knobs, knob_info(i), true);
            return;
        }
    option_complain(parser, "--assume: unknown promise '%.*s'; --help-hidden lists them", (int)word.len, word.p);
}

static void take_promises(OptionParser *parser, const char *list)
{
    for (size_t len; list; list = list[len] ? list + len + 1 : NULL) {
        len = strcspn(list, ",");
        take_promise(parser, (Str){list, (u32)len});
    }
}

static void take_count(OptionParser *parser, const char *option, const char *what, const char *text, i64 most, u32 *place)
{
    i64 count = 0;
    if (!knob_parse_number(text, 1, most, &count))
        option_complain(parser, "%s takes a number of %s, not '%s'", option, what, text);
    else
        *place = (u32)count;
}

static void take_file(OptionParser *parser, const char *option, const char *name, const char **place)
{
    if (*name == '\0')
        option_complain(parser, "%s needs a name", option);
    *place = name;
}

static void take_glob(OptionParser *parser, const char *option, const char *glob, VecGlob *globs)
{
    take_file(parser, option, glob, &glob);
    vec_push(globs, glob);
}

bool options_source_date(u64 *seconds)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    i64 number = 0;
    *seconds = 0;
    if (!text || !*text)
        return true;
    if (!knob_parse_number(text, 0, INT64_MAX, &number))
        return false;
    *seconds = number ? (u64)number : 1;
    return true;
}

static void take_reproducible(OptionParser *parser)
{
    if (!options_source_date(&parser->options->pipeline.file_time))
        option_complain(parser, "SOURCE_DATE_EPOCH is a number of seconds, not '%s'", getenv("SOURCE_DATE_EPOCH"));
    if (!parser->options->pipeline.file_time)
        parser->options->pipeline.file_time = 1;
}

static void take_option(OptionParser *parser, u32 id, const char *argument)
{
    Options *options = parser->options;
    PipelineConfig *pipeline = &options->pipeline;
    switch (id) {
    case OPTION_OUTPUT:
        take_file(parser, "-o", argument, &options->output);
        options->has_output = true;
        break;
    case OPTION_STRICT: options->strict = true; break;
    case OPTION_REPRINT: pipeline->reprint = true; break;
    case OPTION_REPRODUCIBLE: take_reproducible(parser); break;
    case OPTION_LEVEL: option_take_level(parser, argument); break;
    case OPTION_PHASES: take_phases(parser, "--phases", argument); break;
    case OPTION_PASSES: take_phases(parser, "--passes", argument); break;
    case OPTION_DISABLE: option_take_disable(parser, argument); break;
    case OPTION_ENABLE: option_take_enable(parser, argument); break;
    case OPTION_ASSUME: take_promises(parser, argument); break;
    case OPTION_OPTIMIZE_DEBUG: pipeline->optimize_debug = true; break;
    case OPTION_IGNORE_EXITS: pipeline->ignore_exits = true; break;
    case OPTION_ONLY_FUNCTION: take_glob(parser, "--only-function", argument, &pipeline->only); break;
    case OPTION_SKIP_FUNCTION: take_glob(parser, "--skip-function", argument, &pipeline->skip); break;
    case OPTION_STOP_AFTER: parser->options->stop_after = argument; break;
    case OPTION_GUARD: take_guard(options, argument); break;
    case OPTION_GUARD_ARCH: take_guard_arch(parser, argument); break;
    case OPTION_GUARD_LIMIT:
        take_count(parser, "--guard-limit", "seconds", argument, MOST_SECONDS, &options->guard_limit);
        break;
    case OPTION_TUNE: options->tune_by = argument ? argument : ""; break;
    case OPTION_TUNE_OUT: take_file(parser, "--tune-out", argument, &options->tune_out); break;
    case OPTION_TUNE_JOBS: take_count(parser, "--tune-jobs", "processes", argument, MOST_JOBS, &options->tune_jobs); break;
    case OPTION_TUNE_BUDGET:
        take_count(parser, "--tune-budget", "seconds", argument, MOST_SECONDS, &options->tune_budget);
        break;
    case OPTION_TUNE_NINJA: take_file(parser, "--tune-ninja", argument, &options->tune_ninja); break;
    case OPTION_TUNE_READ: take_file(parser, "--tune-read", argument, &options->tune_read); break;
    case OPTION_TUNED: take_glob(parser, "--tuned", argument, &parser->tuned); break;
    case OPTION_EXPLAIN: options->explain = true; break;
    case OPTION_REMARKS: take_file(parser, "--remarks", argument, &options->remarks); break;
    case OPTION_STATS: take_stats(parser, argument); break;
    case OPTION_TIME: options->time = true; break;
    case OPTION_DUMP_CFG: take_file(parser, "--dump-cfg", argument, &pipeline->dump_cfg); break;
    case OPTION_PRINT_BEFORE: option_mark_phases(parser, "--print-before", argument, true, pipeline->print_before); break;
    case OPTION_PRINT_AFTER: option_mark_phases(parser, "--print-after", argument, true, pipeline->print_after); break;
    case OPTION_VERIFY_EACH: pipeline->verify_each = true; break;
#ifdef PTXOPT_DEBUG
    case OPTION_NO_GATES: pipeline->no_gates = pipeline->ignore_exits = true; break;
#endif
    case OPTION_PROVE: take_proving(parser, argument); break;
    case OPTION_PROVE_EACH:
        options->prove_each = true;
        options->prove = options->prove == PROVING_NOT ? PROVING_REPORT : options->prove;
        break;
    case OPTION_SOLVER: options->solver = argument; break;
    case OPTION_OPT_BISECT_LIMIT: take_bisect_limit(parser, argument); break;
    case OPTION_INSTALL_SHADOW: take_file(parser, "--install-shadow", argument, &options->shadow); break;
    case OPTION_CUDA: take_file(parser, "--cuda", argument, &options->cuda); break;
    case OPTION_LIST_PHASES:
        phase_list(parser->out, &phase_table);
        parser->done = true;
        break;
    case OPTION_VERSION:
        fputs("ptxopt " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ", PTX ISA " ISA_NEWEST ")\n", parser->out);
        parser->done = true;
        break;
    case OPTION_HELP:
    case OPTION_HELP_HIDDEN:
        (id == OPTION_HELP ? help_print : help_print_all)(parser->out);
        parser->done = true;
        break;
    }
}

/* Whether the option is about the text that the library returns. */
static bool is_for_library(u32 id)
{
    static const u32 ids[] = {OPTION_STRICT,        OPTION_REPRINT,        OPTION_LEVEL,        OPTION_PHASES,
                              OPTION_PASSES,        OPTION_DISABLE,        OPTION_ENABLE,       OPTION_ASSUME,
                              OPTION_STOP_AFTER,    OPTION_OPTIMIZE_DEBUG, OPTION_IGNORE_EXITS, OPTION_TUNED,
                              OPTION_ONLY_FUNCTION, OPTION_SKIP_FUNCTION,  OPTION_STATS,        OPTION_TIME,
                              OPTION_PRINT_BEFORE,  OPTION_PRINT_AFTER,    OPTION_VERIFY_EACH,  OPTION_OPT_BISECT_LIMIT,
                              OPTION_REPRODUCIBLE};
    for (u32 k = 0; k < COUNT_OF(ids); k++)
        if (ids[k] == id)
            return true;
    return false;
}

static void take_code(OptionParser *parser, int code)
{
    const char *argument = parser->args.argument;
    if (option_take_error(parser, code))
        return;
    if (code >= NUMBERED_FIRST)
        option_take_numbered(parser, (u32)(code - NUMBERED_FIRST), argument);
    else if (code >= KNOB_FIRST)
        option_take_knob(parser, code, argument);
    else if (parser->library && !is_for_library(option_of(code)))
        option_complain(parser, "'%s' is for the command line", parser->args.word);
    else
        take_option(parser, option_of(code), argument);
}

static bool is_standard_output(const char *name) { return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0; }

/* Whether standard input is a pipe or file that somebody meant to be read; a terminal or /dev/null is not. */
static bool input_is_piped(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

static void take_operands(OptionParser *parser)
{
    Options *options = parser->options;
    u32 count = parser->args.operands.n;
    char **operand = parser->args.operands.v;
    if (parser->words) {
        if (count && !parser->foreign)
            option_complain(parser, "'%s' is no option", operand[0]);
        else if (options->shadow || options->cuda)
            option_complain(parser, "--install-shadow takes no input file: it is for the command line of ptxopt alone");
        return;
    }
    if (options->cuda && !options->shadow)
        option_complain(parser, "--cuda needs --install-shadow");
    if (options->shadow && count > 0)
        option_complain(parser, "--install-shadow takes no input file");
    else if (options->shadow)
        return;
    if (count == 0 && !parser->failed && input_is_piped())
        options->input = "-";
    else if (count == 0 && !parser->failed) /* another error may be about the word meant as input */
        option_complain(parser, "no input file");
    else if (count == 0 || parser->foreign) /* the word after a foreign option may be its argument */
        return;
    else if (count > 1)
        option_complain(parser, "more than one input file: '%s' and '%s'", operand[0], operand[1]);
    else
        options->input = operand[0];
}

static void check_outputs(OptionParser *parser)
{
    const Options *options = parser->options;
    bool is_taken = is_standard_output(options->output) && (options->has_output || !options->explain);
    if (options->remarks && is_standard_output(options->remarks) && (is_taken || options->explain))
        option_complain(parser, "the %s and its remarks cannot both go to standard output",
                        is_taken ? "module" : "explanation");
    if (options->explain && is_taken)
        option_complain(parser, "the module and its explanation cannot both go to standard output");
}

/* ---- decisions of --tune ---------------------------------------------------------------------------------------- */

static void check_tuning(OptionParser *parser)
{
    const Options *options = parser->options;
    bool tunes = options->tune_by || options->tune_read;
    if (options->tune_read && (options->tune_by || options->tune_ninja))
        option_complain(parser, "--tune-read asks no ptxas: neither --tune nor --tune-ninja go with it");
    if (options->guard_by && tunes)
        option_complain(parser, "--tune and --tune-read judge what they keep: --guard is for other runs");
    if (parser->tuned.n && tunes)
        option_complain(parser, "--tuned applies what --tune has decided: one of them is enough");
    if (options->tune_ninja && !options->tune_by)
        option_complain(parser, "--tune-ninja needs --tune");
    if (options->tune_out && !tunes)
        option_complain(parser, "--tune-out needs --tune or --tune-read");
}

/* Whoever names phases or levels, or asks about all, wants what there is. */
static bool may_be_thrifty(const Options *options)
{
    return !options->guard_all && !options->guard_search && !options->phases && options->pipeline.level < 3;
}

void options_judge(Options *options)
{
    options->pipeline.judged = true;
    options->pipeline.thrifty = may_be_thrifty(options);
}

/* A large kernel that no decision of a guard is about was left alone by it. */
static void read_decisions(OptionParser *parser)
{
    for (u32 i = 0; i < parser->tuned.n && !parser->failed; i++)
        if (!tuned_read(parser->options, parser->tuned.v[i], parser->messages))
            parser->failed = parser->said_why = true;
    for (u32 i = 0; i < parser->options->pipeline.tuned.n; i++)
        if (parser->options->pipeline.tuned.v[i].config->judged)
            parser->options->pipeline.thrifty = may_be_thrifty(parser->options);
}

static u64 hash_word(u64 hash, const char *word) { return word ? fnv_bytes(hash, word, strlen(word) + 1) : hash; }

/* Where the output goes says nothing about what it is. */
static void note_words(Options *options, int code, const ArgReader *reader)
{
    if (code != 'o')
        options->said = hash_word(hash_word(options->said, reader->word), reader->argument);
}

static OptionsResult parse(OptionParser *parser, int argc, char **argv)
{
    Options *options = parser->options;
    *options =
        (Options){.output = "-", .pipeline = {.table = &phase_table, .level = 2, .bisect_limit = BISECT_OFF}, .argc = argc};
    options->warns_unmatched = !parser->words;
    options->argv = memcpy(arena_array(&options->arena, char *, (u32)argc + 1), argv, sizeof *argv * (u32)argc);
    knobs_init(&options->pipeline.knobs);
    option_collect_old(parser);
    option_collect_known(parser);
    const char *fault = args_expand(&options->arena, &argc, &argv);
    if (fault)
        option_complain(parser, "%s", fault);
    option_find_foreign(parser, argc, argv);
    parser->args = args_start(argc, argv, "o:O:hV", parser->known.v);
    int code;
    while (!parser->done && !parser->foreign && (code = args_next(&parser->args)) != -1) {
        note_words(options, code, &parser->args);
        take_code(parser, code);
    }
    if (options->guard_by)
        options_judge(options);
    if (!parser->done && !parser->foreign) {
        option_choose_phases(parser);
        take_operands(parser);
        check_outputs(parser);
        check_tuning(parser);
        read_decisions(parser);
    }
    if (parser->failed && !parser->done && !parser->said_why && !parser->library)
        fputs("usage: ptxopt [options] [in.ptx] -o out.ptx    (ptxopt --help lists the options)\n", parser->messages);
    option_parser_free(parser);
    return parser->done ? OPTIONS_DONE : parser->failed ? OPTIONS_BAD : options->shadow ? OPTIONS_SHADOW : OPTIONS_RUN;
}

OptionsResult options_parse(Options *options, int argc, char **argv, FILE *out, FILE *messages)
{
    OptionParser parser = {.options = options, .out = out, .messages = messages};
    return parse(&parser, argc, argv);
}

static OptionsResult parse_words(OptionParser *parser, const Words *words)
{
    static char program[] = "ptxopt";
    Words argv = {0};
    vec_push(&argv, program);
    for (u32 i = 0; i < words->n; i++)
        vec_push(&argv, words->v[i]);
    vec_push(&argv, NULL);
    OptionsResult result = parse(parser, (int)argv.n - 1, argv.v);
    vec_free(&argv);
    return result;
}

OptionsResult options_parse_words(Options *options, const Words *words, FILE *out, FILE *messages)
{
    OptionParser parser = {.options = options, .out = out, .messages = messages, .words = true};
    return parse_words(&parser, words);
}

OptionsResult options_parse_library(Options *options, const Words *words, FILE *messages)
{
    OptionParser parser = {.options = options, .out = messages, .messages = messages, .words = true, .library = true};
    return parse_words(&parser, words);
}

void options_print_stats(const Options *options, const Stats *stats, FILE *out)
{
    if (options->stats == STATS_TEXT)
        stats_print(out, stats);
    if (options->stats == STATS_JSON)
        stats_print_json(out, stats);
    if (options->time)
        stats_print_times(out, stats);
}

void options_free(Options *options)
{
    vec_free(&options->pipeline.sequence);
    vec_free(&options->pipeline.only);
    vec_free(&options->pipeline.skip);
    vec_free(&options->pipeline.withheld);
    vec_free(&options->pipeline.tuned);
    vec_free(&options->pipeline.spills);
    arena_free(&options->arena);
}
