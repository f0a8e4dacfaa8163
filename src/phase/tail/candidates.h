/* Candidates of tail-merge, and what the phase keeps while it decides on merges. */
#ifndef PTXOPT_PHASE_TAIL_CANDIDATES_H
#define PTXOPT_PHASE_TAIL_CANDIDATES_H

#include "phase/tail/splice.h"

typedef struct TailCandidate {
    Block *block;
    u64 key;
    u32 order;   /* of the block in the layout */
    u8 priority; /* 0: leaves the function, 1: jumps or falls, 2: branches */
    bool done;   /* the block gives its tail up, or keeps it for others */
} TailCandidate;

/* A merge to be carried out when all merges are decided. */
typedef struct Splice {
    u32 order; /* of the block that keeps its tail, in the layout */
    Instr *begin;
    Block *tail; /* the block that the tail becomes */
    DuplicateTail *duplicates;
    u32 n;
} Splice;

typedef struct Merge {
    PhaseRun *run;
    Analyses *an;
    Function *fn;
    Matcher *matcher; /* NULL: no two candidates may be alike, so far */
    ReservedChoice gate;
    i64 least;     /* tail-merge-size; less where very many tails are alike */
    i64 together;  /* least that all blocks of one merge must save */
    bool all_arms; /* only tails of all blocks that lead to one */
    u32 threshold; /* tail-merge-threshold */
    bool always;   /* enable-tail-merge=1: without the gate of gain */
    u64 effort;    /* instructions that may still be compared */
    VEC(TailCandidate) candidates;
    TailCandidate **set; /* candidates of the group under way that are merged */
    Tail *tail;          /* by candidate: its tail with the one that the others are compared with */
    VEC(Splice) splices;
} Merge;

void candidates_collect(Merge *m);
void candidates_sort(Merge *m); /* those that may be merged become neighbours */
/* At most so many instructions are compared for the whole function; whether that many have been. */
void candidates_limit_effort(Merge *m);
bool candidates_exhausted(const Merge *m);

/* Compares the first candidate of the group with those after it: m->tail. */
void candidates_compare(Merge *m, const TailCandidate *group, u32 n, u32 first);
/* Whether the k-th candidate can give up a tail of so many items to the first one. */
bool candidates_may_give_up(Merge *m, const TailCandidate *group, u32 first, u32 k, u32 items, Tail *tail);
/* The number of items that saves most: each merged tail costs a jump, so that many short ones may be better than few long ones. Of equal
 * numbers the one that the arms of one branch share, since threads of a warp then execute the tail together. */
u32 candidates_best_length(Merge *m, const TailCandidate *group, u32 n, u32 first);

bool tail_pays(const Merge *m, const Tail *tail);
/* Why two candidates cannot be merged whatever they hold; NULL: they can. */
const char *tail_why_apart(const Merge *m, Block *a, Block *b);
void tail_decline(Merge *m, const char *counter, const Instr *at, const char *why);

#endif
