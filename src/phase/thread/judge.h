/* Whether edges may bypass a block whose branch is decided on them, and whether that pays. It judges by loops, the points
 * where threads reconverge, convergent instructions, and what ptxas makes of the branch. All answers are about the function
 * as it was when the analyses were frozen. */
#ifndef PTXOPT_PHASE_THREAD_JUDGE_H
#define PTXOPT_PHASE_THREAD_JUDGE_H

#include "analysis/reconverge.h"
#include "phase/thread/decide.h"
#include "phase/thread/region.h"

extern const char judge_predicated[]; /* the reason that judge_is_predicated() stands for */

/* What the judge remembers from one iteration of the phase to the next. */
typedef struct JudgeMemory {
    Arena *arena;    /* holds `uniform` */
    BitSet uniform;  /* branches, by Instr.origin, that do not divide a warp; empty: not computed yet */
    bool convergent; /* the function has convergent instructions */
} JudgeMemory;

typedef struct ThreadJudge {
    Analyses *an;
    const Knobs *knobs;
    RegionScratch scratch;
    JudgeMemory *memory;
    ReconvergeGate *gate; /* NULL: not needed yet, and nothing is rewritten yet */
} ThreadJudge;

/* Why the decided edges of c stay as they are; NULL: they need not. Edges that cannot be used become undecided. budget: the
 * instructions that may still be cloned. *after_convergent: if the answer is NULL, whether a convergent instruction
 * follows. */
const char *judge_why_not(ThreadJudge *j, Candidate *c, u32 budget, bool *after_convergent);
/* Whether edges that go past the branch of c->b would need copies or a jump, although other edges still need the branch. */
bool judge_adds_in_part(const ThreadJudge *j, const Candidate *c);
/* Why the branch of b stays, although it always leads to `to`; NULL: it need not. */
const char *judge_why_branch_stays(ThreadJudge *j, const Block *b, Block *to);
/* Tells the judge that the branch of b, which always leads to `to`, is removed. */
void judge_branch_goes(ThreadJudge *j, const Block *b, const Block *to);
/* Tells the judge that some threads no longer come to the branch of b. */
void judge_branch_bypassed(ThreadJudge *j, const Block *b);
/* Whether ptxas predicates the short code that b's branch decides about, so that there is no branch to be saved. */
bool judge_is_predicated(ThreadJudge *j, const Block *b);

/* The memory of a judge before the first iteration of the phase. The arena must outlive all iterations. */
JudgeMemory judge_memory(const Analyses *an, Arena *arena);
/* The judge of one iteration. */
ThreadJudge judge_new(Analyses *an, const Knobs *knobs, JudgeMemory *memory);
/* Computes what any question needs about the function as it is. Call it before the first rewrite. */
void judge_prepare(ThreadJudge *j);
/* Frees the gate and all other memory outside the arenas. */
void judge_end(ThreadJudge *j);

#endif
