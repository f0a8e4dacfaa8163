#define _GNU_SOURCE
#include "tool/guard.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front/child.h"
#include "front/real.h"
#include "machine/worse.h"
#include "parse/source.h"

enum { CANNOT_RUN = 127, ERROR_BYTES = 300, MOST_ROUNDS = 4, MOST_REPAIRS = 3, OLDEST_TARGET = 75 };

/* One text, and what ptxas made of it. */
typedef struct Trial {
    Scratch text; /* not open: the original */
    Scratch out, error;
    char *path; /* of the cubin */
    int status; /* wait status of ptxas */
    bool in_time;
    Cubin cubin;
    bool read;
} Trial;

/* A kernel or function that got worse: the phases that it does without are known to be enough. */
typedef struct Suspect {
    const char *name;
    bool without[PHASE_COUNT];
    char moved[ERROR_BYTES]; /* what got worse with all phases */
} Suspect;

typedef struct Guard {
    Arena *arena;
    Options *options;
    const GuardCommand *command;
    GuardResult *result;
    Trial original, best;
    VEC(Suspect) suspects;
    u32 files;
} Guard;

/* ---- texts and their machine code --------------------------------------------------------------------------------- */

static void trial_init(Trial *trial)
{
    *trial = (Trial){.text = {.fd = -1}, .out = {.fd = -1}, .error = {.fd = -1}, .status = -1};
}

static void trial_end(Trial *trial)
{
    scratch_close(&trial->text);
    scratch_close(&trial->out);
    scratch_close(&trial->error);
    if (trial->read)
        cubin_close(&trial->cubin);
    if (trial->path)
        unlink(trial->path);
    trial_init(trial);
}

/* The options without reports: what they ask for is written once, when it is known what is done. */
static Options quiet_options(const Guard *guard, const char *output)
{
    Options quiet = *guard->options;
    quiet.output = output;
    quiet.remarks = NULL;
    quiet.stats = STATS_NONE;
    quiet.time = false;
    quiet.guard_by = NULL;
    quiet.pipeline.dump_cfg = NULL;
    if (quiet.pipeline.bisect_limit == BISECT_ALL)
        quiet.pipeline.bisect_limit = BISECT_OFF;
    memset(quiet.pipeline.print_before, 0, sizeof quiet.pipeline.print_before);
    memset(quiet.pipeline.print_after, 0, sizeof quiet.pipeline.print_after);
    return quiet;
}

/* Optimizes with what is withheld now, in a process of its own: a fault of it is no fault of ours. NULL, or why there is no text. */
static const char *make_text(Guard *guard, Trial *trial)
{
    if (!scratch_open(&trial->text))
        return "no temporary file";
    Options quiet = quiet_options(guard, trial->text.path);
    fflush(NULL);
    int pid = child_fork();
    if (pid == 0) {
        int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (silent >= 0)
            dup2(silent, STDERR_FILENO);
        _exit((int)tool_optimize(&quiet));
    }
    int status = child_wait(pid);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == TOOL_OK ? NULL : "the text could not be optimized";
}

static bool same_text(const Trial *trial, const char *path)
{
    size_t bytes = 0;
    char *made = scratch_read(&trial->text, &bytes);
    Str text = {NULL, 0};
    bool same = made && source_read(path, &text) && text.len == bytes && memcmp(text.p, made, bytes) == 0;
    source_free(&text);
    free(made);
    return same;
}

/* Starts ptxas on the text; answers the child's number, or -1. */
static int start_ptxas(Guard *guard, Trial *trial)
{
    const GuardCommand *command = guard->command;
    trial->path = arena_printf(guard->arena, "%s/%u.cubin", guard->result->folder, guard->files++);
    if (!scratch_open(&trial->out) || !scratch_open(&trial->error))
        return -1;
    char **argv = arena_array(guard->arena, char *, (u32)command->count + 3);
    int count = command->count;
    memcpy(argv, command->argv, sizeof *argv * (u32)count);
    if (trial->text.fd >= 0)
        argv[command->input] = trial->text.path;
    if (!command->output)
        argv[count++] = arena_printf(guard->arena, "--output-file=%s", trial->path);
    else if (argv[command->output][0] == '-')
        argv[command->output] = arena_printf(guard->arena, "--output-file=%s", trial->path);
    else
        argv[command->output] = trial->path;
    argv[count] = NULL;
    guard->result->runs++;
    return child_start(command->ptxas, argv, trial->out.fd, trial->error.fd);
}

static bool assembled(const Trial *trial)
{
    return trial->in_time && trial->status != -1 && WIFEXITED(trial->status) && WEXITSTATUS(trial->status) == 0;
}

