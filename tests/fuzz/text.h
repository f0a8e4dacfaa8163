/* Growable text, and the random numbers of the generators (splitmix64: Steele, Lea, Flood, 2014). */
#ifndef PTXOPT_TESTS_FUZZ_TEXT_H
#define PTXOPT_TESTS_FUZZ_TEXT_H

#include "base/random.h"
#include "tool/text.h"

typedef struct Random {
    u64 state;
} Random;

static inline u64 random_next(Random *r) { return splitmix64(&r->state); }

static inline u32 random_below(Random *r, u32 n) { return (u32)(random_next(r) >> 33) % n; }
static inline i64 random_between(Random *r, i64 low, i64 high) { return low + (i64)random_below(r, (u32)(high - low + 1)); }
static inline bool random_percent(Random *r, u32 percent) { return random_below(r, 100) < percent; }

#endif
