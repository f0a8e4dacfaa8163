/* What a phase, and all phases together, must not change about convergent instructions (man/ptxopt-soundness.7): a snapshot
 * before, a comparison after.
 *
 *   - The branches that a convergent instruction transitively depends on are a subset of those before. Branches that were
 *     proven warp-uniform before do not count, nor do new ones that are proven so now.
 *   - It does not stand in more places than before, and none is new. Copies in fewer loops than it was, on one path, are
 *     unrolled iterations. Each dominates the next one, which post-dominates it, in the same loop.
 *   - It does not get a guard, unless it depends on fewer branches instead.
 *   - There are no more irreducible regions than before.
 *
 * Instructions and branches are identified by Instr.origin, so a clone counts as its original. A branch that stands for others
 * (instr_inherit_origin) counts as these, and one that a phase made without saying so is new. Unreachable code does not count.
 * Functions without convergent instructions cost next to nothing. Sets are found one convergent block at a time, in time
 * proportional to their sizes; what exceeds CONVERGENCE_LIMIT in all is left unchecked (and counted). So is what infinite loops
 * with several entries hold: where threads that enter them by different entries reconverge is not defined. */
#ifndef PTXOPT_ANALYSIS_CONVERGENCE_H
#define PTXOPT_ANALYSIS_CONVERGENCE_H

#include "analysis/analyses.h"

enum { CONVERGENCE_LIMIT = 1 << 20 };

typedef struct ConvergentInstr {
    u32 origin;
    u32 instances; /* reachable ones */
    u32 first, n;  /* its branches: Convergence.branches, sorted; those of all instances if there are more */
    bool guarded;
    bool unchecked; /* the limit was reached, or it is in an infinite loop with several entries */
    u32 depth;      /* of loops around it, the least of all instances */
} ConvergentInstr;

typedef struct Convergence {
    ConvergentInstr *v; /* by origin */
    u32 n, unchecked;
    VecU32 branches; /* origins of branches */
    VecU32 uniform;  /* origins of branches proven warp-uniform, sorted */
    u32 origins;     /* Function.origins then: larger ones are new */
    u32 irreducible;
} Convergence;

/* Requires what it needs of `an`. To be freed with convergence_free. */
Convergence *convergence_snapshot(Arena *arena, Analyses *an);
void convergence_free(Convergence *snapshot);

/* NULL, or what is wrong, in the arena; it names block, instruction and branch. `an` is of the function as it is now. */
const char *convergence_compare(const Convergence *before, Analyses *an, Arena *arena);

#endif
