/* Hash map from u64 to u64: FNV-1a over the key's eight bytes, open addressing with linear probing, growth at 7/8 load.
 * A zeroed FnvMap is an empty map. */
#ifndef PTXOPT_BASE_FNVMAP_H
#define PTXOPT_BASE_FNVMAP_H

#include "base/types.h"

#define FNV_BASIS 14695981039346656037u
#define FNV_PRIME 1099511628211u

/* Continues a FNV-1a hash, which begins as FNV_BASIS, with these bytes. */
static inline u64 fnv_bytes(u64 hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (u8)bytes[i]) * FNV_PRIME;
    return hash;
}

typedef struct FnvEntry {
    u64 key, value;
} FnvEntry;

typedef struct FnvMap {
    FnvEntry *slot;
    u8 *used;
    u32 count, mask;
} FnvMap;

/* The place of the key's value, or NULL when the key is absent. Valid until the next insertion. */
u64 *fnvmap_find(const FnvMap *map, u64 key);
/* The place of the key's value, which is made, as 0, when the key was absent. */
u64 *fnvmap_at(FnvMap *map, u64 key);
void fnvmap_clear(FnvMap *map);
void fnvmap_free(FnvMap *map);

#endif
