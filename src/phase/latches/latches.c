/* latches: gives the tests of loops the form that ptxas counts and unrolls (tests/ptxas/LOOPS.md).
 *
 *     setp.ge p; @!p bra LOOP;            setp.lt p; @p bra LOOP;
 *     setp.eq p; @p bra EXIT; bra LOOP;   setp.ne p; @p bra LOOP; EXIT:
 *     @p bra.uni LOOP;                    @p bra LOOP;
 *
 * The comparison of a latch moves up to the step of its counter where it stands apart from it (phase/latches/compare.h).
 * Where a latch tests two comparisons, De Morgan makes an and.pred of its or.pred.
 *
 * From -O2 on, a latch that compares an affine function of what the loop steps gets a counter of its own
 * (phase/latches/counter.h). Or it compares a register that the loop steps anyway with its last value.
 *
 * Sound: every thread takes the same edges and executes the same instructions with the same operands in the same order. Only
 * branches, and the comparisons that decide them, change or move. A comparison of floats is inverted to its unordered twin, and
 * every other reader still finds its value. `.uni` is never added. Threads that leave the loop by a guarded ret may wait at a
 * separate ret for those that stay. So the phase leaves loops alone whose threads may wait for others to leave.
 *
 * Declines: loops with the pragma nounroll; loops that ptxas would count wrongly (transform/miscounted.h); loops that leave for
 * equality with a counter that steps by more than one, since they were unrolled before; latches in front of an irreducible loop,
 * or in it; conditions whose comparison is guarded, combined, or in another block; conditions on values that ptxas cannot count
 * by. A loop gets no counter of its own if ptxas would probably not unroll it even then: large loops, loops with a second exit,
 * a call or a warp operation, and loops that do not run towards their bound. Nor does it get one if ptxas would unroll it too
 * often, or if it was unrolled before (phase/latches/unrolled.h). */
#include "analysis/affine.h"
#include "analysis/reconverge.h"
#include "base/bound.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/latches/compare.h"
#include "phase/latches/counter.h"
#include "transform/condition.h"
#include "transform/miscounted.h"

/* Loops that are treated with care, as they were before the first rewrite. */
typedef struct LatchLoops {
    BitSet must_leave; /* by place in AN_LOOPS: see find_must_leave() */
    MiscountedLoops miscounted;
} LatchLoops;

/* Reports that the test of a loop stays as it is. */
static void test_kept(PhaseRun *run, const char *name, const Instr *branch, const char *why)
{
    phase_missed_once(run, name, branch,
                      "ptxas will not unroll this loop: %s, and no comparison in its block can be inverted", why);
}

static bool is_uniform_branch(const Instr *branch) { return branch_target(branch) && op_has(branch->op, OPF_UNIFORM_HINT); }

/* Whether the test is written as canonicalize_exit() would write it. */
static bool is_canonical(const Instr *branch) { return condition_is_plain(branch) && !is_uniform_branch(branch); }

/* Whether the rewrite is to be made. The analyses of later tests are of the function as it is before the first one. */
static bool may_rewrite(Analyses *an, PhaseRun *run, const char *name, const Block *at, const char *what)
{
    an_compute_frozen(an);
    return phase_rewrite(run, name, at, what);
}

/* Removes `.uni`, which keeps ptxas from unrolling on a loop's test. Its promise is not lost: ptxas finds uniform branches
 * itself. */
static void drop_uniform_hint(Analyses *an, Instr *branch)
{
    if (is_uniform_branch(branch))
        instr_set_op(branch, isa_without(an->fn->module->isa, branch->op, OPF_UNIFORM_HINT));
}

/* Rewrites a latch that tests two conditions at once. ptxas splits an and.pred where the number of iterations is a
 * constant; elsewhere it needs a tenth fewer cycles for it than for an or.pred. opposite: the branch leaves the loop. */
