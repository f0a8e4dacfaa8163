/* The guard of a call: a process of its own asks ptxas whether the optimized text is worse, and says what is to be delivered. */
#define _GNU_SOURCE
#include "use/front/front_inside.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/source.h"
#include "judge/guard/guard.h"
#include "judge/ptxas/child.h"

/* How the process of the guard ends, and its files: what it says, and what is to be delivered. */
typedef enum Guarded { GUARDED_TEXT, GUARDED_OPTIMIZED, GUARDED_ORIGINAL, GUARDED_TROUBLE } Guarded;

typedef struct GuardFiles {
    GuardDelivery delivery;
    Scratch told; /* the trouble; or lines NAME, HOW, WHY with tabs between them */
} GuardFiles;

static AssembleCommand command_of(Front *front)
{
    int count = (int)front->command.n - 1, input = front->asked.input;
    u64 meaning = front_ptxas_meaning(&front->arena, count, front->command.v, input);
    return (AssembleCommand){front->real, front->command.v, count, input, front->asked.output_at, meaning};
}

/* Makes files empty that the optimizer is to write again. */
static bool clear_outputs(const Front *front, Scratch *text, Scratch *messages)
{
    Scratch records = front->records, advice = front->advice, rewrites = front->rewrites;
    return scratch_clear(text) && scratch_clear(messages) && (records.fd < 0 || scratch_clear(&records)) &&
           (advice.fd < 0 || scratch_clear(&advice)) && (rewrites.fd < 0 || scratch_clear(&rewrites));
}

/* Reports that the options and the log ask for are of what is done in the end. */
static bool report_again(Front *front, GuardFiles *files, Scratch *messages)
{
    bool asked = front->options.remarks || front->options.explain || front->options.stats != STATS_NONE ||
                 front->options.time || front->advice.fd >= 0;
    if (!asked)
        return true;
    front->options.output = files->delivery.text.path;
    return clear_outputs(front, &files->delivery.text, messages) && dup2(messages->fd, STDERR_FILENO) >= 0 &&
           proof_optimize_file(&front->options) == TOOL_OK;
}

static const char *line_of(Front *front, const HeldBack *one)
{
    return arena_printf(&front->arena, "%s\t%s\t%s\n", one->name, one->how, one->why);
}

static Guarded guard_here(Front *front, GuardFiles *files, Scratch *messages)
{
    AssembleCommand command = command_of(front);
    child_end_on_signals();
    GuardResult result = guard_run(&front->arena, &front->options, &command, &files->delivery);
    if (result.held_back.n && !result.trouble && !report_again(front, files, messages))
        result.trouble = "internal error of the optimizer";
    if (result.trouble) {
        front_tell(&files->told, "%s", result.trouble);
        return GUARDED_TROUBLE;
    }
    for (u32 i = 0; i < result.held_back.n; i++)
        front_tell(&files->told, "%s", line_of(front, &result.held_back.v[i]));
    return !result.is_judged ? GUARDED_TEXT : result.is_original ? GUARDED_ORIGINAL : GUARDED_OPTIMIZED;
}

/* The file that ptxas writes if no output is named. */
static const char default_output[] = "elf.o";

