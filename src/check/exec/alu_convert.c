/* cvt, cvt.pack, set, setp and slct: what takes one type and makes another. */
#include "check/exec/alu.h"

#include <math.h>

static double float_value(ElemType t, bool ftz, u64 bits)
{
    if (t.kind == EK_TF32)
        t = (ElemType){EK_FLOAT, 32, 1};
    double x = t.bits == 64   ? bits_to_double(bits)
               : t.bits == 32 ? bits_to_float(bits)
                              : format_to_double(format_of(t), bits);
    return ftz && t.bits == 32 ? flush_float((float)x) : x;
}

static double round_to_integer(double x, Round round)
{
    switch (round) {
    case ROUND_NEAREST_EVEN: return nearbyint(x);
    case ROUND_ZERO: return trunc(x);
    case ROUND_DOWN: return floor(x);
    case ROUND_UP: return ceil(x);
    default: return round_to_integer(x, ROUND_NEAREST_EVEN);
    }
}

/* Out of range clamps. A NaN gives 0, or only the top bit where f64 or a 64-bit result is involved. */
ALU_FN(float_to_int)
{
    double x = round_to_integer(float_value(m->source, m->ftz, v[0]), m->round);
    u32 bits = m->type.bits;
    bool is_signed = m->type.kind == EK_SIGNED;
    if (isnan(x))
        return m->source.bits == 64 || bits == 64 ? (u64)1 << (bits - 1) : 0;
    u64 max = is_signed ? mask_bits(bits - 1) : mask_bits(bits);
    if (x >= ldexp(1.0, (int)(is_signed ? bits - 1 : bits)))
        return max;
    if (!is_signed)
        return x <= 0 ? 0 : (u64)x;
    return x <= -ldexp(1.0, (int)bits - 1) ? (u64)1 << (bits - 1) : (u64)(i64)x;
}

ALU_FN(int_to_float)
{
    u64 x = extend(m->source, v[0]);
    bool negative = m->source.kind == EK_SIGNED && (i64)x < 0;
    u64 bits = format_from_integer(format_of(m->type), negative, negative ? 0 - x : x, m->round);
    if (m->sat) {
        double y = float_value(m->type, false, bits);
        return y >= 1 ? format_from_integer(format_of(m->type), false, 1, 0) : 0;
    }
    return bits;
}

ALU_FN(int_to_int)
{
    u64 x = extend(m->source, v[0]);
    if (!m->sat)
        return x;
    bool from_signed = m->source.kind == EK_SIGNED, to_signed = m->type.kind == EK_SIGNED;
    u64 max = to_signed ? mask_bits(m->type.bits - 1u) : mask_bits(m->type.bits);
    if (from_signed && (i64)x < 0) {
        i64 min = to_signed ? -(i64)max - 1 : 0;
        return (i64)x < min ? (u64)min : x;
    }
    return x > max ? max : x;
}

static u64 to_format(const AluMode *m, double x)
{
    const Format *f = format_of(m->type);
    if (m->to_integer)
        x = round_to_integer(x, m->round);
    if (m->sat)
        x = clamp_to_unit(x);
    if (m->relu && x <= 0)
        x = 0;
    if (m->type.kind == EK_TF32)
        return isnan(x) ? 0x7fffffff : format_from_double(f, x, m->round, m->option) << 13;
    u64 bits = format_from_double(f, x, m->round, m->option);
    if (m->ftz && elem_is(m->type, EK_FLOAT, 32))
        bits = float_to_bits(flush_float(bits_to_float(bits)));
    return bits;
}
/* A NaN from one of f32 and f64 to the other or to the same keeps its sign and as much as fits of the rest, and becomes a quiet one. */
static u64 nan_to_format(const AluMode *m, u64 bits)
{
    if (m->source.bits == m->type.bits)
        return bits | (u64)1 << 51;
    if (m->type.bits == 64)
        return (bits >> 31) << 63 | (u64)0x7ff8 << 48 | (bits & mask_bits(23)) << 29;
    return bits >> 63 << 31 | (u64)0x7fc << 20 | (bits >> 29 & mask_bits(23));
}
ALU_FN(float_to_float)
{
    bool from_double = m->source.bits == 64, to_double = m->type.bits == 64;
    if (from_double && to_double && !m->sat && !m->to_integer)
        return v[0];
    double x = float_value(m->source, m->ftz, v[0]);
    bool are_wide = (from_double || elem_is(m->source, EK_FLOAT, 32)) && (to_double || elem_is(m->type, EK_FLOAT, 32));
    if (are_wide && (from_double || to_double) && isnan(x) && !m->sat)
        return nan_to_format(m, v[0]);
    return to_format(m, x);
}

