#include "base/index.h"

#include "base/arena.h"

enum { SLOTS_MIN = 16, SLOTS_FEW = 64, SLOTS_LARGE = 1 << 16 }; /* few slots grow by four */

void index_grow(HashIndex *x)
{
    HashIndex old = *x;
    u32 slots = old.slot ? (old.mask + 1) * (old.mask < SLOTS_FEW ? 4 : 2) : SLOTS_MIN;
    x->slot = mem_zalloc(sizeof *x->slot * slots);
    x->mask = slots - 1;
    x->most = slots < SLOTS_LARGE ? slots / 2 : slots / 4 * 3;
    for (u32 i = 0; old.slot && i <= old.mask; i++) {
        u32 to = old.slot[i].hash & x->mask;
        while (old.slot[i].id && x->slot[to].id)
            to = (to + 1) & x->mask;
        if (old.slot[i].id)
            x->slot[to] = old.slot[i];
    }
    mem_free(old.slot);
}

void index_free(HashIndex *x)
{
    mem_free(x->slot);
    *x = (HashIndex){0};
}
