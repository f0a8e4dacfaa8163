/* loop-split: runs a loop without its bounds checks for as long as these pass.
 *
 *     LOOP: setp.ge.u32 p, i, len;                    n, the least of `end - i` and `len - i` (0 where i is beyond)
 *           @p bra FAIL;                              @n==0 bra LOOP;
 *           ...                                 FAST: ...
 *           add.s32 i, i, 1;                          add.s32 n, n, -1; setp.ne.s32 q, n, 0;
 *           setp.lt.s32 q, i, end;        to          @q bra FAST;
 *           @q bra LOOP;                              i = i + steps; setp.lt.s32 q, i, end;
 *                                                     @!q bra EXIT;
 *                                               LOOP: as it was
 *
 * Sound: n is at most the number of iterations, from the first on, in which each of these branches continues. They compare
 * values that are affine in the number of the iteration. n is computed from the value's start, its step and the bound, so
 * that no value up to there wraps past the bound. So each thread executes in FAST what it would have executed in LOOP,
 * without branches that it would not have taken. It continues in LOOP with the same registers, where the check decides.
 * Registers that only the checks read get all their steps at once. FAST holds nothing but arithmetic, loads and stores, and
 * ends after n iterations: no thread waits in it, so threads may wait for each other after it. Where these branches may
 * divide a warp, threads could come in other groups to an instruction that depends on which lanes execute it. So the loop
 * stays where an instruction sees them, and where a branch is `.uni`. It also stays for a convergent instruction that
 * depends on one of the branches but not on all that divide a warp.
 *
 * It pays where ptxas unrolls FAST: it counts its iterations, and it has one exit (tests/ptxas/LOOPS.md). LOOP gets the
 * pragma nounroll: it runs rarely, and is not split again.
 *
 * Declines: loops with the pragma nounroll or another exit, large ones, and those with instructions that may not be copied.
 * Loops that run a constant number of times stay as well: ptxas unrolls them with their checks. */
#include "analysis/ranges.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"
#include "target/ptxas.h"

enum {
    STEP_LOG_MAX = 8,
    RUN_MOST = 1 << 30 /* the most iterations of the copy; the checked loop runs the rest */
};

/* ---- whether a loop may be split, and whether that pays
 * -------------------------------------------------------------------- */

static u32 step_size(const LoopTest *t)
{
    i64 step = sem_signed(t->value.step, t->value.bits);
    u64 size = step < 0 ? 0 - (u64)step : (u64)step;
    return size <= 1u << STEP_LOG_MAX && !(size & (size - 1)) ? (u32)size : 0;
}

static bool is_countable(const LoopTest *t) { return step_size(t) && loop_entry_has_sum(&t->value) && t->cmp != CMP_EQ; }

/* The number of iterations after which the loop has surely ended, at most `most`; 0: unknown. */
static u32 trip_count(Analyses *an, const Loop *loop, const LoopChecks *c, u32 most)
{
    u32 least = 0;
    for (u32 k = 0; k < c->tests; k++) {
        u32 trips = c->of_latch[k] || !c->latch_tests ? loop_test_trips(an, loop, &c->test[k], most) : 0;
        least = trips && (!least || trips < least) ? trips : least;
    }
    return least;
}

/* Why the loop stays as it is; NULL: it need not. */
static const char *why_not(Analyses *an, const Loop *loop, const LoopChecks *c, const LoopDropped *d)
{
    const Block *latch = loop->latches[0];
    const Instr *end = block_terminator(latch);
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (c->full)
        return "it is large";
    if (c->uncounted)
        return "it is not known how often it runs";
    if (c->has_exit)
        return "it has another exit";
    if (end && (!branch_target(end) || !end->guard))
        return "its latch ends the thread";
    for (u32 k = 0; k < c->tests; k++)
        if (!is_countable(&c->test[k]))
            return "a check is not one that ptxas could count by";
    LoopSize size = loop_copy_size(an, c, d);
    if (size.branches >= PTXAS_UNROLLED_BLOCKS || size.body > PTXAS_UNROLLED_MOST ||
        size.accesses > PTXAS_UNROLLED_ACCESSES)
        return "it is large";
    if (size.fixed)
        return "it holds an instruction that must not be copied";
    u32 most = PTXAS_UNROLLED_WHOLE / (size.body + 1) + 1, trips = trip_count(an, loop, c, most);
    if (trips && trips < most)
        return "it runs a constant number of times: ptxas unrolls it with its checks";
    return NULL;
}

