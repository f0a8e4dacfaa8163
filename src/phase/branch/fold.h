/* What branch-folding does, for the runner, which cleans up after the phases whose rows say so: their output then is what a
 * second run would leave alone. Reports in the name of the phase that runs. */
#ifndef PTXOPT_PHASE_BRANCH_FOLD_H
#define PTXOPT_PHASE_BRANCH_FOLD_H

#include "phase/phase.h"

/* Answers whether it changed anything. The analyses that run->an holds are dropped then. */
bool fold_branches(PhaseRun *run);

#endif
