#define _GNU_SOURCE /* memmem */
#include "analysis/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "analysis/live.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

/* ---- what a loop writes ------------------------------------------------------------------------------------------- */

typedef struct RegisterWrites {
    Instr *last;
    u32 count;
} RegisterWrites;

struct LoopWrites {
    Arena *arena;
    const Loop *of; /* NULL: nothing is filled in */
    u32 epoch, fill, regs;
    u32 *filled;         /* by register: the number of the last filling that found a write of it */
    RegisterWrites *reg; /* by register, of that filling */
};

static void note_writes(LoopWrites *w, Instr *i)
{
    for (RegWalk walk = reg_walk(i); i->kind == INSTR_OP && next_write(&walk);) {
        RegisterWrites *reg = &w->reg[walk.reg];
        u32 count = w->filled[walk.reg] == w->fill ? reg->count : 0;
        *reg = (RegisterWrites){i, count + !(count && reg->last == i)};
        w->filled[walk.reg] = w->fill;
    }
}

static void fill_writes(LoopWrites *w, const Loop *loop)
{
    const Function *fn = loop->header->fn;
    w->of = loop;
    w->epoch = fn->epoch[EPOCH_CODE];
    w->fill++;
    if (w->regs < fn->regs.n) {
        w->regs = fn->regs.n + (w->reg ? fn->regs.n / 2 : 0); /* phases make registers one by one */
        w->filled = arena_array(w->arena, u32, w->regs);
        w->reg = arena_alloc_raw(w->arena, w->regs * sizeof *w->reg);
    }
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            note_writes(w, i);
}

Instr *loop_last_write(const Loop *loop, RegId reg, u32 *writes)
{
    LoopWrites *w = loop->writes;
    const Function *fn = loop->header->fn;
    if (w->of != loop || w->epoch != fn->epoch[EPOCH_CODE] || w->regs <= reg)
        fill_writes(w, loop);
    const RegisterWrites *found = &w->reg[reg];
    bool any = w->filled[reg] == w->fill;
    *writes = any ? found->count : 0;
    return any ? found->last : NULL;
}

bool loop_is_invariant(const Loop *loop, RegId reg)
{
    u32 writes;
    loop_last_write(loop, reg, &writes);
    return writes == 0;
}

Instr *loop_only_write(const Loop *loop, RegId reg)
{
    u32 writes;
    Instr *def = loop_last_write(loop, reg, &writes);
    return writes == 1 && !def->guard && operand_plain_register(instr_operand(def, 0)) == reg ? def : NULL;
}

bool loop_is_fixed(const Loop *loop, const Operand *o)
{
    RegId reg = operand_plain_register(o);
    return o->kind == OPND_IMM || (reg && loop && loop_is_invariant(loop, reg));
}

/* ---- finding loops --------------------------------------------------------------------------------------------- */

typedef struct LoopFinder {
    Arena *arena;
    const Order *order;
    const DomTree *dom;
    Loops *loops; /* while loops are found, `of` counts them in the order in which they are */
    VEC(Loop *) found;
    LoopWrites *writes;
    u32 *outer; /* union-find, by position: leads to the header of the outermost loop found so far around the block */
    VecU32 work;
} LoopFinder;

static u32 *loop_number(const LoopFinder *f, u32 p) { return &f->loops->of[f->order->rpo[p]->id]; }

static u32 outermost(LoopFinder *f, u32 p)
{
    u32 root = p;
    while (f->outer[root] != root)
        root = f->outer[root];
    while (f->outer[p] != root) {
        u32 up = f->outer[p];
        f->outer[p] = root;
        p = up;
    }
    return root;
}

/* ---- members --------------------------------------------------------------------------------------------------- */

static Loop *loop_at(LoopFinder *f, u32 header)
{
    const Graph *pred = &f->order->pred;
    Block *h = f->order->rpo[header];
    u32 latches = 0;
    for_each_edge(e, pred, header)
        latches += edge_is_back(f->dom, f->order->rpo[pred->to[e]], h);
    if (latches == 0)
        return NULL;
    Loop *loop = arena_new(f->arena, Loop);
    loop->writes = f->writes;
    loop->header = h;
    loop->latches = arena_array(f->arena, Block *, latches);
    for_each_edge(e, pred, header)
        if (edge_is_back(f->dom, f->order->rpo[pred->to[e]], h))
            loop->latches[loop->latch_count++] = f->order->rpo[pred->to[e]];
    return loop;
}

