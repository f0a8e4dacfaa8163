#include "phase/latches/counter.h"

#include "ir/builder.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "phase/latches/affine.h"
#include "target/ptxas.h"
#include "transform/condition.h"

enum {
    BLOCKS_MAX = 4,
    BODY_MAX = 40,
    BODY_COUNTED = 4 * BODY_MAX,
    ACCESSES_MAX = 12, /* of loops that ptxas was seen to unroll then, and that gained */
    STEP_MAX = 15,     /* towards a bound that is not met exactly: more says that others unrolled the body */
    UNROLLED_LEAST = 512,
    UNROLLED_MOST = 8192, /* instructions: what ptxas unrolls to the end, and makes too much of */
    TARGET_OF_LANES = 90  /* before, it unrolls no loop around an operation of the warp */
};

typedef struct Latch {
    Instr *branch, *compare;
    const Operand *bound;
    RegId compared; /* the other operand of the comparison */
    Cmp cmp;        /* compared cmp bound */
    bool is_signed;
    Affine value; /* of what is compared */
} Latch;

/* ---- what the latch compares ---------------------------------------------------------------------------------------- */

/* Whether the register is a counter, stepped in front of the comparison, as ptxas wants it. */
static bool is_counted(PhaseRun *run, const Loop *loop, const Latch *l)
{
    const Instr *def = affine_definition(run, loop, l->compared);
    RegId of;
    i64 by;
    if (!def || def->block != l->compare->block || !instr_precedes(def, l->compare) ||
        !affine_is_step(run->fn, def, &of, &by))
        return false;
    if (of == l->compared)
        return true;
    const Instr *copy = affine_definition(run, loop, of); /* t = i + 1; setp t; i = t */
    return copy && copy->op->opcode == OPC_MOV && operand_plain_register(instr_operand(copy, 1)) == l->compared;
}

static bool is_bound(const Loop *loop, const Operand *o)
{
    return o->kind == OPND_IMM || (operand_plain_register(o) && affine_is_invariant(loop, o->id));
}

/* Takes one operand as what counts; false: it does not, or the other one changes. */
static bool take_operand(PhaseRun *run, const Loop *loop, Latch *l, u32 number)
{
    const Operand *a = instr_operand(l->compare, number), *b = instr_operand(l->compare, 3 - number);
    u32 bits = type_bits((Type)l->compare->op->type[0]);
    l->compared = operand_plain_register(a);
    l->bound = b;
    l->cmp = number == 1 ? (Cmp)l->compare->op->cmp : cmp_swapped((Cmp)l->compare->op->cmp);
    return l->compared && is_bound(loop, b) && affine_value(run, loop, l->compare, l->compared, bits, &l->value) &&
           l->value.step << (64 - bits);
}

/* An unguarded comparison of two integers of 32 or 64 bits, in the latch. */
static bool find_latch(PhaseRun *run, const Loop *loop, Latch *l)
{
    Block *b = loop->latches[0];
    *l = (Latch){.branch = block_conditional_branch(b)};
    if (!l->branch || l->branch->guard_not || branch_target(l->branch) != loop->header || b->fall == loop->header)
        return false;
    Instr *i = l->compare = local_definition(l->branch, l->branch->guard);
    if (!i || i->op->opcode != OPC_SETP || i->guard || i->op->bool_op != BOOL_NONE || i->op->types != 1 ||
        instr_operand(i, 0)->kind != OPND_REG)
        return false;
    Type type = (Type)i->op->type[0];
    TypeClass class = type_class(type);
    l->is_signed = class == TC_SIGNED;
    bool integer = class == TC_SIGNED || class == TC_UNSIGNED || class == TC_BITS;
    if (!integer || (type_bits(type) != 32 && type_bits(type) != 64))
        return false;
    return (take_operand(run, loop, l, 1) || take_operand(run, loop, l, 2)) && !is_counted(run, loop, l);
}

/* ---- how often it runs ----------------------------------------------------------------------------------------------- */

static u64 extended(u64 value, u32 bits, bool is_signed)
{
    u32 unused = 64 - bits;
    return is_signed ? (u64)((i64)(value << unused) >> unused) : value << unused >> unused;
}

static bool stays(const Latch *l, u64 value, u64 bound)
{
    u32 bits = l->value.bits;
    bool is_signed = l->is_signed && l->cmp != CMP_LO && l->cmp != CMP_LS && l->cmp != CMP_HI && l->cmp != CMP_HS;
    u64 a = extended(value, bits, is_signed), b = extended(bound, bits, is_signed);
    bool less = is_signed ? (i64)a < (i64)b : a < b;
    switch (l->cmp) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT:
    case CMP_LO: return less;
    case CMP_LE:
    case CMP_LS: return less || a == b;
    case CMP_GT:
    case CMP_HI: return !less && a != b;
    default: return !less;
    }
}

