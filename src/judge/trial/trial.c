#define _GNU_SOURCE
#include "judge/trial/trial.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/proof/proof.h"
#include "judge/ptxas/child.h"
#include "judge/ptxas/folder.h"
#include "judge/ptxas/real.h"
#include "base/source.h"

enum { OLDEST_TARGET = 75, JOBS = 2, USUAL_SECONDS = 300 };

/* ---- the call of ptxas -------------------------------------------------------------------------------------------- */

/* Whether a comment to the end of its line has begun before `at`. */
static bool is_commented_out(Str text, const char *at)
{
    const char *line = at;
    while (line > text.p && line[-1] != '\n' && line[-1] != '\r')
        line--;
    return memmem(line, (size_t)(at - line), "//", 2) != NULL;
}

/* The target that the text names: "sm_90a"; the oldest one that can be judged where it is older, or none is named. */
static const char *text_target(Arena *arena, Str text)
{
    const char *at = text.p, *end = text.p + text.len;
    while ((at = memmem(at, (size_t)(end - at), ".target", 7)) != NULL && is_commented_out(text, at))
        at++;
    while (at && at < end && *at != '\n' && *at != '\r' && strncmp(at, "sm_", 3) != 0)
        at++;
    u32 len = 0;
    while (at && at + len < end &&
           (at[len] == '_' || (at[len] >= 'a' && at[len] <= 'z') || (at[len] >= '0' && at[len] <= '9')))
        len++;
    const char *name = len ? arena_copy(arena, at, len) : "sm_0";
    return atoi(name + 3) < OLDEST_TARGET ? "sm_75" : name;
}

const char *assemble_find(Arena *arena, const char *option, const char *by, const char **why)
{
    static char own_name[] = "ptxopt";
    real_enter();
    if (!by[0])
        return real_find(arena, "ptxas", own_name, why);
    const char *path = strchr(by, '/') ? by : real_search_path(arena, by);
    if (path && access(path, X_OK) == 0 && !real_has_visited(path))
        return path;
    *why = arena_printf(arena, "%s names '%s', which is no program that can be run, or ptxopt itself", option, by);
    return NULL;
}

/* Whether the text declares functions of other modules, but those that ptxas knows by itself: it links nothing then. */
static bool needs_linking(Str text)
{
    static const char declares[] = ".extern .func";
    static const char *const known[] = {"vprintf", "__assertfail", "malloc", "free"};
    const char *end = text.p + text.len;
    for (const char *at = text.p; at && (at = memmem(at, (size_t)(end - at), declares, sizeof declares - 1));) {
        at += sizeof declares - 1;
        at += strspn(at, " \t\r\n");
        if (*at == '(')
            at += strcspn(at, ")") + 1;
        at += at < end ? strspn(at, " \t\r\n") : 0;
        size_t len = at < end ? strcspn(at, " \t\r\n(;") : 0;
        bool is_known = false;
        for (u32 i = 0; i < COUNT_OF(known); i++)
            is_known |= len == strlen(known[i]) && memcmp(at, known[i], len) == 0;
        if (!is_known)
            return true;
        if (at >= end)
            return false;
    }
    return false;
}

AssembleCommand assemble_call(Arena *arena, const char *ptxas, const char *arch, const char *input)
{
    AssembleCommand command = {.ptxas = ptxas, .count = 3, .input = 2};
    Str text = {NULL, 0};
    bool links = source_read(input, &text) && text.len && needs_linking(text);
    if (!arch && text.len)
        arch = text_target(arena, text);
    source_free(&text);
    command.argv = arena_array(arena, char *, 5);
    command.argv[0] = arena_printf(arena, "%s", ptxas);
    command.argv[1] = arena_printf(arena, "-arch=%s", arch ? arch : "sm_75");
    command.argv[2] = arena_printf(arena, "%s", input);
    if (links)
        command.argv[command.count++] = arena_printf(arena, "-c");
    return command;
}

AssembleCommand assemble_command(Arena *arena, const char *option, const char *by, const char *arch, const char *input,
                                 const char **why)
{
    const char *ptxas = assemble_find(arena, option, by, why);
    return ptxas ? assemble_call(arena, ptxas, arch, input) : (AssembleCommand){0};
}

