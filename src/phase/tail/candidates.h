/* Candidates of tail-merge, and what the phase keeps while it decides on merges. */
#ifndef PTXOPT_PHASE_TAIL_CANDIDATES_H
#define PTXOPT_PHASE_TAIL_CANDIDATES_H

#include "phase/tail/splice.h"

typedef struct TailCandidate {
    Block *block;
    u64 key;
    u32 order;   /* the block's place in the layout */
    u8 priority; /* 0: leaves the function, 1: jumps or falls, 2: branches */
    bool done;   /* the block gives its tail up, or keeps it for others */
} TailCandidate;

/* A merge that is carried out when all merges are decided. */
typedef struct Splice {
    u32 order; /* the place in the layout of the block that keeps its tail */
    Instr *begin;
    Block *tail; /* the block that the tail becomes */
    DuplicateTail *duplicates;
    u32 n;
} Splice;

typedef struct Merge {
    PhaseRun *run;
    Analyses *an;
    Function *fn;
    Matcher *matcher; /* NULL: no group so far has had candidates to compare */
    ReservedChoice gate;
    i64 least;     /* tail-merge-size; less where very many tails are alike */
    i64 together;  /* what all blocks of one merge must save together at least; 0: no such bound */
    bool all_arms; /* merge only tails that all predecessors of a block share */
    u32 threshold; /* tail-merge-threshold */
    bool always;   /* enable-tail-merge=1: without the gate of gain */
    u64 effort;    /* instructions that may still be compared */
    VEC(TailCandidate) candidates;
    TailCandidate **set; /* candidates of the group under way that are merged */
    Tail *tail;          /* by candidate: its tail in common with the one that the group is compared with */
    VEC(Splice) splices;
} Merge;

void candidates_collect(Merge *m); /* those of which no other one has the key may be left out */
void candidates_sort(Merge *m);    /* candidates that may be merged become neighbours */
/* Bounds the instructions that are compared in the whole function. */
void candidates_limit_effort(Merge *m);
bool candidates_exhausted(const Merge *m);

/* Compares the first candidate of the group with those after it, and stores their tails in m->tail. */
void candidates_compare(Merge *m, const TailCandidate *group, u32 n, u32 first);
/* Whether the k-th candidate can give up a tail of this many items to the first one. */
bool candidates_may_give_up(Merge *m, const TailCandidate *group, u32 first, u32 k, u32 items, Tail *tail);
/* The number of items that saves most. Each merged tail costs a jump, so many short tails may be better than a few long
 * ones. Of equal lengths it takes the one that the arms of one branch share, since threads of a warp then execute the tail
 * together. */
u32 candidates_best_length(Merge *m, const TailCandidate *group, u32 n, u32 first);

TailTerms tail_terms(const Merge *m);
bool tail_pays(const Merge *m, const Tail *tail);
/* Why two candidates cannot be merged, whatever they hold; NULL: nothing here forbids it. */
const char *tail_why_separate(const Merge *m, Block *a, Block *b);
void tail_decline(Merge *m, const char *counter, const Instr *at, const char *why);

#endif
