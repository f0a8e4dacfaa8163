/* Loads that are in flight together. A load in a merged tail is issued only after the arms have joined. */
#ifndef PTXOPT_PHASE_TAIL_LOADS_H
#define PTXOPT_PHASE_TAIL_LOADS_H

#include "base/bitset.h"
#include "ir/ir.h"

/* Whether a load from `begin` on may be in flight together with at least PTXAS_LOADS_PARTED loads in front of `begin` in
 * its block. late: scratch by RegId, which is empty before and after. */
bool loads_parted(const Instr *begin, BitSet *late);

#endif
