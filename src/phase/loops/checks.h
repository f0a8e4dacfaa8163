/* The branches that every iteration of an innermost loop executes, and that count how often it continues: its latch, bounds
 * checks, tests at the top. */
#ifndef PTXOPT_PHASE_LOOPS_CHECKS_H
#define PTXOPT_PHASE_LOOPS_CHECKS_H

#include "analysis/loop_test.h"
#include "phase/phase.h"
#include "transform/loop_entry.h"

enum { LOOP_CHECKS = 12, LOOP_TESTS = 12, LOOP_BLOCKS = 16, LOOP_CHAIN = 8 };

typedef struct LoopCheck {
    Block *block;
    Block *pass; /* the successor in an iteration that continues; for the latch, the header */
} LoopCheck;

typedef struct LoopChecks {
    LoopCheck check[LOOP_CHECKS];
    LoopTest test[LOOP_TESTS]; /* the loop continues while all of them hold */
    bool of_latch[LOOP_TESTS];
    u32 checks, tests, latch_tests;
    Instr *chain[LOOP_CHAIN]; /* computes the latch's predicate, in the latch; steps may be missing */
    u32 chained;
    Block *block[LOOP_BLOCKS]; /* blocks on the way of an iteration that continues, the header first */
    u32 blocks;
    bool full;      /* there is more than fits */
    bool has_exit;  /* some of these blocks has another edge out of the loop */
    bool uncounted; /* the latch's predicate is no test that counts */
} LoopChecks;

/* Finds the checks of an innermost loop with one latch; false: it has no bounds check. A bounds check is such a branch
 * besides the one that ends the loop, even if it only leads to blocks that stop the thread. Uses AN_LOOPS and AN_DOM. */
bool loop_checks_find(Analyses *an, const Loop *loop, LoopChecks *found);

/* Describes the latch as the only check. `compare` computes its predicate. */
void loop_checks_latch(Analyses *an, const Loop *loop, Instr *compare, LoopChecks *found);

#endif
