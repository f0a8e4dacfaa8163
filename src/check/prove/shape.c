#include "check/prove/shape.h"

#include <stdlib.h>
#include <string.h>

#include "check/prove/prover.h"

enum { STEPS_MAX = 1 << 22 };

typedef struct Shape {
    const Prover *p;
    ProveGraph *g[2];
    FnvMap partner[2]; /* by event that others see: that of the other text */
    FnvMap unseen;     /* other events */
    u32 *of[2];        /* by block the one of the other text that stands for it, plus 1 */
    u32 *branch;       /* by block of AFTER that ends in a branch that of BEFORE, plus 1 */
    VecU32 work;       /* pairs of blocks */
    u32 steps;
    bool missed; /* something that no path came to */
} Shape;

static u64 key_of(const Instr *i) { return (u64)(uintptr_t)i; }

/* False: an event has two partners. */
static bool note_partner(Shape *s, u32 side, const Instr *i, const Instr *other)
{
    u64 *at = fnvmap_at(&s->partner[side], key_of(i)), old = *at;
    *at = key_of(other);
    return !old || old == key_of(other);
}

static bool is_event(const Shape *s, u32 side, const Instr *i) { return fnvmap_find(&s->partner[side], key_of(i)) != NULL; }

/* Whether the instruction, which no path came to as an event, would be one: the block can be reached by the graph alone. */
static bool is_missed(const Instr *i)
{
    bool is_memory =
        i->kind == INSTR_OP && i->op->mem != MEM_NONE && i->op->space != SPACE_PARAM && i->op->space != SPACE_CONST;
    return is_memory ||
           (i->kind == INSTR_OP && op_has(i->op, OPF_CALL | OPF_CONVERGENT | OPF_BARRIER | OPF_ASYNC | OPF_VOLATILE));
}

static const Instr *event_from(Shape *s, u32 side, const Instr *i)
{
    for (; i && !is_event(s, side, i); i = i->next)
        s->missed |= is_missed(i) && !fnvmap_find(&s->unseen, key_of(i));
    return i;
}

/* The only block that control goes on to; NULL: there are several, or none. */
static const Block *sole_successor(const Block *b)
{
    const Instr *end = block_terminator(b);
    const Block *to = block_edge_count(b) ? block_edge_target(b, 0) : NULL;
    for (u32 edge = 1; edge < block_edge_count(b); edge++)
        if (block_edge_target(b, edge) != to)
            return NULL;
    return end && op_has(end->op, OPF_NO_RETURN) ? NULL : to;
}

/* The block that control comes to from b past blocks that do nothing. */
static const Block *skip(Shape *s, u32 side, const Block *b)
{
    const Block *to;
    while (!event_from(s, side, b->first) && (to = sole_successor(b)) && s->steps++ < STEPS_MAX)
        b = to;
    return b;
}

/* A place in a chain of blocks, each of which has one successor. */
typedef struct Cursor {
    const Block *block;
    const Instr *event; /* NULL: no more of them */
} Cursor;

static void settle(Shape *s, u32 side, Cursor *c, const Instr *from)
{
    const Block *to;
    c->event = event_from(s, side, from);
    while (!c->event && (to = sole_successor(c->block)) && prove_preds(s->g[side], to->id) == 1 && s->steps++ < STEPS_MAX) {
        c->block = to;
        c->event = event_from(s, side, to->first);
    }
}

static bool same_label(const Block *b, const Block *a)
{
    for (const Label *x = b->labels; x; x = x->next)
        for (const Label *y = a->labels; y; y = y->next)
            if (strcmp(x->name->text, y->name->text) == 0)
                return true;
    return false;
}

