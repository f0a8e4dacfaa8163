/* stride-unroll: unrolls by four the loops whose step is in a register, which ptxas never unrolls. On request.
 *
 *     LOOP: ld.global.f32 f, [a + 4 i];         limit = n - 3 s
 *           add.f32 sum, sum, f;                @!(0 < s < 2^32, n >= 3 s, i < limit) bra LOOP;
 *           add.s32 i, i, s;              FOUR: four times the body, each with its step
 *           setp.lt.s32 p, i, n;    to          setp.lt.s32 q, i, limit;
 *           @p bra LOOP;                        @q bra FOUR;
 *                                               setp.lt.s32 p, i, n; @!p bra EXIT;
 *                                         LOOP: as it was
 *
 * Sound: let i < n - 3 s, and 3 s be at most n. Then i + s, i + 2 s and i + 3 s are below n, and none of them wraps: the
 * loop would go on three times. So each thread executes the same instructions in the same order, and the loop's own test
 * decides after the fourth. The limit is computed in 64 bits. It is computed in the bits of i where s is known to be
 * positive and small, as a block's size is: 3 s does not wrap. FOUR holds nothing but arithmetic, loads and stores, and its
 * only exit leads to the place where threads that leave the loop reconverge anyway. Where an instruction of the function
 * sees which lanes execute it, and the test may divide a warp, the loop stays as it is.
 *
 * Loads stay after the stores of the copies before them: their order is kept, as everywhere, and ptxas puts those first
 * that it knows to be of other memory.
 *
 * Four loads are in flight where there was one, for 4 to 10 registers more: whether that pays is for a GPU to show (make
 * gpu-check), or for --tune.
 *
 * Declines: loops with the pragma nounroll or another exit, large ones, those with instructions that may not be copied, and
 * tests other than `less`. */
#include "analysis/values.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/copy.h"
#include "target/ptxas.h"
#include "transform/condition.h"

enum {
    TIMES = 4,
    BRANCHES_MAX = 2,
    ACCESSES_MAX = 8,
    SHORT_STEP = 1 << 20 /* more than the threads of a block, as far as the ranges of its dimensions say */
};

typedef struct Stride {
    Instr *compare;
    RegId counter, step;
    Operand bound; /* the loop continues while `counter cmp bound` holds */
    Cmp cmp;
    Type type;
    bool is_short;    /* the step is from 1 to SHORT_STEP */
    LoopChecks latch; /* the latch as the only check */
} Stride;

static bool is_less(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_LE || cmp == CMP_LO || cmp == CMP_LS; }

/* Finds `add i, i, s` in the comparison's block, in front of it; it must be the only write of i in the loop. */
static bool find_step(Analyses *an, const Loop *loop, Stride *s)
{
    const Instr *add = affine_definition(an, loop, s->counter);
    if (!add || add != local_definition(s->compare, s->counter) || add->op->opcode != OPC_ADD ||
        add->op->sem.op != OPC_ADD || add->op->sem.from != add->op->sem.bits || add->op->sem.bits != type_bits(s->type))
        return false;
    RegId a = operand_plain_register(instr_operand(add, 1)), b = operand_plain_register(instr_operand(add, 2));
    s->step = a == s->counter ? b : a;
    return (a == s->counter || b == s->counter) && s->step && s->step != s->counter && affine_is_invariant(loop, s->step);
}

/* Takes operand `number` of the comparison as the counter, if it is one. */
static bool take_operand(Analyses *an, const Loop *loop, Stride *s, u32 number)
{
    const Operand *bound = instr_operand(s->compare, 3 - number);
    s->counter = operand_plain_register(instr_operand(s->compare, number));
    s->bound = *bound;
    s->cmp = number == 1 ? s->compare->op->cmp : cmp_swapped(s->compare->op->cmp);
    bool stays = bound->kind == OPND_IMM || (operand_plain_register(bound) && affine_is_invariant(loop, bound->id));
    return s->counter && stays && is_less(s->cmp) && find_step(an, loop, s);
}

static bool find_stride(Analyses *an, const Loop *loop, Stride *s)
{
    Block *latch = loop->latches[0];
    Instr *branch = block_two_way_branch(latch);
    if (!branch || branch->guard_not || branch_target(branch) != loop->header)
        return false;
    Instr *i = local_definition(branch, branch->guard);
    if (!i || !loop_test_is_compare(i))
        return false;
    *s = (Stride){.compare = i, .type = i->op->type[0]};
    return take_operand(an, loop, s, 1) || take_operand(an, loop, s, 2);
}

static bool step_is_short(Analyses *an, const Loop *loop, const Stride *s)
{
    Range step = value_of_register(an_facts(an), (ProgramPoint){NULL, loop->header, loop->header->first}, s->step,
                                   type_bits(s->type));
    return step.lo >= 1 && step.hi <= SHORT_STEP;
}

/* Why the loop stays as it is; NULL: it need not. */
static const char *why_not(Analyses *an, const Loop *loop, const Stride *s, const LoopDropped *d)
{
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (s->latch.has_exit)
        return "it has a second exit";
    if (!d->late)
        return "its test cannot be repeated after it";
    LoopSize size = loop_copy_size(an, &s->latch, d);
    if (s->latch.full || size.branches > BRANCHES_MAX || size.body > PTXAS_UNROLLED_BODY || size.accesses > ACCESSES_MAX)
        return "it is large";
    return size.fixed ? "it holds what may stand in one place only" : NULL;
}

