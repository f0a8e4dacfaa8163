/* Stands in for the C library's allocation in a program of its own (glibc): STARVE=N lets the N-th allocation fail, STARVE=N+ that one
 * and all after it. The children that are forked count on. The file that STARVE_HIT names is made when the first one fails. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

static long left = -1; /* allocations until the one that fails; -1: not asked yet */
static int goes_on;

static void ask(void)
{
    const char *text = getenv("STARVE");
    left = text ? strtol(text, NULL, 10) : 0;
    goes_on = text && strchr(text, '+');
}

static int refuse(void)
{
    if (left < 0)
        ask();
    if (left == 0 || (left > 1 && left--))
        return 0;
    left = goes_on ? 1 : 0;
    const char *hit = getenv("STARVE_HIT");
    int file = hit ? open(hit, O_WRONLY | O_CREAT, 0666) : -1;
    if (file >= 0)
        close(file);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) { return refuse() ? NULL : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return refuse() ? NULL : __libc_calloc(n, bytes); }
void *realloc(void *old, size_t bytes) { return refuse() ? NULL : __libc_realloc(old, bytes); }
void *memalign(size_t alignment, size_t bytes) { return refuse() ? NULL : __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *got = memalign(alignment, bytes);
    if (got)
        *memory = got;
    return got ? 0 : ENOMEM;
}
