/* Exploring the product: paths from one node to the next. */
#include <stdlib.h>
#include <string.h>

#include "prove/explore.h"

#include "prove/arguments.h"
#include "prove/barrier.h"

enum {
    JOINS_FOLLOWED = 8,
    DEPTH_MAX = 4000,
    VISITS_IN_DOUBT = 4,
    STEPS_BASE = 200000,
    STEPS_EACH = 400,
    TERMS_EACH_STEP = 8
};

typedef enum Stop {
    STOP_EVENT, /* at an instruction that must match */
    STOP_END,   /* leaves the function */
    STOP_JOIN,  /* at the beginning of a join */
    STOP_FORK,  /* the path does not know where control goes */
    STOP_NEVER, /* the path cannot be */
    STOP_FAULT
} Stop;

typedef struct Running {
    Stop stop;
    Term atom;  /* STOP_FORK: what would decide */
    Term index; /* likewise, of a table: its index, and the values that lead to one block */
    SetId values;
} Running;

/* ---- running one side -------------------------------------------------------------------------------------------------- */

static void enter(Prover *p, ProveSide side, Block *to)
{
    Place *at = &p->place[side];
    const Block *from = at->block;
    at->block = to;
    at->at = to->first;
    u8 kind = p->side[side].g.is_join[to->id];
    at->joins = kind > JOIN_LONE || (kind == JOIN_LONE && p->passed++ >= p->pass_limit);
    p->passed_most = p->passed > p->passed_most ? p->passed : p->passed_most;
    p->entered[side] = (Entered){to, p->side[side].undo.n, p->cells[side], p->side[side].written};
    prove_enter(p, side, from, to);
}

/* Control goes on to block `to`. */
static void leave_for(Prover *p, ProveSide side, Term cond, Block *to)
{
    prove_pass_branch(p, side, cond, to);
    enter(p, side, to);
}

/* Of a table the values that lead to the same block as `value`. */
static SetId values_for(Prover *p, const Table *table, u32 target)
{
    SetId set = prove_set_empty(&p->t.sets);
    for (u32 k = 0; k < table->targets.n; k++)
        if (table->targets.v[k] == target)
            set = prove_set_or(&p->t.sets, set, prove_set_range(&p->t.sets, k, k));
    return set;
}

/* An index beyond the table is undefined: BEFORE never has one, AFTER must not. */
static Running run_table(Prover *p, ProveSide side, const Instr *i)
{
    Machine *m = &p->side[side];
    const Table *table = branch_table(i);
    Term index = prove_operand(m, &i->opnd[0], 0);
    if (!table || table->targets.n == 0 || prove_bits(&p->t, index) > 64)
        return (Running){.stop = STOP_FAULT};
    SetId in_range = prove_set_range(&p->t.sets, 0, table->targets.n - 1), known = prove_known(p, index);
    if (side == PROVE_BEFORE && !prove_set_within(&p->t.sets, known, in_range)) {
        prove_learn(p, index, in_range);
        known = prove_set_and(&p->t.sets, known, in_range);
    }
    if (prove_set_is_empty(&p->t.sets, known))
        return (Running){.stop = STOP_NEVER};
    if (!prove_set_within(&p->t.sets, known, in_range)) {
        p->side[side].fault = "the index of a jump table may be beyond its end";
        return (Running){.stop = STOP_FAULT};
    }
    u32 target = table->targets.v[prove_set_min(&p->t.sets, known)];
    SetId values = values_for(p, table, target);
    if (!prove_set_within(&p->t.sets, known, values))
        return (Running){.stop = STOP_FORK, .index = index, .values = values};
    leave_for(p, side, index, fn_block(m->fn, target));
    return (Running){.stop = STOP_JOIN}; /* not looked at: the caller goes on */
}

