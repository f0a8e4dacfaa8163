/* The places where a thread may wait for another one. */
#ifndef PTXOPT_CHECK_PROVE_WAITS_H
#define PTXOPT_CHECK_PROVE_WAITS_H

#include "check/prove/callees.h"

/* A loop, by one of its edges back, that may end only after another thread has done something. */
typedef struct WaitLoop {
    u32 header, latch;
} WaitLoop;

typedef struct Waits {
    BitSet blocks; /* that hold an instruction which may wait */
    u32 loops;
    const WaitLoop *loop;
} Waits;

/* Memory from the graph's arena. */
Waits prove_waits(ProveGraph *g, const Callees *callees);
/* Whether a thread may wait at the instruction, or in what it calls. */
bool prove_waits_at(const Callees *callees, const Instr *i);
/* Whether a thread may wait in these blocks without leaving them. A path that stays in a loop takes one of its edges back. */
bool prove_waits_in(const Waits *w, const BitSet *blocks);

#endif
