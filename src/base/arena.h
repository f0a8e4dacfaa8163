/* Bump allocation: everything in an arena lives until the arena is freed. Addresses are stable. */
#ifndef PTXOPT_BASE_ARENA_H
#define PTXOPT_BASE_ARENA_H

#include <string.h>

#include <stdarg.h>

#include "base/types.h"

/* A zeroed Arena is empty and ready for use. Chunks grow with the arena, from 4 KiB to 4 MiB, so at most a third is unused. */
typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *chunks; /* newest first */
    char *cursor, *limit;
    u64 reserved; /* bytes taken from malloc */
} Arena;

/* 8-byte aligned, with undefined contents; never NULL, even for 0 bytes. If memory runs out it does what mem_alloc() does. */
static inline void *arena_alloc_raw(Arena *arena, size_t bytes);
/* Does the same, with zeroed contents. */
static inline void *arena_alloc(Arena *arena, size_t bytes);
/* Gives the bytes at `memory` after the first `used` back, if nothing was allocated since. */
static inline void arena_shrink(Arena *arena, void *memory, size_t bytes, size_t used);
/* A NUL-terminated copy of len bytes. */
char *arena_copy(Arena *arena, const char *text, size_t len);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
/* `text`, the separator if `text` is not empty, and the formatted text. */
char *arena_append(Arena *arena, const char *text, const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void arena_free(Arena *arena);

#define arena_new(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define arena_array(arena, T, count) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(count)))

/* The malloc family. They never return NULL. If memory runs out, they leave the innermost mem_in_scope() of the thread, or,
 * outside of one, call what mem_on_exhaustion() was given. */
void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void *mem_realloc(void *old, size_t bytes);
/* Gives back what comes after the first `bytes`, and, if there are none, all: the answer is NULL then. What is small moves, so
 * that its old place is free as a whole, for the next one that grows as large. */
void *mem_shrink(void *old, size_t bytes);
void mem_free(const void *memory); /* NULL: does nothing */
/* Runs body(data). If memory runs out, body is left at once, and the answer is false. Memory that body allocated from here
 * or in arenas, and did not free, is freed either way; other resources (open files) are not. body may not free or grow
 * memory that was allocated outside. */
bool mem_in_scope(void (*body)(void *data), void *data);
/* Leaves the innermost scope of mem_in_scope(), as if memory had run out. */
void mem_leave_scope(void) __attribute__((noreturn));
/* Sets what the program does when memory runs out outside of a scope: `end` must not return. */
void mem_on_exhaustion(void (*end)(void));
/* Makes large pieces go back to the system at once when they are freed; call it first. Otherwise glibc keeps them once
 * some were freed, and serves smaller requests from them. A program whose arrays grow and are freed then holds twice
 * what it uses. */
void mem_return_large(void);
/* Allocates megabytes that will all be written; free them with mem_free(). It uses huge pages if there are any, since
 * page faults would cost more than the writing. */
void *mem_alloc_large(size_t bytes);

/* The slow path: memory from a new chunk. */
void *arena_alloc_chunk(Arena *arena, size_t bytes);

static inline void *arena_alloc_raw(Arena *arena, size_t bytes)
{
    size_t size = (bytes + 7) & ~(size_t)7;
    /* A size of 0 (no bytes, or so many that the sum wrapped) becomes the largest number here, and takes the slow path. */
    if (size - 1 >= (size_t)(arena->limit - arena->cursor))
        return arena_alloc_chunk(arena, bytes);
    void *memory = arena->cursor;
    arena->cursor += size;
    return memory;
}

static inline void *arena_alloc(Arena *arena, size_t bytes) { return memset(arena_alloc_raw(arena, bytes), 0, bytes); }

static inline void arena_shrink(Arena *arena, void *memory, size_t bytes, size_t used)
{
    if ((char *)memory + ((bytes + 7) & ~(size_t)7) == arena->cursor) /* otherwise it is older, or in a chunk of its own */
        arena->cursor = (char *)memory + ((used + 7) & ~(size_t)7);
}

#endif
