/* Sets of the values that a register of up to 64 bits can hold, as intervals of unsigned numbers. Exact: signed comparisons,
 * offsets that wrap and conversions to wider registers all map to intervals. Sets are immutable, in the arena. */
#ifndef PTXOPT_ANALYSIS_VALUE_SET_H
#define PTXOPT_ANALYSIS_VALUE_SET_H

#include "base/arena.h"
#include "isa/isa.h"

typedef struct Interval {
    u64 lo, hi; /* both included: 64 bits hold every bound */
} Interval;

typedef struct ValueSet {
    const Interval *v; /* ascending, neither overlapping nor adjacent */
    u32 n;
} ValueSet;

/* lo <= hi. */
ValueSet value_set_range(Arena *arena, u64 lo, u64 hi);
/* {v : v cmp constant} of `bits` bits; constant is cut to them. The values are compared as the integer type says. */
ValueSet value_set_compare(Arena *arena, Cmp cmp, Type type, u64 constant, u32 bits);

/* A copy of the set, which lives as long as this arena. */
ValueSet value_set_copy(Arena *arena, ValueSet a);
ValueSet value_set_and(Arena *arena, ValueSet a, ValueSet b);
/* The union of all of them, in n log n time of their intervals. What the array holds is gone. */
ValueSet value_set_union(Arena *arena, ValueSet *sets, u32 n);
/* The union of the intervals, whose array becomes the set's. */
ValueSet value_set_of(Interval *v, u32 n);
ValueSet value_set_or(Arena *arena, ValueSet a, ValueSet b);
ValueSet value_set_not(Arena *arena, ValueSet a, u32 bits);
ValueSet value_set_minus(Arena *arena, ValueSet a, ValueSet b);
/* {(v + by) mod 2^bits : v in a} */
ValueSet value_set_shift(Arena *arena, ValueSet a, u64 by, u32 bits);

bool value_set_has(ValueSet a, u64 value);
/* Number of members; UINT64_MAX for that and for 2^64. */
u64 value_set_size(ValueSet a);

#endif
