#include "analysis/linear_value.h"
#include "base/search.h"
#include "ir/inspect.h"

#include <stdlib.h>

/* The definition of a value while its expression is made. */
typedef struct Def {
    LinearValues *a;
    u32 number; /* of the instruction */
    Instr *i;
    u32 bits;  /* of the result */
    u32 depth; /* of the deepest operand looked at */
} Def;

static const char symbol_tag[] = "symbol", sreg_tag[] = "special register", param_tag[] = "parameter",
                  product_tag[] = "product", signed_tag[] = "signed product", unsigned_tag[] = "unsigned product",
                  generic_tag[] = "generic", window_tag[] = "window", global_tag[] = "global";

static LinearId extended(LinearValues *a, u32 value, bool is_signed);

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* 0: not a number of up to 64 bits. */
static u32 reg_bits(const Function *fn, RegId reg)
{
    const Reg *r = &fn->regs.v[reg];
    u32 bits = type_bits(r->type);
    return r->vector == 1 && bits <= 64 ? bits : 0;
}

static u32 operand_value(const Def *d, const Operand *o)
{
    return listing_use(d->a->listing, d->number, (u32)(o - d->i->opnd));
}

static LinearId operation(LinearExprs *f, u32 bits, const void *tag, LinearId a, LinearId b, LinearId c)
{
    LinearId operand[4] = {a, b, c, 0};
    return linear_term(f, term_operation(f, bits, tag, operand, 0));
}

/* The expression of a plain register or constant of `bits`; 0: none. */
static LinearId operand_expr(Def *d, const Operand *o, u32 bits)
{
    LinearExprs *f = d->a->exprs;
    if (!o)
        return 0;
    if (o->kind == OPND_IMM && !o->flags)
        return linear_constant(f, bits, (u64)o->value);
    if (o->kind == OPND_IMM && o->flags == OPNDF_UNSIGNED)
        return linear_constant(f, bits, (u64)o->value);
    if (o->kind == OPND_SYM)
        return linear_sum(f, operation(f, bits, symbol_tag, o->id, 0, 0), linear_constant(f, bits, (u64)o->value), 1);
    if (o->kind == OPND_SREG && !sreg_info(o->id)->is_volatile)
        return operation(f, bits, sreg_tag, o->id, o->sub, 0);
    if (!operand_plain_register(o) || reg_bits(d->a->fn, o->id) != bits)
        return 0;
    u32 value = operand_value(d, o);
    d->depth = d->a->depth[value] > d->depth ? d->a->depth[value] : d->depth;
    return d->a->of[value];
}

static bool expr_is_constant(const LinearExprs *f, LinearId id, u64 *constant)
{
    *constant = id ? linear_at(f, id)->constant : 0;
    return id && linear_at(f, id)->terms == 0;
}

/* ---- ranges ---------------------------------------------------------------------------------------------------- */

typedef struct Bounds {
    __int128 lo, hi;
} Bounds;

static Bounds operand_bounds(const Def *d, const Operand *o, bool is_signed)
{
    if (o->kind == OPND_IMM) {
        i64 v = is_signed ? (i64)(i32)o->value : (i64)(u32)o->value;
        return (Bounds){v, v};
    }
    Range r = value_of_register(d->a->facts, (ProgramPoint){NULL, d->i->block, d->i}, o->id, 32);
    return is_signed ? (Bounds){r.least, r.most} : (Bounds){(__int128)r.lo, (__int128)r.hi};
}

static Bounds bounds_sum(Bounds a, Bounds b, int scale)
{
    return scale > 0 ? (Bounds){a.lo + b.lo, a.hi + b.hi} : (Bounds){a.lo - b.hi, a.hi - b.lo};
}

static Bounds bounds_times(Bounds a, i64 k) { return k >= 0 ? (Bounds){a.lo * k, a.hi * k} : (Bounds){a.hi * k, a.lo * k}; }

