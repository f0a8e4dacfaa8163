#include "analysis/control.h"

#include <stdlib.h>

#include "base/bound.h"

#define NO_PATH UINT32_MAX /* in the segment tree: no edge, or one that is taken out */

enum {
    PART_STEPS = 8, /* of part_paths(), per edge and block */
    LISTED = 2      /* entries of all lists, per edge and block */
};

/* ---- construction ---------------------------------------------------------------------------------------------- */

/* Whether the block has more than one successor; leaving the function counts as one. */
static bool is_branch(const Order *order, u32 p)
{
    u32 edges = order->succ.start[p + 1] - order->succ.start[p];
    return edges > 1 || (edges == 1 && order_leaves_function(order, p));
}

/* Visits every edge of a branch that makes blocks dependent: `to` lies below the branch's immediate post-dominator.
 * With `fill` unset it only counts, into first[pre + 1]; else to_of[edge] becomes `to`. */
static void visit_edges(Control *c, const Order *order, bool fill, const Block **to_of)
{
    const DomTree *t = c->postdom;
    for (u32 p = 0; p < order->count; p++) {
        Block *a = order->rpo[p];
        u32 top = t->depth[a->id] - 1; /* depth of the immediate post-dominator, virtual or not */
        if (!is_branch(order, p))
            continue;
        for_each_edge(e, &order->succ, p) {
            const Block *to = order->rpo[order->succ.to[e]];
            if (t->depth[to->id] <= top || (t->infinite && t->infinite[a->id] == to))
                continue; /* to the immediate post-dominator; of an infinite loop's edge back that is a virtual block */
            u32 pre = t->pre[to->id];
            if (fill) {
                u32 at = c->first[pre]++;
                c->branch[at] = a;
                to_of[at] = to;
                c->top[c->leaves + at] = top;
            } else {
                c->first[pre + 1]++;
                c->edges++;
            }
        }
    }
}

/* Ends the second of two paths of one branch where they join. A block below is then on one path, however many entries a
 * jump table has. After PART_STEPS the rest of the paths stay whole, which costs time and changes no answer. */
static void part_paths(Control *c, const Block **to_of, const Block **last)
{
    const DomTree *t = c->postdom;
    u64 steps = PART_STEPS * ((u64)c->edges + t->count);
    for (u32 e = 0; e < c->edges && steps > 0; e++) {
        u32 *top = &c->top[c->leaves + e], id = c->branch[e]->id;
        const Block *joint = last[id];
        for (; joint && WITHIN(PART_STEPS, steps > 0) && !dominates(t, joint, to_of[e]); steps--)
            joint = t->depth[joint->id] > *top + 1 ? t->idom[joint->id] : NULL;
        if (joint && steps > 0)
            *top = t->depth[joint->id];
        last[id] = to_of[e];
    }
}

static void build_segment_tree(Control *c)
{
    for (u32 k = c->leaves + c->edges; k < 2 * c->leaves; k++)
        c->top[k] = NO_PATH;
    for (u32 k = c->leaves - 1; k > 0; k--)
        c->top[k] = c->top[2 * k] < c->top[2 * k + 1] ? c->top[2 * k] : c->top[2 * k + 1];
}

/* The block after b on the path of the edge; NULL: it ends. */
static const Block *next_on_path(const Control *c, u32 edge, const Block *b)
{
    return c->postdom->depth[b->id] > c->top[c->leaves + edge] + 1 ? c->postdom->idom[b->id] : NULL;
}

/* Counts the edges of each block, into listed[id]; false: they are too many to list. */
static bool count_listed(Control *c, const Block **to_of)
{
    u64 left = LISTED * ((u64)c->edges + c->postdom->count);
    for (u32 e = 0; e < c->edges; e++)
        for (const Block *b = to_of[e]; b; b = next_on_path(c, e, b)) {
            if (BEYOND(LISTED, left-- == 0))
                return false;
            c->listed[b->id]++;
        }
    return true;
}

/* Lists the edges of each block in ascending order. Virtual blocks of infinite loops, past which paths go, have no lists. */
static bool list_edges(Control *c, Arena *arena, u32 blocks, const Block **to_of)
{
    if (c->postdom->infinite)
        return false;
    c->listed = arena_array(arena, u32, (size_t)blocks + 1);
    if (!count_listed(c, to_of))
        return false;
    for (u32 id = 0; id < blocks; id++)
        c->listed[id + 1] += c->listed[id];
    c->list = arena_alloc_raw(arena, sizeof *c->list * c->listed[blocks]);
    /* The loop runs from the last edge to the first: filling moves listed[id] from where the block's edges end to where
     * they begin. */
    for (u32 e = c->edges; e-- > 0;)
        for (const Block *b = to_of[e]; b; b = next_on_path(c, e, b))
            c->list[--c->listed[b->id]] = e;
    return true;
}

