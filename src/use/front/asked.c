/* What a call of the front is asked for: by the environment, by its options, and by the command that it stands before. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/source.h"
#include "base/vec.h"
#include "judge/ptxas/child.h"
#include "judge/ptxas/real.h"
#include "use/front/front_inside.h"
#include "use/front/limit.h"

/* The time after which the guard is taken for hanging: a kernel that is worth an hour of ptxas may be worth an hour
 * more. */
enum { GUARD_SECONDS = 3600 };

void front_fail(const Front *front, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: error: ", front->name);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
    va_end(arguments);
    exit(TOOL_BAD_INPUT);
}

static void take_mode(Front *front)
{
    static const char *const word[] = {[MODE_OFF] = "off", [MODE_ON] = "on", [MODE_STRICT] = "strict"};
    const char *text = getenv("PTXOPT");
    front->mode = MODE_ON;
    if (!text || !*text)
        return;
    for (u32 i = 0; i < COUNT_OF(word); i++)
        if (strcmp(text, word[i]) == 0) {
            front->mode = (Mode)i;
            return;
        }
    front_fail(front, "PTXOPT takes off, on or strict, not '%s'", text);
}

/* Takes PTXOPT_GUARD for an option. */
static void take_guard(Front *front)
{
    static char words[][16] = {"--guard=on", "--guard=off", "--guard=search", "--guard=all"};
    const char *text = getenv("PTXOPT_GUARD");
    if (!text || !*text)
        return;
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (strcmp(text, words[i] + strlen("--guard=")) == 0) {
            vec_push(&front->flags, words[i]);
            return;
        }
    front_fail(front, "PTXOPT_GUARD takes on, off, search or all, not '%s'", text);
}

void front_take_ptxas_limit(Front *front, const char *input)
{
    const char *warning = NULL;
    Str text;
    front->ptxas_limit = limit_of_ptxas(getenv("PTXOPT_PTXAS_LIMIT"), &warning);
    if (warning)
        front_warn(front, warning);
    if (front->ptxas_limit <= 0 || !source_read(input, &text))
        return;
    u32 kernels = limit_kernels(&front->arena, text, &front->kernels);
    source_free(&text);
    front->ptxas_limit *= kernels ? kernels : 1;
    if (front->ptxas_limit < front->options.guard_limit)
        front->options.guard_limit = (u32)front->ptxas_limit + 1;
}

void front_take_limit(Front *front, const char *input)
{
    struct stat st;
    const Options *o = &front->options;
    u64 bytes = stat(input, &st) == 0 && st.st_size > 0 ? (u64)st.st_size : 0;
    const char *warning = NULL;
    front->options.cpu_limit =
        limit_seconds(getenv("PTXOPT_LIMIT"), bytes, o->prove != PROVING_NOT || o->pipeline.verify_each, &warning);
    if (warning)
        front_warn(front, warning);
}

void front_take_source_date(Front *front)
{
    if (!front->options.pipeline.file_time && !options_source_date(&front->options.pipeline.file_time))
        front_warn(front, "SOURCE_DATE_EPOCH is no number of seconds: it is not obeyed");
}

/* The words of PTXOPT_FLAGS: blanks stand between them. */
static void take_environment(Front *front)
{
    const char *text = getenv("PTXOPT_FLAGS");
    char *rest = text ? arena_copy(&front->arena, text, strlen(text)) : NULL, *saved = NULL;
    for (char *word = rest ? strtok_r(rest, " \t\n", &saved) : NULL; word; word = strtok_r(NULL, " \t\n", &saved))
        vec_push(&front->flags, word);
}

static bool is_option(const char *word) { return word[0] == '-' && word[1] != '\0'; }

static bool asks_about_us(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "--help-hidden") == 0 || strcmp(word, "--version") == 0 ||
           strcmp(word, "-h") == 0 || strcmp(word, "-V") == 0;
}

/* Takes the options before `--` off the words; answers the index of the program. */
static int take_launcher_options(Front *front, int argc, char **argv, int at)
{
    const char *program = front->cicc ? "cicc" : "ptxas";
    if (at == argc)
        front_fail(front, "no program to run; usage: %s [OPTIONS --] %s ARGUMENTS", front->name, program);
    if (!is_option(argv[at]))
        return at;
    int end = at;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (end == argc && !asks_about_us(argv[at]))
        front_fail(front,
                   "the program comes before its options: %s %s %s; options of ptxopt end with '--': %s %s -- %s ARGUMENTS",
                   front->name, program, argv[at], front->name, argv[at], program);
    for (; at < end; at++)
        vec_push(&front->flags, argv[at]);
    return end + 1;
}

/* A launcher in front of a launcher is one launcher with the options of both. */
static void take_command(Front *front, int argc, char **argv)
{
    int at = 0;
    do
        at = front->launcher ? take_launcher_options(front, argc, argv, at + 1) : 0;
    while (front->launcher && at < argc && strcmp(real_base_name(argv[at]), front->name) == 0);
    for (; at < argc; at++)
        vec_push(&front->command, argv[at]);
    vec_push(&front->command, NULL);
}