/* Two floats into a pair: the first source is the upper element. */
ALU_FN(floats_to_pair)
{
    AluMode one = *m;
    one.type.count = 1;
    u64 high = to_format(&one, float_value(m->source, m->ftz, v[0]));
    u64 low = to_format(&one, float_value(m->source, m->ftz, v[1]));
    return high << m->type.bits | low;
}
/* A pair into a pair (f16x2 <-> fp8x2). */
ALU_FN(pair_to_pair)
{
    AluMode one = *m;
    ElemType source = m->source;
    one.type.count = source.count = 1;
    u64 r = 0;
    for (u32 i = 0; i < 2; i++) {
        u64 part = v[0] >> (i * source.bits) & mask_bits(source.bits);
        r |= to_format(&one, float_value(source, false, part)) << (i * m->type.bits);
    }
    return r;
}

ALU_FN(set_value)
{
    bool holds = alu_compare(m->compare, m->source, m->ftz, v[0], v[1]);
    if (m->combine)
        holds = alu_combine(m->combine, holds, v[2] & 1);
    if (elem_is_float(m->type))
        return holds ? format_from_integer(format_of(m->type), false, 1, ROUND_NEAREST_EVEN) : 0;
    return holds ? ~(u64)0 : 0;
}

ALU_FN(setp_value) { return alu_compare(m->compare, m->source, m->ftz, v[0], v[1]); }

ALU_FN(slct_value)
{
    bool first = elem_is_float(m->source) ? float_value(m->source, m->ftz, v[2]) >= 0 : sign_extend(v[2], 32) >= 0;
    return first ? v[0] : v[1];
}

/* cvt.pack.sat.dtype.atype d, a, b: (a, b) saturated, b in the lower half; with .b32, the rest comes from c. */
ALU_FN(pack_pair)
{
    AluMode one = *m;
    u32 bits = m->type.bits;
    u64 pair = (int_to_int(&one, v) & mask_bits(bits)) << bits | (int_to_int(&one, v + 1) & mask_bits(bits));
    return m->option ? pair | v[2] << (2 * bits) : pair;
}

/* ---- picking -------------------------------------------------------------------------------------------------- */

static bool is_integer(ElemType t) { return (t.kind == EK_UNSIGNED || t.kind == EK_SIGNED) && t.count == 1; }
static bool is_plain_float(ElemType t) { return elem_is_float(t) && t.count == 1 && t.bits >= 16 && t.kind != EK_TF32; }

static AluPick pick_float_to_float(AluOp *alu, ElemType to, ElemType from, bool rounded)
{
    const AluMode *m = &alu->mode;
    alu_set_types(alu, to, from, 1);
    if (elem_is(from, EK_FLOAT, 32) && to.count == 2 && rounded && !m->to_integer && m->round <= ROUND_ZERO) {
        alu->args = 2;
        alu->arg[1] = from;
        alu->fn = floats_to_pair;
        /* fp8 is only made saturating */
        return to.bits == 16 || (m->option && m->round == ROUND_NEAREST_EVEN) ? ALU_PICKED : ALU_UNSUPPORTED;
    }
    if (to.count == 2 && from.count == 2) {
        alu->fn = pair_to_pair;
        bool fp8 =
            (to.bits == 8 && from.bits == 16 && m->option) || (to.bits == 16 && to.kind == EK_FLOAT && from.bits == 8);
        return fp8 && rounded && m->round == ROUND_NEAREST_EVEN ? ALU_PICKED : ALU_UNSUPPORTED;
    }
    alu->fn = float_to_float;
    if (to.kind == EK_TF32)
        return elem_is(from, EK_FLOAT, 32) && rounded && !m->to_integer ? ALU_PICKED : ALU_UNSUPPORTED;
    if (!is_plain_float(to) || !is_plain_float(from) || m->round == ROUND_NEAREST_AWAY)
        return ALU_UNSUPPORTED;
    if (to.bits < from.bits && (!rounded || m->to_integer))
        return ALU_UNSUPPORTED;
    return ALU_PICKED;
}

