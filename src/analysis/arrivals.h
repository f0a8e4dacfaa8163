/* Whether a phase has brought threads together at an instruction that depends on which lanes execute it and does not name them, or
 * at a branch that promises of those that come to it together to go one way (.uni): a snapshot before it, a comparison after it.
 *
 *   - A branch that divides threads which come to the instruction in groups of their own, since it stands between the branch and
 *     its reconvergence point (the instruction depends on the branch), goes on to do so as long as it leads there.
 *   - Where a branch that the phase made takes the place of others, threads come to a block that leads to the instruction over
 *     as many edges as from the branches that it stands for and those below them that are gone. Edges that no thread takes
 *     count.
 *
 * Branches that are proven uniform divide no warp. That threads are missing there which came before is found by what
 * instructions depend on (analysis/convergence.h). What exceeds a fixed amount of work is left unchecked, and so are
 * irreducible functions, and branches of which a phase had made copies before. */
#ifndef PTXOPT_ANALYSIS_ARRIVALS_H
#define PTXOPT_ANALYSIS_ARRIVALS_H

#include "analysis/analyses.h"

typedef struct Arrivals Arrivals;

/* In the arena, but for what arrivals_free returns; NULL: there is no such instruction. */
Arrivals *arrivals_snapshot(Arena *arena, Analyses *an);
void arrivals_free(Arrivals *arrivals);
/* NULL, or what is wrong, in the arena. `an` is of the function as it is now. */
const char *arrivals_compare(const Arrivals *before, Analyses *an, Arena *arena);

#endif
