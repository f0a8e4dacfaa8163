/* Integer and bit arithmetic. */
#include "check/exec/alu.h"

#include <string.h>

static u64 a_(const AluMode *m, u64 x) { return extend(m->type, x); }
static u32 bits_of(const AluMode *m) { return m->type.bits; }

/* Clamps a signed sum of at most 65 bits into the type. */
static u64 saturate(const AluMode *m, __int128 x)
{
    u32 bits = bits_of(m);
    bool is_signed = m->type.kind == EK_SIGNED;
    __int128 max = is_signed ? ((__int128)1 << (bits - 1)) - 1 : ((__int128)1 << bits) - 1;
    __int128 min = is_signed ? -((__int128)1 << (bits - 1)) : 0;
    return (u64)(x > max ? max : x < min ? min : x);
}

static __int128 wide_value(const AluMode *m, u64 x)
{
    return m->type.kind == EK_SIGNED ? (__int128)sign_extend(x, m->type.bits) : (__int128)(x & mask_bits(m->type.bits));
}

ALU_FN(int_add) { return m->sat ? saturate(m, wide_value(m, v[0]) + wide_value(m, v[1])) : v[0] + v[1]; }
ALU_FN(int_sub) { return m->sat ? saturate(m, wide_value(m, v[0]) - wide_value(m, v[1])) : v[0] - v[1]; }

static u64 product(const AluMode *m, u64 x, u64 y)
{
    if (!m->high)
        return a_(m, x) * a_(m, y); /* .lo, and .wide of at most 32 bits */
    if (m->type.kind == EK_SIGNED)
        return (u64)((__int128)(i64)a_(m, x) * (i64)a_(m, y) >> bits_of(m));
    return (u64)((unsigned __int128)a_(m, x) * a_(m, y) >> bits_of(m));
}
ALU_FN(int_mul) { return product(m, v[0], v[1]); }
ALU_FN(int_mad)
{
    u64 p = product(m, v[0], v[1]);
    return m->sat ? saturate(m, wide_value(m, p) + wide_value(m, v[2])) : p + v[2];
}

static u64 product24(const AluMode *m, u64 x, u64 y)
{
    i64 a = m->type.kind == EK_SIGNED ? sign_extend(x, 24) : (i64)(x & 0xffffff);
    i64 b = m->type.kind == EK_SIGNED ? sign_extend(y, 24) : (i64)(y & 0xffffff);
    return (u64)(a * b) >> (m->high ? 16 : 0);
}
ALU_FN(int_mul24) { return product24(m, v[0], v[1]); }
ALU_FN(int_mad24)
{
    u64 p = product24(m, v[0], v[1]);
    return m->sat ? saturate(m, wide_value(m, p) + wide_value(m, v[2])) : p + v[2];
}

static bool less(const AluMode *m, u64 x, u64 y)
{
    return m->type.kind == EK_SIGNED ? (i64)a_(m, x) < (i64)a_(m, y) : a_(m, x) < a_(m, y);
}
ALU_FN(int_sad) { return v[2] + (less(m, v[0], v[1]) ? a_(m, v[1]) - a_(m, v[0]) : a_(m, v[0]) - a_(m, v[1])); }

/* The quotient and the remainder by zero are unspecified in PTX; all ones is what the sequences of ptxas give for both. */
ALU_FN(int_div)
{
    u64 x = a_(m, v[0]), y = a_(m, v[1]);
    if (!y)
        return ~(u64)0;
    if (m->type.kind != EK_SIGNED)
        return x / y;
    return (i64)y == -1 ? 0 - x : (u64)((i64)x / (i64)y);
}
ALU_FN(int_rem)
{
    u64 x = a_(m, v[0]), y = a_(m, v[1]);
    if (!y)
        return ~(u64)0;
    if (m->type.kind != EK_SIGNED)
        return x % y;
    return (i64)y == -1 ? 0 : (u64)((i64)x % (i64)y);
}

ALU_FN(int_abs) { return (i64)a_(m, v[0]) < 0 ? 0 - v[0] : v[0]; }
ALU_FN(int_neg) { return 0 - v[0]; }
static u64 relu(const AluMode *m, u64 x) { return m->relu && (i64)a_(m, x) < 0 ? 0 : x; }
ALU_FN(int_min) { return relu(m, less(m, v[0], v[1]) ? v[0] : v[1]); }
ALU_FN(int_max) { return relu(m, less(m, v[0], v[1]) ? v[1] : v[0]); }

