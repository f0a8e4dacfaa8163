#include "analysis/loop_sums.h"

#include "analysis/dom.h"
#include "analysis/loop_test.h"
#include "ir/inspect.h"
#include "ir/reg_walk.h"

enum {
    ENTRY_DEPTH = 8, /* the most definitions in front of the loop that a value is followed through */
    LOOP_DEPTH = 32  /* the same in the loop */
};

static const char product_tag[] = "*"; /* of a term that is the product of two expressions */

/* ---- the loop's registers ------------------------------------------------------------------------------------------- */

void loop_sums_init(LoopSums *s, Analyses *an, const Loop *loop)
{
    *s = (LoopSums){.an = an, .loop = loop, .from = loop_only_entry(an->fn, loop)};
    if (s->from && s->from->id >= an_loops(an)->blocks)
        s->from = NULL;
    s->exprs = linear_new(&s->arena);
}

void loop_sums_free(LoopSums *s)
{
    linear_free(s->exprs);
    fnvmap_free(&s->entries);
    fnvmap_free(&s->results);
    vec_free(&s->entered);
    vec_free(&s->result);
    arena_free(&s->arena);
}

static u32 register_bits(const LoopSums *s, RegId reg)
{
    Type type = fn_reg(s->an->fn, reg)->type;
    TypeClass class = type_class(type);
    bool integer = class == TC_BITS || class == TC_SIGNED || class == TC_UNSIGNED;
    return integer ? type_bits(type) : 0;
}

/* Whether i computes an integer of 32 or 64 bits of operands that are as wide, modulo 2 to the power of the width. */
static bool is_plain(const LoopSums *s, const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    bool same = sem->op == i->op->opcode && sem->from == sem->bits && (sem->bits == 32 || sem->bits == 64);
    return same && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) && to && register_bits(s, to) == sem->bits;
}

/* Whether i sets the high half of 64 bits to zero; *of becomes the operand with these. */
static bool is_low_half(const Instr *i, u32 *of)
{
    if (!affine_is_cut(i, 32, of) || i->op->opcode != OPC_AND || i->op->sem.bits != 64)
        return false;
    return (u64)instr_operand(i, 3 - *of)->value == UINT32_MAX;
}

/* Whether i converts 32 bits to 64, or takes the low half of 64. */
static bool is_conversion(const LoopSums *s, const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0)), from = operand_plain_register(instr_operand(i, 1));
    if (i->op->opcode != OPC_CVT || sem->op != OPC_CVT || instr_operands(i) != 2 || !to || !from)
        return false;
    if (register_bits(s, to) != sem->bits || register_bits(s, from) != sem->from)
        return false;
    return (sem->bits == 64 && sem->from == 32 && sem->is_signed == sem->to_signed) || (sem->bits == 32 && sem->from == 64);
}

/* ---- expressions ---------------------------------------------------------------------------------------------------- */

static LinearId number(LoopSums *s, u32 bits, u64 value) { return linear_constant(s->exprs, bits, value); }

static LinearId product(LoopSums *s, LinearId a, LinearId b)
{
    if (!a || !b)
        return 0;
    if (loop_sum_is_constant(s, a))
        SWAP(a, b);
    if (loop_sum_is_constant(s, b))
        return linear_scale(s->exprs, a, linear_at(s->exprs, b)->constant);
    LinearId operand[4] = {a < b ? a : b, a < b ? b : a};
    u32 bits = linear_at(s->exprs, a)->bits, zeros = linear_zeros(s->exprs, a) + linear_zeros(s->exprs, b);
    return linear_term(s->exprs, term_operation(s->exprs, bits, product_tag, operand, zeros < bits ? zeros : bits));
}

/* ---- in front of the loop ------------------------------------------------------------------------------------------- */

static LinearId entry_of(LoopSums *s, RegId reg, u32 depth);

static LinearId entry_operand(LoopSums *s, const Operand *o, u32 bits, u32 depth)
{
    if (o && o->kind == OPND_IMM)
        return number(s, bits, (u64)o->value);
    RegId reg = operand_plain_register(o);
    return reg && register_bits(s, reg) == bits ? entry_of(s, reg, depth) : 0;
}

