/* Explores paths from one node of the product to the next. Both sides run from event to event, and fork at undecided
 * branches. */
#include "check/prove/prover.h"

enum { JOINS_FOLLOWED = 8, DEPTH_MAX = 4000, CATCHES_UP = 32, VISITS_IN_DOUBT = 4 };

/* ---- forks ------------------------------------------------------------------------------------------------------------------ */

static void fail_here(Prover *p, const char *kind, const char *why)
{
    prove_fail(p, PROVE_UNKNOWN, "%s%s: %s and %s", kind, why, prove_describe(p, PROVE_BEFORE),
               prove_describe(p, PROVE_AFTER));
}

/* Before it is known what a loop counts, its states may be such that nothing can be shown of it. It is then looked at
 * again. */
static void mismatch(Prover *p, const char *why)
{
    if ((p->plan.counts || p->plan.restores) && !p->product.values_hold && p->product.at->id &&
        p->product.at->visits <= VISITS_IN_DOUBT)
        p->product.at->in_doubt = true;
    else
        fail_here(p, "", why);
}

static bool is_garbage(const Terms *t, Term x, u32 depth)
{
    const TermNode *node = prove_node(t, x);
    if (node->op == TERM_SYM)
        return prove_sym_of(t, x)->kind == PROVE_SYM_GARBAGE;
    for (u32 k = 0; depth && k < node->n; k++)
        if (is_garbage(t, prove_kid(t, x, k), depth - 1))
            return true;
    return false;
}

/* Assumes that what the side does not know is `value`; whether that is possible. */
static bool assume_case(Prover *p, const Running *r, u32 value)
{
    bool possible;
    if (r->index) {
        SetId set = value ? r->values : prove_set_not(&p->t.sets, r->values, prove_most(&p->t, r->index));
        possible = prove_learn(p, r->index, set);
    } else {
        possible = prove_assume(p, r->atom, value);
    }
    return possible && prove_is_possible(p);
}

/* Whether AFTER decides by what no one wrote: a register that was never written is read, and both cases are possible. */
static bool decides_by_garbage(Prover *p, const Running *r, const Saved *s)
{
    bool both = is_garbage(&p->t, r->index ? r->index : r->atom, 8);
    for (u32 value = 2; value-- > 0 && both && !p->outcome.failed;) {
        both = assume_case(p, r, value);
        prove_restore(p, s);
    }
    return both;
}

/* Both cases of what the side does not know. */
static void fork_path(Prover *p, ProveSide side, const Running *r)
{
    Saved s = prove_save(p);
    if (side == PROVE_AFTER && decides_by_garbage(p, r, &s))
        mismatch(p, "garbage: AFTER decides by a register that was never written");
    if (p->outcome.failed)
        return;
    if (p->path.depth == DEPTH_MAX) {
        prove_fail(p, PROVE_UNKNOWN, "limit: too many branches on one path");
        return;
    }
    for (u32 value = 2; value-- > 0 && !p->outcome.failed;) {
        p->path.depth++;
        if (assume_case(p, r, value))
            prove_explore_path(p);
        prove_restore(p, &s);
    }
}

/* ---- both sides --------------------------------------------------------------------------------------------------------------- */

static void fault(Prover *p)
{
    for (u32 side = 0; side < 2; side++)
        if (p->side[side].fault)
            fail_here(p, "construct: ", p->side[side].fault);
    const char *limit = prove_limit(p);
    prove_fail(p, PROVE_UNKNOWN, "%s", limit ? limit : "construct: a branch that is not modelled");
}

static void step_over(Prover *p)
{
    for (u32 side = 0; side < 2; side++) {
        p->path.entered[side].block = NULL;
        p->path.place[side].at = p->path.place[side].at->next;
        p->path.moved[side]++;
    }
}

/* Whether BEFORE stands at a barrier that may be left out; then it is past it. */
static bool leaves_barrier_out(Prover *p, Stop before)
{
    Place *at = &p->path.place[PROVE_BEFORE];
    if (before != STOP_EVENT || !prove_skip_barrier(p, at->at))
        return false;
    at->at = at->at->next;
    p->path.entered[PROVE_BEFORE].block = NULL;
    p->path.moved[PROVE_BEFORE]++;
    return true;
}

/* The side stands at an event, and the other one at a join. The first goes back to the beginning of its block. Its
 * registers there have more to do with the other side's than what was made of them since. */
static void step_back(Prover *p, ProveSide side)
{
    const Entered *in = &p->path.entered[side];
    if (!in->block || in->block != p->path.place[side].block)
        return;
    prove_rewind(&p->side[side], in->undo);
    p->side[side].written = in->written;
    p->path.place[side].at = in->block->first;
}

/* Whether the path goes on. */
static bool match_stops(Prover *p, Stop before, Stop after)
{
    const char *why = "one goes on where the other leaves";
    Instr *i = p->path.place[PROVE_BEFORE].at, *k = p->path.place[PROVE_AFTER].at;
    if (before == STOP_END && after == STOP_END && prove_match_end(p, i, k, &why)) {
        prove_at_event(p, NULL, NULL);
        return false;
    }
    if (before == STOP_EVENT && after == STOP_EVENT && prove_match(p, i, k, &why)) {
        prove_at_event(p, i, k);
        step_over(p);
        return true;
    }
    bool guarded = (before == STOP_EVENT && i->guard) || (after == STOP_EVENT && k->guard);
    for (u32 side = 0; guarded && side < 2; side++) {
        Running r = {.stop = STOP_FORK};
        Instr *at = p->path.place[side].at;
        if ((side ? after : before) == STOP_EVENT && prove_decide(p, prove_guard(&p->side[side], at), &r.atom) < 0) {
            fork_path(p, (ProveSide)side, &r);
            return false;
        }
    }
    if (leaves_barrier_out(p, before))
        return true;
    mismatch(p, why);
    return false;
}