/* Walks backwards from the latches to the header; loops inside, which are found already, are crossed in one step. */
static void collect_members(LoopFinder *f, Loop *loop)
{
    const Graph *pred = &f->order->pred;
    u32 header = f->order->index[loop->header->id];
    *loop_number(f, header) = f->found.n;
    vec_clear(&f->work);
    for (u32 k = 0; k < loop->latch_count; k++)
        vec_push(&f->work, f->order->index[loop->latches[k]->id]);
    while (f->work.n > 0) {
        u32 p = outermost(f, vec_pop(&f->work));
        if (p == header)
            continue;
        u32 *inside = loop_number(f, p);
        if (*inside)
            f->found.v[*inside - 1]->parent = loop;
        else
            *inside = f->found.n;
        f->outer[p] = header;
        for_each_edge(e, pred, p)
            vec_push(&f->work, pred->to[e]);
    }
}

/* Headers from the last to the first: inner loops before the loops around them. */
static void find_loops(LoopFinder *f)
{
    for (u32 p = f->order->count; p-- > 0;) {
        Loop *loop = loop_at(f, p);
        if (loop) {
            vec_push(&f->found, loop);
            collect_members(f, loop);
        }
    }
    Loops *l = f->loops;
    l->n = f->found.n;
    l->v = arena_array(f->arena, Loop *, l->n);
    for (u32 k = 0; k < l->n; k++)
        l->v[k] = f->found.v[l->n - 1 - k];
    for (u32 id = 0; id < l->blocks; id++)
        l->of[id] = l->of[id] ? l->n + 1 - l->of[id] : 0;
    vec_free(&f->found);
}

/* One array holds the members of all loops: a loop's own blocks, then those of the loops inside, each in one piece. */
static void lay_out_members(LoopFinder *f)
{
    Loops *l = f->loops;
    for (u32 id = 0; id < l->blocks; id++)
        if (l->of[id])
            l->v[l->of[id] - 1]->block_count++;
    for (u32 k = l->n; k-- > 0;)
        if (l->v[k]->parent)
            l->v[k]->parent->block_count += l->v[k]->block_count;
    u32 total = 0;
    for (u32 k = 0; k < l->n; k++)
        total += l->v[k]->parent ? 0 : l->v[k]->block_count;

    Block **members = arena_array(f->arena, Block *, total);
    /* Inner loops take their piece from the end of the outer one's, own blocks come from the front. `depth` holds what
     * is taken from the end until the depth itself is set. */
    u32 top = 0;
    for (u32 k = 0; k < l->n; k++) {
        Loop *loop = l->v[k], *up = loop->parent;
        if (up) {
            up->depth += loop->block_count;
            loop->first = up->first + up->block_count - up->depth;
        } else {
            loop->first = top;
            top += loop->block_count;
        }
        loop->blocks = members + loop->first;
    }
    u32 *used = mem_zalloc(sizeof(u32) * (size_t)l->n);
    for (u32 p = 0; p < f->order->count; p++) {
        Block *b = f->order->rpo[p];
        Loop *loop = loop_of(l, b);
        if (!loop)
            continue;
        u32 at = used[l->of[b->id] - 1]++;
        loop->blocks[at] = b;
        l->number[b->id] = loop->first + at;
    }
    mem_free(used);
    for (u32 k = 0; k < l->n; k++) {
        l->v[k]->depth = l->v[k]->parent ? l->v[k]->parent->depth + 1 : 1;
        l->deepest = l->v[k]->depth > l->deepest ? l->v[k]->depth : l->deepest;
    }
    for (u32 k = l->n; k-- > 0;) {
        Loop *loop = l->v[k], *up = loop->parent;
        loop->height = loop->height ? loop->height : 1;
        if (up && up->height <= loop->height)
            up->height = loop->height + 1;
    }
}

/* ---- what else is asked of a loop ------------------------------------------------------------------------------ */

