/* Where nested branches can become one, and why elsewhere they cannot. nested_cond.c asks this before it rewrites.
 *
 * A site is a block `outer` whose branch leads to `inner`, a block without other predecessors that ends in a branch too.
 * In a chain both lead to `other`, and inner alone to `rest`. In a diamond outer leads to two inner blocks, and both of
 * these to the same two blocks. */
#ifndef PTXOPT_PHASE_NESTED_SITE_H
#define PTXOPT_PHASE_NESTED_SITE_H

#include "analysis/reconverge.h"
#include "phase/nested/truth.h"

#define REASONS(X)                                                                                                       \
    X(LOOP, "LoopTest", "one of the branches ends, leaves or continues a loop")                                          \
    X(PLACE, "InnerPlace", "the inner block has a pinned label, a pragma or a scope of its own")                         \
    X(LOAD, "InnerLoad", "the inner block loads, which can fault")                                                       \
    X(EFFECT, "InnerEffect", "the inner block does more than compute")                                                   \
    X(GUARD, "InnerGuard", "an instruction of the inner block is guarded")                                               \
    X(COST, "InnerCost", "what the inner block computes costs more than --nested-cond-max-speculated allows")            \
    X(LIVE, "InnerLiveOut", "what the inner block computes is read where control goes without it")                       \
    X(RELATED, "RelatedPredicates", "the inner block reads or changes what decides the outer branch")                    \
    X(EQUAL, "EqualityKnown", "a value that the conditions imply is read after them: ptxas puts it in its place")        \
    X(CASES, "SwitchCases", "the branches are cases of a switch, of which ptxas makes a table")                          \
    X(UNIFORM, "UniformBranches", "all threads of a warp go one way at each branch, at the outer one in each iteration") \
    X(CHAIN, "ChainBeforeArm", "in a loop, what the inner block computes in a chain would delay a short arm")            \
    X(SINKS, "LoadForArm", "one arm alone reads what is loaded in front: ptxas would load it there, and wait")           \
    X(LARGE, "TooManyPredicates", "the condition would have too many parts")                                             \
    X(RECONVERGE, "OtherThreads", "an instruction after the branches depends on which threads reconverge")

typedef enum Reason {
    REASON_NONE,
#define ENUM(id, ...) REASON_##id,
    REASONS(ENUM)
#undef ENUM
} Reason;

const char *site_reason_counter(Reason why);
const char *site_reason_words(Reason why);

typedef struct Nested {
    Analyses *an;
    const Knobs *knobs;
    Function *fn;
    u32 *skip; /* by place in the dominator tree's order, for a dead block: how many blocks after it are dead, at least */
    /* By Block.id: the condition of a branch that stands for several; without truth: the branch stands for itself. */
    TruthTerm *combined;
    Instr **only_write; /* by RegId, below `registers`: the only instruction that writes it, or NULL */
    u32 registers;
    ReconvergeGate *gate; /* NULL: see nested_gate() */
} Nested;

typedef struct Site {
    Block *outer, *inner, *other, *rest;
    bool guards; /* the outer branch's predicate guards inner's loads, and its writes that are read in `other` */
} Site;

/* The condition under which b's branch leads to `to`. leaf: room for the term of a branch that stands for no other. */
TruthTerm site_condition_to(const Nested *n, const Block *b, const Block *to, Truth *leaf);
/* The gate, which is made at the first question, of the function as it is before the first rewrite. */
ReconvergeGate *nested_gate(Nested *n);
/* Whether b's branch depends on reg. */
bool nested_decides(const Nested *n, const Block *b, RegId reg);

/* Finds a chain that begins at outer and continues over its edge number `edge` (0: fall, 1: taken). */
bool site_find_chain(const Nested *n, Block *outer, u32 edge, Site *s);
/* REASON_NONE: the two branches may be combined, as far as that is right. Sets s->guards. */
Reason site_check_chain(Nested *n, Site *s);
/* The reason why ptxas would lose more than a combined branch of a checked chain saves. */
Reason site_check_profit(const Nested *n, const Site *s);

/* Whether the rewrite guards i, an instruction of the inner block. */
bool site_guards(const Nested *n, const Site *s, const Instr *i);

bool site_is_load(const Instr *i); /* of memory other than a parameter */
bool site_reads_special_register(const Instr *i);

/* Finds a diamond; both sites have the same `other` and `rest`. */
bool site_find_diamond(const Nested *n, Block *outer, Site *yes, Site *no);
Reason site_check_diamond(Nested *n, const Site *yes, const Site *no);

#endif
