/* Decodes the operands of the IR to those of a Code: registers, constants, addresses, special registers. */
#include "check/exec/decode.h"

#include <stdlib.h>
#include <string.h>

static bool is_param(const Function *fn, SymId id)
{
    for (u32 i = 0; i < fn->params.n; i++)
        if (fn->params.v[i] == id)
            return true;
    return false;
}

static Arg constant_arg(Program *p, u64 value)
{
    u64 *known = fnvmap_at(&p->constant_index, value);
    if (!*known) {
        *known = p->constants.n / LANES + 1;
        for (u32 i = 0; i < LANES; i++)
            vec_push(&p->constants, value);
    }
    return (Arg){.kind = ARG_CONST, .index = (u32)*known - 1, .bits = 64};
}

static u64 literal_bits(Decoder *d, const Operand *o, ElemType type)
{
    bool single = o->flags & OPNDF_SINGLE;
    if (single && elem_is_float(type) && type.bits == 64) { /* ptxas extends the bits, it does not convert */
        d->bad |= type.count != 1 || (o->flags & OPNDF_NEG);
        return (u64)o->value & mask_bits(32);
    }
    double x = single ? bits_to_float((u64)o->value) : bits_to_double((u64)o->value);
    if (o->flags & OPNDF_NEG)
        x = -x;
    if (type.kind == EK_BITS && type.bits == 32)
        type = elem_f32;
    if (type.kind == EK_BITS && type.bits == 64 && !single)
        type = (ElemType){EK_FLOAT, 64, 1};
    if (!elem_is_float(type) || type.count != 1) {
        d->bad = true;
        return 0;
    }
    if (single && type.bits == 32 && !(o->flags & OPNDF_NEG))
        return (u64)o->value & mask_bits(32); /* NaNs keep their bits */
    if (!single && type.bits == 64 && !(o->flags & OPNDF_NEG))
        return (u64)o->value;
    return format_from_double(format_of(type), x, ROUND_NEAREST_EVEN, false);
}

static Arg decode_symbol(Decoder *d, const Operand *o)
{
    const Sym *sym = &d->p->module->syms.v[o->id];
    i64 address;
    if (sym->owner && (sym->space == SPACE_LOCAL || sym->space == SPACE_PARAM)) {
        i64 at = d->p->sym_address[o->id] + o->value;
        bool in_bank = sym->space == SPACE_PARAM && d->f->fn->is_entry && at >= 0 && is_param(d->f->fn, o->id);
        return in_bank ? constant_arg(d->p, (u64)at) : (Arg){.kind = ARG_FRAME, .cooked = true, .add = at};
    }
    if (!variable_address(d->p, o->id, false, &address)) {
        d->bad = true;
        return (Arg){0};
    }
    if (sym->kind == SYM_FUNC)
        d->p->takes_addresses = true;
    return constant_arg(d->p, (u64)(address + o->value));
}