static bool bounds_fit(Bounds b, bool is_signed)
{
    return is_signed ? b.lo >= INT32_MIN && b.hi <= INT32_MAX : b.lo >= 0 && b.hi <= UINT32_MAX;
}

static bool is_never_negative(const LinearValues *a, u32 value)
{
    const ListedValue *v = &a->listing->values.v[value];
    ProgramPoint place = {NULL, v->phi, v->phi ? v->phi->first : NULL};
    if (!v->phi) {
        Instr *i = a->listing->instrs.v[v->instr].i;
        place = (ProgramPoint){NULL, i->block, i->next};
    }
    return value_of_register(a->facts, place, v->reg, 32).least >= 0;
}

/* Whether no bit is set in both operands, because one is a multiple of a power of two that the other stays below. */
static bool below_zeros(const Def *d, const Operand *small, LinearId expr, u32 zeros)
{
    u64 constant;
    if (zeros == 0)
        return false;
    u64 limit = zeros >= 64 ? UINT64_MAX : ((u64)1 << zeros) - 1;
    if (expr_is_constant(d->a->exprs, expr, &constant))
        return constant <= limit;
    return operand_plain_register(small) &&
           value_of_register(d->a->facts, (ProgramPoint){NULL, d->i->block, d->i}, small->id, d->bits).hi <= limit;
}

static bool are_disjoint(const Def *d, const Operand *x, LinearId fx, const Operand *y, LinearId fy)
{
    const LinearExprs *f = d->a->exprs;
    return fx && fy && (below_zeros(d, y, fy, linear_zeros(f, fx)) || below_zeros(d, x, fx, linear_zeros(f, fy)));
}

/* The operands whose sum an or, xor or lop3 is, if they are two and have no bit in common. */
static bool is_sum_of_bits(Def *d, const Operand **x, const Operand **y)
{
    Instr *i = d->i;
    *x = instr_operand(i, 1);
    *y = instr_operand(i, 2);
    if (i->op->opcode == OPC_LOP3) {
        const Operand *lut = instr_operand(i, 4);
        if (instr_operands(i) != 5 || lut->kind != OPND_IMM)
            return false;
        if (lut->value == 0xfa || lut->value == 0x5a) /* a|c, a^c */
            *y = instr_operand(i, 3);
        else if (lut->value == 0xee || lut->value == 0x66) /* b|c, b^c */
            *x = instr_operand(i, 2), *y = instr_operand(i, 3);
        else if (lut->value != 0xfc && lut->value != 0x3c) /* a|b, a^b */
            return false;
    }
    return are_disjoint(d, *x, operand_expr(d, *x, d->bits), *y, operand_expr(d, *y, d->bits));
}

/* ---- expressions of 32 or 64 bits ------------------------------------------------------------------------------------ */

/* o extended from 32 to 64 bits. */
static LinearId extended_operand(Def *d, const Operand *o, bool is_signed)
{
    if (!operand_plain_register(o))
        return o->kind == OPND_IMM ? linear_constant(d->a->exprs, 64, is_signed ? (u64)(i64)(i32)o->value : (u32)o->value)
                                   : 0;
    LinearId narrow = operand_expr(d, o, 32);
    return narrow ? extended(d->a, operand_value(d, o), is_signed) : 0;
}

/* x * y; wide: of two extended ones, which tag distinguishes from the products of others. */
static LinearId product(Def *d, LinearId x, LinearId y, const char *tag)
{
    LinearExprs *f = d->a->exprs;
    u64 constant;
    if (!x || !y)
        return 0;
    if (expr_is_constant(f, y, &constant))
        return linear_scale(f, x, constant);
    if (expr_is_constant(f, x, &constant))
        return linear_scale(f, y, constant);
    u32 zeros = linear_zeros(f, x) + linear_zeros(f, y);
    LinearId operand[4] = {x < y ? x : y, x < y ? y : x};
    return linear_term(f, term_operation(f, d->bits, tag, operand, zeros < d->bits ? zeros : d->bits));
}

