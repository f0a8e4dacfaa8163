#include "judge/ptxas/child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge/ptxas/jobs.h"

enum {
    SIGNALLED = 128,
    CHILDREN = CHILDREN_MOST,
    POLL_NANOSECONDS = 1000000,
    ENDING_POLLS = 500,
    LONGEST_POLL = 16,
    POLLS_EACH = 32
};

/* The first ones are forwarded; all of them end a program that has to clean up. */
static const int watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGXCPU, SIGPROF};
enum { FORWARDED = 6, WATCHED = COUNT_OF(watched) };
static struct sigaction before[WATCHED];
static u32 handled; /* of them, so many have a handler of ours, unless they were ignored */
static volatile sig_atomic_t running[CHILDREN], caught;
static void (*clean_up)(void);
static JobServer server = {.from = -1, .to = -1}; /* of child_run_all */

static void forward(int signal)
{
    int error = errno;
    caught = signal;
    for (u32 i = 0; i < CHILDREN; i++)
        if (running[i] > 0)
            kill(running[i], signal);
    errno = error;
}

static bool any_runs(void)
{
    for (u32 i = 0; i < CHILDREN; i++)
        if (running[i] > 0 && waitpid(running[i], NULL, WNOHANG) == 0)
            return true;
    return false;
}

/* Children that do not end in time are killed: they may be writing to what is cleaned up. */
static void end_at_once(int signal)
{
    const struct timespec pause = {0, POLL_NANOSECONDS};
    forward(signal);
    for (u32 polls = 0; any_runs() && polls < ENDING_POLLS; polls++)
        nanosleep(&pause, NULL);
    for (u32 i = 0; i < CHILDREN; i++)
        if (running[i] > 0 && kill(running[i], SIGKILL) == 0)
            waitpid(running[i], NULL, 0);
    jobs_give_back(&server, 0);
    if (clean_up)
        clean_up();
    child_end_as(-1, signal);
}

static sigset_t block_watched(void)
{
    sigset_t set, old;
    sigemptyset(&set);
    for (u32 i = 0; i < WATCHED; i++)
        sigaddset(&set, watched[i]);
    sigprocmask(SIG_BLOCK, &set, &old);
    return old;
}

static void restore_signals(void)
{
    for (u32 i = 0; i < handled; i++)
        sigaction(watched[i], &before[i], NULL);
    handled = 0;
}