static bool special_register(const char *name, u32 component, Arg *a)
{
    static const struct {
        const char *name;
        SregId id;
        u8 bits;
    } rows[] = {
        {"%tid", SREG_TID, 32},
        {"%ntid", SREG_NTID, 32},
        {"%ctaid", SREG_CTAID, 32},
        {"%nctaid", SREG_NCTAID, 32},
        {"%clusterid", SREG_CTAID, 32},
        {"%nclusterid", SREG_NCTAID, 32},
        {"%laneid", SREG_LANEID, 32},
        {"%warpid", SREG_WARPID, 32},
        {"%nwarpid", SREG_NWARPID, 32},
        {"WARP_SZ", SREG_WARP_SIZE, 32},
        {"%smid", SREG_SMID, 32},
        {"%nsmid", SREG_NSMID, 32},
        {"%gridid", SREG_GRIDID, 64},
        {"%clock", SREG_CLOCK, 32},
        {"%clock64", SREG_CLOCK, 64},
        {"%globaltimer", SREG_CLOCK, 64},
        {"%globaltimer_lo", SREG_CLOCK, 32},
        {"%clock_hi", SREG_ZERO, 32},
        {"%globaltimer_hi", SREG_ZERO, 32},
        {"%lanemask_eq", SREG_LANEMASK_EQ, 32},
        {"%lanemask_lt", SREG_LANEMASK_LT, 32},
        {"%lanemask_le", SREG_LANEMASK_LE, 32},
        {"%lanemask_gt", SREG_LANEMASK_GT, 32},
        {"%lanemask_ge", SREG_LANEMASK_GE, 32},
        {"%dynamic_smem_size", SREG_DYNAMIC_SHARED, 32},
        {"%total_smem_size", SREG_TOTAL_SHARED, 32},
        {"%cluster_ctarank", SREG_ZERO, 32},
        {"%cluster_nctarank", SREG_ONE, 32},
        {"%cluster_ctaid", SREG_ZERO, 32},
        {"%cluster_nctaid", SREG_ONE, 32},
        {"%is_explicit_cluster", SREG_ZERO, 1},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(name, rows[i].name)) {
            u32 index = (u32)rows[i].id + (rows[i].id < SREG_VECTORS_END ? component : 0);
            *a = (Arg){.kind = ARG_SREG, .index = index, .cooked = true, .bits = rows[i].bits};
            return component < 3;
        }
    return false;
}

static Arg decode_register(Decoder *d, const Operand *o)
{
    Arg a = d->f->reg[o->id];
    const Reg *r = fn_reg(d->f->fn, o->id);
    switch (o->sub) {
    case SUB_NONE: d->bad |= r->vector > 1; break;
    case SUB_X:
    case SUB_Y:
    case SUB_Z:
    case SUB_W:
        a.index += (u32)(o->sub - SUB_X);
        d->bad |= (u32)(o->sub - SUB_X) >= r->vector;
        break;
    case SUB_B0:
    case SUB_B1:
    case SUB_B2:
    case SUB_B3:
        a.field_at = (u8)(8 * (o->sub - SUB_B0));
        a.field_bits = 8;
        break;
    case SUB_H0:
    case SUB_H1:
        a.field_at = (u8)(16 * (o->sub - SUB_H0));
        a.field_bits = 16;
        break;
    default: d->bad = true;
    }
    a.invert = o->flags & OPNDF_NOT;
    a.negate = o->flags & OPNDF_NEG;
    a.add = o->sub == SUB_OTHER ? 0 : o->value;
    d->bad |= a.invert && a.kind != ARG_PRED;
    a.cooked = a.field_bits || a.invert || a.negate || a.add;
    return a;
}

Arg decode_source(Decoder *d, const Operand *o, ElemType type)
{
    Arg a = {0};
    switch (o->kind) {
    case OPND_REG: return decode_register(d, o);
    case OPND_IMM:
        if (elem_is_float(type))
            d->bad = true;
        return constant_arg(d->p, type.kind == EK_PRED ? o->value != 0 : (u64)o->value);
    case OPND_FLOAT: return constant_arg(d->p, literal_bits(d, o, type));
    case OPND_SYM: return decode_symbol(d, o);
    case OPND_SREG:
        if (!special_register(sreg_info(o->id)->name, o->sub == SUB_NONE ? 0 : (u32)(o->sub - SUB_X), &a))
            d->bad = true;
        return a;
    case OPND_NAME:
        if (!special_register(d->p->module->other_names.v[o->id]->text, 0, &a))
            d->bad = true;
        return a;
    default: d->bad = true; return a;
    }
}

Arg decode_result(Decoder *d, const Operand *o)
{
    if (o->kind == OPND_SINK)
        return (Arg){0};
    if (o->kind != OPND_REG) {
        d->bad = true;
        return (Arg){0};
    }
    Arg a = decode_register(d, o);
    d->bad |= a.invert || a.negate || a.add;
    return a;
}

void decode_reserve(Decoder *d, u32 results, u32 args)
{
    d->c->results = (u8)results;
    d->c->args = (u8)args;
    d->c->result = arena_array(d->p->arena, Arg, results + 1);
    d->c->arg = arena_array(d->p->arena, Arg, args + 1);
}

