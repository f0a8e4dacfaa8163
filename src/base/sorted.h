/* Sets of u32 as ascending arrays. */
#ifndef PTXOPT_BASE_SORTED_H
#define PTXOPT_BASE_SORTED_H

#include "base/search.h"
#include "base/vec.h"

/* A comparison for qsort and bsearch. */
static inline int sorted_compare(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;
    return x < y ? -1 : x > y;
}

/* Sorts n numbers. */
void sorted_sort(u32 *v, u32 n);

/* Makes a set of v[from .. n-1]: sorts it, and drops duplicates. */
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
