/* The surroundings of a block whose branch may be threaded (phase/thread/jump_threading.c): what lies between the branch and the
 * program point where the paths from it join, and whether threads can come to the block in several groups. The answers are about the
 * function as it was when the analyses were computed. */
#ifndef PTXOPT_PHASE_THREAD_REGION_H
#define PTXOPT_PHASE_THREAD_REGION_H

#include "base/marks.h"
#include "phase/phase.h"

typedef struct ThreadRegion {
    u32 cost;        /* machine instructions */
    u32 set_up;      /* those of them in the same loop as b, or in none if b is in none */
    bool convergent; /* some instruction depends on which threads execute it together */
    bool whole;      /* false: the region is too large, and nothing else is set */
    bool loops;      /* holds a loop's header */
    bool heavy;      /* ptxas will not predicate all of it: a loop, a call, or a block that costs PTXAS_PREDICATED */
} ThreadRegion;

/* What the code of a block is like, in this epoch of it; 0: nobody asked yet. */
typedef struct BlockCode {
    u32 epoch;
    u32 cost, end_cost; /* machine instructions, and those of them that are of its terminator */
    bool convergent, calls;
} BlockCode;

typedef struct RegionScratch {
    Marks seen; /* by Block.id */
    VEC(const Block *) work;
    BlockCode *code; /* by Block.id, of those that were there when the first was asked for; NULL: none was */
    u32 blocks;
} RegionScratch;

/* The blocks that paths from `edge`, a successor of b, pass before the reconvergence point of b. */
ThreadRegion region_after(Analyses *an, RegionScratch *scratch, const Block *b, Block *edge);
/* Whether all paths from the branch of b join at `to`, one of its successors, but for those that leave b's loop, or the function where b
 * is in none: threads that stay wait for one another there. */
bool region_joins_at(Analyses *an, RegionScratch *scratch, const Block *b, const Block *to);
/* Whether no branch between the immediate dominator of b and b, that one included, divides a warp: the threads that come
 * to b together came there on one edge. uniform: branches that do not, by Instr.origin. */
bool region_is_reached_convergently(Analyses *an, RegionScratch *scratch, const Block *b, const BitSet *uniform);
/* Whether something between the immediate dominator of b and b, both not included, is heavy. predicated: the cost, in machine
 * instructions, from which a block counts as one that ptxas does not predicate. */
bool region_heavy_before(Analyses *an, RegionScratch *scratch, const Block *b, u32 predicated);

#endif
