/* PTXOPT_LOG: one line of JSON a call, appended in one write, so that the lines of parallel calls do not mix. */
#ifndef PTXOPT_USE_FRONT_LOG_H
#define PTXOPT_USE_FRONT_LOG_H

#include "base/types.h"

typedef struct FrontLog {
    const char *program, *real; /* as called, and the path that ran in its place */
    const char *input, *output; /* NULL: none */
    const char *result;         /* optimized, unchanged, bypassed, failed */
    const char *reason;         /* why it was bypassed or failed; NULL */
    const char *warning;        /* of a variable that makes no sense; NULL */
    const char *held_back;      /* by the guard: lines NAME, HOW, WHY with tabs between them; NULL */
    int status;                 /* exit status of the program; -1: it took the place of this process */
    double optimize_ms, run_ms; /* wall time */
} FrontLog;

/* A log that cannot be written is no reason to fail: nothing is said of it. */
void front_log(const FrontLog *entry);

#endif
