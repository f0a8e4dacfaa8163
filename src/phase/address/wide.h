/* Products of a widened index, by one instruction. */
#ifndef PTXOPT_PHASE_ADDRESS_WIDE_H
#define PTXOPT_PHASE_ADDRESS_WIDE_H

#include "phase/phase.h"

/* Whether it changed anything; then it finds nothing when it is asked again. */
bool wide_run(Analyses *an, const Knobs *knobs, PhaseRun *run);

#endif