static bool canonicalize_combined(Analyses *an, PhaseRun *run, const Loop *loop, Block *b, Instr *branch, bool opposite)
{
    Both both;
    if (!branch_target(branch) || !condition_both(an, branch, opposite, &both))
        return false;
    if (loop->height > LOOP_HEIGHT_WALKED)
        phase_missed_once(run, "LoopNotSearched", branch,
                          "a loop with more than %u loops in one another is not searched for a counter",
                          (u32)LOOP_HEIGHT_WALKED);
    bool counts = latch_compare_counts(an, loop, both.compare[0]) || latch_compare_counts(an, loop, both.compare[1]);
    if (!counts && both.logic->op->opcode != OPC_OR)
        return false;
    if (!may_rewrite(an, run, "CombinedTestCanonicalized", b,
                     counts ? "ptxas unrolls a counted loop whose test is an and.pred of comparisons"
                            : "an and.pred tests sooner than an or.pred"))
        return false;
    condition_apply_both(an, branch, &both);
    drop_uniform_hint(an, branch);
    if (opposite)
        block_swap_successors(b);
    return true;
}

/* Canonicalizes a test whose branch leads to the right block, but is written `@!p bra LOOP`, `@p bra.uni LOOP` or `@!p bra
 * EXIT`. */
static bool canonicalize_exit(Analyses *an, PhaseRun *run, const Loop *loop, Block *b, Instr *branch, bool may_exchange)
{
    bool plain = condition_is_plain(branch);
    if (is_canonical(branch))
        return false;
    PlainCondition how = {.kind = PLAIN_NONE};
    bool exchange = false;
    if (!plain) {
        how = condition_plain(an, branch, false);
        if (may_exchange && (how.kind == PLAIN_NONE || how.kind == PLAIN_PAIR)) {
            how = condition_plain(an, branch, true);
            exchange = how.kind != PLAIN_NONE;
        }
    }
    if (!plain && how.kind == PLAIN_NONE) {
        if (branch_target(branch) == loop->header && canonicalize_combined(an, run, loop, b, branch, false))
            return true;
        test_kept(run, "LoopTestKept", branch, "its test is negated");
        return false;
    }
    if (!may_rewrite(an, run, "LoopTestCanonicalized", b, "ptxas unrolls a loop whose test is a plain '@p bra'"))
        return false;
    if (!plain)
        condition_apply(an, branch, &how);
    drop_uniform_hint(an, branch);
    if (exchange)
        block_swap_successors(b);
    return true;
}

/* Rewrites `@p ret; bra LOOP` to `@!p bra LOOP; ret`, with the ret in a block of its own. */
static void return_after(Analyses *an, Block *b, Instr *leave)
{
    Function *fn = an->fn;
    Block *exit = block_new_like(b, instr_loc(leave)), *header = b->fall;
    RegId guard = leave->guard;
    block_move_after(exit, b);
    block_remove_terminator(b);
    instr_set_guard(leave, 0, false);
    instr_append(exit, leave);
    block_set_branch(b, guard, false, header, false);
    instr_inherit_origin(fn, block_terminator(b), leave, NULL);
    block_set_fall(b, exit);
}

/* Whether the loop counts to equality by more than one, since its compiler unrolled it. The counter's 32 bits distinguish
 * it from one that steps a pointer. ptxas would copy the copies: kernels of 2 and 8 copies in the corpus took 2 and 21 %
 * more cycles. */
static bool was_unrolled(Analyses *an, const Loop *loop, const Instr *branch)
{
    const Instr *compare = local_definition(branch, branch->guard);
    if (loop->latch_count != 1 || loop->height != 1 || !compare || compare->op->opcode != OPC_SETP ||
        (compare->op->cmp != CMP_EQ && compare->op->cmp != CMP_NE) || type_bits(compare->op->type[0]) != 32)
        return false;
    for (u32 k = 1; k <= 2; k++) {
        RegId reg = operand_plain_register(instr_operand(compare, k)), of;
        const Instr *step = reg ? affine_definition(an, loop, reg) : NULL;
        i64 by;
        if (step && affine_is_step(step, &of, &by) && of == reg && (by > 1 || by < -1))
            return true;
    }
    return false;
}

