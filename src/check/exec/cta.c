/* CTAs, and the scheduler that interleaves their warps at random. */
#include "check/exec/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RESIDENT 6     /* CTAs that run at the same time */
#define QUANTUM_MAX 24 /* instructions that a warp runs at a stretch */

/* ---- CTAs ----------------------------------------------------------------------------------------------------- */

static Cta *cta_new(Machine *m, u32 index)
{
    const LaunchKernel *k = m->kernel;
    Cta *cta = mem_zalloc(sizeof *cta);
    cta->m = m;
    cta->index = index;
    cta->ctaid[0] = index % k->grid[0];
    cta->ctaid[1] = index / k->grid[0] % k->grid[1];
    cta->ctaid[2] = index / k->grid[0] / k->grid[1];
    cta->threads = k->block[0] * k->block[1] * k->block[2];
    cta->warps = (cta->threads + LANES - 1) / LANES;
    cta->full_time = ++m->race.time;
    cta->shared_bytes = m->program->dynamic_shared + k->shared;
    cta->shared = mem_alloc(cta->shared_bytes + 16);
    memset(cta->shared, (int)(m->garbage & 255), cta->shared_bytes);
    cta->shared_shadow = mem_zalloc(sizeof(Shadow) * (cta->shared_bytes + 16));
    cta->warp = mem_zalloc(sizeof(Warp) * cta->warps);
    for (u32 i = 0; i < cta->warps; i++) {
        Warp *w = &cta->warp[i];
        w->m = m;
        w->cta = cta;
        w->index = i;
        u32 here = cta->threads - i * LANES;
        w->lanes = here >= LANES ? ~0u : (1u << here) - 1;
        for (u32 lane = 0; lane < LANES; lane++) {
            u32 t = i * LANES + lane;
            w->tid[0][lane] = t % k->block[0];
            w->tid[1][lane] = t / k->block[0] % k->block[1];
            w->tid[2][lane] = t / k->block[0] / k->block[1];
        }
        warp_start(w, m->entry);
    }
    return cta;
}

static void cta_free(Cta *cta)
{
    for (u32 i = 0; i < cta->warps; i++) {
        vec_free(&cta->warp[i].async);
        mem_free(cta->warp[i].local);
    }
    mem_free(cta->warp);
    mem_free(cta->shared);
    mem_free(cta->shared_shadow);
    mem_free(cta);
}

/* A random warp that can run, or NULL. */
static Warp *pick_warp(Machine *m)
{
    u32 n = m->resident.n, first = (u32)(splitmix64(&m->random) % n);
    for (u32 i = 0; i < n; i++) {
        Cta *cta = m->resident.v[(first + i) % n];
        u32 start = (u32)(splitmix64(&m->random) % cta->warps);
        for (u32 k = 0; k < cta->warps; k++) {
            Warp *w = &cta->warp[(start + k) % cta->warps];
            if (w->runnable)
                return w;
        }
    }
    return NULL;
}

/* Each split that runs is as likely as the others: lanes that spin do not starve those that they wait for. */
static Split *pick_split(Warp *w)
{
    u32 nth = w->runnable > 1 ? (u32)(splitmix64(&w->m->random) % w->runnable) : 0;
    for (u32 i = 0; i < LANES; i++)
        if (w->split[i].state == SPLIT_RUNS && !nth--)
            return &w->split[i];
    assert(!"w->runnable counts the splits that run");
    __builtin_trap();
}

static void retire(Machine *m)
{
    for (u32 i = 0; i < m->resident.n;) {
        Cta *cta = m->resident.v[i];
        if (cta->exited < cta->threads) {
            i++;
            continue;
        }
        cta_free(cta);
        m->resident.v[i] = vec_last(&m->resident);
        m->resident.n--;
    }
}

static void found_waiting(Machine *m, const Split *s)
{
    if (s->state == SPLIT_WAITS)
        finding_add(m, FIND_DEADLOCK, "barrier", s->waiting_at, "some threads never arrive");
    if (s->state == SPLIT_SYNCS)
        finding_add(m, FIND_DEADLOCK, "warp operation", s->waiting_at, "a lane of the mask never arrives");
    for (const Join *j = s->join; j; j = j->parent)
        if (j->waiting && j->pc != NO_PC)
            finding_add(m, FIND_DEADLOCK, "reconvergence", &j->frame->fn->code.v[j->pc],
                        "lanes wait for others of their warp");
}