static LinearId multiply(Def *d)
{
    const Sem *sem = &d->i->op->sem;
    const Operand *x = instr_operand(d->i, 1), *y = instr_operand(d->i, 2);
    if (sem->bits != d->bits)
        return 0;
    if (sem->from == sem->bits)
        return product(d, operand_expr(d, x, d->bits), operand_expr(d, y, d->bits), product_tag);
    return sem->from == 32 ? product(d, extended_operand(d, x, sem->is_signed), extended_operand(d, y, sem->is_signed),
                                     sem->is_signed ? signed_tag : unsigned_tag)
                           : 0;
}

static LinearId shifted(Def *d)
{
    const Operand *amount = instr_operand(d->i, 2);
    if (amount->kind != OPND_IMM || (u64)amount->value >= d->bits)
        return 0;
    return linear_scale(d->a->exprs, operand_expr(d, instr_operand(d->i, 1), d->bits), (u64)1 << amount->value);
}

static LinearId converted(Def *d)
{
    const Sem *sem = &d->i->op->sem;
    const Operand *x = instr_operand(d->i, 1);
    if (instr_operands(d->i) != 2 || sem->bits != d->bits)
        return 0;
    if (sem->from == d->bits)
        return operand_expr(d, x, d->bits);
    if (d->bits == 64 && sem->from == 32 && sem->is_signed == sem->to_signed)
        return extended_operand(d, x, sem->is_signed);
    LinearId wide = d->bits == 32 && sem->from == 64 ? operand_expr(d, x, 64) : 0;
    return wide ? linear_low(d->a->exprs, wide) : 0;
}

/* The address that cvta or cvta.to gives. Global memory is one window of the generic addresses: a term stands for where it begins. */
static LinearId windowed(Def *d)
{
    const Instr *i = d->i;
    LinearExprs *f = d->a->exprs;
    LinearId x = operand_expr(d, instr_operand(i, 1), d->bits);
    Space space = (Space)i->op->space;
    bool to_generic = i->op->opcode == OPC_CVTA;
    if (x && space == SPACE_GLOBAL)
        return linear_sum(f, x, operation(f, d->bits, global_tag, 0, 0, 0), to_generic ? (u64)-1 : 1);
    if (!x)
        return 0;
    if (!to_generic) {
        const LinearExpr *expr = linear_at(f, x);
        const LinearTerm *t = expr->terms == 1 ? &f->terms.v[expr->term[0].term] : NULL;
        if (t && expr->constant == 0 && expr->term[0].scale == 1 && t->kind == TERM_OPERATION && t->tag == generic_tag &&
            t->operand[1] == space)
            return t->operand[0];
    }
    return operation(f, d->bits, to_generic ? generic_tag : window_tag, x, space, 0);
}

/* The sum that the instruction computes; 0: none that is followed. */
static LinearId sum_of(Def *d)
{
    Instr *i = d->i;
    LinearExprs *f = d->a->exprs;
    const Operand *x = instr_operand(i, 1), *y = instr_operand(i, 2), *z = instr_operand(i, 3);
    if (i->op->sem.bits != d->bits)
        return 0;
    switch (i->op->sem.op) {
    case OPC_CVT: return converted(d);
    case OPC_MUL: return multiply(d);
    case OPC_MAD: return linear_sum(f, multiply(d), operand_expr(d, z, d->bits), 1);
    case OPC_MOV: return operand_expr(d, x, d->bits);
    case OPC_ADD: return linear_sum(f, operand_expr(d, x, d->bits), operand_expr(d, y, d->bits), 1);
    case OPC_SUB: return linear_sum(f, operand_expr(d, x, d->bits), operand_expr(d, y, d->bits), (u64)-1);
    case OPC_SHL: return shifted(d);
    case OPC_CVTA:
    case OPC_CVTA_TO: return windowed(d);
    case OPC_OR:
    case OPC_XOR:
    case OPC_LOP3:
        return is_sum_of_bits(d, &x, &y) ? linear_sum(f, operand_expr(d, x, d->bits), operand_expr(d, y, d->bits), 1) : 0;
    default: return 0;
    }
}

