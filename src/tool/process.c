#include "tool/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "front/child.h"

enum { OUT_OF_MEMORY = 70, SIGNALLED = 128 };

static void out_of_memory(void)
{
    fputs("ptxopt: out of memory\n", stderr);
    exit(OUT_OF_MEMORY);
}

void process_begin(void)
{
    mem_return_large();
    mem_on_exhaustion(out_of_memory);
}

void process_end_as(int status, int ending)
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
    exit(SIGNALLED + ending);
}
