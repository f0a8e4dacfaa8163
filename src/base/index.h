/* Numbered objects by hash. The caller keeps the objects, and compares those of equal hash. Open addressing with linear probing; the
 * size is a power of two. At most half is used, of a large one three quarters. A zeroed HashIndex is empty.
 *
 *     HashWalk w = index_walk(&index, hash);
 *     for (u32 id; (id = index_next(&w)) != 0;)
 *         if (it is the one) return id;
 *     index_put(&w, new id);
 */
#ifndef PTXOPT_BASE_INDEX_H
#define PTXOPT_BASE_INDEX_H

#include "base/types.h"

typedef struct HashSlot {
    u32 id; /* 0: free */
    u32 hash;
} HashSlot;

typedef struct HashIndex {
    HashSlot *slot;
    u32 count, mask, most; /* at `most` objects it grows */
} HashIndex;

typedef struct HashWalk {
    HashIndex *index;
    u32 hash, at;
} HashWalk;

void index_grow(HashIndex *x);
void index_free(HashIndex *x);

/* Begins a walk over the objects of this hash. */
static inline HashWalk index_walk(HashIndex *x, u32 hash)
{
    if (x->count >= x->most)
        index_grow(x);
    return (HashWalk){x, hash, hash & x->mask};
}

/* The next object; 0: there are no more. */
static inline u32 index_next(HashWalk *w)
{
    const HashIndex *x = w->index;
    for (const HashSlot *slot; (slot = &x->slot[w->at])->id;) {
        w->at = (w->at + 1) & x->mask;
        if (slot->hash == w->hash)
            return slot->id;
    }
    return 0;
}

/* Adds an object at the end of the walk, if nothing was added since it began. */
static inline void index_put(HashWalk *w, u32 id)
{
    w->index->slot[w->at] = (HashSlot){id, w->hash};
    w->index->count++;
}

/* Continues a hash with a word. What the word's high bits say comes to the low ones, where a table looks, with the next word. */
static inline u64 hash_mix(u64 hash, u64 word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* A shorter hash of a long one. */
static inline u32 hash_fold(u64 hash) { return (u32)(hash ^ hash >> 32); }

#endif
