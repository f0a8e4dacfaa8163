/* Sets of unsigned numbers as sorted disjoint intervals, interned: equal sets are one SetId. What a path knows of a value,
 * and what a comparison with a constant asks of it, are such sets. `most` is the largest number that the value can be. */
#ifndef PTXOPT_CHECK_PROVE_SET_H
#define PTXOPT_CHECK_PROVE_SET_H

#include "base/arena.h"
#include "base/index.h"
#include "base/vec.h"

typedef u32 SetId; /* index into Sets.v; 0 is none, which stands for "anything" where facts are asked for */

typedef struct Interval {
    u64 lo, hi; /* both included */
} Interval;

typedef struct Set {
    u32 n;
    const Interval *v; /* ascending, with gaps in between */
} Set;

enum { PROVE_RANGES = 256 /* a power of two */ };

typedef struct Sets {
    Arena *arena;
    VEC(Set) v;
    HashIndex index;
    VEC(Interval) work;
    u64 looked_at; /* intervals, in all that was made */
    SetId range[PROVE_RANGES]; /* by hash a set of one interval that was asked for; 0: none */
} Sets;

void prove_sets_init(Sets *s, Arena *arena);
void prove_sets_free(Sets *s);

SetId prove_set_empty(Sets *s);
SetId prove_set_range(Sets *s, u64 lo, u64 hi); /* lo <= hi */
SetId prove_set_and(Sets *s, SetId a, SetId b);
SetId prove_set_or(Sets *s, SetId a, SetId b);
/* {k : v[k] == value} */
SetId prove_set_places(Sets *s, const u32 *v, u32 n, u32 value);
SetId prove_set_not(Sets *s, SetId a, u64 most);
/* The set of x + by, modulo most + 1. */
SetId prove_set_shift(Sets *s, SetId a, u64 by, u64 most);
/* The set of -x, modulo most + 1. */
SetId prove_set_negate(Sets *s, SetId a, u64 most);

static inline const Set *prove_set(const Sets *s, SetId id) { return &s->v.v[id]; }
static inline bool prove_set_is_empty(const Sets *s, SetId id) { return prove_set(s, id)->n == 0; }
bool prove_set_has(const Sets *s, SetId id, u64 x);
bool prove_set_within(const Sets *s, SetId a, SetId b); /* a is a subset of b */
bool prove_set_disjoint(const Sets *s, SetId a, SetId b);
u64 prove_set_min(const Sets *s, SetId id); /* of a set that is not empty */
u64 prove_set_max(const Sets *s, SetId id);
/* How many numbers it holds; `limit` where there are more. */
u64 prove_set_count(const Sets *s, SetId id, u64 limit);

#endif
