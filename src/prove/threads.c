/* Which threads execute together. A branch that may part threads is open on a path until the path comes to where they join
 * again, its immediate post-dominator. Threads are together while they took the same edge of every branch that is open.
 *
 * Each time a path passes a branch of AFTER it is noted which edge it takes, and which edges the branches of BEFORE that are open
 * then took. When all paths are known, three things are asked:
 *   at convergent events   threads that took different edges of an open branch of AFTER also did so at a branch of BEFORE that
 *                          was open all the time since: nobody is missing;
 *   at those that see who is there   the opposite, too: nobody new is there;
 *   where a branch of AFTER closes that threads may wait after    all branches that are open in BEFORE still are in AFTER:
 *                          nobody waits earlier than before. */
#include <stdlib.h>
#include <string.h>

#include "prove/prover.h"

enum { PASSINGS_MAX = 96 /* of one branch, that differ and are kept apart */ };

/* ---- groups of blocks ------------------------------------------------------------------------------------------------------- */

/* The list, which is copied. */
static GroupId group(Prover *p, const u32 *v, u32 n)
{
    u64 hash = 0xcbf29ce484222325u;
    if (n == 0)
        return 0;
    for (u32 k = 0; k < n; k++)
        hash = (hash ^ v[k]) * 0x100000001b3u;
    for (u64 *found; (found = fnvmap_at(&p->group_of, hash)); hash++) {
        const VecU32 *old = &p->groups.v[*found];
        if (*found && old->n == n && memcmp(old->v, v, n * sizeof *v) == 0)
            return (GroupId)*found;
        if (*found)
            continue;
        VecU32 made = {0};
        for (u32 k = 0; k < n; k++)
            vec_push(&made, v[k]);
        *found = p->groups.n;
        vec_push(&p->groups, made);
        break;
    }
    return p->groups.n - 1;
}

static bool is_in_group(const Prover *p, GroupId id, u32 block)
{
    const VecU32 *g = &p->groups.v[id];
    for (u32 k = 0; k < g->n; k++)
        if (g->v[k] == block)
            return true;
    return false;
}

GroupId prove_group_and(Prover *p, GroupId a, GroupId b)
{
    VecU32 both = {0};
    if (a == b)
        return a;
    for (u32 k = 0; k < p->groups.v[a].n; k++)
        if (is_in_group(p, b, p->groups.v[a].v[k]))
            vec_push(&both, p->groups.v[a].v[k]);
    GroupId made = group(p, both.v, both.n);
    vec_free(&both);
    return made;
}

static GroupId group_without(Prover *p, GroupId a, u32 block)
{
    VecU32 kept = {0};
    if (!is_in_group(p, a, block))
        return a;
    for (u32 k = 0; k < p->groups.v[a].n; k++)
        if (p->groups.v[a].v[k] != block)
            vec_push(&kept, p->groups.v[a].v[k]);
    GroupId made = group(p, kept.v, kept.n);
    vec_free(&kept);
    return made;
}

static GroupId group_of_open(Prover *p, const Opens *o, bool also_joined)
{
    VecU32 block = {0};
    for (u32 k = 0; k < o->n; k++)
        if (!o->v[k].joined || also_joined)
            vec_push(&block, o->v[k].block);
    GroupId made = group(p, block.v, block.n);
    vec_free(&block);
    return made;
}

/* ---- open branches ---------------------------------------------------------------------------------------------------------- */

static const Open *find_open(const Opens *o, u32 block)
{
    for (u32 k = 0; k < o->n; k++)
        if (o->v[k].block == block)
            return &o->v[k];
    return NULL;
}

static Opens without(Prover *p, Opens from, u32 at)
{
    Open *v = arena_array(p->arena, Open, from.n);
    for (u32 k = 0; k + 1 < from.n; k++)
        v[k] = from.v[k + (k >= at)];
    return (Opens){from.n - 1, v};
}

/* Once more, in a loop: threads that part now may have parted the times before. */
static Opens with(Prover *p, Opens to, Open o)
{
    Open *v = arena_array(p->arena, Open, to.n + 1);
    u32 n = 0;
    for (; n < to.n && to.v[n].block < o.block; n++)
        v[n] = to.v[n];
    bool again = n < to.n && to.v[n].block == o.block;
    if (again) {
        o.alive = prove_group_and(p, o.alive, to.v[n].alive);
        o.late = prove_group_and(p, o.late, to.v[n].late);
    }
    v[n] = o;
    for (u32 k = n + again; k < to.n; k++)
        v[++n] = to.v[k];
    return (Opens){n + 1, v};
}

