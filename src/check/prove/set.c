#include "check/prove/set.h"

#include <string.h>

#include "base/fnvmap.h"
#include "base/search.h"

/* Hashes word by word: byte by byte it would take longer than all else. */
static u32 hash_intervals(const Interval *v, u32 n)
{
    u64 h = FNV_BASIS ^ n;
    for (u32 k = 0; k < n; k++) {
        h = (h ^ v[k].lo) * 0x9e3779b97f4a7c15u;
        h = ((h ^ h >> 32) ^ v[k].hi) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return (u32)h;
}

static SetId find_set(Sets *s, const Interval *v, u32 n)
{
    HashWalk w = index_walk(&s->index, hash_intervals(v, n));
    for (SetId id; (id = index_next(&w)) != 0;)
        if (s->v.v[id].n == n && (n == 0 || memcmp(s->v.v[id].v, v, n * sizeof *v) == 0))
            return id;
    Interval *copy = arena_array(s->arena, Interval, n);
    if (n)
        memcpy(copy, v, n * sizeof *v);
    index_put(&w, s->v.n);
    vec_push(&s->v, ((Set){n, copy}));
    return s->v.n - 1;
}

/* The set of the n intervals at v, which need not stay. */
static SetId intern_set(Sets *s, const Interval *v, u32 n)
{
    if (n != 1)
        return find_set(s, v, n);
    u64 hash = (v->lo ^ v->hi * 3) * 0x9e3779b97f4a7c15u;
    SetId *range = &s->range[hash >> 32 & (PROVE_RANGES - 1)];
    const Set *old = &s->v.v[*range];
    if (!*range || old->v->lo != v->lo || old->v->hi != v->hi)
        *range = find_set(s, v, n);
    return *range;
}

/* Interns s->work, whose intervals ascend by `lo` but may touch or overlap. */
static SetId intern_work(Sets *s)
{
    u32 n = 0;
    Interval *v = s->work.v;
    s->looked_at += s->work.n + 1;
    for (u32 k = 0; k < s->work.n; k++) {
        if (n && (v[n - 1].hi == UINT64_MAX || v[k].lo <= v[n - 1].hi + 1))
            v[n - 1].hi = v[k].hi > v[n - 1].hi ? v[k].hi : v[n - 1].hi;
        else
            v[n++] = v[k];
    }
    return intern_set(s, v, n);
}

void prove_sets_init(Sets *s, Arena *arena)
{
    *s = (Sets){.arena = arena};
    vec_push(&s->v, ((Set){0}));
}

void prove_sets_free(Sets *s)
{
    vec_free(&s->v);
    index_free(&s->index);
    vec_free(&s->work);
}

SetId prove_set_empty(Sets *s) { return intern_set(s, NULL, 0); }

SetId prove_set_range(Sets *s, u64 lo, u64 hi)
{
    Interval one = {lo, hi};
    return intern_set(s, &one, 1);
}

SetId prove_set_and(Sets *s, SetId a, SetId b)
{
    Set x = *prove_set(s, a), y = *prove_set(s, b);
    s->looked_at += x.n + y.n;
    vec_clear(&s->work);
    for (u32 i = 0, k = 0; i < x.n && k < y.n;) {
        u64 lo = x.v[i].lo > y.v[k].lo ? x.v[i].lo : y.v[k].lo, hi = x.v[i].hi < y.v[k].hi ? x.v[i].hi : y.v[k].hi;
        if (lo <= hi)
            vec_push(&s->work, ((Interval){lo, hi}));
        if (x.v[i].hi < y.v[k].hi)
            i++;
        else
            k++;
    }
    return intern_work(s);
}

SetId prove_set_or(Sets *s, SetId a, SetId b)
{
    Set x = *prove_set(s, a), y = *prove_set(s, b);
    s->looked_at += x.n + y.n;
    vec_clear(&s->work);
    for (u32 i = 0, k = 0; i < x.n || k < y.n;) {
        bool first = k == y.n || (i < x.n && x.v[i].lo <= y.v[k].lo);
        vec_push(&s->work, first ? x.v[i] : y.v[k]);
        first ? i++ : k++;
    }
    return intern_work(s);
}

SetId prove_set_not(Sets *s, SetId a, u64 most)
{
    Set x = *prove_set(s, a);
    u64 next = 0;
    bool ended = false;
    vec_clear(&s->work);
    for (u32 k = 0; k < x.n; k++) {
        if (x.v[k].lo > next)
            vec_push(&s->work, ((Interval){next, x.v[k].lo - 1}));
        next = x.v[k].hi + 1;
        ended = x.v[k].hi >= most;
    }
    if (!ended)
        vec_push(&s->work, ((Interval){next, most}));
    return intern_work(s);
}

SetId prove_set_places(Sets *s, const u32 *v, u32 n, u32 value)
{
    vec_clear(&s->work);
    for (u32 k = 0; k < n; k++)
        if (v[k] == value)
            vec_push(&s->work, ((Interval){k, k}));
    return intern_work(s);
}

static int by_lo(const void *a, const void *b)
{
    u64 x = ((const Interval *)a)->lo, y = ((const Interval *)b)->lo;
    return (x > y) - (x < y);
}

static SetId sort_and_intern(Sets *s)
{
    qsort(s->work.v, s->work.n, sizeof *s->work.v, by_lo);
    return intern_work(s);
}

/* Adds the interval from lo to hi of the circle of most + 1 numbers, which may pass over its end. */
static void push_arc(Sets *s, u64 lo, u64 hi, u64 most)
{
    if (lo <= hi) {
        vec_push(&s->work, ((Interval){lo, hi}));
        return;
    }
    vec_push(&s->work, ((Interval){0, hi}));
    vec_push(&s->work, ((Interval){lo, most}));
}

/* The values by + x of the set, or by - x. */
static SetId moved(Sets *s, SetId a, u64 by, bool negated, u64 most)
{
    Set x = *prove_set(s, a);
    if (x.n == 1 && x.v[0].lo == 0 && x.v[0].hi == most)
        return a;
    vec_clear(&s->work);
    for (u32 k = 0; k < x.n; k++)
        push_arc(s, (negated ? by - x.v[k].hi : by + x.v[k].lo) & most, (negated ? by - x.v[k].lo : by + x.v[k].hi) & most,
                 most);
    return sort_and_intern(s);
}

SetId prove_set_shift(Sets *s, SetId a, u64 by, u64 most) { return moved(s, a, by, false, most); }

SetId prove_set_negate(Sets *s, SetId a, u64 most) { return moved(s, a, 0, true, most); }

bool prove_set_has(const Sets *s, SetId id, u64 x)
{
    const Set *set = prove_set(s, id);
    u32 at = partition_point(k, 0, set->n, set->v[k].hi < x);
    return at < set->n && set->v[at].lo <= x;
}

/* The first interval from number k on that does not end before the number. */
static u32 seek(const Set *set, u32 k, u64 number)
{
    u32 step = 1;
    for (; k + step < set->n && set->v[k + step].hi < number; step *= 2)
        k += step;
    u32 end = k + step < set->n ? k + step : set->n;
    return partition_point(i, k, end, set->v[i].hi < number);
}

bool prove_set_within(const Sets *s, SetId a, SetId b)
{
    const Set *x = prove_set(s, a), *y = prove_set(s, b);
    u32 k = 0;
    for (u32 i = 0; i < x->n; i++) {
        k = seek(y, k, x->v[i].lo);
        if (k == y->n || y->v[k].lo > x->v[i].lo || y->v[k].hi < x->v[i].hi)
            return false;
    }
    return true;
}

bool prove_set_disjoint(const Sets *s, SetId a, SetId b)
{
    const Set *x = prove_set(s, a), *y = prove_set(s, b);
    for (u32 i = 0, k = 0; i < x->n && k < y->n;) {
        if (x->v[i].hi < y->v[k].lo)
            i = seek(x, i, y->v[k].lo);
        else if (y->v[k].hi < x->v[i].lo)
            k = seek(y, k, x->v[i].lo);
        else
            return false;
    }
    return true;
}

u64 prove_set_min(const Sets *s, SetId id) { return prove_set(s, id)->v[0].lo; }

u64 prove_set_max(const Sets *s, SetId id)
{
    const Set *set = prove_set(s, id);
    return set->v[set->n - 1].hi;
}

u64 prove_set_count(const Sets *s, SetId id, u64 limit)
{
    const Set *set = prove_set(s, id);
    u64 count = 0;
    for (u32 k = 0; k < set->n; k++) {
        u64 more = set->v[k].hi - set->v[k].lo;
        if (more >= limit - count)
            return limit;
        count += more + 1;
        if (count >= limit)
            return limit;
    }
    return count;
}
