/* The operands of an instruction, for all lanes of a split: what the registers of its frame hold, and which were written. */
#include "check/exec/machine.h"

#include <assert.h>
#include <string.h>

static u64 sreg_value(Warp *w, u32 sreg, u32 lane)
{
    const LaunchKernel *k = w->m->kernel;
    u32 part = sreg % 3;
    if (sreg < SREG_VECTORS_END) {
        switch (sreg - part) {
        case SREG_TID: return w->tid[part][lane];
        case SREG_NTID: return k->block[part];
        case SREG_CTAID: return w->cta->ctaid[part];
        default: return k->grid[part];
        }
    }
    switch ((SregId)sreg) {
    case SREG_LANEID: return lane;
    case SREG_WARPID: return w->index;
    case SREG_NWARPID:
    case SREG_WARP_SIZE: return LANES;
    case SREG_NSMID: return 1;
    case SREG_CLOCK: return w->clock;
    case SREG_LANEMASK_EQ: return 1u << lane;
    case SREG_LANEMASK_LT: return (1u << lane) - 1;
    case SREG_LANEMASK_LE: return (2u << lane) - 1;
    case SREG_LANEMASK_GT: return ~((2u << lane) - 1);
    case SREG_LANEMASK_GE: return ~((1u << lane) - 1);
    case SREG_DYNAMIC_SHARED: return k->shared;
    case SREG_TOTAL_SHARED: return w->cta->shared_bytes;
    case SREG_ONE: return 1;
    default: return 0;
    }
}

static void found_unwritten(Warp *w, const Code *c) { finding_add(w->m, FIND_UNINITIALIZED, "register", c, NULL); }

u32 arg_known(const Split *s, const Arg *a)
{
    return a->kind == ARG_SLOT   ? s->frame->slot_written[a->index]
           : a->kind == ARG_PRED ? s->frame->pred_written[a->index]
                                 : ~0u;
}

void arg_forget(Split *s, const Arg *a, u32 lanes)
{
    if (a->kind == ARG_SLOT && !a->field_bits)
        s->frame->slot_written[a->index] &= ~lanes;
    else if (a->kind == ARG_PRED)
        s->frame->pred_written[a->index] &= ~lanes;
}

u32 arg_peek_pred(Warp *w, Split *s, const Arg *a)
{
    if (a->kind == ARG_CONST)
        return w->m->program->constants.v[(size_t)a->index * LANES] & 1 ? ~0u : 0;
    u32 bits = s->frame->pred[a->index];
    return a->invert ? ~bits : bits;
}

u32 arg_fetch_pred(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask)
{
    if (mask & ~arg_known(s, a))
        found_unwritten(w, c);
    return arg_peek_pred(w, s, a);
}

static const u64 *raw_lanes(Warp *w, Split *s, const Arg *a, u64 *buffer)
{
    Frame *f = s->frame;
    switch (a->kind) {
    case ARG_SLOT: return f->slot + (size_t)a->index * LANES;
    case ARG_CONST: return w->m->program->constants.v + (size_t)a->index * LANES;
    case ARG_PRED: {
        u32 bits = arg_peek_pred(w, s, a);
        for (u32 i = 0; i < LANES; i++)
            buffer[i] = bits >> i & 1;
        return buffer;
    }
    case ARG_SREG:
        if (a->index == SREG_CLOCK)
            w->clock += 1000; /* time passes when it is looked at: the same however many instructions stand between */
        for (u32 i = 0; i < LANES; i++)
            buffer[i] = sreg_value(w, a->index, i);
        return buffer;
    case ARG_FRAME:
        for (u32 i = 0; i < LANES; i++)
            buffer[i] = f->local_base;
        return buffer;
    default: memset(buffer, 0, LANES * sizeof *buffer); return buffer;
    }
}

const u64 *arg_peek(Warp *w, Split *s, const Arg *a, u64 *buffer)
{
    const u64 *v = raw_lanes(w, s, a, buffer);
    if (!a->cooked || a->kind == ARG_PRED)
        return v;
    for (u32 i = 0; i < LANES; i++) {
        u64 x = v[i];
        if (a->field_bits)
            x = x >> a->field_at & mask_bits(a->field_bits);
        x += (u64)a->add;
        if (a->negate)
            x = 0 - x;
        buffer[i] = a->bits ? x & mask_bits(a->bits) : x;
    }
    return buffer;
}

const u64 *arg_fetch(Warp *w, Split *s, const Code *c, const Arg *a, u32 mask, u64 *buffer)
{
    if (mask & ~arg_known(s, a))
        found_unwritten(w, c);
    return arg_peek(w, s, a, buffer);
}

void arg_store_pred(Split *s, const Arg *a, u32 bits, u32 mask)
{
    if (a->kind != ARG_PRED)
        return;
    Frame *f = s->frame;
    f->pred[a->index] = (f->pred[a->index] & ~mask) | (bits & mask);
    f->pred_written[a->index] |= mask;
}

/* Writes values of `type` to the register: one that is wider is filled with the sign or zeros; a field keeps the rest. */
void arg_store(Split *s, const Arg *a, ElemType type, const u64 *value, u32 mask)
{
    if (a->kind != ARG_SLOT)
        return;
    Frame *f = s->frame;
    u64 *to = f->slot + (size_t)a->index * LANES;
    u32 bits = elem_total_bits(type) < 64 ? elem_total_bits(type) : 64;
    u64 keep = mask_bits(bits < a->bits ? bits : a->bits), wide = mask_bits(a->bits);
    bool sign = type.kind == EK_SIGNED && type.count == 1 && bits < a->bits;
    for_each_lane(lane, mask) {
        u64 x = value[lane];
        x = sign ? (u64)sign_extend(x, bits) & wide : x & keep;
        if (a->field_bits)
            x = (to[lane] & ~(mask_bits(a->field_bits) << a->field_at)) | (x & mask_bits(a->field_bits)) << a->field_at;
        to[lane] = x;
    }
    f->slot_written[a->index] |= mask;
}
