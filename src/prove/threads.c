/* Which threads execute together, and who waits for whom.
 *
 * A branch that may divide threads is open on a path until the path comes to where they join again, its immediate post-dominator.
 * Threads are together while they took the same edge of every branch that is open; who comes to the join first waits there.
 *
 * Each time a path passes a branch of AFTER it is noted what is open in both texts: a passing. Threads that diverge there, T and U,
 * are a pair of passings that went to different successors; they were together, so that both took the same edges of what is open in AFTER.
 * At each event, where both texts are at the same place, it is noted what is open, and what closed since the last event. When all
 * paths are known, this is asked:
 *   at convergent events   threads that diverge at an open branch of AFTER also did so at a branch of BEFORE that has been open all
 *                          the time since: nobody is missing;
 *   at those that see who is there   the opposite, too: an open branch of BEFORE is covered by one of AFTER, that is: threads that
 *                          took the same edge of this one did so at that one;
 *   at the event after a branch A of AFTER has closed   T has waited there for each U that is still between A and the join, and
 *                          has not executed the event. If U may wait for another thread there, T waits for U in BEFORE, too.
 *
 * The last one holds if BEFORE has no branch open at T's event that divided T and U (is_harmless). It has not, if
 *   - all that are open then were passed before A, and T and U took the same edge of each; or
 *   - T and U were divided by a branch D of BEFORE that T has joined by its event and U, wherever it may wait, has not: T comes past
 *     the join of D only when U does. A branch that T passed after that divides T from U only when U has come, too.
 *
 * What two passings say of a branch of BEFORE counts if it is said of one and the same time that both threads came to it. A branch
 * on no cycle is passed once. Of others it is so if who is together in AFTER is in the same iteration of the loops of BEFORE: their
 * region is aligned. Then two threads that passed the branch once since the last event, and since AFTER's last iteration began, did so
 * in the same iteration. A region is aligned if at all events
 *   - its branches that are open in BEFORE are covered: whom they have divided AFTER has divided, too;
 *   - and in it, threads that a branch of AFTER has joined since the last event were divided in BEFORE up to that event, and are not
 *     any more: nobody comes together with those of another iteration;
 *   - and who is at one place of AFTER is in the same region of BEFORE, or in none.
 * This is taken for granted and refuted: the first time that it is not so one of the three fails.
 *
 * It is also said of one time if the passings are of one block of AFTER in the partner of the branch's loop, both say the same of the
 * iteration in which BEFORE passed the branch, and all loops around are in step in both texts (iterations.h). A loop is in step if
 * nobody joins in it who may have begun another number of its iterations since parting: then who is together in it is in the same
 * iteration. Threads that parted at a branch of BEFORE in one iteration, together or not, are apart until both have come to its join:
 * would they come together before, the branch where they parted then lies in front, and its join behind this one. */
#include <stdlib.h>
#include <string.h>

#include "prove/prover.h"

/* ---- paths -------------------------------------------------------------------------------------------------------------------- */

static bool divides(const Prover *p, ProveSide side, u32 block) { return bitset_has(&p->side[side].g.splits, block); }

/* A jump table that promises an equal index: one of BEFORE on the same index, which promised the same, must be there. */
static bool is_promised_index(const Prover *p, Term index)
{
    for (const Passed *b = p->branches; b; b = b->next) {
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, b->block));
        if (b->cond == index && end->op->opcode == OPC_BRX_IDX && !divides(p, PROVE_BEFORE, b->block))
            return true;
    }
    for (u32 k = 0; k < p->open[PROVE_BEFORE].n; k++) {
        const Open *o = &p->open[PROVE_BEFORE].v[k];
        const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, o->block));
        if (o->cond == index && end->op->opcode == OPC_BRX_IDX && !divides(p, PROVE_BEFORE, o->block))
            return true;
    }
    return false;
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
        prove_pass_before(p, b->id, to->id + 1, cond);
        return;
    }
    if (!divides(p, side, b->id))
        return;
    if (op_has(end->op, OPF_UNIFORM_HINT) && end->op->opcode == OPC_BRX_IDX && !is_promised_index(p, cond))
        prove_fail(p, PROVE_UNKNOWN, "convergence: a jump table promises an equal index, which is not seen");
    prove_pass_after(p, b->id, to->id + 1);
}

