/* The points where the lanes that a branch divides reconverge. */
#ifndef PTXRUN_RECONVERGE_H
#define PTXRUN_RECONVERGE_H

#include "ir/ir.h"

/* Lanes reconverge at the immediate post-dominator. The models differ in what early exits do to it.
 *
 * RECONVERGE_EARLY_EXITS: of all edges that leave the function, one is the end for the blocks that can reach it. It is the
 * one that most blocks can reach; of equals, the one with the longest block, as ptxas chooses. The others take lanes away
 * without keeping the rest from reconverging. Blocks that cannot reach it have another end. (A block that only returns is
 * part of the edges that lead to it.)
 *
 * RECONVERGE_STRICT: every edge that leaves the function leads to one end, where nobody waits. */
typedef enum ReconvergeModel { RECONVERGE_EARLY_EXITS, RECONVERGE_STRICT, RECONVERGE_MODELS } ReconvergeModel;

/* The block where each block's branch reconverges, by Block.id, or NO_PC. The caller frees the array. */
u32 *reconvergence_points(const Function *fn, ReconvergeModel model);

#endif