static AluPick pick_cvt(Op *op, AluOp *alu)
{
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", NULL};
    AluMode *m = &alu->mode;
    int round = op_take_any(op, rounds);
    m->to_integer = round > 4;
    m->round = (u8)(round < 0 ? 0 : round > 4 ? round - 5 : round);
    m->ftz = op_take(op, "ftz");
    m->relu = op_take(op, "relu");
    m->sat = op_take(op, "sat");
    m->option = op_take(op, "satfinite");
    ElemType t[2];
    if (op_take_types(op, t, 2) != 2 || !op_done(op))
        return ALU_UNSUPPORTED;
    ElemType to = t[0], from = t[1];
    if (elem_is_float(to) && elem_is_float(from))
        return pick_float_to_float(alu, to, from, round >= 0);
    if (m->relu || m->option)
        return ALU_UNSUPPORTED;
    alu_set_types(alu, to, from, 1);
    if (is_integer(to) && is_integer(from) && round < 0)
        alu->fn = int_to_int;
    else if (is_integer(to) && is_plain_float(from) && m->to_integer)
        alu->fn = float_to_int;
    else if (is_plain_float(to) && is_integer(from) && round >= 0 && !m->to_integer && m->round != ROUND_NEAREST_AWAY)
        alu->fn = int_to_float;
    else
        return ALU_UNSUPPORTED;
    return ALU_PICKED;
}

static AluPick pick_pack(Op *op, AluOp *alu)
{
    ElemType t[3];
    if (!op_take_next(op, "pack") || !op_take_next(op, "sat"))
        return ALU_UNSUPPORTED;
    u32 n = op_take_types(op, t, 3);
    if (n < 2 || !op_done(op) || !elem_is(t[1], EK_SIGNED, 32) || !is_integer(t[0]) || t[0].bits > 16)
        return ALU_UNSUPPORTED;
    if ((n == 3) != (t[0].bits < 16))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t[0], t[1], n);
    alu->mode.sat = true;
    alu->mode.option = n == 3;
    alu->result = (ElemType){EK_BITS, 32, 1};
    alu->fn = pack_pair;
    return ALU_PICKED;
}

/* Whether there is such a comparison of values of the type. */
static bool is_compared(ElemType t, u8 cmp)
{
    if (elem_is_float(t))
        return is_plain_float(t) && cmp < CC_LO;
    return t.count == 1 && t.bits >= 8 && t.bits <= 64 && (cmp <= CC_GE || cmp >= CC_LO);
}

static AluPick pick_set(Op *op, AluOp *alu)
{
    ElemType t[2];
    if (!alu_take_compare(op, &alu->mode) || op_take_types(op, t, 2) != 2 || !op_done(op))
        return ALU_UNSUPPORTED;
    bool to = elem_is(t[0], EK_UNSIGNED, 32) || elem_is(t[0], EK_SIGNED, 32) || elem_is(t[0], EK_FLOAT, 32);
    if (!to || t[1].bits < 16 || !is_compared(t[1], alu->mode.compare))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t[0], t[1], 2);
    if (alu->mode.combine)
        alu->arg[alu->args++] = (ElemType){EK_PRED, 1, 1};
    alu->fn = set_value;
    return ALU_PICKED;
}

static AluPick pick_setp(Op *op, AluOp *alu)
{
    ElemType t;
    if (!alu_take_compare(op, &alu->mode) || !op_take_type(op, &t) || !op_done(op) || !is_compared(t, alu->mode.compare))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, (ElemType){EK_PRED, 1, 1}, t, 2);
    alu->fn = setp_value;
    return ALU_PICKED;
}

static AluPick pick_slct(Op *op, AluOp *alu)
{
    ElemType t[2];
    alu->mode.ftz = op_take(op, "ftz");
    if (op_take_types(op, t, 2) != 2 || !op_done(op) ||
        !(elem_is(t[1], EK_FLOAT, 32) || (elem_is(t[1], EK_SIGNED, 32) && !alu->mode.ftz)))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t[0], t[0], 3);
    alu->mode.source = alu->arg[2] = t[1];
    alu->fn = slct_value;
    return ALU_PICKED;
}

static AluPick pick_convert(Op *op, AluOp *alu)
{
    if (op_is(op, "setp"))
        return pick_setp(op, alu);
    if (op_is(op, "slct"))
        return pick_slct(op, alu);
    if (op_is(op, "set"))
        return pick_set(op, alu);
    if (!op_is(op, "cvt"))
        return ALU_NOT_MINE;
    bool pack = op->parts && str_is(op->part[0], "pack");
    return pack ? pick_pack(op, alu) : pick_cvt(op, alu);
}

AluPick alu_pick(Op *op, AluOp *alu)
{
    static AluPick (*const pickers[])(Op *, AluOp *) = {alu_pick_integer, alu_pick_float, pick_convert};
    AluPick answer = ALU_NOT_MINE;
    for (u32 i = 0; i < COUNT_OF(pickers); i++) {
        Op copy = *op;
        *alu = (AluOp){0};
        AluPick one = pickers[i](&copy, alu);
        if (one == ALU_PICKED) {
            *op = copy;
            return one;
        }
        if (one == ALU_UNSUPPORTED)
            answer = one;
    }
    return answer;
}
