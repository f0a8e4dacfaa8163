/* Which threads execute together. A branch that may part threads is open on a path until the path comes to where they join
 * again, its immediate post-dominator. At a convergent event, those branches of AFTER that are open must have been decided by
 * branches of BEFORE whose threads have not joined again either: then nobody is parted there who was together before.
 *
 * Where a branch of AFTER closes while one of BEFORE that it stands for is still open, threads wait earlier than before. */
#include "prove/prover.h"
#include "prove/waits.h"

static Opens without(Prover *p, Opens from, u32 at)
{
    Open *v = arena_array(p->arena, Open, from.n);
    for (u32 k = 0; k + 1 < from.n; k++)
        v[k] = from.v[k + (k >= at)];
    return (Opens){from.n - 1, v};
}

static Opens with(Prover *p, Opens to, Open o)
{
    Open *v = arena_array(p->arena, Open, to.n + 1);
    u32 n = 0;
    bool placed = false;
    for (u32 k = 0; k < to.n; k++) {
        if (!placed && to.v[k].block >= o.block) {
            if (to.v[k].block == o.block) /* once more, in a loop: this time counts for its condition */
                o.reason = prove_reason_or(p, o.reason, to.v[k].reason);
            v[n++] = o;
            placed = true;
        }
        if (to.v[k].block != o.block)
            v[n++] = to.v[k];
    }
    if (!placed)
        v[n++] = o;
    return (Opens){n, v};
}

/* ---- parting and joining --------------------------------------------------------------------------------------------------- */

static ReasonId open_before(Prover *p)
{
    VecU32 block = {0};
    for (u32 k = 0; k < p->open[PROVE_BEFORE].n; k++)
        if (bitset_has(&p->side[PROVE_BEFORE].g.splits, p->open[PROVE_BEFORE].v[k].block))
            vec_push(&block, p->open[PROVE_BEFORE].v[k].block);
    ReasonId made = prove_reason(p, block.v, block.n);
    vec_free(&block);
    return made;
}

/* A branch of AFTER promises to be uniform, and is not seen to be: whether those of BEFORE that decided it were. A jump table
 * promises that its index is: then that of a jump table which promised the same must have decided. */
static bool keeps_promise(const Prover *p, const Instr *end, ReasonId reason)
{
    const VecU32 *r = prove_reasons(p, reason);
    for (u32 k = 0; k < r->n; k++) {
        if ((r->v[k] & PROVE_REASON_AFTER) || bitset_has(&p->side[PROVE_BEFORE].g.splits, r->v[k]))
            return false;
        const Instr *by = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, r->v[k]));
        if (end->op->opcode == OPC_BRX_IDX && by->op->opcode != OPC_BRX_IDX)
            return false;
    }
    return end->op->opcode != OPC_BRX_IDX || r->n > 0;
}

/* The branch of BEFORE on the same condition, or its opposite: best one whose threads have not joined yet. 0 if there is none. */
static ReasonId same_condition(Prover *p, Term cond)
{
    Term opposite = prove_bits(&p->t, cond) == 1 ? prove_not(&p->t, cond) : cond;
    if (prove_is_const(&p->t, cond))
        return 0;
    for (u32 k = p->open[PROVE_BEFORE].n; k-- > 0;) {
        const Open *o = &p->open[PROVE_BEFORE].v[k];
        if (o->cond && (o->cond == cond || o->cond == opposite))
            return prove_reason(p, &o->block, 1);
    }
    for (const Passed *b = p->branches; b; b = b->next)
        if (b->cond == cond || b->cond == opposite)
            return prove_reason(p, &b->block, 1);
    return 0;
}

static void note_passed(Prover *p, const Block *b, Term cond)
{
    Passed *made = arena_new(p->arena, Passed);
    *made = (Passed){b->id, cond, p->branches};
    p->branches = made;
}

void prove_part(Prover *p, ProveSide side, Term cond, ReasonId reason)
{
    const Block *b = p->place[side].block;
    const Instr *end = block_terminator(b);
    if (!p->values_hold)
        return;
    if (side == PROVE_BEFORE)
        note_passed(p, b, cond);
    if (side == PROVE_AFTER && !bitset_has(&p->side[side].g.splits, b->id))
        return; /* those of BEFORE are kept for their conditions */
    if (side == PROVE_AFTER && reason == 0) /* the path itself decides: branches of BEFORE that are open led to it */
        reason = open_before(p);
    if (side == PROVE_AFTER && op_has(end->op, OPF_UNIFORM_HINT) && !keeps_promise(p, end, reason))
        prove_fail(p, PROVE_UNKNOWN, "convergence: a branch promises to be uniform, which is not seen");
    ReasonId same = side == PROVE_AFTER ? same_condition(p, cond) : 0;
    p->open[side] = with(p, p->open[side], (Open){b->id, side == PROVE_BEFORE ? 0 : same ? same : reason,
        side == PROVE_BEFORE ? cond : 0});
}

static bool is_open(const Opens *o, u32 block)
{
    for (u32 k = 0; k < o->n; k++)
        if (o->v[k].block == block)
            return true;
    return false;
}

/* A branch of AFTER closes: whether one of BEFORE that decided it, and that parts threads, is still open. */
static bool closes_early(const Prover *p, const Open *o)
{
    const VecU32 *r = prove_reasons(p, o->reason);
    for (u32 k = 0; k < r->n; k++)
        if (!(r->v[k] & PROVE_REASON_AFTER) && bitset_has(&p->side[PROVE_BEFORE].g.splits, r->v[k]) &&
            is_open(&p->open[PROVE_BEFORE], r->v[k]))
            return true;
    return false;
}