Assembler assembler_start(Arena *arena, const AssembleCommand *command, u32 limit)
{
    return (Assembler){.arena = arena,
                       .command = command,
                       .limit = limit ? limit : USUAL_SECONDS,
                       .jobs = JOBS,
                       .folder = folder_make(arena)};
}

void assembler_end(Assembler *assembler)
{
    if (assembler->folder)
        folder_remove();
    assembler->folder = NULL;
    assembler_clear_progress(assembler);
}

static bool shows_progress(const Assembler *assembler) { return assembler->name && isatty(STDERR_FILENO); }

static void show_progress(const Assembler *assembler)
{
    if (shows_progress(assembler))
        fprintf(stderr, "\r%s: %u of %u texts assembled ", assembler->name, assembler->done, assembler->planned);
}

void assembler_clear_progress(const Assembler *assembler)
{
    if (shows_progress(assembler) && assembler->planned)
        fputs("\r\033[K", stderr);
}

/* ---- trials ------------------------------------------------------------------------------------------------------- */

void trial_init(Trial *trial)
{
    *trial = (Trial){.text = {.fd = -1}, .said = {.fd = -1}, .out = {.fd = -1}, .error = {.fd = -1}, .status = -1};
}

void trial_end(Trial *trial)
{
    scratch_close(&trial->text);
    scratch_close(&trial->said);
    scratch_close(&trial->out);
    scratch_close(&trial->error);
    if (trial->read)
        cubin_close(&trial->cubin);
    if (trial->path)
        unlink(trial->path);
    trial_init(trial);
}

/* The options without reports and without asking ptxas. */
static Options quiet_options(const Options *options, const char *output)
{
    Options quiet = *options;
    quiet.output = output;
    quiet.explain = false;
    quiet.remarks = NULL;
    quiet.pipeline.remark_taker = NULL;
    quiet.stats = STATS_NONE;
    quiet.time = false;
    quiet.guard_by = quiet.tune_by = quiet.tune_read = NULL;
    quiet.pipeline.dump_cfg = NULL;
    if (quiet.pipeline.bisect_limit == BISECT_ALL)
        quiet.pipeline.bisect_limit = BISECT_OFF;
    memset(quiet.pipeline.print_before, 0, sizeof quiet.pipeline.print_before);
    memset(quiet.pipeline.print_after, 0, sizeof quiet.pipeline.print_after);
    return quiet;
}

/* Trials that something is done to, side by side. */
typedef struct Batch {
    Assembler *assembler;
    Trial *const *trials;
    const Options *options;
    bool assembles;
} Batch;

static void take_end(void *user, u32 index, int status, bool in_time)
{
    const Batch *batch = user;
    batch->trials[index]->status = status;
    batch->trials[index]->in_time = in_time;
    if (!batch->assembles)
        return;
    batch->assembler->done++;
    show_progress(batch->assembler);
}

static void run_batch(Batch *batch, u32 count, int (*start)(void *user, u32 index))
{
    const Assembler *assembler = batch->assembler;
    const ChildCrowd crowd = {start, take_end, batch, assembler->jobs, assembler->limit, assembler->end, assembler->asks};
    child_run_all(&crowd, count);
}

static bool ended_well(const Trial *trial) { return trial->in_time && child_exit_status(trial->status) == 0; }

static bool is_open(Scratch *scratch) { return scratch->fd >= 0 || scratch_open(scratch); }

static int start_optimizer(void *user, u32 index)
{
    const Batch *batch = user;
    Trial *trial = batch->trials[index];
    if (!is_open(&trial->text))
        return -1;
    Options quiet = quiet_options(&batch->options[index], trial->text.path);
    if (trial->said.fd >= 0 && quiet.pipeline.bisect_limit == BISECT_OFF)
        quiet.pipeline.bisect_limit = BISECT_ALL;
    fflush(NULL);
    int pid = child_fork();
    if (pid == 0) {
        int messages = trial->said.fd >= 0 ? trial->said.fd : open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (messages >= 0)
            dup2(messages, STDERR_FILENO);
        child_limit_self(quiet.cpu_limit);
        _exit((int)proof_optimize_file(&quiet));
    }
    return pid;
}

