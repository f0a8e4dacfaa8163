/* Which exit of a function decides where its threads reconverge.
 *
 * Of several exits ptxas takes one for the function's end, by the number and the size of the blocks that lead to it, and looks
 * for immediate post-dominators as if no thread left by the others (measured with ptxas 12.9 to 13.5). A block in front of the
 * exit that it takes is then the reconvergence point of branches whose other way leads to another exit, and threads wait there
 * for those that went that way; had it taken the other exit, none would. */
#ifndef PTXOPT_ANALYSIS_EXITS_H
#define PTXOPT_ANALYSIS_EXITS_H

#include "analysis/analyses.h"

/* Whether threads of a warp may reconverge at some block by one choice of the exit, and not by another one, and some of them may wait
 * for others on the way, or see who is with them: branches that lead to more exits than the block does come to it over several
 * edges. True also where the exits, the blocks, or the loops are too many to tell. The arena holds 9 bytes for a block. */
bool exits_decide_reconvergence(Arena *arena, Analyses *an);

#endif