ALU_FN(bit_and) { return v[0] & v[1]; }
ALU_FN(bit_or) { return v[0] | v[1]; }
ALU_FN(bit_xor) { return v[0] ^ v[1]; }
ALU_FN(bit_not) { return ~v[0]; }
ALU_FN(bit_cnot) { return !a_(m, v[0]); }
ALU_FN(bit_mov) { return v[0]; }

ALU_FN(bit_shl) { return (u32)v[1] >= bits_of(m) ? 0 : v[0] << (u32)v[1]; }
ALU_FN(bit_shr)
{
    u32 n = (u32)v[1];
    if (m->type.kind != EK_SIGNED)
        return n >= bits_of(m) ? 0 : a_(m, v[0]) >> n;
    return (u64)((i64)a_(m, v[0]) >> (n >= bits_of(m) ? bits_of(m) - 1 : n));
}

static u32 funnel_amount(const AluMode *m, u64 x) { return m->option ? ((u32)x > 32 ? 32 : (u32)x) : (u32)x & 31; }
ALU_FN(bit_shf_left)
{
    u64 both = (v[1] & mask_bits(32)) << 32 | (v[0] & mask_bits(32));
    return (both << funnel_amount(m, v[2])) >> 32;
}
ALU_FN(bit_shf_right)
{
    u64 both = (v[1] & mask_bits(32)) << 32 | (v[0] & mask_bits(32));
    return both >> funnel_amount(m, v[2]);
}

ALU_FN(bit_lop3)
{
    u32 a = (u32)v[0], b = (u32)v[1], c = (u32)v[2], lut = (u32)v[3], r = 0;
    for (u32 i = 0; i < 8; i++)
        if (lut >> i & 1)
            r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return r;
}

enum { PRMT_GENERIC, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };

static u32 prmt_selector(u32 mode, u32 c)
{
    static const u16 f4e[] = {0x3210, 0x4321, 0x5432, 0x6543}, b4e[] = {0x5670, 0x6701, 0x7012, 0x0123};
    static const u16 rc8[] = {0x0000, 0x1111, 0x2222, 0x3333}, ecl[] = {0x3210, 0x3211, 0x3222, 0x3333};
    static const u16 ecr[] = {0x0000, 0x1110, 0x2210, 0x3210}, rc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
    static const u16 *const rows[] = {NULL, f4e, b4e, rc8, ecl, ecr, rc16};
    return mode == PRMT_GENERIC ? c : rows[mode][c & 3];
}
ALU_FN(bit_prmt)
{
    u64 both = (v[1] & mask_bits(32)) << 32 | (v[0] & mask_bits(32));
    u32 selector = prmt_selector(m->variant, (u32)v[2]), r = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 pick = selector >> (4 * i) & 15;
        u32 byte = (u32)(both >> (8 * (pick & 7))) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * i);
    }
    return r;
}

