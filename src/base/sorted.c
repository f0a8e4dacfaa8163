#include "base/sorted.h"

enum { DIGIT = 8, DIGITS = 1 << DIGIT, FEW = 24 };

static void sort_few(u32 *v, u32 n)
{
    for (u32 k = 1; k < n; k++) {
        u32 x = v[k], at = k;
        for (; at > 0 && v[at - 1] > x; at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
}

/* Sorts by one digit, what is equal in it in the old order. */
static void sort_digit(const u32 *v, u32 n, u32 shift, u32 *to)
{
    u32 next[DIGITS] = {0}, before = 0;
    for (u32 k = 0; k < n; k++)
        next[v[k] >> shift & (DIGITS - 1)]++;
    for (u32 digit = 0; digit < DIGITS; digit++) {
        u32 count = next[digit];
        next[digit] = before;
        before += count;
    }
    for (u32 k = 0; k < n; k++)
        to[next[v[k] >> shift & (DIGITS - 1)]++] = v[k];
}

void sorted_sort(u32 *v, u32 n)
{
    u32 all = 0;
    if (n <= FEW) {
        sort_few(v, n);
        return;
    }
    for (u32 k = 0; k < n; k++)
        all |= v[k];
    u32 *other = mem_alloc(n * sizeof *other), *from = v, *to = other;
    for (u32 shift = 0; shift < 32 && all >> shift; shift += DIGIT) {
        sort_digit(from, n, shift, to);
        SWAP(from, to);
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
    mem_free(other);
}
