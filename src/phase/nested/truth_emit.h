/* What truth.c, truth_emit.c and truth_zero.c share while they write out a function of predicates. */
#ifndef PTXOPT_PHASE_NESTED_TRUTH_EMIT_H
#define PTXOPT_PHASE_NESTED_TRUTH_EMIT_H

#include "phase/nested/truth.h"

typedef struct Emit {
    PhaseRun *run;
    const Knobs *knobs;
    Analyses *an;
    Function *fn;
    Instr *at; /* the branch in front of which everything is written */
    const Truth *root;
} Emit;

/* Members of a conjunction or disjunction. */
typedef struct TermList {
    TruthTerm v[TRUTH_LEAVES];
    u32 n;
} TermList;

/* The setp that gives the leaf its value, if it may be replaced; otherwise NULL. It must be unguarded, have one result that
 * nobody else reads, and operands that are unchanged at the branch. */
Instr *truth_replaceable_setp(const Emit *e, const Truth *leaf);
/* Whether nothing but `reader` reads the result of i; NULL: nothing at all does. */
bool truth_read_only_by(const Emit *e, const Instr *i, RegId result, const Instr *reader);
/* Whether the registers that i reads still have the same values at the branch. */
bool truth_operands_hold(const Emit *e, const Instr *i);

/* Merges the tests for zero among the terms of a conjunction (is_or: a disjunction) into one test; in truth_zero.c. */
void truth_merge_zero_tests(const Emit *e, TermList *list, bool is_or);

#endif