static Block *find_preheader(const LoopFinder *f, const Loop *loop)
{
    const Order *order = f->order;
    u32 header = order->index[loop->header->id];
    Block *found = NULL;
    for_each_edge(e, &order->pred, header) {
        Block *from = order->rpo[order->pred.to[e]];
        if (edge_is_back(f->dom, from, loop->header))
            continue;
        if (found)
            return NULL;
        found = from;
    }
    if (!found || header == 0)
        return NULL; /* control also comes from the function's start */
    u32 p = order->index[found->id];
    const Instr *end = block_terminator(found);
    bool goes_elsewhere = order->succ.start[p + 1] - order->succ.start[p] != 1 || (end && op_has(end->op, OPF_NO_RETURN));
    return goes_elsewhere ? NULL : found;
}

static bool has_nounroll(const Module *m, const Block *b)
{
    static const char quoted[] = "\"nounroll\"";
    for_each_instr(i, b) {
        if (i->kind != INSTR_PRAGMA)
            continue;
        Str text = span_str(m, i->text);
        if (text.len == 0 || memmem(text.p, text.len, quoted, sizeof quoted - 1))
            return true;
    }
    return false;
}

/* The innermost loop that holds both ends of an edge; NULL. Loops are entered by their header alone: of the target's loops, at most the
 * innermost one does not hold `from`, so this takes two steps, however deep the nest. */
static const Loop *loop_around_edge(const Loops *l, const Block *from, const Block *to)
{
    const Loop *loop = loop_of(l, to);
    while (loop && !loop_contains(l, loop, from))
        loop = loop->parent;
    return loop;
}

static void find_exits(const LoopFinder *f, const Function *fn)
{
    const Graph *succ = &f->order->succ;
    Loops *l = f->loops;
    l->epoch = fn->epoch[EPOCH_EDGES];
    l->stays = arena_array(f->arena, u32, l->blocks);
    for (u32 p = 0; p < f->order->count; p++) {
        const Block *b = f->order->rpo[p];
        const Loop *loop = order_leaves_function(f->order, p) ? NULL : loop_of(l, b);
        for (u32 e = succ->start[p]; loop && e < succ->start[p + 1]; e++) {
            const Loop *around = loop_around_edge(l, b, f->order->rpo[succ->to[e]]);
            if (!around || around->depth < loop->depth)
                loop = around;
        }
        l->stays[b->id] = loop ? loop->depth : 0;
    }
}

/* ---- reducibility ---------------------------------------------------------------------------------------------- */

enum { REGION_STEPS = 64 /* a block, from irreducible regions up; beyond that all blocks count as around one */ };

static bool has_irreducible_edge(const Order *order, const DomTree *dom)
{
    for (u32 p = 0; p < order->count; p++)
        for_each_edge(e, &order->succ, p)
            if (order->succ.to[e] <= p && !edge_is_back(dom, order->rpo[p], order->rpo[order->succ.to[e]]))
                return true;
    return false;
}

/* Marks the blocks of each region, and those on paths to it from their nearest common dominator. component: by position in rpo; size: by
 * component. */
static void find_around(Arena *arena, const Order *order, const DomTree *dom, const u32 *component, const u32 *size,
                        Loops *l)
{
    Arena scratch = {0};
    Block **top = arena_array(&scratch, Block *, order->count);
    u32 *reached_by = arena_array(&scratch, u32, order->count); /* component, plus 1 */
    size_t steps = 0;
    VecU32 work = {0};
    l->around_irreducible = bitset_new(arena, l->blocks);
    for (u32 p = 0; p < order->count; p++)
        if (size[component[p]] > 1) {
            Block **of = &top[component[p]];
            *of = *of ? dom_nearest_common(dom, *of, order->rpo[p]) : order->rpo[p];
        }
    for (u32 p = 0; p < order->count; p++) {
        if (size[component[p]] <= 1)
            continue;
        vec_push(&work, p);
        while (work.n) {
            if (BEYOND(REGION_STEPS, ++steps > REGION_STEPS * (size_t)order->count))
                bitset_fill(&l->around_irreducible);
            u32 at = vec_pop(&work);
            if (steps > REGION_STEPS * (size_t)order->count || reached_by[at] == component[p] + 1)
                continue;
            reached_by[at] = component[p] + 1;
            bitset_add(&l->around_irreducible, order->rpo[at]->id);
            for_each_edge(e, &order->pred, at)
                if (order->rpo[at] != top[component[p]])
                    vec_push(&work, order->pred.to[e]);
        }
    }
    vec_free(&work);
    arena_free(&scratch);
}

/* Marks the strongly connected components of more than one block that remain without the back edges. (An edge from a
 * block to itself always is a back edge.) */
