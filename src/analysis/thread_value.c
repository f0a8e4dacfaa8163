#include "analysis/thread_value.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/live.h"
#include "ir/inspect.h"

enum { DIM_X = 1, DIM_Y = 2, DIM_Z = 4, DIM_ALL = DIM_X | DIM_Y | DIM_Z };

/* The function that is 0 in every thread, the first expression of all: constants are that and an offset. */
enum { FUNCTION_CONSTANT = 1 };

/* What terms are of that no instruction computes. */
static const char of_sreg, of_symbol, of_width, of_product, of_extension, of_signed, of_unsigned, of_narrow_sum;

static const ThreadValue unknown = {.dims = DIM_ALL};

static ThreadValue operand_value(ThreadValues *t, const Operand *o);

/* ---- numbers of functions ---------------------------------------------------------------------------------------- */

/* A term of four numbers, which are functions, expressions or parts of constants, as the tag says. */
static u32 term(ThreadValues *t, u32 bits, const void *tag, const LinearId of[4])
{
    return linear_term(t->exprs, term_operation(t->exprs, bits, tag, of, 0));
}

/* The function as one of registers so wide. */
static LinearId at_width(ThreadValues *t, u32 function, u32 bits)
{
    if (function == FUNCTION_CONSTANT)
        return linear_constant(t->exprs, bits, 0);
    return linear_at(t->exprs, function)->bits == bits ? function : term(t, bits, &of_width, (LinearId[4]){function});
}

/* a + scale * b, two functions or 0. */
static u32 sum(ThreadValues *t, u32 a, u32 b, u64 scale, u32 bits)
{
    LinearId id = a && b ? linear_sum(t->exprs, at_width(t, a, bits), at_width(t, b, bits), scale) : 0;
    return id && linear_at(t->exprs, id)->terms == 0 ? FUNCTION_CONSTANT : id;
}

/* A number for the value with its offset, which is as wide as that. */
static LinearId whole(ThreadValues *t, const ThreadValue *v)
{
    return linear_sum(t->exprs, at_width(t, v->function, 64), linear_constant(t->exprs, 64, (u64)v->offset), 1);
}

