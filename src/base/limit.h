/* A limit on the CPU time of a thread's work. Code that may run long calls limit_poll(), which costs a comparison; only
 * one call in 256 reads the clock. Loops without a poll are not stopped. */
#ifndef PTXOPT_BASE_LIMIT_H
#define PTXOPT_BASE_LIMIT_H

#include "base/types.h"

/* The number of polls until the clock is read next; 0: there is no limit. */
extern _Thread_local u32 limit_polls;

/* Starts the limit: `seconds` of CPU time from now. A poll after that time calls `over`, which must not return. */
void limit_start(double seconds, void (*over)(void *user), void *user);
void limit_stop(void);

/* The slow path of limit_poll(). */
void limit_read_clock(void);

static inline void limit_poll(void)
{
    if (limit_polls && --limit_polls == 0)
        limit_read_clock();
}

#endif
