/* Which threads execute together, and who waits for whom. paths.c notes what paths pass, open.c keeps what is open, and
 * together.c answers about pairs of passings.
 *
 * A branch that may divide threads is open on a path until the path reaches its immediate post-dominator, where they join again.
 * Threads are together while they took the same edge of every open branch; those that reach the join first wait there.
 *
 * Each time a path passes a branch of AFTER, what is open in both texts is noted: a passing. Threads that diverge there, T and U,
 * are a pair of passings that went to different successors. They were together, so both took the same edges of what is open in
 * AFTER. At each event, where both texts are at the same place, it is noted what is open, and what closed since the last event.
 * When all paths are known, this is checked:
 *   at convergent events   threads that diverge at an open branch of AFTER also did so at a branch of BEFORE that has been open
 *                          ever since: nobody is missing;
 *   at those that see who is there, and those that need not wait for the same lanes in all threads   the converse as well: an
 *                          open branch of BEFORE is covered by one of AFTER, that is, threads that took the same edge of AFTER's
 *                          branch also did so at BEFORE's;
 *   at the event after a branch A of AFTER has closed   T has waited there for each U that is still between A and the join, and
 *                          has not executed the event. If U may wait for another thread there, T also waits for U in BEFORE.
 *
 * The last one holds if no branch of BEFORE that is open at T's event divided T and U (is_harmless). None did if
 *   - all that are open then were passed before A, and T and U took the same edge of each; or
 *   - T and U were divided by a branch D of BEFORE whose join T has reached by its event, and U, wherever it may wait, has not: T
 *     passes the join of D only together with U. A branch that T passes after that can divide them only once U has arrived.
 *
 * What two passings say of a branch of BEFORE counts if both speak of the same visit to it. A branch on no cycle is visited once.
 * For others it is so if threads that are together in AFTER are in the same iteration of the loops of BEFORE: their region is
 * aligned. Then two threads that passed the branch once since the last event, and since AFTER's last iteration began, did so in the
 * same iteration. A region is aligned if at all events
 *   - its branches that are open in BEFORE are covered: threads that they divided AFTER has also divided;
 *   - in it, threads that a branch of AFTER has joined since the last event were divided in BEFORE up to that event, and no
 *     longer are: nobody comes together with threads of another iteration;
 *   - threads at one place of AFTER are in the same region of BEFORE, or in none.
 * All regions are assumed to be aligned until one of the three fails. If a region is not, some event is the first to show it.
 *
 * It is also the same visit if three things hold. The passings are of one block of AFTER in the partner of the branch's loop. Both
 * say the same of the iteration in which BEFORE passed the branch. And all loops around are in step in both texts (iterations.h). A
 * loop is in step if nobody joins in it who may have begun another number of its iterations since parting. Then threads that are
 * together in it are in the same iteration. Threads that parted at a branch of BEFORE in one iteration, together or not, are apart
 * until both have come to its join. If they came together before, the branch where they parted then would lie in front of this one,
 * and its join behind. */
#include <stdlib.h>
#include <string.h>

#include "check/prove/summary.h"
#include "check/prove/together.h"

/* Whether what the instruction does depends on which threads execute it together. */
static bool is_convergent(Prover *p, const Instr *i)
{
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(p->threads.callees, i) & CALLEE_TOGETHER;
    return i->kind == INSTR_OP && op_has(i->op, OPF_CONVERGENT);
}

bool prove_gathers(Prover *p, const Instr *i) { return is_convergent(p, i) && !op_has(i->op, OPF_NAMES_THREADS); }

/* Whether the guard may hold for some threads and not for others that come to the instruction with them. */
static bool leaves_out(const Prover *p, ProveSide side, const Instr *i)
{
    return i->guard && bitset_has(&p->side[side].g.divergent, i->guard);
}

/* Whether i waits for lanes and need not name the same ones in all threads that come to it together. Threads that it lets
 * go on wait with the others for what they do later. */