static bool parts(const Prover *p, ProveSide side, u32 block) { return bitset_has(&p->side[side].g.splits, block); }

/* ---- passing a branch ------------------------------------------------------------------------------------------------------- */

static bool same_successors(const Opens *a, const Opens *b)
{
    for (u32 k = 0; k < a->n && a->n == b->n; k++)
        if (a->v[k].block != b->v[k].block || a->v[k].went != b->v[k].went)
            return false;
    return a->n == b->n;
}

/* What is open in one of both. Where they do not agree on the successor it is 0, which claims nothing: what is concluded from the
 * union holds of each of them. */
static Opens unite(Prover *p, const Opens *a, const Opens *b)
{
    Open *v = arena_array(p->arena, Open, a->n + b->n);
    u32 n = 0;
    for (u32 i = 0, k = 0; i < a->n || k < b->n; n++) {
        bool from_a = k == b->n || (i < a->n && a->v[i].block <= b->v[k].block);
        bool from_b = i == a->n || (k < b->n && b->v[k].block <= a->v[i].block);
        v[n] = from_a ? a->v[i] : b->v[k];
        if (!from_a || !from_b || a->v[i].went != b->v[k].went)
            v[n].went = 0;
        i += from_a;
        k += from_b;
    }
    return (Opens){n, v};
}

/* Those of one branch beyond the limit are one for each successor. */
static void note_passing(Prover *p, u32 block, u32 went)
{
    Passing *rest = NULL;
    u32 count = 0;
    for (Passing *k = p->passings.v[block]; k; k = k->next, count++) {
        if (k->went == went && same_successors(&k->before, &p->open[PROVE_BEFORE]))
            return;
        rest = k->went == went && k->of_many ? k : rest;
    }
    if (rest) {
        Opens all = unite(p, &rest->before, &p->open[PROVE_BEFORE]);
        if (!same_successors(&all, &rest->before))
            rest->before = all;
        return;
    }
    Passing *made = arena_new(p->arena, Passing);
    *made = (Passing){went, count >= PASSINGS_MAX, p->open[PROVE_BEFORE], p->passings.v[block]};
    p->passings.v[block] = made;
}

/* A jump table that promises an equal index: one of BEFORE on the same index, which promised the same, must be there. */
static bool is_promised_index(const Prover *p, Term index)
{
    for (const Passed *b = p->branches; b; b = b->next) {
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, b->block));
        if (b->cond == index && end->op->opcode == OPC_BRX_IDX && !parts(p, PROVE_BEFORE, b->block))
            return true;
    }
    for (u32 k = 0; k < p->open[PROVE_BEFORE].n; k++) {
        const Open *o = &p->open[PROVE_BEFORE].v[k];
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, o->block));
        if (o->cond == index && end->op->opcode == OPC_BRX_IDX && !parts(p, PROVE_BEFORE, o->block))
            return true;
    }
    return false;
}

static void pass_before(Prover *p, const Block *b, Term cond, const Block *to)
{
    Passed *made = arena_new(p->arena, Passed);
    *made = (Passed){b->id, cond, p->branches};
    p->branches = made;
    const Open *old = find_open(&p->open[PROVE_BEFORE], b->id);
    Open o = {.block = b->id, .went = to->id + 1, .cond = cond, .is_new = !old || old->is_new || old->joined};
    p->open[PROVE_BEFORE] = with(p, p->open[PROVE_BEFORE], o);
}

void prove_part(Prover *p, ProveSide side, Term cond, const Block *to)
{
    const Block *b = p->place[side].block;
    const Instr *end = block_terminator(b);
    if (!p->values_hold)
        return;
    if (side == PROVE_BEFORE) {
        pass_before(p, b, cond, to);
        return;
    }
    if (!parts(p, side, b->id))
        return;
    note_passing(p, b->id, to->id + 1);
    if (op_has(end->op, OPF_UNIFORM_HINT) && end->op->opcode == OPC_BRX_IDX && !is_promised_index(p, cond))
        prove_fail(p, PROVE_UNKNOWN, "convergence: a jump table promises an equal index, which is not seen");
    const Opens *before = &p->open[PROVE_BEFORE];
    Open o = {.block = b->id, .went = to->id + 1};
    o.alive = group_of_open(p, before, false);
    o.late = group_of_open(p, before, true);
    p->open[side] = with(p, p->open[side], o);
}

