/* Running a program on somebody's behalf: it gets the signals that the front gets, and dies with the front. */
#ifndef PTXOPT_JUDGE_PTXAS_CHILD_H
#define PTXOPT_JUDGE_PTXAS_CHILD_H

#include <signal.h>

#include "base/types.h"

/* Passes the signals that ask this process to end on to the children from now on. It goes on, and ends as they do. */
void child_forward_signals(void);

/* Lets such a signal end this process and its children at once from now on, whatever the process is doing. */
void child_end_on_signals(void);

/* Sets what is called before that. It may do what a signal's handler may; NULL: nothing. */
void child_on_end(void (*clean)(void));

/* Signals act again as they did at first; one that came before ends the process now. */
void child_stop_signals(void);

/* Lets signals wait; `old` is for sigprocmask, which lets them come again. */
void child_hold_signals(sigset_t *old);

/* Does what fork() does: 0 in the child, where signals act as they did at first. -1 on failure. */
int child_fork(void);

/* Ends this process by SIGPROF when it has used so many seconds of CPU time from now on; 0: never. Its children have no limit. */
void child_limit_self(double seconds);

/* Waits for the child; its wait status, or -1. A signal that the front got meanwhile has been sent to the child too. */
int child_wait(int pid);

/* Runs argv, found as `path`; its standard output and error go to the descriptors, where they are not -1. The wait status. */
int child_run(const char *path, char **argv, int out, int error);

/* Does the same, but kills a child that runs longer than so many seconds, if not 0: `*in_time` is false then. */
int child_run_within(const char *path, char **argv, int out, int error, double seconds, bool *in_time);

/* Does the same as child_run() without waiting: the number of the child, or -1. */
int child_start(const char *path, char **argv, int out, int error);

/* Children that run side by side. */
enum { CHILDREN_MOST = 128 }; /* at a time */
typedef struct ChildCrowd {
    int (*start)(void *user, u32 index);                            /* the number of the child, or -1 */
    void (*ended)(void *user, u32 index, int status, bool in_time); /* status: of wait, or -1 */
    void *user;
    u32 jobs;     /* run at a time */
    double limit; /* seconds that each may take */
    double end;   /* of clock_now: what runs then is killed, and no more is started; 0: never */
    bool asks;    /* the job server for each but the first: without a token they run one after the other */
} ChildCrowd;

/* Starts children 0 .. count-1 in this order, and waits for all. What is not started, since time is over or a signal came, ends out
 * of time. */
void child_run_all(const ChildCrowd *crowd, u32 count);

/* The status that it exited with; CHILD_CANNOT_RUN where it did not, or could not be started. `status` is of wait, or -1. */
enum { CHILD_CANNOT_RUN = 127 };
int child_exit_status(int status);

/* The last forwarded signal that this process got; 0: none. */
int child_caught(void);

/* The signal that has ended, or should end, the front as well; 0: none. It is one that the front got itself, or one by which somebody
 * ended the child; a fault of the child is none. */
int child_ended_by(int status);

/* Ends this process as the child has ended: with its exit status, or by the signal `ending`, if not 0. */
void child_end_as(int status, int ending) __attribute__((noreturn));

#endif