/* How likely it is that the block of AFTER corresponds to that of BEFORE: a guess, all of which is checked later. */
static u32 alike(Shape *s, const Block *b, const Block *a)
{
    Cursor x = {skip(s, 0, b), NULL}, y = {skip(s, 1, a), NULL};
    u32 label = same_label(x.block, y.block) ? 4 : 0;
    if (s->of[0][x.block->id] || s->of[1][y.block->id])
        return s->of[0][x.block->id] == y.block->id + 1 ? 8 : 0;
    settle(s, 0, &x, x.block->first);
    settle(s, 1, &y, y.block->first);
    if (x.event && y.event)
        return *fnvmap_find(&s->partner[0], key_of(x.event)) == key_of(y.event) ? 8 : 0;
    return !x.event && !y.event && block_edge_count(x.block) == block_edge_count(y.block) ? 1 + label : 0;
}

static void push(Shape *s, const Block *b, const Block *a)
{
    vec_push(&s->work, b->id);
    vec_push(&s->work, a->id);
}

/* Those that a jump table sends to different blocks stay apart, also where these only jump: the edges of both tables share blocks alike. */
static bool group_alike(Shape *s, const Block *b, const Block *a)
{
    u32 n = block_edge_count(b);
    for (u32 k = 1; k < n; k++)
        for (u32 i = 0; i < k; i++)
            if (s->steps++ >= STEPS_MAX || (block_edge_target(b, i) == block_edge_target(b, k)) !=
                                               (block_edge_target(a, i) == block_edge_target(a, k)))
                return false;
    return true;
}

static bool is_table(const Block *b)
{
    const Instr *end = block_terminator(b);
    return end && end->op->opcode == OPC_BRX_IDX;
}

/* Whether the block that the branch of AFTER leads to stands for the one that the branch of BEFORE leads to. */
static bool leads_alike(Shape *s, const Block *b, u32 to, const Block *a, u32 other)
{
    const Block *x = skip(s, 0, fn_block(s->g[0]->fn, to)), *y = skip(s, 1, fn_block(s->g[1]->fn, other));
    u32 edge = 0;
    while (is_table(b) && edge < block_edge_count(b) && block_edge_target(b, edge)->id != to)
        edge++;
    return s->of[0][x->id] == y->id + 1 &&
           (!is_table(b) || (edge < block_edge_count(b) && block_edge_target(a, edge)->id == other));
}

/* Whether the branch of AFTER was only passed after that of BEFORE had been passed once since the last event. It must have
 * gone to the block that stands for the one that AFTER went on to. Then the threads that diverge at one are those that
 * diverge at the other, and at the same time. */
static bool pass_alike(Shape *s, const Block *b, const Block *a)
{
    const Prover *p = s->p;
    for (u32 id = p->notes.newest.v[a->id]; id; id = p->notes.passings.v[id].older) {
        const Passing *passing = &p->notes.passings.v[id];
        const Open *o = prove_find_open(&passing->open[PROVE_BEFORE], b->id);
        if (!o || o->moved != PROVE_MOVED || !o->went)
            return false;
        if (!leads_alike(s, b, o->went - 1, a, passing->went - 1))
            return false;
    }
    return p->notes.newest.v[a->id] != 0;
}

/* Whether some path took this edge of both branches. */
static bool pass_together(const Shape *s, const Block *b, u32 to, const Block *a, u32 other)
{
    const Prover *p = s->p;
    for (u32 id = p->notes.newest.v[a->id]; id; id = p->notes.passings.v[id].older) {
        const Open *o = prove_find_open(&p->notes.passings.v[id].open[PROVE_BEFORE], b->id);
        if (o && o->went == to + 1 && p->notes.passings.v[id].went == other + 1)
            return true;
    }
    return false;
}

