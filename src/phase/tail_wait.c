#include "phase/tail_wait.h"

/* Of more blocks than these on the ways to two others, any may wait. */
#define BLOCKS_LOOKED_AT 256

struct Waits {
    const Analyses *an;
    bool *loop;  /* by Block.id of the header: something else than the loop itself may end it */
    bool *block; /* by Block.id: holds a barrier or a call that others may have to come to */
    bool any;
    u32 *seen;   /* by position in the order: number of the question in which the block was found */
    u32 question;
    VecU32 work;
};

/* What a loop that waits has to hold: without it, what the loop reads stays what it is. */
static bool sees_others(const Instr *i, const Summaries *summaries)
{
    if (i->kind != INSTR_OP)
        return false;
    Effects e = instr_effects(i, summaries);
    return e.strong || e.barrier == BARRIER_OTHER || op_has(i->op, OPF_VOLATILE);
}

/* Aligned barriers are reached by the whole warp. */
static bool waits_itself(const Instr *i, const Summaries *summaries)
{
    if (i->kind != INSTR_OP)
        return false;
    if (instr_is(i, OPF_CALL))
        return instr_effects(i, summaries).strong;
    bool aligned = op_has_modifier(i->op, ".aligned") || i->op->opcode == OPC_BAR_SYNC || i->op->opcode == OPC_BAR_RED ||
                   i->op->opcode == OPC_BAR_CTA_SYNC || i->op->opcode == OPC_BAR_CTA_RED;
    return op_has(i->op, OPF_BARRIER) && !aligned;
}

bool may_end_wait(const Instr *i, const Summaries *summaries)
{
    Effects e = instr_effects(i, summaries);
    return e.strong || e.writes || (e.barrier != BARRIER_NONE && e.barrier != BARRIER_WARP);
}

static void look_at_block(Waits *w, const Block *b)
{
    const Loops *loops = w->an->loops;
    bool sees = false, waits = false;
    for_each_instr(i, b) {
        if (i->kind == INSTR_OP && op_is_pure(i->op))
            continue;
        sees |= sees_others(i, w->an->summaries);
        waits |= waits_itself(i, w->an->summaries);
    }
    for (const Loop *l = sees ? loop_of(loops, b) : NULL; l && !w->loop[l->header->id]; l = l->parent)
        w->loop[l->header->id] = w->any = true;
    if (waits || (sees && loops->irreducible && bitset_has(&loops->in_irreducible, b->id)))
        w->block[b->id] = w->any = true;
}

Waits *waits_find(PhaseRun *run)
{
    Waits *w = arena_new(run->arena, Waits);
    w->an = run->an;
    w->loop = arena_array(run->arena, bool, run->fn->blocks.n);
    w->block = arena_array(run->arena, bool, run->fn->blocks.n);
    w->seen = arena_array(run->arena, u32, run->an->order->count);
    for (u32 p = 0; p < run->an->order->count; p++)
        look_at_block(w, run->an->order->rpo[p]);
    return w;
}

void waits_free(Waits *waits) { vec_free(&waits->work); }

/* Whether b is in a loop that waits and that `inside` is not in. */
static bool in_waiting_loop(const Waits *w, const Block *b, const Block *inside)
{
    const Loops *loops = w->an->loops;
    for (const Loop *l = loop_of(loops, b); l && !loop_contains(loops, l, inside); l = l->parent)
        if (w->loop[l->header->id])
            return true;
    return false;
}

static void reach(Waits *w, u32 position)
{
    if (w->seen[position] == w->question)
        return;
    w->seen[position] = w->question;
    vec_push(&w->work, position);
}

bool waits_before(Waits *w, Block *a, Block *b)
{
    if (!w->any)
        return false;
    const Order *order = w->an->order;
    const Block *parts = nearest_common_dominator(w->an->dom, a, b);
    if (!parts || in_waiting_loop(w, parts, a))
        return true;
    w->question++;
    vec_clear(&w->work);
    reach(w, order->index[parts->id]);
    reach(w, order->index[a->id]);
    reach(w, order->index[b->id]);
    for (u32 next = 1; next < w->work.n; next++) { /* not behind the branch that parts the ways */
        const Block *on = order->rpo[w->work.v[next]];
        if (next == BLOCKS_LOOKED_AT || w->block[on->id] || in_waiting_loop(w, on, a))
            return true;
        for_each_edge(e, &order->pred, w->work.v[next])
            reach(w, order->pred.to[e]);
    }
    return false;
}
