/* The functions of the CUDA run-time system, from runtime.def. */
#include "isa/isa.h"

#include <string.h>

static const RuntimeInfo functions[] = {
#define RUNTIME(name, shape, does) {#name, (shape), (does)},
#include "isa/runtime.def"
};

const RuntimeInfo *runtime_find(const char *name)
{
    for (u32 k = 0; k < COUNT_OF(functions); k++)
        if (strcmp(functions[k].name, name) == 0)
            return &functions[k];
    return NULL;
}

u32 runtime_bytes(char of, u32 address_bytes)
{
    switch (of) {
    case 'p': return address_bytes;
    case 'd': return 12;
    default: return (u32)(of - '0');
    }
}
