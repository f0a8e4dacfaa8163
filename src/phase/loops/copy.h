/* A copy of the blocks of a loop that an iteration passes through. It leaves out what an iteration that is known to
 * continue does not need. */
#ifndef PTXOPT_PHASE_LOOPS_COPY_H
#define PTXOPT_PHASE_LOOPS_COPY_H

#include "phase/loops/checks.h"

enum {
    LOOP_DROPPED = 64,
    LOOP_WALKED = 512 /* the most blocks and instructions of a loop that is looked at; larger ones are not copied anyway */
};

/* Instructions that the copy leaves out. */
typedef struct LoopDropped {
    Instr *dead[LOOP_DROPPED]; /* nobody reads its result */
    Instr *step[LOOP_DROPPED]; /* adds plus or minus a power of two to a register; all its steps are made at once */
    u32 deads, steps;
    bool late; /* the latch's predicate is computed after the last iteration */
} LoopDropped;

/* Whether the loop has at most so many blocks and instructions: few enough for questions that walk it as a whole. */
bool loop_is_short(const Loop *loop, u32 most);
/* Whether the loop is innermost and short, has one latch, and no pragma nounroll. Uses AN_LOOPS. */
bool loop_copy_may(Analyses *an, const Loop *loop);

/* Whether i may stand in two loops, of which a thread executes one or both. Threads that execute it in one need not wait for those
 * that execute it in the other. */
bool loop_may_hold_twice(const Analyses *an, const Instr *i);

/* Removes from copies of blocks of the loop what computes registers that nobody reads: neither the copies, nor the loop, nor what comes
 * after it. Uses AN_LIVE. */
void loop_copy_drop_unread(Analyses *an, const Loop *loop, Block *const *copy, u32 n);

/* Which parts of the function depend on which lanes execute them. */
typedef struct LoopLanes {
    bool asked, shown; /* shown: some instruction sees which lanes execute it; asked: that has been computed */
    bool waited;       /* some thread may wait for another one */
    bool many;         /* there are more dependences than DEPENDENCES_MAX */
    Graph
        dependent; /* edges from each branch, by Block.id, to the blocks with a convergent instruction that depend on it */
    Marks seen;    /* scratch, by Block.id */
} LoopLanes;
/* Why the loop is not copied, because its checks may divide a warp; NULL: nothing forbids it. *lanes is {0} before the
 * first rewrite; its memory is the arena's. */
const char *loop_lanes_forbid(Analyses *an, const LoopChecks *checks, LoopLanes *lanes);
/* The same for a copy that has other branches too. */
typedef struct LoopBranches {
    Block *const *check; /* whose branches the copy lacks */
    Block *const *block; /* with these, and the branches that it has */
    u32 checks, blocks;
    bool leave; /* some check leaves the loop, so that threads reconverge after the copy that did not before */
} LoopBranches;
const char *loop_lanes_forbid_branches(Analyses *an, const LoopBranches *branches, LoopLanes *lanes);

/* Rewrites one loop, and answers whether it did. It calls loop_copy_begin() right before the rewrite. */
typedef bool LoopRewrite(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes);
/* Calls `rewrite` for each loop of the function, except for those that ptxas counts wrongly (transform/miscounted.h).
 * All analyses answer for the function before the first rewrite. */
PhaseResult loop_copy_each(Analyses *an, PhaseRun *run, LoopRewrite *rewrite);
void loop_copy_begin(Analyses *an);

/* Finds the instructions that the copy does not need once the branches of the checks are gone. steps: whether steps may be
 * left out as well. Uses AN_LIVE. */
void loop_copy_plan(Analyses *an, const Loop *loop, const LoopChecks *checks, bool steps, LoopDropped *dropped);

/* The size of the copy; `branches` does not count those of the checks. */
typedef struct LoopSize {
    u32 body, accesses, branches;
    bool fixed; /* it holds instructions that may not be copied */
} LoopSize;
LoopSize loop_copy_size(Analyses *an, const LoopChecks *checks, const LoopDropped *dropped);

/* Makes the copies and lays them out after `after`, in the order of checks->block. In the copies checks always pass, and
 * the latch falls through to `rest`. */
void loop_copy_blocks(const Loop *loop, const LoopChecks *checks, const LoopDropped *dropped, Block *after, Block *rest,
                      Block *copy[LOOP_BLOCKS]);

Block *loop_copy_of(const LoopChecks *checks, Block *const *copy, const Block *b);

/* Adds a branch to `to` at the end of b, which stands for all branches of the checks. */
void loop_copy_branch(Analyses *an, const LoopChecks *checks, Block *b, RegId guard, bool inverted, Block *to);
/* Ends `rest`, the block after the copy's last one, with the latch's test: it leads to the loop, or out of it. The loop
 * gets the pragma nounroll. */
void loop_copy_end(Analyses *an, const Loop *loop, const LoopChecks *checks, const LoopDropped *dropped, Block *after,
                   Block *rest);

#endif
