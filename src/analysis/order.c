#include "analysis/order.h"

/* Blocks in post-order, into `out`; answers their number. */
static u32 post_order(const Function *fn, Block **out, u32 *index)
{
    typedef struct Visit {
        Block *block;
        u32 next; /* successor */
    } Visit;
    VEC(Visit) path = {0};
    u32 count = 0;
    index[fn->entry->id] = 0;
    vec_push(&path, ((Visit){fn->entry, 0}));
    while (path.n > 0) {
        Visit *top = &vec_last(&path);
        CfgList succs = cfg_succs(fn, top->block);
        if (top->next == succs.n) {
            out[count++] = top->block;
            path.n--;
            continue;
        }
        Block *to = succs.v[top->next++].block;
        if (index[to->id] == ORDER_UNREACHABLE) {
            index[to->id] = 0;
            vec_push(&path, ((Visit){to, 0}));
        }
    }
    vec_free(&path);
    return count;
}

static void copy_edges(Arena *arena, const Function *fn, Order *o)
{
    VecU32 to = {0};
    o->succ = (Graph){.nodes = o->count, .start = arena_array(arena, u32, (size_t)o->count + 1)};
    for (u32 p = 0; p < o->count; p++) {
        CfgList succs = cfg_succs(fn, o->rpo[p]);
        for (u32 k = 0; k < succs.n; k++)
            vec_push(&to, o->index[succs.v[k].block->id]);
        o->succ.start[p + 1] = to.n;
    }
    o->succ.to = arena_array(arena, u32, to.n ? to.n : 1);
    for (u32 e = 0; e < to.n; e++)
        o->succ.to[e] = to.v[e];
    vec_free(&to);
    o->pred = graph_reverse(arena, &o->succ);
}

Order *order_compute(Arena *arena, const Function *fn)
{
    Order *o = arena_new(arena, Order);
    o->blocks = fn->blocks.n;
    o->index = arena_array(arena, u32, o->blocks);
    for (u32 id = 0; id < o->blocks; id++)
        o->index[id] = ORDER_UNREACHABLE;
    o->rpo = arena_array(arena, Block *, o->blocks);
    o->count = post_order(fn, o->rpo, o->index);
    for (u32 i = 0, k = o->count - 1; i < k; i++, k--) {
        Block *swapped = o->rpo[i];
        o->rpo[i] = o->rpo[k];
        o->rpo[k] = swapped;
    }
    for (u32 p = 0; p < o->count; p++)
        o->index[o->rpo[p]->id] = p;
    copy_edges(arena, fn, o);
    return o;
}

bool block_leaves_function(const Function *fn, const Block *b)
{
    const Instr *end = block_terminator(b);
    return b->falls_off || (end && op_has(end->op, OPF_NO_RETURN)) || cfg_succs(fn, b).n == 0;
}
