/* Memory that runs out: lets the n-th allocation of a call fail, and all after it, for every n (or every STEP-th), until the call
 * needs no more than n. Each failing call must answer PTXOPT_NO_MEMORY and leave nothing allocated.
 * usage: starve STEP FILE.ptx [OPTION...]
 * Linked with --wrap=malloc and so on, which reaches the library's own calls; built with -DWHOLE_PROGRAM it stands in for the C
 * library's, which reaches those of stdio too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptxopt.h>

static long allowed = -1; /* allocations that still succeed; -1: all */
static long balance;      /* blocks that are allocated */
static int watched;

static int refuse(void)
{
    if (!watched || allowed < 0)
        return 0;
    if (allowed == 0)
        return 1;
    allowed--;
    return 0;
}

static void *count(void *memory)
{
    balance += watched && memory;
    return memory;
}

#ifdef WHOLE_PROGRAM
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
#define REAL(name) __libc_##name
#define OURS(name) name
#define REAL_ALIGNED __libc_memalign
enum { SEES_ALL = 1 };
#else
extern void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t),
    *__real_aligned_alloc(size_t, size_t);
extern void __real_free(void *);
#define REAL(name) __real_##name
#define OURS(name) __wrap_##name
#define REAL_ALIGNED __real_aligned_alloc
enum { SEES_ALL = 0 }; /* what stdio allocates is freed by the library: whether something is left is for valgrind to say */
#endif

void *OURS(malloc)(size_t bytes);
void *OURS(calloc)(size_t n, size_t bytes);
void *OURS(realloc)(void *old, size_t bytes);
void *OURS(aligned_alloc)(size_t alignment, size_t bytes);
void OURS(free)(void *memory);

void *OURS(malloc)(size_t bytes) { return refuse() ? NULL : count(REAL(malloc)(bytes)); }
void *OURS(calloc)(size_t n, size_t bytes) { return refuse() ? NULL : count(REAL(calloc)(n, bytes)); }
void *OURS(aligned_alloc)(size_t alignment, size_t bytes)
{
    return refuse() ? NULL : count(REAL_ALIGNED(alignment, bytes));
}

void *OURS(realloc)(void *old, size_t bytes)
{
    if (refuse())
        return NULL;
    void *memory = REAL(realloc)(old, bytes);
    return old ? memory : count(memory);
}

void OURS(free)(void *memory)
{
    balance -= watched && memory;
    REAL(free)(memory);
}

static char *read_file(const char *path, size_t *bytes)
{
    static char text[1 << 22];
    FILE *file = fopen(path, "rb");
    *bytes = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return text;
}

/* One call of which `limit` allocations succeed. */
static ptxopt_status starve(const ptxopt_request *request, long limit, long *left)
{
    ptxopt_result *result;
    balance = 0;
    allowed = limit;
    watched = 1;
    ptxopt_status status = ptxopt_optimize(request, &result);
    int made = result != NULL;
    allowed = -1;
    ptxopt_free(result);
    watched = 0;
    *left = SEES_ALL ? balance : 0;
    if (status == PTXOPT_NO_MEMORY && made)
        *left = -1;
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long step = atol(argv[1]), limit = 0, left = 0;
    ptxopt_request request = {.size = sizeof request, .want_remarks = 1};
    request.text = read_file(argv[2], &request.bytes);
    request.options = (const char *const *)argv + 3;
    request.option_count = (size_t)(argc - 3);
    ptxopt_status status;
    for (; (status = starve(&request, limit, &left)) == PTXOPT_NO_MEMORY && left == 0; limit += step)
        ;
    int good = status == PTXOPT_OK && left == 0 && limit > 20;
    printf("%s %s with less memory than it needs: every %ld. of %ld allocations failed%s\n", good ? "pass" : "fail",
           argv[2], step, limit, good ? "" : ", and then the call did not fail, or something was left");
    if (!good)
        printf("    status %d (%s), %ld blocks left\n", (int)status, ptxopt_status_text(status), left);
    return !good;
}