/* ---- closing a branch ------------------------------------------------------------------------------------------------------- */

/* Whether a thread may wait for another one between the branch and where its threads now join. */
static bool waits_between(Prover *p, u32 block, bool on_strong)
{
    Graph *g = &p->side[PROVE_AFTER].g;
    const BitSet *between = prove_influence(g, fn_block(g->fn, block));
    Waits *waits = &p->waits[on_strong];
    if (!waits->blocks.word)
        *waits = prove_waits(g, &p->callees, on_strong);
    return prove_waits_in(waits, between);
}

/* The branch of BEFORE at this index: its threads have joined. */
static void join_before(Prover *p, u32 at)
{
    Opens before = p->open[PROVE_BEFORE], after = p->open[PROVE_AFTER];
    Open *b = arena_array(p->arena, Open, before.n), *a = arena_array(p->arena, Open, after.n);
    for (u32 k = 0; k < before.n; k++)
        b[k] = before.v[k];
    b[at].joined = true;
    for (u32 k = 0; k < after.n; k++) {
        a[k] = after.v[k];
        a[k].alive = group_without(p, a[k].alive, b[at].block);
    }
    p->open[PROVE_BEFORE] = (Opens){before.n, b};
    p->open[PROVE_AFTER] = (Opens){after.n, a};
}

void prove_catch_up(Prover *p)
{
    Opens from = p->open[PROVE_BEFORE];
    bool any = false;
    for (u32 k = 0; k < from.n; k++)
        any |= from.v[k].joined || from.v[k].is_new;
    if (!any)
        return;
    Open *v = arena_array(p->arena, Open, from.n);
    u32 n = 0;
    for (u32 k = 0; k < from.n; k++)
        if (!from.v[k].joined) {
            v[n] = from.v[k];
            v[n++].is_new = false;
        }
    p->open[PROVE_BEFORE] = (Opens){n, v};
    Opens after = p->open[PROVE_AFTER];
    Open *a = arena_array(p->arena, Open, after.n);
    for (u32 k = 0; k < after.n; k++) {
        a[k] = after.v[k];
        a[k].late = a[k].alive;
    }
    p->open[PROVE_AFTER] = (Opens){after.n, a};
}

