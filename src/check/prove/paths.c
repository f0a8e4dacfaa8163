/* The notes that a path takes of threads: the branches that it passes, and what is open at its events. */
#include "check/prove/prover.h"

/* A jump table that promises an equal index: one of BEFORE on the same index, which promised the same, must be there. */
static bool is_promised_index(const Prover *p, Term index)
{
    for (const Passed *b = p->branches; b; b = b->next) {
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, b->block));
        if (b->cond == index && end->op->opcode == OPC_BRX_IDX && !prove_divides(p, PROVE_BEFORE, b->block))
            return true;
    }
    for (u32 k = 0; k < p->open[PROVE_BEFORE].n; k++) {
        const Open *o = &p->open[PROVE_BEFORE].v[k];
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, o->block));
        if (o->cond == index && end->op->opcode == OPC_BRX_IDX && !prove_divides(p, PROVE_BEFORE, o->block))
            return true;
    }
    return false;
}

static void note_edge(Prover *p, const Block *b, const Block *to)
{
    u32 *went = &p->went_to[b->id];
    if (*went && *went != to->id + 1)
        bitset_add(&p->parted, b->id);
    *went = to->id + 1;
}

static void follow_trail(Prover *p, u64 step) { p->trail = (p->trail ^ step) * 0x9e3779b97f4a7c15u; }

void prove_pass_branch(Prover *p, ProveSide side, Term cond, const Block *to)
{
    const Block *b = p->place[side].block;
    const Instr *end = block_terminator(b);
    if (!p->values_hold)
        return;
    follow_trail(p, ((u64)b->id << 32 | to->id) * 2 + side);
    if (side == PROVE_BEFORE) {
        Passed *made = arena_new(p->arena, Passed);
        *made = (Passed){b->id, cond, p->branches};
        p->branches = made;
        note_edge(p, b, to);
        prove_pass_before(p, b->id, to->id + 1, cond);
        return;
    }
    if (!prove_divides(p, side, b->id))
        return;
    if (op_has(end->op, OPF_UNIFORM_HINT) && end->op->opcode == OPC_BRX_IDX && !is_promised_index(p, cond)) {
        prove_fail(p, PROVE_UNKNOWN, "convergence: a jump table promises an equal index, which is not seen");
        p->only_threads = true;
    }
    prove_pass_after(p, b->id, to->id + 1);
}

/* A path that is taken again, with less that is known, comes to the event as before. */
static void note_at_event(Prover *p, const OpenAtEvent *m)
{
    u64 key = p->trail, *found;
    for (; *(found = fnvmap_at(&p->at_event_of, key)); key++)
        if (p->at_events.v[*found - 1].before == m->before && p->at_events.v[*found - 1].after == m->after)
            break;
    if (!*found) {
        vec_push(&p->at_events, *m);
        *found = p->at_events.n;
    }
    OpenAtEvent *old = &p->at_events.v[*found - 1];
    if (!prove_same_opens(&old->open[0], &m->open[0]) || !prove_same_opens(&old->open[1], &m->open[1]))
        prove_unite_opens(p, old->open, m->open);
}

void prove_at_event(Prover *p, const Instr *before, const Instr *after)
{
    Opens closing = p->open[PROVE_AFTER];
    prove_catch_up(p, prove_is_unseen(before) && prove_is_unseen(after) ? after : NULL);
    if (!p->values_hold)
        return;
    follow_trail(p, before ? (u64)(uintptr_t)before : 1);
    const Instr *end = before ? NULL : p->place[PROVE_BEFORE].at;
    bool returns = !before && !(end && op_has(end->op, OPF_ENDS_THREAD));
    note_at_event(p, &(OpenAtEvent){before, after, returns, {p->open[PROVE_BEFORE], closing}});
}
