/* Merging the arrivals of a product node into its state: what its parts share. */
#ifndef PTXOPT_CHECK_PROVE_MERGE_H
#define PTXOPT_CHECK_PROVE_MERGE_H

#include "check/prove/prover.h"

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
    u32 divisor;      /* the last slot found whose reciprocal is in another one, plus 1; 0: none */
    u32 countdown;    /* slot of AFTER's counter, plus 1; 0: there is none */
    bool counts;      /* the loop counts its iterations; then: */
    bool *is_back;    /* by arrival: it went around the loop */
    Term *step;       /* by slot: what each iteration adds to it; 0: that is not known */
    Term *number;     /* by arrival: how many iterations there were then */
} Merge;

typedef struct FactList {
    VEC(Fact) v;
} FactList;

/* ---- counters that AFTER alone has (countdown.c) ---- */

/* The state before the node was merged must be there: what arrived since is of it, once nothing changes any more. */
u32 prove_countdown(Merge *m);
/* The value of a slot that each iteration of the countdown moves on by the same number; 0: it is none. */
Term prove_countdown_value(Merge *m, u32 slot);
void prove_countdown_facts(Merge *m, FactList *list);

/* ---- counters of a loop (counters.c) ---- */

/* What each iteration adds to the slots. */
void prove_counters_find(Merge *m);
/* The value of a slot by the number of iterations; 0: it is none. */
Term prove_counter_value(Merge *m, u32 slot);
/* How many iterations there were when each arrival came, by the values of the slots. */
void prove_counters_arrive(Merge *m);
void prove_counter_facts(Merge *m, FactList *list);
/* Whether the state's values and facts that speak of the number of iterations hold of all arrivals. */
bool prove_counters_hold(Merge *m);

/* ---- values (merge_values.c) ---- */

/* The value that all arrivals bring, if it is none of this node's; 0: there is no such value. Where values are looked for
 * again, an arrival may bring the node's own symbols: it left the slot as it was. The next visit says whether the value
 * of the others still does so. */
Term prove_merge_sole(const Merge *m, u32 slot);
/* The slot's value by those of slots before this one, if their differences between arrivals are the same; else the slot's
 * own symbol. */
Term prove_merge_related(Merge *m, u32 slot);

/* ---- facts (merge_facts.c) ---- */

enum { BREAK_VISITS = 12 /* from then on what changes loses its relation to others */ };

/* Lists the facts that all arrivals know, of values that no symbol of this node is in, and of those that are joined
 * here. */
void prove_merge_unite(Merge *m, FactList *list);
/* Adds facts of the first arrival about values that are joined here, restated of the symbols that stand for them, if the
 * others know them. */
void prove_merge_rename(Merge *m, FactList *list);
/* Facts that say nothing go, and after some visits those that still change. */
void prove_merge_keep(Merge *m, FactList *list);
void prove_merge_add(Merge *m, FactList *list, Term said);
/* Whether arrival k knows of its values what is said of the node's. */
bool prove_merge_holds_in(Merge *m, Term said, u32 k);

/* ---- what is asked of a merge ---- */

/* Whether no symbol of the node is in the term. */
static inline bool prove_merge_is_clean(const Merge *m, Term x) { return !prove_mentions(m->t, x, m->n->id); }

static inline u32 prove_merge_bits(const Merge *m, u32 slot)
{
    return prove_reg_bits(&m->p->side[slot >= m->n->slots[0]], m->n->reg[slot]);
}

/* The slot's own symbol. */
static inline Term prove_merge_symbol(const Merge *m, u32 slot)
{
    return prove_sym(m->t, PROVE_SYM_JOIN, m->n->id, slot, 0, prove_merge_bits(m, slot));
}

/* The symbol that is the number of iterations. */
static inline Term prove_iterations(const Merge *m) { return prove_sym(m->t, PROVE_SYM_JOIN, m->n->id, m->slots, 0, 64); }

/* Learns facts that are listed from the newest on. */
static inline void prove_merge_load(Prover *p, const Fact *fact, u32 n)
{
    for (u32 k = n; k-- > 0;)
        prove_learn(p, fact[k].term, fact[k].set);
}

#endif
