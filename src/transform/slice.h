/* What is executed for a reason: found backwards over a straight path, instruction by instruction, from where it leads. */
#ifndef PTXOPT_TRANSFORM_SLICE_H
#define PTXOPT_TRANSFORM_SLICE_H

#include "analysis/live.h"

typedef struct Slice {
    const Live *live;
    const Block *const *to; /* where control may go after the path */
    u32 targets;
    RegId *needed,
        *killed; /* by what was taken: read, or written without a condition, before it is read; the caller's memory */
    u32 room, needs, kills; /* room: for so many of each */
} Slice;

/* Whether a result of i is read after it: by what was taken so far, or where control goes. */
bool slice_reads_result(const Slice *s, const Instr *i);
/* i is executed: what it reads is needed. False: there is no room for it. */
bool slice_take(Slice *s, const Instr *i);

#endif
