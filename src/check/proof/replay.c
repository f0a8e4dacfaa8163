#include "check/proof/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/exec/run.h"
#include "parse/reading.h"
#include "check/proof/replay_launch.h"

enum { LAUNCHES = 64, EVENTS_MAX = 200000, WARP_INSTRUCTIONS = 100000 };

typedef struct Side {
    Reading reading;
    Program *program;
} Side;

/* An access, as a thread sees it. */
typedef struct Event {
    MemoryAccess access;
    u8 data[16];
} Event;

typedef VEC(Event) Events;

typedef struct Run {
    Events events;
    RunResult result;
    bool is_full; /* there were more */
} Run;

/* ---- one run ------------------------------------------------------------------------------------------------------------------ */

static void note(void *user, const MemoryAccess *access)
{
    Run *r = user;
    Event e = {.access = *access};
    r->is_full = r->events.n == EVENTS_MAX;
    if (r->is_full)
        return;
    if (access->data)
        memcpy(e.data, access->data, access->bytes < sizeof e.data ? access->bytes : sizeof e.data);
    vec_push(&r->events, e);
}

static Run run(Arena *arena, Program *p, const Launch *launch, u64 limit)
{
    Run r = {0};
    r.result = run_launch(arena, p, launch, &(RunOptions){.seed = 1, .limit = limit, .watch = note, .watch_user = &r});
    return r;
}

static void free_run(Run *r)
{
    vec_free(&r->events);
    run_result_free(&r->result);
}

