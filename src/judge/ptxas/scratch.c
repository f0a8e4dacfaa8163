#define _GNU_SOURCE
#include "judge/ptxas/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_FREE = 3 }; /* after the standard streams, which may be closed */

/* A file in a folder, whose name is gone at once; -1 on failure. */
static int open_in(const char *folder)
{
    char *path = NULL;
    if (!folder || !*folder || asprintf(&path, "%s/ptxopt-XXXXXX", folder) < 0)
        return -1;
    int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static int open_anywhere(void)
{
    int fd = getenv("PTXOPT_NO_MEMFD") ? -1 : memfd_create("ptxopt", 0); /* the variable is for the tests */
    if (fd < 0)
        fd = open_in(getenv("TMPDIR"));
    return fd < 0 ? open_in("/tmp") : fd;
}

/* The same file under a number that is no standard stream's. */
static int move_up(int fd)
{
    if (fd < 0 || fd >= FIRST_FREE)
        return fd;
    int moved = fcntl(fd, F_DUPFD, FIRST_FREE);
    close(fd);
    return moved;
}

bool scratch_open(Scratch *scratch)
{
    scratch->fd = move_up(open_anywhere());
    snprintf(scratch->path, sizeof scratch->path, "/dev/fd/%d", scratch->fd);
    if (scratch->fd >= 0 && access(scratch->path, R_OK | W_OK) == 0)
        return true;
    scratch_close(scratch);
    return false;
}

void scratch_close(Scratch *scratch)
{
    if (scratch->fd >= 0)
        close(scratch->fd);
    scratch->fd = -1;
}

bool scratch_clear(Scratch *scratch) { return ftruncate(scratch->fd, 0) == 0 && lseek(scratch->fd, 0, SEEK_SET) == 0; }

bool scratch_write(Scratch *scratch, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = write(scratch->fd, bytes, count);
        if (done < 0 && errno != EINTR)
            return false;
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

char *scratch_read(const Scratch *scratch, size_t *bytes)
{
    struct stat st;
    if (fstat(scratch->fd, &st) != 0)
        return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    *bytes = 0;
    while (text && *bytes < (size_t)st.st_size) {
        ssize_t got = pread(scratch->fd, text + *bytes, (size_t)st.st_size - *bytes, (off_t)*bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        *bytes += (size_t)got;
    }
    if (text)
        text[*bytes] = '\0';
    return text;
}
