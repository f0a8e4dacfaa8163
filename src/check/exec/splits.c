/* Which lanes of a warp go together: splits, the joins where they wait for one another, and the frames of calls. */
#include "check/exec/machine.h"

#include <assert.h>
#include <string.h>

/* ---- splits and joins ----------------------------------------------------------------------------------------- */

Split *split_new(Warp *w, u32 mask, u32 pc, Frame *frame, Join *join)
{
    for (u32 i = 0; i < LANES; i++)
        if (w->split[i].state == SPLIT_FREE) {
            w->split[i] = (Split){.mask = mask, .pc = pc, .frame = frame, .join = join, .state = SPLIT_RUNS};
            w->runnable++;
            return &w->split[i];
        }
    assert(!"every split holds a lane, so that there are at most LANES");
    __builtin_trap();
}

static void split_free(Warp *w, Split *s)
{
    if (s->state == SPLIT_RUNS)
        w->runnable--;
    s->state = SPLIT_FREE;
    s->mask = 0;
}

Join *join_new(Warp *w, Frame *frame, u32 pc, u32 expected, Join *parent)
{
    Machine *m = w->m;
    Join *j = m->free_joins.n ? vec_pop(&m->free_joins) : arena_new(m->arena, Join);
    *j = (Join){.parent = parent, .frame = frame, .pc = pc, .expected = expected};
    return j;
}

static void frame_free(Machine *m, Frame *f)
{
    f->next_free = m->free_frames[f->fn->index];
    m->free_frames[f->fn->index] = f;
}

static void finish_call(Warp *w, Join *j, u32 mask);

/* Lets the lanes of a join go on together once all that are expected have come; lanes that have ended are not expected. */
static void join_settle(Warp *w, Join *j)
{
    u32 live = j->expected & ~w->exited;
    if (j->waiting != live)
        return;
    if (j->pc == NO_PC) {
        finish_call(w, j, live);
    } else if (live) {
        Split *s = split_new(w, live, j->pc, j->frame, j->parent);
        vec_push(&w->m->free_joins, j);
        split_go(w, s, s->pc);
        return;
    }
    vec_push(&w->m->free_joins, j);
}

/* Whether the split does nothing but end: its lanes end before others run, so that who has left does not depend on the schedule. */
static bool ends_at_once(const Split *s)
{
    const Code *c = &s->frame->fn->code.v[s->pc];
    return !s->frame->parent && !c->guarded && c->flow.ends;
}

void split_go(Warp *w, Split *s, u32 pc)
{
    Join *j = s->join;
    s->pc = pc;
    if (!j || j->pc != pc || j->frame != s->frame) {
        if (ends_at_once(s)) {
            s->frame->fn->reached[pc] = 1;
            w->m->count->issued++;
            w->m->count->threads += (u32)__builtin_popcount(s->mask);
            split_exit(w, s, s->mask);
        }
        return;
    }
    j->waiting |= s->mask;
    split_free(w, s);
    join_settle(w, j);
}

/* Settles the joins from j outwards to `last`, the outermost first. One that lanes of an inner join still have to reach does not settle,
 * so that no join is gone before its turn. */
static void settle_chain(Warp *w, Join *j, const Join *last)
{
    if (!j)
        return;
    if (j != last)
        settle_chain(w, j->parent, last);
    join_settle(w, j);
}

