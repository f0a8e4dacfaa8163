/* Whether a phase has moved reconvergence points, or brought other threads together, against man/ptxopt-soundness.7: a
 * snapshot before it, a comparison after it. Computed from both programs, and by Instr.origin, without the gate that phases
 * ask (analysis/reconverge.h), so that a mistake there is seen here.
 *
 *   - No branch that may divide a warp reconverges at a point before its old one, if between the branch and the new point a
 *     thread may wait and between the new and the old one stands what may end that wait.
 *   - To a call in which threads may wait, to an operation of lanes that does not name the same ones in all threads, and to a loop
 *     that waits, none come together that a branch divided before, if between there and the branch's old point stands what may end
 *     that wait.
 *   - At an instruction that depends on which lanes execute it, and does not name them, no threads come together that came
 *     apart: see analysis/arrivals.h.
 *   - A branch is .uni only if all it stands for were, and a table only if they were tables; or if it is proven uniform.
 *
 * What exceeds a fixed amount of work is left unchecked. */
#ifndef PTXOPT_ANALYSIS_RECONVERGE_CHECK_H
#define PTXOPT_ANALYSIS_RECONVERGE_CHECK_H

#include "analysis/analyses.h"

typedef struct ReconvergeSnapshot ReconvergeSnapshot;

/* In the arena, but for what reconverge_snapshot_free returns. */
ReconvergeSnapshot *reconverge_snapshot(Arena *arena, Analyses *an);
void reconverge_snapshot_free(ReconvergeSnapshot *snapshot);
/* NULL, or what is wrong, in the arena. `an` is of the function as it is now. */
const char *reconverge_compare(const ReconvergeSnapshot *before, Analyses *an, Arena *arena);

#endif