/* Where the loop is entered from, if from one block only; NULL. */
static Block *only_entry(PhaseRun *run, const Loop *loop)
{
    CfgList preds = cfg_preds(run->fn, loop->header);
    Block *from = NULL;
    for (u32 k = 0; k < preds.n; k++) {
        if (preds.v[k].block == loop->latches[0])
            continue;
        if (from)
            return NULL;
        from = preds.v[k].block;
    }
    return from;
}

static bool constant_at_entry(PhaseRun *run, const Loop *loop, RegId reg, u64 *value)
{
    Block *from = only_entry(run, loop);
    if (!from || from->id >= an_loops(run->an)->blocks)
        return false;
    const Instr *def = ssa_definition(an_ssa(run->an), ssa_at_end(an_ssa(run->an), from, reg), reg);
    if (!def || def->op->opcode != OPC_MOV || def->guard || instr_operand(def, 1)->kind != OPND_IMM)
        return false;
    *value = (u64)instr_operand(def, 1)->value;
    return true;
}

/* The number of iterations, or `most` if there are as many, or more; 0: not known. */
static u32 trip_count(PhaseRun *run, const Loop *loop, const Latch *l, u32 most)
{
    u64 bound = (u64)l->bound->value, value = l->value.start, entry;
    if (l->bound->kind == OPND_REG && !constant_at_entry(run, loop, l->bound->id, &bound))
        return 0;
    for (u32 k = 0; k < l->value.terms; k++) {
        if (!constant_at_entry(run, loop, l->value.term[k].reg, &entry))
            return 0;
        value += entry * l->value.term[k].factor;
    }
    u32 trips = 1;
    for (; trips < most && stays(l, value, bound); trips++)
        value += l->value.step;
    return trips;
}

/* ---- whether ptxas would unroll it ------------------------------------------------------------------------------------- */

/* In machine instructions; counted until there are too many. */
static u32 body_size(const Loop *loop)
{
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count && n <= BODY_COUNTED; k++)
        for_each_instr(i, loop->blocks[k])
            if ((n += ptxas_cost(i)) > BODY_COUNTED)
                break;
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

static bool leaves_early(PhaseRun *run, const Loop *loop)
{
    const Loops *loops = an_loops(run->an);
    for (u32 k = 0; k < loop->block_count; k++) {
        Block *b = loop->blocks[k];
        CfgList succs = cfg_succs(run->fn, b);
        for (u32 s = 0; s < succs.n && b != loop->latches[0]; s++)
            if (!loop_contains(loops, loop, succs.v[s].block))
                return true;
        if (block_leaves_function(run->fn, b))
            return true;
    }
    return false;
}

/* A call, or lanes that exchange something. */
static bool holds_obstacle(PhaseRun *run, const Loop *loop)
{
    bool lanes = run->fn->module->target_sm < TARGET_OF_LANES;
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (instr_is(i, OPF_CALL) || (lanes && instr_is(i, OPF_CONVERGENT) && !op_has(i->op, OPF_BARRIER)))
                return true;
    return false;
}

/* A comparison by which ptxas counts: of a counter that goes up, that it is below; ... */
static bool runs_towards_bound(const Latch *l)
{
    bool down = (l->value.step >> (l->value.bits - 1)) & 1;
    switch (l->cmp) {
    case CMP_NE: return true;
    case CMP_LT:
    case CMP_LE:
    case CMP_LO:
    case CMP_LS: return !down;
    case CMP_GT:
    case CMP_GE:
    case CMP_HI:
    case CMP_HS: return down;
    default: return false;
    }
}

/* Whether all factors are powers of two, or their opposites. */
static bool is_shifted(const Affine *v)
{
    for (u32 k = 0; k < v->terms; k++) {
        u64 factor = extended(v->term[k].factor, v->bits, true), size = (i64)factor < 0 ? 0 - factor : factor;
        if (size & (size - 1))
            return false;
    }
    return true;
}

/* NULL, or why it is left as it is. */
static const char *why_not(PhaseRun *run, const Loop *loop, const Latch *l)
{
    if (loop->header == run->fn->entry || block_is_pinned(loop->header))
        return "nothing can stand in front of it";
    if (loop->block_count > BLOCKS_MAX || body_size(loop) > BODY_MAX || accesses(loop) > ACCESSES_MAX)
        return "it is large";
    i64 step = (i64)extended(l->value.step, l->value.bits, true);
    if (l->cmp != CMP_NE && (step > STEP_MAX || step < -STEP_MAX))
        return "it has a large step, so that it was unrolled before";
    if (!is_shifted(&l->value))
        return "where it starts takes a product";
    if (leaves_early(run, loop))
        return "it has a second exit";
    if (holds_obstacle(run, loop))
        return "it holds a call, or an operation of the warp";
    if (!runs_towards_bound(l))
        return "the counter does not run towards its bound";
    u32 body = body_size(loop) + 1, trips = trip_count(run, loop, l, UNROLLED_MOST / body + 1);
    if (trips * body >= UNROLLED_LEAST && trips * body <= UNROLLED_MOST)
        return "ptxas would unroll it to the end, and it runs often";
    return NULL;
}

