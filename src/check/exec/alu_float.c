/* f32 and f64 arithmetic by that of the host, which is IEEE. Other rounding modes are done in software, or through <fenv.h>
 * if the operation cannot be made exact in a double. f16 and bf16 are computed exactly in a double, and rounded once. */
#include "check/exec/alu.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

float flush_float(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }
static float canonical_float(float x) { return isnan(x) ? bits_to_float(0x7fffffff) : x; }

/* A NaN operand comes through, quieted; an invalid operation makes the default NaN. */
static double canonical_double(double x, double a, double b)
{
    if (!isnan(x))
        return x;
    const u64 quiet = (u64)1 << 51;
    if (isnan(a))
        return bits_to_double(double_to_bits(a) | quiet);
    if (isnan(b))
        return bits_to_double(double_to_bits(b) | quiet);
    return bits_to_double(0xfff8000000000000);
}

static float in_f(const AluMode *m, u64 bits)
{
    float x = bits_to_float(bits);
    return m->ftz ? flush_float(x) : x;
}
static u64 out_f(const AluMode *m, float x)
{
    if (m->sat)
        x = (float)clamp_to_unit(x);
    if (m->relu && x < 0)
        x = 0;
    if (m->ftz)
        x = flush_float(x);
    return float_to_bits(canonical_float(x));
}
static u64 out_d(const AluMode *m, double x, double a, double b)
{
    if (m->sat)
        x = clamp_to_unit(x);
    return double_to_bits(canonical_double(x, a, b));
}