/* ---- how often all checks pass ----------------------------------------------------------------------------------------------- */

static Operand number(u64 value) { return build_integer(value, 32, false); }

static RegId build_u32(const Builder *at, Opcode opcode, RegId a, Operand b)
{
    Type type = opcode == OPC_SHR ? TYPE_U32 : opcode == OPC_ADD ? TYPE_S32 : TYPE_U32;
    return build_binary(at, opcode, (OpParts){.type = {type}}, TYPE_B32, register_operand(a), b);
}

/* The number up to which the test holds. That is its bound, or, for a value that moves away from the bound, the last one
 * before it wraps. */
static Operand limit(const LoopTest *t)
{
    u32 bits = t->value.bits;
    if (loop_test_runs_towards_bound(t))
        return t->bound->kind == OPND_IMM ? build_integer((u64)t->bound->value, bits, true) : *t->bound;
    bool down = sem_signed(t->value.step, bits) < 0;
    u64 least = compare_is_signed(t->cmp, t->type) ? sem_sign(bits) : 0;
    return build_integer(down ? least : sem_max(bits) - least, bits, true);
}

static bool includes_limit(const LoopTest *t)
{
    return t->cmp == CMP_LE || t->cmp == CMP_GE || t->cmp == CMP_LS || t->cmp == CMP_HS || !loop_test_runs_towards_bound(t);
}

/* The distance from x to the limit, in the direction in which the value moves, but at most RUN_MOST. */
static RegId build_distance(const Builder *at, const LoopTest *t, Operand x)
{
    u32 bits = t->value.bits;
    Operand to = limit(t), most = build_integer(RUN_MOST, bits, false);
    bool down = sem_signed(t->value.step, bits) < 0;
    OpParts sub = {.type = {signed_type(bits)}}, least = {.type = {unsigned_type(bits)}};
    if (!down || to.kind != OPND_IMM || to.value)
        x = register_operand(build_binary(at, OPC_SUB, sub, bits_type(bits), down ? x : to, down ? to : x));
    RegId d = build_binary(at, OPC_MIN, least, bits_type(bits), x, most);
    return bits == 32 ? d
                      : build_unary(at, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U64}}, TYPE_B32, register_operand(d));
}

/* The number of iterations, from the first on, in which the test holds; RUN_MOST or more where there are more. */
static RegId build_count(const Builder *at, const LoopTest *t)
{
    u32 size = step_size(t);
    Operand x = loop_entry_sum(at, &t->value, t->value.start);
    RegId n = build_distance(at, t, x);
    bool exact = t->cmp == CMP_NE;
    if (!exact && !includes_limit(t) && size > 1)
        n = build_u32(at, OPC_ADD, n, number(size - 1));
    if (size > 1)
        n = build_u32(at, OPC_SHR, n, number((u64)__builtin_ctz(size)));
    if (exact)
        return n;
    if (includes_limit(t))
        n = build_u32(at, OPC_ADD, n, number(1));
    OpParts compare = {.cmp = t->cmp, .type = {t->type}};
    RegId goes_on = build_binary(at, OPC_SETP, compare, TYPE_PRED, x, *t->bound);
    Operand select[] = {register_operand(n), number(0), register_operand(goes_on)};
    return build_value(at, isa_op(at->fn->module->isa, OPC_SELP, (OpParts){.type = {TYPE_B32}}), TYPE_B32, select, 3);
}

/* The smallest of the checks' numbers of iterations. The latch's test counts one more, since it comes after an iteration. */
static RegId build_counts(const Builder *at, const LoopChecks *c)
{
    RegId least = 0;
    for (u32 k = 0; k < c->tests; k++) {
        RegId n = build_count(at, &c->test[k]);
        if (c->of_latch[k])
            n = build_u32(at, OPC_ADD, n, number(1));
        least = least ? build_u32(at, OPC_MIN, least, register_operand(n)) : n;
    }
    return least;
}

/* ---- the rewrite ---------------------------------------------------------------------------------------------------------------- */

