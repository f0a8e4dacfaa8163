#include "phase/barrier/reach.h"

#include "base/bound.h"

/* Bounds the blocks looked at for the control dependences of all barriers, in multiples of the function's blocks. Barriers
 * beyond it count as not reached together. */
enum { CLOSURE_LIMIT = 64 };

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

static BarrierUse use_in_callee(const BarrierReach *r, const Instr *call)
{
    Effects e = instr_effects(call, r->an->summaries);
    bool barrier = e.barrier != BARRIER_NONE && e.barrier != BARRIER_WARP;
    if (!barrier || (!e.known && r->knobs->ignore_call_safety))
        return (BarrierUse){.ids = 0};
    return (BarrierUse){.ids = ALL_BARRIERS, .called = true};
}

BarrierUse barrier_use(const BarrierReach *r, const Instr *i)
{
    if (instr_is(i, OPF_CALL))
        return use_in_callee(r, i);
    if (!instr_is(i, OPF_BARRIER))
        return (BarrierUse){.ids = 0};
    if (i->op->sync == SYNC_CLUSTER || i->op->sync == SYNC_CLUSTER_ARRIVE)
        return (BarrierUse){.ids = 0};
    bool reduces = i->op->sync == SYNC_REDUCE;
    BarrierUse use = {.carries_data = reduces, .full = reduces || i->op->sync == SYNC_BARRIER};
    u32 id_at = reduces ? 1 : 0, plain = reduces ? 3 : 1; /* operands without a count */
    use.arrives = !use.full;
    const Operand *id = instr_operand(i, id_at); /* NULL: `bar.sync;`, which ptxas refuses */
    bool known = id && id->kind == OPND_IMM && id->value >= 0 && id->value < 16;
    use.ids = known ? (u16)(1u << id->value) : ALL_BARRIERS;
    use.full &= known && instr_operands(i) == plain;
    return use;
}

static void find_barriers(BarrierReach *r)
{
    const Order *order = an_order(r->an);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (instr_is(i, OPF_BARRIER) || (instr_is(i, OPF_CALL) && barrier_use(r, i).ids))
                vec_push(&r->barriers, i);
}

/* Whether the k-th barrier is the first one of its block. */
static bool is_first_in_block(const BarrierReach *r, u32 k)
{
    return k == 0 || r->barriers.v[k - 1]->block != r->barriers.v[k]->block;
}

/* ---- reached together -------------------------------------------------------------------------------------------- */

/* Finds the blocks from which a barrier can be reached, backwards from those that hold one. */
static void find_leading_to_barrier(BarrierReach *r, VecU32 *work)
{
    const Order *order = an_order(r->an);
    for (u32 k = 0; k < r->barriers.n; k++)
        if (is_first_in_block(r, k)) {
            const Block *b = r->barriers.v[k]->block;
            bitset_add(&r->leads_to_barrier, b->id);
            vec_push(work, order->index[b->id]);
        }
    for (u32 next = 0; next < work->n; next++)
        for_each_edge(e, &order->pred, work->v[next]) {
            u32 from = order->pred.to[e];
            if (bitset_add(&r->leads_to_barrier, order->rpo[from]->id))
                vec_push(work, from);
        }
}

bool reach_only_leaves(const BarrierReach *r, const Block *to)
{
    return r->an->fn->is_entry && !bitset_has(&r->leads_to_barrier, to->id);
}

static const Uniform *uniformity(const BarrierReach *r) { return an_uniform(r->an); }

/* In a block of one warp, a branch that is uniform in the warp is uniform in the block. */
bool reach_branch_is_uniform(const BarrierReach *r, const Block *b)
{
    const Uniform *u = uniformity(r);
    return uniform_has(function_warp_lanes(r->an->fn) ? &u->branch_warp : &u->branch_cta, b->id);
}

static bool guard_is_uniform(const BarrierReach *r, const Instr *i)
{
    if (!i->guard)
        return true;
    const Uniform *u = uniformity(r);
    return uniform_has(function_warp_lanes(r->an->fn) ? &u->warp : &u->cta, i->guard);
}

/* Whether the threads that stay in the kernel all take one edge at b's end. */
static bool find_whether_kept(const BarrierReach *r, const Block *b)
{
    u32 edges = r->an->fn->is_entry ? 0 : 2;
    for_each_cfg_edge(succ, cfg_succs(r->an->fn, b))
        edges += !reach_only_leaves(r, succ.v->block);
    return edges <= 1 || reach_branch_is_uniform(r, b);
}

