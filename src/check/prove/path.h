/* One side of a path, and what is saved of both where it forks. */
#ifndef PTXOPT_CHECK_PROVE_PATH_H
#define PTXOPT_CHECK_PROVE_PATH_H

#include "check/prove/prover.h"

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
    u32 facts, undo[2], moved[2], passed;
    Place place[2];
    Entered entered[2];
    Opens open[2];
    const Iteration *iterations;
    const Cell *cells[2];
    Term written[2];
    const Passed *branches;
    u64 trail;
} Saved;

/* The side goes on from where it stands. */
Running prove_run(Prover *p, ProveSide side);
/* Whether more terms were made than a function within the limit of steps may need. */
bool prove_is_over(const Prover *p);

/* Saves what both sides know and hold now; prove_restore() takes back all that came since. */
Saved prove_save(const Prover *p);
void prove_restore(Prover *p, const Saved *s);

#endif