/* Adds to a register what `step` would add to it in n iterations. */
static void build_steps(const Builder *at, const Instr *step, RegId n)
{
    RegId reg;
    i64 by;
    affine_is_step(step, &reg, &by);
    u32 bits = step->op->sem.bits;
    u64 size = by < 0 ? 0 - (u64)by : (u64)by;
    OpParts wide = {.type = {TYPE_U64, TYPE_U32}}, shift = {.type = {bits_type(bits)}};
    OpParts sum = {.type = {signed_type(bits)}};
    RegId all = bits == 32 ? n : build_unary(at, OPC_CVT, wide, TYPE_B64, register_operand(n));
    if (size > 1)
        all = build_binary(at, OPC_SHL, shift, bits_type(bits), register_operand(all), number((u64)__builtin_ctzll(size)));
    Operand slots[] = {register_operand(reg), register_operand(reg), register_operand(all)};
    build(at, by < 0 ? OPC_SUB : OPC_ADD, sum, slots, 3);
}

static void split(Analyses *an, const Loop *loop, const LoopChecks *c, const LoopDropped *d)
{
    Function *fn = an->fn;
    Block *entry = loop_entry_block(fn, loop), *header = loop->header, *copy[LOOP_BLOCKS];
    Block *rest = block_new_like(header, header->loc);
    Builder before = build_at_end(entry);
    RegId n = build_counts(&before, c);
    RegId left = build_unary(&before, OPC_MOV, (OpParts){.type = {TYPE_U32}}, TYPE_B32, register_operand(n));
    RegId none = build_binary(&before, OPC_SETP, (OpParts){.cmp = CMP_EQ, .type = {TYPE_S32}}, TYPE_PRED,
                              register_operand(n), number(0));
    loop_copy_blocks(loop, c, d, entry, rest, copy);
    block_set_fall(entry, copy[0]);
    loop_copy_branch(an, c, entry, none, false, header);

    Block *latch = loop_copy_of(c, copy, loop->latches[0]);
    Builder end = build_at_end(latch);
    Operand slots[] = {register_operand(left), register_operand(left), build_integer((u64)-1, 32, true)};
    build(&end, OPC_ADD, (OpParts){.type = {TYPE_S32}}, slots, 3);
    RegId more = build_binary(&end, OPC_SETP, (OpParts){.cmp = CMP_NE, .type = {TYPE_S32}}, TYPE_PRED,
                              register_operand(left), number(0));
    loop_copy_branch(an, c, latch, more, false, copy[0]);
    Builder at = build_at_end(rest);
    for (u32 k = 0; k < d->steps; k++)
        build_steps(&at, d->step[k], n);
    loop_copy_end(an, loop, c, d, copy[c->blocks - 1], rest);
}

static bool split_loop(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes)
{
    LoopChecks checks;
    LoopDropped dropped;
    if (!loop_copy_may(an, loop) || !loop_checks_find(an, loop, &checks))
        return false;
    loop_copy_plan(an, loop, &checks, true, &dropped);
    const char *why = why_not(an, loop, &checks, &dropped);
    if (!why)
        why = loop_lanes_forbid(an, &checks, lanes);
    const Instr *at = block_terminator(checks.check[0].block);
    if (why) {
        phase_missed_once(run, "BoundsCheckKept", at, "this loop keeps its bounds checks: %s", why);
        return false;
    }
    u32 bounds = checks.checks - 1, trips = trip_count(an, loop, &checks, PTXAS_UNROLLED_WHOLE);
    if (!phase_rewrite_at(run, "BoundsCheckSplit", at,
                          "the loop runs without %u bounds check%s for as long as they pass; it runs %s", bounds,
                          bounds == 1 ? "" : "s",
                          trips ? arena_printf(run->arena, "%u times or more", trips) : "as often as is not known"))
        return false;
    loop_copy_begin(an);
    split(an, loop, &checks, &dropped);
    return true;
}

static bool has_candidate(Analyses *an)
{
    LoopChecks checks;
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++)
        if (loop_copy_may(an, loops->v[l]) && loop_checks_find(an, loops->v[l], &checks))
            return true;
    return false;
}

Phase phase_loop_split;
PhaseResult phase_loop_split(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    return !has_candidate(an) ? PHASE_UNCHANGED : loop_copy_each(an, run, split_loop);
}
