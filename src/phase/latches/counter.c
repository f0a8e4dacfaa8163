#include "phase/latches/counter.h"

#include "analysis/loop_test.h"
#include "base/bound.h"
#include "ir/builder.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/latches/unrolled.h"
#include "target/ptxas.h"
#include "transform/loop_entry.h"
#include "transform/condition.h"

enum {
    BODY_COUNTED = 4 * PTXAS_UNROLLED_BODY,
    STEP_MAX = 15, /* a loop that need not meet its bound exactly, with a larger step, was unrolled by its compiler */
    UNROLLED_LEAST = 512,
    TRIPS_MOST = 1 << 14 /* the most iterations that are counted */
};

typedef struct Latch {
    Instr *branch;
    LoopTest test;
    u32 trips;   /* TRIPS_MOST: this many or more; 0: unknown */
    RegId own;   /* a register that the loop steps anyway and that can be compared, or 0 */
    Operand end; /* its value after the last iteration, which it has in no earlier one */
} Latch;

/* ---- what the latch compares ---------------------------------------------------------------------------------------- */

/* Whether the register is a counter that is stepped in front of the comparison, as ptxas wants it. */
static bool is_counted(Analyses *an, const Loop *loop, const Instr *compare, RegId compared)
{
    const Instr *def = compared ? affine_definition(an, loop, compared) : NULL;
    RegId of;
    i64 by;
    if (!def || def->block != compare->block || !instr_precedes(def, compare) || !affine_is_step(def, &of, &by))
        return false;
    if (of == compared)
        return true;
    const Instr *copy = affine_definition(an, loop, of); /* t = i + 1; setp t; i = t */
    return copy && copy->op->opcode == OPC_MOV && operand_plain_register(instr_operand(copy, 1)) == compared;
}

/* Finds the test of the latch: an unguarded comparison of two integers of 32 or 64 bits, by which ptxas does not count. */
static bool find_latch(Analyses *an, const Loop *loop, Latch *l)
{
    Block *b = loop->latches[0];
    *l = (Latch){.branch = block_conditional_branch(b)};
    if (!l->branch || l->branch->guard_not || branch_target(l->branch) != loop->header || b->fall == loop->header)
        return false;
    Instr *compare = local_definition(l->branch, l->branch->guard);
    if (!compare || !loop_test_is_compare(compare))
        return false;
    for (u32 k = 1; k <= 2; k++) /* then the other one is the bound */
        if (is_counted(an, loop, compare, operand_plain_register(instr_operand(compare, k))))
            return false;
    return loop_test_read(an, loop, compare, false, &l->test);
}

/* ---- whether ptxas would unroll the loop ------------------------------------------------------------------------------- */

/* Machine instructions of the loop's body; beyond BODY_COUNTED, some larger number. */
static u32 body_size(const Loop *loop)
{
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count && n <= BODY_COUNTED; k++)
        n += ptxas_block_cost(loop->blocks[k], BODY_COUNTED - n);
    return n;
}

static u32 accesses(const Loop *loop)
{
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            n += i->kind == INSTR_OP && i->op->mem != MEM_NONE;
    return n;
}

/* Whether some loop of the function is nested two levels deeper. This one then runs rarely, and its unrolling does not show. */
static bool runs_rarely(Analyses *an, const Loop *loop) { return an_loops(an)->deepest > loop->depth + 1; }

static bool leaves_early(Analyses *an, const Loop *loop)
{
    const Loops *loops = an_loops(an);
    for (u32 k = 0; k < loop->block_count; k++) {
        const Block *b = loop->blocks[k];
        if (b == loop->latches[0] ? block_leaves_function(an->fn, b) : loop_is_left_at(loops, loop, b))
            return true;
    }
    return false;
}

/* Whether the loop holds a call, or an operation by which lanes exchange values. */
static bool holds_obstacle(Analyses *an, const Loop *loop)
{
    bool lanes = an->fn->module->target_sm < PTXAS_UNROLLS_LANES_FROM;
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (instr_is(i, OPF_CALL) || (lanes && instr_is(i, OPF_CONVERGENT) && !op_has(i->op, OPF_BARRIER)))
                return true;
    return false;
}

/* Why the loop gets no counter; NULL: it may. Sets l->trips. */
static const char *why_not(Analyses *an, const Loop *loop, Latch *l)
{
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (loop->block_count > PTXAS_UNROLLED_BLOCKS || body_size(loop) > PTXAS_UNROLLED_BODY ||
        accesses(loop) > PTXAS_UNROLLED_ACCESSES)
        return "it is large";
    i64 step = sem_signed(l->test.value.step, l->test.value.bits);
    if (l->test.cmp != CMP_NE && BEYOND(STEP_MAX, step > STEP_MAX || step < -STEP_MAX))
        return "its step is large: it was unrolled before";
    if (runs_rarely(an, loop))
        return "it runs rarely beside deeper loops";
    if (!loop_entry_has_sum(&l->test.value))
        return "where it starts takes a product";
    if (leaves_early(an, loop))
        return "it has a second exit";
    if (holds_obstacle(an, loop))
        return "it holds a call, or an operation of the warp";
    if (!loop_test_runs_towards_bound(&l->test))
        return "the counter does not run towards its bound";
    u32 body = body_size(loop) + 1;
    l->trips = loop_test_trips(an, loop, &l->test, TRIPS_MOST);
    if ((u64)l->trips * body >= UNROLLED_LEAST && (u64)l->trips * body <= PTXAS_UNROLLED_WHOLE)
        return "ptxas would unroll it to the end, and it runs often";
    return latch_unrolled_before(an, loop, &l->test, l->trips, accesses(loop));
}