void front_tell_spills(Front *front)
{
    const char *output = front->asked.output ? front->asked.output : default_output;
    struct stat st;
    if (front->advice.fd < 0 || !front->options.guard_by || stat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    int pid = child_fork();
    if (pid == 0) {
        VecSpilled spills = {0};
        guard_find_spills(&front->arena, output, &spills);
        for (u32 i = 0; i < spills.n; i++)
            front_tell(&front->advice, "Spilled\t%s\t%s\n", spills.v[i].function, spills.v[i].advice);
        _exit(TOOL_OK);
    }
    (void)child_wait(pid);
}

static bool copy_file(const char *from, const char *to)
{
    Str bytes;
    if (!source_read(from, &bytes))
        return false;
    FILE *file = fopen(to, "wbe");
    bool good = file && fwrite(bytes.p, 1, bytes.len, file) == bytes.len;
    good = file && fclose(file) == 0 && good;
    source_free(&bytes);
    return good;
}

static const char *deliver_guarded(Front *front, const GuardFiles *files, const char *result, const Scratch *messages)
{
    sigset_t old;
    child_hold_signals(&old);
    bool good = copy_file(files->delivery.cubin.path, front->asked.output ? front->asked.output : default_output);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (!good)
        return "the output could not be written";
    if (strcmp(result, "optimized") == 0)
        front_tell_spills(front);
    front_copy_messages(front, messages, NULL, stderr);
    front_copy_messages(front, &files->delivery.out, files->delivery.text.path, stdout);
    front_copy_messages(front, &files->delivery.error, files->delivery.text.path, stderr);
    front->log.result = result;
    front->log.status = 0;
    front_finish(front);
    return NULL;
}

/* Reads what the guard, in a process of its own, has decided. Answers as front_guard(). */
static const char *take_verdict(Front *front, GuardFiles *files, int status, const Scratch *messages, bool *done)
{
    size_t bytes = 0;
    char *told = scratch_read(&files->told, &bytes);
    const char *said = told ? arena_copy(&front->arena, told, bytes) : "", *trouble;
    free(told);
    if (status == -1)
        return "no process for the guard";
    if (WIFSIGNALED(status))
        return arena_printf(&front->arena, "the guard was ended by signal %d", WTERMSIG(status));
    front->log.held_back = said;
    switch (WEXITSTATUS(status)) {
    case GUARDED_TEXT: return NULL;
    case GUARDED_OPTIMIZED: trouble = deliver_guarded(front, files, "optimized", messages); break;
    case GUARDED_ORIGINAL: trouble = deliver_guarded(front, files, "unchanged", messages); break;
    case GUARDED_TROUBLE: trouble = said; break;
    default: trouble = "internal error of the guard"; break;
    }
    *done = !trouble;
    if (trouble)
        front->log.held_back = NULL;
    return trouble;
}

/* What was left alone, a line each; NULL: there is no memory. */
static const char *lines_of(Front *front, const GuardResult *result)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (u32 i = 0; out && i < result->held_back.n; i++)
        fputs(line_of(front, &result->held_back.v[i]), out);
    bool whole = out && !ferror(out);
    whole = out && fclose(out) == 0 && whole;
    const char *lines = whole ? arena_copy(&front->arena, text, bytes) : NULL;
    free(text);
    return lines;
}

bool front_recall(Front *front, u64 *made)
{
    AssembleCommand command = command_of(front);
    GuardResult result;
    if (!front->options.guard_by || front->options.guard_search)
        return false;
    front->options.input = front->command.v[front->asked.input];
    bool known = guard_recall(&front->arena, &front->options, &command, &result, made);
    front->log.held_back = lines_of(front, &result);
    guard_end(&result);
    return known;
}

bool front_forget(Front *front, Scratch *text, Scratch *messages)
{
    vec_clear(&front->options.pipeline.withheld);
    front->log.held_back = NULL;
    return clear_outputs(front, text, messages);
}

const char *front_guard(Front *front, const Scratch *text, Scratch *messages, bool *done)
{
    GuardFiles files = {.delivery = {*text, {.fd = -1}, {.fd = -1}, {.fd = -1}, front->rewrites}, .told = {.fd = -1}};
    const char *trouble = "no temporary file";
    double start = clock_now();
    *done = false;
    front->options.input = front->command.v[front->asked.input];
    if (scratch_open(&files.delivery.cubin) && scratch_open(&files.delivery.out) && scratch_open(&files.delivery.error) &&
        scratch_open(&files.told)) {
        int pid = child_fork();
        if (pid == 0)
            _exit((int)guard_here(front, &files, messages));
        int status = child_wait(pid);
        front->log.guard_ms = front->log.run_ms = 1e3 * (clock_now() - start);
        if (child_caught())
            child_end_as(status, child_caught());
        trouble = take_verdict(front, &files, status, messages, done);
    }
    scratch_close(&files.delivery.cubin);
    scratch_close(&files.delivery.out);
    scratch_close(&files.delivery.error);
    scratch_close(&files.told);
    return trouble;
}
