/* The solver's process. */
#define _GNU_SOURCE /* pipe2 */
#include "check/prove/prove.h"
#include "check/prove/solver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

const char *prove_solver_command(const char *name)
{
    static const char *const known[][2] = {{"z3", "z3 -in -smt2"},
                                           {"cvc5", "cvc5 --lang=smt2 -"},
                                           {"boolector", "boolector --smt2"},
                                           {"bitwuzla", "bitwuzla --lang smt2"}};
    for (u32 k = 0; k < COUNT_OF(known); k++)
        if (strcmp(name, known[k][0]) == 0)
            return known[k][1];
    return name;
}

/* Copies the first word of a command. False: the shell would expand it, so it may name another program. */
static bool first_word(const char *command, char *word, u32 size)
{
    u32 n = 0;
    command += strspn(command, " \t");
    while (n + 1 < size && command[n] && !strchr(" \t", command[n]))
        n++;
    memcpy(word, command, n);
    word[n] = '\0';
    for (u32 k = 0; k < n; k++)
        if (strchr("\"'`$\\;&|<>(){}*?[]#~=!\n", word[k]))
            return false;
    return true;
}

bool prove_solver_is_there(const char *name)
{
    char word[4096];
    int status;
    if (!first_word(prove_solver_command(name), word, sizeof word))
        return true;
    pid_t child = word[0] ? fork() : -1;
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "command -v -- \"$1\" >/dev/null 2>&1", "sh", word, (char *)NULL);
        _exit(1);
    }
    if (child < 0)
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Starts the command in a process group of its own. */
static pid_t start(const char *command, int *to, int *from)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (nowhere >= 0)
            dup2(nowhere, 2);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    return child;
}

/* Writes and reads until there is a line, or nothing more, or no time. */
static u32 converse(int *to, int from, Str text, double until, char *answer, u32 size)
{
    u32 written = 0, n = 0;
    fcntl(*to, F_SETFL, O_NONBLOCK);
    while (n + 1 < size) {
        struct pollfd fds[2] = {{from, POLLIN, 0}, {written < text.len ? *to : -1, POLLOUT, 0}};
        double left = 1e3 * (until - clock_now());
        if (left <= 0 || poll(fds, 2, 1 + (int)left) <= 0)
            break;
        if (fds[1].revents) {
            ssize_t done = write(*to, text.p + written, text.len - written);
            written = done < 0 && errno != EAGAIN ? text.len : written + (done > 0 ? (u32)done : 0);
            if (written == text.len) {
                close(*to);
                *to = -1;
            }
        }
        if (fds[0].revents) {
            ssize_t got = read(from, answer + n, size - 1 - n);
            if (got <= 0)
                break;
            n += (u32)got;
            if (memchr(answer, '\n', n))
                break;
        }
    }
    answer[n] = '\0';
    return n;
}

bool prove_solver_run(const char *command, const char *text, u32 len, u32 milliseconds, char *word, u32 size)
{
    int to = -1, from = -1;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGPIPE, &ignore, &old);
    pid_t child = start(command, &to, &from);
    if (child > 0) {
        setpgid(child, child);
        converse(&to, from, (Str){text, len}, clock_now() + 1e-3 * milliseconds, word, size);
        kill(-child, SIGKILL);
        if (to >= 0)
            close(to);
        close(from);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    sigaction(SIGPIPE, &old, NULL);
    if (child <= 0)
        return false;
    word[strcspn(word, " \r\n")] = '\0';
    return word[0] != '\0';
}
