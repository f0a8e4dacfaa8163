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
#include "judge/ptxas/real.h"
#include "base/source.h"
#include "judge/guard/cache.h"
#include "judge/guard/guard.h"
#include "version.h"

/* ---- how a call ends -------------------------------------------------------------------------------------------- */

/* The command, with this level of optimization for ptxas. */
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
        front_fail(front, "%s (PTXOPT=strict)", reason);
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
        front_fail(front, "%s (PTXOPT=strict)", reason);
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

/* Optimizes the input. *recalled: as the guard remembers, which need not judge it again. Answers as run_optimizer(). */
static const char *make_text(Front *front, Scratch *text, Scratch *messages, bool *recalled)
{
    const char *input = front->command.v[front->asked.input];
    u64 made;
    *recalled = front_recall(front, &made);
    const char *reason = run_optimizer(front, input, text->path, messages);
    if (!*recalled || (!reason && guard_recalled(text, made)))
        return reason;
    *recalled = false;
    if (!front_forget(front, text, messages))
        return "no temporary file";
    return run_optimizer(front, input, text->path, messages);
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
        if (good)
            front_tell_spills(front);
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
    front_take_limit(front, input);
    front_take_ptxas_limit(front, input);
    front_take_records(front, input);
    front->records_of = input;
    Scratch text = {.fd = -1}, messages = {.fd = -1};
    if (!scratch_open(&text) || !scratch_open(&messages))
        give_up(front, "no temporary file", NULL);
    bool done = false;
    const char *fault = front->options.guard_by && !front->options.guard_search ? cache_complain(&front->arena) : NULL;
    if (fault)
        front_warn(front, fault);
    if (front->options.guard_by && scratch_open(&front->rewrites))
        front->options.pipeline.rewrites = front->rewrites.fd;
    bool recalled = false;
    const char *reason = make_text(front, &text, &messages, &recalled);
    if (!reason && front->options.guard_by && !recalled && !text_equals_file(&text, input))
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
    front_take_limit(front, path);
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
    bool asks_for_text = front_ask(&front, argc, argv);
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
    front_take_source_date(&front);
    if (front.cicc)
        front_for_cicc(&front);
    front_for_ptxas(&front);
}
