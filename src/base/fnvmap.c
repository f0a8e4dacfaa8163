#include "base/fnvmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"

enum { SLOTS_MIN = 8, SLOTS_FEW = 512 }; /* few slots grow by four, since moving costs more than the space */

static u32 home(const FnvMap *map, u64 key)
{
    return fnv1a_u32(fnv1a_u32(FNV1A_BASIS, (u32)key), (u32)(key >> 32)) & map->mask;
}

/* The key's slot, or the free one where it belongs. The map must have slots. */
static u32 find_slot(const FnvMap *map, u64 key)
{
    u32 i = home(map, key);
    while (map->used[i] && map->slot[i].key != key)
        i = (i + 1) & map->mask;
    return i;
}

static void grow(FnvMap *map)
{
    FnvMap old = *map;
    u32 slots = !old.slot ? SLOTS_MIN : (old.mask + 1) * (old.mask < SLOTS_FEW ? 4 : 2);
    map->slot = mem_alloc(sizeof *map->slot * slots);
    map->used = mem_zalloc(slots);
    map->mask = slots - 1;
    for (u32 i = 0; old.slot && i <= old.mask; i++) {
        if (!old.used[i])
            continue;
        u32 to = find_slot(map, old.slot[i].key);
        map->slot[to] = old.slot[i];
        map->used[to] = 1;
    }
    mem_free(old.slot);
    mem_free(old.used);
}

u64 *fnvmap_find(const FnvMap *map, u64 key)
{
    if (!map->count)
        return NULL;
    u32 i = find_slot(map, key);
    return map->used[i] ? &map->slot[i].value : NULL;
}

u64 *fnvmap_at(FnvMap *map, u64 key)
{
    if (!map->slot)
        grow(map);
    u32 i = find_slot(map, key);
    if (map->used[i])
        return &map->slot[i].value;
    if (((u64)map->count + 1) * 8 > ((u64)map->mask + 1) * 7) {
        grow(map);
        i = find_slot(map, key);
    }
    map->used[i] = 1;
    map->count++;
    map->slot[i] = (FnvEntry){key, 0};
    return &map->slot[i].value;
}

void fnvmap_clear(FnvMap *map)
{
    if (map->used)
        memset(map->used, 0, (size_t)map->mask + 1);
    map->count = 0;
}

void fnvmap_free(FnvMap *map)
{
    mem_free(map->slot);
    mem_free(map->used);
    *map = (FnvMap){0};
}
