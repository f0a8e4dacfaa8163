#include "tool/process.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

enum { OUT_OF_MEMORY = 70 };

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
