/* Running a program on somebody's behalf: it gets the signals that the front gets, and dies with the front. */
#ifndef PTXOPT_FRONT_CHILD_H
#define PTXOPT_FRONT_CHILD_H

#include "base/types.h"

/* To be called once, before the first child. */
void child_forward_signals(void);

/* As fork(): 0 in the child, where the signals are as they were before child_forward_signals. -1 on failure. */
int child_fork(void);

/* Waits for the child; its wait status, or -1. A signal that the front got meanwhile has been sent to the child too. */
int child_wait(int pid);

/* Runs argv, found as `path`; its standard output and error go to the descriptors, where they are not -1. The wait status. */
int child_run(const char *path, char **argv, int out, int error);

/* The same without waiting: the number of the child, or -1. No more than two children run at a time. */
int child_start(const char *path, char **argv, int out, int error);

/* Waits until `end`, which child_end_after answered; a child that still runs then is killed, and the answer is false. */
bool child_wait_until(int pid, double end, int *status);
double child_end_after(double seconds);

/* The last forwarded signal that this process got; 0: none. */
int child_caught(void);

/* The signal that has ended, or should end, the front as well: one that it got itself, or one that ended the child because
 * somebody wanted it (a fault of the child is none). 0: none. */
int child_ended_by(int status);

/* Ends this process as the child has ended: with its exit status, or by `signal`, if not 0. Never returns. */
void child_end_as(int status, int signal) __attribute__((noreturn));

#endif