/* At the terminator: goes on, or says why not. `moved` is set where it went on. */
static Running run_terminator(Prover *p, ProveSide side, Instr *i, bool *moved)
{
    Machine *m = &p->side[side];
    Running r = {.stop = STOP_FORK};
    Term guard = prove_guard(m, i);
    int taken = prove_decide(p, guard, &r.atom);
    if (taken < 0)
        return r;
    *moved = true;
    if (!taken) {
        if (!i->block->fall) {
            r.stop = STOP_END;
            p->place[side].at = NULL;
            *moved = false;
        } else {
            leave_for(p, side, guard, i->block->fall);
        }
        return r;
    }
    if (op_has(i->op, OPF_NO_RETURN)) {
        *moved = false;
        return (Running){.stop = STOP_END};
    }
    if (i->op->opcode == OPC_BRX_IDX) {
        r = run_table(p, side, i);
        *moved = r.stop == STOP_JOIN;
        return r;
    }
    leave_for(p, side, guard, branch_target(i));
    return r;
}

/* Whether more terms were made than a function within the limit of steps may need. */
static bool is_over(const Prover *p) { return p->t.work / TERMS_EACH_STEP > p->step_limit; }

static Running run(Prover *p, ProveSide side)
{
    Machine *m = &p->side[side];
    Place *at = &p->place[side];
    for (;;) {
        if (at->joins)
            return (Running){.stop = STOP_JOIN};
        if (++p->steps > p->step_limit || is_over(p) || prove_is_large(p->arena) || m->fault)
            return (Running){.stop = STOP_FAULT};
        Instr *i = at->at;
        if (!i) {
            if (!at->block->fall)
                return (Running){.stop = STOP_END};
            p->moved[side]++;
            enter(p, side, at->block->fall);
            continue;
        }
        if (i->kind == INSTR_OP && op_has(i->op, OPF_TERMINATOR)) {
            bool moved = false;
            Running r = run_terminator(p, side, i, &moved);
            if (!moved)
                return r;
            p->moved[side]++;
            continue;
        }
        if (i->kind == INSTR_OP) {
            bool is_argument = prove_is_argument(m, i);
            if (!is_argument && (prove_computes(m, i) || prove_loads_parameter(m, i))) {
                prove_execute(m, i);
                prove_note_written(m, i);
            } else {
                Running r = {.stop = STOP_FORK};
                int executes = prove_decide(p, prove_guard(m, i), &r.atom);
                if (executes < 0 && (is_argument || op_has(i->op, OPF_CALL)))
                    return r;
                if (executes && !is_argument)
                    return (Running){.stop = STOP_EVENT};
                if (executes)
                    prove_execute_argument(p, side, i);
                prove_note_written(m, i);
            }
        }
        p->moved[side]++;
        at->at = i->next;
    }
}

/* ---- forks ------------------------------------------------------------------------------------------------------------------ */

typedef struct Saved {
    u32 facts, undo[2], moved[2], passed;
    Place place[2];
    Entered entered[2];
    Opens open[2];
    const Iteration *iterations;
    const Cell *cells[2];
    Term written[2];
    const Passed *branches;
    u64 trail;
} Saved;

static Saved save(const Prover *p)
{
    Saved s = {
        .facts = p->facts.n, .passed = p->passed, .branches = p->branches, .iterations = p->iterations, .trail = p->trail};
    for (u32 side = 0; side < 2; side++) {
        s.undo[side] = p->side[side].undo.n;
        s.moved[side] = p->moved[side];
        s.place[side] = p->place[side];
        s.entered[side] = p->entered[side];
        s.open[side] = p->open[side];
        s.cells[side] = p->cells[side];
        s.written[side] = p->side[side].written;
    }
    return s;
}

static void restore(Prover *p, const Saved *s)
{
    prove_forget(p, s->facts);
    p->passed = s->passed;
    p->branches = s->branches;
    p->iterations = s->iterations;
    p->trail = s->trail;
    for (u32 side = 0; side < 2; side++) {
        prove_undo(&p->side[side], s->undo[side]);
        p->moved[side] = s->moved[side];
        p->place[side] = s->place[side];
        p->entered[side] = s->entered[side];
        p->open[side] = s->open[side];
        p->cells[side] = s->cells[side];
        p->side[side].written = s->written[side];
    }
}