bool trials_optimize(Assembler *assembler, Trial *const *trials, const Options *options, u32 count)
{
    Batch batch = {.assembler = assembler, .trials = trials, .options = options};
    bool all = true;
    run_batch(&batch, count, start_optimizer);
    for (u32 i = 0; i < count; i++)
        all &= trials[i]->text.fd >= 0 && ended_well(trials[i]);
    return all;
}

static int start_ptxas(void *user, u32 index)
{
    const Batch *batch = user;
    Assembler *assembler = batch->assembler;
    Trial *trial = batch->trials[index];
    const AssembleCommand *command = trial->command ? trial->command : assembler->command;
    trial->path = folder_next_file(assembler->arena);
    if (!is_open(&trial->out) || !is_open(&trial->error))
        return -1;
    char **argv = arena_array(assembler->arena, char *, (u32)command->count + 3);
    int count = command->count;
    memcpy(argv, command->argv, sizeof *argv * (u32)count);
    if (trial->text.fd >= 0)
        argv[command->input] = trial->text.path;
    if (!command->output)
        argv[count++] = arena_printf(assembler->arena, "--output-file=%s", trial->path);
    else if (argv[command->output][0] == '-')
        argv[command->output] = arena_printf(assembler->arena, "--output-file=%s", trial->path);
    else
        argv[command->output] = trial->path;
    argv[count] = NULL;
    assembler->runs++;
    return child_start(command->ptxas, argv, trial->out.fd, trial->error.fd);
}

void trials_assemble(Assembler *assembler, Trial *const *trials, u32 count)
{
    Batch batch = {.assembler = assembler, .trials = trials, .assembles = true};
    assembler->planned += count;
    if (count)
        show_progress(assembler);
    run_batch(&batch, count, start_ptxas);
}

bool trial_assembled(const Trial *trial) { return ended_well(trial) && trial->path; }

static bool has_size_of(const Scratch *written, const char *path)
{
    struct stat a, b;
    return fstat(written->fd, &a) == 0 && stat(path, &b) == 0 && (!S_ISREG(b.st_mode) || a.st_size == b.st_size);
}

bool text_equals_file(const Scratch *written, const char *path)
{
    size_t bytes = 0;
    char *made = has_size_of(written, path) ? scratch_read(written, &bytes) : NULL;
    Str text = {NULL, 0};
    bool same = made && source_read(path, &text) && text.len == bytes && memcmp(text.p, made, bytes) == 0;
    source_free(&text);
    free(made);
    return same;
}

const char *trial_read(const Assembler *assembler, Trial *trial, const char *what)
{
    Arena *arena = assembler->arena;
    int status = trial->status;
    if (!trial->in_time)
        return arena_printf(arena, "ptxas did not end within %u seconds over the %s", assembler->limit, what);
    if (status != -1 && WIFSIGNALED(status))
        return arena_printf(arena, "ptxas was ended by signal %d over the %s", WTERMSIG(status), what);
    if (child_exit_status(status) == CHILD_CANNOT_RUN)
        return arena_printf(arena, "'%s' cannot be run", (trial->command ? trial->command : assembler->command)->ptxas);
    if (!trial_assembled(trial))
        return arena_printf(arena, "ptxas refuses the %s", what);
    const char *fault = cubin_open(&trial->cubin, trial->path);
    trial->read = !fault;
    return fault ? arena_printf(arena, "what ptxas made of the %s cannot be judged: %s", what, fault) : NULL;
}

bool input_copy(const char *path, Scratch *copy)
{
    Str text;
    if (!source_read(path, &text))
        return false;
    bool good = scratch_open(copy) && scratch_write(copy, text.p, text.len);
    source_free(&text);
    return good;
}

bool input_set_aside(Options *options, Scratch *copy)
{
    if (!input_copy(options->input, copy)) {
        optimize_file_error("read", options->input);
        return false;
    }
    options->input_name = strcmp(options->input, "-") == 0 ? "<stdin>" : options->input;
    options->input = copy->path;
    child_end_on_signals();
    return true;
}