/* Reports the splits that run for ever, and those that wait for them. */
static void found_running(Machine *m, const Split *s)
{
    if (s->state == SPLIT_RUNS)
        finding_add(m, FIND_TIMEOUT, "", &s->frame->fn->code.v[s->pc], "still runs");
    else
        finding_add(m, FIND_TIMEOUT, "", s->waiting_at, "lanes wait for others");
    for (const Join *j = s->join; j; j = j->parent)
        if (j->waiting && j->pc != NO_PC)
            finding_add(m, FIND_TIMEOUT, "", &j->frame->fn->code.v[j->pc], "lanes wait for others of their warp");
}

/* Ends the run: no split runs any more, or one runs for too long. */
static void stuck(Machine *m, void (*found)(Machine *m, const Split *s))
{
    for (u32 i = 0; i < m->resident.n; i++)
        for (u32 k = 0; k < m->resident.v[i]->warps; k++)
            for (u32 l = 0; l < LANES; l++)
                if (m->resident.v[i]->warp[k].split[l].state != SPLIT_FREE)
                    found(m, &m->resident.v[i]->warp[k].split[l]);
    machine_stop(m);
}

/* Lanes have exited: those that wait for them, or for all but them, may go on, and may exit in turn. */
static void lanes_left(Warp *w)
{
    while (w->left) {
        u32 lanes = (u32)__builtin_popcount(w->left);
        w->left = 0;
        sync_lanes_exited(w);
        cta_lanes_exited(w->cta, lanes);
    }
}

static void warp_run(Warp *w, Split *s, u32 budget)
{
    Machine *m = w->m;
    Counters *count = m->count;
    u64 issued = 0, threads = 0;
    w->running = s;
    for (u32 i = 0; i < budget && s->state == SPLIT_RUNS && !m->stopped; i++) {
        FnCode *fn = s->frame->fn;
        const Code *c = &fn->code.v[s->pc];
        u32 mask = s->mask;
        fn->reached[s->pc++] = 1;
        if (c->guarded) {
            if (mask & ~s->frame->pred_written[c->guard])
                finding_add(w->m, FIND_UNINITIALIZED, "register", c, NULL);
            u32 guard = s->frame->pred[c->guard];
            mask &= c->guard_not ? ~guard : guard;
        }
        if (c->counted) {
            issued++;
            threads += (u32)__builtin_popcount(mask);
        }
        if (mask || c->flow.branches)
            c->run(w, s, c, mask);
        if (w->left)
            lanes_left(w);
    }
    count->issued += issued;
    count->threads += threads;
    m->budget = m->budget > issued + 1 ? m->budget - issued - 1 : 0;
}

static void start_kernel(Machine *m, const LaunchKernel *kernel)
{
    m->kernel = kernel;
    m->race.kernel_time = ++m->race.time;
    fnvmap_clear(&m->race.cta_known);
    fnvmap_clear(&m->race.sync_vars);
    for (u32 i = 0; i < m->race.sync.n; i++)
        vec_free(&m->race.sync.v[i].releases);
    vec_clear(&m->race.sync);
}

void machine_run_kernel(Machine *m, const LaunchKernel *kernel)
{
    u32 next = 0, grid = kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    start_kernel(m, kernel);
    while (!m->stopped) {
        retire(m);
        while (next < grid && m->resident.n < RESIDENT)
            vec_push(&m->resident, cta_new(m, next++));
        if (!m->resident.n)
            break;
        Warp *w = pick_warp(m);
        if (!w) {
            stuck(m, found_waiting);
            break;
        }
        warp_run(w, pick_split(w), 1 + (u32)(splitmix64(&m->random) % QUANTUM_MAX));
        if (!m->budget) {
            stuck(m, found_running);
        }
    }
    for (u32 i = 0; i < m->resident.n; i++)
        cta_free(m->resident.v[i]);
    vec_clear(&m->resident);
}
