#include "analysis/loop_sums.h"

#include "analysis/dom.h"
#include "base/bound.h"
#include "ir/inspect.h"
#include "ir/reg_walk.h"

enum {
    ENTRY_DEPTH = 8, /* the most definitions in front of the loop that a value is followed through */
    LOOP_DEPTH = 32  /* the same in the loop */
};

static const char product_tag[] = "*"; /* of a term that is the product of two expressions */

/* ---- the loop's registers ------------------------------------------------------------------------------------------- */

void loop_sums_init(LoopSums *s, Arena *arena, AffineLoop in, const Ssa *ssa)
{
    *s = (LoopSums){.in = in, .ssa = ssa, .from = ssa ? loop_only_entry(in.loop->header->fn, in.loop) : NULL};
    if (s->from && s->from->id >= in.loops->blocks)
        s->from = NULL;
    s->exprs = linear_new(arena);
}

void loop_sums_close(LoopSums *s)
{
    linear_shrink(s->exprs);
    fnvmap_free(&s->results);
    vec_free(&s->result);
    vec_shrink(&s->entered);
}

void loop_sums_free(LoopSums *s)
{
    linear_free(s->exprs);
    fnvmap_free(&s->entries);
    fnvmap_free(&s->results);
    vec_free(&s->result);
    vec_free(&s->entered);
}

static u32 register_bits(const LoopSums *s, RegId reg)
{
    Type type = fn_reg(s->in.loop->header->fn, reg)->type;
    TypeClass class = type_class(type);
    bool integer = class == TC_BITS || class == TC_SIGNED || class == TC_UNSIGNED;
    return integer ? type_bits(type) : 0;
}

/* Whether i computes an integer whose low `bits` bits depend only on as many low bits of its operands. */
static bool is_plain(const LoopSums *s, const Instr *i, u32 bits)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    bool same = sem->op == i->op->opcode && sem->from >= bits && sem->bits >= sem->from;
    return same && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) && to && register_bits(s, to) == sem->bits;
}