static bool any_parts(const Prover *p, ProveSide side)
{
    for (u32 k = 0; k < p->open[side].n; k++)
        if (!p->open[side].v[k].joined && parts(p, side, p->open[side].v[k].block))
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

static u32 line_of_branch(const Prover *p, ProveSide side, u32 block)
{
    const Function *fn = p->side[side].fn;
    return prove_line(fn, block_terminator(fn_block(fn, block)));
}

void prove_enter(Prover *p, ProveSide side, const Block *to)
{
    for (u32 k = p->open[side].n; k-- > 0;) {
        u32 block = p->open[side].v[k].block;
        if (p->side[side].g.postdom[block] != to->id || p->open[side].v[k].joined)
            continue;
        if (side == PROVE_BEFORE) {
            join_before(p, k);
            continue;
        }
        Open closed = p->open[side].v[k];
        p->open[side] = without(p, p->open[side], k);
        bool is_behind = p->place[PROVE_BEFORE].joins;
        if ((is_behind || any_parts(p, PROVE_BEFORE)) && waits_between(p, block, false))
            vec_push(&p->meetings, ((Meeting){.closed = closed, .open = {p->open[0], p->open[1]}, .is_behind = is_behind}));
    }
}

/* ---- what branches say of one another ------------------------------------------------------------------------------------------ */

/* Whether threads that passed so differently were parted by a branch of BEFORE: one of `alive`, or, without it, a uniform one. */
static bool were_parted(const Prover *p, const Passing *a, const Passing *b, const GroupId *alive)
{
    for (u32 i = 0, k = 0; i < a->before.n && k < b->before.n;) {
        const Open *x = &a->before.v[i], *y = &b->before.v[k];
        if (x->block == y->block && x->went && y->went && x->went != y->went &&
            (alive ? is_in_group(p, *alive, x->block) : !parts(p, PROVE_BEFORE, x->block)))
            return true;
        i += x->block <= y->block;
        k += y->block <= x->block;
    }
    return false;
}

/* Whether all threads that part at the branch of AFTER, some of them on `went` unless that is 0, were parted in BEFORE. */
static bool look_for_parted(const Prover *p, u32 block, u32 went, const GroupId *alive)
{
    for (const Passing *a = p->passings.v[block]; a; a = a->next)
        for (const Passing *b = p->passings.v[block]; b; b = b->next)
            if ((went == 0 || a->went == went) && a->went != b->went && !were_parted(p, a, b, alive))
                return false;
    return true;
}

/* Many events ask the same. */
static bool parts_nobody_else(Prover *p, const Open *after)
{
    u32 question[] = {after->block, after->went, after->alive};
    u64 *answer = fnvmap_at(&p->answers, group(p, question, COUNT_OF(question)));
    if (!*answer)
        *answer = 1 + look_for_parted(p, after->block, after->went, &after->alive);
    return *answer == 2;
}

/* Whether threads that go together at the branch of AFTER did so at that of BEFORE. Those that never came to it were parted
 * from the others by another one, which is open as long. */
static bool look_for_together(const Prover *p, const Open *after, u32 before)
{
    for (const Passing *a = p->passings.v[after->block]; a; a = a->next) {
        const Open *x = find_open(&a->before, before);
        if (after->went && a->went != after->went)
            continue;
        if (x && x->went == 0)
            return false;
        for (const Passing *b = a->next; b && x; b = b->next) {
            const Open *y = find_open(&b->before, before);
            if (y && a->went == b->went && x->went != y->went)
                return false;
        }
    }
    return true;
}

static bool stands_for(Prover *p, const Open *after, u32 before)
{
    u32 question[] = {after->block, after->went, after->alive, before};
    if (!is_in_group(p, after->alive, before))
        return false;
    u64 *answer = fnvmap_at(&p->answers, group(p, question, COUNT_OF(question)));
    if (!*answer)
        *answer = 1 + look_for_together(p, after, before);
    return *answer == 2;
}

/* The first branch from `k` on that is open in BEFORE and that none open in AFTER stands for; NULL: all have one. */
static const Open *not_represented(Prover *p, const Meeting *m, u32 k)
{
    for (; k < m->open[PROVE_BEFORE].n; k++) {
        const Open *o = &m->open[PROVE_BEFORE].v[k];
        bool found = o->joined || !parts(p, PROVE_BEFORE, o->block);
        for (u32 i = 0; i < m->open[PROVE_AFTER].n && !found; i++)
            found = stands_for(p, &m->open[PROVE_AFTER].v[i], o->block);
        if (!found)
            return o;
    }
    return NULL;
}

/* ---- convergent events -------------------------------------------------------------------------------------------------------- */

/* Depends on which threads execute it together. */
static bool is_convergent(Prover *p, const Instr *i)
{
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(&p->callees, i, p->arena) & CALLEE_TOGETHER;
    return i->kind == INSTR_OP && op_has(i->op, OPF_CONVERGENT);
}

/* Sees who is there. */
static bool gathers(Prover *p, const Instr *i) { return is_convergent(p, i) && !op_has(i->op, OPF_NAMES_THREADS); }

void prove_meet(Prover *p, const Instr *before, const Instr *after)
{
    prove_catch_up(p);
    if (p->values_hold && (is_convergent(p, before) || is_convergent(p, after)))
        vec_push(&p->meetings, ((Meeting){.before = before, .after = after, .open = {p->open[0], p->open[1]}}));
}

static void check_event(Prover *p, const Meeting *m)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    for (u32 k = 0; k < m->open[PROVE_AFTER].n && !p->failed; k++) {
        const Open *o = &m->open[PROVE_AFTER].v[k];
        if (!parts_nobody_else(p, o))
            prove_fail(
                p, PROVE_UNKNOWN,
                "convergence: the branch in line %u of AFTER may part threads that are together at `%.60s` in line %u",
                line_of_branch(p, PROVE_AFTER, o->block), m->before->op->text->text, prove_line(fn, m->before));
    }
    const Open *lost = gathers(p, m->before) && !p->failed ? not_represented(p, m, 0) : NULL;
    if (lost)
        prove_fail(p, PROVE_UNKNOWN,
                   "convergence: threads that the branch in line %u of BEFORE parts may be together at `%.60s` in line %u",
                   line_of_branch(p, PROVE_BEFORE, lost->block), m->before->op->text->text, prove_line(fn, m->before));
}

