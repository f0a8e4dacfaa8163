/* What paths note about threads, once the states are final: the branches that they passed, and what was open at events. */
#ifndef PTXOPT_CHECK_PROVE_PATHS_H
#define PTXOPT_CHECK_PROVE_PATHS_H

#include "check/prove/open.h"

/* What a path knew when it passed a branch of AFTER. */
typedef struct Passing {
    u32 block, went; /* as in Open, and went is never 0 */
    bool is_known;   /* else nothing is known of `open` yet */
    bool of_many;    /* it stands for several paths */
    Opens open[2];   /* without what only an open branch needs */
    u32 older;       /* of this branch; 0: none */
} Passing;

/* What is open at an event. */
typedef struct OpenAtEvent {
    const Instr *before, *after; /* NULL: the end */
    bool returns;                /* to a caller, at the end */
    Opens open[2];
} OpenAtEvent;

/* Changed by paths.c alone. */
typedef struct Notes {
    VEC(Passing) passings; /* [0] unused */
    VecU32 newest;         /* by Block.id of AFTER: its newest passing */
    VEC(OpenAtEvent) events;
    FnvMap passing_of, event_of; /* by trail */
    u32 *went_to;                /* by block of BEFORE: that to which a path went on, plus 1; 0: none did */
    BitSet parted;               /* blocks of BEFORE from which paths went on to several ones, or may leave the function */
    const Instr *promise;        /* of AFTER, to be uniform, where BEFORE made none on some path; NULL: there is none */
} Notes;

void prove_notes_init(Prover *p);
void prove_notes_free(Notes *notes);

/* The side passes the terminator of its block on the way to `to`. */
void prove_pass_branch(Prover *p, ProveSide side, Term cond, const Block *to);
/* Both sides stand at a matched event; NULL: at the end of the thread. */
void prove_at_event(Prover *p, const Instr *before, const Instr *after);
/* A call or return of AFTER that matches that of BEFORE; NULL: control runs off the end. */
void prove_note_promise(Prover *p, const Instr *before, const Instr *after);

#endif
