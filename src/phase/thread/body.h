/* What has to be cloned onto an edge that bypasses a block (phase/thread/jump_threading.c). */
#ifndef PTXOPT_PHASE_THREAD_BODY_H
#define PTXOPT_PHASE_THREAD_BODY_H

#include "analysis/analyses.h"

enum { BODY = 24 /* instructions of a block that is bypassed */ };

typedef struct Body {
    Instr *v[BODY];
    u32 n;
} Body;

/* NULL, or why b must not be bypassed whatever the edge. Adds up what its instructions cost, the terminator included. */
const char *body_why_not(Analyses *an, const Block *b, u32 *cost);
/* Whether the register is read after an edge to `to`, or to one of both (otherwise: may be NULL). */
bool body_is_live_on(Analyses *an, const Block *to, const Block *otherwise, RegId reg);
/* The instructions of b whose results are read where the edge leads, and those that access memory, in order; false: more than
 * can be looked at. */
bool body_collect(Analyses *an, const Block *b, const Block *to, const Block *otherwise, Body *body);

u32 body_cost(const Body *body);     /* machine instructions of one more copy */
u32 body_accesses(const Body *body); /* loads and stores, of parameters too */
bool body_steps_a_counter(const Body *body);
bool body_writes(const Body *body, RegId reg);

#endif
