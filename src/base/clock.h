#ifndef PTXOPT_BASE_CLOCK_H
#define PTXOPT_BASE_CLOCK_H

/* Seconds of a clock that never goes back. */
double clock_now(void);
/* The CPU time of the calling thread, in seconds. */
double clock_of_thread(void);

#endif
