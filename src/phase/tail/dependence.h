/* Which blocks depend on the same branches, not counting branches proven uniform. Convergent instructions that name their
 * threads may be merged in such blocks. */
#ifndef PTXOPT_PHASE_TAIL_DEPENDENCE_H
#define PTXOPT_PHASE_TAIL_DEPENDENCE_H

#include "analysis/analyses.h"
#include "base/fnvmap.h"

/* Initialize it as {an}. It uses AN_CONTROL and AN_UNIFORM. */
typedef struct Dependence {
    Analyses *an;
    u32 *class;     /* by Block.id: equal for blocks of equal control dependence; 0: not computed yet; NULL: nobody asked */
    FnvMap classes; /* by hash: the first block of each class */
    VecU32 of[2];   /* scratch */
} Dependence;

bool dependence_alike(Dependence *d, const Block *a, const Block *b);
void dependence_free(Dependence *d); /* the scratch memory stays */

#endif