ALU_FN(bit_popc) { return (u64)__builtin_popcountll(v[0] & mask_bits(bits_of(m))); }
ALU_FN(bit_clz)
{
    u64 x = v[0] & mask_bits(bits_of(m));
    return x ? (u64)__builtin_clzll(x) - (64 - bits_of(m)) : bits_of(m);
}
ALU_FN(bit_bfind)
{
    u64 x = a_(m, v[0]);
    if (m->type.kind == EK_SIGNED && (i64)x < 0)
        x = ~x;
    if (!x)
        return mask_bits(32);
    u32 top = 63 - (u32)__builtin_clzll(x);
    return m->option ? bits_of(m) - 1 - top : top;
}
ALU_FN(bit_brev)
{
    u64 r = 0;
    for (u32 i = 0; i < bits_of(m); i++)
        r |= (v[0] >> i & 1) << (bits_of(m) - 1 - i);
    return r;
}
ALU_FN(bit_bfe)
{
    u32 pos = v[1] & 255, len = v[2] & 255, bits = bits_of(m);
    u64 x = v[0] & mask_bits(bits);
    u32 top = pos + len - 1 < bits ? pos + len - 1 : bits - 1;
    bool fill = m->type.kind == EK_SIGNED && len && x >> top & 1;
    u64 field = pos < bits ? x >> pos & mask_bits(len) : 0;
    u32 got = pos < bits ? (len < bits - pos ? len : bits - pos) : 0;
    return field | (fill ? ~mask_bits(got) : 0);
}
ALU_FN(bit_bfi)
{
    u32 pos = v[2] & 255, len = v[3] & 255;
    if (pos >= bits_of(m))
        return v[1];
    u64 field = mask_bits(len) << pos;
    return (v[1] & ~field) | (v[0] << pos & field);
}
ALU_FN(bit_fns)
{
    u32 mask = (u32)v[0], base = (u32)v[1];
    i32 offset = (i32)v[2];
    if (base > 31)
        return mask_bits(32);
    if (!offset)
        return mask >> base & 1 ? base : mask_bits(32);
    i32 step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (i32 i = (i32)base; i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && --left == 0)
            return (u64)i;
    return mask_bits(32);
}
ALU_FN(bit_szext)
{
    u32 n = (u32)v[1];
    if (!m->option)
        n &= 31;
    if (n >= 32)
        return v[0];
    if (!n)
        return 0;
    return m->type.kind == EK_SIGNED ? (u64)sign_extend(v[0], n) : v[0] & mask_bits(n);
}
ALU_FN(bit_bmsk)
{
    u32 pos = (u32)v[0], len = (u32)v[1];
    if (!m->option) {
        pos &= 31;
        len &= 31;
    }
    return pos >= 32 ? 0 : mask_bits(len > 32 ? 32 : len) << pos;
}

static i64 dot_part(bool is_signed, u64 x, u32 bits, u32 index)
{
    u64 part = x >> (bits * index) & mask_bits(bits);
    return is_signed ? sign_extend(part, bits) : (i64)part;
}
ALU_FN(int_dp4a)
{
    i64 sum = (i64)v[2];
    for (u32 i = 0; i < 4; i++)
        sum += dot_part(m->type.kind == EK_SIGNED, v[0], 8, i) * dot_part(m->source.kind == EK_SIGNED, v[1], 8, i);
    return (u64)sum;
}
ALU_FN(int_dp2a)
{
    i64 sum = (i64)v[2];
    for (u32 i = 0; i < 2; i++)
        sum += dot_part(m->type.kind == EK_SIGNED, v[0], 16, i) *
               dot_part(m->source.kind == EK_SIGNED, v[1], 8, i + (m->high ? 2 : 0));
    return (u64)sum;
}

ALU_FN(any_selp) { return v[2] & 1 ? v[0] : v[1]; }

/* Packed forms: the same function on each half. */
static u64 packed2(const AluMode *m, const u64 *v, AluFn *fn)
{
    u64 r = 0;
    for (u32 i = 0; i < 2; i++) {
        u64 part[] = {v[0] >> (16 * i) & 0xffff, v[1] >> (16 * i) & 0xffff};
        r |= (fn(m, part) & 0xffff) << (16 * i);
    }
    return r;
}
ALU_FN(int_add_x2) { return packed2(m, v, int_add); }
ALU_FN(int_min_x2) { return packed2(m, v, int_min); }
ALU_FN(int_max_x2) { return packed2(m, v, int_max); }

/* ---- picking -------------------------------------------------------------------------------------------------- */

enum { IN_U = 1, IN_S = 2, IN_B = 4, IN_P = 8, IN_X2 = 16 };
enum { W8 = 1, W16 = 2, W32 = 4, W64 = 8, W_ALL = W16 | W32 | W64 };

