/* Which instructions at the ends of two blocks are the same, up to the names of registers that die there.
 *
 * Two blocks that hand on control alike are compared backwards. Each register that one tail reads or writes corresponds
 * to one register of the other. A register that is live after the tails corresponds to itself. So only registers that die
 * in the tail may have two names. The pairs left where the tails begin are the registers that are live into
 * them. If those have two names, the block that gives up its tail copies its values to the other's names. */
#ifndef PTXOPT_PHASE_TAIL_MATCH_H
#define PTXOPT_PHASE_TAIL_MATCH_H

#include "phase/tail/instr_match.h"

/* Why a comparison went no further. The subject is the instruction at which it stopped. */
typedef enum TailStop {
    STOP_NONE,       /* the instructions differ, or a block is used up */
    STOP_CONVERGENT, /* depends on which threads execute it together */
    STOP_CONTROL,    /* names its threads, but the two copies depend on different branches */
    STOP_NAMES,      /* names its threads, and the two copies may name different ones */
    STOP_RESERVED,   /* reads a special register that the gate holds back */
    STOP_PRAGMA,
    STOP_TYPE,       /* the registers differ in type, have a type that mov cannot copy, or are in flight */
    STOP_CARRY,      /* the carry lives into the tail or out of it */
    STOP_CALL,       /* would separate a call from its arguments or results */
    STOP_WAIT,       /* threads may wait in front of it for threads that execute it or what follows */
    STOP_ACTIVE_SET, /* what follows sees which lanes reach it together */
    STOP_LOADS,      /* merging would part loads that are in flight together */
    STOP_LOOP_TEST,  /* merging would separate the test of a loop from the step of its counter */
    STOP_COUNT
} TailStop;

typedef struct TailStopInfo {
    const char *counter, *text;
} TailStopInfo;

extern const TailStopInfo tail_stop_info[STOP_COUNT];

typedef struct RegPair {
    RegId kept, other;
    u32 weight; /* Tail.items at their reader nearest to the end, from which on a copy costs; 0: it never costs */
} RegPair;

typedef struct Tail {
    u32 items;           /* instructions, pragmas and the like of the tail, without .loc; 0: there is no tail */
    u32 weight;          /* instructions of the tail that cost something, without ret */
    u32 cost;            /* machine instructions that ptxas makes of these */
    u32 copies;          /* registers that the other block has to copy */
    u32 width;           /* 32-bit registers that live into the tails under two names; all are live where the blocks join */
    Instr *kept, *other; /* where the tails begin, in either block */
    TailStop stop;       /* why the tail is not longer */
    const Instr *at;     /* what stopped it, in the kept block; NULL: nothing */
} Tail;

/* Machine instructions saved by each block that gives its tail up. A register that lives longer may cost one, except for
 * the first, which was measured to cost nothing. */
i64 tail_gain(const Tail *tail);

typedef struct Matcher Matcher;

/* Makes a matcher for the function as it is now, which must not change while the matcher is used. It uses AN_LOOPS and
 * AN_LIVE. parts_loads: tails may hold loads that would be in flight together with loads in front of them. */
Matcher *matcher_new(Analyses *an, ReservedChoice gate, bool parts_loads);
void matcher_free(Matcher *m);

/* What a tail must save: its cost, less what merging costs; with `always`, its instructions. explains: somebody reads why one does not. */
typedef struct TailTerms {
    i64 least;
    bool always, explains;
} TailTerms;

/* Call it before blocks are compared, with any of them, since they all end alike. */
void matcher_set_end(Matcher *m, const Block *any, TailTerms terms);
/* The tail of both blocks that saves most; if limit is not 0, the tail of exactly that many items, or none. */
Tail tail_match(Matcher *m, Block *kept, Block *other, u32 limit);
/* The number of items that all comparisons so far found alike. */
u64 matcher_compared(const Matcher *m);
/* The registers that live under two names into the tail found last. Valid until the next comparison. */
const RegPair *matcher_renamed(const Matcher *m, u32 *count);

/* STOP_NONE: two copies of i may become one. The control dependence of the copies is not looked at. */
TailStop match_copies_may_merge(const Instr *i, ReservedChoice gate, const Summaries *summaries);

/* Whether the threads of two blocks may reconverge where their tails begin. Both tails were matched with that of the same
 * third block. */
bool tails_may_join(Matcher *m, Instr *a_begins, Instr *b_begins);

#endif