/* Depends on which threads execute it together. */
static bool is_convergent(Prover *p, const Instr *i)
{
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(&p->callees, i, p->arena) & CALLEE_TOGETHER;
    return i->kind == INSTR_OP && op_has(i->op, OPF_CONVERGENT);
}

/* Sees who is there. */
static bool gathers(Prover *p, const Instr *i) { return is_convergent(p, i) && !op_has(i->op, OPF_NAMES_THREADS); }

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

/* Whether no other thread sees that it is executed, and when: it reads weakly, or accesses memory of the thread's own. */
static bool is_unseen(const Instr *i)
{
    return i && i->kind == INSTR_OP && prove_is_plain_access(i->op) &&
           (i->op->mem == MEM_READ || prove_is_private_access(i->op));
}

void prove_at_event(Prover *p, const Instr *before, const Instr *after)
{
    Opens closing = p->open[PROVE_AFTER];
    prove_catch_up(p, is_unseen(before) && is_unseen(after) ? after : NULL);
    if (!p->values_hold)
        return;
    follow_trail(p, before ? (u64)(uintptr_t)before : 1);
    note_at_event(p, &(OpenAtEvent){before, after, {p->open[PROVE_BEFORE], closing}});
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

/* ---- two passings of one branch ------------------------------------------------------------------------------------------------- */

/* Whether threads can be together at the branch and have passed so: they took the same edges of what is open in AFTER. */
static bool can_be_together(const Passing *a, const Passing *b)
{
    for (u32 from = 0; from < 2; from++) {
        const Opens *x = &(from ? b : a)->open[PROVE_AFTER], *y = &(from ? a : b)->open[PROVE_AFTER];
        for (u32 k = 0; k < x->n; k++) {
            const Open *other = prove_find_open(y, x->v[k].block);
            if (x->v[k].went && !x->v[k].joined &&
                (!other || other->joined || (other->went && other->went != x->v[k].went)))
                return false;
        }
    }
    return true;
}

/* Whether those who are together in AFTER are in the same iteration of the loops that the block of BEFORE is in. */
static bool is_aligned(const Prover *p, u32 block)
{
    u32 region = p->side[PROVE_BEFORE].g.region[block];
    return region && !bitset_has(&p->unaligned, region);
}

/* Whether the passings tell of one and the same time that their threads came to this branch of BEFORE: it is on no cycle, or both
 * came there since their last event. */
static bool is_same_time(const Prover *p, const Open *x, const Open *y)
{
    return !p->side[PROVE_BEFORE].g.region[x->block] ||
           (is_aligned(p, x->block) && x->moved == PROVE_MOVED && y->moved == PROVE_MOVED);
}

static bool were_divided_at(const Prover *p, const Open *x, const Open *y)
{
    return x->went && y->went && x->went != y->went && is_same_time(p, x, y);
}

/* Likewise of threads that came together to the branch of AFTER, or in one iteration of its loop. */
static bool were_parted_before(Prover *p, u32 after, const Open *x, const Open *y)
{
    return x->went && y->went && x->went != y->went &&
           (is_same_time(p, x, y) || prove_is_same_iteration(p, after, x->block, x->iteration, y->iteration));
}

/* Whether each time that a path passed the branch of AFTER that of BEFORE was open, passed in the same iteration, and the edge of the first one
 * says which edge of the other one it took. */
static bool look_for_edge(Prover *p, u32 after, u32 before, u32 iteration)
{
    for (u32 a = p->newest_passing.v[after]; a; a = p->passings.v[a].older) {
        const Open *x = prove_find_open(&p->passings.v[a].open[PROVE_BEFORE], before);
        if (!x || !x->went || x->iteration != iteration)
            return false;
        for (u32 b = p->passings.v[a].older; b; b = p->passings.v[b].older) {
            const Open *y = prove_find_open(&p->passings.v[b].open[PROVE_BEFORE], before);
            if (p->passings.v[a].went == p->passings.v[b].went && y && x->went != y->went)
                return false;
        }
    }
    return true;
}

static bool tells_edge(Prover *p, u32 after, u32 before, u32 iteration)
{
    u64 *known = fnvmap_at(&p->edges_told, ((u64)after << 32 | before) * (2 * ITERATION_SAME) + iteration);
    if (!*known)
        *known = 1 + look_for_edge(p, after, before, iteration);
    return *known == 2;
}

/* Whether the branch of BEFORE has not parted the threads at an earlier visit either. They would have parted at that of AFTER, which each
 * of them passed in between, by other edges, and not be together there now. */
static bool went_together_earlier(Prover *p, u32 after, const Open *x, const Open *y)
{
    bool is_first = x->again == (GroupId)PROVE_ALL, follows = is_first || prove_group_has(p, x->again, after);
    follows &= y->again == (GroupId)PROVE_ALL || prove_group_has(p, y->again, after);
    return is_first || prove_returns_one_way(p, x->block) ||
           (follows && prove_keeps_parted(p, after, x->block) && tells_edge(p, after, x->block, x->iteration));
}

/* Whether the branch of BEFORE, open for the threads of `a`, has not divided them from those of `b`. Those that are together at the
 * last event of texts that are aligned were not divided before it. */
static bool went_together(Prover *p, const Passing *a, const Passing *b, u32 before)
{
    const Open *x = prove_find_open(&a->open[PROVE_BEFORE], before), *y = prove_find_open(&b->open[PROVE_BEFORE], before);
    if (is_aligned(p, before) && !x->moved && (!y || !y->moved))
        return true;
    if (!y || !x->went || x->went != y->went)
        return false;
    return is_same_time(p, x, y) || (prove_is_same_iteration(p, a->block, before, x->iteration, y->iteration) &&
                                     went_together_earlier(p, a->block, x, y));
}

typedef bool PairTest(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b);

/* Whether it is so of all threads that diverged at the branch, the path's and others. */
static bool all_pairs(Prover *p, const OpenAtEvent *m, const Open *open, PairTest *test)
{
    for (u32 i = 0; i < p->groups.v[open->passed].n; i++) {
        u32 a = p->groups.v[open->passed].v[i];
        for (u32 b = p->newest_passing.v[open->block]; b; b = p->passings.v[b].older)
            if (p->passings.v[a].went != p->passings.v[b].went && can_be_together(&p->passings.v[a], &p->passings.v[b]) &&
                !test(p, m, open, a, b))
                return false;
    }
    return true;
}

/* ---- branches that cover others ----------------------------------------------------------------------------------------------- */

static bool look_for_together(Prover *p, const Open *after, u32 before)
{
    for (u32 i = 0; i < p->groups.v[after->held].n; i++) {
        const Passing *a = &p->passings.v[p->groups.v[after->held].v[i]];
        const Open *x = prove_find_open(&a->open[PROVE_BEFORE], before);
        if (!x || x->joined || (after->went && a->went != after->went))
            continue;
        for (u32 id = p->newest_passing.v[after->block]; id; id = p->passings.v[id].older) {
            const Passing *b = &p->passings.v[id];
            if (a->went == b->went && can_be_together(a, b) && !went_together(p, a, b, before))
                return false;
        }
    }
    return true;
}

/* Whether threads that are together since they passed the branch of AFTER were not divided at that of BEFORE. */
static bool covers(Prover *p, const Open *after, u32 before)
{
    u32 question[] = {after->block, after->went, after->held, before, 1};
    if (after->joined || !prove_group_has(p, after->covers, before))
        return false;
    u32 key = prove_group(p, question, COUNT_OF(question));
    if (!*fnvmap_at(&p->answers, key)) {
        u64 answer = 1 + look_for_together(p, after, before);
        *fnvmap_at(&p->answers, key) = answer;
    }
    return *fnvmap_at(&p->answers, key) == 2;
}

static bool is_covered(Prover *p, const Opens *after, u32 before)
{
    for (u32 k = 0; k < after->n; k++)
        if (covers(p, &after->v[k], before))
            return true;
    return false;
}

/* The first branch that is open in BEFORE and that none open in AFTER covers; NULL: all are. */
static const Open *not_covered(Prover *p, const OpenAtEvent *m)
{
    for (u32 k = 0; k < m->open[PROVE_BEFORE].n; k++) {
        const Open *o = &m->open[PROVE_BEFORE].v[k];
        if (divides(p, PROVE_BEFORE, o->block) && !is_covered(p, &m->open[PROVE_AFTER], o->block))
            return o;
    }
    return NULL;
}

/* ---- texts that are aligned ----------------------------------------------------------------------------------------------------- */

/* Whether threads that diverged so were divided in BEFORE at their last event, and are not any more. */
static bool join_in_both(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b)
{
    const Opens *x = &p->passings.v[a].open[PROVE_BEFORE], *y = &p->passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && were_divided_at(p, &x->v[k], other) && !prove_group_has(p, closed->early, other->block) &&
            !prove_find_open(&m->open[PROVE_BEFORE], other->block))
            return true;
    }
    return false;
}

