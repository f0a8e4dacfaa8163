/* The instructions that a straight path must execute for the blocks after it. They are found backwards, from where the path
 * leads. */
#ifndef PTXOPT_TRANSFORM_SLICE_H
#define PTXOPT_TRANSFORM_SLICE_H

#include "analysis/live.h"

typedef struct Slice {
    const Live *live;
    const Block *const *to; /* the blocks that control may go to after the path */
    u32 targets;
    RegId *needed,
        *killed; /* registers that the instructions taken read, or write unconditionally before they read them; the caller's
                  * memory */
    u32 room, needs, kills; /* the most entries of each */
} Slice;

/* Whether a result of i is read after it, by an instruction taken so far or in a block of `to`. */
bool slice_reads_result(const Slice *s, const Instr *i);
/* Takes i: it is executed, and the registers that it reads are needed. False: there is no room for them. */
bool slice_take(Slice *s, const Instr *i);

#endif