/* Inverts the branch of `@p bra EXIT; bra LOOP`. must_leave: threads may not reconverge after the loop before they leave. */
static bool invert_latch(Analyses *an, PhaseRun *run, const Loop *loop, Block *b, Instr *leave, bool must_leave)
{
    if (!branch_target(leave) && must_leave) {
        phase_missed_once(run, "LatchKept", leave,
                          "threads that leave would wait for those in the loop, where some may wait for them");
        return false;
    }
    if (was_unrolled(an, loop, leave)) {
        phase_missed_once(run, "LatchKept", leave, "its counter steps by more than one: it was unrolled before");
        return false;
    }
    PlainCondition how = condition_plain(an, leave, true);
    if (how.kind == PLAIN_NONE) {
        if (canonicalize_combined(an, run, loop, b, leave, true))
            return true;
        test_kept(run, "LatchKept", leave, "its last branch leaves it");
        return false;
    }
    if (!may_rewrite(an, run, "LatchInverted", b, "ptxas unrolls a loop whose latch is '@p bra LOOP'"))
        return false;
    condition_apply(an, leave, &how);
    if (!branch_target(leave)) {
        return_after(an, b, leave);
        return true;
    }
    drop_uniform_hint(an, leave);
    block_swap_successors(b);
    return true;
}

/* Whether i adds or subtracts a constant, or a register that the loop does not write: there are no constants of 16 bits. */
static bool steps_evenly(const Loop *loop, const Instr *i)
{
    if (i->op->opcode != OPC_ADD && i->op->opcode != OPC_SUB)
        return false;
    RegId by = operand_plain_register(instr_operand(i, 2));
    u32 writes = 0;
    if (by)
        loop_last_write(loop, by, &writes);
    return writes == 0;
}

static bool reads_float(const OpInfo *op)
{
    bool any = false;
    for (u32 k = 0; k < op->types; k++)
        any |= type_class(op->type[k]) == TC_FLOAT;
    return any;
}

/* Whether a value that reg is computed from may be stepped by a constant in the loop. It is not if reg comes from memory,
 * another lane or a product of floats. */
static bool may_be_counted(const Loop *loop, RegId reg, u32 depth)
{
    u32 writes;
    const Instr *def = loop_last_write(loop, reg, &writes);
    if (writes != 1 || BEYOND(DEFINITIONS, !depth))
        return writes > 0;
    if (!op_has(def->op, OPF_PURE) || reads_float(def->op))
        return op_has(def->op, OPF_PURE) && steps_evenly(loop, def);
    bool any = false;
    for_each_slot(o, def)
        if (o->kind == OPND_REG && o->role == ROLE_USE)
            any |= o->id == reg || may_be_counted(loop, o->id, depth - 1);
    return any;
}

static bool may_count_by(const Loop *loop, const Instr *branch)
{
    enum { DEFINITIONS = 4 };
    const Instr *compare = local_definition(branch, branch->guard);
    if (!compare || compare->op->opcode != OPC_SETP || compare->op->bool_op != BOOL_NONE)
        return true;
    bool any = false;
    for_each_slot(o, compare)
        any |= o->kind == OPND_REG && o->role == ROLE_USE && may_be_counted(loop, o->id, DEFINITIONS);
    return any;
}

/* Whether ptxas may count by the test at the end of b, or by the one at the end of the loop. Where it cannot, nothing is
 * gained. Of high nests this is not asked. */
static bool may_count(const Loop *loop, const Block *b)
{
    if (BEYOND(LOOP_HEIGHT_WALKED, loop->height > LOOP_HEIGHT_WALKED))
        return true;
    const Instr *last = loop->latch_count == 1 ? block_conditional_branch(loop->latches[0]) : NULL;
    return may_count_by(loop, block_terminator(b)) || (last && b != loop->latches[0] && may_count_by(loop, last));
}

static bool stays(Analyses *an, const Loop *loop, const Block *to) { return to && loop_contains(an_loops(an), loop, to); }

/* Canonicalizes the test at the end of b, if one of its successors is in the loop and the other is not. */
static bool canonicalize_test(Analyses *an, PhaseRun *run, LatchLoops *all, const Loop *loop, Block *b)
{
    Instr *end = block_terminator(b);
    if (!end || !end->guard || branch_table(end))
        return false;
    Block *to = branch_target(end);
    bool leads_back = to == loop->header, falls_back = !leads_back && b->fall == loop->header;
    if (stays(an, loop, to) == stays(an, loop, b->fall) || (!falls_back && is_canonical(end) && !run->sink->wants_remarks))
        return false;
    if (!may_count(loop, b)) {
        phase_missed_once(run, "LoopTestKept", end, "ptxas cannot count this loop by what its test compares");
        return false;
    }
    if (miscounted_has(&all->miscounted, loop))
        return false;
    bool must_leave = bitset_has(&all->must_leave, an_loops(an)->of[loop->header->id] - 1);
    return falls_back ? invert_latch(an, run, loop, b, end, must_leave)
                      : canonicalize_exit(an, run, loop, b, end, to && !leads_back);
}