/* Whether an iteration of a loop may begin before the threads that diverge there join again. */
static bool is_around_a_loop(Graph *g, u32 block)
{
    const BitSet *between = prove_influence(g, fn_block(g->fn, block));
    for (u32 id = bitset_next(between, 0); id < between->bits; id = bitset_next(between, id + 1))
        if (g->is_join[id] == JOIN_LOOP)
            return true;
    return false;
}

/* Branches of AFTER that are open at some event, or while an iteration begins: others make nobody be ahead. */
static BitSet lasting_branches(Prover *p)
{
    Graph *g = &p->side[PROVE_AFTER].g;
    BitSet found = bitset_new(p->arena, g->n);
    for (u32 i = 0; i < p->at_events.n; i++) {
        const Opens *o = &p->at_events.v[i].open[PROVE_AFTER];
        for (u32 k = 0; k < o->n; k++)
            if (!o->v[k].joined)
                bitset_add(&found, o->v[k].block);
    }
    for (u32 id = 0; id < g->n; id++)
        if (p->newest_passing.v[id] && is_around_a_loop(g, id))
            bitset_add(&found, id);
    return found;
}

static u32 region_of(const Prover *p, ProveSide side, const Instr *at)
{
    return at ? p->side[side].g.region[at->block->id] : 0;
}

