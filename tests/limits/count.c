/* Linked into the program of `make limits`: appends the bounds that the process reached to the file that PTXOPT_BOUNDS names, as
 * lines `FILE NAME TIMES`. Linked with --wrap=_exit, since that ends the program. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bound.h"

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
extern Bound __start_bounds[], __stop_bounds[];

static __attribute__((destructor)) void write_reached(void)
{
    const char *path = getenv("PTXOPT_BOUNDS");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    for (Bound *b = __start_bounds; b < __stop_bounds && file >= 0; b++) {
        if (b->reached)
            dprintf(file, "%s %s %llu\n", b->file, b->name, (unsigned long long)b->reached);
        b->reached = 0;
    }
    if (file >= 0)
        close(file);
}

void __wrap__exit(int status)
{
    write_reached();
    __real__exit(status);
}
