/* Branches that are open on a path: passed, and not yet joined. README.md draws an example. */
#ifndef PTXOPT_CHECK_PROVE_OPEN_H
#define PTXOPT_CHECK_PROVE_OPEN_H

#include "base/fnvmap.h"
#include "base/vec.h"
#include "check/prove/machine.h"

typedef struct Prover Prover;
typedef u32 GroupId; /* an interned list of block ids; 0 is the empty one */

enum { PROVE_ALL = -1 }; /* a group of all */

/* Whether a branch of BEFORE was passed since the last event: surely, once only, and in this iteration of its loops, if that is said. */
enum { PROVE_NOT_MOVED, PROVE_MAY_HAVE_MOVED, PROVE_MOVED };

/* Passings of a branch of AFTER that the path may have come by, and the branches of BEFORE that joined since. */
typedef struct Since {
    GroupId passings;
    GroupId may_join;   /* threads may have joined since one of them, or, if that is after the last event, before */
    GroupId all_joined; /* all threads have joined since each of them, or before the last event */
} Since;

/* A branch, passed and not yet joined, or joined since the last event. */
typedef struct Open {
    u32 block;  /* id */
    u32 went;   /* id of the block that control went to, plus 1; 0: not the same on all paths */
    u32 joined; /* its threads have joined since the last event */
    /* of BEFORE's */
    Term cond;     /* the condition, or the index of a table; 0: none that all paths share */
    u32 moved;     /* PROVE_..MOVED */
    u32 ahead;     /* BEFORE may have begun an iteration of a loop that AFTER has not */
    u32 iteration; /* of its loop in which it was passed, counted from that of AFTER: see ITERATION_SAME; 0: not known */
    GroupId again; /* branches of AFTER that are open and were passed between any two times of it; PROVE_ALL: one time */
    GroupId past;  /* branches whose threads had joined since the last event, each time that it was passed since */
    /* of AFTER's */
    u32 closes;     /* its threads may have joined since the last event; they may have diverged again */
    Since divided;  /* passings since which its threads have not joined */
    Since rejoined; /* passings since which they have joined, after the last event unless it is late */
    GroupId early;  /* of rejoined.may_join: those whose threads may have joined before the last event */
    GroupId newer;  /* branches of BEFORE that may have been passed since */
    GroupId covers; /* branches of BEFORE of which is known: if they are open, it was last passed since they were */
    u32 late; /* its threads may have joined before an event that is asked about later, and nobody has been asked since */
} Open;

typedef struct Opens {
    u32 n;
    const Open *v; /* ascending by block */
} Opens;

/* Threads that diverge at a branch of AFTER wait for one another before an event that no other thread sees, and may not
 * in BEFORE. What they wait for does not depend on it, so it is asked again at the next event that others see. */
typedef struct ProveLate {
    const Instr *after;
    u32 block;
} ProveLate;

typedef struct Group {
    u32 n;
    const u32 *v; /* ascending, unless it is the key of a question */
} Group;

/* Changed by open.c alone. */
typedef struct Groups {
    VEC(Group) all; /* by GroupId */
    HashIndex index;
    FnvMap results; /* of operations on two groups */
    u64 work;       /* members and open branches that were looked at */
} Groups;

void prove_groups_init(Groups *g);
void prove_groups_free(Groups *g);
GroupId prove_group(Prover *p, const u32 *v, u32 n);
bool prove_group_has(const Prover *p, GroupId id, u32 member);

const Open *prove_find_open(const Opens *o, u32 block); /* NULL: it is not there */
/* What both lists of BEFORE and AFTER have in common is known in `to`. */
void prove_unite_opens(Prover *p, Opens to[2], const Opens from[2]);
bool prove_same_opens(const Opens *a, const Opens *b);
void prove_pass_before(Prover *p, u32 block, u32 went, Term cond);
/* The path passes the branch of AFTER by this passing. */
void prove_pass_after(Prover *p, u32 block, u32 went, u32 passing);
/* The side enters a block. */
void prove_enter(Prover *p, ProveSide side, const Block *from, const Block *to);
/* Both sides have come to the same event, `after` where others do not see it: branches whose threads have joined are open no more. */
void prove_catch_up(Prover *p, const Instr *after);
bool prove_is_late(const Prover *p, const Instr *after, u32 block);

#endif
