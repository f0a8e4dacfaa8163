/* Kernels and functions that got worse, and what is known of why: what guard.c searches. */
#ifndef PTXOPT_JUDGE_GUARD_GUARD_SUSPECT_H
#define PTXOPT_JUDGE_GUARD_GUARD_SUSPECT_H

#include "judge/guard/guard.h"
#include "judge/trial/parts.h"

/* A kernel or function that got worse: the phases that it does without are known to be enough. */
typedef struct Suspect {
    const char *name;
    bool without[PHASE_COUNT];
    u32 good, bad;     /* with so many rewrites of these phases it is known not to be worse, and to be worse */
    const char *moved; /* what got worse with all phases */
} Suspect;

/* A phase that rewrote something in a function. */
typedef struct Rewrite {
    u32 phase, count;
    int group; /* of the function */
} Rewrite;

typedef struct Guard {
    Arena *arena;
    Options *options;
    Assembler assembler;
    GuardResult *result;
    Trial original, best;
    VEC(Trial *) assembled; /* of the search, to be used again */
    VEC(Suspect) suspects;
    Parts parts; /* of the original */
    VEC(Rewrite) rewrites;
    bool *changed; /* by group of them; NULL: not known */
    bool delivers; /* the machine code of all is wanted in the end */
} Guard;

int guard_group_of(const Guard *guard, const char *name);          /* of a function; -1 */
const char *guard_path_of(const Guard *guard, const Trial *trial); /* of its text */

/* Both read what is known of the best text: which groups changed (the others' machine code is the same, and costs nothing), and how often
 * each phase rewrote something. */
void guard_find_changed(Guard *guard);
void guard_find_rewrites(Guard *guard);

/* Leaves out of a trial's text what kernels of no wanted group do. */
void guard_trim(const Guard *guard, Trial *trial, const bool *wanted);
void guard_trim_to_suspects(const Guard *guard, Trial *trial);

/* Adds what is worse in `cubin` to the suspects, and leaves it alone. Whether there was any that was not left alone before. */
bool guard_add_suspects(Guard *guard, const Cubin *cubin);

u32 suspect_phases(const Suspect *suspect); /* how many it does without */
/* The phases that rewrote something in it or in what it calls; all where none is known to have, or the suspect has been without those. */
void suspect_do_without_those_that_rewrote(const Guard *guard, Suspect *suspect);
bool suspect_is_worse(const Guard *guard, const Suspect *suspect, const Cubin *cubin);

#endif
