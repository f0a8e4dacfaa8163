/* Loads that are in flight together: one in a merged tail is issued behind the place where the arms join. */
#ifndef PTXOPT_PHASE_TAIL_LOADS_H
#define PTXOPT_PHASE_TAIL_LOADS_H

#include "base/bitset.h"
#include "ir/ir.h"

/* Whether a load from `begin` on may be in flight together with PTXAS_LOADS_PARTED loads or more in front of `begin` in its block.
 * late: scratch by RegId; it comes empty, and is left empty. */
bool loads_parted(const Instr *begin, BitSet *late);

#endif