static bool is_scalar(const Operand *o)
{
    return !operand_is_aggregate(o) && o->sub == SUB_NONE && !(o->flags & (OPNDF_NOT | OPNDF_NEG));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static i64 wrapped(u64 value, u32 bits) { return bits == 32 ? (i64)(i32)(u32)value : (i64)value; }

static ThreadValue constant(i64 value)
{
    return (ThreadValue){.function = FUNCTION_CONSTANT, .ranged = true, .lo = value, .hi = value, .offset = value};
}

static bool is_constant(const ThreadValue *v) { return v->function == FUNCTION_CONSTANT; }

static void set_range(ThreadValue *v, i64 lo, i64 hi)
{
    v->ranged = true;
    v->lo = lo;
    v->hi = hi;
}

/* Forgets the spread where the difference of two threads may wrap, in this many bits, to less than it. */
static void check_wrap(ThreadValue *v, u32 bits)
{
    if (bits == 32 && (v->extent > (u64)1 << 32 || v->spread > ((u64)1 << 32) - v->extent))
        v->spread = 0;
    if (bits == 64 && v->extent > (u64)1 << 62)
        v->spread = 0;
}

static ThreadValue thread_component(ThreadValues *t, const Operand *o, u32 d)
{
    u64 least, most;
    fn_sreg_bounds(t->fn, o, &least, &most);
    if (most == 0 || (t->one_dimensional && d > 0))
        return constant(0);
    return (ThreadValue){.function = term(t, 32, &of_sreg, (LinearId[4]){o->id << 3 | o->sub}),
                         .dims = (u8)(1 << d),
                         .ranged = true,
                         .hi = (i64)most,
                         .spread = 1,
                         .extent = most};
}

static bool is_named(const SregInfo *sreg, const char *name) { return strcmp(sreg->name, name) == 0; }

static ThreadValue special_register(ThreadValues *t, const Operand *o)
{
    const SregInfo *sreg = sreg_info(o->id);
    if (sreg->is_volatile || (sreg->components && (o->sub < SUB_X || o->sub > SUB_Z)))
        return unknown;
    if (is_named(sreg, "%tid"))
        return thread_component(t, o, o->sub - SUB_X);
    u64 least, most;
    fn_sreg_bounds(t->fn, o, &least, &most);
    if (least == most)
        return constant((i64)most);
    ThreadValue v = {.function = term(t, 32, &of_sreg, (LinearId[4]){o->id << 3 | o->sub})};
    v.dims = sreg->uniformity == UNI_CTA ? 0 : DIM_ALL;
    if (most <= INT64_MAX)
        set_range(&v, (i64)least, (i64)most);
    return v;
}

static ThreadValue variable(ThreadValues *t, const Operand *o)
{
    const Sym *s = &t->fn->module->syms.v[o->id];
    if (s->kind != SYM_VAR || (s->space != SPACE_SHARED && s->space != SPACE_GLOBAL))
        return unknown;
    return (ThreadValue){.function = term(t, 64, &of_symbol, (LinearId[4]){o->id}),
                         .symbol = o->id,
                         .through = o->id,
                         .ranged = true,
                         .lo = o->value,
                         .hi = o->value,
                         .offset = o->value};
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* Sets how far apart two threads' values of a sum or difference are. */
static void add_distances(ThreadValue *sum, const ThreadValue *a, const ThreadValue *b)
{
    const ThreadValue *fine = a->extent <= b->extent ? a : b, *coarse = fine == a ? b : a;
    sum->dims = a->dims | b->dims;
    if (__builtin_add_overflow(a->extent, b->extent, &sum->extent))
        sum->extent = UINT64_MAX;
    if (fine->dims == 0)
        sum->spread = coarse->spread;
    else if (fine->spread && coarse->spread > fine->extent)
        sum->spread = coarse->spread - fine->extent < fine->spread ? coarse->spread - fine->extent : fine->spread;
}

static ThreadValue add(ThreadValues *t, const ThreadValue *a, const ThreadValue *b, u32 bits)
{
    ThreadValue v = {.offset = wrapped((u64)a->offset + (u64)b->offset, bits)};
    if (is_constant(a) || is_constant(b))
        v.function = is_constant(a) ? b->function : a->function;
    else
        v.function = sum(t, a->function, b->function, 1, bits);
    add_distances(&v, a, b);
    check_wrap(&v, bits);
    v.symbol = a->symbol ? a->symbol : b->symbol;
    v.through = a->through && b->through ? (SymId)THROUGH_MANY : a->through | b->through;
    v.ranged = a->ranged && b->ranged && !(a->symbol && b->symbol) && !__builtin_add_overflow(a->lo, b->lo, &v.lo) &&
               !__builtin_add_overflow(a->hi, b->hi, &v.hi);
    return v;
}

static ThreadValue subtract(ThreadValues *t, const ThreadValue *a, const ThreadValue *b, u32 bits)
{
    if (is_constant(b)) {
        ThreadValue negated = constant(wrapped(-(u64)b->offset, bits));
        return add(t, a, &negated, bits);
    }
    ThreadValue v = {.function = sum(t, a->function, b->function, UINT64_MAX, bits),
                     .offset = wrapped((u64)a->offset - (u64)b->offset, bits)};
    add_distances(&v, a, b);
    check_wrap(&v, bits);
    v.symbol = a->symbol;
    v.through = b->through ? 0 : a->through;
    v.ranged = a->ranged && b->ranged && !b->symbol && !__builtin_sub_overflow(a->lo, b->hi, &v.lo) &&
               !__builtin_sub_overflow(a->hi, b->lo, &v.hi);
    return v;
}

static ThreadValue scaled(ThreadValues *t, const ThreadValue *a, i64 by, u32 bits)
{
    if (is_constant(a))
        return constant(wrapped((u64)a->offset * (u64)by, bits));
    if (by == 0)
        return constant(0);
    if (by == 1)
        return *a;
    ThreadValue v = {.function = sum(t, a->function ? FUNCTION_CONSTANT : 0, a->function, (u64)by, bits),
                     .dims = a->dims,
                     .offset = wrapped((u64)a->offset * (u64)by, bits)};
    u64 factor = by < 0 ? -(u64)by : (u64)by;
    if (!__builtin_mul_overflow(a->spread, factor, &v.spread) && !__builtin_mul_overflow(a->extent, factor, &v.extent))
        check_wrap(&v, bits);
    else
        v.spread = v.extent = 0;
    i64 lo, hi;
    if (a->ranged && !a->symbol && !__builtin_mul_overflow(a->lo, by, &lo) && !__builtin_mul_overflow(a->hi, by, &hi))
        set_range(&v, lo < hi ? lo : hi, lo < hi ? hi : lo);
    return v;
}

static ThreadValue multiply(ThreadValues *t, const ThreadValue *a, const ThreadValue *b, u32 bits)
{
    if (is_constant(a))
        return scaled(t, b, wrapped((u64)a->offset, bits), bits);
    if (is_constant(b))
        return scaled(t, a, wrapped((u64)b->offset, bits), bits);
    if (!a->function || !b->function)
        return unknown;
    LinearId x = whole(t, a), y = whole(t, b);
    return (ThreadValue){.function = term(t, bits, &of_product, (LinearId[4]){x < y ? x : y, x < y ? y : x}),
                         .dims = a->dims | b->dims};
}

/* A value of 32 bits extended to 64. */
static ThreadValue extended(ThreadValues *t, const ThreadValue *a, bool is_signed)
{
    i64 least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    if (is_constant(a))
        return constant(is_signed ? (i64)(i32)a->offset : (i64)(u32)a->offset);
    ThreadValue v = {.dims = a->dims, .through = a->through};
    bool fits = a->ranged && !a->symbol && a->lo >= least && a->hi <= most;
    set_range(&v, fits ? a->lo : least, fits ? a->hi : most);
    v.spread = a->spread; /* this also holds where one value wrapped and the other did not: see check_wrap() */
    v.extent = a->dims ? UINT32_MAX : 0;
    /* The offset stays outside if what is left is a number below 2^31: then it is the same one in all such places. */
    i64 lo, hi;
    if (fits && !__builtin_sub_overflow(a->lo, a->offset, &lo) && !__builtin_sub_overflow(a->hi, a->offset, &hi) &&
        lo >= 0 && hi <= INT32_MAX) {
        v.function = a->function ? term(t, 64, &of_extension, (LinearId[4]){a->function}) : 0;
        v.offset = a->offset;
        if (a->extent <= INT32_MAX)
            v.extent = a->extent;
    } else if (a->function) {
        v.function = term(t, 64, is_signed ? &of_signed : &of_unsigned, (LinearId[4]){whole(t, a)});
    }
    return v;
}

/* A sum in a register of 8 or 16 bits: it wraps in there. */
static ThreadValue narrow_sum(ThreadValues *t, const ThreadValue *a, i64 constant)
{
    ThreadValue v = {.dims = a->dims};
    if (a->function)
        v.function = term(t, 32, &of_narrow_sum, (LinearId[4]){whole(t, a), (u32)constant, (u32)((u64)constant >> 32)});
    return v;
}

/* The low 32 bits of a value of 64. */
static ThreadValue cut(ThreadValues *t, const ThreadValue *a)
{
    ThreadValue v = *a;
    v.offset = wrapped((u64)a->offset, 32);
    if (is_constant(a))
        return constant(v.offset);
    if (a->ranged && (u64)a->hi - (u64)a->lo <= UINT32_MAX) { /* any numbers that are these modulo 2^32 will do */
        v.lo = wrapped((u64)a->lo, 32);
        v.hi = v.lo + (i64)((u64)a->hi - (u64)a->lo);
    }
    v.function = a->function ? at_width(t, a->function, 32) : 0;
    check_wrap(&v, 32);
    return v;
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

typedef struct Source {
    const Operand *o[4]; /* after the destination */
    u32 n;
} Source;

/* The result of any pure instruction: some function of what it reads. */
static ThreadValue applied(ThreadValues *t, const Instr *i, const Source *s)
{
    ThreadValue v = {.dims = 0};
    LinearId read[4] = {0};
    for (u32 k = 0; k < s->n; k++) {
        ThreadValue a = operand_value(t, s->o[k]);
        if (!a.function)
            return unknown;
        v.dims |= a.dims;
        read[k] = whole(t, &a);
    }
    v.function = term(t, i->op->sem.bits, i->op, read);
    return v;
}

/* Bounds the range of x & mask, x >> n or x % n. */
static void bound(const Instr *i, ThreadValue *v, const ThreadValue *x, const ThreadValue *by)
{
    bool natural = x->ranged && !x->symbol && x->lo >= 0 && x->hi <= UINT32_MAX;
    if (!is_constant(by) || by->offset < 0)
        return;
    const Sem *sem = &i->op->sem;
    if (sem->op == OPC_AND)
        set_range(v, 0, natural && x->hi < by->offset ? x->hi : by->offset);
    else if (sem->op == OPC_SHR && !sem->is_signed && natural && by->offset < 32)
        set_range(v, x->lo >> by->offset, x->hi >> by->offset);
    else if (sem->op == OPC_REM && !sem->is_signed && sem->bits == 32 && by->offset > 0)
        set_range(v, 0, by->offset - 1);
}

static bool is_all_of(const ThreadValue *x, const ThreadValue *mask)
{
    return is_constant(mask) && mask->offset >= 0 && (mask->offset & (mask->offset + 1)) == 0 && x->ranged && !x->symbol &&
           x->lo >= 0 && x->hi <= mask->offset;
}

static ThreadValue product(ThreadValues *t, const Instr *i, const Source *s)
{
    const Sem *sem = &i->op->sem;
    if (s->n < 2)
        return applied(t, i, s);
    ThreadValue a = operand_value(t, s->o[0]), b = operand_value(t, s->o[1]);
    if (sem->bits > sem->from) {
        a = extended(t, &a, sem->is_signed);
        b = extended(t, &b, sem->is_signed);
    }
    ThreadValue v = multiply(t, &a, &b, sem->bits);
    if (s->n == 2)
        return v;
    ThreadValue c = operand_value(t, s->o[2]);
    return add(t, &v, &c, sem->bits);
}

static bool has_width(const ThreadValues *t, const Operand *o, u32 bits)
{
    return o->kind != OPND_REG || type_bits(t->fn->regs.v[o->id].type) == bits;
}

/* Registers may be wider than the types: then they are cut or extended, which is not what the types say. */
static ThreadValue converted(ThreadValues *t, const Instr *i, const Source *s)
{
    const Sem *sem = &i->op->sem;
    if (s->n != 1 || !has_width(t, i->opnd, sem->bits) || !has_width(t, s->o[0], sem->from))
        return applied(t, i, s);
    ThreadValue a = operand_value(t, s->o[0]);
    if (sem->bits == sem->from)
        return a;
    return sem->bits == 32 ? cut(t, &a) : extended(t, &a, sem->is_signed);
}

static ThreadValue result(ThreadValues *t, const Instr *i, const Source *s)
{
    const Sem *sem = &i->op->sem;
    u32 bits = sem->bits;
    bool plain = bits >= 32 && sem->from >= 32;
    ThreadValue a = s->n > 0 ? operand_value(t, s->o[0]) : unknown, b = s->n > 1 ? operand_value(t, s->o[1]) : unknown, v;
    switch (plain ? sem->op : OPC_UNKNOWN) {
    case OPC_MOV: return a;
    case OPC_ADD: return add(t, &a, &b, bits);
    case OPC_SUB: return subtract(t, &a, &b, bits);
    case OPC_SHL:
        if (is_constant(&b) && b.offset >= 0 && b.offset < (i64)bits - 1)
            return scaled(t, &a, (i64)1 << b.offset, bits);
        return applied(t, i, s);
    case OPC_MUL:
    case OPC_MAD: return product(t, i, s);
    case OPC_CVT: return converted(t, i, s);
    case OPC_AND:
    case OPC_SHR:
    case OPC_REM:
        if (sem->op == OPC_AND && (is_all_of(&a, &b) || is_all_of(&b, &a)))
            return is_all_of(&a, &b) ? a : b;
        v = applied(t, i, s);
        bound(i, &v, &a, &b);
        return v;
    default: return applied(t, i, s);
    }
}

/* A parameter of the kernel: the same in all threads, and never written. */
static ThreadValue loaded(ThreadValues *t, const Instr *i)
{
    const Operand *address = instr_operand(i, 1);
    if (i->op->opcode != OPC_LD || i->op->space != SPACE_PARAM || !t->fn->is_entry || i->op->strength != STRENGTH_WEAK ||
        address->kind != OPND_MEM || address->value != 1 || address[1].kind != OPND_SYM)
        return unknown;
    if (t->fn->module->syms.v[address[1].id].kind != SYM_PARAM || t->fn->module->syms.v[address[1].id].owner != t->fn)
        return unknown;
    u64 at = (u64)address[1].value;
    return (ThreadValue){
        .function = term(t, type_bits(i->op->type[0]), i->op, (LinearId[4]){address[1].id, (u32)at, (u32)(at >> 32)})};
}

/* The result, which counts as made of an address (`through`) if one of its operands is: it is then no plain number to add. */
static ThreadValue result_through(ThreadValues *t, const Instr *i, const Source *s)
{
    ThreadValue v = result(t, i, s);
    for (u32 k = 0; k < s->n && !v.through; k++)
        v.through = operand_value(t, s->o[k]).through ? (SymId)THROUGH_MANY : 0;
    return v;
}

static ThreadValue evaluate(ThreadValues *t, const Instr *i)
{
    Source s = {.n = 0};
    u32 n = 0;
    if (i->guard || !is_scalar(i->opnd) || i->opnd[0].role != ROLE_DEF)
        return unknown;
    if (i->op->mem == MEM_READ)
        return loaded(t, i);
    if (!op_is_pure(i->op))
        return unknown;
    for_each_operand(o, i) {
        if (n++ == 0)
            continue;
        bool special = o->kind == OPND_SREG;
        if ((!is_scalar(o) && !special) || s.n == COUNT_OF(s.o))
            return unknown;
        s.o[s.n++] = o;
    }
    return result_through(t, i, &s);
}

/* ---- all values -------------------------------------------------------------------------------------------------- */

/* Adds to `asked` the registers that the values are made of. A value rests on writes that stand before it in the order. So
 * one walk over all instructions from the last to the first finds them. */
static void look_back(const Order *order, BitSet *asked)
{
    for (u32 p = order->count; p-- > 0;)
        for (const Instr *i = order->rpo[p]->last; i; i = i->prev) {
            bool matters = false;
            for (RegWalk w = reg_walk(i); next_write(&w);)
                matters |= bitset_has(asked, w.reg);
            for (RegWalk w = reg_walk(i); matters && next_read(&w);)
                bitset_add(asked, w.reg);
        }
}

static void define(ThreadValues *t, const Instr *i)
{
    RegId reg = i->slots ? i->opnd[0].id : 0;
    ValueId value = ssa_at(t->ssa, i->block, i->next, reg);
    if (!value || ssa_definition(t->ssa, value, reg) != i)
        return;
    t->before = i;
    vec_push(&t->known, evaluate(t, i));
    t->place[value] = t->known.n;
}

ThreadValues *thread_values_new(Arena *arena, const Function *fn, const Order *order, const Ssa *ssa, BitSet *asked,
                                bool assume_1d_blocks)
{
    ThreadValues *t = arena_new(arena, ThreadValues);
    t->fn = fn;
    t->ssa = ssa;
    t->one_dimensional = assume_1d_blocks && !fn->tuning.shape_exact;
    t->exprs = linear_new(arena);
    linear_constant(t->exprs, 64, 0); /* FUNCTION_CONSTANT */
    t->place = arena_array(arena, u32, ssa->count);
    look_back(order, asked);
    for (u32 p = 0; p < order->count; p++) {
        t->block = order->rpo[p];
        for_each_instr(i, t->block)
            if (i->kind == INSTR_OP && i->slots && slot_is_def(&i->opnd[0]) && bitset_has(asked, i->opnd[0].id))
                define(t, i);
    }
    return t;
}

void thread_values_free(ThreadValues *t)
{
    linear_free(t->exprs);
    vec_free(&t->known);
}

static ThreadValue register_value(const ThreadValues *t, RegId reg)
{
    u32 place = t->place[ssa_at(t->ssa, t->block, t->before, reg)];
    return place ? t->known.v[place - 1] : unknown;
}

static ThreadValue operand_value(ThreadValues *t, const Operand *o)
{
    switch ((OperandKind)o->kind) {
    case OPND_REG: {
        ThreadValue v = register_value(t, o->id), offset = constant(o->value);
        u32 bits = type_bits(t->fn->regs.v[o->id].type);
        if (!is_scalar(o))
            return unknown;
        if (o->value == 0)
            return v;
        return bits < 32 ? narrow_sum(t, &v, o->value) : add(t, &v, &offset, bits);
    }
    case OPND_IMM: return constant(o->value);
    case OPND_SREG: return special_register(t, o);
    case OPND_SYM: return variable(t, o);
    default: return unknown;
    }
}

ThreadValue thread_value(ThreadValues *t, const Block *b, const Instr *before, const Operand *o)
{
    t->block = b;
    t->before = before;
    return operand_value(t, o);
}

ThreadValue thread_value_low(ThreadValues *t, const Block *b, const Instr *before, const Operand *o)
{
    ThreadValue v = thread_value(t, b, before, o);
    bool narrow = o->kind != OPND_REG || type_bits(t->fn->regs.v[o->id].type) <= 32; /* addresses in .shared are */
    return narrow ? v : cut(t, &v);
}

u8 thread_dims(const ThreadValues *t)
{
    if (t->one_dimensional)
        return DIM_X;
    if (!t->fn->tuning.shape_exact)
        return DIM_ALL;
    u8 dims = 0;
    for (u32 d = 0; d < 3; d++)
        dims |= t->fn->tuning.block_shape[d] > 1 ? 1 << d : 0;
    return dims;
}
