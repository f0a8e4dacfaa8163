/* Merging the arrivals of a product node into its state: what its parts share. */
#ifndef PTXOPT_PROVE_MERGE_H
#define PTXOPT_PROVE_MERGE_H

#include "prove/prover.h"

typedef struct Merge {
    Prover *p;
    Terms *t;
    Node *n;
    u32 slots;
    const Arrival *a; /* the arrivals */
    u32 count;
    Term *value;      /* what they have in common */
    FnvMap by_values; /* hash of the values of all arrivals -> slot + 1 */
    FnvMap by_steps;  /* hash of the differences to the first arrival -> slot + 1 */
    u32 countdown;    /* slot of AFTER's counter, plus 1; 0: there is none */
} Merge;

typedef struct FactList {
    VEC(Fact) v;
} FactList;

/* The state before the node was merged must be there: what arrived since is of it, once nothing changes any more. */
u32 prove_countdown(Merge *m);
/* The value of a slot that each iteration of the countdown moves on by the same number; 0: it is none. */
Term prove_countdown_value(Merge *m, u32 slot);
void prove_countdown_facts(Merge *m, FactList *list);

/* ---- of node.c ---- */

void prove_merge_load(Prover *p, const Fact *fact, u32 n);
void prove_merge_add(Merge *m, FactList *list, Term said);
Term prove_merge_symbol(const Merge *m, u32 slot); /* the slot's own */
u32 prove_merge_bits(const Merge *m, u32 slot);

#endif
