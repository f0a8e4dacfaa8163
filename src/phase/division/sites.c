#include "phase/division/sites.h"

#include "analysis/loop_test.h"
#include "analysis/values.h"
#include "base/marks.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "target/ptxas.h"
#include "transform/condition.h"

enum {
    TRIPS_LEAST = 3,
    WORDS = 2 /* registers that a reciprocal takes in the loop, with the divisor's opposite */
};

typedef struct DivisionSearch {
    Analyses *an;
    PhaseRun *run;
    Divisions *found;
    const Loop *loop;
    const Block *last;      /* the last one that every iteration executes */
    Marks written;          /* by register: the loop writes it */
    FnvMap divisor_of;      /* by what a divisor of the loop is made of: its place, plus 1 */
    const char *loop_keeps; /* why nothing in the loop is rewritten, or NULL */
} DivisionSearch;

/* ---- the loop ---------------------------------------------------------------------------------------------------------- */

static bool is_division(const Instr *i, u32 bits)
{
    return i->kind == INSTR_OP && (i->op->sem.op == OPC_DIV || i->op->sem.op == OPC_REM) && i->op->sem.bits == bits;
}

static bool holds_division(const Block *b, u32 bits)
{
    for_each_instr(i, b)
        if (is_division(i, bits))
            return true;
    return false;
}

static bool loop_holds_division(const Loop *loop)
{
    for (u32 k = 0; k < loop->block_count; k++)
        if (holds_division(loop->blocks[k], 32))
            return true;
    return false;
}

static void mark_writes(DivisionSearch *s)
{
    marks_clear(&s->written);
    for (u32 k = 0; k < s->loop->block_count; k++)
        for_each_instr(i, s->loop->blocks[k])
            for (RegWalk w = reg_walk(i); next_write(&w);)
                marks_add(&s->written, w.reg);
}

/* How often the loop runs; 0: unknown. */
static u32 trips_of(Analyses *an, const Loop *loop)
{
    Block *latch = loop->latches[0];
    Instr *branch = block_two_way_branch(latch);
    LoopTest test;
    if (loop->latch_count > 1 || !branch)
        return 0;
    bool leaves = branch_target(branch) != loop->header;
    Instr *compare = local_definition(branch, branch->guard);
    if ((leaves && latch->fall != loop->header) || !compare || !loop_test_is_compare(compare) ||
        !loop_test_read(an, loop, compare, leaves != branch->guard_not, &test))
        return 0;
    return loop_test_trips(an, loop, &test, TRIPS_LEAST);
}

static const char *why_loop_keeps(Analyses *an, const Loop *loop)
{
    const Loops *loops = an_loops(an);
    if (loop->header == an->fn->entry || block_is_pinned(loop->header) || loop_is_around_irreducible(loops, loop->header))
        return "nothing can stand in front of the loop";
    if (loops->deepest > loop->depth)
        return "the loop runs rarely beside deeper loops";
    u32 trips = trips_of(an, loop);
    return trips && trips < TRIPS_LEAST ? "the loop runs less than three times" : NULL;
}

/* ---- where it stands ---------------------------------------------------------------------------------------------------- */

static Block *last_of_every_iteration(Analyses *an, const Loop *loop)
{
    Block *last = loop->latches[0];
    for (u32 k = 1; k < loop->latch_count; k++)
        last = dom_nearest_common(an_dom(an), last, loop->latches[k]);
    return last;
}

static bool is_in_every_iteration(const DivisionSearch *s, const Block *b) { return dominates(an_dom(s->an), b, s->last); }

/* Whether b is what compilers put beside a division of 64 bits, for operands that have only 32. */
static bool is_short_form(const DivisionSearch *s, const Block *b)
{
    const Block *before = cfg_single_pred(s->an->fn, b);
    const Instr *branch = before ? block_two_way_branch(before) : NULL;
    if (!branch || !is_in_every_iteration(s, before))
        return false;
    const Block *other = branch_target(branch) == b ? before->fall : branch_target(branch);
    return holds_division(other, 64);
}

/* ---- the operands ------------------------------------------------------------------------------------------------------- */

/* Whether i gives the same in each iteration, and costs next to nothing. */
static bool is_remade(const DivisionSearch *s, const Instr *i)
{
    if ((!op_is_pure(i->op) && !instr_loads_parameter(i)) || ptxas_cost(i) > 1 || instr_reads_volatile_register(i))
        return false;
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (marks_has(&s->written, w.reg))
            return false;
    return instr_operands(i) > 1 && operand_plain_register(instr_operand(i, 0));
}

/* What makes the divisor: *remade is NULL if the loop does not. False: it changes. */
static bool find_divisor(const DivisionSearch *s, const Instr *i, RegId reg, const Instr **remade)
{
    *remade = NULL;
    if (!marks_has(&s->written, reg))
        return true;
    *remade = local_definition(i, reg);
    return *remade && is_remade(s, *remade);
}

static bool same_instruction(const Instr *a, const Instr *b)
{
    if (!a || !b)
        return a == b;
    if (a->op != b->op || instr_operands(a) != 2 || instr_operands(b) != 2)
        return a == b;
    RegId from = operand_plain_register(instr_operand(a, 1));
    return from && from == operand_plain_register(instr_operand(b, 1));
}

