/* Short names for the fixed-width integers, and the two value types that every folder shares. */
#ifndef PTXOPT_BASE_TYPES_H
#define PTXOPT_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

/* A piece of text that belongs to somebody else; not NUL-terminated. */
typedef struct Str {
    const char *p;
    u32 len;
} Str;

static inline bool str_equal(Str a, Str b) { return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0); }

static inline bool str_is(Str s, const char *text)
{
    u32 i = 0;
    while (i < s.len && text[i] && s.p[i] == text[i])
        i++;
    return i == s.len && !text[i];
}

static inline bool str_begins(Str s, const char *text)
{
    u32 i = 0;
    while (i < s.len && text[i] && s.p[i] == text[i])
        i++;
    return !text[i];
}

/* A half-open range of byte offsets into the source text. beg == end: there is no text. */
typedef struct Span {
    u32 beg, end;
} Span;

/* Makes an enum take one byte, so that tables and packed structs can hold it as itself. */
#define ONE_BYTE __attribute__((packed))

#define SWAP(a, b)               \
    do {                         \
        __auto_type swap_ = (a); \
        (a) = (b);               \
        (b) = swap_;             \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
