/* Where the edges into a block lead that ends in a branch or a table: decided by facts of branches, by ranges of values, and by
 * selps of constants on the edge. It asks for AN_FACTS, AN_ORDER and AN_LOOPS, and for nothing that a rewrite changes if these
 * are frozen. */
#ifndef PTXOPT_PHASE_THREAD_DECIDE_H
#define PTXOPT_PHASE_THREAD_DECIDE_H

#include "phase/phase.h"

enum { DECIDE_PREDS = 64 /* of a block that is looked at */ };

/* An edge into the block that is looked at. */
typedef struct InEdge {
    Block *from, *to; /* to: where control goes on; NULL: not decided, or not to be touched */
    Block *otherwise; /* where it goes if the predicate of `select` does not hold; NULL: `to` in any case */
    Instr *select;    /* the selp in `from` that decides */
} InEdge;

typedef struct Candidate {
    Block *b;
    InEdge edge[DECIDE_PREDS];
    u32 edges, decided;
    u32 cost; /* of b, in machine instructions */
} Candidate;

/* Whether b ends in a branch, or a table, that decides where control goes on. */
bool decide_ends(Analyses *an, const Block *b);
/* Finds where each edge into b leads; all_or_none: one that is not decided is enough to decide none. */
void decide_edges(Analyses *an, const Knobs *knobs, Block *b, bool all_or_none, Candidate *c);
/* Where b's branch goes on every path to it; NULL: not known. */
Block *decide_branch(Analyses *an, const Knobs *knobs, Block *b);
/* Whether a selp of constants in b itself decides b's branch: *edge says how, and has no `from`. */
bool decide_by_own_select(Analyses *an, const Knobs *knobs, Block *b, InEdge *edge);

/* Whether no earlier edge of c leads to the same block, whatever a selp says. */
bool decide_is_first(const Candidate *c, u32 edge);
/* Edges that lead to the same block share their clones: whether this one has some of its own. */
bool decide_makes_clones(const Candidate *c, u32 edge);

#endif