static const int host_round[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* Evaluates `expression` under the mode's rounding; operands must be volatile so that it stays where it stands. */
#define ROUNDED(m, result, expression)          \
    do {                                        \
        if ((m)->round)                         \
            fesetround(host_round[(m)->round]); \
        result = (expression);                  \
        if ((m)->round)                         \
            fesetround(FE_TONEAREST);           \
    } while (0)

#define F32_OP1(name, expression)            \
    ALU_FN(name)                             \
    {                                        \
        volatile float x = in_f(m, v[0]), r; \
        ROUNDED(m, r, expression);           \
        return out_f(m, r);                  \
    }
#define F64_OP1(name, expression)                    \
    ALU_FN(name)                                     \
    {                                                \
        volatile double x = bits_to_double(v[0]), r; \
        ROUNDED(m, r, expression);                   \
        return out_d(m, r, x, x);                    \
    }
#define F32_OP2(name, expression)                               \
    ALU_FN(name)                                                \
    {                                                           \
        volatile float x = in_f(m, v[0]), y = in_f(m, v[1]), r; \
        ROUNDED(m, r, expression);                              \
        return out_f(m, r);                                     \
    }
#define F64_OP2(name, expression)                                              \
    ALU_FN(name)                                                               \
    {                                                                          \
        volatile double x = bits_to_double(v[0]), y = bits_to_double(v[1]), r; \
        ROUNDED(m, r, expression);                                             \
        return out_d(m, r, x, y);                                              \
    }
F32_OP2(f32_add, x + y)
F32_OP2(f32_sub, x - y)
F32_OP2(f32_mul, x *y)
F32_OP2(f32_div, x / y)
F64_OP2(f64_add, x + y)
F64_OP2(f64_sub, x - y)
F64_OP2(f64_mul, x *y)
F64_OP2(f64_div, x / y)

ALU_FN(f32_fma)
{
    volatile float x = in_f(m, v[0]), y = in_f(m, v[1]), z = in_f(m, v[2]), r;
    ROUNDED(m, r, fmaf(x, y, z));
    return out_f(m, r);
}
ALU_FN(f64_fma)
{
    volatile double x = bits_to_double(v[0]), y = bits_to_double(v[1]), z = bits_to_double(v[2]), r;
    ROUNDED(m, r, fma(x, y, z));
    return out_d(m, isnan(r) && isnan(z) && !isnan(x) && !isnan(y) ? z : r, x, isnan(y) ? y : z);
}
F32_OP1(f32_sqrt, sqrtf(x))
F64_OP1(f64_sqrt, sqrt(x))
F32_OP1(f32_rcp, 1.0f / x)
F64_OP1(f64_rcp, 1.0 / x)

/* Approximations: a double's function, rounded. Which bits come out is the hardware's business; that they are the same
 * before and after is ours. The f64 forms keep the upper half, as the hardware's do. */
#define F32_APPROX(name, expression)          \
    ALU_FN(name)                              \
    {                                         \
        double x = in_f(m, v[0]);             \
        return out_f(m, (float)(expression)); \
    }
F32_APPROX(f32_rsqrt, 1.0 / sqrt(x))
F32_APPROX(f32_sin, isinf(x) ? NAN : sin(x))
F32_APPROX(f32_cos, isinf(x) ? NAN : cos(x))
F32_APPROX(f32_lg2, log2(x))
F32_APPROX(f32_ex2, exp2(x))
F32_APPROX(f32_tanh, tanh(x))
static u64 upper_half(double x) { return double_to_bits(isnan(x) ? (double)NAN : x) & ~mask_bits(32); }
static double flush_double(double x) { return fabs(x) < DBL_MIN ? copysign(0, x) : x; }
ALU_FN(f64_rcp_approx) { return upper_half(flush_double(1.0 / flush_double(bits_to_double(v[0])))); }
ALU_FN(f64_rsqrt) { return double_to_bits(1.0 / sqrt(bits_to_double(v[0]))); }
ALU_FN(f64_rsqrt_approx) { return upper_half(flush_double(1.0 / sqrt(flush_double(bits_to_double(v[0]))))); }

/* An H100 adds zero: a NaN becomes the canonical one of f32, and in f64 a quiet one with its sign. */
static u64 f32_or_nan(float x) { return isnan(x) ? 0x7fffffff : float_to_bits(x); }
static u64 f64_or_nan(u64 bits, u64 nan) { return isnan(bits_to_double(nan)) ? nan | (u64)1 << 51 : bits; }
ALU_FN(f32_abs) { return f32_or_nan(fabsf(in_f(m, v[0]))); }
ALU_FN(f32_neg) { return f32_or_nan(-in_f(m, v[0])); }
ALU_FN(f64_abs) { return f64_or_nan(v[0] & mask_bits(63), v[0]); }
ALU_FN(f64_neg) { return f64_or_nan(v[0] ^ (u64)1 << 63, v[0]); }
ALU_FN(f32_copysign) { return (v[0] & (u64)1 << 31) | (v[1] & mask_bits(31)); }
ALU_FN(f64_copysign) { return (v[0] & (u64)1 << 63) | (v[1] & mask_bits(63)); }

/* min and max of two. A NaN gives the other operand, or under .NaN a NaN; -0 is below +0. .xorsign takes magnitudes and
 * the exclusive or of the signs. Answers 0 or 1 for the operand, 2 for NaN. */
static u32 choose(const AluMode *m, bool want_max, double x, double y)
{
    if (isnan(x) || isnan(y)) {
        if (m->nan || (isnan(x) && isnan(y)))
            return 2;
        return isnan(x) ? 1 : 0;
    }
    bool x_less = x < y || (x == y && signbit(x) && !signbit(y));
    return x_less == want_max ? 1 : 0;
}
static u64 f32_choose(const AluMode *m, const u64 *v, bool want_max)
{
    float x = in_f(m, v[0]), y = in_f(m, v[1]);
    bool negative = m->xorsign && (signbit(x) != 0) != (signbit(y) != 0);
    if (m->abs) {
        x = fabsf(x);
        y = fabsf(y);
    }
    u32 pick = choose(m, want_max, x, y);
    float r = pick == 2 ? NAN : pick ? y : x;
    return out_f(m, m->xorsign && negative ? -r : r);
}
ALU_FN(f32_min) { return f32_choose(m, v, false); }
ALU_FN(f32_max) { return f32_choose(m, v, true); }
static u64 f64_choose(const AluMode *m, const u64 *v, bool want_max)
{
    double x = bits_to_double(v[0]), y = bits_to_double(v[1]);
    u32 pick = choose(m, want_max, x, y);
    return pick == 2 ? double_to_bits(canonical_double(NAN, x, y)) : v[pick];
}
ALU_FN(f64_min) { return f64_choose(m, v, false); }
ALU_FN(f64_max) { return f64_choose(m, v, true); }

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL };
static bool has_property(u32 property, int class)
{
    switch (property) {
    case TEST_FINITE: return class == FP_NORMAL || class == FP_SUBNORMAL || class == FP_ZERO;
    case TEST_INFINITE: return class == FP_INFINITE;
    case TEST_NUMBER: return class != FP_NAN;
    case TEST_NAN: return class == FP_NAN;
    case TEST_NORMAL: return class == FP_NORMAL;
    default: return class == FP_SUBNORMAL;
    }
}
ALU_FN(f32_testp) { return has_property(m->variant, fpclassify(bits_to_float(v[0]))); }
ALU_FN(f64_testp) { return has_property(m->variant, fpclassify(bits_to_double(v[0]))); }