static bool names_apart(Prover *p, ProveSide side, const Instr *i)
{
    if (i->kind != INSTR_OP || op_has(i->op, OPF_CALL) || !op_has(i->op, OPF_NAMES_THREADS) || op_has(i->op, OPF_ALIGNED))
        return false;
    bool apart = leaves_out(p, side, i), by_mask = i->op->sync == SYNC_LANES || i->op->sync == SYNC_WARP;
    for_each_slot(o, i)
        apart |= o->kind == OPND_REG && o->role != ROLE_DEF && (!by_mask || o == &i->opnd[i->slots - 1]) &&
                 bitset_has(&p->side[side].g.divergent, o->id);
    return apart;
}

/* ---- convergent events -------------------------------------------------------------------------------------------------------- */

static bool stay_apart(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b)
{
    (void)m;
    const Opens *x = &p->notes.passings.v[a].open[PROVE_BEFORE], *y = &p->notes.passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && !prove_group_has(p, open->rejoined.may_join, other->block) &&
            prove_were_parted_before(p, open->block, &x->v[k], other))
            return true;
    }
    return false;
}

/* Answers as prove_all_pairs() does with stay_apart. The answer is kept, since many events ask the same. */
static bool divides_nobody_else(Prover *p, const OpenAtEvent *m, const Open *open)
{
    u32 question[] = {open->block, open->rejoined.passings, open->rejoined.may_join, 0};
    u32 key = prove_group(p, question, COUNT_OF(question));
    if (!*fnvmap_at(&p->threads.answers, key)) {
        u64 answer = 1 + prove_all_pairs(p, m, open, stay_apart);
        *fnvmap_at(&p->threads.answers, key) = answer;
    }
    return *fnvmap_at(&p->threads.answers, key) == 2;
}

/* Fails unless the same threads are together on both sides, at an event or at a return whose caller sees who comes back. */
static void check_event(Prover *p, const OpenAtEvent *m)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    const char *name = m->before ? m->before->op->text->text : "ret";
    for (u32 k = 0; k < m->open[PROVE_AFTER].n && !p->outcome.failed; k++) {
        const Open *o = &m->open[PROVE_AFTER].v[k];
        Open apart = *o;
        apart.rejoined = o->divided;
        if (!o->joined && !divides_nobody_else(p, m, &apart))
            prove_fail(
                p, PROVE_UNKNOWN,
                "convergence: the branch in line %u of AFTER may divide threads that are together at `%.60s` in line %u",
                prove_branch_line(p, PROVE_AFTER, o->block), name, prove_line(fn, m->before));
    }
    bool apart = !m->before || prove_gathers(p, m->before) || names_apart(p, PROVE_BEFORE, m->before) ||
                 names_apart(p, PROVE_AFTER, m->after);
    const Open *lost = apart && !p->outcome.failed ? prove_not_covered(p, m) : NULL;
    if (lost)
        prove_fail(
            p, PROVE_UNKNOWN,
            "convergence: threads that the branch in line %u of BEFORE divides may be together at `%.60s` in line %u",
            prove_branch_line(p, PROVE_BEFORE, lost->block), name, prove_line(fn, m->before));
}

/* ---- branches that have closed ------------------------------------------------------------------------------------------------- */

/* Whether a thread may wait for another one between the branch and where its threads join. */
static bool waits_between(Prover *p, u32 block)
{
    ProveGraph *g = &p->side[PROVE_AFTER].g;
    return prove_waits_in(&p->threads.waits, prove_influence(g, fn_block(g->fn, block)));
}

/* Lists by branch of AFTER what is open where threads that passed it may wait, by the first two members of
 * Open.divided. */
