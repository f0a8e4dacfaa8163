/* The sum of a build: the lines of JSON that calls of the front append to PTXOPT_LOG. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "judge/report/report.h"

enum { MOST_LISTED = 20 };

/* ---- JSON ------------------------------------------------------------------------------------------------------------ */

typedef struct LogReader {
    const char *p, *end;
} LogReader;

static void skip_blanks(LogReader *c)
{
    while (c->p < c->end && strchr(" \t\r", *c->p))
        c->p++;
}

static bool take(LogReader *c, char wanted)
{
    skip_blanks(c);
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

/* Takes a string with its escapes, without its quotes. */
static bool take_string(LogReader *c, Str *string)
{
    if (!take(c, '"'))
        return false;
    const char *start = c->p;
    while (c->p < c->end && *c->p != '"')
        c->p += *c->p == '\\' && c->end - c->p > 1 ? 2 : 1;
    *string = (Str){start, (u32)(c->p - start)};
    return take(c, '"');
}

/* Takes a value as it is written: a string without its quotes, and arrays and objects whole. */
static bool take_value(LogReader *c, Str *value)
{
    skip_blanks(c);
    const char *start = c->p;
    u32 depth = 0;
    if (c->p < c->end && *c->p == '"')
        return take_string(c, value);
    while (c->p < c->end && (depth || !strchr(",]}", *c->p))) {
        Str string;
        if (*c->p == '"') {
            if (!take_string(c, &string))
                return false;
            continue;
        }
        depth += *c->p == '[' || *c->p == '{';
        depth -= depth && (*c->p == ']' || *c->p == '}');
        c->p++;
    }
    *value = (Str){start, (u32)(c->p - start)};
    return c->p > start && !depth;
}

/* The next member of an object that has been opened. False at its end, and where it is none: `*good` is false then. */
static bool next_member(LogReader *c, Str *name, Str *value, bool *good)
{
    take(c, ',');
    if (take(c, '}'))
        return false;
    *good = take_string(c, name) && take(c, ':') && take_value(c, value);
    return *good;
}

/* The string that was written; a character beyond ASCII that is written as a number stays one. */
static const char *unescaped(Arena *arena, Str string)
{
    char *text = arena_alloc(arena, string.len + 1);
    u32 len = 0;
    for (u32 i = 0; i < string.len; i++) {
        if (string.p[i] == '\\' && i + 1 < string.len && strchr("\"\\/", string.p[i + 1]))
            i++;
        text[len++] = string.p[i];
    }
    text[len] = '\0';
    return text;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

typedef enum CallResult { CALL_OPTIMIZED, CALL_UNCHANGED, CALL_BYPASSED, CALL_FAILED, CALL_RESULTS } CallResult;
static const char *const result_name[] = {"optimized", "unchanged", "bypassed", "failed"};

typedef struct LogCall {
    const char *file, *reason, *warning;
    Str reverted, slow;
    u32 result; /* CALL_RESULTS: none of these */
    unsigned functions, changed, held_back, level;
    double optimize_ms, run_ms;
} LogCall;

typedef struct BuildLog {
    Arena *arena;
    VEC(LogCall) calls;
    u32 bad; /* lines that are no entry, or are cut short */
} BuildLog;

static double number_of(Arena *arena, Str value) { return strtod(arena_copy(arena, value.p, value.len), NULL); }

static void take_member(Arena *arena, LogCall *call, Str name, Str value)
{
    if (str_is(name, "result")) {
        for (call->result = 0; call->result < CALL_RESULTS && !str_is(value, result_name[call->result]);)
            call->result++;
    } else if (str_is(name, "source") || (str_is(name, "input") && !call->file)) {
        call->file = unescaped(arena, value);
    } else if (str_is(name, "output") && !call->file) {
        call->file = unescaped(arena, value);
    } else if (str_is(name, "reason")) {
        call->reason = unescaped(arena, value);
    } else if (str_is(name, "warning")) {
        call->warning = unescaped(arena, value);
    } else if (str_is(name, "reverted")) {
        call->reverted = value;
    } else if (str_is(name, "slow_kernels")) {
        call->slow = value;
    } else if (str_is(name, "functions")) {
        call->functions = (unsigned)number_of(arena, value);
    } else if (str_is(name, "changed")) {
        call->changed = (unsigned)number_of(arena, value);
    } else if (str_is(name, "held_back")) {
        call->held_back = (unsigned)number_of(arena, value);
    } else if (str_is(name, "ptxas_level")) {
        call->level = (unsigned)number_of(arena, value);
    } else if (str_is(name, "optimize_ms")) {
        call->optimize_ms = number_of(arena, value);
    } else if (str_is(name, "run_ms")) {
        call->run_ms = number_of(arena, value);
    }
}

static void take_line(BuildLog *log, LogReader line)
{
    LogCall call = {.result = CALL_RESULTS};
    Str name, value;
    skip_blanks(&line);
    if (line.p == line.end)
        return;
    bool good = take(&line, '{');
    while (good && next_member(&line, &name, &value, &good))
        take_member(log->arena, &call, name, value);
    skip_blanks(&line);
    if (!good || line.p != line.end || call.result == CALL_RESULTS)
        log->bad++;
    else
        vec_push(&log->calls, call);
}

/* ---- the sum --------------------------------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static u32 count_files(const BuildLog *log)
{
    const char **name = arena_array(log->arena, const char *, log->calls.n + 1);
    u32 files = 0, named = 0;
    for (u32 i = 0; i < log->calls.n; i++)
        if (log->calls.v[i].file)
            name[named++] = log->calls.v[i].file;
    qsort(name, named, sizeof *name, by_name);
    for (u32 i = 0; i < named; i++)
        files += i == 0 || strcmp(name[i - 1], name[i]) != 0;
    return files;
}

static const char *file_of(const LogCall *call) { return call->file ? call->file : "?"; }

/* Says which functions a call reverted: [{"function": ..., "how": ..., "why": ...}, ...]. */
static void put_reverted(FILE *out, Arena *arena, const LogCall *call)
{
    LogReader list = {call->reverted.p, call->reverted.p + call->reverted.len};
    Str name, value;
    if (!call->reverted.p || !take(&list, '['))
        return;
    while (take(&list, '{')) {
        const char *function = "?", *how = "?", *why = "?";
        for (bool good = true; good && next_member(&list, &name, &value, &good);) {
            const char **place = str_is(name, "function") ? &function : str_is(name, "how") ? &how : &why;
            *place = unescaped(arena, value);
        }
        fprintf(out, "    %s: %s: %s: %s\n", file_of(call), function, how, why);
        take(&list, ',');
    }
}

static const char *plural(unsigned long count) { return count == 1 ? "" : "s"; }

static void put_totals(FILE *out, const BuildLog *log, const char *path)
{
    u32 results[CALL_RESULTS] = {0}, reverted = 0;
    unsigned long functions = 0, changed = 0;
    double optimize = 0, run = 0;
    for (u32 i = 0; i < log->calls.n; i++) {
        const LogCall *call = &log->calls.v[i];
        results[call->result]++;
        functions += call->functions;
        changed += call->changed;
        reverted += call->held_back;
        optimize += call->optimize_ms / 1e3;
        run += call->run_ms / 1e3;
    }
    u32 files = count_files(log);
    fprintf(out, "%s: %u call%s over %u file%s\n", path, log->calls.n, plural(log->calls.n), files, plural(files));
    for (u32 r = 0; r < CALL_RESULTS; r++)
        fprintf(out, "%s%u %s", r ? ", " : "    ", results[r], result_name[r]);
    fprintf(out, "\n    %lu function%s, %lu changed by the phases, %u reverted by the guard\n", functions,
            plural(functions), changed, reverted);
    fprintf(out, "    %.3f s in the optimizer, %.3f s in ptxas and cicc where the front waited for them\n", optimize, run);
    if (log->bad)
        fprintf(out, "    %u line%s left out: no entry, or cut short\n", log->bad, plural(log->bad));
}

/* Lists, under a heading, what `put` writes of calls that `has` says something of. */
static void put_list(FILE *out, const BuildLog *log, const char *heading, bool (*has)(const LogCall *call),
                     void (*put)(FILE *out, Arena *arena, const LogCall *call))
{
    u32 count = 0;
    for (u32 i = 0; i < log->calls.n; i++) {
        if (!has(&log->calls.v[i]))
            continue;
        if (count++ == 0)
            fprintf(out, "\n%s:\n", heading);
        if (count <= MOST_LISTED)
            put(out, log->arena, &log->calls.v[i]);
    }
    if (count > MOST_LISTED)
        fprintf(out, "    and %u more\n", count - MOST_LISTED);
}

static bool has_reverted(const LogCall *call) { return call->held_back > 0; }
static bool has_failed(const LogCall *call) { return call->result == CALL_FAILED; }
static bool is_slow(const LogCall *call) { return call->slow.p; }
static bool has_warning(const LogCall *call) { return call->warning; }

static void put_reason(FILE *out, Arena *arena, const LogCall *call)
{
    (void)arena;
    fprintf(out, "    %s: %s\n", file_of(call), call->reason ? call->reason : "no reason is given");
}

static void put_slow(FILE *out, Arena *arena, const LogCall *call)
{
    LogReader list = {call->slow.p, call->slow.p + call->slow.len};
    const char *names = "";
    Str name;
    for (bool more = take(&list, '['); more && take_string(&list, &name); more = take(&list, ','))
        names = arena_append(arena, names, ", ", "%s", unescaped(arena, name));
    fprintf(out, "    %s: assembled at -O%u: %s\n", file_of(call), call->level, names);
}

static void put_warning(FILE *out, Arena *arena, const LogCall *call)
{
    (void)arena;
    fprintf(out, "    %s: %s\n", file_of(call), call->warning);
}

bool report_print_log(FILE *out, Arena *arena, const char *path)
{
    Str text;
    if (!source_read(path, &text))
        return false;
    BuildLog log = {.arena = arena};
    for (const char *at = text.p, *end = text.p + text.len, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        take_line(&log, (LogReader){at, stop});
    }
    put_totals(out, &log, path);
    put_list(out, &log, "reverted", has_reverted, put_reverted);
    put_list(out, &log, "failed, so that the original was assembled", has_failed, put_reason);
    put_list(out, &log, "ptxas took too long", is_slow, put_slow);
    put_list(out, &log, "warnings", has_warning, put_warning);
    vec_free(&log.calls);
    source_free(&text);
    return true;
}
