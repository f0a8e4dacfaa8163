/* stride-unroll: unrolls loops whose step is in a register by four. ptxas never unrolls these.
 *
 *     LOOP: ld.global.f32 f, [a + 4 i];         limit = n - 3 s
 *           add.f32 sum, sum, f;                @!(0 < s < 2^32, n >= 3 s, i < limit) bra LOOP;
 *           add.s32 i, i, s;              FOUR: four times the body, each with its step
 *           setp.lt.s32 p, i, n;    to          setp.lt.s32 q, i, limit;
 *           @p bra LOOP;                        @q bra FOUR;
 *                                               setp.lt.s32 p, i, n; @!p bra EXIT;
 *                                         LOOP: as it was
 *
 * Sound: let i < n - 3 s, and 3 s be at most n. Then i + s, i + 2 s and i + 3 s are below n, and none of them wraps: the loop would
 * go on three times. So each thread executes the same instructions in the same order, and the loop's own test decides after the
 * fourth. The limit is computed in 64 bits. Where s is known to be positive and small, as a block's size is, it is computed in the
 * bits of i: 3 s does not wrap. FOUR holds only arithmetic, loads and stores, and its only exit leads to the place where threads
 * that leave the loop reconverge anyway. If an instruction of the function sees which lanes execute it, and the test may divide a
 * warp, the loop stays as it is.
 *
 * Loads stay after the stores of earlier copies: their order is kept, as everywhere. ptxas moves up those that it
 * knows to access other memory.
 *
 * Four loads are in flight instead of one, for 4 to 10 more registers. If that is expected to pay (worth.h), the phase runs at -O3
 * and where ptxas judges the result. The knob asks for it wherever it is sound.
 *
 * Nor does ptxas count by a counter that starts at a constant and is halved or doubled (whole.h):
 *
 *           mov.u32 i, 16;                            mov.u32 i, 16;
 *     LOOP: shfl.sync.down.b32 y, x, i, 31, -1; to    shfl.sync.down.b32 y, x, i, 31, -1;
 *           add.s32 x, x, y;                          add.s32 x, x, y; shr.u32 i, i, 1;
 *           shr.u32 i, i, 1;                          and so on, five times
 *           setp.ne.s32 p, i, 0; @p bra LOOP;
 *
 * Sound: the number of iterations is the same constant for every thread, so the latch never divides a warp. Threads that
 * execute the k-th iteration together execute the k-th copy together, with its convergent instructions.
 *
 * Declines: loops with the pragma nounroll, another exit, or a loop inside; large ones; those with instructions that may
 * not be copied; tests other than `less`, of a step that stands elsewhere. */
#include "analysis/values.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/loops/whole.h"
#include "phase/loops/worth.h"
#include "target/ptxas.h"
#include "transform/condition.h"

enum {
    TIMES = 4,
    BRANCHES_MAX = 2,
    HEIGHT_MAX = 4, /* of large loops that hold others, those that are told of: the time stays linear in deep nests */
    ACCESSES_MAX = 8,
    SHORT_STEP = 1 << 20 /* more than the threads of a block, as far as the ranges of its dimensions say */
};

typedef struct Stride {
    Block *latch;
    Instr *compare, *add; /* add: the step */
    RegId counter, step;
    Operand bound; /* the loop continues while `counter cmp bound` holds */
    Cmp cmp;
    Type type;
    bool is_short; /* the step is from 1 to SHORT_STEP */
    LoopBody body;
} Stride;

/* ---- the stride ------------------------------------------------------------------------------------------------------------- */

/* Finds `add i, i, s`, or `sub`, the only write of i in the loop, whose s does not change. */
static bool find_step(Analyses *an, const Loop *loop, Stride *s)
{
    Instr *add = affine_definition(an, loop, s->counter);
    if (!add || (add->op->opcode != OPC_ADD && add->op->opcode != OPC_SUB) || add->op->sem.op != add->op->opcode ||
        add->op->sem.from != add->op->sem.bits || add->op->sem.bits != type_bits(s->type))
        return false;
    RegId a = operand_plain_register(instr_operand(add, 1)), b = operand_plain_register(instr_operand(add, 2));
    s->add = add;
    s->step = a == s->counter ? b : a;
    return (a == s->counter || b == s->counter) && s->step && s->step != s->counter && loop_is_invariant(loop, s->step);
}

