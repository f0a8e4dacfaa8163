/* Control flow of machine code: instructions of one function, its blocks and its natural loops.
 *
 * Loops are found by dominance, not by backward branches alone: ptxas moves blocks out of line, so a backward branch
 * may close no loop. BSYNC continues at the targets of the BSSYs that reach it; BRX at those that the cubin lists. A
 * CALL.REL into the function itself is a branch, which ptxas uses where lanes need not come together again. Any other
 * call continues at the next instruction. */
#ifndef PTXOPT_JUDGE_MACHINE_FLOW_H
#define PTXOPT_JUDGE_MACHINE_FLOW_H

#include "base/vec.h"
#include "judge/machine/cubin.h"
#include "judge/machine/sass.h"

enum { SASS_NONE = -1 };

typedef VEC(int) SassEdges; /* blocks */

typedef struct SassBlock {
    size_t first, last; /* instructions, inclusive */
    SassEdges out, in;
    int order;       /* reverse post-order number, SASS_NONE when unreachable */
    int dominator;   /* immediate; itself for the entry */
    int loop;        /* innermost that holds it, SASS_NONE */
    int line_end;    /* block with the next call, or else the last one, of the straight line that begins here */
    unsigned cycles; /* from its first issue to the end of its last: stalls, and waits for what is pending on any path */
    unsigned once;   /* the same in the first iteration of its loop, which may wait for what is pending before that */
    unsigned tail;   /* of `cycles`, those after its last barrier; all where it has none */
    unsigned wait;   /* those of both for the slowest warp at a barrier */
} SassBlock;

typedef struct SassLoop {
    uint32_t header;  /* byte offset of its first instruction in the section */
    int block;        /* that begins with it */
    int parent;       /* loop around it, SASS_NONE */
    unsigned latches; /* back edges */
    unsigned depth;   /* 1: outermost */
    bool innermost;
    bool
        gathers; /* waits for lanes of its warp to catch up, as ptxas does at latches on sm_75: it runs once, or little more */
    unsigned instructions; /* with those of the loops inside */
    unsigned classes[SASS_CLASS_COUNT];
    unsigned cycles; /* of issuing each of its blocks once, with those of the loops inside */
    unsigned waits;  /* instructions in it that wait for a scoreboard */
} SassLoop;

typedef struct SassCode {
    Arena arena;       /* of all below but edges */
    SassInstr *instrs; /* without the padding */
    size_t count;
    size_t padding; /* instructions after the last one that can run: `BRA .` and NOPs */
    SassBlock *blocks;
    int block_count;
    int *by_order; /* reachable blocks in reverse post-order */
    int reachable;
    SassLoop *loops; /* by header */
    size_t loop_count;
    unsigned irreducible; /* edges back to a block that does not dominate their start */
} SassCode;

/* Everything in `code` is owned by it; false where what is known of barriers would take too much memory (nothing to free then). */
bool sass_read(SassCode *code, const CubinFunction *function, unsigned sm);

/* Does the same with other latencies than those of the architecture. */
bool sass_read_with(SassCode *code, const CubinFunction *function, unsigned sm, const Latencies *latencies);
void sass_free(SassCode *code);

/* Whether all paths to the block, which can be reached, pass the block `by`. */
static inline bool sass_is_dominated(const SassCode *code, int block, int by)
{
    while (code->blocks[block].order > code->blocks[by].order)
        block = code->blocks[block].dominator;
    return block == by;
}

/* Whether loop `inner`, or SASS_NONE, is the loop or one in it. */
static inline bool sass_is_inside(const SassCode *code, int inner, int loop)
{
    while (inner != SASS_NONE && inner != loop)
        inner = code->loops[inner].parent;
    return inner == loop;
}

/* The block that an in-function call, or the branch at the end of `block`, leads to; SASS_NONE if it leads out of the function. */
int sass_target_block(const SassCode *code, const SassInstr *instr);

#endif
