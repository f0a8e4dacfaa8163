/* The effects of a direct call of a function of the same text, whatever it computes. A body counts only if no other
 * module can replace it. */
#ifndef PTXOPT_CHECK_PROVE_CALLEES_H
#define PTXOPT_CHECK_PROVE_CALLEES_H

#include "check/prove/graph.h"
#include "check/prove/prove.h"

enum {
    CALLEE_TOGETHER = 1, /* depends on which threads execute it together, waits for others, or may keep them waiting */
    CALLEE_TOUCHES = 2,  /* accesses memory that other threads see, or reads time */
    CALLEE_BARRIER = 4,  /* may hold a barrier, or end the thread */
    CALLEE_ANYTHING = 7,
    CALLEE_KNOWN = 8,        /* the bits above say what it does */
    CALLEE_OPEN = 16,        /* what it calls is looked at, and may call it */
    CALLEE_REPLACEABLE = 32, /* another module may hold its body */
    CALLEE_EXPORTED = 64     /* other modules may call it */
};

/* What all proofs of one pair of texts share, so that no proof walks over a text. */
struct Callees {
    const Module *module[2];
    u8 *of[2];        /* by SymId of a function */
    bool see_threads; /* something in BEFORE sees who executes it, or calls what may */
};

/* The effects of the call; CALLEE_ANYTHING if nothing was summarized. */
u32 prove_callee(const Callees *c, const Instr *call);
/* The function whose body runs; NULL: it is not known. */
Function *prove_callee_body(const Callees *c, const Instr *call);
/* What is kept of the function; only summary.c changes it. */
u8 *prove_callee_notes(const Callees *c, const Function *fn);
/* Whether what follows a return from fn, of BEFORE, may depend on which threads return together. It may if its callers
 * are not known, or something in the text sees who executes it, or calls what may. */
bool prove_callers_see_threads(const Callees *c, const Function *fn);

/* Whether an instruction that is no call may touch memory that other threads see, or reads time. */
bool prove_touches_memory(const Instr *i);
/* A weak access whose bytes are known. */
bool prove_is_plain_access(const OpInfo *op);
bool prove_is_private_access(const OpInfo *op);
/* Whether no other thread sees that it is executed, and when: it reads weakly, or accesses memory of the thread's own. */
bool prove_is_unseen(const Instr *i);

#endif
