/* The surroundings of a block whose branch may be threaded (phase/thread/jump_threading.c). They are the code between the
 * branch and the point where the paths from it join. They also say whether threads can come to the block in several
 * groups. The answers are about the function as it was when the analyses were computed. */
#ifndef PTXOPT_PHASE_THREAD_REGION_H
#define PTXOPT_PHASE_THREAD_REGION_H

#include "base/marks.h"
#include "phase/phase.h"

typedef struct ThreadRegion {
    u32 cost;        /* machine instructions */
    u32 set_up;      /* those in the same innermost loop as b, or in none if b is in none */
    bool convergent; /* some instruction depends on which threads execute it together */
    bool whole;      /* false: the region is too large, and nothing else is set */
    bool loops;      /* it holds a loop's header */
    bool heavy;      /* ptxas does not predicate all of it: a loop, call, table, or block that costs PTXAS_PREDICATED */
} ThreadRegion;

/* Properties of a block's code, valid in one epoch of the code. epoch 0: not computed yet. */
typedef struct BlockCode {
    u32 epoch;
    u32 cost, end_cost; /* machine instructions, and those of the terminator among them */
    bool convergent, calls, table;
} BlockCode;

typedef struct RegionScratch {
    Marks seen; /* by Block.id */
    VEC(const Block *) work;
    BlockCode *code; /* by Block.id, for the blocks that existed when the first was computed; NULL: none was */
    u32 *too_large_to; /* by Block.id: the region from there to that point, 1 + Block.id, is too large; 0: unknown */
    u32 blocks;
} RegionScratch;

/* The blocks that paths from `edge`, a successor of b, pass before the reconvergence point of b. */
ThreadRegion region_after(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge);
/* Whether that region is whole, and not heavy: it is not walked further than to the first heavy block. */
bool region_is_light(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge);
/* Whether all paths from the branch of b join at `to`, one of its successors. Paths that leave b's loop, or the function
 * where b is in none, do not count. Threads that stay wait for one another there. */
bool region_joins_at(Analyses *an, RegionScratch *scratch, const Block *b, const Block *to);
/* Whether no branch from the immediate dominator of b on, and before b, divides a warp. The threads that come to b together
 * then came there over one edge. uniform: the branches, by Instr.origin, that divide none. */
bool region_is_reached_convergently(Analyses *an, RegionScratch *scratch, const Block *b, const BitSet *uniform);
/* Whether some code strictly between the immediate dominator of b and b is heavy. predicated: the cost, in machine
 * instructions, from which on ptxas does not predicate a block. */
bool region_heavy_before(Analyses *an, RegionScratch *scratch, const Block *b, u32 predicated);

#endif