/* A hash of what an instruction computes: equal for equal computations. */
static u64 key_of(const Instr *remade, RegId reg, bool is_signed)
{
    RegId from = remade ? operand_plain_register(instr_operand(remade, 1)) : reg;
    return (u64)from << 2 | (u64)(remade != NULL) << 1 | is_signed;
}

static u32 divisor_number(DivisionSearch *s, const Instr *i, RegId reg, const Instr *remade)
{
    bool is_signed = i->op->sem.is_signed;
    u64 *place = fnvmap_at(&s->divisor_of, key_of(remade, reg, is_signed));
    if (!*place || !same_instruction(s->found->divisors.v[*place - 1].remade, remade)) {
        Divisor made = {.loop = s->loop, .reg = reg, .remade = remade, .is_signed = is_signed};
        vec_push(&s->found->divisors, made);
        *place = s->found->divisors.n;
    }
    return (u32)*place - 1;
}

static Range divisor_range(const DivisionSearch *s, const Instr *i, RegId divisor)
{
    return value_of_register(an_facts(s->an), (ProgramPoint){NULL, i->block, i}, divisor, 32);
}

/* ---- divisions ---------------------------------------------------------------------------------------------------------- */

static void take(DivisionSearch *s, Instr *i, RegId dividend, RegId reg, const Instr *remade)
{
    Range by = divisor_range(s, i, reg);
    if (range_is_constant(&by))
        return;
    Division d = {.i = i,
                  .block = i->block,
                  .dividend = dividend,
                  .value = ssa_at(an_ssa(s->an), i->block, i, dividend),
                  .divisor = divisor_number(s, i, reg, remade),
                  .is_remainder = i->op->sem.op == OPC_REM,
                  .may_be_zero = by.lo == 0 && by.least <= 0 && by.most >= 0};
    Divisor *divisor = &s->found->divisors.v[d.divisor];
    divisor->may_be_zero |= d.may_be_zero;
    divisor->always |= is_in_every_iteration(s, i->block) || is_short_form(s, i->block);
    vec_push(&s->found->v, d);
}

static void keep(const DivisionSearch *s, const Instr *i, const char *why)
{
    phase_missed_once(s->run, "DivisionKept", i, "this division in a loop stays as it is: %s", why);
}

/* Whether the loop has no registers left for the reciprocals of the divisors from `first` on. */
static bool is_crowded(DivisionSearch *s, u32 first)
{
    u32 words = WORDS * (s->found->divisors.n - first);
    return words + live_words(an_live(s->an), s->loop->header, PTXAS_CROWDED + 1) > PTXAS_CROWDED;
}

/* Drops the divisions of the loop that do not pay: those from `first` on, by divisors from `divisor` on. */
static void drop(DivisionSearch *s, u32 first, u32 divisor)
{
    if (s->found->v.n == first)
        return;
    const char *crowded = is_crowded(s, divisor) ? "the loop has no registers left for it" : NULL;
    u32 kept = first;
    for (u32 k = first; k < s->found->v.n; k++) {
        Division *d = &s->found->v.v[k];
        bool always = s->found->divisors.v[d->divisor].always;
        if (always && !crowded)
            s->found->v.v[kept++] = *d;
        else
            keep(s, d->i, always ? crowded : "not every iteration executes it");
    }
    s->found->v.n = kept;
}

static void look_at(DivisionSearch *s, Instr *i)
{
    RegId to = operand_plain_register(instr_operand(i, 0)), a = operand_plain_register(instr_operand(i, 1)),
          b = operand_plain_register(instr_operand(i, 2));
    const Instr *remade;
    if (instr_operand(i, 2)->kind == OPND_IMM)
        return;
    const char *why = s->loop_keeps;
    if (!to || !a || !b || type_bits(fn_reg(s->an->fn, a)->type) != 32 || type_bits(fn_reg(s->an->fn, b)->type) != 32 ||
        type_bits(fn_reg(s->an->fn, to)->type) != 32)
        why = "its operands are not 32-bit registers";
    else if (!why && i->guard)
        why = "it is guarded";
    else if (!why && !find_divisor(s, i, b, &remade))
        why = "its divisor changes in the loop";
    if (why)
        keep(s, i, why);
    else
        take(s, i, a, b, remade);
}

static void look_into(DivisionSearch *s)
{
    s->loop_keeps = why_loop_keeps(s->an, s->loop);
    s->last = last_of_every_iteration(s->an, s->loop);
    mark_writes(s);
    fnvmap_clear(&s->divisor_of);
    u32 first = s->found->v.n, divisor = s->found->divisors.n;
    for (u32 k = 0; k < s->loop->block_count; k++)
        for_each_instr(i, s->loop->blocks[k])
            if (is_division(i, 32))
                look_at(s, i);
    drop(s, first, divisor);
}

void divisions_find(Analyses *an, PhaseRun *run, Divisions *found)
{
    DivisionSearch s = {.an = an, .run = run, .found = found};
    const Loops *loops = an_loops(an);
    for (u32 k = 0; k < loops->n; k++) {
        s.loop = loops->v[k];
        if (s.loop->height > 1 || !loop_holds_division(s.loop))
            continue;
        if (!s.written.of)
            s.written = marks_new(an->scratch, an->fn->regs.n);
        look_into(&s);
    }
    fnvmap_free(&s.divisor_of);
}

void divisions_free(Divisions *d)
{
    vec_free(&d->v);
    vec_free(&d->divisors);
}
