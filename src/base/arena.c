#include "base/arena.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/limit.h"

struct ArenaChunk {
    ArenaChunk *next;
    size_t bytes; /* including this header */
    _Alignas(8) char memory[];
};

/* Sizes of chunks, including their header. */
enum { CHUNK_MIN = 4 << 10, CHUNK_MAX = 4 << 20, HUGE_PAGE = 2 << 20, LARGE = 256 << 10 };

/* Freed chunks of CHUNK_MIN are kept for reuse: most arenas need no more than one, and are made and freed with each question. */
enum { SPARES_MAX = 16 };
static _Thread_local ArenaChunk *spare;
static _Thread_local u32 spares;

/* With the address sanitizer every allocation is a chunk of its own, so that accesses beyond it are detected. */
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

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

/* Stands in front of each allocation of a scope, so that the scope can free what the code that it left no longer can. */
typedef struct MemBlock {
    _Alignas(16) struct MemBlock *next;
    struct MemBlock **link; /* the pointer that points here */
} MemBlock;

typedef struct MemScope {
    MemBlock *blocks;
    jmp_buf escape;
} MemScope;

/* In debug builds each allocation has a note, so that free() of what mem_free() should have been given fails. */
#ifdef PTXOPT_DEBUG
enum { ALWAYS_NOTED = true };
#else
enum { ALWAYS_NOTED = false };
#endif

static _Thread_local MemScope *scope; /* NULL: there is none, and nobody to return an error to */
static void (*end_program)(void);     /* what the program then does */

static void __attribute__((noreturn)) out_of_memory(void)
{
    if (scope)
        longjmp(scope->escape, 1);
    if (end_program)
        end_program();
    assert(!"memory outside of mem_in_scope, in a program that does not say what ends it");
    __builtin_trap();
}

void mem_leave_scope(void)
{
    assert(scope);
    longjmp(scope->escape, 1);
}

void mem_on_exhaustion(void (*end)(void)) { end_program = end; }

static void link_block(MemBlock *block)
{
    block->next = scope->blocks;
    block->link = &scope->blocks;
    if (block->next)
        block->next->link = &block->next;
    scope->blocks = block;
}

static void unlink_block(MemBlock *block)
{
    if (!block->link) /* it belongs to no scope */
        return;
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
}

static bool has_note(void) { return ALWAYS_NOTED || scope; }

/* The number of bytes to allocate, with room for a note. The caller of mem_alloc() gets the memory after the note. */
static size_t with_note(size_t bytes)
{
    limit_poll();
    size_t note = has_note() ? sizeof(MemBlock) : 0;
    if (bytes > SIZE_MAX / 2)
        out_of_memory();
    return note + (bytes ? bytes : 1);
}

static void *after_note(void *memory)
{
    if (!memory)
        out_of_memory();
    if (!has_note())
        return memory;
    if (scope)
        link_block(memory);
    else
        *(MemBlock *)memory = (MemBlock){.link = NULL};
    return (MemBlock *)memory + 1;
}

void *mem_alloc(size_t bytes) { return after_note(malloc(with_note(bytes))); }

void *mem_zalloc(size_t bytes) { return after_note(calloc(1, with_note(bytes))); }

void *mem_realloc(void *old, size_t bytes)
{
    size_t size = with_note(bytes);
    MemBlock *block = old && has_note() ? (MemBlock *)old - 1 : NULL;
    if (block)
        unlink_block(block);
    void *memory = realloc(block ? block : old, size);
    if (!memory && block && scope) /* the old block is unchanged */
        link_block(block);
    return after_note(memory);
}

void mem_free(const void *memory)
{
    limit_poll();
    void *own = (void *)(uintptr_t)memory; /* it is const only for its readers */
    MemBlock *block = memory && has_note() ? (MemBlock *)own - 1 : NULL;
    if (block)
        unlink_block(block);
    free(block ? block : own);
}

void *mem_shrink(void *old, size_t bytes)
{
    enum { MOVED_MAX = 1024 };
    if (bytes > MOVED_MAX)
        return mem_realloc(old, bytes);
    void *made = bytes ? memcpy(mem_alloc(bytes), old, bytes) : NULL;
    mem_free(old);
    return made;
}

/* A function of its own, since its frame holds nothing that changes after setjmp. */
static bool run_in(MemScope *mine, void (*body)(void *data), void *data)
{
    if (setjmp(mine->escape) != 0)
        return false;
    body(data);
    return true;
}

/* The spare chunks of the thread belong to the scope that allocated them. */
bool mem_in_scope(void (*body)(void *data), void *data)
{
    MemScope mine = {.blocks = NULL}, *outer = scope;
    ArenaChunk *outer_spare = spare;
    u32 outer_spares = spares;
    spare = NULL;
    spares = 0;
    scope = &mine;
    bool enough = run_in(&mine, body, data);
    scope = outer;
    spare = outer_spare;
    spares = outer_spares;
    for (MemBlock *block = mine.blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    return enough;
}

void mem_return_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 2 << 20);
#endif
}

void *mem_alloc_large(size_t bytes)
{
    size_t size = with_note(bytes);
    if (size < HUGE_PAGE)
        return mem_alloc(bytes);
    void *memory = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
    if (memory)
        madvise(memory, size & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    return after_note(memory);
}

void *arena_alloc_chunk(Arena *arena, size_t bytes)
{
    if (bytes == 0)
        return arena_alloc_raw(arena, 1);
    if (bytes > SIZE_MAX / 2)
        out_of_memory();
    size_t size = (bytes + 7) & ~(size_t)7;
    size_t half = arena->reserved / 2, whole = half < CHUNK_MIN ? CHUNK_MIN : half < CHUNK_MAX ? half : CHUNK_MAX;
    /* An allocation that is large beside a chunk gets a chunk of its own, and the current one stays in use. */
    bool own = CHUNK_PER_ALLOCATION || size > whole / 4;
    if (own)
        whole = sizeof(ArenaChunk) + size;

    ArenaChunk *chunk = spare;
    if (!own && whole == CHUNK_MIN && chunk) {
        spare = chunk->next;
        spares--;
    } else {
        chunk = whole < CHUNK_MAX ? mem_alloc(whole) : mem_alloc_large(whole);
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

char *arena_vprintf(Arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_alloc_raw(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, arguments);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

char *arena_append(Arena *arena, const char *text, const char *separator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *more = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return arena_printf(arena, "%s%s%s", text, *text ? separator : "", more);
}

void arena_free(Arena *arena)
{
    for (ArenaChunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (chunk->bytes != CHUNK_MIN || spares == SPARES_MAX || CHUNK_PER_ALLOCATION) {
            mem_free(chunk);
            continue;
        }
        chunk->next = spare;
        spare = chunk;
        spares++;
    }
    *arena = (Arena){0};
}
