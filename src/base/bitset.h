/* Fixed-size sets of small integers, for dataflow. */
#ifndef PTXOPT_BASE_BITSET_H
#define PTXOPT_BASE_BITSET_H

#include "base/arena.h"

typedef struct BitSet {
    u64 *word;
    u32 bits;
} BitSet;

static inline u32 bitset_words(u32 bits) { return (bits + 63) / 64; }

/* Empty set over 0..bits-1; memory from the arena. */
BitSet bitset_new(Arena *arena, u32 bits);
static inline bool bitset_has(const BitSet *s, u32 i) { return s->word[i >> 6] >> (i & 63) & 1; }
/* Adds i; false: it was a member already. */
static inline bool bitset_add(BitSet *s, u32 i)
{
    bool added = !bitset_has(s, i);
    s->word[i >> 6] |= (u64)1 << (i & 63);
    return added;
}
/* Removes i; false: it was not a member. */
static inline bool bitset_del(BitSet *s, u32 i)
{
    bool deleted = bitset_has(s, i);
    s->word[i >> 6] &= ~((u64)1 << (i & 63));
    return deleted;
}
void bitset_clear(BitSet *s);
void bitset_fill(BitSet *s);
void bitset_copy(BitSet *to, const BitSet *from);
/* Both answer whether `to` changed. The two sets have the same size. */
bool bitset_or(BitSet *to, const BitSet *from);
bool bitset_andnot(BitSet *to, const BitSet *from);
bool bitset_subset(const BitSet *a, const BitSet *b); /* a within b */
u32 bitset_count(const BitSet *s);
/* The smallest member >= from, or s->bits. */
static inline u32 bitset_next(const BitSet *s, u32 from)
{
    if (from >= s->bits)
        return s->bits;
    u32 i = from / 64;
    u64 word = s->word[i] & ~(u64)0 << from % 64;
    for (u32 n = bitset_words(s->bits); !word;) {
        if (++i == n)
            return s->bits;
        word = s->word[i];
    }
    return i * 64 + (u32)__builtin_ctzll(word);
}
#define for_each_bit(i, s) for (u32 i = bitset_next(s, 0); i < (s)->bits; i = bitset_next(s, i + 1))

#endif