static void print_help(const Front *front)
{
    const char *program = front->cicc ? "cicc" : "ptxas";
    printf("usage: %s [OPTIONS --] %s ARGUMENTS\n"
           "Optimizes the PTX that %s %s. If anything fails, the original is used.\n\n"
           "OPTIONS are those of ptxopt, without -o: %s -O3 -- %s ...\n\n"
           "Environment:\n"
           "  PTXOPT=off             leave everything to %s; strict: failures are errors\n"
           "  PTXOPT_FLAGS=OPTIONS   more options, before those of the command line\n"
           "  PTXOPT_LOG=FILE        append what happened to each file, a line of JSON each\n"
           "  PTXOPT_LIMIT=SECONDS   most CPU time for a file; then the original is used\n",
           front->name, program, program, front->cicc ? "writes" : "is given", front->name, program, program);
    if (!front->cicc)
        fputs("  PTXOPT_GUARD=off       kernels are not judged; search: find the phase to blame\n"
              "  PTXOPT_CACHE=DIR       where the guard's verdicts are kept; off: nowhere\n"
              "  PTXOPT_PTXAS=FILE      the ptxas to run\n",
              stdout);
    fputs("\n`ptxopt --help` lists the options; `man ptxopt-ptxas` has the rest.\n", stdout);
}

static bool asks_for_help(const Front *front)
{
    const char *last = front->flags.n ? front->flags.v[front->flags.n - 1] : "";
    return !front->command.v[0] && (strcmp(last, "--help") == 0 || strcmp(last, "-h") == 0);
}

/* A .maxnreg or .minnctapersm of the text would outrank -maxrregcount. */
static void leave_levers(Front *front)
{
    static char without[] = "--disable=levers";
    int count = (int)front->command.n - 1;
    if (!front->cicc && count > 0 && front_ptxas_command(count, front->command.v).decides_registers)
        vec_push(&front->flags, without);
}

/* Options that ask for a text, --help, are answered where there is no program to run. Answers whether they ask for one. */
static bool take_options(Front *front)
{
    if (asks_for_help(front)) {
        print_help(front);
        exit(fflush(stdout) == 0 ? TOOL_OK : TOOL_BAD_INPUT);
    }
    leave_levers(front);
    FILE *nowhere = front->command.v[0] ? fopen("/dev/null", "we") : NULL;
    OptionsResult result = options_parse_words(&front->options, &front->flags, nowhere ? nowhere : stdout, stderr);
    if (nowhere)
        fclose(nowhere);
    if (result == OPTIONS_DONE && front->command.v[0])
        return true;
    if (result != OPTIONS_RUN)
        exit(result == OPTIONS_DONE && fflush(stdout) == 0 ? TOOL_OK : TOOL_BAD_INPUT);
    if (strcmp(front->options.output, "-") != 0)
        front_fail(front, "the output is named by the options of %s: -o is none of ptxopt's here",
                   front->cicc ? "cicc" : "ptxas");
    if (front->options.tune_by || front->options.tune_read)
        front_fail(front, "--tune and --tune-read are for ptxopt; --tuned applies here what they have decided");
    if (!front->command.v[0])
        front_fail(front, "no program to run after '--'");
    if (!front->cicc && front->options.guard_by && (front->options.guard_by[0] || front->options.guard_arch))
        front_fail(front,
                   "the guard asks the ptxas that is to run, for the target of its command: --guard takes no ptxas here");
    if (!front->cicc && !front->options.guard_off && !front->options.guard_by) {
        front->options.guard_by = ""; /* a ptxas is to run anyway */
        options_judge(&front->options);
    }
    front->options.has_output = true;
    front->options.explain_to_messages = true;
    if (!front->options.guard_limit)
        front->options.guard_limit = GUARD_SECONDS;
    return false;
}

static void find_program(Front *front)
{
    const char *why = NULL;
    front->real = real_find(&front->arena, front->command.v[0], front->invoked, &why);
    if (!front->real) {
        fprintf(stderr, "%s: error: %s\n", front->name, why);
        exit(CHILD_CANNOT_RUN);
    }
    front->log.real = front->real;
    if (!front->launcher)
        front->command.v[0] = arena_copy(&front->arena, front->real, strlen(front->real));
}

bool front_ask(Front *front, int argc, char **argv)
{
    take_mode(front);
    take_guard(front);
    take_environment(front);
    take_command(front, argc, argv);
    bool asks_for_text = take_options(front);
    find_program(front);
    int count = (int)front->command.n - 1;
    front->asked = front->cicc ? front_cicc_command(count, front->command.v) : front_ptxas_command(count, front->command.v);
    return asks_for_text;
}