/* opcode; function; sources; kinds and widths of the type that it takes */
static const struct Row {
    const char *name;
    AluFn *fn, *packed;
    u8 args, kinds, widths;
} rows[] = {
    {"add", int_add, int_add_x2, 2, IN_U | IN_S | IN_X2, W_ALL},
    {"sub", int_sub, NULL, 2, IN_U | IN_S, W_ALL},
    {"mul", int_mul, NULL, 2, IN_U | IN_S, W_ALL},
    {"mad", int_mad, NULL, 3, IN_U | IN_S, W_ALL},
    {"mul24", int_mul24, NULL, 2, IN_U | IN_S, W32},
    {"mad24", int_mad24, NULL, 3, IN_U | IN_S, W32},
    {"sad", int_sad, NULL, 3, IN_U | IN_S, W_ALL},
    {"div", int_div, NULL, 2, IN_U | IN_S, W_ALL},
    {"rem", int_rem, NULL, 2, IN_U | IN_S, W_ALL},
    {"abs", int_abs, NULL, 1, IN_S, W_ALL},
    {"neg", int_neg, NULL, 1, IN_S, W_ALL},
    {"min", int_min, int_min_x2, 2, IN_U | IN_S | IN_X2, W_ALL},
    {"max", int_max, int_max_x2, 2, IN_U | IN_S | IN_X2, W_ALL},
    {"and", bit_and, NULL, 2, IN_B | IN_P, W_ALL},
    {"or", bit_or, NULL, 2, IN_B | IN_P, W_ALL},
    {"xor", bit_xor, NULL, 2, IN_B | IN_P, W_ALL},
    {"not", bit_not, NULL, 1, IN_B | IN_P, W_ALL},
    {"cnot", bit_cnot, NULL, 1, IN_B, W_ALL},
    {"shl", bit_shl, NULL, 2, IN_B, W_ALL},
    {"shr", bit_shr, NULL, 2, IN_B | IN_U | IN_S, W_ALL},
    {"lop3", bit_lop3, NULL, 4, IN_B, W32},
    {"prmt", bit_prmt, NULL, 3, IN_B, W32},
    {"popc", bit_popc, NULL, 1, IN_B, W32 | W64},
    {"clz", bit_clz, NULL, 1, IN_B, W32 | W64},
    {"bfind", bit_bfind, NULL, 1, IN_U | IN_S, W32 | W64},
    {"brev", bit_brev, NULL, 1, IN_B, W32 | W64},
    {"bfe", bit_bfe, NULL, 3, IN_U | IN_S, W32 | W64},
    {"bfi", bit_bfi, NULL, 4, IN_B, W32 | W64},
    {"fns", bit_fns, NULL, 3, IN_B, W32},
    {"szext", bit_szext, NULL, 2, IN_U | IN_S, W32},
    {"bmsk", bit_bmsk, NULL, 2, IN_B, W32},
};

static u32 kind_bit(ElemType t)
{
    u32 x2 = t.count == 2 ? IN_X2 : 0;
    switch (t.kind) {
    case EK_UNSIGNED: return IN_U | x2;
    case EK_SIGNED: return IN_S | x2;
    case EK_BITS: return IN_B;
    case EK_PRED: return IN_P;
    default: return 0;
    }
}
static u32 width_bit(u32 bits) { return bits == 8 ? W8 : bits == 16 ? W16 : bits == 32 ? W32 : bits == 64 ? W64 : 0; }

static const ElemType type_u32 = {EK_UNSIGNED, 32, 1}, type_pred = {EK_PRED, 1, 1};

/* Opcode-specific modifiers in front of the type. */
static bool take_options(Op *op, AluOp *alu)
{
    AluMode *m = &alu->mode;
    if (op_is(op, "mul") || op_is(op, "mad") || op_is(op, "mul24") || op_is(op, "mad24")) {
        m->high = op_take_next(op, "hi");
        m->wide = !m->high && op_take_next(op, "wide");
        if (!m->high && !m->wide && !op_take_next(op, "lo"))
            return false;
        m->sat = m->high && op_take_next(op, "sat");
    } else if (op_is(op, "add") || op_is(op, "sub")) {
        m->sat = op_take_next(op, "sat");
    } else if (op_is(op, "min") || op_is(op, "max")) {
        m->relu = op_take_next(op, "relu");
    } else if (op_is(op, "bfind")) {
        m->option = op_take_next(op, "shiftamt");
    } else if (op_is(op, "szext") || op_is(op, "bmsk")) {
        m->option = op_take_next(op, "clamp");
        if (!m->option && !op_take_next(op, "wrap"))
            return false;
    }
    return true;
}