/* Who is at one place of AFTER is in the same loops of BEFORE, or in none. */
static void compare_regions(Prover *p)
{
    u32 *before = arena_array(p->arena, u32, p->side[PROVE_AFTER].g.n + 1); /* by region of AFTER that of BEFORE, plus 1 */
    before[0] = 1;
    for (u32 again = 0; again < 2; again++)
        for (u32 i = 0; i < p->at_events.n; i++) {
            const OpenAtEvent *m = &p->at_events.v[i];
            u32 region = region_of(p, PROVE_BEFORE, m->before), *other = &before[region_of(p, PROVE_AFTER, m->after)];
            if (!*other)
                *other = region + 1;
            if (*other == region + 1)
                continue;
            *other = UINT32_MAX;
            bitset_add(&p->unaligned, region);
        }
}

/* False: nothing new was found. */
static bool find_unaligned(Prover *p, const BitSet *lasting)
{
    u32 count = bitset_count(&p->unaligned);
    fnvmap_clear(&p->answers);
    for (u32 i = 0; i < p->at_events.n; i++) {
        const OpenAtEvent *m = &p->at_events.v[i];
        const Opens *before = &m->open[PROVE_BEFORE], *after = &m->open[PROVE_AFTER];
        u32 region = region_of(p, PROVE_BEFORE, m->before);
        for (u32 k = 0; k < before->n; k++)
            if (is_aligned(p, before->v[k].block) && divides(p, PROVE_BEFORE, before->v[k].block) &&
                !is_covered(p, after, before->v[k].block))
                bitset_add(&p->unaligned, p->side[PROVE_BEFORE].g.region[before->v[k].block]);
        for (u32 k = 0; k < after->n; k++)
            if (after->v[k].closes && bitset_has(lasting, after->v[k].block) && !bitset_has(&p->unaligned, region) &&
                !all_pairs(p, m, &after->v[k], join_in_both))
                bitset_add(&p->unaligned, region);
    }
    return bitset_count(&p->unaligned) > count;
}

static void align(Prover *p)
{
    BitSet lasting = lasting_branches(p);
    p->unaligned = bitset_new(p->arena, p->side[PROVE_BEFORE].g.n + 1);
    bitset_add(&p->unaligned, 0);
    compare_regions(p);
    while (find_unaligned(p, &lasting)) {
    }
    fnvmap_clear(&p->answers);
}

/* ---- convergent events -------------------------------------------------------------------------------------------------------- */

static bool stay_apart(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b)
{
    (void)m;
    const Opens *x = &p->passings.v[a].open[PROVE_BEFORE], *y = &p->passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && !prove_group_has(p, open->shut, other->block) && were_parted_before(p, open->block, &x->v[k], other))
            return true;
    }
    return false;
}

