/* The branches that every iteration of an innermost loop passes, and that count how often it goes on: its latch, bounds checks,
 * tests at the top. */
#ifndef PTXOPT_PHASE_LOOPS_CHECKS_H
#define PTXOPT_PHASE_LOOPS_CHECKS_H

#include "phase/phase.h"
#include "transform/loop_test.h"

enum { LOOP_CHECKS = 12, LOOP_TESTS = 12, LOOP_BLOCKS = 16, LOOP_CHAIN = 8 };

typedef struct LoopCheck {
    Block *block;
    Block *pass; /* where it leads in an iteration that goes on; for the latch, the header */
} LoopCheck;

typedef struct LoopChecks {
    LoopCheck check[LOOP_CHECKS];
    LoopTest test[LOOP_TESTS]; /* the loop goes on while all of them hold */
    bool of_latch[LOOP_TESTS];
    u32 checks, tests, latch_tests;
    Instr *chain[LOOP_CHAIN]; /* what computes the latch's predicate, in its block; steps left out */
    u32 chained;
    Block *block[LOOP_BLOCKS]; /* blocks that an iteration which goes on comes through, the header first */
    u32 blocks;
    bool full;      /* there is more than fits */
    bool has_exit;  /* some of these blocks has another edge out of the loop */
    bool uncounted; /* the latch tests something else */
} LoopChecks;

/* Whether the loop, which is innermost and has one latch, has bounds checks: such a branch beside the one that ends the loop, if
 * only in blocks that would stop the thread. Uses AN_LOOPS and AN_DOM. */
bool loop_checks_find(Analyses *an, const Loop *loop, LoopChecks *found);

/* Describes the latch, whose predicate `compare` computes, as the only check. */
void loop_checks_latch(Analyses *an, const Loop *loop, Instr *compare, LoopChecks *found);

#endif
