#include "base/bitset.h"

/* Bits beyond the size, in the last word, are always 0, so whole words can be compared and counted. */

BitSet bitset_new(Arena *arena, u32 bits)
{
    return (BitSet){.word = arena_array(arena, u64, bitset_words(bits)), .bits = bits};
}

void bitset_clear(BitSet *s) { memset(s->word, 0, sizeof(u64) * bitset_words(s->bits)); }

void bitset_fill(BitSet *s)
{
    memset(s->word, 0xff, sizeof(u64) * bitset_words(s->bits));
    if (s->bits % 64)
        s->word[s->bits / 64] = ((u64)1 << s->bits % 64) - 1;
}

void bitset_copy(BitSet *to, const BitSet *from) { memcpy(to->word, from->word, sizeof(u64) * bitset_words(to->bits)); }

bool bitset_or(BitSet *to, const BitSet *from)
{
    u64 changed = 0;
    for (u32 i = 0, n = bitset_words(to->bits); i < n; i++) {
        changed |= from->word[i] & ~to->word[i];
        to->word[i] |= from->word[i];
    }
    return changed != 0;
}

bool bitset_andnot(BitSet *to, const BitSet *from)
{
    u64 changed = 0;
    for (u32 i = 0, n = bitset_words(to->bits); i < n; i++) {
        changed |= to->word[i] & from->word[i];
        to->word[i] &= ~from->word[i];
    }
    return changed != 0;
}

bool bitset_subset(const BitSet *a, const BitSet *b)
{
    for (u32 i = 0, n = bitset_words(a->bits); i < n; i++)
        if (a->word[i] & ~b->word[i])
            return false;
    return true;
}

u32 bitset_count(const BitSet *s)
{
    u32 count = 0;
    for (u32 i = 0, n = bitset_words(s->bits); i < n; i++)
        count += (u32)__builtin_popcountll(s->word[i]);
    return count;
}