Control *control_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *postdom)
{
    Control *c = arena_new(arena, Control);
    c->postdom = postdom;
    c->first = arena_array(arena, u32, (size_t)postdom->count + 3);
    c->seen = marks_new(arena, fn->blocks.n);
    visit_edges(c, order, false, NULL);
    for (u32 pre = 0; pre <= postdom->count; pre++)
        c->first[pre + 1] += c->first[pre];

    for (c->leaves = 1; c->leaves < c->edges; c->leaves *= 2)
        continue;
    c->branch = arena_array(arena, Block *, c->edges);
    c->top = arena_array(arena, u32, 2 * (size_t)c->leaves);
    const Block **to_of = mem_zalloc(sizeof *to_of * ((size_t)c->edges + fn->blocks.n)), **last = to_of + c->edges;
    visit_edges(c, order, true, to_of);
    part_paths(c, to_of, last);
    if (!list_edges(c, arena, fn->blocks.n, to_of))
        c->listed = NULL;
    mem_free(to_of);
    /* Filling moved first[pre] to the end of its edges; shifting by one puts it back. */
    for (u32 pre = postdom->count + 1; pre > 0; pre--)
        c->first[pre] = c->first[pre - 1];
    c->first[0] = 0;
    if (!c->listed)
        build_segment_tree(c);
    return c;
}

void control_free(Control *control) { vec_free(&control->taken); }

/* ---- queries --------------------------------------------------------------------------------------------------- */

static void set_top(Control *c, u32 edge, u32 top)
{
    u32 k = c->leaves + edge;
    c->top[k] = top;
    for (k /= 2; k > 0; k /= 2)
        c->top[k] = c->top[2 * k] < c->top[2 * k + 1] ? c->top[2 * k] : c->top[2 * k + 1];
}

/* The first edge in from .. to-1 whose path ends above `depth`, or `to`. */
static u32 next_edge(const Control *c, u32 from, u32 to, u32 depth)
{
    if (from >= to)
        return to;
    u32 k = c->leaves + from;
    while (c->top[k] >= depth) { /* on to the subtree right of this one */
        while (k % 2)
            k /= 2;
        if (k == 0)
            return to;
        k++;
    }
    while (k < c->leaves) {
        k *= 2;
        k += c->top[k] >= depth;
    }
    return k - c->leaves < to ? k - c->leaves : to;
}

static void append_branch(Control *c, u32 edge, BlockVec *out)
{
    Block *a = c->branch[edge];
    if (marks_add(&c->seen, a->id))
        vec_push(out, a);
}

/* Takes the edges that make b dependent out of the segment tree, and appends those of their branches that are not in c->seen. */
static void take_from_tree(Control *c, const Block *b, BlockVec *out)
{
    const DomTree *t = c->postdom;
    u32 end = c->first[t->last[b->id] + 1], depth = t->depth[b->id];
    for (u32 e = next_edge(c, c->first[t->pre[b->id]], end, depth); e < end; e = next_edge(c, e + 1, end, depth)) {
        vec_push(&c->taken, c->top[c->leaves + e]);
        vec_push(&c->taken, e);
        set_top(c, e, NO_PATH);
        append_branch(c, e, out);
    }
}

/* Appends the branches that b depends on and that are not in c->seen. */
static void take_edges(Control *c, const Block *b, BlockVec *out)
{
    if (!dom_has(c->postdom, b))
        return;
    if (!c->listed) {
        take_from_tree(c, b, out);
        return;
    }
    for (u32 k = c->listed[b->id]; k < c->listed[b->id + 1]; k++)
        append_branch(c, c->list[k], out);
}

static void put_back(Control *c)
{
    while (c->taken.n > 0) {
        u32 e = vec_pop(&c->taken);
        set_top(c, e, vec_pop(&c->taken));
    }
}

void control_direct(Control *control, const Block *b, BlockVec *out)
{
    marks_clear(&control->seen);
    take_edges(control, b, out);
    put_back(control);
}

bool control_closure_within(Control *control, const Block *b, u32 limit, BlockVec *out)
{
    u32 before = out->n, done = before;
    marks_clear(&control->seen);
    take_edges(control, b, out);
    while (done < out->n && out->n - before <= limit)
        take_edges(control, out->v[done++], out);
    put_back(control);
    return out->n - before <= limit;
}

void control_closure(Control *control, const Block *b, BlockVec *out)
{
    control_closure_within(control, b, UINT32_MAX, out);
}
