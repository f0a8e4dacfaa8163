/* The front: stands before ptxas or cicc and hands it optimized PTX.
 *
 *   ptxopt-ptxas [OPTIONS --] ptxas ARGUMENTS     as a launcher: nvcc --ptxas-prefix=ptxopt-ptxas
 *   ptxas ARGUMENTS                               in its place, under its name; ptxas-blackwell too
 *   ptxopt-cicc [OPTIONS --] cicc ARGUMENTS       nvcc --cicc-prefix=ptxopt-cicc
 *
 * What ptxopt cannot do, and what ptxas refuses of its text, is assembled from the original. The worst that the front does is
 * nothing. If the original is to be assembled, ptxas takes the front's place by exec. The optimizer runs in a process of its own,
 * so that not even a fault of it is seen. So does the guard, which asks ptxas whether the optimized text is worse. */
#define _GNU_SOURCE
#include "use/front/front.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "judge/ptxas/child.h"
#include "use/front/front_inside.h"
#include "use/front/limit.h"
#include "judge/ptxas/real.h"
#include "base/source.h"
#include "judge/guard/guard.h"
#include "version.h"

/* The time after which the guard is taken for hanging: a kernel that is worth an hour of ptxas may be worth an hour
 * more. */
enum { GUARD_SECONDS = 3600 };

static void __attribute__((format(printf, 2, 3), noreturn)) fail(const Front *front, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: error: ", front->name);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
    va_end(arguments);
    exit(TOOL_BAD_INPUT);
}

/* ---- what is asked for ------------------------------------------------------------------------------------------ */

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
    fail(front, "PTXOPT takes off, on or strict, not '%s'", text);
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
    fail(front, "PTXOPT_GUARD takes on, off, search or all, not '%s'", text);
}

static void take_ptxas_limit(Front *front, const char *input)
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

static void take_limit(Front *front, const char *input)
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

