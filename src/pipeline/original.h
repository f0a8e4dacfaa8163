/* What a function was before its first rewrite in a pass, and whether the rewrites together kept it. The runner takes the snapshot
 * when a phase first asks for a rewrite: most functions stay as they are, and need none. */
#ifndef PTXOPT_PIPELINE_ORIGINAL_H
#define PTXOPT_PIPELINE_ORIGINAL_H

#include "analysis/analyses.h"

typedef struct Original {
    u32 epoch; /* of the function when the pass began: no edit comes before the snapshot */
    bool is_taken;
    bool is_open; /* which exit ptxas takes decides who waits for whom, and that is not known: nothing may be rewritten */
    Arena arena;
    struct ExitsSnapshot *exits;
    struct Convergence *convergence;
    u64 joins;
} Original;

/* The snapshot is not taken yet, except where next to nothing tells that the function is open. */
Original original_begin(Analyses *an);
void original_take(Original *original, Analyses *an);
/* Why nothing may be rewritten in an open function. */
extern const char original_why_open[];
/* NULL, or why the function has to go back, with the name of the remark. The reason is in the snapshot's memory. */
const char *original_fault(Original *original, Analyses *an, const char **name);
void original_free(Original *original);

#endif
