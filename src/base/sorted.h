/* Sets of u32 as ascending arrays. */
#ifndef PTXOPT_BASE_SORTED_H
#define PTXOPT_BASE_SORTED_H

#include "base/search.h"
#include "base/vec.h"

/* For qsort and bsearch. */
static inline int sorted_compare(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;
    return x < y ? -1 : x > y;
}

/* Sorts numbers: a few by insertion over shrinking gaps (Shell), without the call for each comparison that qsort makes. */
static inline void sorted_sort(u32 *v, u32 n)
{
    static const u8 gaps[] = {132, 57, 23, 10, 4, 1};
    enum { FEW = 512 };
    if (n > FEW)
        qsort(v, n, sizeof *v, sorted_compare);
    for (u32 g = 0; g < sizeof gaps && n <= FEW; g++)
        for (u32 gap = gaps[g], k = gap; k < n; k++) {
            u32 x = v[k], at = k;
            for (; at >= gap && v[at - gap] > x; at -= gap)
                v[at] = v[at - gap];
            v[at] = x;
        }
}

/* Makes a set of v[from .. n-1]: sorts them, and drops what is there twice. */
static inline void sorted_make(VecU32 *v, u32 from)
{
    if (v->n == from)
        return;
    sorted_sort(v->v + from, v->n - from);
    u32 kept = from + 1;
    for (u32 k = from + 1; k < v->n; k++)
        if (v->v[k] != v->v[kept - 1])
            v->v[kept++] = v->v[k];
    v->n = kept;
}

static inline bool sorted_has(const u32 *v, u32 n, u32 x)
{
    u32 at = partition_point(k, 0, n, v[k] < x);
    return at < n && v[at] == x;
}

#endif