/* Whether these took different edges of this branch of BEFORE: at others, too, it may be either that AFTER parts them by. */
static bool differ_at(const Passing *a, const Passing *b, u32 before)
{
    const Open *x = find_open(&a->before, before), *y = find_open(&b->before, before);
    return x && y && x->went != y->went;
}

/* Whether where threads went at the branch of AFTER that closes has to do with that of BEFORE. */
static bool depends(const Prover *p, const Meeting *m, u32 before)
{
    for (const Passing *a = p->passings.v[m->closed.block]; a; a = a->next)
        for (const Passing *b = a->next; b; b = b->next)
            if (a->went != b->went && (a->of_many || b->of_many || differ_at(a, b, before)))
                return true;
    return false;
}

/* Whether threads that part at this branch of BEFORE may wait for one another where that of AFTER closes. BEFORE may have passed
 * a branch that AFTER is not at yet: it counts if it was open when that of AFTER was passed. */
static bool waits_for(Prover *p, const Meeting *m, const Open *before)
{
    if (before->is_new && !is_in_group(p, m->closed.alive, before->block))
        return false;
    return depends(p, m, before->block) || (!before->is_new && waits_between(p, m->closed.block, true));
}

/* Whoever waits earlier may wait for somebody who now waits for it. Where BEFORE is at a join it may have yet to part the threads
 * that join here: they must be those that it parted before, and that have stayed so up to now. */
static void check_closing(Prover *p, const Meeting *m)
{
    if (m->is_behind && !look_for_parted(p, m->closed.block, m->closed.went, &m->closed.late))
        prove_fail(p, PROVE_UNKNOWN,
                   "waiting: threads join after the branch in line %u of AFTER, where BEFORE may have yet to part them",
                   line_of_branch(p, PROVE_AFTER, m->closed.block));
    const Open *lost = not_represented(p, m, 0);
    while (lost && !waits_for(p, m, lost))
        lost = not_represented(p, m, (u32)(lost - m->open[PROVE_BEFORE].v) + 1);
    if (lost)
        prove_fail(p, PROVE_UNKNOWN,
                   "waiting: threads that part in line %u join after the branch in line %u of AFTER, earlier than before",
                   line_of_branch(p, PROVE_BEFORE, lost->block), line_of_branch(p, PROVE_AFTER, m->closed.block));
}

/* A branch of AFTER that promises not to part threads, and is not seen not to: branches of BEFORE promised it. */
static void check_promises(Prover *p)
{
    const Function *fn = p->side[PROVE_AFTER].fn;
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        if (!p->failed && end && op_has(end->op, OPF_UNIFORM_HINT) && parts(p, PROVE_AFTER, b->id) &&
            !look_for_parted(p, b->id, 0, NULL))
            prove_fail(p, PROVE_UNKNOWN,
                       "convergence: the branch in line %u of AFTER promises to be uniform, which is not seen",
                       prove_line(fn, end));
    }
}

/* ---- the whole function ---------------------------------------------------------------------------------------------------------- */

/* Promises count as well. */
static bool asks_for_threads(Prover *p, const Function *fn)
{
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (is_convergent(p, i) ||
                (i->kind == INSTR_OP && op_has(i->op, OPF_BRANCH) && op_has(i->op, OPF_UNIFORM_HINT)))
                return true;
    return false;
}

bool prove_threads_matter(Prover *p)
{
    Waits waits = prove_waits(&p->side[PROVE_AFTER].g, &p->callees, false);
    return asks_for_threads(p, p->side[0].fn) || asks_for_threads(p, p->side[1].fn) || bitset_count(&waits.blocks) > 0 ||
           waits.loops > 0;
}

void prove_threads_init(Prover *p)
{
    for (u32 k = 0; k < p->side[PROVE_AFTER].g.n; k++)
        vec_push(&p->passings, ((Passing *)NULL));
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            p->gathers |= gathers(p, i);
}

void prove_threads_done(Prover *p)
{
    for (u32 k = 0; k < p->meetings.n && !p->failed; k++) {
        const Meeting *m = &p->meetings.v[k];
        if (m->before)
            check_event(p, m);
        else
            check_closing(p, m);
    }
    check_promises(p);
}
