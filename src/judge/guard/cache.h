/* The memory from one run to the next: small texts by key, one file each, in a folder that many builds may share. No file
 * has to be there. If one is missing, damaged, somebody else's or cannot be written, ptxas is asked again. */
#ifndef PTXOPT_JUDGE_GUARD_CACHE_H
#define PTXOPT_JUDGE_GUARD_CACHE_H

#include "base/arena.h"

typedef struct Cache {
    const char *folder; /* NULL: nothing is remembered */
    bool shared;        /* PTXOPT_CACHE names it: files of other users count, too */
} Cache;

/* The folder that PTXOPT_CACHE names, or ptxopt in $XDG_CACHE_HOME or ~/.cache. */
Cache cache_open(Arena *arena);

/* What is wrong with PTXOPT_CACHE and PTXOPT_CACHE_SIZE, and what is done about it; NULL: nothing. */
const char *cache_complain(Arena *arena);

/* The text of that key, in the arena; NULL. */
char *cache_get(const Cache *cache, Arena *arena, u64 key);

/* Keeps a text. If its shelf (a 256th of the cache) is full, the files that were used least recently go. Failure is
 * silent. */
void cache_put(const Cache *cache, u64 key, const char *text);

#endif
