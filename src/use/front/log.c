#include "use/front/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

static void put_member(FILE *out, const char *name, const char *value)
{
    if (!value)
        return;
    fprintf(out, "%s\"%s\": ", strcmp(name, "program") == 0 ? "" : ", ", name);
    json_put_string(out, value);
}

/* Writes the field that a line holds up to the tab or its end; answers what follows. */
static const char *put_field(FILE *out, const char *name, const char *at)
{
    size_t len = strcspn(at, "\t\n");
    char *text = strndup(at, len);
    fprintf(out, "\"%s\": ", name);
    json_put_string(out, text ? text : "");
    free(text);
    return at + len + (at[len] != '\0');
}

/* Writes an array of objects, one a line, whose members are the fields between tabs. Answers how many. */
static u32 put_lines(FILE *out, const char *name, const char *const fields[3], const char *lines)
{
    u32 count = 0;
    for (const char *at = lines; at && *at; count++) {
        if (count)
            fputs(", {", out);
        else
            fprintf(out, ", \"%s\": [{", name);
        for (u32 k = 0; k < 3; k++) {
            fputs(k ? ", " : "", out);
            at = put_field(out, fields[k], at);
        }
        putc('}', out);
    }
    if (count)
        putc(']', out);
    return count;
}

static void put_held_back(FILE *out, const char *lines)
{
    u32 count = put_lines(out, "reverted", (const char *const[]){"function", "how", "why"}, lines);
    if (count)
        fprintf(out, ", \"held_back\": %u", count);
}

static void put_slow_kernels(FILE *out, const FrontLog *entry)
{
    if (!entry->slow_kernels)
        return;
    fputs(", \"slow_kernels\": [", out);
    for (const char *at = entry->slow_kernels; *at;) {
        size_t len = strcspn(at, " ");
        char *name = strndup(at, len);
        json_put_string(out, name ? name : "");
        free(name);
        at += len + (at[len] == ' ');
        fputs(*at ? ", " : "", out);
    }
    fprintf(out, "], \"ptxas_level\": %d", entry->level);
}

static void write_line(FILE *out, const FrontLog *entry)
{
    putc('{', out);
    put_member(out, "program", entry->program);
    put_member(out, "real", entry->real);
    put_member(out, "input", entry->input);
    put_member(out, "source", entry->source);
    put_member(out, "output", entry->output);
    put_member(out, "result", entry->result);
    put_member(out, "reason", entry->reason);
    put_member(out, "warning", entry->warning);
    if (entry->counts)
        fprintf(out, ", \"functions\": %u, \"changed\": %u", entry->counts->functions, entry->counts->changed);
    put_held_back(out, entry->held_back);
    put_lines(out, "advice", (const char *const[]){"name", "function", "what"}, entry->advice);
    put_slow_kernels(out, entry);
    if (entry->status >= 0)
        fprintf(out, ", \"status\": %d, \"run_ms\": %.3f", entry->status, entry->run_ms);
    if (entry->guard_ms > 0)
        fprintf(out, ", \"guard_ms\": %.3f", entry->guard_ms);
    fprintf(out, ", \"optimize_ms\": %.3f}\n", entry->optimize_ms);
}

void front_log(const FrontLog *entry)
{
    const char *path = getenv("PTXOPT_LOG");
    int fd = path && *path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);
    if (out) {
        write_line(out, entry);
        bool whole = !ferror(out); /* memory may have run out in between */
        if (fclose(out) == 0 && whole && write(fd, line, bytes) < 0) {
            /* A log that cannot be written is no error. */
        }
    }
    free(line);
    close(fd);
}
