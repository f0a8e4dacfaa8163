/* What a run of the pipeline counted, and how long its parts took. One Stats belongs to one thread. */
#ifndef PTXOPT_PIPELINE_STATS_H
#define PTXOPT_PIPELINE_STATS_H

#include <stdio.h>

#include "base/vec.h"
#include "pipeline/phases.h"

typedef struct Counter {
    const char *what; /* own copy */
    u64 amount;
} Counter;

typedef struct PhaseStats {
    u64 functions; /* that the phase ran on */
    u64 changed;   /* that it changed */
    const Function *last_changed;
    u64 calls, in_vain; /* calls of the phase, and those that changed nothing */
    double seconds;
    VEC(Counter) counters;
} PhaseStats;

typedef enum StepTimed { STEP_READ, STEP_PARSE, STEP_ANALYSES, STEP_VERIFY, STEP_PRINT, STEP_COUNT } StepTimed;

typedef struct Stats {
    u64 functions;     /* with a body */
    u64 changed;       /* by some phase */
    u64 untouchable;   /* left alone as a whole */
    u64 went_back;     /* reverted by the runner, since threads might wait for each other otherwise */
    bool proves;       /* the next two are wanted */
    u64 proof[3];      /* functions by ProveAnswer: proved, unknown, refuted */
    bool proves_steps; /* the next one is wanted */
    u64 step_proof[3]; /* changes of functions by phases, by ProveAnswer */
    u64 reverted;      /* functions that --prove restored */
    PhaseStats phase[PHASE_COUNT];
    bool is_unread;          /* nobody looks at the counters */
    bool timed;              /* the seconds are wanted */
    double step[STEP_COUNT]; /* seconds outside the phases */
} Stats;

/* The clock's time; 0 where nobody wants it. */
double stats_clock(const Stats *stats);

void stats_count(Stats *stats, u32 phase, const char *what, u32 amount);
void stats_print(FILE *out, const Stats *stats);
void stats_print_json(FILE *out, const Stats *stats);
/* Prints the wall time per phase and step, longest first. */
void stats_print_times(FILE *out, const Stats *stats);
void stats_free(Stats *stats);

#endif
