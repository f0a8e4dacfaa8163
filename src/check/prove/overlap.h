/* Accesses of two threads of a block, which must not touch one byte. */
#ifndef PTXOPT_CHECK_PROVE_OVERLAP_H
#define PTXOPT_CHECK_PROVE_OVERLAP_H

#include "check/prove/prover.h"

typedef struct AccessPair {
    Prover *p;
    const BitSet *between; /* blocks that a thread may enter on its way from one access to the other */
} AccessPair;

/* Whether, of all that is known of both, some two threads may touch the same bytes. */
bool prove_may_conflict(const AccessPair *q, const Instr *a, const Instr *b);

#endif