/* Answers find_whether_kept(), which is asked once for each block, because a jump table has many edges. */
static bool keeps_together(const BarrierReach *r, const Block *b)
{
    enum { NOT_ASKED, KEPT, DIVIDED };
    u8 *known = &r->kept[b->id];
    if (*known == NOT_ASKED)
        *known = find_whether_kept(r, b) ? KEPT : DIVIDED;
    return *known == KEPT;
}

static bool depends_on_divergence(const BarrierReach *r, const BlockVec *branches, u32 from)
{
    for (u32 k = from; k < branches->n; k++)
        if (!keeps_together(r, branches->v[k]))
            return true;
    return false;
}

static bool depends_on_leaving(const BarrierReach *r, const BlockVec *branches, u32 from)
{
    for (u32 k = from; k < branches->n; k++)
        if (!reach_branch_is_uniform(r, branches->v[k]))
            return true;
    return false;
}

/* Whether some call of the function may end a thread. */
static bool some_call_ends(const BarrierReach *r)
{
    const Order *order = an_order(r->an);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (instr_is(i, OPF_CALL) && instr_effects(i, r->an->summaries).may_not_return)
                return true;
    return false;
}

static void find_together(BarrierReach *r)
{
    u32 limit = CLOSURE_LIMIT * an_order(r->an)->count;
    bool asks_all = function_warp_lanes(r->an->fn) && !some_call_ends(r);
    BlockVec branches = {0};
    for (u32 k = 0; k < r->barriers.n && r->an->fn->is_entry; k++) {
        const Block *b = r->barriers.v[k]->block;
        if (!is_first_in_block(r, k) || BEYOND(CLOSURE_LIMIT, branches.n > limit))
            continue;
        u32 from = branches.n;
        control_closure(an_control(r->an), b, &branches);
        if (!depends_on_divergence(r, &branches, from))
            bitset_add(&r->together, b->id);
        if (asks_all && !depends_on_leaving(r, &branches, from))
            bitset_add(&r->by_all, b->id);
    }
    vec_free(&branches);
}

bool reached_together(const BarrierReach *r, const Instr *barrier)
{
    if (r->knobs->ignore_variance_cond || function_has_one_thread(r->an->fn))
        return true;
    return bitset_has(&r->together, barrier->block->id) && guard_is_uniform(r, barrier);
}

bool reached_by_all(const BarrierReach *r, const Instr *barrier)
{
    return bitset_has(&r->by_all, barrier->block->id) && guard_is_uniform(r, barrier);
}

/* ---- numbers that are mispaired ---------------------------------------------------------------------------------------- */

u16 reach_mispaired_by(const BarrierReach *r, const Instr *i)
{
    BarrierUse use = barrier_use(r, i);
    return use.full && reached_together(r, i) ? 0 : use.ids;
}

static void find_mispaired(BarrierReach *r, VecU32 *work)
{
    const Order *order = an_order(r->an);
    u16 *gen = arena_array(r->an->scratch, u16, order->count);
    vec_clear(work);
    for (u32 k = r->barriers.n; k-- > 0;) {
        const Instr *i = r->barriers.v[k];
        u32 p = order->index[i->block->id];
        BarrierUse use = barrier_use(r, i);
        Effects callee = use.called ? instr_effects(i, r->an->summaries) : (Effects){.barrier = BARRIER_CTA};
        u16 mispaired = reach_mispaired_by(r, i);
        if (mispaired && !gen[p])
            vec_push(work, p);
        gen[p] |= mispaired;
        if (use.ids && !use.full && (!use.called || callee.barrier != BARRIER_CTA))
            r->partial |= use.ids;
    }
    while (work->n > 0) {
        u32 p = vec_pop(work);
        u16 out = r->mispaired[p] | gen[p];
        for_each_edge(e, &order->succ, p) {
            u32 to = order->succ.to[e];
            if ((r->mispaired[to] | out) == r->mispaired[to])
                continue;
            r->mispaired[to] |= out;
            vec_push(work, to);
        }
    }
}

BarrierReach *reach_compute(Analyses *an, const Knobs *knobs)
{
    BarrierReach *r = arena_new(an->scratch, BarrierReach);
    VecU32 work = {0};
    r->an = an;
    r->knobs = knobs;
    r->together = bitset_new(an->scratch, an->fn->blocks.n);
    r->by_all = bitset_new(an->scratch, an->fn->blocks.n);
    r->leads_to_barrier = bitset_new(an->scratch, an->fn->blocks.n);
    r->kept = arena_array(an->scratch, u8, an->fn->blocks.n);
    r->mispaired = arena_array(an->scratch, u16, an_order(an)->count);
    find_barriers(r);
    find_leading_to_barrier(r, &work);
    find_together(r);
    find_mispaired(r, &work);
    vec_free(&work);
    return r;
}

void reach_free(BarrierReach *r) { vec_free(&r->barriers); }
