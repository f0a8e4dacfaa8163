/* Interned strings: equal text, equal pointer. A name's hash is FNV-1a (Fowler, Noll, Vo), 32 bit. */
#ifndef PTXOPT_BASE_INTERN_H
#define PTXOPT_BASE_INTERN_H

#include "base/index.h"
#include "base/vec.h"

/* NAME_BYTES of `text` can be read, however short it is. `user` is one word for the table's owner: while it runs, the
 * parser keeps the name's innermost binding there. */
enum { NAME_BYTES = 16 };
typedef struct Name {
    u32 len;
    u32 hash;
    void *user;
    char text[]; /* NUL-terminated */
} Name;

/* The arena holds the names. */
typedef struct Intern {
    Arena *arena;
    VEC(Name *) name;
    HashIndex index;
} Intern;

void intern_init(Intern *table, Arena *arena);
Name *intern(Intern *table, const char *text, u32 len);
Name *intern_cstr(Intern *table, const char *text);
/* The name, or NULL when the text was never interned. */
Name *intern_find(Intern *table, const char *text, u32 len);
void intern_free(Intern *table);

/* Up to eight bytes as a number. Different bytes make different numbers if `len` is the same. */
static inline u64 eight_bytes(const char *p, u32 len)
{
    u64 all;
    u32 first, last;
    if (len == 8) {
        memcpy(&all, p, 8);
        return all;
    }
    if (len >= 4) {
        memcpy(&first, p, 4);
        memcpy(&last, p + len - 4, 4);
        return (u64)last << 32 | first;
    }
    return len ? (u64)(u8)p[0] << 16 | (u64)(u8)p[len / 2] << 8 | (u8)p[len - 1] : 0;
}

/* Whether `len` bytes agree. It is for short texts, for which a call of memcmp would take longer. */
static inline bool same_bytes(const char *a, const char *b, u32 len)
{
    for (; len > 8; a += 8, b += 8, len -= 8)
        if (eight_bytes(a, 8) != eight_bytes(b, 8))
            return false;
    return eight_bytes(a, len) == eight_bytes(b, len);
}

#define FNV1A_BASIS 2166136261u

static inline u32 fnv1a_byte(u32 hash, u8 byte) { return (hash ^ byte) * 16777619u; }

/* Continues the hash with the number's four bytes, the lowest first on every machine. */
static inline u32 fnv1a_u32(u32 hash, u32 number)
{
    hash = fnv1a_byte(fnv1a_byte(hash, (u8)number), (u8)(number >> 8));
    return fnv1a_byte(fnv1a_byte(hash, (u8)(number >> 16)), (u8)(number >> 24));
}

static inline u32 fnv1a(const void *bytes, size_t len)
{
    const u8 *p = bytes;
    u32 hash = FNV1A_BASIS;
    for (size_t i = 0; i < len; i++)
        hash = fnv1a_byte(hash, p[i]);
    return hash;
}

#endif