static void find_irreducible(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, Loops *l)
{
    Arena scratch = {0};
    VecU32 from = {0}, to = {0};
    for (u32 p = 0; p < order->count; p++)
        for_each_edge(e, &order->succ, p)
            if (!edge_is_back(dom, order->rpo[p], order->rpo[order->succ.to[e]])) {
                vec_push(&from, p);
                vec_push(&to, order->succ.to[e]);
            }
    Graph forward = graph_from_edges(&scratch, order->count, from.v, to.v, from.n);
    vec_free(&from);
    vec_free(&to);
    u32 *component = arena_array(&scratch, u32, order->count);
    u32 *size = arena_array(&scratch, u32, graph_components(&forward, component));
    l->in_irreducible = bitset_new(arena, fn->blocks.n);
    for (u32 p = 0; p < order->count; p++)
        l->irreducible += ++size[component[p]] == 2;
    for (u32 p = 0; p < order->count; p++)
        if (size[component[p]] > 1)
            bitset_add(&l->in_irreducible, order->rpo[p]->id);
    find_around(arena, order, dom, component, size, l);
    arena_free(&scratch);
}

/* An edge that does not lead on in the reverse post-order: without one there are neither loops nor irreducible regions. */
static bool has_edge_upwards(const Order *order)
{
    for (u32 p = 0; p < order->count; p++)
        for_each_edge(e, &order->succ, p)
            if (order->succ.to[e] <= p)
                return true;
    return false;
}

Loops *loops_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom)
{
    Loops *l = arena_new(arena, Loops);
    if (!has_edge_upwards(order))
        return l;
    l->blocks = fn->blocks.n;
    l->of = arena_array(arena, u32, l->blocks);
    l->number = arena_array(arena, u32, l->blocks);
    for (u32 id = 0; id < l->blocks; id++)
        l->number[id] = UINT32_MAX;

    LoopFinder f = {.arena = arena, .order = order, .dom = dom, .loops = l};
    f.writes = arena_new(arena, LoopWrites);
    f.writes->arena = arena;
    f.outer = mem_alloc(sizeof(u32) * (size_t)order->count);
    for (u32 p = 0; p < order->count; p++)
        f.outer[p] = p;
    find_loops(&f);
    vec_free(&f.work);
    mem_free(f.outer);
    lay_out_members(&f);
    for (u32 k = 0; k < l->n; k++)
        l->v[k]->preheader = find_preheader(&f, l->v[k]);
    for (u32 p = 0; p < order->count; p++) {
        Loop *loop = loop_of(l, order->rpo[p]);
        if (loop && !loop->nounroll)
            loop->nounroll = has_nounroll(fn->module, order->rpo[p]);
    }
    find_exits(&f, fn);
    if (has_irreducible_edge(order, dom))
        find_irreducible(arena, fn, order, dom, l);
    return l;
}

bool loop_has_latch(const Loop *loop, const Block *b)
{
    for (u32 k = 0; k < loop->latch_count; k++)
        if (loop->latches[k] == b)
            return true;
    return false;
}

Block *loop_exit_of_latch(const Loop *loop)
{
    Block *latch = loop->latches[0], *target = branch_target(block_terminator(latch));
    return target == loop->header ? latch->fall : target;
}

Block *loop_only_entry(const Function *fn, const Loop *loop)
{
    Block *from = NULL;
    for_each_cfg_edge(pred, cfg_preds(fn, loop->header)) {
        if (loop_has_latch(loop, pred.v->block))
            continue;
        if (from)
            return NULL;
        from = pred.v->block;
    }
    return from;
}

bool loop_is_left_at(const Loops *l, const Loop *loop, const Block *b)
{
    if (l->epoch == b->fn->epoch[EPOCH_EDGES] && b->id < l->blocks)
        return loop->depth > l->stays[b->id];
    for (u32 k = block_edge_count(b); k-- > 0;)
        if (!loop_contains(l, loop, block_edge_target(b, k)))
            return true;
    return block_leaves_function(b->fn, b);
}

bool loop_passes_once(const Loops *l, const DomTree *dom, const Loop *loop, const Block *b)
{
    if (loop_of(l, b) != loop || loop_is_irreducible(l, b))
        return false;
    for (u32 k = 0; k < loop->latch_count; k++)
        if (!dominates(dom, b, loop->latches[k]))
            return false;
    return true;
}
