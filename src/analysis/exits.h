/* Which exit of a function decides where its threads reconverge.
 *
 * Of several exits ptxas takes one for the function's end, by the number and the size of the blocks that lead to it, and looks
 * for immediate post-dominators as if no thread left by the others (measured with ptxas 12.9 to 13.5). A block in front of the
 * exit that it takes is then the reconvergence point of branches whose other edge leads to another exit, and threads wait there
 * for those that took the other edge; had ptxas taken the other exit, none would. */
#ifndef PTXOPT_ANALYSIS_EXITS_H
#define PTXOPT_ANALYSIS_EXITS_H

#include "analysis/analyses.h"

/* Whether the choice of the exit may decide if the threads of a branch reconverge at some block, while one of them waits for others on
 * the way, or sees which lanes are with it. True also where exits, blocks or loops are too many; the arena holds 9 bytes a block. */
bool exits_decide_reconvergence(Arena *arena, Analyses *an);

#endif