/* The term of the operation that the instruction computes: equal operations on equal operands are one term. */
static LinearId as_operation(Def *d)
{
    Instr *i = d->i;
    LinearExprs *f = d->a->exprs;
    LinearId operand[4] = {0};
    u32 n = instr_operands(i) - 1, zeros = 0;
    if (n == 0 || n > COUNT_OF(operand))
        return 0;
    for (u32 k = 0; k < n; k++) {
        const Operand *o = instr_operand(i, k + 1);
        u32 bits = o->kind == OPND_REG ? reg_bits(d->a->fn, o->id) : o->kind == OPND_SREG ? 32 : 64;
        operand[k] = operand_expr(d, o, bits);
        if (!operand[k])
            return 0;
    }
    if (n >= 2 && op_has(i->op, OPF_COMMUTES) && operand[0] > operand[1])
        SWAP(operand[0], operand[1]);
    if (i->op->opcode == OPC_AND)
        for (u32 k = 0; k < 2; k++)
            zeros = linear_zeros(f, operand[k]) > zeros ? linear_zeros(f, operand[k]) : zeros;
    return linear_term(f, term_operation(f, d->bits, i->op, operand, zeros < d->bits ? zeros : d->bits));
}

/* The term of a load from a kernel's parameters, which nobody writes: equal addresses are one term. */
static LinearId parameter(Def *d)
{
    const Instr *i = d->i;
    const Operand *address = instr_operand(d->i, 1);
    if (i->op->opcode != OPC_LD || i->op->space != SPACE_PARAM || !d->a->fn->is_entry || i->op->strength != STRENGTH_WEAK ||
        i->op->types != 1 || type_bits(i->op->type[0]) != d->bits || address->kind != OPND_MEM ||
        address[1].kind != OPND_SYM)
        return 0;
    u64 at = (u64)address[1].value;
    const Sym *sym = &d->a->fn->module->syms.v[address[1].id];
    return sym->kind == SYM_PARAM ? operation(d->a->exprs, d->bits, param_tag, address[1].id, (u32)at, (u32)(at >> 32)) : 0;
}

/* ---- 32 bits to 64 --------------------------------------------------------------------------------------------- */

/* The extension of the result as a sum of extensions, where it does not wrap; else 0. */
static LinearId sum_of_extended(Def *d, bool is_signed)
{
    Instr *i = d->i;
    LinearExprs *f = d->a->exprs;
    const Operand *x = instr_operand(i, 1), *y = instr_operand(i, 2), *z = instr_operand(i, 3);
    u32 opcode = i->op->sem.op;
    if (i->op->sem.bits != 32 || i->op->sem.from != 32)
        return 0;
    if (opcode == OPC_MOV)
        return extended_operand(d, x, is_signed);
    if (opcode == OPC_OR || opcode == OPC_XOR || opcode == OPC_LOP3)
        return is_sum_of_bits(d, &x, &y)
                   ? linear_sum(f, extended_operand(d, x, is_signed), extended_operand(d, y, is_signed), 1)
                   : 0;
    if (opcode != OPC_MUL && opcode != OPC_MAD && opcode != OPC_ADD && opcode != OPC_SUB && opcode != OPC_SHL)
        return 0;
    if (opcode == OPC_ADD || opcode == OPC_SUB) {
        int sign = opcode == OPC_ADD ? 1 : -1;
        bool steps_down =
            opcode == OPC_ADD && y->kind == OPND_IMM && (i32)y->value < 0; /* add -1 counts down, unsigned too */
        LinearId a = extended_operand(d, x, is_signed), b = extended_operand(d, y, is_signed || steps_down);
        if (!a || !b ||
            !bounds_fit(bounds_sum(operand_bounds(d, x, is_signed), operand_bounds(d, y, is_signed || steps_down), sign),
                        is_signed))
            return 0;
        return linear_sum(f, a, b, (u64)(i64)sign);
    }
    u64 k = 0;
    if (opcode == OPC_SHL && y->kind == OPND_IMM && (u64)y->value < 31)
        k = (u64)1 << y->value;
    else if (opcode == OPC_SHL || !expr_is_constant(f, operand_expr(d, y, 32), &k) || k > INT32_MAX)
        return 0;
    LinearId a = extended_operand(d, x, is_signed),
             c = opcode == OPC_MAD ? extended_operand(d, z, is_signed) : linear_constant(f, 64, 0);
    if (!a || !c)
        return 0;
    Bounds b = bounds_times(operand_bounds(d, x, is_signed), (i64)k);
    if (opcode == OPC_MAD)
        b = bounds_sum(b, operand_bounds(d, z, is_signed), 1);
    return bounds_fit(b, is_signed) ? linear_sum(f, c, a, k) : 0;
}

