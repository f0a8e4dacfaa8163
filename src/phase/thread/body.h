/* The instructions that must be cloned onto an edge that bypasses a block (phase/thread/jump_threading.c). */
#ifndef PTXOPT_PHASE_THREAD_BODY_H
#define PTXOPT_PHASE_THREAD_BODY_H

#include "analysis/analyses.h"

enum { BODY = 24 /* the most instructions of a block that is bypassed */ };

typedef struct Body {
    Instr *v[BODY];
    u32 n;
} Body;

/* Why b must not be bypassed, whatever the edge; NULL: it may be. explains: somebody reads the reason. */
const char *body_why_not(Analyses *an, const Block *b, bool explains);
/* Whether the register is read after an edge to `to`, or to `otherwise`, which may be NULL. */
bool body_is_live_on(Analyses *an, const Block *to, const Block *otherwise, RegId reg);
/* Collects, in order, the instructions of b whose results are read where the edge leads, and those that access memory.
 * False: there are too many. */
bool body_collect(Analyses *an, const Block *b, const Block *to, const Block *otherwise, Body *body);

u32 body_cost(const Body *body);     /* machine instructions of one more copy */
u32 body_accesses(const Body *body); /* loads and stores, including those of parameters */
bool body_steps_a_counter(const Body *body);
bool body_writes(const Body *body, RegId reg);

#endif