/* Assembles both texts at a time; `b` may be NULL. */
static void assemble(Guard *guard, Trial *a, Trial *b)
{
    Trial *const trial[2] = {a, b};
    int pid[2] = {start_ptxas(guard, a), b ? start_ptxas(guard, b) : -1};
    double end = child_end_after(guard->options->guard_limit);
    for (int i = 0; i < 2; i++)
        if (trial[i])
            trial[i]->in_time = child_wait_until(pid[i], end, &trial[i]->status);
}

/* NULL, or why its machine code cannot be judged. */
static const char *read_trial(Guard *guard, Trial *trial, const char *what)
{
    char error[ERROR_BYTES];
    int status = trial->status;
    if (!trial->in_time)
        return arena_printf(guard->arena, "ptxas did not end within %u seconds over the %s", guard->options->guard_limit,
                            what);
    if (status != -1 && WIFSIGNALED(status))
        return arena_printf(guard->arena, "ptxas was ended by signal %d over the %s", WTERMSIG(status), what);
    if (status == -1 || WEXITSTATUS(status) == CANNOT_RUN)
        return arena_printf(guard->arena, "'%s' cannot be run", guard->command->ptxas);
    if (!assembled(trial))
        return arena_printf(guard->arena, "ptxas refuses the %s", what);
    trial->read = cubin_open(&trial->cubin, trial->path, error, sizeof error);
    return trial->read ? NULL
                       : arena_printf(guard->arena, "what ptxas made of the %s cannot be judged: %s", what,
                                      strrchr(error, ':') ? strrchr(error, ':') + 2 : error);
}

/* ---- judging ------------------------------------------------------------------------------------------------------ */

static Suspect *find_suspect(Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->suspects.n; i++)
        if (strcmp(guard->suspects.v[i].name, name) == 0)
            return &guard->suspects.v[i];
    return NULL;
}

static int find_function(const Cubin *cubin, const CubinFunction *like)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (!cubin->functions[i].inner && strcmp(cubin->functions[i].name, like->name) == 0)
            return (int)i;
    return -1;
}

/* Whether the function of that index in the original is worse in `cubin`; what cannot be judged is. `moved` may be NULL. */
static bool is_worse(const Guard *guard, size_t index, const Cubin *cubin, char *moved)
{
    Unit old = {0}, new = {0};
    Judgement judgement = {.worse = WORSE_INSTRUCTIONS};
    int other = find_function(cubin, &guard->original.cubin.functions[index]);
    bool known = other >= 0 && unit_read(&old, &guard->original.cubin, index) && unit_read(&new, cubin, (size_t)other) &&
                 worse_judge(&judgement, &old, &new);
    if (moved && known)
        worse_describe(&judgement, moved, ERROR_BYTES);
    unit_free(&old);
    unit_free(&new);
    return !known || judgement.worse;
}

static u32 phases_without(const Suspect *suspect)
{
    u32 count = 0;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        count += suspect->without[phase];
    return count;
}

/* All phases that run: those of the sequence, and the clean-up's parts where one of them asks for it. */
static void do_without_all(const Guard *guard, Suspect *suspect)
{
    const PipelineConfig *config = &guard->options->pipeline;
    bool cleans_up = false;
    for (u32 i = 0; i < config->sequence.n; i++) {
        suspect->without[config->sequence.v[i]] = true;
        cleans_up |= config->table->phase[config->sequence.v[i]].after == CLEANUP;
    }
    for (u32 phase = 0; phase < config->table->phases && cleans_up; phase++)
        suspect->without[phase] |= config->table->phase[phase].after == PART && !config->disabled[phase];
}

/* Adds what is worse to the suspects, and leaves it alone. Whether there was any that was not left alone before. */
static bool add_suspects(Guard *guard, const Cubin *cubin)
{
    bool any = false;
    for (size_t i = 0; i < guard->original.cubin.count; i++) {
        const CubinFunction *function = &guard->original.cubin.functions[i];
        char moved[ERROR_BYTES] = "it cannot be judged";
        if (function->inner || !is_worse(guard, i, cubin, moved))
            continue;
        Suspect *suspect = find_suspect(guard, function->name);
        if (!suspect) {
            Suspect new = {.name = function->name};
            memcpy(new.moved, moved, sizeof moved);
            vec_push(&guard->suspects, new);
            suspect = &guard->suspects.v[guard->suspects.n - 1];
        }
        u32 before = phases_without(suspect);
        do_without_all(guard, suspect);
        any |= phases_without(suspect) > before;
    }
    return any;
}

static bool suspect_is_worse(const Guard *guard, const Suspect *suspect, const Cubin *cubin)
{
    for (size_t i = 0; i < guard->original.cubin.count; i++) {
        const CubinFunction *function = &guard->original.cubin.functions[i];
        if (!function->inner && strcmp(function->name, suspect->name) == 0)
            return is_worse(guard, i, cubin, NULL);
    }
    return true;
}

/* ---- the search for what is to blame -------------------------------------------------------------------------------- */

