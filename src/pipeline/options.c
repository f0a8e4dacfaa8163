#include "pipeline/options.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "pipeline/help.h"
#include "pipeline/knobs.h"
#include "pipeline/suggest.h"
#include "pipeline/tuned.h"
#include "version.h"

enum OptionId {
#define HEADING(text)
#define OPTION(id, ...) OPTION_##id,
#include "pipeline/options.def"
#undef HEADING
#undef OPTION
    OPTION_COUNT
};

typedef struct OptionInfo {
    char letter;
    const char *name;
    int argument_kind;
} OptionInfo;

static const OptionInfo option_row[] = {
#define HEADING(text)
#define OPTION(id, letter, name, kind, ...) {letter, name, kind},
#include "pipeline/options.def"
#undef HEADING
#undef OPTION
};

/* What args_next answers: OPTION_FIRST + OptionId, or KNOB_FIRST + 2 * knob (+ 1: --no-). */
enum { OPTION_FIRST = 0x100, KNOB_FIRST = OPTION_FIRST + COUNT_OF(option_row) };

enum { COMPLAINT_BYTES = 400, MOST_SECONDS = 1000000, MOST_JOBS = 128 };

typedef struct Parser {
    Options *options;
    FILE *out, *messages;
    bool failed, done;
    bool said_why; /* an error in a file, which the usage says nothing of */
    bool foreign;  /* a word was taken for an option of nvcc or ptxas */
    VEC(struct option) known;
    ArgReader args;
    Words negations; /* names of --no- options */
    VecGlob tuned;   /* files of decisions */
    bool varies;     /* options_vary: the first complaint is kept, and none printed */
    char fault[COMPLAINT_BYTES];
} Parser;

static void __attribute__((format(printf, 2, 3))) complain(Parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!parser->varies) {
        fputs("ptxopt: error: ", parser->messages);
        vfprintf(parser->messages, format, arguments);
        putc('\n', parser->messages);
    } else if (!parser->failed) {
        vsnprintf(parser->fault, sizeof parser->fault, format, arguments);
    }
    va_end(arguments);
    parser->failed = true;
}

/* ---- phases by name --------------------------------------------------------------------------------------------- */

/* The phases of that name; none after a complaint about the option that names it. */
static PhaseRange known_phases(Parser *parser, const char *option, const char *name, size_t len)
{
    PhaseRange named = phase_find(&phase_table, name, len);
    if (named.count)
        return named;
    const char *meant = phase_suggest(&phase_table, name, len);
    if (meant)
        complain(parser, "%s: unknown phase '%.*s'; did you mean '%s'?", option, (int)len, name, meant);
    else
        complain(parser, "%s: unknown phase '%.*s'; --list-phases prints the known ones", option, (int)len, name);
    return named;
}

/* Takes the first name off a list; the list is NULL after its last one. */
static Str next_name(const char **list)
{
    const char *name = *list;
    size_t len = strcspn(name, ",");
    *list = name[len] ? name + len + 1 : NULL;
    return (Str){name, (u32)len};
}

static void mark_phases(Parser *parser, const char *option, const char *list, bool all_allowed, bool *marked)
{
    if (all_allowed && strcmp(list, "all") == 0) {
        memset(marked, true, PHASE_COUNT * sizeof *marked);
        return;
    }
    while (list) {
        Str name = next_name(&list);
        PhaseRange named = known_phases(parser, option, name.p, name.len);
        for (u32 k = 0; k < named.count; k++)
            marked[named.first + k] = true;
    }
}

static void sequence_of_level(Parser *parser, VecU32 *sequence)
{
    for (u32 i = 0; i < PHASE_COUNT; i++)
        if (phase_table.phase[i].level <= parser->options->pipeline.level && !parser->options->pipeline.disabled[i])
            vec_push(sequence, i);
}

static void sequence_of_list(Parser *parser, VecU32 *sequence)
{
    const bool *disabled = parser->options->pipeline.disabled;
    for (const char *list = parser->options->phases; list;) {
        Str name = next_name(&list);
        PhaseRange named = known_phases(parser, parser->options->phases_option, name.p, name.len);
        for (u32 k = 0; k < named.count; k++)
            if (!disabled[named.first + k])
                vec_push(sequence, named.first + k);
    }
    const PhaseOrder *broken = phase_order_broken(&phase_table, sequence->v, sequence->n);
    if (broken)
        complain(parser, "%s: '%s' must run before '%s': %s", parser->options->phases_option, broken->first, broken->then,
                 broken->reason);
}

