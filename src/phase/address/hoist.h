/* Moves address computations that every path from a branch makes before the branch:
 *
 *     @%p bra A;                        mul.wide.s32 %new, %r1, 4;
 *     mul.wide.s32 %rd3, %r1, 4; ...    @%p bra A;
 *  A: mul.wide.s32 %rd4, %r1, 4; ...    ...
 *
 * It does so only where none of them reads the result of another, no path gets longer, and no loop or call lies between.
 * Nor may ptxas make one instruction of each with its reader. */
#ifndef PTXOPT_PHASE_ADDRESS_HOIST_H
#define PTXOPT_PHASE_ADDRESS_HOIST_H

#include "phase/address/bases.h"

/* Computations of one linear expression. */
typedef struct CongruentValues {
    u32 first, count; /* values, chained by AddressHoist.next_congruent */
    Block *dominator; /* their nearest common dominator */
} CongruentValues;

typedef struct AddressHoist {
    Bases *s;
    u32 *congruent_to; /* by expression: 1 + the index into congruent; 0: none */
    VEC(CongruentValues) congruent;
    u32 *next_congruent; /* by value */
    u32 *uses_left;      /* by value: remaining uses, including those by phis; NULL: nothing has moved yet */
    BitSet moved;        /* by value: its computation is removed */
    BitSet lonely;       /* by value: nothing else computes the same */
    BitSet pending;      /* by register: some asynchronous instruction writes it */
    BitSet ends, seen;   /* blocks, for the search under way */
} AddressHoist;

AddressHoist hoist_new(Bases *s);
void hoist_free(AddressHoist *h);
/* Notes the computation of instruction n. Its result is shared, and no register holds it there. Call it in the order of the
 * walk. */
void hoist_note(AddressHoist *h, u32 n);
/* Moves the noted computations where that pays; answers whether any moved. The values of AddressHoist.s are then out of date. */
bool hoist_run(AddressHoist *h, PhaseRun *run);

#endif