/* ---- comparisons ---------------------------------------------------------------------------------------------- */

static double compare_value(ElemType type, bool ftz, u64 bits)
{
    const Format *f = format_of(type);
    double x = type.bits == 64 ? bits_to_double(bits) : type.bits == 32 ? bits_to_float(bits) : format_to_double(f, bits);
    double least = type.bits == 64 ? 0 : type.bits == 32 || type.kind == EK_BF16 ? FLT_MIN : 0x1p-14;
    return ftz && fabs(x) < least ? 0 : x;
}

static bool compare_floats(Compare cmp, double x, double y)
{
    bool unordered = isnan(x) || isnan(y);
    switch (cmp) {
    case CC_EQ: return x == y;
    case CC_NE: return !unordered && x != y;
    case CC_LT: return x < y;
    case CC_LE: return x <= y;
    case CC_GT: return x > y;
    case CC_GE: return x >= y;
    case CC_EQU: return unordered || x == y;
    case CC_NEU: return x != y;
    case CC_LTU: return unordered || x < y;
    case CC_LEU: return unordered || x <= y;
    case CC_GTU: return unordered || x > y;
    case CC_GEU: return unordered || x >= y;
    case CC_NUM: return !unordered;
    default: return unordered;
    }
}

bool alu_compare(Compare cmp, ElemType type, bool ftz, u64 a, u64 b)
{
    if (elem_is_float(type))
        return compare_floats(cmp, compare_value(type, ftz, a), compare_value(type, ftz, b));
    bool is_unsigned = cmp >= CC_LO;
    if (is_unsigned) {
        type.kind = EK_UNSIGNED;
        cmp = cmp == CC_LO ? CC_LT : cmp == CC_LS ? CC_LE : cmp == CC_HI ? CC_GT : CC_GE;
    }
    u64 x = extend(type, a), y = extend(type, b);
    bool less = type.kind == EK_SIGNED ? (i64)x < (i64)y : x < y;
    switch (cmp) {
    case CC_EQ: return x == y;
    case CC_NE: return x != y;
    case CC_LT: return less;
    case CC_LE: return less || x == y;
    case CC_GT: return !less && x != y;
    default: return !less;
    }
}

bool alu_combine(Combine how, bool a, bool b)
{
    return how == COMBINE_AND ? a && b : how == COMBINE_OR ? a || b : how == COMBINE_XOR ? a != b : a;
}

bool alu_take_compare(Op *op, AluMode *mode)
{
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt", "ge", "equ", "neu", "ltu", "leu",
                                        "gtu", "geu", "num", "nan", "lo", "ls", "hi",  "hs",  NULL};
    static const char *const combines[] = {"and", "or", "xor", NULL};
    int cmp = op_take_any(op, names);
    if (cmp < 0)
        return false;
    mode->compare = (u8)cmp;
    mode->combine = (u8)(op_take_any(op, combines) + 1);
    mode->ftz = op_take(op, "ftz");
    return true;
}

/* ---- f16 and bf16, packed or not ------------------------------------------------------------------------------ */

static double in_h(const AluMode *m, u64 bits) { return compare_value((ElemType){m->type.kind, 16, 1}, m->ftz, bits); }

static u64 finish_h(const AluMode *m, u64 bits)
{
    const Format *f = format_of((ElemType){m->type.kind, 16, 1});
    bool negative = bits >> 15 & 1, nan = format_is_nan(f, bits);
    u64 one = m->type.kind == EK_BF16 ? 0x3f80 : 0x3c00;
    if (m->sat)
        bits = nan || negative ? 0 : bits > one ? one : bits;
    if (m->relu && negative && !nan)
        bits = 0;
    if (m->ftz && !(bits & mask_bits(f->exponent) << f->mantissa))
        bits &= 0x8000;
    return format_is_nan(f, bits) ? f->nan : bits;
}