static LinearId entry_shift(LoopSums *s, const Instr *i, u32 depth)
{
    const Operand *by = instr_operand(i, 2);
    u32 bits = i->op->sem.bits;
    LinearId x = entry_operand(s, instr_operand(i, 1), bits, depth);
    return x && by->kind == OPND_IMM && (u64)by->value < bits ? linear_scale(s->exprs, x, (u64)1 << by->value) : 0;
}

static LinearId entry_opposite(LoopSums *s, const Instr *i, u32 depth)
{
    Type type = i->op->type[0];
    bool integer = i->op->types == 1 && type_class(type) == TC_SIGNED && (type_bits(type) == 32 || type_bits(type) == 64);
    LinearId x = integer ? entry_operand(s, instr_operand(i, 1), type_bits(type), depth) : 0;
    return linear_scale(s->exprs, x, (u64)-1);
}

static LinearId entry_conversion(LoopSums *s, const Instr *i, u32 depth)
{
    const Sem *sem = &i->op->sem;
    LinearId x = entry_operand(s, instr_operand(i, 1), sem->from, depth);
    if (!x)
        return 0;
    return sem->bits == 64 ? linear_extend(s->exprs, x, sem->is_signed) : linear_low(s->exprs, x);
}

/* What an instruction in front of the loop computes, of operands that are still there; 0: no sum. */
static LinearId entry_result(LoopSums *s, const Instr *i, u32 depth)
{
    u32 of;
    if (i->guard || !ssa_sources_hold(an_ssa(s->an), i, s->from))
        return 0;
    if (is_low_half(i, &of)) {
        LinearId x = entry_operand(s, instr_operand(i, of), 64, depth), low = x ? linear_low(s->exprs, x) : 0;
        return low ? linear_extend(s->exprs, low, false) : 0;
    }
    if (is_conversion(s, i))
        return entry_conversion(s, i, depth);
    if (i->op->opcode == OPC_NEG)
        return entry_opposite(s, i, depth);
    if (i->op->opcode == OPC_SHL && i->op->sem.op == OPC_SHL && i->op->sem.bits >= 32)
        return entry_shift(s, i, depth);
    if (!is_plain(s, i))
        return 0;
    u32 bits = i->op->sem.bits;
    LinearId a = entry_operand(s, instr_operand(i, 1), bits, depth), b, c;
    if (!a || i->op->opcode == OPC_MOV)
        return a;
    b = entry_operand(s, instr_operand(i, 2), bits, depth);
    switch (i->op->sem.op) {
    case OPC_ADD: return linear_sum(s->exprs, a, b, 1);
    case OPC_SUB: return linear_sum(s->exprs, a, b, (u64)-1);
    case OPC_MUL: return product(s, a, b);
    case OPC_MAD:
        c = entry_operand(s, instr_operand(i, 3), bits, depth);
        return linear_sum(s->exprs, product(s, a, b), c, 1);
    default: return 0;
    }
}