/* Takes operand `number` of the comparison as the counter, if it is one. */
static bool take_operand(Analyses *an, const Loop *loop, Stride *s, u32 number)
{
    s->counter = operand_plain_register(instr_operand(s->compare, number));
    s->bound = *instr_operand(s->compare, 3 - number);
    s->cmp = number == 1 ? s->compare->op->cmp : cmp_swapped(s->compare->op->cmp);
    return s->counter && find_step(an, loop, s);
}

/* Whether copies of the loop may be thought of: it has one latch, and is not too large to be walked. */
static bool may_be_copied(const Loop *loop) { return loop->latch_count == 1 && loop_is_short(loop, LOOP_WALKED); }

/* Finds the counter that this latch compares, if its step is in a register. */
static bool find_stride_at(Analyses *an, const Loop *loop, Block *latch, Stride *s)
{
    Instr *branch = block_two_way_branch(latch);
    Instr *i = branch ? local_definition(branch, branch->guard) : NULL;
    if (!i || !loop_test_is_compare(i))
        return false;
    *s = (Stride){.latch = latch, .compare = i, .type = i->op->type[0]};
    return take_operand(an, loop, s, 1) || take_operand(an, loop, s, 2);
}

/* Finds a latch that compares a counter whose step is in a register. */
static bool find_stride(Analyses *an, const Loop *loop, Stride *s)
{
    if (an_loops(an)->irreducible || (loop->height > HEIGHT_MAX && !loop_is_short(loop, LOOP_WALKED)))
        return false;
    for (u32 k = 0; k < loop->latch_count; k++)
        if (find_stride_at(an, loop, loop->latches[k], s))
            return true;
    return false;
}

static bool is_less(Cmp cmp) { return cmp == CMP_LT || cmp == CMP_LE || cmp == CMP_LO || cmp == CMP_LS; }

/* Why the form of the loop's test is none that the phase rewrites; NULL: it is one. */
static const char *why_not_form(const Loop *loop, const Stride *s)
{
    const Instr *branch = block_terminator(s->latch);
    if (branch->guard_not || branch_target(branch) != loop->header || !is_less(s->cmp) || s->add->op->opcode != OPC_ADD)
        return "it does not count up while its test finds it less";
    if (local_definition(s->compare, s->counter) != s->add)
        return "its step does not stand in front of its test";
    return loop_is_fixed(loop, &s->bound) ? NULL : "its bound changes";
}

static bool step_is_short(Analyses *an, const Loop *loop, const Stride *s)
{
    Range step = value_of_register(an_facts(an), (ProgramPoint){NULL, loop->header, loop->header->first}, s->step,
                                   type_bits(s->type));
    return step.lo >= 1 && step.hi <= SHORT_STEP;
}