static void explore(Prover *p);

void prove_describe(const Prover *p, ProveSide side, char *text, u32 size)
{
    const Instr *i = p->place[side].at;
    const Function *fn = p->side[side].fn;
    snprintf(text, size, "%s:%u: `%.80s`", fn->module->file, prove_line(fn, i),
             i && i->kind == INSTR_OP ? i->op->text->text : "end");
}

/* With -DPROVE_TRACE the exploration can be followed on standard error. */
#ifdef PROVE_TRACE
static void trace_fork(Prover *p, ProveSide side, Term atom)
{
    char at[200], text[300] = "table";
    prove_describe(p, side, at, sizeof at);
    if (atom)
        prove_print(&p->t, atom, text, sizeof text);
    fprintf(stderr, "%s: fork %d at %s: %s\n", p->side[0].fn->name->text, side, at, text);
}

static void trace_node(Prover *p, const Node *n, u32 who)
{
    char at[2][200];
    for (u32 side = 0; side < 2; side++) {
        p->place[side] = n->place[side];
        prove_describe(p, (ProveSide)side, at[side], sizeof at[side]);
    }
    fprintf(stderr, "%s: node %u: %s%s and %s%s: %u move, %u arrivals\n", p->side[0].fn->name->text, n->id, at[0],
            n->place[0].joins ? " joins" : "", at[1], n->place[1].joins ? " joins" : "", who, n->arrivals.n);
}
#else
static void trace_fork(Prover *p, ProveSide side, Term atom) { (void)p, (void)side, (void)atom; }
static void trace_node(Prover *p, const Node *n, u32 who) { (void)p, (void)n, (void)who; }
#endif

static void fail_here(Prover *p, const char *kind, const char *why)
{
    char before[200], after[200];
    prove_describe(p, PROVE_BEFORE, before, sizeof before);
    prove_describe(p, PROVE_AFTER, after, sizeof after);
    prove_fail(p, PROVE_UNKNOWN, "%s%s: %s and %s", kind, why, before, after);
}

