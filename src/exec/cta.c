/* CTAs: barriers, and the scheduler that interleaves warps at random. */
#include "exec/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RESIDENT 6     /* CTAs that run at the same time */
#define QUANTUM_MAX 24 /* instructions that a warp runs at a stretch */

/* ---- barriers ------------------------------------------------------------------------------------------------- */

enum { BAR_SYNC, BAR_ARRIVE, BAR_RED };

/* Orders all accesses that the arrived warps made, or knew of, before they arrived in front of what the waiting warps do next. */
static void spread_knowledge(Cta *cta, const Barrier *b, u32 waiting_warps, bool everybody)
{
    if (everybody) {
        cta->full_time = ++cta->m->time;
        return;
    }
    u32 merged[LANES] = {0};
    for_each_lane(x, b->warps)
    {
        for (u32 y = 0; y < LANES; y++)
            if (merged[y] < cta->known[x][y])
                merged[y] = cta->known[x][y];
        if (merged[x] < b->arrive_time[x])
            merged[x] = b->arrive_time[x];
    }
    for_each_lane(x, waiting_warps) for (u32 y = 0; y < LANES; y++) if (cta->known[x][y] < merged[y]) cta->known[x][y] =
        merged[y];
    /* The lanes of a warp are ordered among themselves, too. */
    for_each_lane(x, waiting_warps) race_warp_sync(&cta->warp[x], cta->warp[x].lanes);
}

static void store_reduction(Warp *w, Split *s, const Barrier *b, u32 total)
{
    const Code *c = s->waiting_at;
    if (c->action != BAR_RED)
        return;
    if (c->action2 == 0) {
        u64 value[LANES];
        for (u32 i = 0; i < LANES; i++)
            value[i] = b->popc;
        arg_store(s, &c->result[0], (ElemType){EK_UNSIGNED, 32, 1}, value, s->mask);
    } else {
        bool holds = c->action2 == 1 ? b->popc == total : b->popc > 0;
        arg_store_pred(s, &c->result[0], holds ? ~0u : 0, s->mask);
    }
    (void)w;
}

static void barrier_try_complete(Cta *cta, u32 id)
{
    Barrier *b = &cta->barrier[id];
    u32 needed = b->expected ? b->expected : cta->threads - cta->exited;
    if (!b->arrived || b->arrived < needed)
        return;
    u32 waiting_warps = 0;
    for (u32 i = 0; i < cta->warps; i++) {
        Warp *w = &cta->warp[i];
        for (u32 k = 0; k < LANES; k++) {
            Split *s = &w->split[k];
            if (s->state != SPLIT_WAITS || s->arrived_at != id)
                continue;
            store_reduction(w, s, b, b->arrived);
            s->state = SPLIT_RUNS;
            w->runnable++;
            waiting_warps |= 1u << i;
        }
    }
    for_each_lane(i, waiting_warps) cta->warp[i].absent = 0;
    spread_knowledge(cta, b, waiting_warps, needed >= cta->threads - cta->exited);
    *b = (Barrier){0};
}

static u32 uniform_value(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask, const char *what)
{
    u64 buffer[LANES];
    const u64 *v = arg_fetch(w, s, c, a, mask, buffer);
    u32 first = (u32)v[__builtin_ctz(mask)];
    for_each_lane(lane, mask) if ((u32)v[lane] != first)
    {
        finding_add(w->m, FIND_NONUNIFORM, what, c, NULL);
        break;
    }
    return first;
}

/* arg[0]: barrier number; arg[1]: thread count or absent; arg[2]: predicate of bar.red or absent. */
void run_barrier(Warp *w, Split *s, const Code *c, u32 mask)
{
    Cta *cta = w->cta;
    u32 live = w->lanes & ~w->exited;
    if (!mask)
        return;
    w->m->count->barriers++;
    u32 id = uniform_value(w, s, c, &c->arg[0], mask, "barrier number");
    u32 count = c->arg[1].kind ? uniform_value(w, s, c, &c->arg[1], mask, "barrier count") : 0;
    if (id >= BARRIERS) {
        finding_add(w->m, FIND_BARRIER_DIVERGENCE, c->instr->op->text->text, c, "no such barrier");
        machine_stop(w->m);
        return;
    }
    Barrier *b = &cta->barrier[id];
    if (b->arrived && b->expected != count)
        finding_add(w->m, FIND_BARRIER_DIVERGENCE, c->instr->op->text->text, c, "thread counts differ");
    if (c->aligned && mask != live) {
        if (count || mask & w->absent)
            finding_add(w->m, FIND_BARRIER_DIVERGENCE, c->instr->op->text->text, c, "not the whole warp arrives");
        w->absent |= live & ~mask;
    }
    b->expected = count;
    b->arrived += (u32)__builtin_popcount(mask);
    if (count && mask >> __builtin_ctz(live) & 1) /* hardware counts whole warps */
        b->arrived += LANES - (u32)__builtin_popcount(live);
    b->warps |= 1u << w->index;
    b->arrive_time[w->index] = ++w->m->time;
    if (c->arg[2].kind)
        b->popc += (u32)__builtin_popcount(arg_fetch_pred(w, s, c, &c->arg[2], mask) & mask);
    if (c->action != BAR_ARRIVE) {
        if (mask != s->mask) { /* lanes whose guard does not hold go on by themselves */
            split_new(w, s->mask & ~mask, s->pc, s->frame, s->join);
            s->mask = mask;
        }
        s->state = SPLIT_WAITS;
        s->waiting_at = c;
        s->arrived_at = id;
        w->runnable--;
    }
    barrier_try_complete(cta, id);
}

void cta_lanes_exited(Cta *cta, u32 lanes)
{
    cta->exited += lanes;
    for (u32 id = 0; id < BARRIERS; id++)
        if (cta->barrier[id].arrived && !cta->barrier[id].expected)
            barrier_try_complete(cta, id);
}

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
    cta->full_time = ++m->time;
    cta->shared_bytes = m->program->dynamic_shared + k->shared;
    cta->shared = mem_alloc(cta->shared_bytes + 16);
    memset(cta->shared, (int)(m->garbage & 255), cta->shared_bytes);
    if (m->watch_races)
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
        free(cta->warp[i].local);
    }
    free(cta->warp);
    free(cta->shared);
    free(cta->shared_shadow);
    free(cta);
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

void machine_stop(Machine *m) { m->stopped = true; }

static void start_kernel(Machine *m, const LaunchKernel *kernel)
{
    m->kernel = kernel;
    m->kernel_time = ++m->time;
    fnvmap_clear(&m->cta_known);
    fnvmap_clear(&m->sync_vars);
    for (u32 i = 0; i < m->sync.n; i++)
        vec_free(&m->sync.v[i].releases);
    vec_clear(&m->sync);
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