static void cut_sequence(Parser *parser, VecU32 *sequence)
{
    PhaseRange named =
        known_phases(parser, "--stop-after", parser->options->stop_after, strlen(parser->options->stop_after));
    if (!named.count)
        return;
    u32 n = 0, last = named.first + named.count - 1;
    while (n < sequence->n && sequence->v[n] != last)
        n++;
    if (n == sequence->n)
        complain(parser, "--stop-after: '%s' is not among the phases that run", parser->options->stop_after);
    else
        sequence->n = n + 1;
}

static void choose_phases(Parser *parser)
{
    VecU32 *sequence = &parser->options->pipeline.sequence;
    if (parser->options->phases)
        sequence_of_list(parser, sequence);
    else
        sequence_of_level(parser, sequence);
    if (parser->options->stop_after)
        cut_sequence(parser, sequence);
}

/* ---- single options --------------------------------------------------------------------------------------------- */

static void take_level(Parser *parser, const char *text)
{
    if (text[0] >= '0' && text[0] <= '3' && text[1] == '\0')
        parser->options->pipeline.level = (u32)(text[0] - '0');
    else
        complain(parser, "-O takes 0, 1, 2 or 3, not '%s'", text);
}

static void take_phases(Parser *parser, const char *option, const char *list)
{
    parser->options->phases_option = option;
    parser->options->phases = list;
}

static void take_stats(Parser *parser, const char *form)
{
    if (!form || strcmp(form, "json") == 0)
        parser->options->stats = form ? STATS_JSON : STATS_TEXT;
    else
        complain(parser, "--stats takes 'json' or nothing, not '%s'", form);
}

static void take_proving(Parser *parser, const char *word)
{
    static const char *const words[] = {
        [PROVING_REPORT] = "report", [PROVING_REVERT] = "revert", [PROVING_STRICT] = "strict"};
    for (u32 k = PROVING_REPORT; k < COUNT_OF(words); k++)
        if (strcmp(word, words[k]) == 0) {
            parser->options->prove = (Proving)k;
            return;
        }
    complain(parser, "--prove takes 'report', 'revert' or 'strict', not '%s'", word);
}

static void take_bisect_limit(Parser *parser, const char *text)
{
    if (!knob_parse_number(text, BISECT_ALL, INT64_MAX, &parser->options->pipeline.bisect_limit))
        complain(parser, "--opt-bisect-limit takes a number of rewrites or -1, not '%s'", text);
}

static void take_guard_arch(Parser *parser, const char *text)
{
    bool known = strncmp(text, "sm_", 3) == 0 && strspn(text + 3, "0123456789") >= 2 &&
                 strlen(text + 3) - strspn(text + 3, "0123456789") <= 1;
    parser->options->guard_arch = text;
    if (!known)
        complain(parser, "--guard-arch takes a target like sm_90, not '%s'", text);
}

static void take_count(Parser *parser, const char *option, const char *what, const char *text, i64 most, u32 *place)
{
    i64 count = 0;
    if (!knob_parse_number(text, 1, most, &count))
        complain(parser, "%s takes a number of %s, not '%s'", option, what, text);
    else
        *place = (u32)count;
}

static void take_file(Parser *parser, const char *option, const char *name, const char **place)
{
    if (*name == '\0')
        complain(parser, "%s needs a name", option);
    *place = name;
}

static void take_glob(Parser *parser, const char *option, const char *glob, VecGlob *globs)
{
    take_file(parser, option, glob, &glob);
    vec_push(globs, glob);
}

static void take_option(Parser *parser, u32 id, const char *argument)
{
    Options *options = parser->options;
    PipelineConfig *pipeline = &options->pipeline;
    switch (id) {
    case OPTION_OUTPUT: take_file(parser, "-o", argument, &options->output); break;
    case OPTION_STRICT: options->strict = true; break;
    case OPTION_REPRINT: pipeline->reprint = true; break;
    case OPTION_LEVEL: take_level(parser, argument); break;
    case OPTION_PHASES: take_phases(parser, "--phases", argument); break;
    case OPTION_PASSES: take_phases(parser, "--passes", argument); break;
    case OPTION_DISABLE: mark_phases(parser, "--disable", argument, false, pipeline->disabled); break;
    case OPTION_OPTIMIZE_DEBUG: pipeline->optimize_debug = true; break;
    case OPTION_IGNORE_EXITS: pipeline->ignore_exits = true; break;
    case OPTION_ONLY_FUNCTION: take_glob(parser, "--only-function", argument, &pipeline->only); break;
    case OPTION_SKIP_FUNCTION: take_glob(parser, "--skip-function", argument, &pipeline->skip); break;
    case OPTION_STOP_AFTER: parser->options->stop_after = argument; break;
    case OPTION_GUARD: options->guard_by = argument ? argument : ""; break;
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
    case OPTION_REMARKS: take_file(parser, "--remarks", argument, &options->remarks); break;
    case OPTION_STATS: take_stats(parser, argument); break;
    case OPTION_TIME: options->time = true; break;
    case OPTION_DUMP_CFG: take_file(parser, "--dump-cfg", argument, &pipeline->dump_cfg); break;
    case OPTION_PRINT_BEFORE: mark_phases(parser, "--print-before", argument, true, pipeline->print_before); break;
    case OPTION_PRINT_AFTER: mark_phases(parser, "--print-after", argument, true, pipeline->print_after); break;
    case OPTION_VERIFY_EACH: pipeline->verify_each = true; break;
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
        help_print(parser->out);
        parser->done = true;
        break;
    }
}

