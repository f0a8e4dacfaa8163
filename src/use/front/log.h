/* PTXOPT_LOG: one line of JSON a call, appended in one write, so that the lines of parallel calls do not mix. */
#ifndef PTXOPT_USE_FRONT_LOG_H
#define PTXOPT_USE_FRONT_LOG_H

#include "check/proof/proof.h"

typedef struct FrontLog {
    const char *program, *real;   /* as called, and the path that ran in its place */
    const char *input, *output;   /* NULL: none */
    const char *result;           /* optimized, unchanged, bypassed, failed */
    const char *reason;           /* why it was bypassed or failed; NULL */
    const char *warning;          /* of a variable that makes no sense; NULL */
    const char *held_back;        /* by the guard: lines NAME, HOW, WHY with tabs between them; NULL */
    const char *source;           /* the input's name for people, where that is another one; NULL */
    const char *advice;           /* lines NAME, FUNCTION, WHAT with tabs between them: remarks about ptxas; NULL */
    const FunctionCounts *counts; /* of the optimizer; NULL: it did not end */
    const char *slow_kernels;     /* of a module that ptxas took too long for: names with blanks between them; NULL */
    int level;                    /* at which it was assembled instead */
    int status;                   /* exit status of the program; -1: it took the place of this process */
    double optimize_ms, run_ms;   /* wall time */
    double guard_ms;              /* with each ptxas that the guard runs; 0: it was not asked */
} FrontLog;

/* A log that cannot be written is no reason to fail: nothing is said of it. */
void front_log(const FrontLog *entry);

#endif