/* Pairs what the edges of the two blocks lead to. A branch may be inverted. False: the blocks end differently. */
static bool match_edges(Shape *s, const Block *b, const Block *a)
{
    const Block *x = sole_successor(b), *y = sole_successor(a);
    if (x && y) {
        push(s, x, y);
        return true;
    }
    const Instr *i = block_terminator(b), *k = block_terminator(a);
    u32 n = block_edge_count(b);
    s->branch[a->id] = b->id + 1;
    bool leaves = i && op_has(i->op, OPF_NO_RETURN), same = k && op_has(k->op, OPF_NO_RETURN);
    if (x || y || n != block_edge_count(a) || (n && leaves != same))
        return false;
    if (n && is_table(b) && !(is_table(a) && group_alike(s, b, a)))
        return false;
    bool swaps = n == 2 && i->op->opcode == OPC_BRA && k->op->opcode == OPC_BRA;
    const Block *b0 = n ? block_edge_target(b, 0) : NULL, *a0 = n ? block_edge_target(a, 0) : NULL;
    if (swaps) {
        const Block *b1 = block_edge_target(b, 1), *a1 = block_edge_target(a, 1);
        u32 straight = alike(s, b0, a0) + alike(s, b1, a1), crossed = alike(s, b0, a1) + alike(s, b1, a0);
        straight += 16 * pass_together(s, b, b0->id, a, a0->id);
        crossed += 16 * pass_together(s, b, b0->id, a, a1->id);
        swaps = crossed > straight || (crossed == straight && i->guard_not != k->guard_not);
    }
    for (u32 edge = 0; edge < n; edge++)
        push(s, block_edge_target(b, edge), block_edge_target(a, swaps ? 1 - edge : edge));
    return true;
}

static bool match(Shape *s, const Block *b, const Block *a)
{
    b = skip(s, 0, b);
    a = skip(s, 1, a);
    if (s->of[0][b->id] || s->of[1][a->id])
        return s->of[0][b->id] == a->id + 1 && s->of[1][a->id] == b->id + 1;
    s->of[0][b->id] = a->id + 1;
    s->of[1][a->id] = b->id + 1;
    Cursor x = {b, NULL}, y = {a, NULL};
    settle(s, 0, &x, b->first);
    settle(s, 1, &y, a->first);
    while (x.event && y.event && s->steps++ < STEPS_MAX) {
        if (*fnvmap_find(&s->partner[0], key_of(x.event)) != key_of(y.event))
            return false;
        settle(s, 0, &x, x.event->next);
        settle(s, 1, &y, y.event->next);
    }
    return !x.event && !y.event && match_edges(s, x.block, y.block);
}

/* ---- which edge of a branch a thread takes ------------------------------------------------------------------------------------- */

static bool leaves(const Block *b)
{
    const Instr *end = block_terminator(b);
    return block_edge_count(b) == 0 || (end && op_has(end->op, OPF_NO_RETURN));
}

/* Follows the edge up to the first events, in the region unless that is NULL. False: another edge led to one of these in
 * the region, or also, out of it, to an exit. Or control comes back to the branch. `reached`: by block the edge that led
 * there in the region, plus 1; the last one is of exits. */
static bool find_first(Shape *s, const BitSet *region, const Block *branch, u32 edge, u32 *reached)
{
    ProveGraph *g = s->g[1];
    VecU32 work = {0};
    BitSet seen = {.word = mem_zalloc(bitset_words(g->n) * sizeof(u64)), .bits = g->n};
    bool distinct = true;
    vec_push(&work, block_edge_target(branch, edge)->id);
    while (work.n && distinct && s->steps++ < STEPS_MAX) {
        const Block *b = fn_block(g->fn, vec_pop(&work));
        if ((region && !bitset_has(region, b->id)) || !bitset_add(&seen, b->id))
            continue;
        const Instr *event = event_from(s, 1, b->first);
        if (event) {
            distinct = !reached[b->id] || reached[b->id] == edge + 1;
            if (region)
                reached[b->id] = edge + 1;
        }
        while (event && event->guard) /* it may be passed */
            event = event_from(s, 1, event->next);
        if (event)
            continue;
        distinct &= b != branch && (!leaves(b) || !reached[g->n] || reached[g->n] == edge + 1);
        if (leaves(b))
            reached[g->n] = edge + 1;
        for (u32 k = 0; k < block_edge_count(b); k++)
            vec_push(&work, block_edge_target(b, k)->id);
    }
    vec_free(&work);
    mem_free(seen.word);
    return distinct;
}

/* Whether the events up to where the branch's paths join say which edge a thread took, and which time. Or there are none,
 * and nobody leaves. */
