/* Launch descriptions: what to run a module's kernels on. The format is described in LAUNCH.md. This file knows nothing of
 * the interpreter; a driver of a real GPU reads the same descriptions. */
#ifndef PTXRUN_LAUNCH_H
#define PTXRUN_LAUNCH_H

#include "base/random.h"
#include "base/vec.h"
#include "check/exec/format.h"

typedef struct LaunchBuffer {
    const char *name;
    ElemType type;
    u64 count, bytes;
    u8 *fill;    /* its contents before the first kernel */
    bool output; /* compared after the last kernel */
} LaunchBuffer;

typedef struct LaunchArg {
    i32 buffer; /* index of the buffer that it points into; -1: a value */
    u64 offset; /* bytes into the buffer */
    u8 *value; /* of a pointer: NULL, or 8 bytes for it, and what stands behind it */
    u32 bytes; /* 8 for a pointer alone */
} LaunchArg;

typedef struct LaunchKernel {
    const char *name;
    u32 grid[3], block[3];
    u32 shared; /* dynamic shared memory, bytes */
    VEC(LaunchArg) args;
} LaunchKernel;

typedef struct Launch {
    const char *label;
    VEC(LaunchBuffer) buffers;
    VEC(LaunchKernel) kernels;
} Launch;

typedef struct LaunchFile {
    VEC(Launch) launches;
} LaunchFile;

/* Everything but the vectors is allocated in the arena. Errors are printed to stderr as `file:line: ...`; false then. */
bool launch_parse(Arena *arena, const char *file, Str text, LaunchFile *out);
void launch_free(LaunchFile *file);
/* Prints the buffer's values to stdout, on one line; `contents` are its bytes. */
void launch_print_values(const LaunchBuffer *buffer, const u8 *contents);

#endif
