/* Growable text. */
#ifndef PTXOPT_TOOL_TEXT_H
#define PTXOPT_TOOL_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

/* Not NUL-terminated between calls; text_str() makes it so. */
typedef VEC(char) Text;

static inline void text_append(Text *t, const char *p, size_t len)
{
    vec_reserve(t, t->n + (u32)len + 1);
    if (len)
        memcpy(t->v + t->n, p, len);
    t->n += (u32)len;
}

static inline void text_vprintf(Text *t, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    vec_reserve(t, t->n + (u32)len + 1);
    vsnprintf(t->v + t->n, (size_t)len + 1, format, arguments);
    t->n += (u32)len;
}

__attribute__((format(printf, 2, 3))) static inline void text_printf(Text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(t, format, arguments);
    va_end(arguments);
}

/* Valid until the next change. */
static inline char *text_str(Text *t)
{
    vec_reserve(t, t->n + 1);
    t->v[t->n] = '\0';
    return t->v;
}

#endif