static int by_thread(const void *a, const void *b)
{
    const Event *x = *(const Event *const *)a, *y = *(const Event *const *)b;
    if (x->access.cta != y->access.cta)
        return x->access.cta < y->access.cta ? -1 : 1;
    if (x->access.thread != y->access.thread)
        return x->access.thread < y->access.thread ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The events by thread, each one's in their order; freed by the caller. */
static const Event **sorted(const Run *r)
{
    const Event **v = mem_zalloc((r->events.n + 1) * sizeof *v);
    for (u32 k = 0; k < r->events.n; k++)
        v[k] = &r->events.v[k];
    qsort(v, r->events.n, sizeof *v, by_thread);
    return v;
}

static bool same_thread(const Event *a, const Event *b)
{
    return a && b && a->access.cta == b->access.cta && a->access.thread == b->access.thread;
}

static bool same_event(const Event *a, const Event *b)
{
    const MemoryAccess *x = &a->access, *y = &b->access;
    if (x->bytes != y->bytes || x->at != y->at || !x->data != !y->data || !x->name != !y->name)
        return false;
    return (!x->name || strcmp(x->name, y->name) == 0) && memcmp(a->data, b->data, sizeof a->data) == 0 &&
           strcmp(x->code->instr->op->text->text, y->code->instr->op->text->text) == 0;
}

/* ---- what differs --------------------------------------------------------------------------------------------------------------- */

static void print_event(FILE *out, const Side *s, const Event *e)
{
    if (!e) {
        fputs("none", out);
        return;
    }
    fprintf(out, "%s", code_location(s->program, e->access.code));
    if (e->access.name)
        fprintf(out, " (at %s+%llu", e->access.name, (unsigned long long)e->access.at);
    else
        fprintf(out, " (at 0x%llx, where nothing is", (unsigned long long)e->access.at);
    if (e->access.data) {
        fputs(": 0x", out);
        for (u32 k = e->access.bytes < sizeof e->data ? e->access.bytes : sizeof e->data; k-- > 0;)
            fprintf(out, "%02x", e->data[k]);
    }
    fputs(")", out);
}

/* The first event that differs, of the first thread that has one. */
static bool print_difference(FILE *out, const Side side[2], const Run r[2])
{
    const Event **v[2] = {sorted(&r[0]), sorted(&r[1])};
    const Event *differ[2] = {NULL, NULL};
    u32 number = 0;
    bool found = false;
    for (u32 k = 0, n = 0, i = 0; !found && (k < r[0].events.n || n < r[1].events.n); k++, n++, i++) {
        const Event *a = v[0][k], *b = v[1][n], *last = k ? v[0][k - 1] : NULL; /* NULL at the end */
        if (!same_thread(a, last) && !same_thread(b, last))
            i = 0;
        found = !same_thread(a, b) || !same_event(a, b);
        bool is_after = !same_thread(a, b) && (!a || (b && by_thread(&b, &a) < 0));
        differ[0] = is_after ? NULL : a;
        differ[1] = same_thread(a, b) || is_after ? b : NULL;
        number = i + 1;
    }
    if (found) {
        const Event *e = differ[0] ? differ[0] : differ[1];
        fprintf(out, "thread %u of block %u, access %u: ", e->access.thread, e->access.cta, number);
        print_event(out, &side[0], differ[0]);
        fputs("; ", out);
        print_event(out, &side[1], differ[1]);
    }
    mem_free(v[0]);
    mem_free(v[1]);
    return found;
}

static bool print_output(FILE *out, const RunResult *a, const RunResult *b)
{
    for (u32 k = 0; k < a->outputs.n && k < b->outputs.n; k++) {
        const Object *x = &a->outputs.v[k], *y = &b->outputs.v[k];
        u64 at = 0;
        while (at < x->bytes && at < y->bytes && x->data[at] == y->data[at])
            at++;
        if (at == x->bytes)
            continue;
        fprintf(out, "byte %llu of %s is 0x%02x and 0x%02x", (unsigned long long)at, x->name, x->data[at], y->data[at]);
        return true;
    }
    return false;
}

static bool print_finding(FILE *out, const RunResult *a, const RunResult *b)
{
    for (u32 k = 0; k < b->findings.n; k++) {
        const Finding *f = &b->findings.v[k];
        if (run_found(a, f))
            continue;
        fprintf(out, "newly %s, %s: %s", finding_name(f->kind), f->subject, f->where[0] ? f->where[0] : "");
        return true;
    }
    return false;
}

/* ---- launches -------------------------------------------------------------------------------------------------------------------- */

static bool finds_race(const RunResult *r)
{
    for (u32 k = 0; k < r->findings.n; k++)
        if (r->findings.v[k].kind == FIND_RACE)
            return true;
    return false;
}

/* Whether what a thread does may depend on the others' order. */
static bool depends_on_order(const Run *r)
{
    if (finds_race(&r->result))
        return true;
    bool several = false, is_atomic = false;
    for (u32 k = 0; k < r->events.n; k++) {
        several |= !same_thread(&r->events.v[k], &r->events.v[0]);
        is_atomic |= r->events.v[k].access.code->strong;
    }
    return several && is_atomic;
}

/* True: a difference was printed. `unsupported` is what the interpreter cannot run, where it came to that. */
static bool try_launch(FILE *out, const Side side[2], const Launch *launch, const char **unsupported)
{
    Arena arena = {0};
    Run r[2] = {run(&arena, side[0].program, launch, WARP_INSTRUCTIONS)};
    bool found = false;
    if (r[0].result.unsupported)
        *unsupported = r[0].result.unsupported;
    if (!r[0].result.error && !r[0].result.unsupported && !run_hangs(&r[0].result) && !depends_on_order(&r[0])) {
        r[1] = run(&arena, side[1].program, launch, run_limit_after(&r[0].result));
        if (r[1].result.unsupported)
            *unsupported = r[1].result.unsupported;
        else if (!r[1].result.error)
            found = (!r[0].is_full && !run_hangs(&r[1].result) && print_difference(out, side, r)) ||
                    print_output(out, &r[0].result, &r[1].result) || print_finding(out, &r[0].result, &r[1].result);
        free_run(&r[1]);
    }
    free_run(&r[0]);
    arena_free(&arena);
    return found;
}

static bool write_launch(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    bool ok = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && ok;
}

static bool try_launches(const Side side[2], const FnCode *kernel, const ProveVerdict *v, const char *path)
{
    const char *unsupported = NULL;
    bool found = false, ok = true;
    for (u32 k = 0; k < LAUNCHES && !found; k++) {
        Arena arena = {0};
        LaunchFile launches = {0};
        char *text = replay_launch(kernel->fn, v, k), *said = NULL;
        size_t bytes;
        FILE *out = open_memstream(&said, &bytes);
        if (out && text && launch_parse(&arena, "launch", (Str){text, (u32)strlen(text)}, &launches))
            found = try_launch(out, side, &launches.launches.v[0], &unsupported);
        if (out)
            fclose(out);
        if (found && said)
            printf("  replayed: %s\n", said);
        if (found && path)
            ok = write_launch(path, text);
        launch_free(&launches);
        free(said);
        free(text);
        arena_free(&arena);
    }
    if (!found && unsupported)
        printf("  not replayed: the interpreter cannot run %s\n", unsupported);
    else if (!found)
        printf("  not replayed: none of %d launches shows it\n", LAUNCHES);
    return ok;
}

/* ---- texts ----------------------------------------------------------------------------------------------------------------------- */

static bool open_side(Side *s, const ReplayText *t)
{
    if (reading_init(&s->reading, t->path, t->text, parse_module_strict, stderr))
        s->program = program_new(&s->reading.arena, s->reading.module, t->path);
    return s->program != NULL;
}

static void close_side(Side *s)
{
    if (s->program)
        program_free(s->program);
    reading_free(&s->reading);
}

bool replay_refutation(const ReplayText text[2], const char *function, const ProveVerdict *v, const char *launch)
{
    Side side[2] = {{.program = NULL}, {.program = NULL}};
    bool ok = true;
    bool opened = open_side(&side[0], &text[0]);
    opened = open_side(&side[1], &text[1]) && opened;
    if (opened) {
        FnCode *kernel = program_function(side[0].program, function);
        if (kernel && kernel->fn->is_entry)
            ok = try_launches(side, kernel, v, launch);
        else
            puts("  not replayed: it is no kernel");
    } else {
        puts("  not replayed: the interpreter cannot read the texts");
    }
    close_side(&side[0]);
    close_side(&side[1]);
    return ok;
}