/* Many events ask the same. */
static bool divides_nobody_else(Prover *p, const OpenAtEvent *m, const Open *open)
{
    u32 question[] = {open->block, open->passed, open->shut, 0};
    u32 key = prove_group(p, question, COUNT_OF(question));
    if (!*fnvmap_at(&p->answers, key)) {
        u64 answer = 1 + all_pairs(p, m, open, stay_apart);
        *fnvmap_at(&p->answers, key) = answer;
    }
    return *fnvmap_at(&p->answers, key) == 2;
}

static void check_event(Prover *p, const OpenAtEvent *m)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    for (u32 k = 0; k < m->open[PROVE_AFTER].n && !p->failed; k++) {
        const Open *o = &m->open[PROVE_AFTER].v[k];
        Open held = *o;
        held.passed = o->held;
        held.shut = o->kept;
        if (!o->joined && !divides_nobody_else(p, m, &held))
            prove_fail(
                p, PROVE_UNKNOWN,
                "convergence: the branch in line %u of AFTER may divide threads that are together at `%.60s` in line %u",
                line_of_branch(p, PROVE_AFTER, o->block), m->before->op->text->text, prove_line(fn, m->before));
    }
    const Open *lost = gathers(p, m->before) && !p->failed ? not_covered(p, m) : NULL;
    if (lost)
        prove_fail(
            p, PROVE_UNKNOWN,
            "convergence: threads that the branch in line %u of BEFORE divides may be together at `%.60s` in line %u",
            line_of_branch(p, PROVE_BEFORE, lost->block), m->before->op->text->text, prove_line(fn, m->before));
}

/* ---- branches that have closed ------------------------------------------------------------------------------------------------- */

/* Whether a thread may wait for another one between the branch and where its threads join. */
static bool waits_between(Prover *p, u32 block, bool on_strong)
{
    Graph *g = &p->side[PROVE_AFTER].g;
    return prove_waits_in(&p->waits[on_strong], prove_influence(g, fn_block(g->fn, block)));
}

/* Where threads may wait that have passed a branch of AFTER, by that. */
static void find_waiting(Prover *p)
{
    const Graph *g = &p->side[PROVE_AFTER].g;
    for (u32 k = 0; k < g->n; k++)
        vec_push(&p->waiting, ((VecU32){0}));
    for (u32 i = 0; i < p->at_events.n; i++) {
        const OpenAtEvent *m = &p->at_events.v[i];
        if (!m->after || (!bitset_has(&p->waits[0].blocks, m->after->block->id) && !g->region[m->after->block->id]))
            continue;
        for (u32 k = 0; k < m->open[PROVE_AFTER].n; k++) {
            const Open *o = &m->open[PROVE_AFTER].v[k];
            VecU32 *list = &p->waiting.v[o->block];
            bool is_new = !o->joined;
            for (u32 n = 0; n < list->n && is_new; n += 2)
                is_new = list->v[n] != o->held || list->v[n + 1] != o->kept;
            if (is_new) {
                vec_push(list, o->held);
                vec_push(list, o->kept);
            }
        }
    }
}

/* Of threads that diverge so, which those of `b` may wait for where they have not joined this branch of BEFORE. `waits`: whether they
 * wait at all. */
static bool is_open_where_waits(const Prover *p, u32 block, u32 b, u32 before, bool *waits)
{
    const VecU32 *list = &p->waiting.v[block];
    bool open = true;
    for (u32 n = 0; n < list->n; n += 2)
        if (prove_group_has(p, list->v[n], b)) {
            *waits = true;
            open &= !prove_group_has(p, list->v[n + 1], before);
        }
    return open;
}

/* Whether a branch of BEFORE divided those of `a` from those of `b`, and the first ones have joined it while the others wait; `among`
 * these, unless that is NULL. */
static bool have_joined(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b, const GroupId *among)
{
    const Opens *x = &p->passings.v[a].open[PROVE_BEFORE], *y = &p->passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        u32 block = x->v[k].block;
        const Open *other = prove_find_open(y, block);
        bool waits;
        if (other && were_parted_before(p, closed->block, &x->v[k], other) &&
            (!prove_find_open(&m->open[PROVE_BEFORE], block) || prove_group_has(p, closed->sure, block)) &&
            (!among || prove_group_has(p, *among, block)) && is_open_where_waits(p, closed->block, b, block, &waits))
            return true;
    }
    return false;
}

/* Whether no branch that is open at the event of those of `a`, which have waited for those of `b`, has divided them. Who waits by weak
 * reads alone need not ever see what it waits for: there only a branch counts that has to do with where they went now. */
