/* The proof of one function, from the inside: path facts, product nodes, and what its parts ask of one another.
 *
 * The product of BEFORE and AFTER is explored from the pair of entries. A path runs both sides until each is at an event (what
 * others can observe) or at a join. Branches that the path's facts do not decide fork it. Where both are at events, these must
 * match. Where one is at a join, the path ends in a product node, a pair of program points. Its state says which terms the live
 * registers of both sides hold in every execution that gets there. A state merges all arrivals: registers that have equal terms in
 * each of them share a symbol. Nodes are explored again until their states hold.
 *
 * What a node's state means: for some values of its symbols, all registers hold their terms and all facts are true. So the symbols
 * of a node may not stand in its own state for their values at an earlier visit. */
#ifndef PTXOPT_CHECK_PROVE_PROVER_H
#define PTXOPT_CHECK_PROVE_PROVER_H

#include "check/prove/barrier.h"
#include "check/prove/explore.h"
#include "check/prove/path.h"
#include "check/prove/paths.h"
#include "check/prove/solver.h"
#include "check/prove/threads.h"
#include "check/prove/verdict.h"

/* The header of each subject says who changes it. */
struct Prover {
    Arena *arena;
    const ProveOptions *options;
    ProvePlan plan;
    Intern names;
    Terms t;
    Machine side[2];
    Facts facts;
    Path path;
    Effort effort;
    Product product;
    LoopPairs loops;
    Groups groups;
    Notes notes;
    Threads threads;
    Barriers barriers;
    SolverTime solver;
    Outcome outcome;
};

enum { TERMS_EACH_STEP = 8 };

/* What was done so far, in units of some nanoseconds: terms, steps and facts, and what was looked at in lists of them. */
static inline u64 prove_effort(const Prover *p)
{
    enum { TERM = 16, STEP = 16, FACT = 64, INTERVAL = 3 };
    return (u64)TERM * p->t.work + (u64)STEP * p->effort.steps + (u64)FACT * p->facts.moments + p->facts.looked_at +
           INTERVAL * p->t.sets.looked_at + p->groups.work;
}

static inline bool prove_is_spent(const Prover *p) { return prove_effort(p) > p->plan.effort_limit; }

/* Whether more terms were made than a function within the limit of steps may need. */
static inline bool prove_is_over(const Prover *p) { return p->t.work / TERMS_EACH_STEP > p->plan.step_limit; }

/* ---- events (match.c) ---- */

/* Whether both sides execute the same event, whose guards hold alike; then what it returned is in their registers. `why` says
 * what differs. */
bool prove_match(Prover *p, const Instr *before, const Instr *after, const char **why);
/* Whether both leave the function alike: with these terminators, NULL where control runs off its end. */
bool prove_match_end(Prover *p, const Instr *before, const Instr *after, const char **why);

/* ---- branches ---- */

/* Whether the branch may divide threads. */
static inline bool prove_divides(const Prover *p, ProveSide side, u32 block)
{
    return bitset_has(&p->side[side].g.splits, block);
}

/* Whether the branch of BEFORE may have divided threads, once all paths are known. Where every path goes on to one block, no thread
 * takes another edge. */
static inline bool prove_has_divided(const Prover *p, u32 block)
{
    return prove_divides(p, PROVE_BEFORE, block) && bitset_has(&p->notes.parted, block);
}

/* Whether the attempt holds more memory than it may. */
static inline bool prove_is_large(const Prover *p) { return p->arena->reserved > p->plan.memory_limit; }

#endif
