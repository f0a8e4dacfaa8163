/* Which threads execute together, and who waits for whom: decided from the notes once all paths are known. */
#ifndef PTXOPT_CHECK_PROVE_THREADS_H
#define PTXOPT_CHECK_PROVE_THREADS_H

#include "check/prove/open.h"
#include "check/prove/shape.h"
#include "check/prove/waits.h"

/* Changed by threads.c; by together.c what pairs of passings say. */
typedef struct Threads {
    Callees *callees;
    Waits waits;      /* where a thread may wait for another one in AFTER */
    bool callers_see; /* which threads return together; see prove_callers_see_threads */
    bool gathers;     /* something depends on who happens to be there: activemask, elect, vote without .sync */
    VEC(VecU32)
    waiting; /* by Block.id of AFTER what waits when it has passed that: Open.divided.passings, .may_join, and so on */
    VEC(ProveLate) more_late; /* besides those of the plan */
    FnvMap answers;           /* questions about passings, by group: 1 no, 2 yes */
    FnvMap edge_answers;      /* answers of tells_edge: 1 no, 2 yes */
    BitSet unaligned;         /* regions of BEFORE; see threads.c */
    bool same_shape;          /* of both texts; see prove_same_shape */
    VEC(ProveMatched) matched;
} Threads;

/* Whether anything in the functions depends on other threads. */
bool prove_threads_matter(Prover *p);
/* Whether the instruction sees which threads execute it: others may not take part, nor be missing. */
bool prove_gathers(Prover *p, const Instr *i);
void prove_threads_init(Prover *p);
/* Whether those execute together who did, once all paths are known. */
void prove_threads_done(Prover *p);
void prove_threads_free(Threads *threads);

#endif