static void take_knob(Parser *parser, u32 code, const char *argument)
{
    const KnobInfo *knob = knob_info(code / 2);
    Knobs *knobs = &parser->options->pipeline.knobs;
    if (knob->kind == KNOB_FLAG)
        knob_set_flag(knobs, knob, code % 2 == 0);
    else if (!knob_set(knobs, knob, argument) && knob->kind == KNOB_CHOICE)
        complain(parser, "--%s takes one of %s, not '%s'", knob->name, knob->choices, argument);
    else if (!knob_set(knobs, knob, argument))
        complain(parser, "--%s takes a number from %lld to %lld, not '%s'", knob->name, (long long)knob_least(knob),
                 (long long)knob->most, argument);
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

static void add_known(Parser *parser, const char *name, int argument_kind, u32 code)
{
    vec_push(&parser->known, ((struct option){name, argument_kind, NULL, (int)code}));
}

static void collect_known(Parser *parser)
{
    for (u32 i = 0; i < COUNT_OF(option_row); i++)
        if (*option_row[i].name)
            add_known(parser, option_row[i].name, option_row[i].argument_kind, OPTION_FIRST + i);
    for (u32 i = 0; i < knob_count(); i++) {
        const KnobInfo *knob = knob_info(i);
        add_known(parser, knob->name, knob->kind == KNOB_FLAG ? no_argument : required_argument, KNOB_FIRST + 2 * i);
        if (knob->kind != KNOB_FLAG)
            continue;
        size_t size = strlen(knob->name) + sizeof "no-";
        char *negation = mem_alloc(size);
        snprintf(negation, size, "no-%s", knob->name);
        vec_push(&parser->negations, negation);
        add_known(parser, negation, no_argument, KNOB_FIRST + 2 * i + 1);
    }
    vec_push(&parser->known, ((struct option){0}));
}

/* ---- options of nvcc and ptxas ---------------------------------------------------------------------------------- */

/* Whether the long option `name`, of `len` characters, or any that it abbreviates, takes the next word as its argument. */
static bool takes_next_word(const Parser *parser, const char *name, size_t len)
{
    bool takes = false;
    for (u32 i = 0; i + 1 < parser->known.n; i++) {
        const struct option *known = &parser->known.v[i];
        if (strncmp(known->name, name, len) == 0)
            takes |= known->has_arg == required_argument;
        if (strncmp(known->name, name, len) == 0 && known->name[len] == '\0')
            return known->has_arg == required_argument;
    }
    return takes;
}

static bool is_known_name(const Parser *parser, const char *name, size_t len)
{
    for (u32 i = 0; i + 1 < parser->known.n; i++)
        if (strlen(parser->known.v[i].name) == len && strncmp(parser->known.v[i].name, name, len) == 0)
            return true;
    return false;
}

/* Long options of ptxas and nvcc that say for which target, and the two that would be taken for `-o FILE`. */
static bool is_foreign_name(const char *name, size_t len)
{
    static const char *const names[] = {"arch",    "gpu-name",      "gpu-architecture", "gpu-code",    "code",
                                        "gencode", "generate-code", "machine",          "output-file", "opt-level"};
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
            return true;
    return false;
}

/* `-arch=sm_90`, which would be read as one option a letter. */
static bool is_foreign(const Parser *parser, const char *word)
{
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    size_t len = strcspn(name, "=");
    if (is_foreign_name(name, len))
        return !is_known_name(parser, name, len);
    if (is_long)
        return false;
    if (name[0] == 'o' || name[0] == 'O')
        return is_known_name(parser, name, len);
    return name[1] != '\0' || !strchr("hV", name[0]);
}

static void complain_about_foreign(Parser *parser, const char *word)
{
    const char *name = word + 1 + (word[1] == '-');
    size_t len = strcspn(name, "=");
    if (is_known_name(parser, name, len))
        complain(parser, "unknown option '%s'; did you mean '--%.*s'?", word, (int)len, name);
    else
        complain(parser, "unknown option '%s'; ptxopt takes no options of nvcc or ptxas, and its target from the file",
                 word);
    parser->foreign = true;
}

/* The first foreign option is complained about, and nothing else: what follows it may be its argument. */
static void find_foreign(Parser *parser, int argc, char **argv)
{
    for (int i = 1; i < argc && !parser->foreign; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0')
            continue;
        if (strcmp(word, "--") == 0)
            return;
        if (is_foreign(parser, word))
            complain_about_foreign(parser, word);
        else if (word[1] != '-')
            i += strchr("oO", word[1]) && word[2] == '\0';
        else
            i += !strchr(word, '=') && takes_next_word(parser, word + 2, strlen(word + 2));
    }
}

/* Says why the long option `text` is refused. */
static void complain_about_long(Parser *parser, const char *text)
{
    const char *name = text + 2;
    size_t len = strcspn(name, "=");
    Suggestion nearest = suggestion_for(name, len);
    u32 begin_so = 0;
    for (u32 i = 0; i + 1 < parser->known.n; i++) {
        const char *known = parser->known.v[i].name;
        if (strncmp(known, name, len) == 0) {
            begin_so++;
            if (known[len] == '\0' || (name[len] == '=' && parser->known.v[i].has_arg == no_argument)) {
                complain(parser, "option '--%s' takes no argument", known);
                return;
            }
        }
        suggestion_offer(&nearest, known);
    }
    const char *left_out = knob_left_out(name, len);
    if (left_out)
        complain(parser, "'%.*s' is no option: %s", (int)len + 2, text, left_out);
    else if (begin_so > 1)
        complain(parser, "option '%.*s' is ambiguous", (int)len + 2, text);
    else if (nearest.name)
        complain(parser, "unknown option '%.*s'; did you mean '--%s'?", (int)len + 2, text, nearest.name);
    else
        complain(parser, "unknown option '%.*s'", (int)len + 2, text);
}

static void take_code(Parser *parser, int code)
{
    const ArgReader *args = &parser->args;
    const char *text = args->word;
    if (code == ':')
        complain(parser, "option '%s' needs an argument", text);
    else if (code == '?' && args->letter)
        complain(parser, "unknown option '-%c'", args->letter);
    else if (code == '?')
        complain_about_long(parser, text);
    else if (code >= KNOB_FIRST)
        take_knob(parser, (u32)(code - KNOB_FIRST), args->argument);
    else if (code >= OPTION_FIRST)
        take_option(parser, (u32)(code - OPTION_FIRST), args->argument);
    else
        for (u32 id = 0; id < COUNT_OF(option_row); id++)
            if (option_row[id].letter == code)
                take_option(parser, id, args->argument);
}

static bool is_standard_output(const char *name) { return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0; }

/* Whether standard input is a pipe or file that somebody meant to be read; a terminal or /dev/null is not. */
static bool input_is_piped(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

static void take_operands(Parser *parser)
{
    Options *options = parser->options;
    u32 count = parser->args.operands.n;
    char **operand = parser->args.operands.v;
    if (options->cuda && !options->shadow)
        complain(parser, "--cuda needs --install-shadow");
    if (options->shadow && count > 0)
        complain(parser, "--install-shadow takes no input file");
    else if (options->shadow)
        return;
    if (count == 0 && !parser->failed && input_is_piped())
        options->input = "-";
    else if (count == 0 && !parser->failed) /* what was meant as input may be what another error is about */
        complain(parser, "no input file");
    else if (count == 0 || parser->foreign) /* what follows a foreign option may be its argument */
        return;
    else if (count > 1)
        complain(parser, "more than one input file: '%s' and '%s'", operand[0], operand[1]);
    else
        options->input = operand[0];
    if (options->remarks && is_standard_output(options->remarks) && is_standard_output(options->output))
        complain(parser, "the module and its remarks cannot both go to standard output");
}

static void parser_free(Parser *parser)
{
    for (u32 i = 0; i < parser->negations.n; i++)
        mem_free(parser->negations.v[i]);
    vec_free(&parser->negations);
    vec_free(&parser->known);
    vec_free(&parser->tuned);
    args_free(&parser->args);
}

/* ---- decisions of --tune ---------------------------------------------------------------------------------------- */

static void check_tuning(Parser *parser)
{
    const Options *options = parser->options;
    bool tunes = options->tune_by || options->tune_read;
    if (options->tune_read && (options->tune_by || options->tune_ninja))
        complain(parser, "--tune-read asks no ptxas: neither --tune nor --tune-ninja go with it");
    if (options->guard_by && tunes)
        complain(parser, "--tune and --tune-read judge what they keep: --guard is for other runs");
    if (parser->tuned.n && tunes)
        complain(parser, "--tuned applies what --tune has decided: one of them is enough");
    if (options->tune_ninja && !options->tune_by)
        complain(parser, "--tune-ninja needs --tune");
    if (options->tune_out && !tunes)
        complain(parser, "--tune-out needs --tune or --tune-read");
}

static void read_decisions(Parser *parser)
{
    for (u32 i = 0; i < parser->tuned.n && !parser->failed; i++)
        if (!tuned_read(parser->options, parser->tuned.v[i], parser->messages))
            parser->failed = parser->said_why = true;
}

const PipelineConfig *options_vary(Options *options, int count, char **words, int *at, const char **why)
{
    static char program[] = "ptxopt";
    Options varied = *options; /* nothing is allocated in the copy's arena */
    Parser parser = {.options = &varied, .varies = true};
    Words argv = {0};
    varied.pipeline.sequence = (VecU32){0};
    vec_push(&argv, program);
    for (int i = 0; i < count; i++)
        vec_push(&argv, words[i]);
    vec_push(&argv, NULL);
    collect_known(&parser);
    parser.args = args_start(count + 1, argv.v, "O:", parser.known.v);
    int code;
    while (!parser.failed && (code = args_next(&parser.args)) != -1) {
        *at = parser.args.at - 2;
        bool of_phases = code == '?' || code == ':' || code == 'O' || code >= KNOB_FIRST ||
                         (code >= OPTION_FIRST && (u32)(code - OPTION_FIRST) == OPTION_DISABLE);
        if (of_phases)
            take_code(&parser, code);
        else
            complain(&parser, "'%s' is neither -O, --disable nor a knob of a phase", parser.args.word);
    }
    if (!parser.failed && parser.args.operands.n) {
        for (*at = 0; words[*at] != parser.args.operands.v[0];)
            ++*at;
        complain(&parser, "'%s' is no option", words[*at]);
    }
    if (!parser.failed)
        choose_phases(&parser);
    PipelineConfig *config = arena_new(&options->arena, PipelineConfig);
    *config = varied.pipeline;
    u32 *sequence = arena_array(&options->arena, u32, config->sequence.n);
    for (u32 i = 0; i < config->sequence.n; i++)
        sequence[i] = config->sequence.v[i];
    config->sequence.v = sequence;
    if (parser.failed)
        *why = arena_copy(&options->arena, parser.fault, strlen(parser.fault));
    vec_free(&varied.pipeline.sequence);
    vec_free(&argv);
    parser_free(&parser);
    return parser.failed ? NULL : config;
}

OptionsResult options_parse(Options *options, int argc, char **argv, FILE *out, FILE *messages)
{
    *options = (Options){.output = "-",
                         .guard_limit = 300,
                         .pipeline = {.table = &phase_table, .level = 2, .bisect_limit = BISECT_OFF},
                         .argc = argc,
                         .argv = argv};
    knobs_init(&options->pipeline.knobs);
    Parser parser = {.options = options, .out = out, .messages = messages};
    collect_known(&parser);
    const char *fault = args_expand(&options->arena, &argc, &argv);
    if (fault)
        complain(&parser, "%s", fault);
    find_foreign(&parser, argc, argv);
    parser.args = args_start(argc, argv, "o:O:hV", parser.known.v);
    int code;
    while (!parser.done && !parser.foreign && (code = args_next(&parser.args)) != -1)
        take_code(&parser, code);
    if (!parser.done && !parser.foreign) {
        choose_phases(&parser);
        take_operands(&parser);
        check_tuning(&parser);
        read_decisions(&parser);
    }
    if (parser.failed && !parser.done && !parser.said_why)
        fputs("usage: ptxopt [options] [in.ptx] -o out.ptx    (ptxopt --help lists the options)\n", messages);
    parser_free(&parser);
    return parser.done ? OPTIONS_DONE : parser.failed ? OPTIONS_BAD : options->shadow ? OPTIONS_SHADOW : OPTIONS_RUN;
}

void options_free(Options *options)
{
    vec_free(&options->pipeline.sequence);
    vec_free(&options->pipeline.only);
    vec_free(&options->pipeline.skip);
    vec_free(&options->pipeline.withheld);
    vec_free(&options->pipeline.tuned);
    arena_free(&options->arena);
}
