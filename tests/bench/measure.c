/* measure RUNS COMMAND...: runs the command so often, its output thrown away, and prints the user CPU seconds that it took,
 * the most kilobytes that it held, and the exit status of its last run. CPU time, not wall time: others use the machine too.
 * The seconds are the mean of the middle half of the runs: the clock ticks in milliseconds, so that the median of short runs
 * is one tick or another. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS_MAX = 99 };

static void fail(const char *what)
{
    perror(what);
    exit(127);
}

static void execute(char **command)
{
    int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(nowhere, fd);
    execvp(command[0], command);
    _exit(127);
}

/* Adds to what is known of the earlier runs. */
static double run_once(char **command, long *kilobytes, int *status)
{
    struct rusage used;
    pid_t child = fork();
    if (child == 0)
        execute(command);
    if (child < 0 || wait4(child, status, 0, &used) != child)
        fail("measure");
    if (used.ru_maxrss > *kilobytes)
        *kilobytes = used.ru_maxrss;
    return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6;
}

static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double middle(double *seconds, int runs)
{
    double sum = 0;
    int skip = runs / 4;
    qsort(seconds, (size_t)runs, sizeof *seconds, compare);
    for (int k = skip; k < runs - skip; k++)
        sum += seconds[k];
    return sum / (runs - 2 * skip);
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? atoi(argv[1]) : 0, status = 0;
    double seconds[RUNS_MAX];
    long kilobytes = 0;
    if (runs < 1 || runs > RUNS_MAX) {
        fputs("usage: measure RUNS COMMAND...\n", stderr);
        return 2;
    }
    for (int k = 0; k < runs; k++)
        seconds[k] = run_once(argv + 2, &kilobytes, &status);
    printf("%.4f %ld %d\n", middle(seconds, runs), kilobytes,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