u32 prove_line(const Function *fn, const Instr *i)
{
    u32 line = 1, at = i && i->text.beg < i->text.end ? i->text.beg : fn->text.end;
    for (u32 k = 0; k < at && k < fn->module->text.len; k++)
        line += fn->module->text.p[k] == '\n';
    return line;
}

/* The branch of AFTER and those of BEFORE that decided it. */
static const char *describe_open(const Prover *p, const Open *o)
{
    const Function *f = p->side[PROVE_BEFORE].fn, *g = p->side[PROVE_AFTER].fn;
    const VecU32 *r = prove_reasons(p, o->reason);
    char *text = arena_printf(p->arena, "the branch in line %u, which stands for", prove_line(g, block_terminator(fn_block(g, o->block))));
    for (u32 k = 0; k < r->n && k < 6; k++)
        if (r->v[k] & PROVE_REASON_AFTER)
            text = arena_printf(p->arena, "%s none", text);
        else
            text = arena_printf(p->arena, "%s %u", text, prove_line(f, block_terminator(fn_block(f, r->v[k]))));
    return text;
}

/* Whether a thread may wait for another one between the branch and where its threads now join. */
static bool waits_between(Prover *p, const Open *o)
{
    Graph *g = &p->side[PROVE_AFTER].g;
    const BitSet *between = prove_influence(g, fn_block(g->fn, o->block));
    if (!p->waits.word)
        p->waits = prove_waits(g);
    for (u32 id = bitset_next(between, 0); id < between->bits; id = bitset_next(between, id + 1))
        if (bitset_has(&p->waits, id))
            return true;
    return false;
}

void prove_enter(Prover *p, ProveSide side, const Block *to)
{
    for (u32 k = p->open[side].n; k-- > 0;) {
        Open o = p->open[side].v[k];
        if (p->side[side].g.postdom[o.block] != to->id)
            continue;
        if (side == PROVE_AFTER && closes_early(p, &o) && (p->gathers || waits_between(p, &o)))
            p->early = describe_open(p, &o);
        p->open[side] = without(p, p->open[side], k);
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------------------- */

/* Sees who is there. */
static bool gathers(const Instr *i)
{
    return i->kind == INSTR_OP && op_has(i->op, OPF_CONVERGENT) && !op_has(i->op, OPF_NAMES_THREADS);
}

static bool decided_by_open(Prover *p, const Open *o, const Block *at)
{
    const VecU32 *r = prove_reasons(p, o->reason);
    for (u32 k = 0; k < r->n; k++) {
        if (r->v[k] & PROVE_REASON_AFTER)
            return false;
        if (bitset_has(&p->side[PROVE_BEFORE].g.splits, r->v[k]) &&
            !prove_influences(&p->side[PROVE_BEFORE].g, fn_block(p->side[PROVE_BEFORE].fn, r->v[k]), at))
            return false;
    }
    return true;
}

static bool is_represented(const Prover *p, u32 block)
{
    for (u32 k = 0; k < p->open[PROVE_AFTER].n; k++) {
        const VecU32 *r = prove_reasons(p, p->open[PROVE_AFTER].v[k].reason);
        for (u32 i = 0; i < r->n; i++)
            if (r->v[i] == block)
                return true;
    }
    return false;
}

bool prove_together(Prover *p, const Instr *before, const Instr *after, const char **why)
{
    *why = "convergence: other threads may take part in";
    if (!p->values_hold)
        return true;
    if (!op_has(before->op, OPF_CONVERGENT) && !op_has(after->op, OPF_CONVERGENT))
        return true;
    for (u32 k = 0; k < p->open[PROVE_AFTER].n; k++)
        if (!decided_by_open(p, &p->open[PROVE_AFTER].v[k], before->block)) {
            *why = arena_printf(p->arena, "convergence: threads may be parted by %s", describe_open(p, &p->open[PROVE_AFTER].v[k]));
            return false;
        }
    for (u32 k = 0; gathers(before) && k < p->open[PROVE_BEFORE].n; k++)
        if (bitset_has(&p->side[PROVE_BEFORE].g.splits, p->open[PROVE_BEFORE].v[k].block) &&
            !is_represented(p, p->open[PROVE_BEFORE].v[k].block))
            return false;
    return true;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------------ */

/* Promises count as well. */
static bool asks_for_threads(const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && (op_has(i->op, OPF_CONVERGENT) || (op_has(i->op, OPF_BRANCH) && op_has(i->op, OPF_UNIFORM_HINT))))
                return true;
    return false;
}

bool prove_threads_matter(Prover *p)
{
    BitSet waits = prove_waits(&p->side[PROVE_AFTER].g);
    return asks_for_threads(p->side[0].fn) || asks_for_threads(p->side[1].fn) || bitset_count(&waits) > 0;
}

void prove_threads_init(Prover *p)
{
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            p->gathers |= gathers(i);
}

/* Whoever waits earlier may wait for somebody who now waits for it. */
void prove_threads_done(Prover *p)
{
    if (p->early)
        prove_fail(p, PROVE_UNKNOWN, "waiting: threads join earlier than before behind %s", p->early);
}