static void find_waiting(Prover *p)
{
    const ProveGraph *g = &p->side[PROVE_AFTER].g;
    for (u32 k = 0; k < g->n; k++)
        vec_push(&p->threads.waiting, ((VecU32){0}));
    for (u32 i = 0; i < p->notes.events.n; i++) {
        const OpenAtEvent *m = &p->notes.events.v[i];
        if (!m->after || (!bitset_has(&p->threads.waits.blocks, m->after->block->id) && !g->region[m->after->block->id]))
            continue;
        for (u32 k = 0; k < m->open[PROVE_AFTER].n; k++) {
            const Open *o = &m->open[PROVE_AFTER].v[k];
            VecU32 *list = &p->threads.waiting.v[o->block];
            bool is_new = !o->joined;
            for (u32 n = 0; n < list->n && is_new; n += 2)
                is_new = list->v[n] != o->divided.passings || list->v[n + 1] != o->divided.may_join;
            if (is_new) {
                vec_push(list, o->divided.passings);
                vec_push(list, o->divided.may_join);
            }
        }
    }
}

/* Whether threads of `b` have not joined this branch of BEFORE wherever they may wait. *waits: they may wait at all. */
static bool is_open_where_waits(const Prover *p, u32 block, u32 b, u32 before, bool *waits)
{
    const VecU32 *list = &p->threads.waiting.v[block];
    bool open = true;
    for (u32 n = 0; n < list->n; n += 2)
        if (prove_group_has(p, list->v[n], b)) {
            *waits = true;
            open &= !prove_group_has(p, list->v[n + 1], before);
        }
    return open;
}

/* Whether a branch of BEFORE divided those of `a` from those of `b`, and the first ones have joined it while the others
 * wait. It is one of `among`, unless that is NULL. */
static bool have_joined(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b, const GroupId *among)
{
    const Opens *x = &p->notes.passings.v[a].open[PROVE_BEFORE], *y = &p->notes.passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        u32 block = x->v[k].block;
        const Open *other = prove_find_open(y, block);
        bool waits;
        if (other && prove_were_parted_before(p, closed->block, &x->v[k], other) &&
            (!prove_find_open(&m->open[PROVE_BEFORE], block) || prove_group_has(p, closed->rejoined.all_joined, block)) &&
            (!among || prove_group_has(p, *among, block)) && is_open_where_waits(p, closed->block, b, block, &waits))
            return true;
    }
    return false;
}

/* Whether no branch that is open at the event of those of `a`, which have waited for those of `b`, has divided them. A
 * thread that waits by weak reads alone need not ever see what it waits for. There only a branch counts that has to do
 * with where they went now. */
static bool is_harmless(Prover *p, const OpenAtEvent *m, const Open *closed, u32 a, u32 b)
{
    const Opens *before = &m->open[PROVE_BEFORE];
    bool waits = false;
    is_open_where_waits(p, closed->block, b, 0, &waits);
    for (u32 k = 0; waits && k < before->n; k++) {
        u32 block = before->v[k].block;
        const Passing *pa = &p->notes.passings.v[a], *pb = &p->notes.passings.v[b];
        const Open *x = prove_find_open(&pa->open[PROVE_BEFORE], block),
                   *y = prove_find_open(&pb->open[PROVE_BEFORE], block);
        if (!prove_has_divided(p, block))
            continue;
        bool is_new = !x || x->joined || prove_group_has(p, closed->newer, block);
        if (is_new && !have_joined(p, m, closed, a, b, NULL))
            return false;
        if (x && !x->joined && !prove_group_has(p, closed->rejoined.all_joined, block) &&
            !prove_went_together(p, pa, pb, block) && !prove_is_covered(p, &pa->open[PROVE_AFTER], block) &&
            !((!y || (prove_is_aligned(p, block) && !y->moved)) && have_joined(p, m, closed, a, b, &x->past)))
            return false;
    }
    return true;
}

static void note_late(Prover *p, const Instr *after, u32 block)
{
    bool is_new = true;
    for (u32 k = 0; k < p->threads.more_late.n; k++)
        is_new &= p->threads.more_late.v[k].after != after || p->threads.more_late.v[k].block != block;
    if (is_new)
        vec_push(&p->threads.more_late, ((ProveLate){after, block}));
}

static void fail_to_wait(Prover *p, const Instr *after, u32 block)
{
    prove_fail(p, PROVE_UNKNOWN,
               "waiting: threads that diverge in line %u of AFTER wait for one another before line %u, where they may not "
               "in BEFORE",
               prove_branch_line(p, PROVE_AFTER, block), prove_line(p->side[PROVE_AFTER].fn, after));
}

