#include "analysis/value_set.h"

#include <assert.h>
#include <stdlib.h>

#include "analysis/ranges.h"
#include "base/search.h"

static Interval *intervals(Arena *arena, size_t n) { return arena_alloc_raw(arena, n * sizeof(Interval)); }

/* The set of the first n of `room` intervals, the last thing that was allocated in the arena. */
static ValueSet set_of(Arena *arena, Interval *v, u32 n, size_t room)
{
    assert(n <= room);
    arena_shrink(arena, v, room * sizeof *v, n * sizeof *v);
    return (ValueSet){v, n};
}

ValueSet value_set_range(Arena *arena, u64 lo, u64 hi)
{
    Interval *v = intervals(arena, 1);
    assert(lo <= hi);
    *v = (Interval){lo, hi};
    return (ValueSet){v, 1};
}

/* {v : v < bound} as unsigned numbers. */
static ValueSet below(Arena *arena, u64 bound) { return bound ? value_set_range(arena, 0, bound - 1) : (ValueSet){0}; }

static ValueSet less_than(Arena *arena, u64 constant, bool is_signed, u32 bits)
{
    if (!is_signed)
        return below(arena, constant);
    u64 sign = sem_sign(bits); /* adding it maps signed order to unsigned order */
    return value_set_shift(arena, below(arena, (constant + sign) & sem_max(bits)), sign, bits);
}

ValueSet value_set_compare(Arena *arena, Cmp cmp, Type type, u64 constant, u32 bits)
{
    u64 c = constant & sem_max(bits);
    u32 outcomes = cmp_outcomes(cmp);
    ValueSet less = less_than(arena, c, compare_is_signed(cmp, type), bits), equal = value_set_range(arena, c, c),
             set = {0};
    if (outcomes & CMP_IF_LESS)
        set = less;
    if (outcomes & CMP_IF_EQUAL)
        set = value_set_or(arena, set, equal);
    if (outcomes & CMP_IF_GREATER)
        set = value_set_or(arena, set, value_set_not(arena, value_set_or(arena, less, equal), bits));
    return set;
}

ValueSet value_set_copy(Arena *arena, ValueSet a)
{
    Interval *v = intervals(arena, a.n);
    for (u32 i = 0; i < a.n; i++)
        v[i] = a.v[i];
    return (ValueSet){v, a.n};
}

/* Whether a is one interval that holds all of b. */
static bool spans(ValueSet a, ValueSet b)
{
    return b.n == 0 || (a.n == 1 && a.v[0].lo <= b.v[0].lo && b.v[b.n - 1].hi <= a.v[0].hi);
}

ValueSet value_set_and(Arena *arena, ValueSet a, ValueSet b)
{
    if (spans(a, b))
        return b;
    if (spans(b, a))
        return a;
    Interval *v = intervals(arena, (size_t)a.n + b.n);
    u32 n = 0;
    for (u32 i = 0, k = 0; i < a.n && k < b.n;) {
        u64 lo = a.v[i].lo > b.v[k].lo ? a.v[i].lo : b.v[k].lo;
        u64 hi = a.v[i].hi < b.v[k].hi ? a.v[i].hi : b.v[k].hi;
        if (lo <= hi)
            v[n++] = (Interval){lo, hi};
        if (a.v[i].hi < b.v[k].hi)
            i++;
        else
            k++;
    }
    return set_of(arena, v, n, (size_t)a.n + b.n);
}

/* The union, which shares no memory with either of them. */
static ValueSet merge(Arena *arena, ValueSet a, ValueSet b)
{
    Interval *v = intervals(arena, (size_t)a.n + b.n);
    u32 n = 0;
    for (u32 i = 0, k = 0; i < a.n || k < b.n;) {
        Interval next = k == b.n || (i < a.n && a.v[i].lo <= b.v[k].lo) ? a.v[i++] : b.v[k++];
        bool touches = n && (next.lo <= v[n - 1].hi || next.lo == v[n - 1].hi + 1);
        if (!touches)
            v[n++] = next;
        else if (next.hi > v[n - 1].hi)
            v[n - 1].hi = next.hi;
    }
    return set_of(arena, v, n, (size_t)a.n + b.n);
}

