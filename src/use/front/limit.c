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
