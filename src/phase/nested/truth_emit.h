/* What truth.c, truth_emit.c and truth_zero.c share while a function of predicates is being written out. */
#ifndef PTXOPT_PHASE_NESTED_TRUTH_EMIT_H
#define PTXOPT_PHASE_NESTED_TRUTH_EMIT_H

#include "phase/nested/truth.h"

typedef struct Emit {
    PhaseRun *run;
    const Knobs *knobs;
    Analyses *an;
    Function *fn;
    Instr *at; /* the branch: everything goes in front of it */
    const Truth *root;
} Emit;

/* Members of a conjunction or disjunction. */
typedef struct TermList {
    TruthTerm v[TRUTH_LEAVES];
    u32 n;
} TermList;

/* The setp that gives the leaf its value, if it may be replaced: unguarded, with one result that nobody else reads, and
 * with operands that still hold what they held. */
Instr *truth_replaceable_setp(const Emit *e, const Truth *leaf);
/* Whether i's result is read by `reader` alone. */
bool truth_read_only_by(const Emit *e, const Instr *i, RegId result, const Instr *reader);
/* Whether what i reads still has the same value at the branch. */
bool truth_operands_hold(const Emit *e, const Instr *i);

/* truth_zero.c: makes one test of the tests for zero among the terms of a conjunction (is_or: a disjunction). */
void truth_merge_zero_tests(const Emit *e, TermList *list, bool is_or);

#endif