/* ---- the rewrite ------------------------------------------------------------------------------------------------------------ */

/* The type in which the limit is computed. */
static Type limit_type(const Stride *s) { return s->is_short ? s->type : TYPE_S64; }

/* The value x in the bits of that type. */
static Operand widened(const Builder *at, const Stride *s, Operand x)
{
    u32 bits = type_bits(limit_type(s));
    bool is_signed = type_class(s->type) == TC_SIGNED;
    if (x.kind == OPND_IMM) {
        Type type = bits == 64 ? TYPE_B64 : TYPE_B32;
        u64 value = type_bits(s->type) == 64 ? (u64)x.value
                    : is_signed              ? (u64)sem_signed((u64)x.value, 32)
                                             : x.value & UINT32_MAX;
        return register_operand(
            build_unary(at, OPC_MOV, (OpParts){.type = {type}}, type, build_integer(value, bits, is_signed)));
    }
    if (bits == type_bits(s->type))
        return x;
    OpParts widen = {.type = {is_signed ? TYPE_S64 : TYPE_U64, s->type}};
    return register_operand(build_unary(at, OPC_CVT, widen, TYPE_B64, x));
}

static Operand build_sum(const Builder *at, Opcode opcode, Type type, Operand a, Operand b)
{
    return register_operand(
        build_binary(at, opcode, (OpParts){.type = {type}}, type_bits(type) == 64 ? TYPE_B64 : TYPE_B32, a, b));
}

static Operand build_test(const Builder *at, Cmp cmp, Type type, Operand a, Operand b)
{
    return register_operand(build_binary(at, OPC_SETP, (OpParts){.cmp = cmp, .type = {type}}, TYPE_PRED, a, b));
}

static Operand build_both(const Builder *at, Operand a, Operand b)
{
    return register_operand(build_binary(at, OPC_AND, (OpParts){.type = {TYPE_PRED}}, TYPE_PRED, a, b));
}

/* The limit below which the counter must be for four iterations to follow. *enters becomes a predicate: there is such a
 * limit, and the counter is below it. */
static Operand build_limit(const Builder *at, const Stride *s, Operand *enters)
{
    Type type = limit_type(s);
    Operand step = widened(at, s, register_operand(s->step)), bound = widened(at, s, s->bound);
    Operand three = build_sum(at, OPC_ADD, type, build_sum(at, OPC_ADD, type, step, step), step);
    Operand limit = build_sum(at, OPC_SUB, type, bound, three), fits;
    if (s->is_short) {
        fits = build_test(at, CMP_GE, type, bound, three);
    } else {
        Operand before = build_sum(at, OPC_ADD, type, step, build_integer((u64)-1, 64, true));
        Operand positive = build_test(at, CMP_LT, TYPE_U64, before, build_integer(UINT32_MAX, 64, false));
        fits = build_both(at, positive, build_test(at, CMP_GE, type, bound, three));
        if (type_bits(s->type) == 32)
            limit = register_operand(build_unary(at, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U64}}, TYPE_B32, limit));
    }
    *enters = build_both(at, fits, build_test(at, s->cmp, s->type, register_operand(s->counter), limit));
    return limit;
}

static void unroll(Analyses *an, const Loop *loop, const Stride *s, const LoopDropped *d)
{
    Function *fn = an->fn;
    const LoopChecks *c = &s->latch;
    Block *entry = loop_entry_block(fn, loop), *header = loop->header, *after = entry;
    Block *rest = block_new_like(header, header->loc), *copy[LOOP_BLOCKS], *first = NULL, *last = NULL;
    Builder before = build_at_end(entry);
    Operand enters, limit = build_limit(&before, s, &enters);
    for (u32 k = 0; k < TIMES; k++) {
        loop_copy_blocks(loop, c, d, after, rest, copy);
        if (last)
            block_set_fall(last, copy[0]);
        first = first ? first : copy[0];
        last = loop_copy_of(c, copy, loop->latches[0]);
        after = copy[c->blocks - 1];
    }
    block_set_fall(entry, first);
    loop_copy_branch(an, c, entry, enters.id, true, header);
    Builder end = build_at_end(last);
    Operand more = build_test(&end, s->cmp, s->type, register_operand(s->counter), limit);
    loop_copy_branch(an, c, last, more.id, false, first);
    loop_copy_end(an, loop, c, d, after, rest);
}

static bool unroll_loop(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes)
{
    Stride s;
    LoopDropped dropped;
    if (!loop_copy_may(an, loop) || !find_stride(an, loop, &s))
        return false;
    s.is_short = step_is_short(an, loop, &s);
    loop_checks_latch(an, loop, s.compare, &s.latch);
    loop_copy_plan(an, loop, &s.latch, false, &dropped);
    const char *why = why_not(an, loop, &s, &dropped);
    if (!why)
        why = loop_lanes_forbid(an, &s.latch, lanes);
    const Instr *at = block_terminator(loop->latches[0]);
    if (why) {
        phase_missed_once(run, "StrideKept", at, "this loop with its step in a register is not unrolled: %s", why);
        return false;
    }
    if (!phase_rewrite_at(run, "StrideUnrolled", at,
                          "the loop runs four iterations at a time where four remain; it runs as often as is not known"))
        return false;
    loop_copy_begin(an);
    unroll(an, loop, &s, &dropped);
    return true;
}

Phase phase_stride_unroll;
PhaseResult phase_stride_unroll(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    return loop_copy_each(an, run, unroll_loop);
}
