#include "phase/loops/whole.h"

#include "analysis/ranges.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "target/ptxas.h"
#include "transform/condition.h"
#include "transform/unroll.h"

enum {
    TRIPS_MAX = 64,      /* of a shift by one */
    DEFINITIONS_MAX = 16 /* the most that are looked at in an iteration */
};

/* An iteration whose counter holds a known number at its beginning. */
typedef struct Round {
    Analyses *an;
    const Loop *loop;
    RegId counter; /* 0: not found yet */
    u64 value;
    bool shifts; /* a shift by a constant is among what was computed */
    u32 left;    /* definitions that may still be looked at */
} Round;

/* ---- computing what an iteration computes --------------------------------------------------------------------------- */

static bool value_of(Round *r, const Instr *at, RegId reg, u64 *value);

static bool operand_value(Round *r, const Instr *at, const Operand *o, u64 *value)
{
    RegId reg = operand_plain_register(o);
    *value = o && o->kind == OPND_IMM ? (u64)o->value : 0;
    return o && (o->kind == OPND_IMM || (reg && value_of(r, at, reg, value)));
}

static bool result_of(Round *r, const Instr *def, u64 *value)
{
    Sem sem = def->op->sem;
    u64 a, b;
    bool whole = sem.op == def->op->opcode && sem.bits >= 32 && !op_has(def->op, OPF_CARRY_IN | OPF_CARRY_OUT) &&
                 type_bits(fn_reg(r->an->fn, operand_plain_register(instr_operand(def, 0)))->type) == sem.bits;
    if (!whole || sem.from != sem.bits || !operand_value(r, def, instr_operand(def, 1), &a))
        return false;
    *value = a & sem_max(sem.bits);
    if (sem.op == OPC_MOV)
        return true;
    r->shifts |= (sem.op == OPC_SHL || sem.op == OPC_SHR) && instr_operand(def, 2)->kind == OPND_IMM;
    return operand_value(r, def, instr_operand(def, 2), &b) && sem_apply(sem, a, b, value);
}

/* The register at the beginning of the iteration: the counter, or a constant that the loop does not change. */
static bool value_at_start(Round *r, RegId reg, u64 *value)
{
    if (loop_is_invariant(r->loop, reg))
        return loop_entry_constant(r->an, r->loop, reg, value);
    if (!r->counter && loop_entry_constant(r->an, r->loop, reg, &r->value))
        r->counter = reg;
    *value = r->value;
    return reg == r->counter;
}

/* The register right before `at`, which every iteration executes once. */
static bool value_of(Round *r, const Instr *at, RegId reg, u64 *value)
{
    const Instr *def = affine_definition(r->an, r->loop, reg);
    if (def && instr_dominates(an_dom(r->an), def, at))
        return r->left-- > 1 && result_of(r, def, value);
    return (def || loop_is_invariant(r->loop, reg)) && value_at_start(r, reg, value);
}

/* Whether the iteration's test holds, and the counter after it. */
static bool run_round(Round *r, const Instr *compare, const Instr *end, bool *holds)
{
    u64 a, b, next;
    r->left = DEFINITIONS_MAX;
    if (!operand_value(r, compare, instr_operand(compare, 1), &a) ||
        !operand_value(r, compare, instr_operand(compare, 2), &b) || !r->counter || !value_of(r, end, r->counter, &next))
        return false;
    FactValue is = range_compare_numbers(compare->op->cmp, compare->op->type[0], a, b);
    *holds = is == FACT_TRUE;
    r->value = next;
    return is != FACT_UNKNOWN;
}

/* How often the loop runs, if that is more than once and a shift decides it; otherwise 0. */
static u32 trips_of(Analyses *an, const Loop *loop, const Instr *compare)
{
    const Instr *end = block_terminator(loop->latches[0]);
    bool stays = (branch_target(end) == loop->header) != end->guard_not, holds = stays;
    Round r = {.an = an, .loop = loop};
    u32 trips = 0;
    for (; trips <= TRIPS_MAX && holds == stays; trips++)
        if (!run_round(&r, compare, end, &holds) || !r.shifts)
            return 0;
    return trips > 1 && trips <= TRIPS_MAX ? trips : 0;
}

/* ---- whether it may be written out --------------------------------------------------------------------------------------- */

static const char *why_not(Analyses *an, const Loop *loop, const Whole *w)
{
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (w->body.has_exit)
        return "it has a second exit";
    LoopSize size = loop_copy_size(an, &w->body, &w->dropped);
    if (w->body.full || (u64)size.body * w->trips > PTXAS_UNROLLED_ROUNDS)
        return "its iterations together are large";
    for (u32 k = 0; k < w->body.blocks; k++)
        for_each_instr(i, w->body.block[k])
            if (!unroll_may_repeat(an, i))
                return loop_holds(an, i, "may stand in one place only");
    return NULL;
}

bool loop_whole_find(Analyses *an, const Loop *loop, Whole *found, const char **why)
{
    Instr *branch = loop_copy_may(an, loop) ? block_two_way_branch(loop->latches[0]) : NULL;
    Instr *i = branch ? local_definition(branch, branch->guard) : NULL;
    if (!i || !loop_test_is_compare(i))
        return false;
    found->compare = i;
    found->trips = trips_of(an, loop, i);
    if (!found->trips)
        return false;
    loop_body_find(an, loop, i, &found->body);
    loop_copy_plan(an, loop, &found->body, &found->dropped);
    *why = why_not(an, loop, found);
    return true;
}

/* ---- the rewrite --------------------------------------------------------------------------------------------------------- */

void loop_whole_unroll(Analyses *an, const Loop *loop, const Whole *w)
{
    const LoopBody *c = &w->body;
    Block *after = loop_entry_block(an->fn, loop), *last = after, *latch = loop->latches[0], *copy[LOOP_BLOCKS];
    Block *exit = loop_exit_of_latch(loop);
    for (u32 k = 1; k < w->trips; k++) {
        loop_copy_blocks(c, &w->dropped, after, loop->header, copy);
        block_set_fall(last, copy[0]);
        last = loop_copy_of(c, copy, latch);
        after = copy[c->blocks - 1];
    }
    block_remove_terminator(latch);
    block_set_fall(latch, exit);
}
