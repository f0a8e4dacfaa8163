#include "judge.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask.h"
#include "optimize.h"
#include "parse/parse.h"

extern char **environ;

const char *verdict_name(Verdict v)
{
    static const char *const names[] = {"bad-input",     "crashed",          "hangs",          "internal-error",
                                        "broken-output", "refused-by-ptxas", "memory-differs", "new-finding",
                                        "unstable",      "wrongly-proved",   "refuted",        "accesses-differ"};
    return v >= BAD_INPUT && v < VERDICTS ? names[v - BAD_INPUT] : v == CLEAN ? "clean" : "usage";
}

/* ---- ptxas ------------------------------------------------------------------------------------------------------ */

static bool run_ptxas(const char *target, const char *file, const char *log)
{
    const char *ptxas = getenv("PTXAS");
    const char *const argv[] = {ptxas, "-arch", target, "-o", "/dev/null", file, NULL};
    char *writable[COUNT_OF(argv)]; /* as POSIX declares it, and does not use it */
    memcpy(writable, argv, sizeof argv);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, 0x241 /* write, create, truncate */, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, ptxas, &actions, NULL, writable, environ) == 0)
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status == 0;
}

/* The text ends with a NUL. What ptxas said goes to j->message when it refuses. */
static bool assembles(Judge *j, const Text *ptx)
{
    char file[512], log[520], target[16] = "sm_75";
    snprintf(file, sizeof file, "%s.ptx", j->options.work);
    snprintf(log, sizeof log, "%s.log", j->options.work);
    const char *named = strstr(ptx->v, ".target sm_");
    if (named)
        sscanf(named, ".target %15[a-z0-9_]", target);
    if (strcmp(target, "sm_70") == 0) /* which ptxas 13 has no code for */
        strcpy(target, "sm_75");
    FILE *out = fopen(file, "w");
    if (!out)
        return false;
    fwrite(ptx->v, 1, ptx->n, out);
    fclose(out);
    bool ok = run_ptxas(target, file, log);
    FILE *said = ok ? NULL : fopen(log, "r");
    if (said) {
        char buffer[2000];
        size_t n = fread(buffer, 1, sizeof buffer, said);
        text_append(&j->message, buffer, n);
        fclose(said);
    }
    unlink(file);
    unlink(log);
    return ok;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

enum { INSTRUCTIONS_MAX = 3000000 };

static u64 run_limit(const Judge *j) { return j->options.limit ? j->options.limit : INSTRUCTIONS_MAX; }

typedef struct Loaded {
    Arena arena;
    Diag diag;
    Module *module;
    Program *program;
} Loaded;

/* Complaints go to `message`. The text ends with a NUL. */
static bool load(Loaded *l, const Text *ptx, Text *message)
{
    Str text = {ptx->v, ptx->n};
    char *said = NULL;
    size_t size = 0;
    *l = (Loaded){0};
    FILE *messages = open_memstream(&said, &size);
    diag_init(&l->diag, messages, "kernel.ptx", text);
    l->module = parse_module_strict(&l->arena, "kernel.ptx", text, &l->diag);
    fclose(messages);
    text_append(message, said, size);
    free(said);
    if (l->diag.errors == 0)
        l->program = program_new(&l->arena, l->module, "kernel.ptx");
    return l->program != NULL;
}

static void unload(Loaded *l)
{
    if (l->program)
        program_free(l->program);
    module_free(l->module);
    diag_free(&l->diag);
    arena_free(&l->arena);
}

static void trace_access(void *user, const MemoryAccess *access)
{
    Trace *trace = user;
    u64 thread = (u64)access->cta << 32 | access->thread;
    const u64 numbers[] = {access->at, access->bytes}, one[] = {access->at, (u64)(uintptr_t)access->code};
    u64 *last = fnvmap_at(&trace->last, thread), now = fnv_bytes(FNV_BASIS, (const char *)one, sizeof one);
    trace->polls |= *last == now && !access->data;
    *last = now;
    u64 *hash = fnvmap_at(&trace->threads, thread);
    trace->accesses++;
    trace->order -= *hash;
    *hash = fnv_bytes(*hash ? *hash : FNV_BASIS, (const char *)numbers, sizeof numbers);
    if (access->name)
        *hash = fnv_bytes(*hash, access->name, strlen(access->name));
    if (access->data)
        *hash = fnv_bytes(*hash, (const char *)access->data, access->bytes);
    trace->order += *hash;
}

/* The schedules of one launch share a model of reconvergence, the launches take turns. */
static RunResult run_once(Judge *j, Loaded *l, u32 run, u64 limit, Trace *trace)
{
    RunOptions options = {.seed = 1 + run % j->options.seeds, .limit = limit, .watch = trace_access, .watch_user = trace};
    options.model = (ReconvergeModel)(run / j->options.seeds % RECONVERGE_MODELS);
    j->runs++;
    *trace = (Trace){0};
    RunResult result = run_launch(&l->arena, l->program, &j->launches.launches.v[run / j->options.seeds], &options);
    fnvmap_free(&trace->threads);
    fnvmap_free(&trace->last);
    return result;
}

static void describe(Judge *j, const char *what, const Finding *f)
{
    text_printf(&j->message, "%s: %s %s\n", what, finding_name(f->kind), f->subject);
    for (u32 i = 0; i < COUNT_OF(f->where) && f->where[i]; i++)
        text_printf(&j->message, "    at %s\n", f->where[i]);
}

/* Whether the finding is a race of a poll and what ends it (tests/fuzz/gen/poll.c, spin.c). Which schedules show it is chance. */
static bool is_poll(const Finding *f)
{
    return f->kind == FIND_RACE && (strcmp(f->subject, "flags") == 0 || strcmp(f->subject, "posted") == 0);
}

/* That lanes wait at a warp operation for others is no fault by itself, nor that they poll by weak loads. */
static bool is_wait(const Finding *f) { return is_poll(f) || f->kind == FIND_PARTIAL_SYNC || f->kind == FIND_EXITED_LANE; }

/* Whether the kernel, not optimized, is one to judge by. */
static bool run_is_clean(Judge *j, const RunResult *r, u32 run)
{
    if (r->error || r->unsupported) {
        text_printf(&j->message, "cannot run: %s\n", r->error ? r->error : r->unsupported);
        return false;
    }
    u32 faults = 0;
    for (u32 i = 0; i < r->findings.n; i++) {
        faults += !is_wait(&r->findings.v[i]) && !(j->options.traps && r->findings.v[i].kind == FIND_TRAP);
        describe(j, "found before optimizing", &r->findings.v[i]);
    }
    if (faults || r->stopped)
        return !faults && j->options.traps;
    if (run % j->options.seeds != 0 && run_hash(r) != run_hash(&j->before.v[j->before.n - 2])) {
        text_printf(&j->message, "the outputs depend on the schedule or on uninitialized values\n");
        return false;
    }
    return true;
}

/* Subjects point into the module, which goes; places, too. */
static void keep_findings(Judge *j)
{
    for (u32 i = 0; i < j->before.n; i++)
        for (u32 k = 0; k < j->before.v[i].findings.n; k++) {
            Finding *f = &j->before.v[i].findings.v[k];
            f->subject = arena_printf(&j->arena, "%s", f->subject);
            memset(f->where, 0, sizeof f->where);
        }
}

Verdict judge_open(Judge *j, const JudgeOptions *options, const char *ptx, u32 ptx_len, const char *launch, u32 launch_len)
{
    *j = (Judge){.options = *options};
    text_append(&j->ptx, ptx, ptx_len);
    text_str(&j->ptx);
    Loaded l;
    bool ok =
        launch_parse(&j->arena, "case.launch", (Str){launch, launch_len}, &j->launches) && load(&l, &j->ptx, &j->message);
    if (!ok) {
        text_printf(&j->message, "does not parse\n");
        return BAD_INPUT;
    }
    for (u32 run = 0; ok && run < j->launches.launches.n * j->options.seeds; run++) {
        Trace trace;
        vec_push(&j->before, run_once(j, &l, run, run_limit(j), &trace));
        vec_push(&j->traces, trace);
        ok = run_is_clean(j, &vec_last(&j->before), run);
    }
    keep_findings(j);
    unload(&l);
    if (ok && options->ptxas) {
        j->assembles = assembles(j, &j->ptx);
        vec_clear(&j->message);
    }
    return ok ? CLEAN : BAD_INPUT;
}

void judge_close(Judge *j)
{
    for (u32 i = 0; i < j->before.n; i++)
        run_result_free(&j->before.v[i]);
    vec_free(&j->before);
    vec_free(&j->seen);
    vec_free(&j->message);
    vec_free(&j->traces);
    vec_free(&j->ptx);
    launch_free(&j->launches);
    arena_free(&j->arena);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static bool same_outputs(Judge *j, const RunResult *before, const RunResult *after)
{
    for (u32 i = 0; i < before->outputs.n; i++) {
        const Object *a = &before->outputs.v[i], *b = &after->outputs.v[i];
        u64 at = 0;
        while (at < a->bytes && a->data[at] == b->data[at])
            at++;
        if (at == a->bytes)
            continue;
        at &= ~(u64)3;
        text_printf(&j->message, "output %s, byte %llu: %02x%02x%02x%02x before, %02x%02x%02x%02x after\n", a->name,
                    (unsigned long long)at, a->data[at + 3], a->data[at + 2], a->data[at + 1], a->data[at], b->data[at + 3],
                    b->data[at + 2], b->data[at + 1], b->data[at]);
        return false;
    }
    return true;
}

static bool equal_traces(const Trace *a, const Trace *b) { return a->accesses == b->accesses && a->order == b->order; }

/* Whether each thread accesses memory as often as before, and in the same order. Where a thread polls that depends on the others,
 * and nothing is said. */
static bool same_trace(Judge *j, u32 run, const Trace *after)
{
    const Trace *before = &j->traces.v[run];
    bool differs = !equal_traces(before, after) && !before->polls && !after->polls;
    if (differs)
        text_printf(&j->message, "%llu accesses before, %llu after\n", (unsigned long long)before->accesses,
                    (unsigned long long)after->accesses);
    return !differs;
}

static Verdict compare_run(Judge *j, Loaded *l, u32 run)
{
    const RunResult *before = &j->before.v[run];
    u64 limit = run_limit_after(before);
    Trace trace;
    RunResult after = run_once(j, l, run, limit < run_limit(j) ? limit : run_limit(j), &trace);
    Verdict verdict = CLEAN;
    u32 faults = after.stopped != before->stopped;
    j->only_garbage = !faults;
    for (u32 i = 0; i < after.findings.n; i++) {
        const Finding *f = &after.findings.v[i];
        bool is_new = !is_poll(f) && !((is_wait(f) || f->kind == FIND_TRAP) && run_found(before, f));
        faults += is_new;
        j->only_garbage &= !is_new || after.findings.v[i].kind == FIND_UNINITIALIZED;
    }
    if (after.error || after.unsupported) {
        text_printf(&j->message, "cannot run: %s\n", after.error ? after.error : after.unsupported);
        verdict = BROKEN;
    } else if (faults) {
        for (u32 i = 0; i < after.findings.n; i++)
            describe(j, "new", &after.findings.v[i]);
        j->only_garbage &= same_outputs(j, before, &after);
        verdict = FINDING;
    } else if (!same_outputs(j, before, &after)) {
        verdict = MEMORY;
    } else if (!after.stopped && !same_trace(j, run, &trace)) {
        verdict = ACCESSES;
    }
    if (verdict != CLEAN)
        text_printf(&j->message, "launch %s, seed %u\n", j->launches.launches.v[run / j->options.seeds].label,
                    1 + run % j->options.seeds);
    run_result_free(&after);
    return verdict;
}

static Verdict compare(Judge *j, Text *after)
{
    Loaded l;
    Verdict verdict = load(&l, after, &j->message) ? CLEAN : BROKEN;
    for (u32 run = 0; verdict == CLEAN && run < j->before.n; run++)
        verdict = compare_run(j, &l, run);
    unload(&l);
    return verdict;
}

Verdict judge_compare(Judge *j, Text *after)
{
    vec_clear(&j->message);
    text_str(after);
    return compare(j, after);
}

static Verdict verdict_of(Optimized result)
{
    static const Verdict verdict[] = {
        [OPTIMIZED] = CLEAN, [BAD_FLAGS] = USAGE, [BAD_TEXT] = BROKEN, [BROKE_FUNCTION] = INTERNAL};
    return verdict[result];
}

/* Whether the kernel, not optimized, does something else under some more schedules, of all models: it says nothing then. */
static bool depends_on_schedule(Judge *j)
{
    Loaded l;
    bool differs = !load(&l, &j->ptx, &j->message);
    for (u32 k = 0; k < j->launches.launches.n && !differs; k++)
        for (u32 doubt = 0; doubt < j->options.doubts && !differs; doubt++) {
            RunOptions options = {.seed = 1 + j->options.seeds + doubt, .limit = run_limit(j)};
            options.model = (ReconvergeModel)(doubt % RECONVERGE_MODELS);
            RunResult r = run_launch(&l.arena, l.program, &j->launches.launches.v[k], &options);
            differs = r.stopped || run_hash(&r) != run_hash(&j->before.v[k * j->options.seeds]);
            run_result_free(&r);
        }
    unload(&l);
    return differs;
}

static bool same_text(const Text *a, const Text *b) { return a->n == b->n && memcmp(a->v, b->v, a->n) == 0; }

static bool run_before(Judge *j, const Text *after)
{
    u64 hash = 0xcbf29ce484222325;
    for (u32 i = 0; i < after->n; i++)
        hash = (hash ^ (u8)after->v[i]) * 0x100000001b3;
    for (u32 i = 0; i < j->seen.n; i++)
        if (j->seen.v[i] == hash)
            return true;
    vec_push(&j->seen, hash);
    return false;
}

/* Whether a second run is to change nothing: not after a part of the rewrites, nor after phases in an order of their own. A
 * function that went back ends the run, although it or others may gain from what their callees have lost. */
static bool comes_to_rest(const Judge *j, const char *flags)
{
    return !j->went_back && !strstr(flags, "--opt-bisect-limit") && !strstr(flags, "--phases=");
}

static Verdict check_stable(Judge *j, const char *flags, const Text *after)
{
    Text again = {0};
    Verdict verdict = verdict_of(optimize_text(flags, after->v, after->n, &again, &j->message, NULL));
    if (verdict == CLEAN && !same_text(after, &again)) {
        text_printf(&j->message, "a second run changes the output\n");
        verdict = UNSTABLE;
    }
    vec_free(&again);
    return verdict;
}

/* The interpreter's verdict, and whether the prover's goes with it. What a register holds that nobody wrote may decide nothing: an `or`
 * with a number that is not 0, and a comparison with 0. That it is read is no fault where the prover says so. */
static Verdict with_prover(Judge *j, const Text *after, Verdict verdict)
{
    bool is_garbage = verdict == FINDING && j->only_garbage;
    bool is_wrong = verdict == MEMORY || verdict == ACCESSES || (verdict == FINDING && !is_garbage);
    if (j->options.ask == ASK_NEVER || j->options.ask == ASK_STEPS || (verdict != CLEAN && !is_wrong && !is_garbage) ||
        (verdict == CLEAN && j->options.ask == ASK_IF_WRONG))
        return verdict;
    ProveAnswer answer = ask_prover(&(ProveOptions){0}, &j->ptx, after, verdict == CLEAN ? &j->message : NULL);
    j->proved += answer == PROVE_PROVED;
    if (is_garbage)
        return answer == PROVE_PROVED ? CLEAN : verdict;
    if (is_wrong)
        return answer == PROVE_PROVED ? WRONGLY_PROVED : verdict;
    return answer == PROVE_REFUTED ? REFUTED : verdict;
}

static Verdict check_assembles(Judge *j, const Text *after)
{
    return j->assembles && !assembles(j, after) ? REFUSED : CLEAN;
}

enum { ALL_FLAGS_BYTES = FLAGS_BYTES + 16 };

static Verdict optimize(Judge *j, const char *flags, char all[ALL_FLAGS_BYTES], Text *after)
{
    vec_clear(&j->message);
    snprintf(all, ALL_FLAGS_BYTES, "%s%s", j->options.no_verify ? "" : "--verify-each ", flags);
    return verdict_of(optimize_text(all, j->ptx.v, j->ptx.n, after, &j->message, &j->went_back));
}

Verdict judge_text(Judge *j, const char *flags, Text *after)
{
    char all[ALL_FLAGS_BYTES];
    Verdict verdict = optimize(j, flags, all, after);
    if (verdict == BROKEN)
        return after->n ? BROKEN : CLEAN;
    if (verdict != CLEAN || same_text(&j->ptx, after))
        return verdict;
    text_str(after);
    if (run_before(j, after))
        return CLEAN;
    j->rewritten++;
    if (j->options.ask == ASK_ALWAYS && ask_prover(&(ProveOptions){0}, &j->ptx, after, &j->message) == PROVE_REFUTED)
        return REFUTED;
    verdict = j->options.once || !comes_to_rest(j, flags) ? CLEAN : check_stable(j, all, after);
    if (verdict != CLEAN || !j->options.ptxas)
        return verdict;
    j->assembles = j->assembles || assembles(j, &j->ptx);
    vec_clear(&j->message);
    return check_assembles(j, after);
}

Verdict judge_check(Judge *j, const char *flags, Text *after)
{
    char all[ALL_FLAGS_BYTES];
    Verdict verdict = optimize(j, flags, all, after);
    if (verdict != CLEAN || same_text(&j->ptx, after))
        return verdict;
    text_str(after);
    if (run_before(j, after))
        return CLEAN;
    j->rewritten++;
    verdict = compare(j, after);
    if ((verdict == MEMORY || verdict == FINDING) && j->options.doubts && depends_on_schedule(j))
        return CLEAN;
    verdict = with_prover(j, after, verdict);
    if (verdict == CLEAN && !j->options.once && comes_to_rest(j, flags))
        verdict = check_stable(j, all, after);
    return verdict == CLEAN ? check_assembles(j, after) : verdict;
}