/* ---- the counter -------------------------------------------------------------------------------------------------------- */

/* Makes a new register that holds the sum of the value's terms and `more`. */
static RegId build_start(const Builder *at, const Affine *v, u64 more)
{
    u32 registers = at->fn->regs.n;
    Operand sum = loop_entry_sum(at, v, more);
    if (sum.kind == OPND_REG && sum.id >= registers)
        return sum.id;
    OpParts copy = {.type = {unsigned_type(v->bits)}};
    return build_unary(at, OPC_MOV, copy, bits_type(v->bits), sum);
}

static void add_counter(Analyses *an, const Loop *loop, const Latch *l)
{
    Builder before = build_at_end(loop_entry_block(an->fn, loop)), here = build_before(l->test.compare);
    RegId counter = build_start(&before, &l->test.value, l->test.value.start - l->test.value.step);
    Operand slots[] = {register_operand(counter), register_operand(counter),
                       build_integer(l->test.value.step, l->test.value.bits, true)};
    build(&here, OPC_ADD, (OpParts){.type = {signed_type(l->test.value.bits)}}, slots, 3);
    instr_rename(l->test.compare, l->test.compared, counter, true, false);
}

/* ---- a register that the loop steps anyway ------------------------------------------------------------------------------- */

/* Whether reg starts at a constant, is stepped before the comparison, and has its last value in no earlier iteration. It
 * moves in one direction by less than 2^31, so it has not. *end becomes that value. */
static bool ends_at(Analyses *an, const Loop *loop, const Latch *l, RegId reg, Operand *end)
{
    const Instr *def = affine_definition(an, loop, reg);
    RegId of;
    i64 by, far, last;
    u64 start;
    if (!def || def->block != l->test.compare->block || !instr_precedes(def, l->test.compare) ||
        !affine_is_step(def, &of, &by) || of != reg || !loop_entry_constant(an, loop, reg, &start))
        return false;
    u32 bits = def->op->sem.bits;
    if (__builtin_mul_overflow(by, (i64)l->trips, &far) || !far || far < -(i64)INT32_MAX || far > INT32_MAX ||
        __builtin_add_overflow(sem_signed(start, bits), far, &last) || last < INT32_MIN || last > INT32_MAX)
        return false;
    *end = build_integer((u64)last, bits, true);
    return true;
}

static void find_own(Analyses *an, const Loop *loop, Latch *l)
{
    for (u32 k = 0; k < l->test.value.terms && l->trips && l->trips < TRIPS_MOST && !l->own; k++)
        if (ends_at(an, loop, l, l->test.value.term[k].reg, &l->end))
            l->own = l->test.value.term[k].reg;
}

static void compare_own(const Latch *l)
{
    Builder here = build_before(l->test.compare);
    Type type = fn_reg(here.fn, l->own)->type;
    Operand slots[] = {*instr_operand(l->test.compare, 0), register_operand(l->own), l->end};
    build(&here, OPC_SETP, (OpParts){.cmp = CMP_NE, .type = {type_bits(type) == 64 ? TYPE_S64 : TYPE_S32}}, slots, 3);
    instr_remove(l->test.compare);
}

static bool is_simple(Analyses *an, const Loop *loop)
{
    const Loops *loops = an_loops(an);
    return !loop->nounroll && loop->latch_count == 1 && loop->height == 1 && !loops->irreducible;
}

bool latch_counter_add(Analyses *an, PhaseRun *run, const Loop *loop, MiscountedLoops *miscounted)
{
    Latch l;
    if (!is_simple(an, loop) || !find_latch(an, loop, &l) || miscounted_has(miscounted, loop) ||
        BEYOND(BODY_COUNTED, body_size(loop) > BODY_COUNTED))
        return false;
    const char *why = why_not(an, loop, &l);
    if (why) {
        phase_missed_once(run, "LatchWithoutCounter", l.branch,
                          "ptxas does not count this loop by what its latch compares: %s", why);
        return false;
    }
    find_own(an, loop, &l);
    an_compute_frozen(an);
    if (!phase_rewrite_at(run, "LatchCounter", l.branch, "ptxas unrolls a loop with a counter %s in its latch; it runs %s",
                          l.own ? "that it steps anyway" : "of its own",
                          l.trips == 0
                              ? "as often as is not known"
                              : arena_printf(run->arena, l.trips == TRIPS_MOST ? "%u times or more" : "%u times", l.trips)))
        return false;
    if (l.own)
        compare_own(&l);
    else
        add_counter(an, loop, &l);
    return true;
}
