/* Copies of the blocks of a loop that an iteration passes through. If the iteration is known to continue, they leave out
 * what it does not need. */
#ifndef PTXOPT_PHASE_LOOPS_COPY_H
#define PTXOPT_PHASE_LOOPS_COPY_H

#include "analysis/loop_test.h"
#include "phase/phase.h"
#include "transform/loop_entry.h"

enum {
    LOOP_BLOCKS = 16,
    LOOP_DROPPED = 64,
    LOOP_WALKED = 512 /* the most blocks and instructions of a loop that is looked at; larger ones are not copied anyway */
};

/* What an iteration that continues passes through. */
typedef struct LoopBody {
    Block *latch;
    Instr *compare;            /* computes the latch's predicate, in the latch */
    Block *block[LOOP_BLOCKS]; /* the header first */
    u32 blocks;
    bool full;     /* there are more than fit */
    bool has_exit; /* some of these blocks has another edge out of the loop than the latch's */
} LoopBody;
void loop_body_find(Analyses *an, const Loop *loop, Instr *compare, LoopBody *body);

/* Instructions that the copy leaves out. */
typedef struct LoopDropped {
    Instr *dead[LOOP_DROPPED]; /* nobody reads its result */
    u32 deads;
    bool late; /* the latch's predicate is computed after the last iteration */
} LoopDropped;

/* Whether the loop has at most so many blocks and instructions: few enough for questions that walk it as a whole. */
bool loop_is_short(const Loop *loop, u32 most);
/* Machine instructions of the loop, or outside of loops where it is NULL, times how often they are taken to run: eight times in each
 * loop around them. */
static inline u64 loop_weighed(u64 instructions, const Loop *loop)
{
    u32 depth = loop ? loop->depth : 0;
    return instructions << (depth < 8 ? 3 * depth : 24);
}
/* Whether the loop is what runs where a copy of it, which a phase made, does not. */
bool loop_is_rest(const Loop *loop);
/* A place for reasons that are about an instruction: ", line N", or nothing. In the memory of the run. */
const char *loop_line_of(PhaseRun *run, const Instr *i);
/* Whether the loop is innermost and short, has one latch, and no pragma nounroll. Uses AN_LOOPS. */
bool loop_copy_may(Analyses *an, const Loop *loop);

/* Whether i may stand in two loops, of which a thread executes one or both. Threads that execute it in one need not wait for those
 * that execute it in the other. */
bool loop_may_hold_twice(const Analyses *an, const Instr *i);

/* Whether i traps, or calls a function. */
bool loop_stops(const Instr *i);
/* Whether b stops the thread, or calls a function, and one edge alone leads to it, as compilers write for a failed check. */
bool loop_is_failure(const Function *fn, const Block *b);

/* The reason that the loop holds i, of which a clause like "must not be copied" says why that matters. */
const char *loop_holds(Analyses *an, const Instr *i, const char *what);

/* Removes from copies of blocks of the loop what computes registers that nobody reads: neither the copies, nor the loop, nor what comes
 * after it. Uses AN_LIVE. */
void loop_copy_drop_unread(Analyses *an, const Loop *loop, Block *const *copy, u32 n);
/* Removes from them steps of registers that they do not read otherwise, and adds so many of each at a place after them. */
void loop_copy_join_steps(Analyses *an, const Loop *loop, Block *const *copy, u32 n, Operand many, const Builder *at);

/* Which parts of the function depend on which lanes execute them. */
typedef struct LoopLanes {
    bool asked, shown; /* shown: some instruction sees which lanes execute it; asked: that has been computed */
    bool waited;       /* some thread may wait for another one */
    bool many;         /* there are more dependences than DEPENDENCES_MAX */
    Graph
        dependent; /* edges from each branch, by Block.id, to the blocks with a convergent instruction that depend on it */
    Marks seen;    /* scratch, by Block.id */
} LoopLanes;
/* Branches that a copy of the loop's blocks lacks, and those that it has. */
typedef struct LoopBranches {
    Block *const *check; /* whose branches the copy lacks */
    Block *const *block; /* with these, and the branches that it has */
    u32 checks, blocks;
    bool leave; /* some check leaves the loop, so that threads reconverge after the copy that did not before */
} LoopBranches;
/* Why the loop is not copied, because these branches may divide a warp; NULL: nothing forbids it. *lanes is {0} before the
 * first rewrite; its memory is the arena's. */
const char *loop_lanes_forbid(Analyses *an, const LoopBranches *branches, LoopLanes *lanes);

/* Rewrites one loop, and answers whether it did. It calls loop_copy_begin() right before the rewrite. */
typedef bool LoopRewrite(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes);
/* Calls `rewrite` for each loop of the function, except for those that ptxas counts wrongly (transform/miscounted.h).
 * All analyses answer for the function before the first rewrite. */
PhaseResult loop_copy_each(Analyses *an, PhaseRun *run, LoopRewrite *rewrite);
void loop_copy_begin(Analyses *an);

/* Finds the instructions that the copy does not need once the latch's branch is gone. Uses AN_LIVE. */
void loop_copy_plan(Analyses *an, const Loop *loop, const LoopBody *body, LoopDropped *dropped);

/* The size of the copy; `branches` does not count the latch's. */
typedef struct LoopSize {
    u32 body, accesses, branches;
    const Instr *fixed; /* the first instruction that may not be copied, or NULL */
} LoopSize;
LoopSize loop_copy_size(Analyses *an, const LoopBody *body, const LoopDropped *dropped);

/* Makes the copies and lays them out after `after`, in the order of body->block. The latch falls through to `rest`. */
void loop_copy_blocks(const LoopBody *body, const LoopDropped *dropped, Block *after, Block *rest,
                      Block *copy[LOOP_BLOCKS]);

Block *loop_copy_of(const LoopBody *body, Block *const *copy, const Block *b);

/* Adds a branch to `to` at the end of b, which stands for the latch's. */
void loop_copy_branch(Analyses *an, const LoopBody *body, Block *b, RegId guard, bool inverted, Block *to);
/* Ends `rest`, the block after the copy's last one, with the latch's test: it leads to the loop, or out of it. The loop
 * gets the pragma nounroll. */
void loop_copy_end(Analyses *an, const Loop *loop, const LoopBody *body, const LoopDropped *dropped, Block *after,
                   Block *rest);

#endif