/* A signal that is ignored stays so: `nohup`. */
static void handle(void (*handler)(int signal), u32 count)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigset_t old = block_watched();
    sigemptyset(&action.sa_mask);
    for (u32 i = 0; i < WATCHED; i++)
        sigaddset(&action.sa_mask, watched[i]);
    restore_signals();
    for (handled = 0; handled < count; handled++)
        if (sigaction(watched[handled], NULL, &before[handled]) == 0 && before[handled].sa_handler != SIG_IGN)
            sigaction(watched[handled], &action, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void child_forward_signals(void) { handle(forward, FORWARDED); }

void child_end_on_signals(void) { handle(end_at_once, WATCHED); }

void child_on_end(void (*clean)(void))
{
    assert(!clean_up || clean_up == clean || !clean);
    clean_up = clean;
}

void child_stop_signals(void)
{
    restore_signals();
    if (caught)
        child_end_as(-1, caught);
}

void child_hold_signals(sigset_t *old) { *old = block_watched(); }

/* Writes `to` over `from` in the list of those that run. */
static void replace_running(int from, int to)
{
    u32 at = 0;
    while (at + 1 < CHILDREN && running[at] != from)
        at++;
    running[at] = to;
}

/* Blocked meanwhile: a signal between fork and the note of the child's number would reach nobody. */
int child_fork(void)
{
    pid_t parent = getpid();
    sigset_t old = block_watched();
    pid_t pid = fork();
    if (pid == 0) {
        for (u32 i = 0; i < CHILDREN; i++)
            running[i] = 0;
        clean_up = NULL;
        server = (JobServer){.from = -1, .to = -1};
        restore_signals();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(SIGNALLED + SIGKILL);
    } else {
        replace_running(0, pid > 0 ? pid : 0);
        if (pid > 0 && caught)
            kill(pid, caught);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}

void child_limit_self(double seconds)
{
    struct itimerval timer = {.it_value = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    sigset_t set;
    if (seconds <= 0)
        return;
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    signal(SIGPROF, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

int child_wait(int pid)
{
    int status = -1;
    if (pid <= 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) {
            status = -1;
            break;
        }
    replace_running(pid, 0);
    return status;
}

typedef struct Slot {
    int pid; /* 0: free */
    u32 index;
    double end;
} Slot;

/* Whether the child has ended, or has been killed since its time is over; `status` and `in_time` are set then. */
static bool slot_ended(const Slot *slot, int *status, bool *in_time)
{
    int got = slot->pid > 0 ? waitpid(slot->pid, status, WNOHANG) : -1;
    *in_time = true;
    if (got == 0 && clock_now() > slot->end) {
        kill(slot->pid, SIGKILL);
        *status = child_wait(slot->pid);
        *in_time = false;
        return true;
    }
    if (got < 0)
        *status = -1;
    return got != 0;
}

static Slot start_slot(const ChildCrowd *crowd, u32 index)
{
    double end = clock_now() + crowd->limit;
    return (Slot){crowd->start(crowd->user, index), index, crowd->end > 0 && crowd->end < end ? crowd->end : end};
}

void child_run_all(const ChildCrowd *crowd, u32 count)
{
    struct timespec pause = {0, POLL_NANOSECONDS};
    Slot slot[CHILDREN] = {0};
    if (crowd->asks && count > 1)
        server = jobs_open();
    u32 jobs = crowd->jobs < CHILDREN ? crowd->jobs : CHILDREN, next = 0, busy = 0, were_busy, polls = 0;
    while (next < count || busy) {
        bool over = caught || (crowd->end > 0 && clock_now() > crowd->end);
        for (; over && next < count; next++)
            crowd->ended(crowd->user, next, -1, false);
        were_busy = busy;
        for (u32 i = 0; i < jobs; i++) {
            int status = -1;
            bool in_time;
            if (slot[i].pid && slot_ended(&slot[i], &status, &in_time)) {
                if (slot[i].pid > 0)
                    replace_running(slot[i].pid, 0);
                crowd->ended(crowd->user, slot[i].index, status, in_time);
                slot[i].pid = 0;
                busy--;
            }
            if (!slot[i].pid && next < count && (busy <= server.held || jobs_take(&server))) {
                slot[i] = start_slot(crowd, next++);
                busy++;
            }
        }
        jobs_give_back(&server, busy ? busy - 1 : 0);
        polls = busy == were_busy ? polls + 1 : 0;
        pause.tv_nsec = POLL_NANOSECONDS * (polls / POLLS_EACH < LONGEST_POLL ? 1 + polls / POLLS_EACH : LONGEST_POLL);
        if (busy && busy == were_busy)
            nanosleep(&pause, NULL);
    }
    jobs_close(&server);
}

int child_start(const char *path, char **argv, int out, int error)
{
    int pid = child_fork();
    if (pid == 0) {
        if ((out >= 0 && dup2(out, STDOUT_FILENO) < 0) || (error >= 0 && dup2(error, STDERR_FILENO) < 0))
            _exit(CHILD_CANNOT_RUN);
        execv(path, argv);
        _exit(CHILD_CANNOT_RUN);
    }
    return pid;
}

int child_run(const char *path, char **argv, int out, int error) { return child_wait(child_start(path, argv, out, error)); }

typedef struct Single {
    const char *path;
    char **argv;
    int out, error, status;
    bool *in_time;
} Single;

static int start_single(void *user, u32 index)
{
    const Single *single = user;
    (void)index;
    return child_start(single->path, single->argv, single->out, single->error);
}

static void take_single(void *user, u32 index, int status, bool in_time)
{
    Single *single = user;
    (void)index;
    single->status = status;
    *single->in_time = in_time;
}

int child_run_within(const char *path, char **argv, int out, int error, double seconds, bool *in_time)
{
    Single single = {path, argv, out, error, -1, in_time};
    *in_time = true;
    if (seconds <= 0)
        return child_run(path, argv, out, error);
    child_run_all(&(ChildCrowd){start_single, take_single, &single, 1, seconds, 0, false}, 1);
    return single.status;
}

int child_exit_status(int status) { return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_CANNOT_RUN; }

static bool is_fault(int signal)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (u32 i = 0; i < COUNT_OF(faults); i++)
        if (signal == faults[i])
            return true;
    return false;
}

int child_caught(void) { return caught; }

int child_ended_by(int status)
{
    bool signalled = status != -1 && WIFSIGNALED(status);
    if (signalled && !is_fault(WTERMSIG(status)))
        return WTERMSIG(status);
    return signalled && caught ? caught : 0;
}

void child_end_as(int status, int ending)
{
    if (!ending)
        exit(child_exit_status(status));
    struct rlimit none = {0, 0}; /* the child's core is the one to look at */
    setrlimit(RLIMIT_CORE, &none);
    signal(ending, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, ending);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(ending);
    _exit(SIGNALLED + ending);
}
