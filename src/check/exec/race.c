/* The race watch. Two accesses to a byte by different threads, one of them a write, must be ordered, or it is a race. Two
 * strong ones (atomic, volatile, relaxed...) need not be. Ordered means, with times that count synchronisations:
 * - a CTA barrier that all threads passed (Cta.full_time), or some warps (Cta.known);
 * - bar.warp.sync among its lanes (Warp.known);
 * - a fence, a strong write, and a strong read of it by the other (SyncVar), CTA by CTA;
 * - the end of a kernel.
 * Where this is coarse it takes more for ordered than is: what is found is a race. Writes of the value that is there
 * already do not race with other writes (flags that many threads set). */
#include "check/exec/machine.h"

#include <stdio.h>

static u32 thread_id(const Warp *w, u32 lane) { return w->cta->index << 10 | (w->index * LANES + lane); }

static bool ordered(const Warp *w, u32 lane, u32 other, u32 time)
{
    const Cta *cta = w->cta;
    other &= ~SHADOW_STRONG;
    if (time < w->m->race.kernel_time || other == thread_id(w, lane))
        return true;
    u32 other_cta = other >> 10, number = other & 1023;
    if (other_cta != cta->index) {
        const u64 *known = fnvmap_find(&w->m->race.cta_known, (u64)cta->index << 32 | other_cta);
        return known && time < *known;
    }
    if (time < cta->full_time)
        return true;
    u32 other_warp = number / LANES;
    return other_warp == w->index ? time < w->known[lane][number % LANES] : time < cta->known[w->index][other_warp];
}

static void race_found(const LaneAccess *a, const char *name, const char *what, u32 other)
{
    const Warp *w = a->w;
    char detail[96];
    other &= ~SHADOW_STRONG;
    snprintf(detail, sizeof detail, "%s by thread %u of CTA %u, other thread %u of CTA %u", what,
             w->index * LANES + a->lane, w->cta->index, other & 1023, other >> 10);
    finding_add(w->m, FIND_RACE, name, a->c, detail);
}

/* Keeps the reader as one of two, of different warps where possible, in place of one that is ordered before it. */
static void keep_reader(Warp *w, u32 lane, Shadow *s, u32 me)
{
    u32 now = w->m->race.time;
    for (u32 i = 0; i < 2; i++)
        if (!s->reader[i] || ordered(w, lane, s->reader[i] - 1, s->read_time[i])) {
            s->reader[i] = me + 1;
            s->read_time[i] = now;
            return;
        }
    bool same_warp = (s->reader[0] - 1) / LANES == (s->reader[1] - 1) / LANES;
    if (same_warp && me / LANES != (s->reader[0] - 1) / LANES) {
        s->reader[1] = me + 1;
        s->read_time[1] = now;
    }
}

/* The writer's and readers' thread numbers are stored plus 1. Strong readers are not kept. They race with weak writes only, which the
 * write's own check of the byte's last writer finds, and the atomic's write part. */
void race_read(const LaneAccess *a, Shadow *shadow, const char *name)
{
    u32 me = thread_id(a->w, a->lane);
    for (u32 i = 0; i < a->bytes; i++) {
        Shadow *s = &shadow[i];
        u32 writer = s->writer;
        if (writer && !(a->strong && writer & SHADOW_STRONG) &&
            !ordered(a->w, a->lane, (writer & ~SHADOW_STRONG) - 1, s->write_time)) {
            race_found(a, name, "read after write", (writer & ~SHADOW_STRONG) - 1);
            s->writer = 0;
        }
        if (!a->strong)
            keep_reader(a->w, a->lane, s, me);
    }
}

void race_write(const LaneAccess *a, Shadow *shadow, const u8 *old, const char *name)
{
    u32 me = thread_id(a->w, a->lane);
    for (u32 i = 0; i < a->bytes; i++) {
        Shadow *s = &shadow[i];
        u32 writer = s->writer & ~SHADOW_STRONG;
        bool both_strong = a->strong && s->writer & SHADOW_STRONG, same_value = old && old[i] == a->data[i];
        if (writer && !both_strong && !same_value && !ordered(a->w, a->lane, writer - 1, s->write_time))
            race_found(a, name, "write after write", writer - 1);
        for (u32 k = 0; k < 2; k++)
            if (s->reader[k] && !ordered(a->w, a->lane, s->reader[k] - 1, s->read_time[k])) {
                race_found(a, name, "write after read", s->reader[k] - 1);
                break;
            }
        s->writer = (me + 1) | (a->strong ? SHADOW_STRONG : 0);
        s->write_time = a->w->m->race.time;
        s->reader[0] = s->reader[1] = 0;
    }
}

void race_fence(Warp *w, u32 mask)
{
    u32 now = ++w->m->race.time;
    for_each_lane(lane, mask)
        w->fence_time[lane] = now;
}

/* Adds a release. Whoever knows the newest of what a thread published knows the rest, so the list is no longer than there
 * are threads. */
static void add_release(SyncVar *var, SyncRelease r)
{
    for (u32 i = 0; i < var->releases.n; i++)
        if (var->releases.v[i].thread == r.thread) {
            var->releases.v[i].time = r.time > var->releases.v[i].time ? r.time : var->releases.v[i].time;
            return;
        }
    vec_push(&var->releases, r);
}

/* A strong write after a fence (or one that releases by itself) publishes all that the thread's CTA did before. A
 * read-modify-write adds to what earlier ones published. */
void race_release(Warp *w, u32 lane, const u8 *place, bool is_release, bool read_too)
{
    Machine *m = w->m;
    u32 time = is_release ? ++m->race.time : w->fence_time[lane];
    u64 *index = fnvmap_find(&m->race.sync_vars, (uintptr_t)place);
    if (!time && !index)
        return;
    if (!index) {
        SyncVar fresh = {0};
        vec_push(&m->race.sync, fresh);
        index = fnvmap_at(&m->race.sync_vars, (uintptr_t)place);
        *index = m->race.sync.n - 1;
    }
    SyncVar *var = &m->race.sync.v[*index];
    if (!read_too)
        vec_clear(&var->releases);
    if (time)
        add_release(var, (SyncRelease){thread_id(w, lane), time});
}

void race_acquire(Warp *w, u32 lane, const u8 *place)
{
    Machine *m = w->m;
    u64 *index = m->race.sync.n ? fnvmap_find(&m->race.sync_vars, (uintptr_t)place) : NULL;
    if (!index)
        return;
    const SyncVar *var = &m->race.sync.v[*index];
    for (u32 i = 0; i < var->releases.n; i++) {
        SyncRelease r = var->releases.v[i];
        u32 other_cta = r.thread >> 10, number = r.thread & 1023, other_warp = number / LANES;
        if (other_cta != w->cta->index) {
            u64 *known = fnvmap_at(&m->race.cta_known, (u64)w->cta->index << 32 | other_cta);
            if (*known < r.time)
                *known = r.time;
            continue;
        }
        u32 *known = other_warp == w->index ? &w->known[lane][number % LANES] : &w->cta->known[w->index][other_warp];
        if (*known < r.time)
            *known = r.time;
    }
}

void race_warp_sync(Warp *w, u32 mask)
{
    u32 now = ++w->m->race.time, all[LANES] = {0};
    for_each_lane(a, mask)
        for (u32 b = 0; b < LANES; b++)
            if (all[b] < w->known[a][b])
                all[b] = w->known[a][b];
    for_each_lane(b, mask)
        all[b] = now;
    for_each_lane(a, mask)
        for (u32 b = 0; b < LANES; b++)
            w->known[a][b] = all[b];
}
