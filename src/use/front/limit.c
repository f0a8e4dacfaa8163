#define _GNU_SOURCE
#include "use/front/limit.h"

#include <stdlib.h>
#include <string.h>

/* A megabyte takes less than a second on slow machines: these are for what hangs. */
enum { SECONDS_LEAST = 60, SECONDS_PER_MEGABYTE = 30, TIMES_SLOW = 20, MOST_SECONDS = 1000000 };

/* Digits, with a point among them or not: strtod would take more, and go by the locale. */
static bool parse(const char *text, double *seconds)
{
    double unit = 1;
    u32 digits = 0;
    *seconds = 0;
    for (; *text >= '0' && *text <= '9'; text++, digits++)
        *seconds = *seconds * 10 + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, digits++)
            *seconds += (*text - '0') * (unit /= 10);
    return *text == '\0' && digits > 0 && *seconds <= MOST_SECONDS;
}

double limit_seconds(const char *value, u64 bytes, bool slow, const char **warning)
{
    double seconds;
    if (value && strcmp(value, "off") == 0)
        return 0;
    if (value && *value && parse(value, &seconds))
        return seconds;
    if (value && *value)
        *warning = "PTXOPT_LIMIT takes a number of seconds, 0 or off for no limit: it is not obeyed";
    return (SECONDS_LEAST + SECONDS_PER_MEGABYTE * ((double)bytes / 1e6)) * (slow ? TIMES_SLOW : 1);
}

double limit_of_ptxas(const char *value, const char **warning)
{
    double seconds;
    if (!value || !*value || strcmp(value, "off") == 0)
        return 0;
    if (parse(value, &seconds))
        return seconds;
    *warning = "PTXOPT_PTXAS_LIMIT takes a number of seconds, 0 or off for no limit: it is not obeyed";
    return 0;
}

/* The place after blanks and comments. */
static const char *skip_blanks(const char *at, const char *end)
{
    for (;;) {
        while (at < end && strchr(" \t\r\n", *at))
            at++;
        if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*'))
            return at;
        const char *close =
            at[1] == '/' ? memchr(at, '\n', (size_t)(end - at)) : memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
        at = !close ? end : at[1] == '/' ? close : close + 2;
    }
}

u32 limit_kernels(Arena *arena, Str text, const char **names)
{
    static const char entry[] = ".entry";
    const char *end = text.p + text.len;
    u32 count = 0;
    *names = "";
    for (const char *at = skip_blanks(text.p, end); at < end; at = skip_blanks(at, end)) {
        size_t len = 0;
        while (at + len < end && !strchr(" \t\r\n/(;{}", at[len]))
            len++;
        if (str_is((Str){at, (u32)len}, entry)) {
            at = skip_blanks(at + len, end);
            for (len = 0; at + len < end && !strchr(" \t\r\n/(;{", at[len]);)
                len++;
            *names = arena_append(arena, *names, " ", "%.*s", (int)len, at);
            count++;
        }
        at += len ? len : 1;
    }
    return count;
}
