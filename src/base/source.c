#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

enum {
    FIRST_READ = 64 * 1024 /* for inputs of unknown length: pipes, terminals */
};

/* Chooses the buffer's size for a file of a known size, with one byte more to detect that it has grown, or a first size. */
static bool first_capacity(int fd, size_t *capacity)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    if (S_ISREG(st.st_mode) && st.st_size > (off_t)UINT32_MAX) {
        errno = EFBIG;
        return false;
    }
    *capacity = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : FIRST_READ;
    return true;
}

static bool read_all(int fd, Str *text)
{
    size_t capacity, used = 0;
    if (!first_capacity(fd, &capacity))
        return false;
    char *bytes = mem_alloc_large(capacity);
    for (;;) {
        ssize_t got = read(fd, bytes + used, capacity - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            used += (size_t)got;
        if (got < 0 || used > UINT32_MAX) {
            int error = got < 0 ? errno : EFBIG;
            mem_free(bytes);
            errno = error;
            return false;
        }
        if (got == 0)
            break;
        if (used == capacity)
            bytes = mem_realloc(bytes, capacity *= 2);
    }
    bytes[used] = '\0'; /* used < capacity: the last read had room and found the end */
    *text = (Str){bytes, (u32)used};
    return true;
}

bool source_read(const char *path, Str *text)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = read_all(fd, text);
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

void source_free(Str *text)
{
    mem_free(text->p);
    *text = (Str){NULL, 0};
}
