/* A copy of the blocks of a loop that an iteration comes through, without what an iteration that is known to go on does not need. */
#ifndef PTXOPT_PHASE_LOOPS_COPY_H
#define PTXOPT_PHASE_LOOPS_COPY_H

#include "phase/loops/checks.h"

enum { LOOP_DROPPED = 64 };

/* Instructions that the copy is made without. */
typedef struct LoopDropped {
    Instr *dead[LOOP_DROPPED]; /* nobody reads what it computes */
    Instr *step
        [LOOP_DROPPED]; /* it steps a register by a power of two, or its opposite, which is done for all iterations after them */
    u32 deads, steps;
    bool late; /* the latch's predicate is computed after the last iteration */
} LoopDropped;

/* What the copy does without if the branches of the checks are gone. Uses AN_LIVE. */
void loop_copy_plan(PhaseRun *run, const Loop *loop, const LoopChecks *checks, LoopDropped *dropped);
bool loop_copy_lacks(const LoopDropped *dropped, const Instr *i);

/* The copies, laid out after `after`, in the order of checks->block; checks always pass, and the latch falls to `rest`. */
void loop_copy_blocks(const Loop *loop, const LoopChecks *checks, const LoopDropped *dropped, Block *after, Block *rest,
                      Block *copy[LOOP_BLOCKS]);

#endif
