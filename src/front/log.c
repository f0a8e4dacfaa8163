#include "front/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double front_clock_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Bytes of the UTF-8 sequence at `p`, 0 if it is none. */
static u32 utf8_bytes(const unsigned char *p)
{
    u32 bytes = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (u32 i = 1; i < bytes; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        u32 bytes = utf8_bytes(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f || bytes == 0)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(p, 1, bytes, out);
        p += bytes ? bytes : 1;
    }
    putc('"', out);
}

static void put_member(FILE *out, const char *name, const char *value)
{
    if (!value)
        return;
    fprintf(out, "%s\"%s\": ", strcmp(name, "program") == 0 ? "" : ", ", name);
    put_string(out, value);
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
    if (entry->held_back)
        fprintf(out, ", \"held_back\": %u", entry->held_back);
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
        if (fclose(out) == 0 && write(fd, line, bytes) < 0) {
            /* as said in the header */
        }
    }
    free(line);
    close(fd);
}