/* What reg, of 32 or 64 bits, holds in front of the loop. */
static LinearId entry_of(LoopSums *s, RegId reg, u32 depth)
{
    u64 *known = fnvmap_at(&s->entries, reg);
    if (*known)
        return (LinearId)*known;
    const Ssa *ssa = an_ssa(s->an);
    const Instr *def = s->from && depth ? ssa_definition(ssa, ssa_at_end(ssa, s->from, reg), reg) : NULL;
    LinearId sum = def ? entry_result(s, def, depth - 1) : 0;
    if (!sum)
        sum = linear_term(s->exprs, term_value(s->exprs, register_bits(s, reg), reg));
    *fnvmap_at(&s->entries, reg) = sum;
    vec_push(&s->entered, reg);
    return sum;
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */

/* The low bits of what an operand holds in front of the loop. */
static LinearId low_entry(LoopSums *s, const Operand *o, u32 bits)
{
    RegId reg = operand_plain_register(o);
    if (!reg || bits == 64 || register_bits(s, reg) != 64)
        return entry_operand(s, o, bits, ENTRY_DEPTH);
    return linear_low(s->exprs, entry_of(s, reg, ENTRY_DEPTH));
}

/* Finds what the loop adds to the low bits of reg in an iteration, between two executions of def, its only write. */
static bool find_step(LoopSums *s, RegId reg, u32 bits, const Instr *def, LinearId *sum)
{
    AffineLoop in = affine_loop(s->an, s->loop);
    AffineStep step[AFFINE_STEPS];
    u32 n = affine_steps(&in, reg, bits, def, step);
    *sum = number(s, bits, 0);
    for (u32 k = 0; k < n && *sum; k++)
        if (step[k].by)
            *sum = linear_sum(s->exprs, *sum, low_entry(s, step[k].by, bits), step[k].less ? (u64)-1 : 1);
    return n && *sum;
}

/* The low bits of a register that def, its only write in the loop, steps. */
static bool stepped_sum(LoopSums *s, const Instr *at, RegId reg, u32 bits, const Instr *def, LoopSum *sum)
{
    *sum = (LoopSum){.bits = bits};
    if (!find_step(s, reg, bits, def, &sum->step))
        return false;
    sum->start =
        bits == register_bits(s, reg) ? entry_of(s, reg, ENTRY_DEPTH) : linear_low(s->exprs, entry_of(s, reg, ENTRY_DEPTH));
    if (sum->start && instr_dominates(an_dom(s->an), def, at))
        sum->start = linear_sum(s->exprs, sum->start, sum->step, 1);
    return sum->start != 0;
}

/* ---- in an iteration ------------------------------------------------------------------------------------------------- */

static bool add(LoopSums *s, LoopSum *to, const LoopSum *x, u64 scale)
{
    to->start = linear_sum(s->exprs, to->start, x->start, scale);
    to->step = linear_sum(s->exprs, to->step, x->step, scale);
    return to->start && to->step;
}

/* x times y, one of which does not change. */
static bool multiply(LoopSums *s, const LoopSum *x, const LoopSum *y, LoopSum *to)
{
    if (!loop_sum_is_zero(s, y->step))
        SWAP(x, y);
    *to = (LoopSum){product(s, x->start, y->start), product(s, x->step, y->start), x->bits, false, false};
    return loop_sum_is_zero(s, y->step) && to->start && to->step;
}

static bool plain_result(LoopSums *s, const Instr *i, LoopSum *sum)
{
    u32 bits = i->op->sem.bits;
    LoopSum x, y, z;
    if (!loop_sum_of(s, i, instr_operand(i, 1), bits, &x))
        return false;
    *sum = x;
    if (i->op->opcode == OPC_MOV)
        return true;
    if (x.extended || !loop_sum_of(s, i, instr_operand(i, 2), bits, &y) || y.extended)
        return false;
    switch (i->op->sem.op) {
    case OPC_ADD: return add(s, sum, &y, 1);
    case OPC_SUB: return add(s, sum, &y, (u64)-1);
    case OPC_MUL: return multiply(s, &x, &y, sum);
    case OPC_MAD:
        return loop_sum_of(s, i, instr_operand(i, 3), bits, &z) && !z.extended && multiply(s, &x, &y, sum) &&
               add(s, sum, &z, 1);
    default: return false;
    }
}

static bool shift_result(LoopSums *s, const Instr *i, LoopSum *sum)
{
    const Operand *by = instr_operand(i, 2);
    u32 bits = i->op->sem.bits;
    LoopSum x;
    if (by->kind != OPND_IMM || (u64)by->value >= bits || !loop_sum_of(s, i, instr_operand(i, 1), bits, &x) || x.extended)
        return false;
    *sum = (LoopSum){.start = number(s, bits, 0), .step = number(s, bits, 0), .bits = bits};
    return add(s, sum, &x, (u64)1 << by->value);
}

/* Finds the low half of an operand of 64 bits, of which the high half need not be known. */
static bool low_sum(LoopSums *s, const Instr *at, const Operand *o, LoopSum *sum)
{
    LoopSum x;
    RegId reg = operand_plain_register(o);
    if (!loop_sum_of(s, at, o, 64, &x)) {
        const Instr *def = reg && register_bits(s, reg) == 64 ? loop_only_write(s->loop, reg) : NULL;
        return def && stepped_sum(s, at, reg, 32, def, sum);
    }
    *sum = (LoopSum){.bits = 32};
    sum->start = x.extended ? x.start : linear_low(s->exprs, x.start);
    sum->step = x.extended ? x.step : linear_low(s->exprs, x.step);
    return sum->start && sum->step;
}

/* Extends 32 bits. */
static bool extend(LoopSums *s, const LoopSum *x, bool is_signed, LoopSum *sum)
{
    *sum = *x;
    sum->extended = !loop_sum_is_zero(s, x->step);
    sum->is_signed = sum->extended && is_signed;
    if (sum->extended)
        return true;
    sum->bits = 64;
    sum->start = linear_extend(s->exprs, x->start, is_signed);
    sum->step = number(s, 64, 0);
    return true;
}

static bool conversion_result(LoopSums *s, const Instr *i, LoopSum *sum)
{
    LoopSum x;
    if (i->op->sem.bits == 32)
        return low_sum(s, i, instr_operand(i, 1), sum);
    return loop_sum_of(s, i, instr_operand(i, 1), 32, &x) && extend(s, &x, i->op->sem.is_signed, sum);
}

static bool compute_result(LoopSums *s, const Instr *i, LoopSum *sum)
{
    u32 of;
    LoopSum low;
    if (is_low_half(i, &of))
        return low_sum(s, i, instr_operand(i, of), &low) && extend(s, &low, false, sum);
    if (is_conversion(s, i))
        return conversion_result(s, i, sum);
    if (i->op->opcode == OPC_SHL && i->op->sem.op == OPC_SHL && i->op->sem.bits >= 32)
        return shift_result(s, i, sum);
    return is_plain(s, i) && plain_result(s, i, sum);
}

/* What i, an instruction of the loop, computes. The answer is kept, so that all questions together are linear in the loop. */
static bool result_of(LoopSums *s, const Instr *i, LoopSum *sum)
{
    u64 *known = fnvmap_find(&s->results, (u64)(uintptr_t)i);
    if (known) {
        if (*known)
            *sum = s->result.v[*known - 1];
        return *known != 0;
    }
    *fnvmap_at(&s->results, (u64)(uintptr_t)i) = 0;
    s->depth++;
    bool found = s->depth <= LOOP_DEPTH && compute_result(s, i, sum);
    s->depth--;
    if (!found)
        return false;
    vec_push(&s->result, *sum);
    *fnvmap_at(&s->results, (u64)(uintptr_t)i) = s->result.n;
    return true;
}

static bool register_sum(LoopSums *s, const Instr *at, RegId reg, LoopSum *sum)
{
    *sum = (LoopSum){.bits = register_bits(s, reg)};
    if (loop_is_invariant(s->loop, reg)) {
        sum->start = entry_of(s, reg, ENTRY_DEPTH);
        sum->step = number(s, sum->bits, 0);
        return true;
    }
    const Instr *def = loop_only_write(s->loop, reg);
    if (!def) {
        def = local_definition(at, reg);
        return def && result_of(s, def, sum);
    }
    return stepped_sum(s, at, reg, sum->bits, def, sum) ||
           (instr_dominates(an_dom(s->an), def, at) && result_of(s, def, sum));
}

bool loop_sum_of(LoopSums *s, const Instr *at, const Operand *o, u32 bits, LoopSum *sum)
{
    if (o && o->kind == OPND_IMM) {
        *sum = (LoopSum){.start = number(s, bits, (u64)o->value), .step = number(s, bits, 0), .bits = bits};
        return true;
    }
    RegId reg = operand_plain_register(o);
    return reg && register_bits(s, reg) == bits && (bits == 32 || bits == 64) && register_sum(s, at, reg, sum);
}

bool loop_sum_is_negative(const LoopSums *s, LinearId id)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    bool negative = sem_signed(e->constant, e->bits) <= 0;
    for (u32 k = 0; k < e->terms; k++)
        negative &= sem_signed(e->term[k].scale, e->bits) < 0;
    return negative;
}