typedef enum HalfOp {
    HALF_ADD,
    HALF_SUB,
    HALF_MUL,
    HALF_FMA,
    HALF_MIN,
    HALF_MAX,
    HALF_ABS,
    HALF_NEG,
    HALF_EX2,
    HALF_TANH,
} HalfOp;

static u64 half_choose(const AluMode *m, const u64 *v, double x, double y, bool want_max)
{
    const Format *f = format_of((ElemType){m->type.kind, 16, 1});
    u64 a = v[0] & 0xffff, b = v[1] & 0xffff;
    bool negative = m->xorsign && ((a ^ b) & 0x8000);
    if (m->abs) {
        a &= 0x7fff;
        b &= 0x7fff;
        x = fabs(x);
        y = fabs(y);
    }
    u32 pick = choose(m, want_max, x, y);
    u64 r = pick == 2 ? f->nan : pick ? b : a;
    return negative && pick != 2 ? r ^ 0x8000 : r;
}

static u64 half_one(const AluMode *m, const u64 *v)
{
    const Format *f = format_of((ElemType){m->type.kind, 16, 1});
    double x = in_h(m, v[0]), y = in_h(m, v[1]);
    switch ((HalfOp)m->variant) {
    case HALF_ADD: return finish_h(m, format_fma(f, 1.0, x, y, ROUND_NEAREST_EVEN));
    case HALF_SUB: return finish_h(m, format_fma(f, 1.0, x, -y, ROUND_NEAREST_EVEN));
    case HALF_MUL: return finish_h(m, format_from_double(f, x * y, ROUND_NEAREST_EVEN, false));
    case HALF_FMA: return finish_h(m, format_fma(f, x, y, in_h(m, v[2]), ROUND_NEAREST_EVEN));
    case HALF_MIN: return finish_h(m, half_choose(m, v, x, y, false));
    case HALF_MAX: return finish_h(m, half_choose(m, v, x, y, true));
    case HALF_ABS: return finish_h(m, v[0] & 0x7fff);
    case HALF_NEG: return finish_h(m, (v[0] ^ 0x8000) & 0xffff);
    case HALF_EX2: return finish_h(m, format_from_double(f, exp2(x), ROUND_NEAREST_EVEN, false));
    default: return finish_h(m, format_from_double(f, tanh(x), ROUND_NEAREST_EVEN, false));
    }
}

ALU_FN(half_op)
{
    u64 r = 0;
    for (u32 i = 0; i < m->type.count; i++) {
        u64 part[3];
        for (u32 k = 0; k < 3; k++)
            part[k] = v[k] >> (16 * i) & 0xffff;
        r |= half_one(m, part) << (16 * i);
    }
    return r;
}

/* ---- picking -------------------------------------------------------------------------------------------------- */

/* Modifiers that may stand before the type. */
enum { NO_HALF = -1 };
enum { OPT_ROUND = 1, OPT_NEEDS_ROUND = 2, OPT_APPROX = 4, OPT_FULL = 8, OPT_SAT = 16, OPT_NAN = 32, OPT_RELU = 64 };

static const struct Row {
    const char *name;
    AluFn *f32, *f64;
    int half; /* HalfOp, or NO_HALF */
    u8 args, options;
} rows[] = {
    {"add", f32_add, f64_add, HALF_ADD, 2, OPT_ROUND | OPT_SAT},
    {"sub", f32_sub, f64_sub, HALF_SUB, 2, OPT_ROUND | OPT_SAT},
    {"mul", f32_mul, f64_mul, HALF_MUL, 2, OPT_ROUND | OPT_SAT},
    {"fma", f32_fma, f64_fma, HALF_FMA, 3, OPT_ROUND | OPT_NEEDS_ROUND | OPT_SAT | OPT_RELU},
    {"mad", f32_fma, f64_fma, NO_HALF, 3, OPT_ROUND | OPT_SAT},
    {"div", f32_div, f64_div, NO_HALF, 2, OPT_ROUND | OPT_APPROX | OPT_FULL},
    {"sqrt", f32_sqrt, f64_sqrt, NO_HALF, 1, OPT_ROUND | OPT_APPROX},
    {"rcp", f32_rcp, f64_rcp, NO_HALF, 1, OPT_ROUND | OPT_APPROX},
    {"rsqrt", f32_rsqrt, NULL, NO_HALF, 1, OPT_APPROX},
    {"sin", f32_sin, NULL, NO_HALF, 1, OPT_APPROX},
    {"cos", f32_cos, NULL, NO_HALF, 1, OPT_APPROX},
    {"lg2", f32_lg2, NULL, NO_HALF, 1, OPT_APPROX},
    {"ex2", f32_ex2, NULL, HALF_EX2, 1, OPT_APPROX},
    {"tanh", f32_tanh, NULL, HALF_TANH, 1, OPT_APPROX},
    {"min", f32_min, f64_min, HALF_MIN, 2, OPT_NAN},
    {"max", f32_max, f64_max, HALF_MAX, 2, OPT_NAN},
    {"abs", f32_abs, f64_abs, HALF_ABS, 1, 0},
    {"neg", f32_neg, f64_neg, HALF_NEG, 1, 0},
    {"copysign", f32_copysign, f64_copysign, NO_HALF, 2, 0},
};