static void fix_widths(Op *op, AluOp *alu)
{
    AluMode *m = &alu->mode;
    if (m->wide) {
        alu->result.bits = (u8)(2 * m->type.bits);
        if (alu->args == 3)
            alu->arg[2].bits = alu->result.bits;
    }
    if (op_is(op, "shl") || op_is(op, "shr") || op_is(op, "szext"))
        alu->arg[1] = type_u32;
    if (op_is(op, "popc") || op_is(op, "clz") || op_is(op, "bfind"))
        alu->result = type_u32;
    if (op_is(op, "bfe"))
        alu->arg[1] = alu->arg[2] = type_u32;
    if (op_is(op, "bfi"))
        alu->arg[2] = alu->arg[3] = type_u32;
}

static AluPick pick_from_rows(Op *op, AluOp *alu)
{
    const struct Row *row = NULL;
    for (u32 i = 0; i < COUNT_OF(rows) && !row; i++)
        if (op_is(op, rows[i].name))
            row = &rows[i];
    if (!row)
        return ALU_NOT_MINE;
    ElemType t;
    if (!take_options(op, alu) || !op_take_type(op, &t))
        return ALU_UNSUPPORTED;
    if (op_is(op, "prmt")) {
        static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
        alu->mode.variant = (u8)(op_take_any(op, modes) + 1);
    }
    bool widths = t.kind == EK_PRED || row->widths & width_bit(t.bits);
    if (!op_done(op) || !widths || (kind_bit(t) & ~row->kinds) || !kind_bit(t))
        return ALU_UNSUPPORTED;
    if ((alu->mode.wide && t.bits == 64) || (alu->mode.sat && !elem_is(t, EK_SIGNED, 32)) ||
        (alu->mode.relu && t.kind != EK_SIGNED))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t, t, row->args);
    alu->fn = t.count == 2 ? row->packed : row->fn;
    fix_widths(op, alu);
    return ALU_PICKED;
}

static AluPick pick_dot(Op *op, AluOp *alu)
{
    bool two = op_is(op, "dp2a");
    if (two) {
        alu->mode.high = op_take_next(op, "hi");
        if (!alu->mode.high && !op_take_next(op, "lo"))
            return ALU_UNSUPPORTED;
    }
    ElemType t[2];
    if (op_take_types(op, t, 2) != 2 || !op_done(op))
        return ALU_UNSUPPORTED;
    bool is_signed = t[0].kind == EK_SIGNED || t[1].kind == EK_SIGNED;
    alu_set_types(alu, (ElemType){is_signed ? EK_SIGNED : EK_UNSIGNED, 32, 1},
                  (ElemType){is_signed ? EK_SIGNED : EK_UNSIGNED, 32, 1}, 3);
    alu->mode.type = t[0];
    alu->mode.source = t[1];
    alu->fn = two ? int_dp2a : int_dp4a;
    return ALU_PICKED;
}

static AluPick pick_funnel(Op *op, AluOp *alu)
{
    bool left = op_take_next(op, "l");
    if (!left && !op_take_next(op, "r"))
        return ALU_UNSUPPORTED;
    alu->mode.option = op_take_next(op, "clamp");
    if ((!alu->mode.option && !op_take_next(op, "wrap")) || !op_take_next(op, "b32") || !op_done(op))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, type_u32, type_u32, 3);
    alu->fn = left ? bit_shf_left : bit_shf_right;
    return ALU_PICKED;
}

/* selp and mov: any type moves as bits. */
static AluPick pick_move(Op *op, AluOp *alu)
{
    ElemType t;
    if (!op_take_type(op, &t) || !op_done(op) || t.bits > 64 || t.bits == 8 || (t.kind == EK_PRED && op_is(op, "selp")))
        return ALU_UNSUPPORTED;
    bool select = op_is(op, "selp");
    alu_set_types(alu, t, t, select ? 3 : 1);
    if (select)
        alu->arg[2] = type_pred;
    alu->fn = select ? any_selp : bit_mov;
    return ALU_PICKED;
}

AluPick alu_pick_integer(Op *op, AluOp *alu)
{
    if (op_is(op, "dp4a") || op_is(op, "dp2a"))
        return pick_dot(op, alu);
    if (op_is(op, "shf"))
        return pick_funnel(op, alu);
    if (op_is(op, "selp") || op_is(op, "mov"))
        return pick_move(op, alu);
    return pick_from_rows(op, alu);
}
