/* A limit on the CPU time of a thread's work. Code that may take long polls it, which costs a comparison; the clock is read now
 * and then. Loops that poll nowhere are not stopped. */
#ifndef PTXOPT_BASE_LIMIT_H
#define PTXOPT_BASE_LIMIT_H

#include "base/types.h"

/* Polls until the clock is read; 0: there is no limit. */
extern _Thread_local u32 limit_polls;

/* From now on, for so many seconds. What comes after is `over`, from within a poll; it does not return. */
void limit_start(double seconds, void (*over)(void *user), void *user);
void limit_stop(void);

/* The slow path. */
void limit_read_clock(void);

static inline void limit_poll(void)
{
    if (limit_polls && --limit_polls == 0)
        limit_read_clock();
}

#endif
