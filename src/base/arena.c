#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

struct ArenaChunk {
    ArenaChunk *next;
    size_t bytes; /* with this header */
    _Alignas(8) char memory[];
};

/* Chunk sizes, with their header. */
enum { CHUNK_MIN = 4 << 10, CHUNK_MAX = 4 << 20, HUGE_PAGE = 2 << 20, LARGE = 256 << 10 };

/* Chunks of CHUNK_MIN that were freed: most arenas need no more than one, and come and go with each question. */
enum { SPARES_MAX = 16 };
static _Thread_local ArenaChunk *spare;
static _Thread_local u32 spares;

/* With the address sanitizer every allocation is a chunk of its own, so that running out of one is seen. */
#if defined(__SANITIZE_ADDRESS__)
#define CHUNK_PER_ALLOCATION true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHUNK_PER_ALLOCATION true
#endif
#endif
#ifndef CHUNK_PER_ALLOCATION
#define CHUNK_PER_ALLOCATION false
#endif

static void *not_null(void *memory)
{
    if (!memory) {
        fputs("ptxopt: out of memory\n", stderr);
        exit(70);
    }
    return memory;
}

void *mem_alloc(size_t bytes) { return not_null(malloc(bytes ? bytes : 1)); }

void *mem_zalloc(size_t bytes) { return not_null(calloc(1, bytes ? bytes : 1)); }

void *mem_realloc(void *old, size_t bytes) { return not_null(realloc(old, bytes ? bytes : 1)); }

void mem_return_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}

void *mem_alloc_large(size_t bytes)
{
    if (bytes < HUGE_PAGE)
        return mem_alloc(bytes);
    void *memory = not_null(aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1)));
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    return memory;
}

void *arena_alloc_chunk(Arena *arena, size_t bytes)
{
    if (bytes == 0)
        return arena_alloc_raw(arena, 1);
    if (bytes > SIZE_MAX / 2)
        not_null(NULL);
    size_t size = (bytes + 7) & ~(size_t)7;
    size_t half = arena->reserved / 2, whole = half < CHUNK_MIN ? CHUNK_MIN : half < CHUNK_MAX ? half : CHUNK_MAX;
    /* What is large beside a chunk gets one of its own, and the current one stays in use. */
    bool own = CHUNK_PER_ALLOCATION || size > whole / 4;
    if (own)
        whole = sizeof(ArenaChunk) + size;

    ArenaChunk *chunk = spare;
    if (!own && whole == CHUNK_MIN && chunk) {
        spare = chunk->next;
        spares--;
    } else {
        chunk = mem_alloc_large(whole);
    }
    chunk->bytes = whole;
    arena->reserved += whole;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    if (!own) {
        arena->cursor = chunk->memory + size;
        arena->limit = (char *)chunk + whole;
    }
    return chunk->memory;
}

char *arena_copy(Arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc_raw(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc_raw(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

void arena_free(Arena *arena)
{
    for (ArenaChunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (chunk->bytes != CHUNK_MIN || spares == SPARES_MAX || CHUNK_PER_ALLOCATION) {
            free(chunk);
            continue;
        }
        chunk->next = spare;
        spare = chunk;
        spares++;
    }
    *arena = (Arena){0};
}
