/* Makes products of a widened index one instruction. */
#ifndef PTXOPT_PHASE_ADDRESS_WIDE_H
#define PTXOPT_PHASE_ADDRESS_WIDE_H

#include "phase/phase.h"

/* Answers whether anything changed; a second call then finds nothing. */
bool wide_run(Analyses *an, const Knobs *knobs, PhaseRun *run);

#endif
