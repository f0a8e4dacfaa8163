/* Attempts to prove that two functions do the same, or to refute it. */
#ifndef PTXOPT_CHECK_PROVE_ATTEMPT_H
#define PTXOPT_CHECK_PROVE_ATTEMPT_H

#include "check/prove/prover.h"

/* How a function is tried, and what came of it. */
typedef struct Attempt {
    ProvePlan plan;
    u32 passed_most;   /* lone joins that a path came to */
    BitSet left_out;   /* barriers that another attempt is to leave out */
    bool was_large;    /* it came to the limit of memory */
    bool was_spent;    /* it came to the limit of its work */
    bool only_threads; /* why it failed; see Outcome */
} Attempt;

/* Two functions, and what all attempts at them share. */
typedef struct Pair {
    Function *before, *after;
    Callees *callees;
    Arena arena;
    ProveGraph graph[2]; /* made on demand */
    bool exits_part;
    bool has_graphs;
    const char *too_large; /* NULL: they are not */
    u64 effort; /* of attempts that share a limit; see prove_effort() */
    Attempt proved_by;
    VEC(ProveMatched) matched; /* by the attempt that proved it, as is the next one */
    bool same_shape;
} Pair;

/* Whether both declare the same and consist of known instructions: else no attempt is worth while. */
bool prove_is_comparable(const Function *before, const Function *after);
/* False: the functions are too large. */
bool prove_init_sides(Prover *p, Pair *pair);
/* Allocates and frees what a prover holds beside its arena, which is its owner's. */
void prove_init(Prover *p);
void prove_free(Prover *p);
/* Whether the attempt takes the steps of `old`, which came to its limit of lone joins no more than this one will. */
bool prove_takes_same_steps(const Attempt *a, const Attempt *old);
/* One attempt, made again where threads wait too early only before events that no other thread sees. The verdict's texts
 * are in the arena. */
ProveVerdict prove_attempt(Pair *pair, const ProveOptions *options, Attempt *a, Arena *arena);

/* ---- refutation (refute.c) ---- */

/* Looks for inputs on which one thread does something else; what loads and calls return is arbitrary. */
bool prove_refute(Pair *pair, const ProveOptions *options, ProveVerdict *verdict, Arena *arena);

#endif
