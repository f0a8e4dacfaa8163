/* What branch-folding does, for phases that change the graph and leave it the cleaning up: their output then is what a second
 * run would leave alone. Reports in the name of the phase that runs. */
#ifndef PTXOPT_PHASE_FOLD_H
#define PTXOPT_PHASE_FOLD_H

#include "phase/phase.h"

/* Answers whether it changed anything. The analyses that run->an holds are dropped then. */
bool fold_branches(PhaseRun *run);

#endif