/* ---- the counter -------------------------------------------------------------------------------------------------------- */

/* A block that all who enter the loop come through, last. */
static Block *block_before(PhaseRun *run, const Loop *loop)
{
    Block *header = loop->header, *from = only_entry(run, loop);
    if (from && !block_terminator(from) && from->fall == header)
        return from;
    Block *b = block_new_like(header, header->loc);
    block_move_after(b, header->prev);
    block_set_fall(b, header);
    VEC(Block *) entries = {0};
    CfgList preds = cfg_preds(run->fn, header);
    for (u32 k = 0; k < preds.n; k++)
        if (preds.v[k].block != loop->latches[0] && preds.v[k].block != b)
            vec_push(&entries, preds.v[k].block);
    for (u32 k = 0; k < entries.n; k++)
        block_redirect(entries.v[k], header, b);
    vec_free(&entries);
    return b;
}

static OpParts parts_of(u32 bits) { return (OpParts){.type = {bits == 32 ? TYPE_S32 : TYPE_S64}}; }
static Type register_type(u32 bits) { return bits == 32 ? TYPE_B32 : TYPE_B64; }

/* The low bits of a term, times its factor. */
static Operand build_term(const Builder *at, const AffineTerm *t, u32 bits)
{
    Operand x = register_operand(t->reg);
    u64 factor = extended(t->factor, bits, true);
    if (type_bits((Type)fn_reg(at->fn, t->reg)->type) > bits)
        x = register_operand(build_unary(at, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U64}}, TYPE_B32, x));
    if (factor == 1)
        return x;
    u64 size = (i64)factor < 0 ? 0 - factor : factor;
    OpParts shift = {.type = {register_type(bits)}};
    x = size == 1 ? x
                  : register_operand(build_binary(at, OPC_SHL, shift, register_type(bits), x,
                                                  build_integer((u64)__builtin_ctzll(size), 32, false)));
    return (i64)factor > 0 ? x
                           : register_operand(build_binary(at, OPC_SUB, parts_of(bits), register_type(bits),
                                                           build_integer(0, bits, true), x));
}

/* A new register that holds the sum of the value's terms and `more`. */
static RegId build_start(const Builder *at, const Affine *v, u64 more)
{
    Type type = register_type(v->bits);
    OpParts copy = {.type = {v->bits == 32 ? TYPE_U32 : TYPE_U64}};
    Operand sum = build_integer(extended(more, v->bits, true), v->bits, true);
    u32 registers = at->fn->regs.n;
    for (u32 k = 0; k < v->terms; k++) {
        if (!extended(v->term[k].factor, v->bits, true))
            continue;
        Operand x = build_term(at, &v->term[k], v->bits);
        bool nothing = sum.kind == OPND_IMM && sum.value == 0;
        sum = nothing ? x : register_operand(build_binary(at, OPC_ADD, parts_of(v->bits), type, x, sum));
    }
    bool is_new = sum.kind == OPND_REG && sum.id >= registers;
    return is_new ? sum.id : build_unary(at, OPC_MOV, copy, type, sum);
}

static void add_counter(PhaseRun *run, const Loop *loop, const Latch *l)
{
    Builder before = build_at_end(block_before(run, loop)), here = build_before(l->compare);
    RegId counter = build_start(&before, &l->value, l->value.start - l->value.step);
    Operand slots[] = {register_operand(counter), register_operand(counter),
                       build_integer(l->value.step, l->value.bits, true)};
    build(&here, OPC_ADD, parts_of(l->value.bits), slots, 3);
    instr_rename(l->compare, l->compared, counter, true, false);
}

static bool is_simple(PhaseRun *run, const Loop *loop)
{
    const Loops *loops = an_loops(run->an);
    return !loop->nounroll && loop->latch_count == 1 && loop->height == 1 && !loops->irreducible;
}

bool latch_counter_add(PhaseRun *run, const Loop *loop)
{
    Latch l;
    if (!is_simple(run, loop) || body_size(loop) > BODY_COUNTED || !find_latch(run, loop, &l))
        return false;
    const char *why = why_not(run, loop, &l);
    if (why) {
        phase_missed_once(run, "LatchWithoutCounter", l.branch,
                          "ptxas does not count this loop by what its latch compares: %s", why);
        return false;
    }
    if (!phase_may_rewrite(run))
        return false;
    u32 trips = trip_count(run, loop, &l, UNROLLED_MOST);
    phase_passed(run, "LatchCounter", l.branch, "ptxas unrolls a loop with a counter of its own in its latch; it runs %s",
                 trips == 0 ? "as often as is not known"
                            : arena_printf(run->arena, trips == UNROLLED_MOST ? "%u times or more" : "%u times", trips));
    phase_count(run, "LatchCounter", 1);
    add_counter(run, loop, &l);
    return true;
}