u32 decode_members(const Operand *o, const Operand **member, u32 max)
{
    if (!operand_is_aggregate(o)) {
        member[0] = o;
        return 1;
    }
    u32 n = 0;
    const Operand *m = o + 1;
    for (u32 i = 0; i < o->id; i++, m += operand_slots(m))
        if (n < max)
            member[n++] = m;
    return o->id > max ? max + 1 : n;
}

u32 decode_results(Decoder *d, const Operand *o, u32 args)
{
    const Operand *member[2];
    u32 n = decode_members(o, member, 2);
    decode_reserve(d, 2, args);
    for (u32 i = 0; i < n && i < 2; i++)
        d->c->result[i] = decode_result(d, member[i]);
    return n;
}

/* A register of 128 bits is two slots, one declared as a vector one for each member. */
static u32 register_slots(const Decoder *d, const Operand *o)
{
    const Reg *r = fn_reg(d->f->fn, o->id);
    return type_bits(r->type) > 64 ? 2 : r->vector;
}

u32 decode_pieces(Decoder *d, const Operand *o, Arg *args, bool is_result, ElemKind kind, u32 total)
{
    const Operand *member[DECODE_PIECES];
    u32 slots = o->kind == OPND_REG && o->sub == SUB_NONE ? register_slots(d, o) : 1;
    for (u32 i = 0; slots > 1 && i < slots; i++) {
        args[i] = d->f->reg[o->id];
        args[i].index += i;
    }
    if (slots > 1)
        return slots;
    if (operand_is_aggregate(o) && o->kind != OPND_VEC)
        return 0;
    u32 n = decode_members(o, member, DECODE_PIECES);
    if (n > DECODE_PIECES || total % n)
        return 0;
    ElemType piece = {(u8)kind, (u8)(total / n), 1};
    for (u32 i = 0; i < n; i++)
        args[i] = is_result ? decode_result(d, member[i]) : decode_source(d, member[i], piece);
    return n;
}

MemSpace decode_take_space(Decoder *d)
{
    static const char *const names[] = {"global",      "shared",          "local",        "const",       "param",
                                        "shared::cta", "shared::cluster", "param::entry", "param::func", NULL};
    static const MemSpace spaces[] = {MS_GLOBAL, MS_SHARED, MS_LOCAL, MS_CONST, MS_PARAM,
                                      MS_SHARED, MS_SHARED, MS_PARAM, MS_PARAM};
    int i = op_take_any(&d->op, names);
    return i < 0 ? MS_GENERIC : spaces[i];
}

bool decode_address(Decoder *d, const Operand *o, Arg *base, i64 *offset, MemSpace *space)
{
    const Operand *member[2];
    if (o->kind != OPND_MEM || decode_members(o, member, 2) != 1)
        return false;
    Operand first = *member[0];
    if (first.kind == OPND_SYM) {
        const Sym *sym = &d->p->module->syms.v[first.id];
        bool bank = sym->space == SPACE_PARAM && d->f->fn->is_entry && is_param(d->f->fn, first.id);
        if (sym->space == SPACE_PARAM && !bank)
            *space = MS_LOCAL; /* .func parameters and those of calls lie in local memory */
        else if (*space == MS_GENERIC && sym->kind != SYM_FUNC) /* a variable's name alone names its space */
            *space = sym->space == SPACE_SHARED  ? MS_SHARED
                     : sym->space == SPACE_CONST ? MS_CONST
                     : sym->space == SPACE_LOCAL ? MS_LOCAL
                     : sym->space == SPACE_PARAM ? MS_PARAM
                                                 : MS_GLOBAL;
    } else if (*space == MS_PARAM && !d->f->fn->is_entry) {
        *space = MS_LOCAL;
    }
    *offset = 0;
    if (first.kind == OPND_REG && first.sub != SUB_OTHER) {
        *offset = first.value;
        first.value = 0;
    }
    *base = decode_source(d, &first, elem_b64);
    return true;
}