ValueSet value_set_or(Arena *arena, ValueSet a, ValueSet b)
{
    return spans(a, b) ? a : spans(b, a) ? b : merge(arena, a, b);
}

/* Unions of two sets, of four, of eight: only the last ones are held, with those that they are made of. */
ValueSet value_set_union(Arena *arena, ValueSet *sets, u32 n)
{
    Arena level[2] = {0};
    for (u32 turn = 0; n > 1; n = (n + 1) / 2, turn = !turn) {
        arena_free(&level[turn]);
        for (u32 k = 0; k < n; k += 2)
            sets[k / 2] = merge(&level[turn], sets[k], k + 1 < n ? sets[k + 1] : (ValueSet){0});
    }
    ValueSet all = n ? value_set_copy(arena, sets[0]) : (ValueSet){0};
    arena_free(&level[0]);
    arena_free(&level[1]);
    return all;
}

static int compare_lows(const void *a, const void *b)
{
    u64 x = ((const Interval *)a)->lo, y = ((const Interval *)b)->lo;
    return (x > y) - (x < y);
}

ValueSet value_set_of(Interval *v, u32 n)
{
    u32 sorted = n > 0, kept = 0;
    while (sorted < n && v[sorted - 1].lo <= v[sorted].lo)
        sorted++;
    if (sorted < n)
        qsort(v, n, sizeof *v, compare_lows);
    for (u32 k = 0; k < n; k++) {
        bool touches = kept && (v[k].lo <= v[kept - 1].hi || v[k].lo == v[kept - 1].hi + 1);
        if (!touches)
            v[kept++] = v[k];
        else if (v[k].hi > v[kept - 1].hi)
            v[kept - 1].hi = v[k].hi;
    }
    return (ValueSet){v, kept};
}

ValueSet value_set_not(Arena *arena, ValueSet a, u32 bits)
{
    Interval *v = intervals(arena, (size_t)a.n + 1);
    u32 n = 0;
    u64 lo = 0;
    for (u32 i = 0; i < a.n; i++) {
        if (a.v[i].lo > lo)
            v[n++] = (Interval){lo, a.v[i].lo - 1};
        lo = a.v[i].hi + 1; /* 0 after the last value of 64 bits: nothing follows then */
    }
    if (!a.n || a.v[a.n - 1].hi < sem_max(bits))
        v[n++] = (Interval){lo, sem_max(bits)};
    return set_of(arena, v, n, (size_t)a.n + 1);
}

ValueSet value_set_minus(Arena *arena, ValueSet a, ValueSet b)
{
    return value_set_and(arena, a, value_set_not(arena, b, 64));
}

ValueSet value_set_shift(Arena *arena, ValueSet a, u64 by, u32 bits)
{
    u64 max = sem_max(bits), shift = by & max, last = max - shift; /* the largest value that does not wrap */
    if (shift == 0 || a.n == 0)
        return a;
    Interval *v = intervals(arena, (size_t)a.n + 1);
    u32 n = 0, first = a.n;
    while (first > 0 && a.v[first - 1].hi > last)
        first--;
    for (u32 i = first; i < a.n; i++) { /* what wraps comes before the rest */
        u64 lo = a.v[i].lo > last ? a.v[i].lo : last + 1;
        v[n++] = (Interval){(lo + shift) & max, (a.v[i].hi + shift) & max};
    }
    for (u32 i = 0; i < a.n && a.v[i].lo <= last; i++) {
        u64 lo = a.v[i].lo + shift, hi = (a.v[i].hi < last ? a.v[i].hi : last) + shift;
        if (n && v[n - 1].hi + 1 == lo)
            v[n - 1].hi = hi;
        else
            v[n++] = (Interval){lo, hi};
    }
    return set_of(arena, v, n, (size_t)a.n + 1);
}

bool value_set_has(ValueSet a, u64 value)
{
    u32 at = partition_point(k, 0, a.n, a.v[k].hi < value);
    return at < a.n && a.v[at].lo <= value;
}

u64 value_set_size(ValueSet a)
{
    u64 size = 0;
    for (u32 i = 0; i < a.n; i++) {
        u64 more = a.v[i].hi - a.v[i].lo + 1;
        if (more == 0 || size + more < size)
            return UINT64_MAX;
        size += more;
    }
    return size;
}
