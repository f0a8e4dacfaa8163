/* A copy of the blocks of a loop that an iteration comes through, without what an iteration that is known to go on does not need. */
#ifndef PTXOPT_PHASE_LOOPS_COPY_H
#define PTXOPT_PHASE_LOOPS_COPY_H

#include "phase/loops/checks.h"

enum {
    LOOP_DROPPED = 64,
    LOOP_WALKED = 512 /* blocks and instructions of a loop that is looked at: more are not copied anyway */
};

/* Instructions that the copy is made without. */
typedef struct LoopDropped {
    Instr *dead[LOOP_DROPPED]; /* nobody reads what it computes */
    Instr *step[LOOP_DROPPED]; /* steps a register by a power of two, or its opposite: all its steps are made at once */
    u32 deads, steps;
    bool late; /* the latch's predicate is computed after the last iteration */
} LoopDropped;

/* Whether the loop is innermost and short, has one latch, and no pragma. Uses AN_LOOPS. */
bool loop_copy_may(Analyses *an, const Loop *loop);

/* What of the function depends on which lanes execute it. */
typedef struct LoopLanes {
    bool asked, shown; /* whether an instruction sees which lanes execute it, once that was asked */
    bool many;         /* there are more dependences than are counted */
    Graph dependent;   /* from each branch, by Block.id, to the blocks with a convergent instruction that depend on it */
    Marks seen;        /* by Block.id: scratch */
} LoopLanes;
/* NULL, or why the loop is not copied, as its checks may divide a warp. *lanes is {0} before the first rewrite, and in the arena. */
const char *loop_lanes_forbid(Analyses *an, const LoopChecks *checks, LoopLanes *lanes);

/* Whether the loop was rewritten; loop_copy_begin() comes right before. */
typedef bool LoopRewrite(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes);
/* Calls it for each loop of the function; all answers are of before the first rewrite. */
PhaseResult loop_copy_each(Analyses *an, PhaseRun *run, LoopRewrite *rewrite);
void loop_copy_begin(Analyses *an);

/* Finds what the copy need not hold once the branches of the checks are gone. steps: it may leave steps out. Uses AN_LIVE. */
void loop_copy_plan(Analyses *an, const Loop *loop, const LoopChecks *checks, bool steps, LoopDropped *dropped);

/* The size of the copy; branches: without those of the checks. */
typedef struct LoopSize {
    u32 body, accesses, branches;
    bool fixed; /* holds what may not be copied */
} LoopSize;
LoopSize loop_copy_size(Analyses *an, const LoopChecks *checks, const LoopDropped *dropped);

/* The copies, laid out after `after`, in the order of checks->block; checks always pass, and the latch falls to `rest`. */
void loop_copy_blocks(const Loop *loop, const LoopChecks *checks, const LoopDropped *dropped, Block *after, Block *rest,
                      Block *copy[LOOP_BLOCKS]);

Block *loop_copy_of(const LoopChecks *checks, Block *const *copy, const Block *b);

/* Adds a branch to `to` at the end of b, which decides what the checks' branches decided. */
void loop_copy_branch(Analyses *an, const LoopChecks *checks, Block *b, RegId guard, bool inverted, Block *to);
/* Ends `rest`, the block after the copy's last one, with the latch's test: control goes to the loop, which ptxas is told not to unroll,
 * or out of it. */
void loop_copy_end(Analyses *an, const Loop *loop, const LoopChecks *checks, const LoopDropped *dropped, Block *after,
                   Block *rest);

#endif
