#include "base/intern.h"

#include <stdlib.h>

enum { SLOTS_MIN = 256 };

void intern_init(Intern *table, Arena *arena)
{
    *table = (Intern){.arena = arena, .mask = SLOTS_MIN - 1};
    table->slot = mem_zalloc(sizeof *table->slot * SLOTS_MIN);
}

/* The slot that holds the text, or the free one where it belongs. */
static InternSlot *find_slot(const Intern *table, const char *text, u32 len, u32 hash)
{
    for (u32 i = hash & table->mask;; i = (i + 1) & table->mask) {
        InternSlot *slot = &table->slot[i];
        if (!slot->name || (slot->hash == hash && slot->len == len && same_bytes(slot->name->text, text, len)))
            return slot;
    }
}

static void grow(Intern *table)
{
    InternSlot *old = table->slot;
    u32 slots = table->mask + 1, mask = slots * 2 - 1;
    table->slot = mem_zalloc(sizeof *old * ((size_t)mask + 1));
    table->mask = mask;
    for (u32 i = 0; i < slots; i++) {
        if (!old[i].name)
            continue;
        u32 to = old[i].hash & mask;
        while (table->slot[to].name)
            to = (to + 1) & mask;
        table->slot[to] = old[i];
    }
    mem_free(old);
}

Name *intern_hashed(Intern *table, const char *text, u32 len, u32 hash)
{
    InternSlot *slot = find_slot(table, text, len, hash);
    if (slot->name)
        return slot->name;

    Name *name = arena_alloc_raw(table->arena, sizeof *name + (len < NAME_BYTES ? NAME_BYTES : (size_t)len + 1));
    *name = (Name){.len = len, .hash = hash};
    if (len < NAME_BYTES)
        memset(name->text, 0, NAME_BYTES);
    memcpy(name->text, text, len);
    name->text[len] = '\0';
    *slot = (InternSlot){name, hash, len};
    if (++table->count > table->mask / 2)
        grow(table);
    return name;
}

Name *intern(Intern *table, const char *text, u32 len) { return intern_hashed(table, text, len, fnv1a(text, len)); }

Name *intern_cstr(Intern *table, const char *text) { return intern(table, text, (u32)strlen(text)); }

Name *intern_find(const Intern *table, const char *text, u32 len)
{
    return find_slot(table, text, len, fnv1a(text, len))->name;
}

void intern_free(Intern *table)
{
    mem_free(table->slot);
    *table = (Intern){0};
}