/* The expression of the value extended to 64 bits. Its operands are plain, since sum_of() refuses others, and the depth bounds the
 * recursion. */
static LinearId extended(LinearValues *a, u32 value, bool is_signed)
{
    const ListedValue *v = &a->listing->values.v[value];
    LinearId *known = &a->extended[is_signed][value], expr = *known;
    if (expr)
        return expr;
    if (!is_signed && is_never_negative(a, value)) {
        expr = extended(a, value, true);
    } else if (v->instr != LISTING_NONE && v->whole && a->depth[value] && bitset_has(a->computes, v->instr)) {
        Def d = {.a = a, .number = v->instr, .i = a->listing->instrs.v[v->instr].i, .bits = 32};
        expr = sum_of_extended(&d, is_signed);
    }
    a->extended[is_signed][value] = expr ? expr : linear_extend(a->exprs, a->of[value], is_signed);
    return a->extended[is_signed][value];
}

/* ---- all values ------------------------------------------------------------------------------------------------ */

bool linear_is_operation(const Instr *i)
{
    if (i->kind != INSTR_OP || i->guard || !i->op->known || !op_is_pure(i->op) || i->slots < 2 ||
        i->opnd[0].kind != OPND_REG || i->opnd[0].role != ROLE_DEF || i->opnd[0].sub != SUB_NONE)
        return false;
    for (u32 k = 1; k < i->slots; k++)
        if (operand_is_aggregate(&i->opnd[k]) || i->opnd[k].role == ROLE_DEF || i->opnd[k].role == ROLE_DEF_USE ||
            operand_is_volatile(&i->opnd[k]))
            return false;
    return true;
}

static LinearId opaque(LinearValues *a, u32 value)
{
    u32 bits = reg_bits(a->fn, a->listing->values.v[value].reg);
    a->depth[value] = 0;
    return linear_term(a->exprs, term_value(a->exprs, bits ? bits : 64, value));
}

/* 0: nothing is known of the value but that it is one. */
static LinearId defined_expr(LinearValues *a, u32 number)
{
    const ListedInstr *at = &a->listing->instrs.v[number];
    if (at->values != 1 || at->i->guard || at->i->slots < 2 || at->i->opnd[0].kind != OPND_REG)
        return 0;
    Def d = {.a = a, .number = number, .i = at->i, .bits = reg_bits(a->fn, at->i->opnd[0].id)};
    TypeClass class = type_class(a->fn->regs.v[at->i->opnd[0].id].type);
    if ((d.bits != 32 && d.bits != 64) || class == TC_FLOAT)
        return 0;
    LinearId expr = 0;
    if (bitset_has(a->computes, number)) {
        expr = sum_of(&d);
        expr = expr ? expr : as_operation(&d);
        d.depth++;
    } else {
        expr = parameter(&d);
    }
    if (!expr || d.depth > a->max_depth)
        return 0;
    a->depth[at->value] = (u8)d.depth;
    return expr;
}

