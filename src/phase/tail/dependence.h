/* Which blocks depend on the same branches, but for those that are proven uniform: convergent instructions that name their threads may
 * be merged there. */
#ifndef PTXOPT_PHASE_TAIL_DEPENDENCE_H
#define PTXOPT_PHASE_TAIL_DEPENDENCE_H

#include "analysis/analyses.h"
#include "base/fnvmap.h"

/* To be initialized as {an}. Uses AN_CONTROL and AN_UNIFORM. */
typedef struct Dependence {
    Analyses *an;
    u32 *class;     /* by Block.id: equal for blocks of equal control dependence; 0: not known yet; NULL: nobody asked */
    FnvMap classes; /* by hash: their first blocks */
    VecU32 of[2];   /* scratch */
} Dependence;

bool dependence_alike(Dependence *d, const Block *a, const Block *b);
void dependence_free(Dependence *d); /* what is not in the scratch memory */

#endif
