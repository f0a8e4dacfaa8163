#include "phase/value_set.h"

static Interval *intervals(Arena *arena, size_t n) { return n ? arena_array(arena, Interval, n) : NULL; }

ValueSet set_range(Arena *arena, u64 lo, u64 hi)
{
    Interval *v = intervals(arena, 1);
    *v = (Interval){lo, hi};
    return (ValueSet){v, 1};
}

/* {v : v < bound} as unsigned numbers. */
static ValueSet below(Arena *arena, u64 bound) { return bound ? set_range(arena, 0, bound - 1) : (ValueSet){0}; }

static ValueSet less_than(Arena *arena, u64 constant, bool is_signed, u32 bits)
{
    if (!is_signed)
        return below(arena, constant);
    u64 sign = value_sign(bits); /* adding it maps signed order to unsigned order */
    return set_shift(arena, below(arena, (constant + sign) & value_max(bits)), sign, bits);
}

ValueSet set_compare(Arena *arena, Cmp cmp, bool is_signed, u64 constant, u32 bits)
{
    u64 c = constant & value_max(bits);
    ValueSet equal = set_range(arena, c, c);
    switch (cmp) {
    case CMP_EQ: return equal;
    case CMP_NE: return set_not(arena, equal, bits);
    case CMP_LT: return less_than(arena, c, is_signed, bits);
    case CMP_LO: return less_than(arena, c, false, bits);
    case CMP_LE: return set_or(arena, less_than(arena, c, is_signed, bits), equal);
    case CMP_LS: return set_or(arena, less_than(arena, c, false, bits), equal);
    case CMP_GE: return set_not(arena, less_than(arena, c, is_signed, bits), bits);
    case CMP_HS: return set_not(arena, less_than(arena, c, false, bits), bits);
    case CMP_GT: return set_not(arena, set_or(arena, less_than(arena, c, is_signed, bits), equal), bits);
    default: return set_not(arena, set_or(arena, less_than(arena, c, false, bits), equal), bits);
    }
}

ValueSet set_and(Arena *arena, ValueSet a, ValueSet b)
{
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
    return (ValueSet){v, n};
}

ValueSet set_or(Arena *arena, ValueSet a, ValueSet b)
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
    return (ValueSet){v, n};
}

ValueSet set_not(Arena *arena, ValueSet a, u32 bits)
{
    Interval *v = intervals(arena, (size_t)a.n + 1);
    u32 n = 0;
    u64 lo = 0;
    for (u32 i = 0; i < a.n; i++) {
        if (a.v[i].lo > lo)
            v[n++] = (Interval){lo, a.v[i].lo - 1};
        lo = a.v[i].hi + 1; /* 0 behind the last value of 64 bits: nothing follows then */
    }
    if (!a.n || a.v[a.n - 1].hi < value_max(bits))
        v[n++] = (Interval){lo, value_max(bits)};
    return (ValueSet){v, n};
}

ValueSet set_minus(Arena *arena, ValueSet a, ValueSet b)
{
    return set_and(arena, a, set_not(arena, b, 64));
}

ValueSet set_shift(Arena *arena, ValueSet a, u64 by, u32 bits)
{
    u64 max = value_max(bits), shift = by & max;
    Interval *wrapped = intervals(arena, a.n), *kept = intervals(arena, a.n);
    u32 wraps = 0, keeps = 0;
    for (u32 i = 0; i < a.n; i++) {
        u64 lo = a.v[i].lo, hi = a.v[i].hi, last = max - shift; /* the largest value that does not wrap */
        if (lo <= last)
            kept[keeps++] = (Interval){lo + shift, (hi < last ? hi : last) + shift};
        if (hi > last)
            wrapped[wraps++] = (Interval){((lo > last ? lo : last + 1) + shift) & max, (hi + shift) & max};
    }
    return set_or(arena, (ValueSet){wrapped, wraps}, (ValueSet){kept, keeps});
}

bool set_has(ValueSet a, u64 value)
{
    u32 low = 0, high = a.n;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (a.v[middle].hi < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a.n && a.v[low].lo <= value;
}

u64 set_size(ValueSet a)
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
