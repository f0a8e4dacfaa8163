/* Whether two copies of a lane operation, or of a barrier, name the same threads. If not, one copy's threads would wait
 * for the other's once all execute one instruction. */
#ifndef PTXOPT_PHASE_TAIL_NAMES_H
#define PTXOPT_PHASE_TAIL_NAMES_H

#include "phase/phase.h"

typedef struct TailNames {
    Analyses *an;
    Instr **write; /* by RegId: the only instruction that writes it, or NULL; the array is NULL until needed */
    u32 regs;
    const Uniform *uniform; /* NULL: not needed yet */
    bool edited;            /* the function was edited, so its uniformity is not asked for any more */
} TailNames;

bool tail_names_alike(TailNames *names, const Instr *a, const Instr *b);

#endif
