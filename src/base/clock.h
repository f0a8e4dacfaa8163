/* The clocks. */
#ifndef PTXOPT_BASE_CLOCK_H
#define PTXOPT_BASE_CLOCK_H

/* Seconds of a clock that never goes back. */
double clock_now(void);
/* Seconds that the thread has worked. */
double clock_of_thread(void);

#endif