/* Whoever sets SOURCE_DATE_EPOCH wants the same bytes from the same sources. */
static void take_source_date(Front *front)
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
        fail(front, "no program to run; usage: %s [OPTIONS --] %s ARGUMENTS", front->name, program);
    if (!is_option(argv[at]))
        return at;
    int end = at;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (end == argc && !asks_about_us(argv[at]))
        fail(front,
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
        fail(front, "the output is named by the options of %s: -o is none of ptxopt's here",
             front->cicc ? "cicc" : "ptxas");
    if (front->options.tune_by || front->options.tune_read)
        fail(front, "--tune and --tune-read are for ptxopt; --tuned applies here what they have decided");
    if (!front->command.v[0])
        fail(front, "no program to run after '--'");
    if (!front->cicc && front->options.guard_by && (front->options.guard_by[0] || front->options.guard_arch))
        fail(front, "the guard asks the ptxas that is to run, for the target of its command: --guard takes no ptxas here");
    if (!front->cicc && !front->options.guard_off && !front->options.guard_by) {
        front->options.guard_by = ""; /* a ptxas is to run anyway */
        front->options.pipeline.judged = true;
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

/* ---- how a call ends -------------------------------------------------------------------------------------------- */

/* The command at this level of ptxas. */
static char **command_at_level(Front *front, int level)
{
    const FrontCommand *asked = &front->asked;
    char **argv = arena_array(&front->arena, char *, front->command.n + 1);
    u32 count = 0;
    for (int i = 0; i < (int)front->command.n - 1; i++)
        if (i < asked->level_from || i >= asked->level_to)
            argv[count++] = front->command.v[i];
    argv[count] = arena_printf(&front->arena, "-O%d", level);
    return argv;
}

static void tell_slow(Front *front, double seconds, int level)
{
    front->log.slow_kernels = front->kernels;
    front->log.level = level;
    front_warn(front, arena_printf(&front->arena, "ptxas did not end within %g seconds over %s: it is assembled at -O%d",
                                   seconds, *front->kernels ? front->kernels : "the text", level));
}

/* Runs ptxas: at the level asked for, and, while it takes too long, at the one below. Its last run may take as long as it likes. The
 * wait status. */
static int run_ptxas(Front *front, Scratch *out, Scratch *error)
{
    int level = front->asked.level;
    bool in_time = true;
    double limit = front->ptxas_limit;
    int status = child_run_within(front->real, front->command.v, out->fd, error->fd, limit, &in_time);
    while (!in_time && !child_caught() && level > 0 && scratch_clear(out) && scratch_clear(error)) {
        tell_slow(front, limit, --level);
        status =
            child_run_within(front->real, command_at_level(front, level), out->fd, error->fd, level ? limit : 0, &in_time);
    }
    return status;
}

/* Assembles the original, and ends. Returns only where there are no temporary files. */
static void assemble_within_limit(Front *front)
{
    Scratch out = {.fd = -1}, error = {.fd = -1};
    if (!scratch_open(&out) || !scratch_open(&error))
        return;
    double start = clock_now();
    int status = run_ptxas(front, &out, &error);
    front->log.run_ms = 1e3 * (clock_now() - start);
    front->log.status = child_exit_status(status);
    front_finish(front);
    front_copy_messages(front, &out, NULL, stdout);
    front_copy_messages(front, &error, NULL, stderr);
    child_end_as(status, child_ended_by(status));
}

/* Takes the place of this process with the original command. */
static void __attribute__((noreturn)) pass_on(Front *front, const char *result, const char *reason)
{
    front->log.result = result;
    front->log.reason = reason;
    if (front->ptxas_limit > 0)
        assemble_within_limit(front);
    front->log.status = -1;
    front_finish(front);
    child_stop_signals();
    execv(front->real, front->command.v);
    int error = errno;
    fprintf(stderr, "%s: error: cannot run '%s': %s\n", front->name, front->real, strerror(error));
    exit(error == ENOENT ? CHILD_CANNOT_RUN : CHILD_CANNOT_RUN - 1);
}

/* ptxopt could not do its part. Never returns, unless cicc, which has done its own, is in front of it. */
static void give_up(Front *front, const char *reason, const Scratch *messages)
{
    if (front->mode == MODE_STRICT) {
        if (messages)
            front_copy_messages(front, messages, NULL, stderr);
        fail(front, "%s (PTXOPT=strict)", reason);
    }
    if (!front->cicc)
        pass_on(front, "failed", reason);
    front->log.result = "failed";
    front->log.reason = reason;
}

/* An option that prints something and ends ptxopt is no reason to build nothing. */
static void __attribute__((noreturn)) refuse_text(Front *front)
{
    const char *reason = "an option asks for a text, and not to optimize";
    if (front->mode == MODE_STRICT)
        fail(front, "%s (PTXOPT=strict)", reason);
    pass_on(front, "bypassed", reason);
}

static void __attribute__((noreturn)) print_version(Front *front)
{
    int status = child_run(front->real, front->command.v, -1, -1);
    int ending = child_ended_by(status);
    if (child_exit_status(status) == 0) {
        printf("ptxopt " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")");
        for (u32 i = 0; i < front->flags.n; i++)
            printf(" %s", front->flags.v[i]);
        putchar('\n');
    }
    child_end_as(status, ending);
}

/* ---- optimizing ------------------------------------------------------------------------------------------------- */

/* Optimizes in a process of its own; messages go to the descriptor. NULL, or why there is no output. */
static const char *run_optimizer(Front *front, const char *input, const char *output, const Scratch *messages)
{
    double start = clock_now();
    front->options.input = input;
    front->options.output = output;
    int pid = child_fork();
    if (pid == 0) {
        child_limit_self(front->options.cpu_limit);
        bool guarded = front->cicc && front->options.guard_by;
        int status = dup2(messages->fd, STDERR_FILENO) < 0 ? TOOL_INTERNAL
                     : guarded                             ? (int)guard_optimize_file(&front->options)
                                                           : (int)proof_optimize_file(&front->options);
        fflush(stdout);
        _exit(status);
    }
    int status = child_wait(pid);
    front->log.optimize_ms = 1e3 * (clock_now() - start);
    if (child_caught())
        child_end_as(status, child_caught());
    if (status == -1)
        return "no process for the optimizer";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF && front->options.cpu_limit > 0)
        return arena_printf(&front->arena, "out of time: the optimizer took more than %g seconds of CPU time",
                            front->options.cpu_limit);
    if (WIFSIGNALED(status))
        return arena_printf(&front->arena, "the optimizer was ended by signal %d", WTERMSIG(status));
    switch (WEXITSTATUS(status)) {
    case TOOL_OK: return NULL;
    case TOOL_BAD_INPUT: return "the text was not taken";
    default: return "internal error of the optimizer";
    }
}

static bool is_regular_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Assembles the optimized text; returns only where the original is to be assembled instead. */
static const char *assemble(Front *front, Scratch *text)
{
    Scratch out = {.fd = -1}, error = {.fd = -1};
    if (!scratch_open(&out) || !scratch_open(&error))
        return "no temporary file";
    double start = clock_now();
    char *original = front->command.v[front->asked.input];
    front->command.v[front->asked.input] = text->path;
    int status = run_ptxas(front, &out, &error);
    front->command.v[front->asked.input] = original;
    front->log.run_ms = 1e3 * (clock_now() - start);

    int ending = child_ended_by(status);
    bool good = child_exit_status(status) == 0;
    if (good || ending || front->mode == MODE_STRICT) {
        front->log.result = good ? "optimized" : "failed";
        front->log.status = child_exit_status(status);
        front_finish(front);
        front_copy_messages(front, &out, text->path, stdout);
        front_copy_messages(front, &error, text->path, stderr);
        if (!good && !ending)
            fprintf(stderr, "%s: error: %s did not assemble the optimized text (PTXOPT=strict)\n", front->name,
                    front->real);
        child_end_as(status, ending);
    }
    scratch_close(&out);
    scratch_close(&error);
    return "the optimized text was not assembled";
}

static void __attribute__((noreturn)) front_for_ptxas(Front *front)
{
    const char *input = front->command.v[front->asked.input];
    front->log.input = input;
    if (!is_regular_file(input))
        pass_on(front, "bypassed", "the input is no file");
    take_limit(front, input);
    take_ptxas_limit(front, input);
    front_take_records(front, input);
    front->records_of = input;
    Scratch text = {.fd = -1}, messages = {.fd = -1};
    if (!scratch_open(&text) || !scratch_open(&messages))
        give_up(front, "no temporary file", NULL);
    bool done = false;
    if (front->options.guard_by && scratch_open(&front->rewrites))
        front->options.pipeline.rewrites = front->rewrites.fd;
    const char *reason = run_optimizer(front, input, text.path, &messages);
    if (!reason && front->options.guard_by && !text_equals_file(&text, input))
        reason = front_guard(front, &text, &messages, &done);
    if (done)
        exit(TOOL_OK);
    if (reason)
        give_up(front, reason, &messages);
    front_copy_messages(front, &messages, NULL, stderr); /* what an option asked for: --stats */
    scratch_close(&messages);
    if (text_equals_file(&text, input)) {
        scratch_close(&text);
        pass_on(front, "unchanged", NULL);
    }
    reason = assemble(front, &text);
    scratch_close(&text);
    pass_on(front, "failed", reason);
}

/* Is it text? With -dlto cicc writes bit code. */
static bool is_text(const char *path)
{
    unsigned char start[4] = {0};
    FILE *file = fopen(path, "re");
    bool is = file && fread(start, 1, sizeof start, file) == sizeof start;
    for (u32 i = 0; i < sizeof start; i++)
        is = is && start[i] < 0x80 && (start[i] >= ' ' || start[i] == '\n' || start[i] == '\t' || start[i] == '\r');
    if (file)
        fclose(file);
    return is;
}

/* cicc's output is replaced when it is complete: nobody reads it before cicc has ended. */
static void optimize_output(Front *front)
{
    Scratch messages = {.fd = -1}, before = {.fd = -1};
    const char *path = front->asked.output;
    front->log.result = "bypassed";
    front->log.reason = "the output is no PTX";
    if (!is_regular_file(path) || !is_text(path))
        return;
    front->log.reason = NULL;
    take_limit(front, path);
    front_take_records(front, path);
    if (!scratch_open(&messages) || !input_copy(path, &before)) {
        give_up(front, "no temporary file", NULL);
        return;
    }
    front->records_of = before.path;
    const char *reason = run_optimizer(front, path, path, &messages);
    if (reason) {
        give_up(front, reason, &messages);
    } else {
        front->log.result = text_equals_file(&before, path) ? "unchanged" : "optimized";
        front_copy_messages(front, &messages, NULL, stderr);
    }
    if (!reason)
        front_deliver_records(front, before.path);
    scratch_close(&before);
    scratch_close(&messages);
}

static void __attribute__((noreturn)) front_for_cicc(Front *front)
{
    double start = clock_now();
    int status = child_run(front->real, front->command.v, -1, -1);
    front->log.run_ms = 1e3 * (clock_now() - start);
    int ending = child_ended_by(status);
    front->log.status = child_exit_status(status);
    front->log.result = "failed";
    if (!ending && front->log.status == 0)
        optimize_output(front);
    front_finish(front);
    if (!ending)
        child_stop_signals();
    child_end_as(status, ending);
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

static const char launcher_of_ptxas[] = "ptxopt-ptxas", launcher_of_cicc[] = "ptxopt-cicc";

bool front_is_name(const char *name)
{
    return strcmp(name, launcher_of_ptxas) == 0 || strcmp(name, launcher_of_cicc) == 0 || strcmp(name, "ptxas") == 0 ||
           strcmp(name, "ptxas-blackwell") == 0;
}

int front_main(int argc, char **argv)
{
    Front front = {.invoked = argv[0],
                   .name = real_base_name(argv[0]),
                   .records = {.fd = -1},
                   .advice = {.fd = -1},
                   .rewrites = {.fd = -1}};
    front.cicc = strcmp(front.name, launcher_of_cicc) == 0;
    front.launcher = front.cicc || strcmp(front.name, launcher_of_ptxas) == 0;
    front.again = real_enter();
    take_mode(&front);
    take_guard(&front);
    take_environment(&front);
    take_command(&front, argc, argv);
    bool asks_for_text = take_options(&front);
    find_program(&front);

    int count = (int)front.command.n - 1;
    front.asked = front.cicc ? front_cicc_command(count, front.command.v) : front_ptxas_command(count, front.command.v);
    front.log.program = front.name;
    front.log.output = front.asked.output;
    if (front.mode == MODE_OFF)
        pass_on(&front, "bypassed", "PTXOPT=off");
    if (front.again)
        pass_on(&front, "bypassed", "the call has come through a front already");
    child_forward_signals();
    if (front.asked.asks_version)
        print_version(&front);
    if (front.asked.bypass)
        pass_on(&front, "bypassed", front.asked.bypass);
    if (asks_for_text)
        refuse_text(&front);
    take_source_date(&front);
    if (front.cicc)
        front_for_cicc(&front);
    front_for_ptxas(&front);
}
