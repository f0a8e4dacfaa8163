#include "pipeline/little.h"

#include <string.h>

#include "target/ptxas.h"

enum { LARGE = 3000 /* machine instructions, of a thread that takes all blocks once; little.def has the sizes that were measured */ };

static const char *const little[] = {
#define LITTLE(phase) phase,
#include "pipeline/little.def"
};

static bool gains_little(const char *phase)
{
    for (u32 i = 0; i < COUNT_OF(little); i++)
        if (strcmp(little[i], phase) == 0)
            return true;
    return false;
}

static bool is_large(const Function *fn)
{
    u32 cost = 0;
    for_each_block(b, fn)
        if (cost < LARGE)
            cost += ptxas_block_cost(b, LARGE);
    return cost >= LARGE;
}

bool little_is_gained(const PhaseTable *table, const Function *fn, const bool *changed)
{
    if (!fn->is_entry)
        return false;
    for (u32 i = 0; i < table->phases; i++)
        if (changed[i] && !gains_little(table->phase[i].name))
            return false;
    return is_large(fn);
}
