/* What a path notes about threads: the branches that it passes, and what is open at its events. */
#include "check/prove/prover.h"

#include <string.h>

enum { PASSINGS_MAX = 96 /* of one branch, that differ and are kept apart */ };

/* A jump table that promises an equal index: one of BEFORE on the same index, which promised the same, must be there. */
static bool is_promised_index(const Prover *p, Term index)
{
    for (const Passed *b = p->path.branches; b; b = b->next) {
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, b->block));
        if (b->cond == index && end->op->opcode == OPC_BRX_IDX && !prove_divides(p, PROVE_BEFORE, b->block))
            return true;
    }
    for (u32 k = 0; k < p->path.open[PROVE_BEFORE].n; k++) {
        const Open *o = &p->path.open[PROVE_BEFORE].v[k];
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, o->block));
        if (o->cond == index && end->op->opcode == OPC_BRX_IDX && !prove_divides(p, PROVE_BEFORE, o->block))
            return true;
    }
    return false;
}

static void note_edge(Prover *p, const Block *b, const Block *to)
{
    u32 *went = &p->notes.went_to[b->id];
    if (*went && *went != to->id + 1)
        bitset_add(&p->notes.parted, b->id);
    *went = to->id + 1;
}

static void follow_trail(Prover *p, u64 step) { p->path.trail = (p->path.trail ^ step) * 0x9e3779b97f4a7c15u; }

/* The part of an open branch that a passing keeps: what threads.c asks of it later. */
static Open essence_of(const Open *from)
{
    Open o = *from;
    o.cond = 0;
    o.divided = (Since){.passings = from->divided.passings};
    o.rejoined = (Since){0};
    o.closes = o.newer = o.early = o.late = 0;
    return o;
}

static Opens essence(Prover *p, const Opens *from)
{
    Open *v = arena_array(p->arena, Open, from->n);
    for (u32 k = 0; k < from->n; k++)
        v[k] = essence_of(&from->v[k]);
    return (Opens){from->n, v};
}

static bool is_essence(const Opens *known, const Opens *from)
{
    bool same = known->n == from->n;
    for (u32 k = 0; same && k < from->n; k++) {
        Open o = essence_of(&from->v[k]);
        same = memcmp(&known->v[k], &o, sizeof o) == 0;
    }
    return same;
}

/* A new passing of the branch; beyond the limit the one that stands for all others that went to the successor. */
static u32 new_passing(Prover *p, u32 block, u32 went)
{
    u32 count = 0;
    for (u32 id = p->notes.newest.v[block]; id; id = p->notes.passings.v[id].older, count++)
        if (p->notes.passings.v[id].of_many && p->notes.passings.v[id].went == went)
            return id;
    Passing made = {.block = block, .went = went, .of_many = count >= PASSINGS_MAX, .older = p->notes.newest.v[block]};
    p->notes.newest.v[block] = p->notes.passings.n;
    vec_push(&p->notes.passings, made);
    return p->notes.passings.n - 1;
}

/* A path that is taken again, with less that is known, passes the branch as before. */
static u32 note_passing(Prover *p, u32 block, u32 went)
{
    u64 key = (p->path.trail ^ block) * 0x9e3779b97f4a7c15u + went, *found;
    for (; *(found = fnvmap_at(&p->notes.passing_of, key)); key++)
        if (p->notes.passings.v[*found].block == block && p->notes.passings.v[*found].went == went)
            break;
    if (!*found)
        *found = new_passing(p, block, went);
    u32 id = (u32)*found;
    Passing *made = &p->notes.passings.v[id];
    if (made->is_known && is_essence(&made->open[0], &p->path.open[0]) && is_essence(&made->open[1], &p->path.open[1]))
        return id;
    Opens open[2] = {essence(p, &p->path.open[0]), essence(p, &p->path.open[1])};
    if (made->is_known)
        prove_unite_opens(p, made->open, open);
    else
        memcpy(made->open, open, sizeof open);
    made->is_known = true;
    return id;
}

void prove_pass_branch(Prover *p, ProveSide side, Term cond, const Block *to)
{
    const Block *b = p->path.place[side].block;
    const Instr *end = block_terminator(b);
    if (!p->product.values_hold)
        return;
    follow_trail(p, ((u64)b->id << 32 | to->id) * 2 + side);
    if (side == PROVE_BEFORE) {
        Passed *made = arena_new(p->arena, Passed);
        *made = (Passed){b->id, cond, p->path.branches};
        p->path.branches = made;
        note_edge(p, b, to);
        prove_pass_before(p, b->id, to->id + 1, cond);
        return;
    }
    if (!prove_divides(p, side, b->id))
        return;
    if (op_has(end->op, OPF_UNIFORM_HINT) && end->op->opcode == OPC_BRX_IDX && !is_promised_index(p, cond)) {
        prove_fail(p, PROVE_UNKNOWN, "convergence: a jump table promises an equal index, which is not seen");
        prove_blame_threads(p);
    }
    prove_pass_after(p, b->id, to->id + 1, note_passing(p, b->id, to->id + 1));
}

/* A path that is taken again, with less that is known, comes to the event as before. */
static void note_at_event(Prover *p, const OpenAtEvent *m)
{
    u64 key = p->path.trail, *found;
    for (; *(found = fnvmap_at(&p->notes.event_of, key)); key++)
        if (p->notes.events.v[*found - 1].before == m->before && p->notes.events.v[*found - 1].after == m->after)
            break;
    if (!*found) {
        vec_push(&p->notes.events, *m);
        *found = p->notes.events.n;
    }
    OpenAtEvent *old = &p->notes.events.v[*found - 1];
    if (!prove_same_opens(&old->open[0], &m->open[0]) || !prove_same_opens(&old->open[1], &m->open[1]))
        prove_unite_opens(p, old->open, m->open);
}

void prove_at_event(Prover *p, const Instr *before, const Instr *after)
{
    Opens closing = p->path.open[PROVE_AFTER];
    prove_catch_up(p, prove_is_unseen(before) && prove_is_unseen(after) ? after : NULL);
    if (!p->product.values_hold)
        return;
    follow_trail(p, before ? (u64)(uintptr_t)before : 1);
    const Instr *end = before ? NULL : p->path.place[PROVE_BEFORE].at;
    bool returns = !before && !(end && op_has(end->op, OPF_ENDS_THREAD));
    note_at_event(p, &(OpenAtEvent){before, after, returns, {p->path.open[PROVE_BEFORE], closing}});
}

void prove_note_promise(Prover *p, const Instr *before, const Instr *after)
{
    if (after && op_has(after->op, OPF_UNIFORM_HINT) && !(before && op_has(before->op, OPF_UNIFORM_HINT)))
        p->notes.promise = after;
}

void prove_notes_init(Prover *p)
{
    Notes *notes = &p->notes;
    const ProveGraph *before = &p->side[PROVE_BEFORE].g;
    vec_push(&notes->passings, ((Passing){0}));
    for (u32 k = 0; k < p->side[PROVE_AFTER].g.n; k++)
        vec_push(&notes->newest, 0);
    notes->went_to = arena_array(p->arena, u32, before->n);
    notes->parted = bitset_new(p->arena, before->n);
    for_each_block(b, before->fn) {
        const Instr *end = block_terminator(b);
        if (end && op_has(end->op, OPF_NO_RETURN))
            bitset_add(&notes->parted, b->id);
    }
}

void prove_notes_free(Notes *notes)
{
    vec_free(&notes->passings);
    vec_free(&notes->newest);
    vec_free(&notes->events);
    fnvmap_free(&notes->passing_of);
    fnvmap_free(&notes->event_of);
}