/* Half of the phases that the suspect does without: the first ones, or the others. */
static void take_half(const Suspect *suspect, int half, bool *without)
{
    u32 count = 0, seen = 0;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        count += suspect->without[phase];
    for (u32 phase = 0; phase < PHASE_COUNT; phase++) {
        bool first = seen < count / 2;
        without[phase] = suspect->without[phase] && first == (half == 0);
        seen += suspect->without[phase];
    }
}

/* half: 0, 1; anything else: all that the suspects do without. */
static void withhold(Guard *guard, int half)
{
    VecWithheld *withheld = &guard->options->pipeline.withheld;
    vec_clear(withheld);
    for (u32 i = 0; i < guard->suspects.n; i++) {
        const Suspect *suspect = &guard->suspects.v[i];
        Withheld one = {.function = suspect->name};
        if ((half == 0 || half == 1) && phases_without(suspect) > 1)
            take_half(suspect, half, one.phase);
        else
            memcpy(one.phase, suspect->without, sizeof one.phase);
        vec_push(withheld, one);
    }
}

/* Keeps the half without which a suspect is no longer worse. Whether any suspect learned something. */
static bool learn(Guard *guard, const Trial trial[2])
{
    bool any = false;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        Suspect *suspect = &guard->suspects.v[i];
        if (phases_without(suspect) < 2)
            continue;
        for (int half = 0; half < 2; half++) {
            if (!trial[half].read || suspect_is_worse(guard, suspect, &trial[half].cubin))
                continue;
            bool without[PHASE_COUNT];
            take_half(suspect, half, without);
            memcpy(suspect->without, without, sizeof without);
            any = true;
            break;
        }
    }
    return any;
}

/* Tries both halves of what each suspect does without. Whether another round may find less. */
static bool search_round(Guard *guard)
{
    Trial trial[2];
    bool made = true;
    for (int half = 0; half < 2; half++) {
        trial_init(&trial[half]);
        withhold(guard, half);
        made = made && !make_text(guard, &trial[half]);
    }
    if (made) {
        assemble(guard, &trial[0], &trial[1]);
        for (int half = 0; half < 2; half++)
            if (assembled(&trial[half]))
                (void)read_trial(guard, &trial[half], "text without some phases");
    }
    bool more = made && learn(guard, trial);
    trial_end(&trial[0]);
    trial_end(&trial[1]);
    return more;
}

/* Makes the text that is to be delivered; NULL, or why it cannot be judged. */
static const char *make_best(Guard *guard, const char *what)
{
    trial_end(&guard->best);
    const char *trouble = make_text(guard, &guard->best);
    if (trouble)
        return trouble;
    if (same_text(&guard->best, guard->options->input))
        return NULL; /* the original: nothing to assemble */
    assemble(guard, &guard->best, NULL);
    return read_trial(guard, &guard->best, what);
}

/* Phases are withheld until nothing is worse; what stays worse is left alone. */
static const char *hold_back(Guard *guard)
{
    for (u32 round = 0; round < MOST_ROUNDS && search_round(guard); round++)
        ;
    for (u32 repair = 0; repair < MOST_REPAIRS; repair++) {
        withhold(guard, -1);
        const char *trouble = make_best(guard, "text without some phases");
        if (trouble)
            return trouble;
        if (!guard->best.read || !add_suspects(guard, &guard->best.cubin))
            return NULL;
    }
    return "kernels stay worse whatever is left out";
}

static void leave_all_alone(Guard *guard)
{
    Withheld all = {.function = NULL};
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        all.phase[phase] = true;
    vec_clear(&guard->options->pipeline.withheld);
    vec_push(&guard->options->pipeline.withheld, all);
}

/* NULL, or why the original is to be used. */
static const char *judge_texts(Guard *guard)
{
    const char *trouble = make_text(guard, &guard->best);
    if (trouble)
        return trouble;
    if (same_text(&guard->best, guard->options->input)) {
        guard->result->is_original = true;
        return NULL;
    }
    assemble(guard, &guard->original, &guard->best);
    trouble = read_trial(guard, &guard->original, "original");
    if (trouble)
        return trouble;
    trouble = read_trial(guard, &guard->best, "optimized text");
    guard->result->refused = trouble && guard->best.in_time;
    if (trouble)
        return trouble;
    return add_suspects(guard, &guard->best.cubin) ? hold_back(guard) : NULL;
}

static void say_held_back(const Guard *guard, FILE *notes)
{
    const PhaseTable *table = guard->options->pipeline.table;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        const Suspect *suspect = &guard->suspects.v[i];
        Suspect all = {0};
        do_without_all(guard, &all);
        bool alone = phases_without(&all) == phases_without(suspect);
        u32 said = 0;
        fprintf(notes, "ptxopt: note: '%s' is ", suspect->name);
        fputs(alone ? "left alone" : "optimized without ", notes);
        for (u32 phase = 0; phase < table->phases && !alone; phase++)
            if (suspect->without[phase])
                fprintf(notes, "%s%s", said++ ? ", " : "", table->phase[phase].name);
        fprintf(notes, ": ptxas made it worse: %s\n", suspect->moved);
    }
}