static bool is_harmless(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b)
{
    const Opens *before = &m->open[PROVE_BEFORE];
    bool waits = false;
    is_open_where_waits(p, closed->block, b, 0, &waits);
    for (u32 k = 0; waits && k < before->n; k++) {
        u32 block = before->v[k].block;
        const Passing *pa = &p->passings.v[a], *pb = &p->passings.v[b];
        const Open *x = prove_find_open(&pa->open[PROVE_BEFORE], block),
                   *y = prove_find_open(&pb->open[PROVE_BEFORE], block);
        if (!divides(p, PROVE_BEFORE, block))
            continue;
        bool is_new = !x || x->joined || prove_group_has(p, closed->newer, block);
        if (is_new && !have_joined(p, m, closed, a, b, NULL))
            return false;
        if (x && y && x->went == y->went && !waits_between(p, closed->block, true))
            continue;
        if (x && !x->joined && !prove_group_has(p, closed->sure, block) && !went_together(p, pa, pb, block) &&
            !is_covered(p, &pa->open[PROVE_AFTER], block) &&
            !((!y || (is_aligned(p, block) && !y->moved)) && have_joined(p, m, closed, a, b, &x->past)))
            return false;
    }
    return true;
}

static void note_late(Prover *p, const Instr *after, u32 block)
{
    bool is_new = true;
    for (u32 k = 0; k < p->more_late.n; k++)
        is_new &= p->more_late.v[k].after != after || p->more_late.v[k].block != block;
    if (is_new)
        vec_push(&p->more_late, ((ProveLate){after, block}));
}

static void fail_to_wait(Prover *p, const Instr *after, u32 block)
{
    prove_fail(p, PROVE_UNKNOWN,
               "waiting: threads that diverge in line %u of AFTER wait for one another before line %u, where they may not "
               "in BEFORE",
               line_of_branch(p, PROVE_AFTER, block), prove_line(p->side[PROVE_AFTER].fn, after));
}

static void check_closed(Prover *p, const OpenAtEvent *m)
{
    bool unseen = is_unseen(m->before) && is_unseen(m->after);
    for (u32 k = 0; k < m->open[PROVE_AFTER].n && !p->failed; k++) {
        const Open *o = &m->open[PROVE_AFTER].v[k];
        bool asks = unseen ? o->closes && !prove_is_late(p, m->after, o->block) : o->closes || o->late;
        if (!asks || !waits_between(p, o->block, false) || all_pairs(p, m, o, is_harmless))
            continue;
        if (unseen)
            note_late(p, m->after, o->block);
        else
            fail_to_wait(p, m->after, o->block);
    }
}

/* ---- promises ------------------------------------------------------------------------------------------------------------------- */

/* Whether no branch of BEFORE that is open, or was when that one was passed, has divided the threads. */
static bool were_together_at(Prover *p, const Open *promised, u32 a, u32 b)
{
    const Passing *pa = &p->passings.v[a], *pb = &p->passings.v[b];
    const Opens *x = &pa->open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        u32 block = x->v[k].block;
        bool was_over = x->v[k].joined && promised->moved && prove_group_has(p, promised->past, block);
        if (block != promised->block && divides(p, PROVE_BEFORE, block) && !was_over && !went_together(p, pa, pb, block) &&
            !is_covered(p, &pa->open[PROVE_AFTER], block))
            return false;
    }
    return true;
}

/* Whether a branch of BEFORE promised that there are no two such threads: it speaks of those that are together there. */
static bool is_promised(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b)
{
    (void)m, (void)open;
    const Opens *x = &p->passings.v[a].open[PROVE_BEFORE], *y = &p->passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && were_divided_at(p, &x->v[k], other) && !divides(p, PROVE_BEFORE, other->block) &&
            were_together_at(p, &x->v[k], a, b))
            return true;
    }
    return false;
}

/* A table's index is equal also among threads that go the same way. */
static bool is_index_promised(Prover *p, u32 block)
{
    for (u32 a = p->newest_passing.v[block]; a; a = p->passings.v[a].older)
        for (u32 b = a; b; b = p->passings.v[b].older) {
            const Opens *x = &p->passings.v[a].open[PROVE_BEFORE], *y = &p->passings.v[b].open[PROVE_BEFORE];
            bool is = !can_be_together(&p->passings.v[a], &p->passings.v[b]);
            for (u32 k = 0; k < x->n && !is; k++) {
                const Open *other = prove_find_open(y, x->v[k].block);
                const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, x->v[k].block));
                is = other && end->op->opcode == OPC_BRX_IDX && !divides(p, PROVE_BEFORE, other->block) &&
                     is_same_time(p, &x->v[k], other) && were_together_at(p, &x->v[k], a, b);
            }
            if (!is)
                return false;
        }
    return true;
}

