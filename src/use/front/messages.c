/* What a call says: warnings, messages of other programs, records of remarks, and the line of the log. */
#define _GNU_SOURCE
#include "use/front/front_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "use/front/records.h"

void front_warn(Front *front, const char *warning)
{
    const char *log = getenv("PTXOPT_LOG"), *before = front->log.warning;
    if (!log || !*log)
        fprintf(stderr, "%s: warning: %s\n", front->name, warning);
    front->log.warning = before ? arena_printf(&front->arena, "%s; %s", before, warning) : warning;
}

void front_tell(Scratch *told, const char *format, ...)
{
    Arena arena = {0};
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(&arena, format, arguments);
    va_end(arguments);
    (void)scratch_write(told, text, strlen(text));
    arena_free(&arena);
}

static void take_advice(void *user, const Remark *remark)
{
    Front *front = user;
    if (strcmp(remark->pass, "ptxas") == 0)
        front_tell(&front->advice, "%s\t%s\t%s\n", remark->name, remark->function, remark->message);
}

void front_take_records(Front *front, const char *input)
{
    const char *log = getenv("PTXOPT_LOG"), *folder = getenv("PTXOPT_REMARKS");
    const char *name = records_name(&front->arena, input);
    front->log.source = name == input ? NULL : name;
    front->options.pipeline.build_name = name;
    front->remarks = front->options.remarks;
    front->remarks_folder = folder && *folder ? folder : NULL;
    if ((front->remarks || front->remarks_folder) && scratch_open(&front->records))
        front->options.remarks = front->records.path;
    if (!log || !*log || !scratch_open(&front->advice))
        return;
    front->taker = (RemarkTaker){take_advice, front};
    front->options.pipeline.remark_taker = &front->taker;
    void *shared = mmap(NULL, sizeof *front->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    front->options.counts = front->counts = shared == MAP_FAILED ? NULL : shared;
}

static void warn_of_records(Front *front, const char *path)
{
    front_warn(front, arena_printf(&front->arena, "the remarks cannot be written to '%s': %s", path, strerror(errno)));
}

void front_deliver_records(Front *front, const char *input)
{
    if (front->records.fd < 0)
        return;
    if (front->remarks && !records_append(front->remarks, &front->records))
        warn_of_records(front, front->remarks);
    if (front->remarks_folder &&
        !records_write(&front->arena, front->remarks_folder, front->options.pipeline.build_name, input, &front->records))
        warn_of_records(front, front->remarks_folder);
    scratch_close(&front->records);
}

void front_finish(Front *front)
{
    bool good = strcmp(front->log.result, "optimized") == 0 || strcmp(front->log.result, "unchanged") == 0;
    size_t bytes = 0;
    char *said = good && front->advice.fd >= 0 ? scratch_read(&front->advice, &bytes) : NULL;
    front->log.advice = said;
    if (good && front->counts && front->counts->functions)
        front->log.counts = front->counts;
    if (good)
        front_deliver_records(front, front->records_of);
    front_log(&front->log);
    free(said);
    scratch_close(&front->advice);
    front->log.advice = NULL;
}

void front_copy_messages(const Front *front, const Scratch *from, const char *input, FILE *to)
{
    size_t bytes = 0, len = input ? strlen(input) : 0;
    char *text = scratch_read(from, &bytes), *at = text, *found;
    while (text && input && (found = memmem(at, bytes - (size_t)(at - text), input, len))) {
        fwrite(at, 1, (size_t)(found - at), to);
        at = found + len;
        if (*at >= '0' && *at <= '9') /* another descriptor */
            fwrite(found, 1, len, to);
        else
            fputs(front->log.input, to);
    }
    if (text)
        fwrite(at, 1, bytes - (size_t)(at - text), to);
    free(text);
    fflush(to);
}
