/* Hash table of objects whose first member is their key, a u32. It hashes the key's four bytes with FNV-1a, and probes
 * linearly, with backward-shift deletion and growth at 7/8 load. A slot is a pointer, less than half of what FnvMap's
 * takes. A zeroed FnvTable is empty. */
#ifndef PTXOPT_BASE_FNVTABLE_H
#define PTXOPT_BASE_FNVTABLE_H

#include "base/intern.h"

typedef struct FnvTable {
    void **slot; /* NULL: free */
    u32 count, mask;
} FnvTable;

/* Makes room for `count` objects in all. */
void fnvtable_reserve(FnvTable *table, u32 count);
/* The key's slot. If it holds NULL, the caller must put an object with this key there at once. */
void **fnvtable_at(FnvTable *table, u32 key);
void fnvtable_remove(FnvTable *table, u32 key); /* an object with this key must be there */
void fnvtable_free(FnvTable *table);            /* the objects belong to the caller */

static inline u32 fnvtable_home(const FnvTable *table, u32 key) { return fnv1a_u32(FNV1A_BASIS, key) & table->mask; }

/* The place where the key's object is, or belongs. The table must have slots. */
static inline u32 fnvtable_search(const FnvTable *table, u32 key)
{
    u32 i = fnvtable_home(table, key);
    while (table->slot[i] && *(const u32 *)table->slot[i] != key)
        i = (i + 1) & table->mask;
    return i;
}

/* The object with this key, or NULL. */
static inline void *fnvtable_find(const FnvTable *table, u32 key)
{
    return table->slot ? table->slot[fnvtable_search(table, key)] : NULL;
}

#endif
