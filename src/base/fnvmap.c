#include "base/fnvmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"

enum { SLOTS_MIN = 8, SLOTS_FEW = 512 }; /* few: they grow by four, since moving costs more than they take */

/* FNV-1a over eight bytes, lowest first on every machine. Zeros on top only multiply, which is done at once. */
static u32 home(const FnvMap *map, u64 key)
{
    static const u32 power[] = {/* of the prime */
        1, 0x01000193, 0x26027a69, 0x3ee6b34b, 0x502c3f11, 0x46a747c3, 0xfc55f7f9, 0x34555cfb, 0x5d615f21};
    u32 hash = FNV1A_BASIS, zeros = 8;
    for (; key; key >>= 8, zeros--)
        hash = fnv1a_byte(hash, (u8)key);
    return hash * power[zeros] & map->mask;
}

/* The key's slot, or the free one where it belongs. The map has slots. */
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
    free(old.slot);
    free(old.used);
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

bool fnvmap_remove(FnvMap *map, u64 key)
{
    if (!map->count)
        return false;
    u32 hole = find_slot(map, key);
    if (!map->used[hole])
        return false;

    /* An entry further on in the run moves into the hole unless its home lies behind the hole: then a search
     * for it would never have passed the hole. */
    for (u32 i = (hole + 1) & map->mask; map->used[i]; i = (i + 1) & map->mask) {
        u32 from_home = (i - home(map, map->slot[i].key)) & map->mask;
        if (from_home >= ((i - hole) & map->mask)) {
            map->slot[hole] = map->slot[i];
            hole = i;
        }
    }
    map->used[hole] = 0;
    map->count--;
    return true;
}

void fnvmap_clear(FnvMap *map)
{
    if (map->used)
        memset(map->used, 0, (size_t)map->mask + 1);
    map->count = 0;
}

void fnvmap_free(FnvMap *map)
{
    free(map->slot);
    free(map->used);
    *map = (FnvMap){0};
}

bool fnvmap_next(const FnvMap *map, u32 *cursor, FnvEntry *entry)
{
    for (u32 i = *cursor; map->slot && i <= map->mask; i++) {
        if (map->used[i]) {
            *entry = map->slot[i];
            *cursor = i + 1;
            return true;
        }
    }
    return false;
}