static const ElemType type_pred = {EK_PRED, 1, 1};

/* Takes the modifiers; false when one that is needed is missing. */
static bool take_options(Op *op, AluMode *m, u32 allowed)
{
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", NULL};
    if (allowed & (OPT_ROUND | OPT_APPROX)) {
        int round = allowed & OPT_ROUND ? op_take_any(op, rounds) : -1;
        m->round = (u8)(round < 0 ? 0 : round);
        m->option =
            round < 0 && ((allowed & OPT_APPROX && op_take(op, "approx")) || (allowed & OPT_FULL && op_take(op, "full")));
        if (round < 0 && !m->option && (allowed & (OPT_APPROX | OPT_NEEDS_ROUND)))
            return false;
    }
    m->ftz = op_take(op, "ftz");
    if (allowed & OPT_SAT)
        m->sat = op_take(op, "sat");
    if (allowed & OPT_RELU)
        m->relu = op_take(op, "relu");
    if (allowed & OPT_NAN) {
        m->nan = op_take(op, "NaN");
        m->xorsign = op_take(op, "xorsign");
        m->abs = op_take(op, "abs");
    }
    return true;
}

static AluPick pick_f64(const Op *op, AluOp *alu, AluFn *fn)
{
    AluMode *m = &alu->mode;
    if (m->option && m->ftz && op_is(op, "rcp"))
        fn = f64_rcp_approx;
    else if (m->option && m->ftz && op_is(op, "rsqrt"))
        fn = f64_rsqrt_approx;
    else if (m->option && op_is(op, "rsqrt"))
        fn = f64_rsqrt;
    else if (m->option || m->ftz || m->sat || m->relu || m->nan || m->xorsign || m->abs)
        return ALU_UNSUPPORTED;
    alu->fn = fn;
    return fn ? ALU_PICKED : ALU_UNSUPPORTED;
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
    AluMode *m = &alu->mode;
    if (!take_options(op, m, row->options) || !op_take_type(op, &t) || !op_done(op) || !elem_is_float(t))
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t, t, row->args);
    if (elem_is(t, EK_FLOAT, 64))
        return pick_f64(op, alu, row->f64);
    if (elem_is(t, EK_FLOAT, 32)) {
        alu->fn = row->f32;
        return m->relu ? ALU_UNSUPPORTED : ALU_PICKED;
    }
    if (t.bits != 16 || row->half == NO_HALF || m->round)
        return ALU_UNSUPPORTED;
    m->variant = (u8)row->half;
    alu->fn = half_op;
    return ALU_PICKED;
}

static AluPick pick_testp(Op *op, AluOp *alu)
{
    static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    int property = op_take_any(op, names);
    ElemType t;
    if (property < 0 || !op_take_type(op, &t) || !op_done(op) || t.kind != EK_FLOAT || t.bits < 32 || t.count != 1)
        return ALU_UNSUPPORTED;
    alu_set_types(alu, t, t, 1);
    alu->mode.variant = (u8)property;
    alu->result = type_pred;
    alu->fn = t.bits == 32 ? f32_testp : f64_testp;
    return ALU_PICKED;
}

AluPick alu_pick_float(Op *op, AluOp *alu)
{
    if (op_is(op, "testp"))
        return pick_testp(op, alu);
    return pick_from_rows(op, alu);
}