static bool tells_edges(Shape *s, const Block *b)
{
    const BitSet *region = prove_influence(s->g[1], b);
    u32 *reached = mem_zalloc(sizeof(u32) * (s->g[1]->n + 1));
    bool any = false, tells = true;
    for (u32 id = bitset_next(region, 0); id < region->bits && !any; id = bitset_next(region, id + 1))
        any = leaves(fn_block(s->g[1]->fn, id)) || event_from(s, 1, fn_block(s->g[1]->fn, id)->first);
    for (u32 k = 0; k < 2 * block_edge_count(b) && any && tells; k++) { /* all edges in the region, then without it */
        u32 edge = k % block_edge_count(b);
        bool is_first = true; /* to that block */
        for (u32 i = 0; i < edge; i++)
            is_first &= block_edge_target(b, i) != block_edge_target(b, edge);
        tells = !is_first || find_first(s, k < block_edge_count(b) ? region : NULL, b, edge, reached);
    }
    mem_free(reached);
    return tells;
}

/* Whether who stays at a guarded exit does not leave without an event. */
static bool tells_exit(Shape *s, const Block *b)
{
    u32 *reached = mem_zalloc(sizeof(u32) * (s->g[1]->n + 1));
    reached[s->g[1]->n] = 2;
    bool tells = find_first(s, NULL, b, 0, reached);
    mem_free(reached);
    return tells;
}

/* Whether events tell the edges of all branches, also of those that divide nobody. With another condition all threads may
 * go another way to the same events. A guarded exit must divide nobody, and an event tell who stays. */
static bool all_tell_edges(Shape *s)
{
    bool tell = true;
    for (u32 k = 0; k < s->g[1]->reachable && tell; k++) {
        const Block *a = s->g[1]->by_order[k];
        if (block_edge_count(a) == 1 && !sole_successor(a))
            tell = !bitset_has(&s->g[1]->splits, a->id) && tells_exit(s, a);
        else if (block_edge_count(a) > 1 && !sole_successor(a))
            tell = s->branch[a->id] && (tells_edges(s, a) || pass_alike(s, fn_block(s->g[0]->fn, s->branch[a->id] - 1), a));
    }
    return tell;
}

static bool note_all(Shape *s, const ProveMatched *matched, u32 n)
{
    bool same = true;
    for (u32 k = 0; k < n && same; k++) {
        if (!matched[k].before)
            continue;
        if (matched[k].unseen) {
            *fnvmap_at(&s->unseen, key_of(matched[k].before)) = 1;
            *fnvmap_at(&s->unseen, key_of(matched[k].after)) = 1;
        } else {
            same = note_partner(s, 0, matched[k].before, matched[k].after) &&
                   note_partner(s, 1, matched[k].after, matched[k].before);
        }
    }
    return same;
}

bool prove_same_shape(Prover *p)
{
    Shape s = {.p = p, .g = {&p->side[PROVE_BEFORE].g, &p->side[PROVE_AFTER].g}};
    bool same = note_all(&s, p->threads.matched.v, p->threads.matched.n);
    for (u32 side = 0; side < 2; side++)
        s.of[side] = mem_zalloc(sizeof(u32) * s.g[side]->n);
    s.branch = arena_array(p->arena, u32, s.g[PROVE_AFTER]->n);
    push(&s, s.g[PROVE_BEFORE]->fn->entry, s.g[PROVE_AFTER]->fn->entry);
    while (same && !s.missed && s.work.n && s.steps < STEPS_MAX) {
        u32 a = vec_pop(&s.work), b = vec_pop(&s.work);
        same = match(&s, fn_block(s.g[PROVE_BEFORE]->fn, b), fn_block(s.g[PROVE_AFTER]->fn, a));
    }
    same = same && !s.missed && all_tell_edges(&s);
    for (u32 side = 0; side < 2; side++) {
        fnvmap_free(&s.partner[side]);
        mem_free(s.of[side]);
    }
    fnvmap_free(&s.unseen);
    vec_free(&s.work);
    return same && s.steps < STEPS_MAX;
}