static void check_closed(Prover *p, const OpenAtEvent *m)
{
    bool unseen = prove_is_unseen(m->before) && prove_is_unseen(m->after);
    for (u32 k = 0; k < m->open[PROVE_AFTER].n && !p->outcome.failed; k++) {
        const Open *o = &m->open[PROVE_AFTER].v[k];
        bool asks = unseen ? o->closes && !prove_is_late(p, m->after, o->block) : o->closes || o->late;
        if (!asks || !waits_between(p, o->block) || prove_all_pairs(p, m, o, is_harmless))
            continue;
        if (unseen)
            note_late(p, m->after, o->block);
        else
            fail_to_wait(p, m->after, o->block);
    }
}

/* ---- promises ------------------------------------------------------------------------------------------------------------------- */

/* Whether control comes to the first block of BEFORE only after the second one, and never back: see ProveGraph.region. */
static bool comes_later(const ProveGraph *g, u32 block, u32 other)
{
    return g->order[block] > g->order[other] && (!g->region[block] || g->region[block] != g->region[other]);
}

/* Whether no branch of BEFORE that is open, or was when that one was passed, has divided the threads. */
static bool were_together_at(Prover *p, const Open *promised, u32 a, u32 b)
{
    const Passing *pa = &p->notes.passings.v[a], *pb = &p->notes.passings.v[b];
    const Opens *x = &pa->open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        u32 block = x->v[k].block;
        bool was_over = x->v[k].joined && promised->moved && prove_group_has(p, promised->past, block);
        if (block != promised->block && prove_has_divided(p, block) && !was_over &&
            !comes_later(&p->side[PROVE_BEFORE].g, block, promised->block) && !prove_went_together(p, pa, pb, block) &&
            !prove_is_covered(p, &pa->open[PROVE_AFTER], block))
            return false;
    }
    return true;
}

/* Whether a branch of BEFORE promised that there are no two such threads: it speaks of those that are together there. */
static bool is_promised(Prover *p, const OpenAtEvent *m, const Open *open, u32 a, u32 b)
{
    (void)m, (void)open;
    const Opens *x = &p->notes.passings.v[a].open[PROVE_BEFORE], *y = &p->notes.passings.v[b].open[PROVE_BEFORE];
    for (u32 k = 0; k < x->n; k++) {
        const Open *other = prove_find_open(y, x->v[k].block);
        if (other && prove_were_divided_at(p, &x->v[k], other) && !prove_divides(p, PROVE_BEFORE, other->block) &&
            were_together_at(p, &x->v[k], a, b))
            return true;
    }
    return false;
}

/* Whether a branch of BEFORE promised that the index of the table is equal in all threads, also in those that take the same edge. */
static bool is_index_promised(Prover *p, u32 block)
{
    for (u32 a = p->notes.newest.v[block]; a; a = p->notes.passings.v[a].older)
        for (u32 b = a; b; b = p->notes.passings.v[b].older) {
            const Opens *x = &p->notes.passings.v[a].open[PROVE_BEFORE], *y = &p->notes.passings.v[b].open[PROVE_BEFORE];
            bool is = !prove_can_be_together(&p->notes.passings.v[a], &p->notes.passings.v[b]);
            for (u32 k = 0; k < x->n && !is; k++) {
                const Open *other = prove_find_open(y, x->v[k].block);
                const Instr *end = block_terminator(fn_block(p->side[PROVE_BEFORE].fn, x->v[k].block));
                is = other && end->op->opcode == OPC_BRX_IDX && !prove_divides(p, PROVE_BEFORE, other->block) &&
                     prove_is_same_time(p, &x->v[k], other) && were_together_at(p, &x->v[k], a, b);
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
        if (p->outcome.failed || !end || !op_has(end->op, OPF_UNIFORM_HINT) || !prove_divides(p, PROVE_AFTER, b->id))
            continue;
        VecU32 all = {0};
        for (u32 id = p->notes.newest.v[b->id]; id; id = p->notes.passings.v[id].older)
            vec_push(&all, id);
        Open any = {.block = b->id, .rejoined.passings = prove_group(p, all.v, all.n)};
        vec_free(&all);
        if (!prove_all_pairs(p, NULL, &any, is_promised) ||
            (end->op->opcode == OPC_BRX_IDX && !is_index_promised(p, b->id)))
            prove_fail(p, PROVE_UNKNOWN,
                       "convergence: the branch in line %u of AFTER promises to be uniform, which is not seen",
                       prove_line(fn, end));
    }
}

/* ---- the whole function ---------------------------------------------------------------------------------------------------------- */

/* Whether the function holds a convergent instruction, or a branch that promises to be uniform. */
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
           bitset_count(&p->threads.waits.blocks) > 0 || p->threads.waits.loops > 0 || p->threads.callers_see;
}

