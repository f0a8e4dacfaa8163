/* Whether edges may go past a block whose branch is decided on them, and whether that pays: what becomes of loops, of the points
 * where threads reconverge, of convergent instructions, and of what ptxas makes of the branch. All answers are about the function
 * as it was when the analyses were frozen. */
#ifndef PTXOPT_PHASE_THREAD_JUDGE_H
#define PTXOPT_PHASE_THREAD_JUDGE_H

#include "analysis/reconverge.h"
#include "phase/thread/decide.h"
#include "phase/thread/region.h"

extern const char judge_predicated[]; /* the reason that judge_is_predicated() is */

/* What it knows from one iteration of the phase to the next. */
typedef struct JudgeMemory {
    Arena *arena;    /* of `uniform` */
    BitSet uniform;  /* branches, by Instr.origin, that do not divide a warp; empty: not asked yet */
    bool convergent; /* the function has convergent instructions */
} JudgeMemory;

typedef struct ThreadJudge {
    Analyses *an;
    const Knobs *knobs;
    RegionScratch scratch;
    JudgeMemory *memory;
    ReconvergeGate *gate; /* NULL: not asked yet, and nothing is rewritten yet */
} ThreadJudge;

/* NULL, or why the decided edges of c stay as they are; edges that cannot be used become undecided. budget: instructions that may still
 * be cloned. *after_convergent: whether c may be threaded, and a convergent instruction follows. */
const char *judge_why_not(ThreadJudge *j, Candidate *c, u32 budget, bool *after_convergent);
/* NULL, or why the branch of b stays, although it always goes to `to`. */
const char *judge_why_branch_stays(ThreadJudge *j, const Block *b, Block *to);
/* The branch of b goes, which always goes to `to`. */
void judge_branch_goes(ThreadJudge *j, const Block *b, const Block *to);
/* Some threads no longer come to the branch of b. */
void judge_branch_bypassed(ThreadJudge *j, const Block *b);
/* Whether ptxas predicates what b's branch decides, since it is short: then there is no branch to be saved. */
bool judge_is_predicated(ThreadJudge *j, const Block *b);

/* The memory of a judge before the first iteration of the phase. The arena outlives all its iterations. */
JudgeMemory judge_memory(const Analyses *an, Arena *arena);
/* The judge of one iteration. */
ThreadJudge judge_new(Analyses *an, const Knobs *knobs, JudgeMemory *memory);
/* Before the first rewrite: computes what any question needs, of the function as it is. */
void judge_prepare(ThreadJudge *j);
/* Frees the gate and what is outside the arenas. */
void judge_end(ThreadJudge *j);

#endif
