#define _GNU_SOURCE
#include "judge/ptxas/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The word of MAKEFLAGS that names the job server; the last one counts. NULL: there is none. */
static const char *find_word(const char *flags)
{
    static const char *const names[] = {"--jobserver-auth=", "--jobserver-fds="};
    const char *last = NULL;
    for (u32 i = 0; flags && i < COUNT_OF(names); i++)
        for (const char *at = flags; (at = strstr(at, names[i]));) {
            at += strlen(names[i]);
            last = at > last ? at : last;
        }
    return last;
}

/* Of `make -j1`, which needs no job server. Variables of make's command line come after `--`. */
static bool says_one_job(const char *flags)
{
    static const char one[] = " -j1";
    const char *at = flags ? strstr(flags, one) : NULL, *variables = flags ? strstr(flags, " -- ") : NULL;
    while (at && at[sizeof one - 1] && at[sizeof one - 1] != ' ')
        at = strstr(at + 1, one);
    return at && (!variables || at < variables);
}

static int open_pipe(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)))
        return fd;
    close(fd);
    return -1;
}

/* Both ends of one pipe? Make closes them before commands that it does not take for its own, and other files may have got the numbers. */
static bool are_ends(int from, int to)
{
    struct stat a, b;
    return fstat(from, &a) == 0 && fstat(to, &b) == 0 && S_ISFIFO(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino && (fcntl(from, F_GETFL) & O_ACCMODE) != O_WRONLY &&
           (fcntl(to, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* Opened anew, so that not waiting for a token is no matter of the others who read it. */
JobServer jobs_open(void)
{
    const char *flags = getenv("MAKEFLAGS"), *word = find_word(flags);
    JobServer server = {.is_there = word || says_one_job(flags), .from = -1, .to = -1};
    char path[4096];
    int from, to;
    if (!word)
        return server;
    if (sscanf(word, "fifo:%4095[^ \t]", path) == 1) {
        server.from = open_pipe(path, O_RDONLY);
        server.to = open_pipe(path, O_WRONLY);
    } else if (sscanf(word, "%d,%d", &from, &to) == 2 && from >= 0 && to >= 0 && are_ends(from, to)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", from);
        server.from = open_pipe(path, O_RDONLY);
        snprintf(path, sizeof path, "/proc/self/fd/%d", to);
        server.to = open_pipe(path, O_WRONLY);
    }
    return server;
}

bool jobs_take(JobServer *server)
{
    if (!server->is_there)
        return true;
    if (server->from < 0 || server->to < 0 || server->held == JOBS_MOST ||
        read(server->from, &server->token[server->held], 1) != 1)
        return false;
    server->held++;
    return true;
}

void jobs_give_back(JobServer *server, u32 keep)
{
    while (server->held > keep) {
        ssize_t done = write(server->to, &server->token[server->held - 1], 1);
        if (done < 0 && errno == EINTR)
            continue;
        server->held--;
    }
}

void jobs_close(JobServer *server)
{
    jobs_give_back(server, 0);
    if (server->from >= 0)
        close(server->from);
    if (server->to >= 0)
        close(server->to);
    *server = (JobServer){.from = -1, .to = -1};
}
