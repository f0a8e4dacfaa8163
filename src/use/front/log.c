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

static void put_held_back(FILE *out, const char *lines)
{
    u32 count = 0;
    for (const char *at = lines; at && *at; count++) {
        fputs(count ? ", {" : ", \"reverted\": [{", out);
        at = put_field(out, "function", at);
        fputs(", ", out);
        at = put_field(out, "how", at);
        fputs(", ", out);
        at = put_field(out, "why", at);
        putc('}', out);
    }
    if (count)
        fprintf(out, "], \"held_back\": %u", count);
}

static void write_line(FILE *out, const FrontLog *entry)
{
    putc('{', out);
    put_member(out, "program", entry->program);
    put_member(out, "real", entry->real);
    put_member(out, "input", entry->input);
    put_member(out, "output", entry->output);
    put_member(out, "result", entry->result);
    put_member(out, "reason", entry->reason);
    put_member(out, "warning", entry->warning);
    put_held_back(out, entry->held_back);
    if (entry->status >= 0)
        fprintf(out, ", \"status\": %d, \"run_ms\": %.3f", entry->status, entry->run_ms);
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
            /* as said in the header */
        }
    }
    free(line);
    close(fd);
}