/* Why a loop of that form stays as it is; NULL: it need not. */
static const char *why_not(Analyses *an, const Loop *loop, const Stride *s, const LoopDropped *d)
{
    if (loop->header == an->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (s->body.has_exit)
        return "it has a second exit";
    if (!d->late)
        return "its test cannot be repeated after it";
    LoopSize size = loop_copy_size(an, &s->body, d);
    if (s->body.full || size.branches > BRANCHES_MAX || size.body > PTXAS_UNROLLED_BODY || size.accesses > ACCESSES_MAX)
        return "it is large";
    return size.fixed ? loop_holds(an, size.fixed, "must not be copied") : NULL;
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
    const LoopBody *c = &s->body;
    Block *entry = loop_entry_block(fn, loop), *header = loop->header, *after = entry;
    Block *rest = block_new_like(header, header->loc), *copy[LOOP_BLOCKS], *first = NULL, *last = NULL;
    Builder before = build_at_end(entry);
    Operand enters, limit = build_limit(&before, s, &enters);
    for (u32 k = 0; k < TIMES; k++) {
        loop_copy_blocks(c, d, after, rest, copy);
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

/* ---- the phase ----------------------------------------------------------------------------------------------------------------- */

/* What is unrolled: wherever that is sound, where it is expected to pay, or nothing, but what could be is told. */
typedef enum Wish { WISH_ALL, WISH_WORTHY, WISH_TOLD } Wish;

/* Whether the pragma nounroll stands in the loop because the text has it, and not because a phase put it there. */
static bool is_written_nounroll(const Loop *loop)
{
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (i->kind == INSTR_PRAGMA && i->text.beg != i->text.end)
                return true;
    return false;
}

/* Plans the copies of a strided loop. Answers why there are to be none; NULL: they may be made. */
static const char *plan(Analyses *an, const Loop *loop, Stride *s, LoopDropped *dropped, LoopLanes *lanes, Wish wish)
{
    if (loop->nounroll)
        return "it has the pragma nounroll";
    if (loop->height > 1)
        return "it holds another loop";
    if (!may_be_copied(loop))
        return loop->latch_count > 1 ? "it has more than one latch" : "it is large";
    const char *why = why_not_form(loop, s);
    if (why)
        return why;
    s->is_short = step_is_short(an, loop, s);
    loop_body_find(an, loop, s->compare, &s->body);
    loop_copy_plan(an, loop, &s->body, dropped);
    why = why_not(an, loop, s, dropped);
    Block *const latch[] = {s->latch};
    why = why ? why : loop_lanes_forbid(an, &(LoopBranches){latch, latch, 1, 1, false}, lanes);
    if (!why && wish != WISH_ALL)
        why = loop_copies_cost(an, loop, &s->body, TIMES);
    return why || wish != WISH_TOLD ? why : "--enable=stride-unroll would run four iterations at a time";
}

/* Writes out the iterations of a loop whose counter is shifted. *is_one: the loop is one. */
static bool unroll_whole(Analyses *an, PhaseRun *run, const Loop *loop, Wish wish, bool *is_one)
{
    Whole whole;
    const char *why;
    const Instr *at = block_terminator(loop->latches[0]);
    *is_one = loop_whole_find(an, loop, &whole, &why);
    if (!*is_one)
        return false;
    if (!why && wish == WISH_TOLD)
        why = "--enable=stride-unroll would write them out";
    if (why) {
        phase_missed_once(run, "RoundsKept", at, "the %u iterations of this loop are not written out: %s", whole.trips,
                          why);
        return false;
    }
    if (!phase_rewrite_at(run, "RoundsUnrolled", at, "the %u iterations of the loop are written out one after the other",
                          whole.trips))
        return false;
    loop_copy_begin(an);
    loop_whole_unroll(an, loop, &whole);
    return true;
}

static bool unroll_loop(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes, Wish wish)
{
    Stride s;
    LoopDropped dropped;
    bool is_whole, unrolled = unroll_whole(an, run, loop, wish, &is_whole);
    if (is_whole)
        return unrolled;
    if (!find_stride(an, loop, &s) || (loop->nounroll && !is_written_nounroll(loop)))
        return false;
    const char *why = plan(an, loop, &s, &dropped, lanes, wish);
    const Instr *at = block_terminator(s.latch);
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

static bool unroll_all(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes)
{
    return unroll_loop(an, run, loop, lanes, WISH_ALL);
}

static bool unroll_worthy(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes)
{
    return unroll_loop(an, run, loop, lanes, WISH_WORTHY);
}

static bool tell(Analyses *an, PhaseRun *run, const Loop *loop, LoopLanes *lanes)
{
    return unroll_loop(an, run, loop, lanes, WISH_TOLD);
}

/* tells: loops count that will only be told of. */
static bool has_candidate(Analyses *an, bool tells)
{
    Stride s;
    Whole whole;
    const char *why;
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++)
        if (((tells || may_be_copied(loops->v[l])) && find_stride(an, loops->v[l], &s)) ||
            loop_whole_find(an, loops->v[l], &whole, &why))
            return true;
    return false;
}

Phase phase_stride_unroll;
PhaseResult phase_stride_unroll(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    LoopRewrite *rewrite = knobs->enable_stride_unroll ? unroll_all : run->aggressive ? unroll_worthy : tell;
    bool tells = run->sink->wants_remarks;
    if ((rewrite == tell && !tells) || !has_candidate(an, tells))
        return PHASE_UNCHANGED;
    return loop_copy_each(an, run, rewrite);
}
