/* Judges whether the threads of a warp may reconverge at another point than before.
 *
 * Threads that diverge at a branch wait for one another at its reconvergence point, the branch's immediate post-dominator.
 * A rewrite may move this point up, from `old` to a point before it. Then threads come together there that went from there
 * to `old` in groups of their own. The rewrite is refused in two cases.
 *
 * - A thread may wait where the groups come from, or on some paths between the two points. What it waits for may stand
 *   from the new point to the old one. The others would stand still before they get there. (Groups come from the branch
 *   that divides them, up to the new point.)
 * - From the new point to the old one an instruction depends on which lanes execute it, and does not name them.
 *
 * If the point only leaves the function, no thread waits: ptxas gives each path there an exit of its own.
 *
 * If threads leave the function before they reconverge, `old` is NULL, and leaving counts as something to wait for. The
 * caller goes on from the end of a .func that another function may call. Branches that are proven uniform divide no warp.
 *
 * The answers are about the function as it is when the gate is made. While it is rewritten, they stay about that. Walks are
 * bounded, each and in all of a function. Beyond that, the answer is the one for everything that the function holds. */
#ifndef PTXOPT_ANALYSIS_RECONVERGE_H
#define PTXOPT_ANALYSIS_RECONVERGE_H

#include "analysis/analyses.h"

typedef enum ReconvergeRisk {
    RECONVERGE_SAFE,
    RECONVERGE_WAIT,      /* a thread may wait for one that now waits for it */
    RECONVERGE_ACTIVE_SET /* an instruction sees lanes beside others that were not there before */
} ReconvergeRisk;

typedef struct ReconvergeGate ReconvergeGate;

/* The code between two program points. */
typedef struct ReconvergeRegion {
    u8 ends;       /* WaitEnds */
    u8 waits;      /* EffectWaits in which a part of the threads may be while the others go on, and ... */
    u8 later_ends; /* ... WaitEnds after points where these reconverge, between the two */
    bool convergent, active_set;
} ReconvergeRegion;

/* A block that a decision over several branches leads to. Other branches are to take the decision. Each block is listed
 * once. */
typedef struct ReconvergeLeaf {
    Block *target;
    bool gathers; /* threads that came to it in several groups may come in one */
    bool splits;  /* threads that came to it in one group may come in several */
    bool joins;   /* the new branches lead to it over several edges */
} ReconvergeLeaf;

/* The waits of the function as it is now: a copy in the arena, which stays when the function is rewritten. */
const Waits *waits_now(Arena *arena, Analyses *an);
/* A gate in the arena, to be freed with reconverge_free(). It asks `an` for what a question needs when the question
 * comes. */
ReconvergeGate *reconverge_new(Arena *arena, Analyses *an);
/* A gate that uses these waits, which outlive it. */
ReconvergeGate *reconverge_new_of(Arena *arena, Analyses *an, const Waits *waits);
void reconverge_free(ReconvergeGate *gate);
/* Before the first rewrite, by phases that go on asking after it: computes what any question needs. */
void reconverge_prepare(ReconvergeGate *gate);
/* The blocks that all walks may still look at: who asks only to explain an answer puts it back. */
u64 reconverge_budget(const ReconvergeGate *gate);
void reconverge_set_budget(ReconvergeGate *gate, u64 budget);
/* Whether any rewrite of the function can be refused: if not, nothing need be asked. */
bool reconverge_matters(const ReconvergeGate *gate);
const Waits *reconverge_waits(const ReconvergeGate *gate);

/* The immediate post-dominator; NULL: threads leave the function first. */
Block *reconvergence_point(ReconvergeGate *gate, const Block *branch);
/* Whether nothing in b but its terminator has an effect. */
bool reconverge_does_nothing(const Block *b);
/* Whether threads at b leave the function and do nothing else, within a bound of blocks. */
bool reconverge_only_leaves(const Block *b);
/* Whether some branch between the one that divides the paths to a and b, and these two, may divide a warp. */
bool reconverge_divides(ReconvergeGate *gate, Block *a, Block *b);

/* EffectWaits of what stands between the branch that divides the paths to a and b, and these two blocks, themselves not
 * included. */
u8 reconverge_waits_before(ReconvergeGate *gate, Block *a, Block *b);
/* The region from the end of b, its terminator included, to `old`. */
ReconvergeRegion reconverge_after(ReconvergeGate *gate, const Block *b, const Block *old);
/* waits: of where the threads come from. */
ReconvergeRisk reconverge_judge(const ReconvergeGate *gate, u8 waits, const ReconvergeRegion *after);

/* Threads that come to `at` over different edges, and reconverged at `old`, now reconverge at `at`. */
ReconvergeRisk reconverge_at(ReconvergeGate *gate, Block *at, const Block *old);
/* Answers the same if nothing that is executed between the branch that divides them and `at` may wait. */
ReconvergeRisk reconverge_after_pure(ReconvergeGate *gate, Block *at, const Block *old);

/* Threads that the branch divides may come together wherever several edges lead to one block, if they have done nothing in between. */
ReconvergeRisk reconverge_joins(ReconvergeGate *gate, const Block *branch);

/* Threads that a guarded ret or exit at the end of b takes out of the function, each at once, are to reconverge first. */
ReconvergeRisk reconverge_before_leaving(ReconvergeGate *gate, const Block *b);

/* A decision whose threads reconverge at `old` is to be taken by other branches. Threads that take different edges may
 * then reconverge wherever their paths join. */
ReconvergeRisk reconverge_leaves(ReconvergeGate *gate, const ReconvergeLeaf *leaf, u32 leaves, const Block *old);
/* The region from the beginning of `at` to `old`. */
ReconvergeRegion reconverge_from(ReconvergeGate *gate, const Block *at, const Block *old);

/* Threads that come to `branch`, or some of them, only go to `to`: the other edges out are taken away, for them. No thread
 * took them, but paths that join after the branch may now do so at a point that all paths come through. Groups of threads
 * are counted by edges, also those that no thread takes, unless they come to the branch together. old: the branch's
 * reconvergence point; NULL where several branches are decided at once. */
ReconvergeRisk reconverge_decided(ReconvergeGate *gate, const Block *branch, Block *to, const Block *old, bool converged);
/* Notes that the branch goes, and that all threads that come to it go to `to`. Two branches may each be decided, but not
 * both, if together they are all that leaves a loop. The same holds if the first one stands on a path from the second one
 * to its reconvergence point. So it costs fewer calls to decide outer branches of a nest before inner ones. */
void reconverge_decide(ReconvergeGate *gate, const Block *branch, const Block *to);
/* Notes that some threads no longer come to the branch. No branch is then decided whose paths to its reconvergence point
 * share a block with those of this one. */
void reconverge_bypass(ReconvergeGate *gate, const Block *branch);

#endif
