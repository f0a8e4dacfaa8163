/* The successors to which edges into a block lead whose branch or table they decide. Facts of branches, ranges of values,
 * and selps of constants on the edge decide. Uses AN_FACTS, AN_ORDER and AN_LOOPS; if these are frozen, no answer depends
 * on what a rewrite changes. */
#ifndef PTXOPT_PHASE_THREAD_DECIDE_H
#define PTXOPT_PHASE_THREAD_DECIDE_H

#include "phase/phase.h"

enum { DECIDE_PREDS = 64 /* the most in-edges of a block that is looked at */ };

/* An edge into the block that is looked at. */
typedef struct InEdge {
    Block *from, *to; /* to: where control continues; NULL: not decided, or not to be touched */
    Block *otherwise; /* where control continues if the predicate of `select` is false; NULL: at `to` in any case */
    Instr *select;    /* the selp in `from` that decides */
} InEdge;

typedef struct Candidate {
    Block *b;
    InEdge edge[DECIDE_PREDS];
    u32 edges, decided;
    u32 cost; /* of b, in machine instructions */
} Candidate;

/* Whether b is reachable, has no pinned label, and ends in a branch with two successors or a table without guard. */
bool decide_ends(Analyses *an, const Block *b);
/* Finds where each edge into b leads. all_or_none: if one edge is undecided, none counts as decided. */
void decide_edges(Analyses *an, const Knobs *knobs, Block *b, bool all_or_none, Candidate *c);
/* The successor that b's branch takes on every path to it; NULL: unknown. */
Block *decide_branch(Analyses *an, const Knobs *knobs, Block *b);
/* Whether a selp of constants in b itself decides b's branch. *edge becomes the decision, without `from`. */
bool decide_by_own_select(Analyses *an, const Knobs *knobs, Block *b, InEdge *edge);

/* Whether edge number `edge` of c is the first without selp that leads to its block. */
bool decide_is_first(const Candidate *c, u32 edge);
/* Whether the edge gets clones of its own. Edges without selp that lead to one block share theirs. */
bool decide_makes_clones(const Candidate *c, u32 edge);

#endif