/* Moves a comparison that stands in another block than the step of its counter up to that step. */
static bool unite_with_step(Analyses *an, PhaseRun *run, const Loop *loop)
{
    LoopCompare distant;
    if (!latch_compare_find(an, loop, &distant) ||
        !may_rewrite(an, run, "ComparisonMoved", distant.compare->block,
                     "ptxas unrolls a loop whose test stands after the step of its counter"))
        return false;
    instr_remove(distant.compare);
    instr_insert_after(distant.step, distant.compare);
    return true;
}

/* Rewrites the comparisons of a loop's last test, if that is `@p bra LOOP` already. */
static bool canonicalize_latch(Analyses *an, PhaseRun *run, LatchLoops *all, const Loop *loop)
{
    Block *b = loop->latches[0];
    Instr *branch = block_conditional_branch(b);
    if (!branch || branch_target(branch) != loop->header || loop_is_around_irreducible(an_loops(an), b))
        return false;
    Both both;
    LoopCompare distant;
    bool combined = !branch->guard_not && condition_both(an, branch, false, &both);
    if ((!combined && !latch_compare_find(an, loop, &distant)) || miscounted_has(&all->miscounted, loop))
        return false;
    bool any = combined && canonicalize_combined(an, run, loop, b, branch, false);
    return unite_with_step(an, run, loop) || any;
}

static bool ends_in_guarded_leave(const Block *latch, const Loop *loop)
{
    const Instr *end = block_terminator(latch);
    return end && end->guard && !branch_target(end) && latch->fall == loop->header;
}

/* The loops that have a latch with a guarded ret whose threads must leave without reconverging. Found before the first
 * rewrite. */
static BitSet find_must_leave(Analyses *an)
{
    const Loops *loops = an_loops(an);
    BitSet must_leave = bitset_new(an->scratch, loops->n + 1);
    ReconvergeGate *gate = NULL;
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        for (u32 k = 0; k < loop->latch_count && !bitset_has(&must_leave, l); k++) {
            if (!ends_in_guarded_leave(loop->latches[k], loop))
                continue;
            if (!gate)
                gate = reconverge_new(an->scratch, an);
            if (reconverge_before_leaving(gate, loop->latches[k]) != RECONVERGE_SAFE)
                bitset_add(&must_leave, l);
        }
    }
    if (gate)
        reconverge_free(gate);
    return must_leave;
}

/* Adds counters when nothing else is left to do, so that the analyses see the final latches. */
static bool add_counters(Analyses *an, PhaseRun *run, MiscountedLoops *miscounted)
{
    bool any = false;
    an_freeze(an, AN_SSA | AN_FACTS);
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++)
        any |= latch_counter_add(an, run, loops->v[l], miscounted);
    return any;
}

Phase phase_latches;
PhaseResult phase_latches(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool any = false;
    LatchLoops all = {find_must_leave(an), {.an = an}};
    an_freeze(an, AN_LOOPS | AN_DOM | AN_LIVE);
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        if (loop->nounroll || (run->sink->wants_remarks && miscounted_has(&all.miscounted, loop)))
            continue;
        for (u32 k = 0; k < loop->block_count && loop_of(loops, loop->blocks[k]) == loop; k++)
            if (!loop_is_around_irreducible(loops, loop->blocks[k]))
                any |= canonicalize_test(an, run, &all, loop, loop->blocks[k]);
        any |= canonicalize_latch(an, run, &all, loop);
    }
    if (!any && run->level >= 2 && knobs->latch_counters)
        any = add_counters(an, run, &all.miscounted);
    return any ? PHASE_AGAIN : PHASE_UNCHANGED;
}
