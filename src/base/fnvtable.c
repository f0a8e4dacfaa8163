#include "base/fnvtable.h"

#include <stdlib.h>

enum { SLOTS_MIN = 8 };

static bool fits(u32 count, u64 slots) { return (u64)count * 8 <= slots * 7; }

void fnvtable_reserve(FnvTable *table, u32 count)
{
    FnvTable old = *table;
    u64 slots = old.slot ? (u64)old.mask + 1 : SLOTS_MIN;
    if (old.slot && fits(count, slots))
        return;
    while (!fits(count, slots))
        slots *= 2;
    table->slot = mem_zalloc(sizeof *table->slot * slots);
    table->mask = (u32)(slots - 1);
    for (u32 i = 0; old.slot && i <= old.mask; i++)
        if (old.slot[i])
            table->slot[fnvtable_search(table, *(const u32 *)old.slot[i])] = old.slot[i];
    mem_free(old.slot);
}

void **fnvtable_at(FnvTable *table, u32 key)
{
    u32 i = table->slot ? fnvtable_search(table, key) : 0;
    if (table->slot && table->slot[i])
        return &table->slot[i];
    table->count++;
    if (table->slot && fits(table->count, (u64)table->mask + 1))
        return &table->slot[i];
    fnvtable_reserve(table, table->count);
    return &table->slot[fnvtable_search(table, key)];
}

void fnvtable_remove(FnvTable *table, u32 key)
{
    u32 hole = fnvtable_search(table, key);
    /* An object further on in the run moves into the hole, unless its home lies after the hole. In that case a search for
     * it never passes the hole. */
    for (u32 i = (hole + 1) & table->mask; table->slot[i]; i = (i + 1) & table->mask) {
        u32 from_home = (i - fnvtable_home(table, *(const u32 *)table->slot[i])) & table->mask;
        if (from_home >= ((i - hole) & table->mask)) {
            table->slot[hole] = table->slot[i];
            hole = i;
        }
    }
    table->slot[hole] = NULL;
    table->count--;
}

void fnvtable_free(FnvTable *table)
{
    mem_free(table->slot);
    *table = (FnvTable){0};
}
