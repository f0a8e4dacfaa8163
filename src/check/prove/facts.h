/* Facts: what a path knows of the values of terms, and what follows from it. */
#ifndef PTXOPT_CHECK_PROVE_FACTS_H
#define PTXOPT_CHECK_PROVE_FACTS_H

#include "base/vec.h"
#include "check/prove/term.h"

typedef struct Prover Prover;

typedef struct Fact {
    Term term;
    SetId set;  /* its value is in it, by this fact and the older ones */
    u32 before; /* the older fact about the same term, plus 1; 0: none */
} Fact;

typedef struct Range Range;

/* Changed by facts.c; `ranges` by ranges.c. Others take all.n for a mark. */
typedef struct Facts {
    VEC(Fact) all;
    VecU32 newest;  /* by term: index of its newest fact, plus 1 */
    VecU32 learned; /* by index of a fact: the moment when it was learned, which stands for all facts up to it */
    u32 moments;
    u64 looked_at;             /* facts, in all that was asked of more than one */
    Range *ranges;             /* by hash; NULL: none was asked for yet */
    struct Integers *integers; /* of the moment when they were asked for last (integers.c); NULL: never yet */
} Facts;

void prove_facts_free(Facts *f);

/* Index of the newest fact about the term, plus 1; 0: there is none. */
static inline u32 prove_newest_fact(const Facts *f, Term x) { return x < f->newest.n ? f->newest.v[x] : 0; }
/* Whether fact k is the newest one about its term. */
static inline bool prove_is_newest_fact(const Facts *f, u32 k) { return f->newest.v[f->all.v[k].term] == k + 1; }

/* Takes it that the atom is so. False: the path cannot be. prove_forget takes back what came after facts.all.n was `mark`. */
bool prove_assume(Prover *p, Term atom, bool value);
bool prove_learn(Prover *p, Term x, SetId set);
/* False: no values of the symbols make all that was assumed true. */
bool prove_is_possible(Prover *p);
void prove_forget(Prover *p, u32 mark);
/* Whether the condition holds on this path: 1, 0, or -1 and an atom that would decide something. */
int prove_decide(Prover *p, Term cond, Term *atom);

/* ---- values (ranges.c) ---- */

/* The values that x can have on this path: never 0. Not for more than 64 bits. */
SetId prove_known(Prover *p, Term x);
/* Whether x is in the set: 1, 0, or -1. */
int prove_is_in(Prover *p, Term x, SetId asked);

/* ---- counters that AFTER asks about once for several steps (strides.c) ---- */

/* Whether the relation of a counter to its bound is in the set, as far as a test of several steps at once in AFTER tells:
 * 1, 0, or -1. */
int prove_strided(Prover *p, Term rel, SetId asked);
/* The same for a counter whose bound is a number. */
int prove_strided_number(Prover *p, Term x, SetId asked);

/* ---- terms by what is known (simplify.c) ---- */

/* The term with what the path decides in it decided. */
Term prove_simplify(Prover *p, Term x);
bool prove_equal(Prover *p, Term a, Term b);

#endif
