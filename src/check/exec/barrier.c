/* Barriers of a CTA: threads arrive, by lanes, and wait until as many have come as are expected. */
#include "check/exec/machine.h"

enum { BAR_SYNC, BAR_ARRIVE, BAR_RED };

/* Orders all accesses that the arrived warps made, or knew of, before they arrived in front of what the waiting warps do next. */
static void spread_knowledge(Cta *cta, const Barrier *b, u32 waiting_warps, bool everybody)
{
    if (everybody) {
        cta->full_time = ++cta->m->race.time;
        return;
    }
    u32 merged[LANES] = {0};
    for_each_lane(x, b->warps) {
        for (u32 y = 0; y < LANES; y++)
            if (merged[y] < cta->known[x][y])
                merged[y] = cta->known[x][y];
        if (merged[x] < b->arrive_time[x])
            merged[x] = b->arrive_time[x];
    }
    for_each_lane(x, waiting_warps)
        for (u32 y = 0; y < LANES; y++)
            if (cta->known[x][y] < merged[y])
                cta->known[x][y] = merged[y];
    /* The lanes of a warp are also ordered among themselves. */
    for_each_lane(x, waiting_warps)
        race_warp_sync(&cta->warp[x], cta->warp[x].lanes);
}

static void store_reduction(Split *s, const Barrier *b, u32 total)
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
            store_reduction(s, b, b->arrived);
            s->state = SPLIT_RUNS;
            w->runnable++;
            waiting_warps |= 1u << i;
        }
    }
    for_each_lane(i, waiting_warps)
        cta->warp[i].absent = 0;
    spread_knowledge(cta, b, waiting_warps, needed >= cta->threads - cta->exited);
    *b = (Barrier){0};
}

static u32 uniform_value(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask, const char *what)
{
    u64 buffer[LANES];
    const u64 *v = arg_fetch(w, s, c, a, mask, buffer);
    u32 first = (u32)v[__builtin_ctz(mask)];
    for_each_lane(lane, mask)
        if ((u32)v[lane] != first) {
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
    b->arrive_time[w->index] = ++w->m->race.time;
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
