#include "pipeline/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

enum {
    MAX_LINKS = 40,   /* the most symbolic links followed, as in the kernel */
    MAX_ATTEMPTS = 64 /* the most names tried for the temporary file */
};

static char *copy_text(const char *text, size_t len)
{
    char *copy = mem_alloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* Length of the directory part, including its slash. */
static size_t directory_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The directory of `path`, followed by name; owned by the caller. */
static char *beside(const char *path, const char *name)
{
    size_t dir = name[0] == '/' ? 0 : directory_len(path), len = strlen(name);
    char *joined = mem_alloc(dir + len + 1);
    memcpy(joined, path, dir);
    memcpy(joined + dir, name, len + 1);
    return joined;
}

/* The file that symbolic links lead to, which is replaced instead of the link. It need not exist. NULL with errno set. */
static char *follow_links(const char *path)
{
    char *now = copy_text(path, strlen(path));
    for (u32 links = 0; links < MAX_LINKS; links++) {
        char linked[PATH_MAX];
        ssize_t len = readlink(now, linked, sizeof linked - 1);
        if (len < 0)
            return now; /* not a link, or does not exist */
        linked[len] = '\0';
        char *next = beside(now, linked);
        mem_free(now);
        now = next;
    }
    mem_free(now);
    errno = ELOOP;
    return NULL;
}

static bool is_open_as(int fd, const struct stat *file)
{
    struct stat open;
    return fstat(fd, &open) == 0 && open.st_dev == file->st_dev && open.st_ino == file->st_ino;
}

/* The descriptor that the name stands for, or -1. Opening /dev/stderr would open the file behind it again, at its start. */
static int descriptor_meant(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    struct stat st;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (u32 i = 0; i < COUNT_OF(folders); i++) {
        size_t len = strlen(folders[i]);
        const char *number = path + len;
        if (strncmp(path, folders[i], len) == 0 && *number && strspn(number, "0123456789") == strlen(number))
            return (int)strtol(number, NULL, 10);
    }
    if (stat(path, &st) != 0)
        return -1;
    return is_open_as(STDOUT_FILENO, &st) ? STDOUT_FILENO : is_open_as(STDERR_FILENO, &st) ? STDERR_FILENO : -1;
}

FILE *output_stream(const char *path)
{
    int meant = descriptor_meant(path);
    if (meant == STDOUT_FILENO)
        return stdout;
    if (meant < 0)
        return fopen(path, "we");
    int fd = fcntl(meant, F_DUPFD_CLOEXEC, 0);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGXCPU, SIGPROF};

static void hold_signals(Output *output)
{
    sigset_t held;
    sigemptyset(&held);
    for (u32 i = 0; i < COUNT_OF(ending); i++)
        sigaddset(&held, ending[i]);
    output->holds_signals = sigprocmask(SIG_BLOCK, &held, &output->old_signals) == 0;
}

/* Creates the temporary file as any new file is made: the umask and the directory's defaults decide who may read it. */
static int create_temporary(Output *output)
{
    for (u32 attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        char name[64];
        snprintf(name, sizeof name, ".ptxopt-%ld-%u", (long)getpid(), attempt);
        output->temporary = beside(output->target, name);
        int fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        mem_free(output->temporary);
        output->temporary = NULL;
        if (errno != EEXIST)
            break;
    }
    return -1;
}

/* Removes whatever was made; errno stays. */
static bool give_up(Output *output, int fd)
{
    int error = errno;
    if (fd >= 0)
        close(fd);
    output_discard(output);
    errno = error;
    return false;
}

static bool open_replacement(Output *output, const char *path, const struct stat *replaced)
{
    hold_signals(output);
    output->target = follow_links(path);
    int fd = output->target ? create_temporary(output) : -1;
    if (fd < 0)
        return give_up(output, fd);
    if (replaced) /* before fchmod(), since it clears the set-user-ID bit; where it is not permitted, the user owns the file */
        (void)!fchown(fd, replaced->st_uid, replaced->st_gid);
    if (replaced && fchmod(fd, replaced->st_mode & 07777) != 0)
        return give_up(output, fd);
    output->file = fdopen(fd, "w");
    return output->file || give_up(output, fd);
}

bool output_open(Output *output, const char *path)
{
    *output = (Output){0};
    struct stat st;
    bool exists = strcmp(path, "-") != 0 && stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if ((exists && !S_ISREG(st.st_mode)) || strncmp(path, "/dev/", 5) == 0 || descriptor_meant(path) >= 0) {
        output->file = output_stream(path);
        return output->file;
    }
    if (exists &&
        access(path, W_OK) != 0) /* replacing needs only the directory's permission, so the file's is checked here */
        return false;
    return open_replacement(output, path, exists ? &st : NULL);
}

/* Whether a signal is pending that will end the process. */
static bool is_to_end(const Output *output)
{
    sigset_t waiting;
    struct sigaction action;
    if (!output->holds_signals || sigpending(&waiting) != 0)
        return false;
    for (u32 i = 0; i < COUNT_OF(ending); i++)
        if (sigismember(&waiting, ending[i]) == 1 && sigismember(&output->old_signals, ending[i]) == 0 &&
            sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            return true;
    return false;
}

void output_discard(Output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->temporary)
        unlink(output->temporary);
    if (output->holds_signals)
        sigprocmask(SIG_SETMASK, &output->old_signals, NULL);
    mem_free(output->temporary);
    mem_free(output->target);
    *output = (Output){0};
}

bool output_commit(Output *output)
{
    int error = fflush(output->file) == 0 ? 0 : errno;
    if (!error && ferror(output->file)) /* an earlier write failed; another one gives the reason */
        error = write(fileno(output->file), "\n", 1) < 0 ? errno : EIO;
    if (output->file != stdout) {
        if (fclose(output->file) != 0 && !error)
            error = errno;
        output->file = NULL;
    }
    if (!error && output->temporary && is_to_end(output))
        error = EINTR;
    if (!error && output->temporary && rename(output->temporary, output->target) != 0)
        error = errno;
    if (!error) {
        mem_free(output->temporary); /* it has become the target */
        output->temporary = NULL;
    }
    output_discard(output);
    errno = error;
    return error == 0;
}
