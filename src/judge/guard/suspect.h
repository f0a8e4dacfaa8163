/* Kernels and functions that got worse, and what is known of the cause, for search.c. */
#ifndef PTXOPT_JUDGE_GUARD_SUSPECT_H
#define PTXOPT_JUDGE_GUARD_SUSPECT_H

#include "judge/guard/guard_inside.h"

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

typedef struct Search {
    Guard *guard;
    Trial best;             /* what is held back makes it */
    VEC(Trial *) assembled; /* to be used again */
    VEC(Suspect) suspects;
    VEC(Rewrite) rewrites;
} Search;

/* Reads what the optimizer said of the best text: how often each phase rewrote something. */
void suspects_find_rewrites(Search *search);

/* Leaves out of a trial's text what other kernels do. */
void suspects_trim(const Search *search, Trial *trial);

/* Adds what is worse in `cubin` to the suspects, and leaves it alone. Whether there was any that was not left alone before. */
bool suspects_add(Search *search, const Cubin *cubin);

u32 suspect_phases(const Suspect *suspect); /* how many it does without */
/* The phases that rewrote something in it or in what it calls. They are all phases where none is known to have, or the
 * suspect has been without those. */
void suspect_do_without_those_that_rewrote(const Search *search, Suspect *suspect);
bool suspect_is_worse(const Search *search, const Suspect *suspect, const Cubin *cubin);

#endif