/* Before it is known what a loop counts its states may be such that nothing can be shown of it: then it is looked at again. */
static void mismatch(Prover *p, const char *why)
{
    if ((p->counts || p->restores) && !p->values_hold && p->at->id && p->at->visits <= VISITS_IN_DOUBT)
        p->at->in_doubt = true;
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

/* Both cases of what the side does not know. */
static void fork_path(Prover *p, ProveSide side, const Running *r)
{
    Saved s = save(p);
    if (side == PROVE_AFTER && is_garbage(&p->t, r->index ? r->index : r->atom, 8))
        mismatch(p, "garbage: AFTER decides by a register that was never written");
    trace_fork(p, side, r->atom);
    if (p->failed)
        return;
    if (++p->depth > DEPTH_MAX) {
        prove_fail(p, PROVE_UNKNOWN, "limit: too many branches on one path");
        return;
    }
    for (u32 value = 2; value-- > 0 && !p->failed;) {
        bool possible;
        if (r->index) {
            SetId set = value ? r->values : prove_set_not(&p->t.sets, r->values, prove_most(&p->t, r->index));
            possible = prove_learn(p, r->index, set);
        } else {
            possible = prove_assume(p, r->atom, value);
        }
        if (possible && prove_is_possible(p))
            explore(p);
        restore(p, &s);
    }
    p->depth--;
}

/* ---- both sides --------------------------------------------------------------------------------------------------------------- */

static void fault(Prover *p)
{
    for (u32 side = 0; side < 2; side++)
        if (p->side[side].fault)
            fail_here(p, "construct: ", p->side[side].fault);
    prove_fail(p, PROVE_UNKNOWN,
               p->steps > p->step_limit   ? "limit: too many steps"
               : is_over(p)               ? "limit: too many terms"
               : prove_is_large(p->arena) ? "limit: too much memory"
                                          : "construct: a branch that is not modelled");
}

static void step_over(Prover *p)
{
    for (u32 side = 0; side < 2; side++) {
        p->entered[side].block = NULL;
        p->place[side].at = p->place[side].at->next;
        p->moved[side]++;
    }
}

/* Whether BEFORE stands at a barrier that may be left out; then it is past it. */
static bool leaves_barrier_out(Prover *p, Stop before)
{
    Place *at = &p->place[PROVE_BEFORE];
    if (before != STOP_EVENT || !prove_skip_barrier(p, at->at))
        return false;
    at->at = at->at->next;
    p->entered[PROVE_BEFORE].block = NULL;
    p->moved[PROVE_BEFORE]++;
    return true;
}

/* The side stands at an event, and the other one at a join: back to the beginning of its block, whose registers have more to do
 * with the other side's than what was made of them since. */
static void step_back(Prover *p, ProveSide side)
{
    const Entered *in = &p->entered[side];
    if (!in->block || in->block != p->place[side].block)
        return;
    prove_rewind(&p->side[side], in->undo);
    p->cells[side] = in->cells;
    p->side[side].written = in->written;
    p->place[side].at = in->block->first;
}

/* Whether the path goes on. */
static bool match_stops(Prover *p, Stop before, Stop after)
{
    const char *why = "one goes on where the other leaves";
    Instr *i = p->place[PROVE_BEFORE].at, *k = p->place[PROVE_AFTER].at;
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
        Instr *at = p->place[side].at;
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

/* Every register that can be read before it is written holds garbage. */
static void fill_with_garbage(Machine *m)
{
    const BitSet *live = &m->g.live_in[m->fn->entry->id];
    for (u32 r = bitset_next(live, 0); r < live->bits; r = bitset_next(live, r + 1))
        prove_set_reg(m, r, prove_garbage(m, r));
}

/* One execution, from the entries on: both sides run from event to event. Answers at the first one that differs. */
bool prove_replay(Prover *p, u32 events, const char **why)
{
    p->at = arena_new(p->arena, Node);
    for (u32 side = 0; side < 2; side++) {
        Machine *m = &p->side[side];
        fill_with_garbage(m);
        p->place[side] = (Place){m->fn->entry, m->fn->entry->first, false};
    }
    for (; events > 0; events--) {
        Stop stop[2];
        for (u32 side = 0; side < 2; side++) {
            Running r;
            while ((r = run(p, (ProveSide)side)).stop == STOP_JOIN)
                p->place[side].joins = false;
            stop[side] = r.stop;
            if (stop[side] != STOP_EVENT && stop[side] != STOP_END)
                return false;
        }
        Instr *i = p->place[PROVE_BEFORE].at, *k = p->place[PROVE_AFTER].at;
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
    Running r = run(p, PROVE_BEFORE);
    while (r.stop == STOP_EVENT && p->early.word && bitset_has(&p->early, p->place[PROVE_BEFORE].at->origin) &&
           leaves_barrier_out(p, r.stop))
        r = run(p, PROVE_BEFORE);
    return r;
}

/* One side asks for the atom. The other one, which runs to a join or stands there, goes on past joins outside of loops if it comes
 * to the same question without an event: then both know the answer, where a node would forget what belongs to which. */
static void follow_to_question(Prover *p, ProveSide side, Term atom)
{
    if (p->side[side].fault)
        return;
    Saved s = save(p);
    bool held = p->values_hold;
    u32 joins = 0;
    p->values_hold = false;
    Running r = run(p, side);
    while (r.stop == STOP_JOIN && joins++ < JOINS_FOLLOWED &&
           p->side[side].g.is_join[p->place[side].block->id] != JOIN_LOOP) {
        p->place[side].joins = false;
        r = run(p, side);
    }
    bool same = r.stop == STOP_FORK && r.atom == atom && joins > 0;
    p->values_hold = held;
    restore(p, &s);
    p->side[side].fault = NULL;
    while (same && run(p, side).stop == STOP_JOIN)
        p->place[side].joins = false;
}

static void explore(Prover *p)
{
    while (!p->failed) {
        Running r[2];
        for (u32 side = 0; side < 2; side++) {
            r[side] = side == PROVE_BEFORE ? run_before(p) : run(p, PROVE_AFTER);
            if (side == PROVE_AFTER && r[side].stop == STOP_FORK && leaves_barrier_out(p, r[PROVE_BEFORE].stop))
                break; /* BEFORE goes on, and says where AFTER's control goes */
            if (r[side].stop == STOP_FORK) {
                if (p->follows && r[side].atom)
                    follow_to_question(p, (ProveSide)!side, r[side].atom);
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
            else if (!prove_arrive(p, p->place))
                mismatch(p, "a register without a value");
            return;
        }
        if (!match_stops(p, r[0].stop, r[1].stop))
            return;
    }
}

/* ---- nodes --------------------------------------------------------------------------------------------------------------------- */

/* Whether control can come from b to `to` without an event on the way, and without going back. */
static bool comes_silently(const Machine *m, const Block *b, const Block *to)
{
    VecU32 work = {0}, seen = {0};
    bool found = false;
    vec_push(&work, b->id);
    while (work.n && !found && seen.n < 64) {
        const Block *at = fn_block(m->fn, vec_pop(&work));
        bool silent = true;
        vec_push(&seen, at->id);
        for (const Instr *i = at->first; i && silent; i = i->next)
            silent = i->kind != INSTR_OP || op_has(i->op, OPF_TERMINATOR) || prove_computes(m, i);
        for (u32 edge = 0; silent && edge < block_edge_count(at); edge++) {
            const Block *next = block_edge_target(at, edge);
            found |= next == to;
            bool is_new = m->g.order[next->id] > m->g.order[at->id];
            for (u32 k = 0; k < seen.n; k++)
                is_new &= seen.v[k] != next->id;
            if (is_new)
                vec_push(&work, next->id);
        }
    }
    vec_free(&work);
    vec_free(&seen);
    return found;
}

/* The block of the other side that stands for this one: of the same label; NULL if there is none. */
static Block *counterpart(const Prover *p, const u32 *map, const Block *b, ProveSide other)
{
    u32 id = map[b->id];
    return id ? fn_block(p->side[other].fn, id - 1) : NULL;
}

/* A join of one side is a place to stop in the other, too, so that both can stand there at once. */
static void share_joins(Explorer *e)
{
    Graph *g = &e->p->side[PROVE_BEFORE].g, *h = &e->p->side[PROVE_AFTER].g;
    for (u32 k = 0; k < g->reachable; k++) {
        u32 id = g->by_order[k]->id, other = e->to_after[id];
        if (!other || h->order[other - 1] == UINT32_MAX || e->to_before[other - 1] != id + 1)
            continue;
        u8 *here = &g->is_join[id], *there = &h->is_join[other - 1];
        if (*here != JOIN_NONE || *there != JOIN_NONE) {
            *here = *here == JOIN_LOOP ? JOIN_LOOP : JOIN_SHARED;
            *there = *there == JOIN_LOOP ? JOIN_LOOP : JOIN_SHARED;
        }
    }
}

/* Who moves on from a node where both stand at joins. */
static u32 movers(const Explorer *e, const Node *n)
{
    const Prover *p = e->p;
    const Block *b = n->place[0].block, *a = n->place[1].block;
    if (!n->place[0].joins || !n->place[1].joins)
        return n->place[0].joins ? 1 : 2;
    const Block *of_before = counterpart(p, e->to_after, b, PROVE_AFTER),
                *of_after = counterpart(p, e->to_before, a, PROVE_BEFORE);
    if (of_before && p->side[1].g.is_join[of_before->id] < JOIN_SHARED)
        of_before = NULL;
    if (of_after && p->side[0].g.is_join[of_after->id] < JOIN_SHARED)
        of_after = NULL;
    if (of_before == a)
        return 3;
    if (!of_before || !of_after)
        return of_after ? 1 : of_before ? 2 : 3;
    bool before_comes = comes_silently(&p->side[0], b, of_after), after_comes = comes_silently(&p->side[1], a, of_before);
    if (before_comes != after_comes)
        return before_comes ? 1 : 2;
    return p->side[0].g.order[b->id] < p->side[0].g.order[of_after->id] ? 1 : 2;
}

static void start_at(Prover *p, Node *n)
{
    u32 slots = n->slots[0] + n->slots[1];
    p->iterations = n->iterations;
    for (u32 side = 0; side < 2; side++) {
        p->place[side] = n->place[side];
        p->open[side] = n->open[side];
        p->cells[side] = &prove_cells_lost;
        p->side[side].written = 0;
        p->entered[side].block = NULL;
        p->moved[side] = 0;
    }
    for (u32 k = 0; k < slots; k++)
        prove_set_reg(&p->side[k >= n->slots[0]], n->reg[k], n->value[k]);
    for (u32 k = 0; k < n->facts; k++)
        prove_learn(p, n->fact[k].term, n->fact[k].set);
}

static void explore_node(Explorer *e, Node *n)
{
    Prover *p = e->p;
    if (!n->value) { /* the second exploration takes the paths of the first one: this is reached only if it does not */
        prove_fail(p, PROVE_UNKNOWN, "limit: a node without a state");
        return;
    }
    Saved s = save(p);
    u32 who = movers(e, n);
    trace_node(p, n, who);
    n->version++;
    n->in_doubt = false;
    VecU32 old = n->next;
    n->next = (VecU32){0};
    p->at = n;
    p->depth = p->passed = 0;
    p->branches = NULL;
    p->trail = n->id;
    start_at(p, n);
    for (u32 side = 0; side < 2; side++)
        if (who >> side & 1)
            p->place[side].joins = false;
    explore(p);
    restore(p, &s);
    prove_outdate(p, n, &old);
    vec_free(&old);
}

/* ---- progress ------------------------------------------------------------------------------------------------------------------- */

typedef struct Visit {
    u32 node, edge;
} Visit;

typedef VEC(Visit) Visits;

/* Follows the next edge from the top of the stack on which the side does not move; true: it closes a cycle. */
static bool follow_edge(const Prover *p, u32 side, Visits *stack, u8 *state)
{
    Visit *top = &vec_last(stack);
    const Node *n = p->nodes.v[top->node];
    if (top->edge == n->next.n) {
        state[top->node] = 2;
        stack->n--;
        return false;
    }
    u32 edge = n->next.v[top->edge++], to = edge >> 2;
    if ((edge >> side & 1) || state[to])
        return !(edge >> side & 1) && state[to] == 1;
    state[to] = 1;
    vec_push(stack, ((Visit){to, 0}));
    return false;
}

/* Whether there is a cycle of edges on which the side does not move: the other one could go around for ever while it waits. */
static bool waits_for_ever(const Prover *p, u32 side)
{
    u8 *state = mem_zalloc(p->nodes.n); /* 1: on the stack, 2: done */
    Visits stack = {0};
    bool found = false;
    for (u32 root = 1; root < p->nodes.n && !found; root++) {
        if (state[root])
            continue;
        state[root] = 1;
        vec_push(&stack, ((Visit){root, 0}));
        while (stack.n && !found)
            found = follow_edge(p, side, &stack, state);
    }
    vec_free(&stack);
    free(state);
    return found;
}

/* ---- the whole function ------------------------------------------------------------------------------------------------------------ */

static u64 label_key(Prover *p, const Label *l) { return (u64)(uintptr_t)intern(&p->names, l->name->text, l->name->len); }

/* By name of a label its block, plus 1; NO_BLOCK: several scopes have such a label. */
static FnvMap blocks_by_label(Prover *p, const Function *fn)
{
    FnvMap map = {0};
    for_each_block(b, fn)
        for (const Label *l = b->labels; l; l = l->next) {
            u64 *at = fnvmap_at(&map, label_key(p, l));
            *at = *at ? PROVE_NO_BLOCK : b->id + 1;
        }
    return map;
}

/* By Block.id of one function the block of the other that has one of its labels, plus 1. */
static u32 *labels_in(Prover *p, ProveSide side)
{
    Function *fn = p->side[side].fn, *other = p->side[!side].fn;
    u32 *map = arena_array(p->arena, u32, fn->blocks.n);
    FnvMap own = blocks_by_label(p, fn), others = blocks_by_label(p, other);
    for_each_block(b, fn)
        for (const Label *l = b->labels; l && !map[b->id]; l = l->next) {
            const u64 *id = fnvmap_find(&others, label_key(p, l));
            if (id && *id != PROVE_NO_BLOCK && *fnvmap_at(&own, label_key(p, l)) != PROVE_NO_BLOCK)
                map[b->id] = (u32)*id;
        }
    map[fn->entry->id] = other->entry->id + 1;
    fnvmap_free(&own);
    fnvmap_free(&others);
    return map;
}

static u32 count_instructions(const Function *fn)
{
    u32 n = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            n++;
    return n;
}

/* From the entries on, until no node's state changes any more. */
static void explore_all(Explorer *e)
{
    Prover *p = e->p;
    Node start = {0};
    p->at = &start;
    p->branches = NULL;
    p->trail = 0;
    p->depth = p->passed = 0;
    for (u32 side = 0; side < 2; side++) {
        Machine *m = &p->side[side];
        fill_with_garbage(m);
        p->cells[side] = NULL;
        p->entered[side].block = NULL;
        p->open[side] = (Opens){0};
        p->place[side] = (Place){m->fn->entry, m->fn->entry->first, m->g.is_join[m->fn->entry->id] != JOIN_NONE};
    }
    explore(p);
    for (u32 side = 0; side < 2; side++)
        prove_undo(&p->side[side], 0);
    prove_forget(p, 0);
    vec_free(&start.next);
    for (Node *n; !p->failed && (n = prove_next_node(p));)
        if (prove_merge(p, n))
            explore_node(e, n);
    for (u32 k = 1; k < p->nodes.n && !p->failed; k++)
        if (p->nodes.v[k]->in_doubt)
            prove_fail(p, PROVE_UNKNOWN, "in its last state a loop's iterations are not the same");
}

void prove_explore(Prover *p)
{
    Explorer e = {.p = p, .to_after = labels_in(p, PROVE_BEFORE), .to_before = labels_in(p, PROVE_AFTER)};
    share_joins(&e);
    u64 limit = STEPS_BASE + (u64)(p->options->limit ? p->options->limit : STEPS_EACH) *
                                 (count_instructions(p->side[0].fn) + count_instructions(p->side[1].fn));
    p->step_limit = limit > UINT32_MAX / 2 ? UINT32_MAX / 2 : (u32)limit;
    explore_all(&e);
    p->values_hold = true;
    for (u32 k = 1; k < p->nodes.n; k++)
        vec_clear(&p->nodes.v[k]->arrivals);
    if (!p->failed && (p->skipped.word || prove_threads_matter(p))) {
        prove_find_loops(p, e.to_after);
        explore_all(&e);
    }
    for (u32 side = 0; side < 2 && !p->failed; side++)
        if (waits_for_ever(p, side))
            prove_fail(p, PROVE_UNKNOWN, "termination: a loop of one text has no counterpart in the other");
}