/* A branch of AFTER that promises not to divide threads, and is not seen not to: branches of BEFORE promised it. */
static void check_promises(Prover *p)
{
    const Function *fn = p->side[PROVE_AFTER].fn;
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        if (p->failed || !end || !op_has(end->op, OPF_UNIFORM_HINT) || !divides(p, PROVE_AFTER, b->id))
            continue;
        VecU32 all = {0};
        for (u32 id = p->newest_passing.v[b->id]; id; id = p->passings.v[id].older)
            vec_push(&all, id);
        Open any = {.block = b->id, .passed = prove_group(p, all.v, all.n)};
        vec_free(&all);
        if (!all_pairs(p, NULL, &any, is_promised) || (end->op->opcode == OPC_BRX_IDX && !is_index_promised(p, b->id)))
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
    return asks_for_threads(p, p->side[0].fn) || asks_for_threads(p, p->side[1].fn) ||
           bitset_count(&p->waits[0].blocks) > 0 || p->waits[0].loops > 0;
}

void prove_threads_init(Prover *p)
{
    vec_push(&p->passings, ((Passing){0}));
    for (u32 k = 0; k < p->side[PROVE_AFTER].g.n; k++)
        vec_push(&p->newest_passing, 0);
    for (u32 strong = 0; strong < 2; strong++)
        p->waits[strong] = prove_waits(&p->side[PROVE_AFTER].g, &p->callees, strong);
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            p->gathers |= gathers(p, i);
}

/* Some threads execute it, and others that are with them may not. */
static bool leaves_out(const Prover *p, ProveSide side, const Instr *i)
{
    return i->guard && bitset_has(&p->side[side].g.divergent, i->guard);
}

/* Who takes part in an event that sees who is there is who its guard holds for. So where it does not hold for all, it is one and the same
 * instruction of the other text that they execute. */
static void check_guarded(Prover *p)
{
    FnvMap partner = {0};
    for (u32 again = 0; again < 2; again++)
        for (u32 k = 0; k < p->matched.n && !p->failed; k++) {
            const Instr *matched[2] = {p->matched.v[k].before, p->matched.v[k].after};
            if (!matched[0] || !gathers(p, matched[0]))
                continue;
            bool guarded = leaves_out(p, PROVE_BEFORE, matched[0]) || leaves_out(p, PROVE_AFTER, matched[1]), other = false;
            for (u32 side = 0; side < 2; side++) {
                u64 *at = fnvmap_at(&partner, (u64)(uintptr_t)matched[side]);
                other |= *at && *at != (u64)(uintptr_t)matched[!side];
                *at = *at ? *at : (u64)(uintptr_t)matched[!side];
            }
            if (guarded && other)
                prove_fail(p, PROVE_UNKNOWN,
                           "convergence: another `%.60s` under a guard in line %u of AFTER may see other threads",
                           matched[1]->op->text->text, prove_line(p->side[PROVE_AFTER].fn, matched[1]));
        }
    fnvmap_free(&partner);
}

static void check_all(Prover *p)
{
    for (u32 k = 0; k < p->at_events.n && !p->failed; k++) {
        const OpenAtEvent *m = &p->at_events.v[k];
        if (m->before && (is_convergent(p, m->before) || is_convergent(p, m->after)))
            check_event(p, m);
        check_closed(p, m);
    }
    if (p->more_late.n)
        fail_to_wait(p, p->more_late.v[0].after, p->more_late.v[0].block);
}

void prove_threads_done(Prover *p)
{
    if (!p->at_events.n)
        return;
    for (u32 k = 0; k < p->at_events.n; k++) {
        const OpenAtEvent *m = &p->at_events.v[k];
        vec_push(&p->matched, ((ProveMatched){m->before, m->after, is_unseen(m->before) && is_unseen(m->after)}));
    }
    p->same_shape = prove_same_shape(p);
    find_waiting(p);
    align(p);
    if (!p->same_shape)
        check_all(p);
    check_guarded(p);
    check_promises(p);
}
