#define _GNU_SOURCE
#include "use/preload/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "use/front/limit.h"
#include "use/front/log.h"

/* The environment as it was when it was first asked. */
static struct {
    bool off;
    const char *limit; /* PTXOPT_LIMIT; NULL */
    const char *const *flags;
    size_t flag_count;
} wish;

static __thread u32 depth;

static void take_flags(void)
{
    const char *text = getenv("PTXOPT_FLAGS");
    char *copy = text ? strdup(text) : NULL, *rest = NULL;
    const char **flags = copy ? calloc(strlen(copy) + 1, sizeof *flags) : NULL;
    if (!flags) {
        free(copy);
        return;
    }
    for (char *word = strtok_r(copy, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        flags[wish.flag_count++] = word;
    wish.flags = flags;
}

static void take_wish(void)
{
    const char *mode = getenv("PTXOPT");
    const char *limit = getenv("PTXOPT_LIMIT");
    wish.off = mode && strcmp(mode, "off") == 0;
    wish.limit = limit ? strdup(limit) : NULL;
    take_flags();
}

bool text_wanted(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_wish);
    return !wish.off;
}

bool text_enter(void) { return depth++ == 0 && text_wanted(); }

void text_leave(void) { depth--; }

/* Machine code, archives of it and bit code begin with other bytes. */
static bool begins_as_ptx(const char *text) { return *text && strchr(" \t\r\n/.", *text); }

/* A limit that makes no sense is said once: in the log, or, where there is none, to the user. */
static const char *say_once(const char *warning)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const char *log = getenv("PTXOPT_LOG");
    if (!warning || atomic_flag_test_and_set(&said))
        return NULL;
    if (!log || !*log)
        fprintf(stderr, "%s: warning: ptxopt: %s\n", program_invocation_short_name, warning);
    return warning;
}

static void log_result(const char *function, ptxopt_status status, const ptxopt_result *result, const char *warning,
                       double start)
{
    FrontLog entry = {.program = program_invocation_short_name, .input = function, .status = -1};
    entry.result = status != PTXOPT_OK ? "failed" : ptxopt_changed(result) ? "optimized" : "unchanged";
    entry.reason = status != PTXOPT_OK ? ptxopt_status_text(status) : NULL;
    entry.warning = say_once(warning);
    entry.optimize_ms = 1e3 * (clock_now() - start);
    front_log(&entry);
}

ptxopt_result *text_optimize(const char *function, const void *text, size_t limit)
{
    if (!text || limit == 0 || !begins_as_ptx(text))
        return NULL;
    int saved = errno;
    double start = clock_now();
    const char *warning = NULL;
    ptxopt_request request = {.size = sizeof request,
                              .text = text,
                              .bytes = strnlen(text, limit),
                              .options = wish.flags,
                              .option_count = wish.flag_count};
    request.limit = limit_seconds(wish.limit, request.bytes, false, &warning);
    ptxopt_result *result;
    ptxopt_status status = ptxopt_optimize(&request, &result);
    if (function)
        log_result(function, status, result, warning, start);
    errno = saved;
    if (status == PTXOPT_OK && ptxopt_changed(result))
        return result;
    ptxopt_free(result);
    return NULL;
}

/* The text of the file up to a NUL, owned by the caller; NULL: it is empty, or cannot be had. */
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "rbe");
    bool good = file && getdelim(&text, &room, '\0', file) > 0 && !ferror(file);
    if (file)
        fclose(file);
    if (good)
        return text;
    free(text);
    return NULL;
}

ptxopt_result *text_optimize_file(const char *function, const char *path)
{
    int saved = errno;
    char *text = path ? read_text(path) : NULL;
    ptxopt_result *result = text ? text_optimize(function, text, SIZE_MAX) : NULL;
    free(text);
    errno = saved;
    return result;
}

/* ---- what is known of handles ----------------------------------------------------------------------------------- */

typedef struct Note {
    struct Note *next;
    const void *key;
    size_t number;
} Note;

static Note *notes;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

/* The link to the note of `key`, or to the end. */
static Note **note_of(const void *key)
{
    Note **at = &notes;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static void put_note(Note **at, const void *key, size_t number)
{
    if (!*at && number)
        *at = calloc(1, sizeof **at);
    if (!*at)
        return;
    (*at)->key = key;
    (*at)->number = number;
    if (number == 0) {
        Note *gone = *at;
        *at = gone->next;
        free(gone);
    }
}

void text_remember(const void *key, size_t number)
{
    pthread_mutex_lock(&notes_lock);
    put_note(note_of(key), key, number);
    pthread_mutex_unlock(&notes_lock);
}

size_t text_recall(const void *key)
{
    pthread_mutex_lock(&notes_lock);
    const Note *note = *note_of(key);
    size_t number = note ? note->number : 0;
    pthread_mutex_unlock(&notes_lock);
    return number;
}
