/* Registers that common-base-elim reads instead of others, and whether that pays. */
#ifndef PTXOPT_PHASE_ADDRESS_SWAPS_H
#define PTXOPT_PHASE_ADDRESS_SWAPS_H

#include "phase/address/hoist.h"

/* A register that is to be read instead of another. */
typedef struct Swap {
    u32 leader; /* its value; 0: no swap */
    i64 plus;   /* the value that is read now, minus the leader */
    bool loop;  /* the leader would have to stay live through a loop for it */
    bool far;   /* the leader would have to stay live through a loop, or past PTXAS_BASE_NEAR, for it */
} Swap;

typedef enum Refusal {
    REFUSED_NOT,
    REFUSED_OFFSET,
    REFUSED_SCOPE,
    REFUSED_TYPE,
    REFUSED_LOOP,
    REFUSED_CALL,
    REFUSED_NEEDED,
    REFUSED_FOLDED,
    REFUSED_BETTER,
    REFUSED_WAITS
} Refusal;

typedef struct Cbe {
    PhaseRun *run;
    const Knobs *knobs;
    Analyses *an;
    Bases *s;
    ListingWalk walk;
    AddressHoist hoist;
    BitSet needed; /* by value: remaining instructions read it */
    Swap *swap;    /* by index into Listing.uses: what is read instead */
    u8 *refused;   /* by value: Refusal */
    /* By value: the last instruction of the walk so far that reads it, with the swaps as they are. A swap counts here only
     * if its leader is of the same block as the value that it replaces. */
    u32 *last_read;
    BitSet reported;  /* by value */
    u32 *head, *tail; /* by base: the values that have it, oldest first ... */
    u32 *next, *prev; /* ... by value */
    VecU32 available; /* all of them, in the order of the walk */
    u8 full;          /* the answer of is_full(): 0: not computed yet, 1: no, 2: yes */
} Cbe;

/* Drops the swaps that leave the replaced value needed, or do not pay. Answers whether any swap is left. */
bool swaps_drop(Cbe *c);

#endif
