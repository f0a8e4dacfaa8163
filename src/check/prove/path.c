/* One side of a path: it runs until it reaches an event or a join, or cannot tell where control goes. */
#include "check/prove/arguments.h"

static void enter(Prover *p, ProveSide side, Block *to)
{
    Place *at = &p->path.place[side];
    const Block *from = at->block;
    at->block = to;
    at->at = to->first;
    u8 kind = p->side[side].g.is_join[to->id];
    at->joins = kind > JOIN_LONE || (kind == JOIN_LONE && p->path.passed++ >= p->plan.pass_limit);
    p->effort.passed_most = p->path.passed > p->effort.passed_most ? p->path.passed : p->effort.passed_most;
    p->path.entered[side] = (Entered){to, p->side[side].undo.n, p->side[side].written};
    prove_enter(p, side, from, to);
}

/* Control goes on to block `to`. */
static void leave_for(Prover *p, ProveSide side, Term cond, Block *to)
{
    prove_pass_branch(p, side, cond, to);
    enter(p, side, to);
}

/* The values of a table's index that lead to this target. */
static SetId values_for(Prover *p, const Table *table, u32 target)
{
    return prove_set_places(&p->t.sets, table->targets.v, table->targets.n, target);
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

/* Runs the terminator: goes on, or says why not. Sets `moved` if it went on. */
static Running run_terminator(Prover *p, ProveSide side, Instr *i, bool *moved)
{
    Machine *m = &p->side[side];
    Running r = {.stop = STOP_FORK};
    Term guard = prove_guard(m, i);
    int taken = prove_decide(p, guard, &r.atom);
    /* a quotient by a divisor that is known not to be zero is made without the choice */
    if (taken < 0 && p->t.divides && prove_node(&p->t, guard)->choices)
        taken = prove_decide(p, prove_simplify(p, guard), &r.atom);
    if (taken < 0)
        return r;
    *moved = true;
    if (!taken) {
        if (!i->block->fall) {
            r.stop = STOP_END;
            p->path.place[side].at = NULL;
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

const char *prove_limit(const Prover *p)
{
    return p->effort.steps > p->plan.step_limit ? "limit: too many steps"
           : prove_is_over(p)                   ? "limit: too many terms"
           : prove_is_large(p)                  ? "limit: too much memory"
           : prove_is_spent(p)                  ? "limit: too much work"
                                                : NULL;
}

Running prove_run(Prover *p, ProveSide side)
{
    Machine *m = &p->side[side];
    Place *at = &p->path.place[side];
    for (;;) {
        if (at->joins)
            return (Running){.stop = STOP_JOIN};
        p->effort.steps++;
        if (prove_limit(p) || m->fault)
            return (Running){.stop = STOP_FAULT};
        Instr *i = at->at;
        if (!i) {
            if (!at->block->fall)
                return (Running){.stop = STOP_END};
            p->path.moved[side]++;
            enter(p, side, at->block->fall);
            continue;
        }
        if (i->kind == INSTR_OP && op_has(i->op, OPF_TERMINATOR)) {
            bool moved = false;
            Running r = run_terminator(p, side, i, &moved);
            if (!moved)
                return r;
            p->path.moved[side]++;
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
        p->path.moved[side]++;
        at->at = i->next;
    }
}

Saved prove_save(const Prover *p)
{
    Saved s = {.path = p->path, .facts = p->facts.all.n};
    for (u32 side = 0; side < 2; side++) {
        s.undo[side] = p->side[side].undo.n;
        s.written[side] = p->side[side].written;
    }
    return s;
}

void prove_restore(Prover *p, const Saved *s)
{
    prove_forget(p, s->facts);
    p->path = s->path;
    for (u32 side = 0; side < 2; side++) {
        prove_undo(&p->side[side], s->undo[side]);
        p->side[side].written = s->written[side];
    }
}