/* Whether i extends the low 32 bits of operand *from to 64. It converts them, or sets the high half to zero. */
static bool is_extension(const LoopSums *s, const Instr *i, u32 *from)
{
    const Sem *sem = &i->op->sem;
    if (sem->bits != 64 || sem->op != i->op->opcode || register_bits(s, operand_plain_register(instr_operand(i, 0))) != 64)
        return false;
    *from = 1;
    if (sem->op == OPC_CVT)
        return sem->from == 32 && sem->is_signed == sem->to_signed;
    return sem->op == OPC_AND && affine_is_cut(i, 32, from) && (u64)instr_operand(i, 3 - *from)->value == UINT32_MAX;
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

/* ---- results -------------------------------------------------------------------------------------------------------- */

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

static bool plain_result(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
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

static bool scaled_result(LoopSums *s, const Instr *i, u32 bits, u64 scale, LoopSum *sum)
{
    if (!loop_sum_of(s, i, instr_operand(i, 1), bits, sum) || sum->extended)
        return false;
    sum->start = linear_scale(s->exprs, sum->start, scale);
    sum->step = linear_scale(s->exprs, sum->step, scale);
    return true;
}

static bool shift_result(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
    const Operand *by = instr_operand(i, 2);
    return by->kind == OPND_IMM && (u64)by->value < bits && scaled_result(s, i, bits, (u64)1 << by->value, sum);
}

static bool opposite_result(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
    Type type = i->op->type[0];
    bool integer = i->op->types == 1 && type_class(type) == TC_SIGNED && (type_bits(type) == 32 || type_bits(type) == 64);
    return integer && type_bits(type) >= bits && scaled_result(s, i, bits, (u64)-1, sum);
}

/* Whether i inverts all bits of its first operand. */
static bool is_complement(const Instr *i, u32 bits)
{
    const Sem *sem = &i->op->sem;
    const Operand *ones = i->op->opcode == OPC_XOR ? instr_operand(i, 2) : NULL;
    if (sem->op != i->op->opcode || sem->bits < bits || sem->from != sem->bits)
        return false;
    return i->op->opcode == OPC_NOT ||
           (ones && ones->kind == OPND_IMM && ((u64)ones->value & sem_max(sem->bits)) == sem_max(sem->bits));
}

/* ~x is -x - 1. */
static bool complement_result(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
    if (!scaled_result(s, i, bits, (u64)-1, sum))
        return false;
    sum->start = linear_sum(s->exprs, sum->start, number(s, bits, 1), (u64)-1);
    return sum->start != 0;
}

static bool extended_result(LoopSums *s, const Instr *i, const Operand *from, LoopSum *sum)
{
    bool is_signed = i->op->sem.op == OPC_CVT && i->op->sem.is_signed;
    if (!loop_sum_of(s, i, from, 32, sum))
        return false;
    sum->extended = !loop_sum_is_zero(s, sum->step);
    sum->is_signed = sum->extended && is_signed;
    if (!sum->extended)
        *sum = (LoopSum){linear_extend(s->exprs, sum->start, is_signed), number(s, 64, 0), 64, false, false};
    return true;
}

/* The low bits of what i computes, in an iteration or in front of the loop. */
static bool compute_result(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
    u32 from;
    if (affine_is_cut(i, bits, &from))
        return loop_sum_of(s, i, instr_operand(i, from), bits, sum);
    if (bits == 64 && is_extension(s, i, &from))
        return extended_result(s, i, instr_operand(i, from), sum);
    if (i->op->opcode == OPC_NEG)
        return opposite_result(s, i, bits, sum);
    if (is_complement(i, bits))
        return complement_result(s, i, bits, sum);
    if (i->op->opcode == OPC_SHL && i->op->sem.op == OPC_SHL && i->op->sem.bits >= bits)
        return shift_result(s, i, bits, sum);
    return is_plain(s, i, bits) && plain_result(s, i, bits, sum);
}

/* ---- in front of the loop ------------------------------------------------------------------------------------------- */

/* Whether def's operands still have their values where the loop is entered, and what it gives reg is known. */
static bool result_in_front(LoopSums *s, const Instr *def, RegId reg, LoopSum *sum)
{
    if (def->guard || !ssa_sources_hold(s->ssa, def, s->from))
        return false;
    s->in_front++;
    bool found = compute_result(s, def, register_bits(s, reg), sum);
    s->in_front--;
    return found;
}

/* What reg, of 32 or 64 bits, holds in front of the loop. */
static LinearId entry_of(LoopSums *s, RegId reg)
{
    u64 *known = fnvmap_at(&s->entries, reg);
    if (*known)
        return (LinearId)*known;
    bool looks = s->from && s->in_front < ENTRY_DEPTH;
    const Instr *def = looks ? ssa_definition(s->ssa, ssa_at_end(s->ssa, s->from, reg), reg) : NULL;
    LoopSum sum;
    if (!def || !result_in_front(s, def, reg, &sum))
        sum.start = linear_term(s->exprs, term_value(s->exprs, register_bits(s, reg), reg));
    *fnvmap_at(&s->entries, reg) = sum.start;
    vec_push(&s->entered, reg);
    return sum.start;
}

static LinearId entry_low(LoopSums *s, RegId reg, u32 bits)
{
    LinearId entry = entry_of(s, reg);
    return register_bits(s, reg) > bits ? linear_low(s->exprs, entry) : entry;
}

/* ---- in an iteration ------------------------------------------------------------------------------------------------- */

/* The low bits of what i, an instruction of the loop, computes. The answer is kept, so that all questions together are linear in the
 * loop. */
static bool result_of(LoopSums *s, const Instr *i, u32 bits, LoopSum *sum)
{
    u64 key = (u64)(uintptr_t)i + (bits == 32), *known = fnvmap_find(&s->results, key);
    if (known) {
        if (*known)
            *sum = s->result.v[*known - 1];
        return *known != 0;
    }
    *fnvmap_at(&s->results, key) = 0;
    s->depth++;
    bool found = WITHIN(LOOP_DEPTH, s->depth <= LOOP_DEPTH) && compute_result(s, i, bits, sum);
    s->depth--;
    if (!found)
        return false;
    vec_push(&s->result, *sum);
    *fnvmap_at(&s->results, key) = s->result.n;
    return true;
}

/* Finds what the loop adds to reg in an iteration, between two executions of def, its only write. */
static bool find_step(LoopSums *s, RegId reg, const Instr *def, u32 bits, LinearId *step)
{
    AffineStep found[AFFINE_STEPS];
    u32 n = affine_steps(&s->in, reg, bits, def, found);
    LoopSum sum = {.start = number(s, bits, 0), .step = number(s, bits, 0)}, by;
    for (u32 k = 0; k < n; k++)
        if (found[k].by &&
            (!loop_sum_of(s, def, found[k].by, bits, &by) || !add(s, &sum, &by, found[k].less ? (u64)-1 : 1)))
            return false;
    *step = sum.start;
    return n != 0;
}

bool loop_sum_of_register(LoopSums *s, const Instr *at, RegId reg, u32 bits, LoopSum *sum)
{
    if (register_bits(s, reg) < bits || (bits != 32 && bits != 64))
        return false;
    *sum = (LoopSum){.step = number(s, bits, 0), .bits = bits};
    if (s->in_front || loop_is_invariant(s->in.loop, reg)) {
        sum->start = entry_low(s, reg, bits);
        return sum->start != 0;
    }
    const Instr *def = loop_only_write(s->in.loop, reg);
    if (!def) {
        def = local_definition(at, reg);
        return def && result_of(s, def, bits, sum);
    }
    bool before = instr_dominates(s->in.dom, def, at);
    if (find_step(s, reg, def, bits, &sum->step)) {
        sum->start = linear_sum(s->exprs, entry_low(s, reg, bits), sum->step, before);
        return sum->start != 0;
    }
    return before && result_of(s, def, bits, sum);
}

const Instr *loop_definition(const LoopSums *s, const Instr *at, RegId reg)
{
    const Instr *def = local_definition(at, reg);
    if (def)
        return def;
    def = loop_only_write(s->in.loop, reg);
    return def && def->block != at->block && instr_dominates(s->in.dom, def, at) ? def : NULL;
}

bool loop_sum_of(LoopSums *s, const Instr *at, const Operand *o, u32 bits, LoopSum *sum)
{
    if (o && o->kind == OPND_IMM) {
        *sum = (LoopSum){.start = number(s, bits, (u64)o->value), .step = number(s, bits, 0), .bits = bits};
        return true;
    }
    RegId reg = operand_plain_register(o);
    return reg && loop_sum_of_register(s, at, reg, bits, sum);
}

bool loop_sum_is_negative(const LoopSums *s, LinearId id)
{
    const LinearExpr *e = linear_at(s->exprs, id);
    bool negative = sem_signed(e->constant, e->bits) <= 0;
    for (u32 k = 0; k < e->terms; k++)
        negative &= sem_signed(e->term[k].scale, e->bits) < 0;
    return negative;
}