/* Hands over what is to be delivered: the best text's machine code, or the original's. */
static void deliver(Guard *guard)
{
    GuardResult *result = guard->result;
    Trial *trial = guard->best.read ? &guard->best : &guard->original;
    result->is_original = trial == &guard->original;
    result->held_back = guard->suspects.n;
    if (!trial->path)
        return;
    result->cubin = trial->path;
    result->input = arena_copy(guard->arena, trial->text.path, strlen(trial->text.path));
    result->out = trial->out;
    result->error = trial->error;
    trial->path = NULL;
    trial->out.fd = trial->error.fd = -1;
}

/* A folder of our own in $TMPDIR or /tmp; ptxas writes no files without names. */
static char *make_folder(Arena *arena)
{
    const char *parent = getenv("TMPDIR");
    char *folder = arena_printf(arena, "%s/ptxopt-guard-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(folder);
}

GuardResult guard_run(Arena *arena, Options *options, const GuardCommand *command, FILE *notes)
{
    GuardResult result = {.out = {.fd = -1}, .error = {.fd = -1}};
    Guard guard = {.arena = arena, .options = options, .command = command, .result = &result};
    trial_init(&guard.original);
    trial_init(&guard.best);
    result.folder = make_folder(arena);
    result.trouble = result.folder ? judge_texts(&guard) : "no temporary folder";
    if (result.trouble) {
        leave_all_alone(&guard);
        result.is_original = true;
    } else if (!result.is_original) {
        deliver(&guard);
        if (notes)
            say_held_back(&guard, notes);
    }
    for (u32 i = 0; i < options->pipeline.withheld.n; i++) { /* the names live as long as the cubin */
        Withheld *withheld = &options->pipeline.withheld.v[i];
        withheld->function = withheld->function ? arena_copy(arena, withheld->function, strlen(withheld->function)) : NULL;
    }
    trial_end(&guard.original);
    trial_end(&guard.best);
    vec_free(&guard.suspects);
    return result;
}

void guard_end(GuardResult *result)
{
    scratch_close(&result->out);
    scratch_close(&result->error);
    if (result->cubin)
        unlink(result->cubin);
    if (result->folder)
        rmdir(result->folder);
    *result = (GuardResult){.out = {.fd = -1}, .error = {.fd = -1}};
}

/* ---- the command of `ptxopt --guard` --------------------------------------------------------------------------------- */

/* The target that the text names: "sm_90a"; the oldest one that can be judged where it is older, or none is named. */
static const char *text_target(Arena *arena, Str text)
{
    const char *at = text.len ? memmem(text.p, text.len, ".target", 7) : NULL, *end = text.p + text.len;
    while (at && at < end && *at != '\n' && *at != '\r' && strncmp(at, "sm_", 3) != 0)
        at++;
    u32 len = 0;
    while (at && at + len < end &&
           (at[len] == '_' || (at[len] >= 'a' && at[len] <= 'z') || (at[len] >= '0' && at[len] <= '9')))
        len++;
    const char *name = len ? arena_copy(arena, at, len) : "sm_0";
    return atoi(name + 3) < OLDEST_TARGET ? "sm_75" : name;
}

GuardCommand guard_command(Arena *arena, const Options *options, const char **why)
{
    static char own_name[] = "ptxopt";
    GuardCommand command = {.count = 3, .input = 2};
    front_enter();
    if (options->guard_by[0])
        command.ptxas = strchr(options->guard_by, '/') ? options->guard_by : front_search_path(arena, options->guard_by);
    else
        command.ptxas = front_find_real(arena, "ptxas", own_name, why);
    if (options->guard_by[0] && (!command.ptxas || access(command.ptxas, X_OK) != 0 || front_has_visited(command.ptxas))) {
        *why = arena_printf(arena, "--guard names '%s', which is no program that can be run, or ptxopt itself",
                            options->guard_by);
        command.ptxas = NULL;
    }
    Str text = {NULL, 0};
    const char *target = options->guard_arch;
    if (!target && command.ptxas && source_read(options->input, &text))
        target = text_target(arena, text);
    source_free(&text);
    command.argv = arena_array(arena, char *, 4);
    command.argv[0] = arena_printf(arena, "%s", command.ptxas ? command.ptxas : "ptxas");
    command.argv[1] = arena_printf(arena, "-arch=%s", target ? target : "sm_75");
    command.argv[2] = arena_printf(arena, "%s", options->input);
    return command;
}
