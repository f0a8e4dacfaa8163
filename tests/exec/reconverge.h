/* Where the lanes that a branch parts meet again. */
#ifndef PTXRUN_RECONVERGE_H
#define PTXRUN_RECONVERGE_H

#include "ir/ir.h"

/* By Block.id: the id of the block where the block's branch reconverges, or NO_PC. The caller frees it.
 *
 * This is the immediate post-dominator, except that early exits do not count: of all edges that leave the function, the one
 * that most blocks can reach is the end for these blocks, and the others take lanes away without keeping the rest from
 * meeting, as ptxas does it. Blocks that cannot reach it have another end. (A block that only returns is part of the edges
 * that lead to it.) */
u32 *reconvergence_points(const Function *fn);

#endif