void prove_fill_with_garbage(Machine *m)
{
    const BitSet *live = &m->g.live_in[m->fn->entry->id];
    for_each_bit(r, live)
        prove_set_reg(m, r, prove_garbage(m, r));
}

/* One execution, from the entries on: both sides run from event to event. Answers at the first one that differs. */
bool prove_replay(Prover *p, u32 events, const char **why)
{
    p->product.at = arena_new(p->arena, Node);
    for (u32 side = 0; side < 2; side++) {
        Machine *m = &p->side[side];
        prove_fill_with_garbage(m);
        p->path.place[side] = (Place){m->fn->entry, m->fn->entry->first, false};
    }
    for (; events > 0; events--) {
        Stop stop[2];
        for (u32 side = 0; side < 2; side++) {
            Running r;
            while ((r = prove_run(p, (ProveSide)side)).stop == STOP_JOIN)
                p->path.place[side].joins = false;
            stop[side] = r.stop;
            if (stop[side] != STOP_EVENT && stop[side] != STOP_END)
                return false;
        }
        Instr *i = p->path.place[PROVE_BEFORE].at, *k = p->path.place[PROVE_AFTER].at;
        *why = "one goes on where the other leaves";
        p->t.moment++;
        if (stop[0] == STOP_END && stop[1] == STOP_END)
            return !prove_match_end(p, i, k, why) && !p->side[0].fault && !p->side[1].fault;
        bool same = stop[0] == STOP_EVENT && stop[1] == STOP_EVENT && prove_match(p, i, k, why);
        if (p->side[0].fault || p->side[1].fault)
            return false;
        if (!same) /* one thread alone does not see what a barrier is for */
            return !(stop[0] == STOP_EVENT && op_has(i->op, OPF_BARRIER));
        step_over(p);
    }
    return false;
}

/* BEFORE's run, past barriers that an earlier attempt left out wherever it came to them. AFTER, which has no reason to stop
 * there, is not ahead then. */
static Running run_before(Prover *p)
{
    Running r = prove_run(p, PROVE_BEFORE);
    while (r.stop == STOP_EVENT && p->plan.early.word &&
           bitset_has(&p->plan.early, p->path.place[PROVE_BEFORE].at->origin) && leaves_barrier_out(p, r.stop))
        r = prove_run(p, PROVE_BEFORE);
    return r;
}

/* One side asks for the atom. The other one runs to a join or stands there. It goes on past joins outside of loops if it
 * comes to the same question without an event. Then both know the answer, where a node would forget what belongs to
 * which. */
static void follow_to_question(Prover *p, ProveSide side, Term atom)
{
    if (p->side[side].fault)
        return;
    Saved s = prove_save(p);
    bool held = p->product.values_hold;
    u32 joins = 0;
    p->product.values_hold = false;
    Running r = prove_run(p, side);
    while (r.stop == STOP_JOIN && joins++ < JOINS_FOLLOWED &&
           p->side[side].g.is_join[p->path.place[side].block->id] != JOIN_LOOP) {
        p->path.place[side].joins = false;
        r = prove_run(p, side);
    }
    bool same = r.stop == STOP_FORK && r.atom == atom && joins > 0;
    p->product.values_hold = held;
    prove_restore(p, &s);
    p->side[side].fault = NULL;
    while (same && prove_run(p, side).stop == STOP_JOIN)
        p->path.place[side].joins = false;
}

/* AFTER runs only when BEFORE stands at an event or a join. Where BEFORE forks again and again on its way, AFTER first comes
 * as far as it knows the way: otherwise each path would run it anew from the start. */
static void catch_up(Prover *p)
{
    Saved s = prove_save(p);
    if (prove_run(p, PROVE_AFTER).stop != STOP_FAULT)
        return;
    prove_restore(p, &s);
    p->side[PROVE_AFTER].fault = NULL;
}

void prove_explore_path(Prover *p)
{
    while (!p->outcome.failed) {
        Running r[2];
        for (u32 side = 0; side < 2; side++) {
            r[side] = side == PROVE_BEFORE ? run_before(p) : prove_run(p, PROVE_AFTER);
            if (side == PROVE_AFTER && r[side].stop == STOP_FORK && leaves_barrier_out(p, r[PROVE_BEFORE].stop))
                break; /* BEFORE goes on, and says where AFTER's control goes */
            if (r[side].stop == STOP_FORK) {
                if (p->plan.follows && r[side].atom)
                    follow_to_question(p, (ProveSide)!side, r[side].atom);
                if (side == PROVE_BEFORE && p->path.depth % CATCHES_UP == CATCHES_UP - 1)
                    catch_up(p);
                fork_path(p, (ProveSide)side, &r[side]);
            }
            if (r[side].stop == STOP_FAULT)
                fault(p);
            if (r[side].stop == STOP_FORK || r[side].stop == STOP_FAULT || r[side].stop == STOP_NEVER)
                return;
        }
        if (r[1].stop == STOP_FORK)
            continue;
        if (r[0].stop == STOP_JOIN || r[1].stop == STOP_JOIN) {
            for (u32 side = 0; side < 2; side++)
                if (r[side].stop == STOP_EVENT)
                    step_back(p, (ProveSide)side);
            if (p->side[0].written != p->side[1].written)
                mismatch(p, "a register is written that may be in use");
            else if (!prove_arrive(p, p->path.place))
                mismatch(p, "a register without a value");
            return;
        }
        if (!match_stops(p, r[0].stop, r[1].stop))
            return;
    }
}