static void define(LinearValues *a, u32 number)
{
    const ListedInstr *at = &a->listing->instrs.v[number];
    for (u32 value = at->value; value < at->value + at->values; value++)
        if (bitset_has(a->asked, value)) {
            LinearId expr = defined_expr(a, number);
            a->of[value] = expr ? expr : opaque(a, value);
        }
}

/* The value of a register's phi in b; 0: it has none. */
static u32 phi_of(const Listing *listing, const Block *b, RegId reg)
{
    u32 first = listing->first_phi[b->id], end = first + listing->phis[b->id];
    u32 phi = partition_point(k, first, end, listing->values.v[k].reg < reg);
    return phi < end && listing->values.v[phi].reg == reg ? phi : 0;
}

static void define_phi(LinearValues *a, u32 value)
{
    const ListedValue *v = &a->listing->values.v[value];
    const u64 *fact = fnvmap_find(a->phis, (u64)v->phi->id << 32 | v->reg);
    const PhiFact *known = fact ? &a->phi_facts[*fact] : NULL;
    u32 other = known ? phi_of(a->listing, v->phi, known->other) : 0;
    a->of[value] = opaque(a, value);
    if (other && other < value)
        a->of[value] =
            linear_sum(a->exprs, a->of[other], linear_constant(a->exprs, reg_bits(a->fn, v->reg), (u64)known->plus), 1);
}

LinearValues *linear_values_compute(LinearValues setup)
{
    LinearValues *a = mem_zalloc(sizeof *a);
    *a = setup;
    const Listing *listing = a->listing;
    Arena scratch = {0};
    a->max_depth = a->max_depth < 64 ? a->max_depth : 64;
    a->exprs = linear_new(&a->arena);
    a->of = arena_array(&a->arena, LinearId, listing->values.n);
    a->extended[0] = arena_array(&scratch, LinearId, listing->values.n);
    a->extended[1] = arena_array(&scratch, LinearId, listing->values.n);
    a->depth = arena_array(&scratch, u8, listing->values.n);
    for (u32 pre = 1; pre <= listing->dom->count; pre++) {
        const Block *b = listing->dom->by_pre[pre];
        for (u32 k = 0; k < listing->phis[b->id]; k++)
            if (bitset_has(a->asked, listing->first_phi[b->id] + k))
                define_phi(a, listing->first_phi[b->id] + k);
        for (u32 n = listing->first[b->id]; n < listing->end[b->id]; n++)
            define(a, n);
    }
    arena_free(&scratch);
    return a;
}

void linear_values_free(LinearValues *a)
{
    linear_free(a->exprs);
    arena_free(&a->arena);
    mem_free(a);
}

/* How often the term that phi is occurs in the expression. */
static u64 occurrences(const LinearValues *a, LinearId expr, u32 phi)
{
    const LinearExpr *f = linear_at(a->exprs, expr), *p = linear_at(a->exprs, a->of[phi]);
    for (u32 k = 0; k < f->terms; k++)
        if (p->terms == 1 && f->term[k].term == p->term[0].term)
            return f->term[k].scale;
    return 0;
}

bool linear_phi_follows(const LinearValues *a, u32 phi, u32 leader, i64 *plus)
{
    const ListedValue *p = &a->listing->values.v[leader], *q = &a->listing->values.v[phi];
    if (p->args != q->args) /* nobody reads one of them */
        return false;
    LinearId apart = linear_sum(a->exprs, a->of[leader], a->of[phi], (u64)-1);
    bool entered = false;
    for (u32 k = 0; k < q->args; k++) {
        LinearId x = a->of[a->listing->args.v[p->arg + k]], y = a->of[a->listing->args.v[q->arg + k]];
        i64 difference;
        u64 carried = x && y ? occurrences(a, y, phi) : 2;
        if (carried > 1 || !linear_difference(a->exprs, x, carried ? linear_sum(a->exprs, y, apart, 1) : y, &difference))
            return false;
        if (carried ? difference != 0 : entered && difference != *plus)
            return false;
        if (!carried) {
            *plus = difference;
            entered = true;
        }
    }
    return entered;
}
