#include "analysis/order.h"

/* The successors of a block: of two, the branch's target comes first, in whatever order the edges were made. */
typedef struct Successors {
    CfgList list;
    bool exchanged;
} Successors;

typedef struct Visit {
    Block *block;
    Successors succs;
    u32 next; /* the next one of these to visit */
} Visit;

typedef struct DepthFirst {
    const Function *fn;
    u32 *index;
    VEC(Visit) path;
    u32 edges; /* out of the blocks that were reached */
} DepthFirst;

static Successors successors(const Function *fn, const Block *b)
{
    CfgList list = cfg_succs(fn, b);
    return (Successors){list, list.n == 2 && list.v[0].block != block_edge_target(b, 0)};
}

static Block *successor(const Successors *s, u32 k) { return s->list.v[s->exchanged ? 1 - k : k].block; }

static void reach(DepthFirst *s, Block *b)
{
    Successors succs = successors(s->fn, b);
    s->index[b->id] = 0;
    s->edges += succs.list.n;
    vec_push(&s->path, ((Visit){b, succs, 0}));
}

/* Writes the blocks in post-order to `out`; their number. */
static u32 post_order(DepthFirst *s, Block **out)
{
    u32 count = 0;
    reach(s, s->fn->entry);
    while (s->path.n > 0) {
        Visit *top = &vec_last(&s->path);
        if (top->next == top->succs.list.n) {
            out[count++] = top->block;
            s->path.n--;
            continue;
        }
        Block *to = successor(&top->succs, top->next++);
        if (s->index[to->id] == ORDER_UNREACHABLE)
            reach(s, to);
    }
    vec_free(&s->path);
    return count;
}

static void copy_edges(Arena *arena, const Function *fn, Order *o, u32 edges)
{
    u32 *to = arena_array(arena, u32, edges), *start = arena_array(arena, u32, (size_t)o->count + 1);
    for (u32 p = 0, n = 0; p < o->count; p++) {
        Successors succs = successors(fn, o->rpo[p]);
        for (u32 k = 0; k < succs.list.n; k++)
            to[n++] = o->index[successor(&succs, k)->id];
        start[p + 1] = n;
    }
    o->succ = (Graph){o->count, start, to};
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
    DepthFirst search = {.fn = fn, .index = o->index};
    o->count = post_order(&search, o->rpo);
    for (u32 i = 0, k = o->count - 1; i < k; i++, k--) {
        Block *swapped = o->rpo[i];
        o->rpo[i] = o->rpo[k];
        o->rpo[k] = swapped;
    }
    for (u32 p = 0; p < o->count; p++)
        o->index[o->rpo[p]->id] = p;
    copy_edges(arena, fn, o, search.edges);
    return o;
}

bool block_leaves_function(const Function *fn, const Block *b)
{
    const Instr *end = block_terminator(b);
    return b->falls_off || (end && op_has(end->op, OPF_NO_RETURN)) || cfg_succs(fn, b).n == 0;
}

bool block_branches(const Function *fn, const Block *b)
{
    u32 edges = block_terminator(b) ? block_edge_count(b) : 0;
    return edges > 1 || (edges == 1 && block_leaves_function(fn, b));
}