void prove_threads_init(Prover *p)
{
    prove_notes_init(p);
    for (u32 side = 0; side < 2; side++)
        prove_summarize(p->threads.callees, p->side[side].fn);
    p->threads.waits = prove_waits(&p->side[PROVE_AFTER].g, p->threads.callees);
    p->threads.callers_see = prove_callers_see_threads(p->threads.callees, p->side[PROVE_BEFORE].fn);
    for_each_block(b, p->side[PROVE_BEFORE].fn)
        for_each_instr(i, b)
            p->threads.gathers |= prove_gathers(p, i);
}

void prove_threads_free(Threads *threads)
{
    for (u32 k = 0; k < threads->waiting.n; k++)
        vec_free(&threads->waiting.v[k]);
    vec_free(&threads->waiting);
    vec_free(&threads->more_late);
    vec_free(&threads->matched);
    fnvmap_free(&threads->answers);
    fnvmap_free(&threads->edge_answers);
}

/* Checks guarded events that see which threads execute them. Those take part for which the guard holds. If these may not be
 * all, they must execute one and the same instruction of the other text. */
static void check_guarded(Prover *p)
{
    FnvMap partner = {0};
    for (u32 again = 0; again < 2; again++)
        for (u32 k = 0; k < p->threads.matched.n && !p->outcome.failed; k++) {
            const Instr *matched[2] = {p->threads.matched.v[k].before, p->threads.matched.v[k].after};
            if (!matched[0] || !prove_gathers(p, matched[0]))
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
    for (u32 k = 0; k < p->notes.events.n && !p->outcome.failed; k++) {
        const OpenAtEvent *m = &p->notes.events.v[k];
        if (m->before ? is_convergent(p, m->before) || is_convergent(p, m->after) : m->returns && p->threads.callers_see)
            check_event(p, m);
        check_closed(p, m);
    }
    if (p->threads.more_late.n)
        fail_to_wait(p, p->threads.more_late.v[0].after, p->threads.more_late.v[0].block);
}

/* Loops whose edges back no path takes are none: who comes to a branch in them does so once. */
static void forget_untaken(Prover *p)
{
    u32 *only = arena_array(p->arena, u32, p->side[PROVE_BEFORE].g.n);
    for (u32 id = 0; id < p->side[PROVE_BEFORE].g.n; id++)
        only[id] = bitset_has(&p->notes.parted, id) ? 0 : p->notes.went_to[id];
    prove_find_regions(&p->side[PROVE_BEFORE].g, only, p->arena);
}

void prove_threads_done(Prover *p)
{
    if (!p->notes.events.n)
        return;
    forget_untaken(p);
    for (u32 k = 0; k < p->notes.events.n; k++) {
        const OpenAtEvent *m = &p->notes.events.v[k];
        vec_push(&p->threads.matched,
                 ((ProveMatched){m->before, m->after, prove_is_unseen(m->before) && prove_is_unseen(m->after)}));
    }
    p->threads.same_shape = prove_same_shape(p);
    find_waiting(p);
    prove_align(p);
    if (!p->threads.same_shape)
        check_all(p);
    check_guarded(p);
    check_promises(p);
}
