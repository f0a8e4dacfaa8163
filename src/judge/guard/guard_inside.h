/* Inside --guard: the texts that are compared, and what is known of their kernels. */
#ifndef PTXOPT_JUDGE_GUARD_GUARD_INSIDE_H
#define PTXOPT_JUDGE_GUARD_GUARD_INSIDE_H

#include "judge/guard/cache.h"
#include "judge/guard/guard.h"
#include "judge/trial/parts.h"

/* The verdict of ptxas about a group of functions that may call one another. */
typedef struct GuardVerdict {
    u64 key;
    const char **why; /* by part: the change of what got worse, in words; NULL: nothing of the group did */
} GuardVerdict;

typedef struct Guard {
    Arena *arena;
    Options *options;
    Assembler assembler;
    GuardDelivery *delivery; /* NULL: nothing is to be delivered */
    GuardResult *result;
    Trial original, best;
    Parts parts, made; /* of the original, and of what it is compared with */
    bool *changed;     /* by group of parts */
    bool *asked;       /* by group: ptxas has to be asked about it */
    double *chance;    /* by group: of being worse, by the record */
    bool probed;       /* groups that are likely to be worse have been judged by themselves */
    bool *covered;     /* by group: the original that has been assembled last holds it; NULL: none has been */
    u32 *reverts;      /* by group: how often something of it has been left alone */
    bool *alone;       /* by part: it is left alone */
    Scratch rewrites;  /* lines PHASE NAME: what was rewritten in the best text; not open: not known */
    Cache cache;
    u64 context; /* hash of what is the same for all verdicts of a run */
    bool unsure; /* some verdict is not to be remembered */
    VEC(GuardVerdict) verdicts;
} Guard;

extern const char guard_no_text[], guard_no_parts[]; /* reasons: the optimizer made none, it cannot be taken apart */

int guard_part_of(const Guard *guard, const char *name);           /* of a function; -1 */
int guard_group_of(const Guard *guard, const char *name);          /* of a function; -1 */
const char *guard_path_of(const Guard *guard, const Trial *trial); /* of its text */

/* Finds out which groups say something else in the text at `path`: the others' machine code is the same, and costs nothing. False: the
 * texts cannot be compared. */
bool guard_compare(Guard *guard, const char *path);

/* Whether the part's text in what was compared last is another one. */
bool guard_is_changed(const Guard *guard, u32 part);

/* Leaves out of a trial's text what kernels of no wanted group do. */
void guard_trim(const Guard *guard, Trial *trial, const bool *wanted);

/* The text of parts without what kernels of no wanted group do; not open: it cannot be written. */
Scratch guard_cut(const Guard *guard, const Parts *parts, const bool *wanted);

/* The change of the function if it is worse in `cubin`, in words, or why that cannot be judged; NULL: it is not worse. */
const char *guard_worse_by(const Guard *guard, const char *name, const Cubin *cubin);

/* Leaves a function alone. The name stays. */
void guard_withhold(const Guard *guard, const char *name);

/* Puts what is done about a function that is worse into the result. */
void guard_hold_back(Guard *guard, const char *name, const char *how, const char *why);

/* ---- the record (risk.c) ---- */

/* Finds out how likely each group is to be worse. */
void risk_find(Guard *guard);
/* Finds out which of the groups that are asked about are to be judged before the whole text is assembled, by the price list: those that
 * are so likely to be worse that it would be assembled twice for more. False: none. */
bool risk_find_probes(const Guard *guard, bool *probed);

/* ---- verdicts (verdict.c) ---- */

/* Opens the cache, and hashes what ptxas, its options and this program are. */
void verdict_begin(Guard *guard);
/* Continues a hash. */
u64 verdict_hash(u64 hash, Str bytes);
/* The verdict about a group that changed; NULL: none is known. */
const GuardVerdict *verdict_find(Guard *guard, u32 group);
/* Keeps what ptxas has just said of it, beyond this run if it is `sure`. `why` is GuardVerdict's. */
void verdict_add(Guard *guard, u32 group, const char **why, bool sure);
/* By part: marks what a verdict leaves alone: what got worse, and what that may call unless other kernels gain by it. */
void verdict_mark_alone(const Guard *guard, const GuardVerdict *verdict, bool *alone);

/* ---- inputs (recall.c) ---- */

/* Leaves alone what all verdicts about the input did. *made: a hash of the text that is made then. False: they are not remembered. */
bool recall_find(Guard *guard, u64 *made);
bool recall_is_made(const Scratch *text, u64 made);
/* Leaves nothing alone. */
void recall_forget(const Guard *guard);
/* Remembers what is left alone, and the best text. */
void recall_add(const Guard *guard);

/* ---- the search (search.c) ---- */

/* Withholds from kernels and functions that are worse the phase to blame, or rewrites of it. NULL, or why it cannot be judged. */
const char *search_run(Guard *guard);

#endif
