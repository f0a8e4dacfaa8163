/* A path through both texts: where its sides are, and what is saved of them at a fork. */
#ifndef PTXOPT_CHECK_PROVE_PATH_H
#define PTXOPT_CHECK_PROVE_PATH_H

#include "check/prove/node.h"

/* Where a path came into the block in which it is. */
typedef struct Entered {
    Block *block;
    u32 undo; /* of the machine */
    Term written;
} Entered;

/* A branch of BEFORE that the path passed since the node, and its condition. */
typedef struct Passed Passed;
struct Passed {
    u32 block;
    Term cond;
    const Passed *next; /* the one before */
};

/* What belongs to one path, and is taken back where it forks. Each member is changed by what it is about: open.c changes
 * `open`, iterations.c `iterations`, and paths.c `branches` and `trail`. path.c and explore.c change
 * the others. */
typedef struct Path {
    Place place[2];
    Entered entered[2];          /* no block: an event came since, or the node */
    const Passed *branches;      /* of BEFORE */
    Opens open[2];               /* only taken over, never changed */
    const Iteration *iterations; /* likewise; NULL: none are counted */
    u64 trail;                   /* hash of the path: the node, and what it has passed since */
    u32 moved[2];                /* since the node, in steps */
    u32 passed;                  /* lone joins, since the node */
    u32 depth;                   /* forks on the way, since the node */
} Path;

/* What all paths have cost. Changed by path.c alone. */
typedef struct Effort {
    u32 steps;
    u32 passed_most; /* lone joins on any path */
} Effort;

typedef enum Stop {
    STOP_EVENT, /* at an instruction that must match */
    STOP_END,   /* leaves the function */
    STOP_JOIN,  /* at the beginning of a join */
    STOP_FORK,  /* the path does not know where control goes */
    STOP_NEVER, /* the path cannot be */
    STOP_FAULT
} Stop;

typedef struct Running {
    Stop stop;
    Term atom;  /* STOP_FORK: what would decide */
    Term index; /* if it asks for a table: its index, and the values that lead to one block */
    SetId values;
} Running;

typedef struct Saved {
    Path path;
    u32 facts, undo[2];
    Term written[2];
} Saved;

/* The bound that the attempt has come to; NULL: none. */
const char *prove_limit(const Prover *p);
/* The side goes on from where it stands. */
Running prove_run(Prover *p, ProveSide side);

/* Saves what both sides know and hold now; prove_restore() takes back all that came since. */
Saved prove_save(const Prover *p);
void prove_restore(Prover *p, const Saved *s);

#endif
