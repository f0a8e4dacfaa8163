/* One launch of one module, from fresh buffers to the outputs. */
#ifndef PTXRUN_RUN_H
#define PTXRUN_RUN_H

#include "check/exec/machine.h"

typedef struct RunOptions {
    u64 seed;
    u64 limit; /* warp instructions per launch */
    ReconvergeModel model;
    AccessWatch *watch; /* called for each access; NULL: nobody */
    void *watch_user;
} RunOptions;

/* The results of a run. Names point into the module and the launch. */
typedef struct RunResult {
    VEC(Finding) findings;
    VEC(Counters) counters;  /* by kernel */
    VEC(Object) outputs;     /* output buffers, then .global variables; data is owned, no shadows */
    const char *unsupported; /* an instruction that cannot run was reached: nothing else counts */
    const char *error;       /* the launch does not fit the module */
    bool stopped;
} RunResult;

RunResult run_launch(Arena *arena, Program *p, const Launch *launch, const RunOptions *options);
void run_result_free(RunResult *r);
u64 run_hash(const RunResult *r); /* FNV-1a, 64 bit, of all outputs */
Counters run_total(const RunResult *r);
/* Whether r has found this, too. Lanes of a mask that are elsewhere or have exited are one finding: which of the two it is
 * depends on the schedule. */
bool run_found(const RunResult *r, const Finding *f);
bool run_hangs(const RunResult *r);           /* a deadlock, or a timeout */
u64 run_limit_after(const RunResult *before); /* warp instructions after which a rewritten kernel counts as hanging */

#endif