void split_exit(Warp *w, Split *s, u32 mask)
{
    Join *inner = s->join;
    w->exited |= mask;
    s->mask &= ~mask;
    if (!s->mask)
        split_free(w, s);
    settle_chain(w, inner, NULL);
    w->left |= mask;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

#define DEPTH_LIMIT 256

static void ensure_local(Warp *w, u32 bytes)
{
    if (bytes <= w->local_bytes)
        return;
    u32 grown = w->local_bytes * 2 > bytes ? w->local_bytes * 2 : bytes;
    u8 *fresh = mem_alloc((size_t)grown * LANES);
    for (u32 i = 0; i < LANES && w->local; i++)
        memcpy(fresh + (size_t)i * grown, w->local + (size_t)i * w->local_bytes, w->local_bytes);
    mem_free(w->local);
    w->local = fresh;
    w->local_bytes = grown;
}

static Frame *frame_new(Warp *w, FnCode *fn, Frame *parent, u32 mask)
{
    Machine *m = w->m;
    Frame *f = m->free_frames[fn->index];
    if (f) {
        m->free_frames[fn->index] = f->next_free;
    } else {
        f = arena_new(m->arena, Frame);
        f->slot = arena_alloc_raw(m->arena, sizeof(u64) * LANES * (fn->slots + 1));
        f->slot_written = arena_array(m->arena, u32, fn->slots + 1);
        f->pred = arena_array(m->arena, u32, fn->preds + 1);
        f->pred_written = arena_array(m->arena, u32, fn->preds + 1);
    }
    f->fn = fn;
    f->parent = parent;
    f->call = NULL;
    f->return_join = NULL;
    f->carry = f->carry_written = 0;
    f->depth = parent ? parent->depth + 1 : 0;
    f->local_base = parent ? parent->local_base + ((parent->fn->local.owner.n + 63) & ~63u) : 0;
    for (u32 i = 0; i < fn->slots * LANES; i++)
        f->slot[i] = (u32)m->garbage;
    memset(f->slot_written, 0, sizeof(u32) * (fn->slots + 1));
    memset(f->pred_written, 0, sizeof(u32) * (fn->preds + 1));
    for (u32 i = 0; i < fn->preds; i++)
        f->pred[i] = (u32)m->garbage;
    u32 top = f->local_base + fn->local.owner.n;
    ensure_local(w, top);
    u32 lanes = top > f->local_base ? mask : 0;
    for_each_lane(lane, lanes)
        memset(w->local + (size_t)lane * w->local_bytes + f->local_base, (int)(m->garbage & 255), top - f->local_base);
    return f;
}

void warp_start(Warp *w, FnCode *entry)
{
    Frame *f = frame_new(w, entry, NULL, w->lanes);
    split_new(w, w->lanes, 0, f, NULL);
}

/* The address of a place in the memory of the split's frame, for a lane. */
static u8 *in_memory(Warp *w, u32 lane, const Split *s, const Arg *place)
{
    return w->local + (size_t)lane * w->local_bytes + s->frame->local_base + place->add;
}

/* A register or memory of a split's frame. */
typedef struct ParamEnd {
    Split *s;
    const Arg *at;
} ParamEnd;

/* Copies one parameter, as the callee has it, from one frame to another one. */
static void pass_param(Warp *w, const Code *c, ParamEnd from, ParamEnd to, const FnParam *p, u32 mask)
{
    bool in_register = p->place.kind != ARG_FRAME;
    u64 buffer[LANES] = {0};
    ElemType type = {EK_BITS, in_register ? p->place.bits : (u8)(p->bytes < 8 ? p->bytes * 8 : 64), 1};
    const u64 *v = buffer;
    if (from.at->kind == ARG_FRAME && to.at->kind == ARG_FRAME) {
        for_each_lane(lane, mask)
            memcpy(in_memory(w, lane, to.s, to.at), in_memory(w, lane, from.s, from.at), p->bytes);
        return;
    }
    if (from.at->kind == ARG_FRAME)
        for_each_lane(lane, mask)
            memcpy(&buffer[lane], in_memory(w, lane, from.s, from.at), type.bits / 8);
    else
        v = arg_fetch(w, from.s, c, from.at, mask, buffer);
    if (to.at->kind == ARG_FRAME) {
        for_each_lane(lane, mask)
            memcpy(in_memory(w, lane, to.s, to.at), &v[lane], type.bits / 8);
    } else if (to.at->kind == ARG_PRED) {
        u32 set = 0;
        for_each_lane(lane, mask)
            set |= (u32)(v[lane] & 1) << lane;
        arg_store_pred(to.s, to.at, set, mask);
    } else {
        arg_store(to.s, to.at, type, v, mask);
    }
}

/* Lets the lanes of `mask` call; other lanes of the split wait after the call. */
void split_call(Warp *w, Split *s, const Code *c, u32 mask, FnCode *callee)
{
    const CallShape *shape = c->call;
    bool too_deep = s->frame->depth >= DEPTH_LIMIT, fits = shape->ins + shape->outs == callee->params;
    fits &= shape->outs == callee->returns || callee->returns == RETURNS_AS_CALLED;
    if (too_deep || !fits) {
        finding_add(w->m, FIND_BAD_CALL, callee->name, c, too_deep ? "too deep" : "parameters differ");
        machine_stop(w->m);
        return;
    }
    if (mask != s->mask) {
        Join *after = join_new(w, s->frame, s->pc, s->mask, s->join);
        after->waiting = s->mask & ~mask;
        s->join = after;
        s->mask = mask;
    }
    Frame *f = frame_new(w, callee, s->frame, mask);
    f->call = c;
    f->return_pc = s->pc;
    for (u32 i = 0; i < shape->ins; i++) {
        const FnParam *p = &callee->param[shape->outs + i];
        pass_param(w, c, (ParamEnd){s, &shape->in[i]}, (ParamEnd){&(Split){.frame = f}, &p->place}, p, mask);
    }
    f->return_join = join_new(w, f, NO_PC, mask, s->join);
    s->join = f->return_join;
    s->frame = f;
    s->pc = 0;
}

/* Lets the lanes of a call go on after it in the caller, once all are back. */
static void finish_call(Warp *w, Join *j, u32 mask)
{
    Frame *f = j->frame;
    if (mask) {
        const CallShape *shape = f->call->call;
        Split *s = split_new(w, mask, f->return_pc, f->parent, j->parent);
        for (u32 i = 0; i < shape->outs; i++)
            pass_param(w, f->call, (ParamEnd){&(Split){.frame = f}, &f->fn->param[i].place}, (ParamEnd){s, &shape->out[i]},
                       &f->fn->param[i], mask);
        split_go(w, s, s->pc);
    }
    frame_free(w->m, f);
}

void split_return(Warp *w, Split *s, u32 mask)
{
    Join *last = s->frame->return_join, *inner = s->join;
    if (!last) {
        split_exit(w, s, mask);
        return;
    }
    s->mask &= ~mask;
    if (!s->mask)
        split_free(w, s);
    last->waiting |= mask;
    for (Join *j = inner; j != last; j = j->parent)
        j->expected &= ~mask;
    settle_chain(w, inner, last);
}
