/* Whether it matters which exit of a function ptxas takes for the function's end. See exits.c. */
#ifndef PTXOPT_ANALYSIS_EXITS_H
#define PTXOPT_ANALYSIS_EXITS_H

#include "analysis/analyses.h"

/* Whether threads of a warp reconverge at some block only if a certain exit is the end, and some of them may wait for others on the
 * way there; or some thread of the function sees who is with it, waits for what others do, or promises to be uniform. True also where
 * exits, blocks, or loops are too many to tell. Time and memory are linear. */
bool exits_decide(Analyses *an);

#endif
