/* Whether two copies of an operation of lanes, or of a barrier, name the same threads: if not, the one that waits would keep the other
 * one's threads, once they execute it together. */
#ifndef PTXOPT_PHASE_TAIL_NAMES_H
#define PTXOPT_PHASE_TAIL_NAMES_H

#include "phase/phase.h"

typedef struct TailNames {
    Analyses *an;
    Instr **write; /* by RegId: the only instruction that writes it, or NULL; NULL: not asked for yet */
    u32 regs;
    const Uniform *uniform; /* NULL: not asked for yet */
    bool edited;            /* the function was: it is not asked for any more */
} TailNames;

bool tail_names_alike(TailNames *names, const Instr *a, const Instr *b);

#endif
