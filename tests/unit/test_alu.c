/* The interpreter's arithmetic against the host's, and against corner cases of the PTX manual known by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <fenv.h>
#include <float.h>
#include <math.h>

#include "check/exec/alu.h"

/* The result's bits for an opcode and up to four sources. */
static u64 run(const char *opcode, u64 a, u64 b, u64 c, u64 d)
{
    Op op;
    AluOp alu;
    u64 v[ALU_ARGS] = {a, b, c, d};
    assert_true(op_split(&op, opcode));
    if (alu_pick(&op, &alu) != ALU_PICKED)
        fail_msg("%s is not known", opcode);
    return alu.fn(&alu.mode, v) & mask_bits(elem_total_bits(alu.result));
}

typedef struct Row {
    const char *opcode;
    u64 source[4], result;
} Row;

static void check_rows(const Row *rows, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        const u64 *s = rows[i].source;
        u64 got = run(rows[i].opcode, s[0], s[1], s[2], s[3]);
        if (got != rows[i].result)
            fail_msg("%s 0x%llx 0x%llx 0x%llx 0x%llx: 0x%llx, not 0x%llx", rows[i].opcode, (unsigned long long)s[0],
                     (unsigned long long)s[1], (unsigned long long)s[2], (unsigned long long)s[3], (unsigned long long)got,
                     (unsigned long long)rows[i].result);
    }
}

static void integers(void **state)
{
    (void)state;
    static const Row known[] = {
        {"add.s32", {0x7fffffff, 1}, 0x80000000},
        {"add.sat.s32", {0x7fffffff, 1}, 0x7fffffff},
        {"sub.sat.s32", {0x80000000, 1}, 0x80000000},
        {"add.u16", {0xffff, 2}, 1},
        {"add.s64", {~0ull, 1}, 0},
        {"add.u16x2", {0xffff0001, 0x00010001}, 0x00000002},
        {"min.s16x2", {0xffff0005, 0x00010003}, 0xffff0003},
        {"mul.lo.s32", {0x10001, 0x10001}, 0x20001},
        {"mul.hi.u32", {0xffffffff, 0xffffffff}, 0xfffffffe},
        {"mul.hi.s32", {0xffffffff, 0xffffffff}, 0},
        {"mul.hi.s64", {1ull << 63, 1ull << 63}, 1ull << 62},
        {"mul.hi.u64", {~0ull, ~0ull}, ~0ull - 1},
        {"mul.hi.s16", {0x8000, 0x8000}, 0x4000},
        {"mul.wide.s16", {0xffff, 3}, 0xfffffffd},
        {"mul.wide.s32", {0xffffffff, 4}, 0xfffffffffffffffc},
        {"mul.wide.u32", {0xffffffff, 4}, 0x3fffffffc},
        {"mad.lo.u32", {7, 6, 0xffffffff}, 41},
        {"mad.hi.sat.s32", {0x7fffffff, 0x7fffffff, 0x7fffffff}, 0x7fffffff},
        {"mad.wide.s32", {0xffffffff, 1, 1}, 0},
        {"mad.wide.u16", {0xffff, 0xffff, 1}, 0xfffe0002},
        {"mul24.lo.u32", {0xff000002, 3}, 6},
        {"mul24.hi.s32", {0x00800000, 0x00800000}, 0x40000000},
        {"sad.u32", {3, 10, 100}, 107},
        {"sad.s32", {0xffffffff, 1, 0}, 2},
        {"div.s32", {0xfffffff9, 2}, 0xfffffffd},
        {"rem.s32", {0xfffffff9, 2}, 0xffffffff},
        {"div.s32", {0x80000000, 0xffffffff}, 0x80000000},
        {"rem.s32", {0x80000000, 0xffffffff}, 0},
        {"div.s64", {1ull << 63, ~0ull}, 1ull << 63},
        {"div.u32", {0xfffffff9, 2}, 0x7ffffffc},
        {"div.u16", {7, 0}, 0xffff},
        {"rem.u32", {7, 0}, 0xffffffff},
        {"abs.s32", {0x80000000}, 0x80000000},
        {"abs.s16", {0xfffb}, 5},
        {"neg.s64", {5}, 0xfffffffffffffffb},
        {"min.s32", {0xffffffff, 1}, 0xffffffff},
        {"min.u32", {0xffffffff, 1}, 1},
        {"max.s16", {0x8000, 1}, 1},
        {"max.relu.s32", {0xffffffff, 0xfffffffe}, 0},
    };
    check_rows(known, COUNT_OF(known));
}

static void bits(void **state)
{
    (void)state;
    static const Row known[] = {
        {"shl.b32", {1, 31}, 0x80000000},
        {"shl.b32", {1, 32}, 0},
        {"shl.b32", {1, 0xffffffff}, 0},
        {"shl.b16", {1, 16}, 0},
        {"shl.b64", {1, 63}, 1ull << 63},
        {"shr.u32", {0x80000000, 32}, 0},
        {"shr.s32", {0x80000000, 32}, 0xffffffff},
        {"shr.s32", {0x80000000, 31}, 0xffffffff},
        {"shr.s16", {0x8000, 99}, 0xffff},
        {"shr.b64", {1ull << 63, 63}, 1},
        {"shr.u16", {0xffffffff, 4}, 0xfff},
        {"shf.l.wrap.b32", {0x80000001, 0x2, 33}, 5},
        {"shf.l.clamp.b32", {0x80000001, 0x2, 33}, 0x80000001},
        {"shf.r.wrap.b32", {0x80000000, 0x3, 31}, 0x7},
        {"shf.r.clamp.b32", {0x80000000, 0x3, 40}, 3},
        {"not.b16", {0x00ff}, 0xff00},
        {"cnot.b32", {0}, 1},
        {"cnot.b32", {7}, 0},
        {"lop3.b32", {0xf0, 0xcc, 0xaa, 0x96}, 0x96},
        {"lop3.b32", {0xffff0000, 0xff00ff00, 0xf0f0f0f0, 0xe8}, 0xfff0f000},
        {"prmt.b32", {0x03020100, 0x07060504, 0x7531}, 0x07050301},
        {"prmt.b32", {0x80, 0, 0x8888}, 0xffffffff},
        {"prmt.b32.f4e", {0x03020100, 0x07060504, 2}, 0x05040302},
        {"prmt.b32.b4e", {0x03020100, 0x07060504, 1}, 0x06070001},
        {"prmt.b32.rc8", {0x03020100, 0x07060504, 2}, 0x02020202},
        {"prmt.b32.ecl", {0x03020100, 0x07060504, 2}, 0x03020202},
        {"prmt.b32.ecr", {0x03020100, 0x07060504, 1}, 0x01010100},
        {"prmt.b32.rc16", {0x03020100, 0x07060504, 1}, 0x03020302},
        {"popc.b64", {~0ull}, 64},
        {"clz.b32", {0}, 32},
        {"clz.b32", {1}, 31},
        {"clz.b64", {1}, 63},
        {"bfind.u32", {0}, 0xffffffff},
        {"bfind.u32", {0x80}, 7},
        {"bfind.s32", {0xffffffff}, 0xffffffff},
        {"bfind.s32", {0xffffff7f}, 7},
        {"bfind.shiftamt.u32", {0x80}, 24},
        {"bfind.s64", {~0ull << 40}, 39},
        {"brev.b32", {1}, 0x80000000},
        {"brev.b64", {2}, 1ull << 62},
        {"bfe.u32", {0xabcd1234, 8, 8}, 0x12},
        {"bfe.s32", {0x0000ff00, 8, 8}, 0xffffffff},
        {"bfe.s32", {0x80000000, 24, 16}, 0xffffff80},
        {"bfe.u32", {0xffffffff, 40, 8}, 0},
        {"bfe.s32", {0x80000000, 40, 8}, 0xffffffff},
        {"bfe.s32", {0xffffffff, 4, 0}, 0},
        {"bfe.u64", {~0ull, 60, 60}, 15},
        {"bfi.b32", {0xff, 0x11111111, 8, 4}, 0x11111f11},
        {"bfi.b32", {0xff, 0x11111111, 32, 4}, 0x11111111},
        {"bfi.b32", {0xff, 0x11111111, 28, 8}, 0xf1111111},
        {"bfi.b64", {~0ull, 0, 32, 255}, 0xffffffff00000000},
        {"fns.b32", {0x12, 0, 1}, 1},
        {"fns.b32", {0x12, 1, 2}, 4},
        {"fns.b32", {0x12, 31, 0xffffffff}, 4},
        {"fns.b32", {0x12, 1, 0}, 1},
        {"fns.b32", {0x12, 0, 3}, 0xffffffff},
        {"szext.wrap.s32", {0xff, 8}, 0xffffffff},
        {"szext.wrap.u32", {0xffff, 8}, 0xff},
        {"szext.clamp.s32", {0x12345678, 40}, 0x12345678},
        {"bmsk.clamp.b32", {4, 8}, 0xff0},
        {"bmsk.clamp.b32", {4, 64}, 0xfffffff0},
        {"bmsk.wrap.b32", {36, 4}, 0xf0},
        {"dp4a.s32.s32", {0xff02fe01, 0x01010101, 10}, 10},
        {"dp4a.u32.u32", {0xff02fe01, 0x01010101, 10}, 522},
        {"dp4a.u32.s32", {0xff000000, 0xff000000, 0}, 0xffffff01},
        {"dp2a.lo.s32.s32", {0x00020003, 0x04030201, 1}, 8},
        {"dp2a.hi.s32.s32", {0x00020003, 0x04030201, 1}, 18},
        {"selp.b64", {1, 2, 0}, 2},
        {"slct.u32.s32", {1, 2, 0x80000000}, 2},
        {"slct.u32.f32", {1, 2, 0x80000000}, 1}, /* -0 is not below 0 */
        {"slct.u32.f32", {1, 2, 0x7fc00000}, 2},
        {"and.pred", {1, 0}, 0},
        {"not.pred", {1}, 0},
    };
    check_rows(known, COUNT_OF(known));
}

#define F(x) float_to_bits(x)
#define D(x) double_to_bits(x)

static void floats(void **state)
{
    (void)state;
    const u64 nan = 0x7fffffff, tiny = 1, minus = 0x80000000;
    const Row known[] = {
        {"add.f32", {F(1), F(0x1p-24f)}, F(1)},
        {"add.rp.f32", {F(1), F(0x1p-24f)}, F(0x1.000002p0f)},
        {"add.rm.f32", {F(1), F(-0x1p-30f)}, F(0x1.fffffep-1f)},
        {"add.rm.f32", {F(1), F(-1)}, minus},
        {"add.rn.f32", {F(1), F(-1)}, 0},
        {"add.f32", {0x7f800001, F(1)}, nan},
        {"add.f32", {F(INFINITY), F(-INFINITY)}, nan},
        {"add.ftz.f32", {tiny, tiny}, 0},
        {"add.f32", {tiny, tiny}, 2},
        {"add.sat.f32", {F(0.75f), F(0.75f)}, F(1)},
        {"add.sat.f32", {F(-3), F(1)}, 0},
        {"add.sat.f32", {nan, F(1)}, 0},
        {"mul.rz.f32", {F(0x1.fffffep0f), F(0x1.fffffep0f)}, F(0x1.fffffcp1f)},
        {"mul.ftz.f32", {0x80000001, F(1)}, minus},
        {"mul.f32", {F(FLT_MAX), F(2)}, F(INFINITY)},
        {"mul.rz.f32", {F(FLT_MAX), F(2)}, F(FLT_MAX)},
        {"fma.rn.f32", {F(0x1.000002p0f), F(0x1.000002p0f), F(-0x1.000004p0f)}, F(0x1p-46f)},
        {"fma.rp.f32", {F(1), F(1), F(0x1p-60f)}, F(0x1.000002p0f)},
        {"fma.rn.f64", {D(0x1.0000000000001p0), D(0x1.0000000000001p0), D(-0x1.0000000000002p0)}, D(0x1p-104)},
        {"div.rn.f32", {F(1), F(3)}, F(1.0f / 3.0f)},
        {"div.rp.f32", {F(1), F(3)}, F(0x1.555556p-2f)},
        {"div.rz.f32", {F(1), F(3)}, F(0x1.555554p-2f)},
        {"rcp.rn.f32", {minus}, F(-INFINITY)},
        {"sqrt.rn.f32", {F(-1)}, nan},
        {"sqrt.rn.f32", {minus}, minus},
        {"sqrt.rm.f64", {D(2)}, D(0x1.6a09e667f3bccp0)},
        {"min.f32", {nan, F(1)}, F(1)},
        {"min.f32", {nan, 0x7fc00000}, nan},
        {"min.NaN.f32", {nan, F(1)}, nan},
        {"min.f32", {0, minus}, minus},
        {"max.f32", {minus, 0}, 0},
        {"max.xorsign.abs.f32", {F(-2), F(1)}, F(-2)},
        {"min.xorsign.abs.f32", {F(-2), F(-1)}, F(1)},
        {"max.f64", {D(NAN), D(-1)}, D(-1)},
        {"abs.ftz.f32", {0x80000001}, 0},
        {"neg.f32", {0}, minus},
        {"neg.f64", {D(2)}, D(-2)},
        {"copysign.f32", {F(-1), F(2)}, F(-2)},
        {"testp.subnormal.f32", {1}, 1},
        {"testp.normal.f32", {0}, 0},
        {"testp.notanumber.f64", {D(NAN)}, 1},
        {"testp.finite.f32", {F(INFINITY)}, 0},
        {"ex2.approx.f32", {F(-3)}, F(0.125f)},
        {"lg2.approx.f32", {F(8)}, F(3)},
        {"lg2.approx.f32", {0}, F(-INFINITY)},
        {"rsqrt.approx.f32", {F(16)}, F(0.25f)},
        {"sin.approx.f32", {F(INFINITY)}, nan},
        {"tanh.approx.f32", {F(INFINITY)}, F(1)},
        {"rcp.approx.ftz.f64", {D(2)}, D(0.5)},
    };
    check_rows(known, COUNT_OF(known));
}

static void halves(void **state)
{
    (void)state;
    static const Row known[] = {
        {"add.f16", {0x3c00, 0x1000}, 0x3c00}, /* 1 + 2^-11: a tie, to even */
        {"add.f16", {0x3c01, 0x1000}, 0x3c02},
        {"mul.f16", {0x7bff, 0x4000}, 0x7c00},            /* 65504 * 2 */
        {"fma.rn.f16", {0x3c01, 0x3c01, 0xbc02}, 0x0010}, /* 2^-20 */
        {"fma.rn.f16", {0x7800, 0x7800, 0xfc00}, 0xfc00},
        {"fma.rn.relu.f16", {0x3c00, 0xbc00, 0}, 0},
        {"add.f16x2", {0x3c003c00, 0x40003c00}, 0x42004000},
        {"add.sat.f16", {0x3c00, 0x3c00}, 0x3c00},
        {"min.f16", {0x7e00, 0x3c00}, 0x3c00},
        {"max.NaN.f16x2", {0x7e003c00, 0x3c004000}, 0x7fff4000},
        {"abs.f16", {0xbc00}, 0x3c00},
        {"neg.f16x2", {0x3c00bc00}, 0xbc003c00},
        {"sub.f16", {0x0001, 0x0002}, 0x8001},
        {"add.ftz.f16", {0x0001, 0x0001}, 0},
        {"fma.rn.bf16", {0x3f80, 0x3f80, 0x3b80}, 0x3f80}, /* 1 + 2^-8: a tie */
        {"fma.rn.bf16", {0x3f81, 0x3f80, 0x3b80}, 0x3f82},
        {"max.bf16x2", {0x3f80bf80, 0xbf803f80}, 0x3f803f80},
    };
    check_rows(known, COUNT_OF(known));
}

static void conversions(void **state)
{
    (void)state;
    const Row known[] = {
        {"cvt.s32.s8", {0x80}, 0xffffff80},
        {"cvt.u32.u8", {0x180}, 0x80},
        {"cvt.s64.s32", {0x80000000}, 0xffffffff80000000},
        {"cvt.u64.u32", {0x80000000}, 0x80000000},
        {"cvt.u16.u64", {0x123456789}, 0x6789},
        {"cvt.sat.u8.s32", {0xffffffff}, 0},
        {"cvt.sat.u8.u32", {300}, 255},
        {"cvt.sat.s8.s32", {0xffffff00}, 0x80},
        {"cvt.sat.s16.u32", {0xffffffff}, 0x7fff},
        {"cvt.rzi.s32.f32", {F(-2.7f)}, 0xfffffffe},
        {"cvt.rni.s32.f32", {F(2.5f)}, 2},
        {"cvt.rmi.s32.f32", {F(-2.1f)}, 0xfffffffd},
        {"cvt.rpi.s32.f32", {F(2.1f)}, 3},
        {"cvt.rzi.s32.f32", {F(3e9f)}, 0x7fffffff},
        {"cvt.rzi.u32.f32", {F(-3)}, 0},
        {"cvt.rzi.s32.f32", {0x7fc00000}, 0},
        {"cvt.rzi.s64.f32", {0x7fc00000}, 1ull << 63},
        {"cvt.rzi.s32.f64", {D(NAN)}, 0x80000000},
        {"cvt.rzi.u64.f64", {D(0x1p63)}, 1ull << 63},
        {"cvt.rzi.u8.f32", {F(300)}, 255},
        {"cvt.rn.f32.s32", {0x7fffffff}, F(0x1p31f)},
        {"cvt.rz.f32.s32", {0x7fffffff}, F(0x1.fffffep30f)},
        {"cvt.rn.f32.u64", {0xffffff8000000000}, F(0x1p64f)},
        {"cvt.rm.f32.u64", {0xffffff7fffffffff}, F(0x1.fffffep63f)},
        {"cvt.rn.f64.s64", {~0ull}, D(-1)},
        {"cvt.rn.f16.s32", {70000}, 0x7c00},
        {"cvt.rz.f16.s32", {70000}, 0x7bff},
        {"cvt.rn.f32.f64", {D(1 + 0x1p-24)}, F(1)},
        {"cvt.rp.f32.f64", {D(1 + 0x1p-24)}, F(0x1.000002p0f)},
        {"cvt.f64.f32", {F(0.1f)}, D((double)0.1f)},
        {"cvt.f32.f16", {0x0001}, F(0x1p-24f)},
        {"cvt.rn.f16.f32", {F(0x1p-25f)}, 0},
        {"cvt.rp.f16.f32", {F(0x1p-25f)}, 1},
        {"cvt.rn.f16.f32", {F(65520)}, 0x7c00},
        {"cvt.rn.f16x2.f32", {F(1), F(2)}, 0x3c004000},
        {"cvt.rn.relu.bf16x2.f32", {F(-1), F(2)}, 0x4000},
        {"cvt.rn.bf16.f32", {F(0x1.01p0f)}, 0x3f80},
        {"cvt.rna.tf32.f32", {F(0x1.002p0f)}, F(0x1.004p0f)},
        {"cvt.rn.satfinite.e4m3x2.f32", {F(500), F(-1)}, 0x7eb8},
        {"cvt.rn.satfinite.e5m2x2.f32", {F(1e9f), F(0.5f)}, 0x7b38},
        {"cvt.rn.f16x2.e4m3x2", {0x387e}, 0x3c005f00},
        {"cvt.rni.f32.f32", {F(2.5f)}, F(2)},
        {"cvt.rmi.f32.f32", {F(-0.5f)}, F(-1)},
        {"cvt.sat.f32.f32", {F(-2)}, 0},
        {"cvt.ftz.f64.f32", {1}, 0},
        {"cvt.pack.sat.u16.s32", {0xffffffff, 70000}, 0x0000ffff},
        {"cvt.pack.sat.s8.s32.b32", {200, 0xffffff00, 0x1234}, 0x12347f80},
        {"set.lt.u32.f32", {F(1), F(2)}, 0xffffffff},
        {"set.lt.f32.s32", {0xffffffff, 0}, F(1)},
        {"set.eq.and.u32.u32", {1, 1, 0}, 0},
    };
    check_rows(known, COUNT_OF(known));
}

static void comparisons(void **state)
{
    (void)state;
    const u64 nan = 0x7fc00000;
    const Row known[] = {
        {"setp.lt.s32", {0xffffffff, 0}, 1}, {"setp.lt.u32", {0xffffffff, 0}, 0},  {"setp.lo.u32", {1, 2}, 1},
        {"setp.hs.u32", {2, 2}, 1},          {"setp.ne.b64", {1ull << 40, 0}, 1},  {"setp.ge.s16", {0x8000, 0}, 0},
        {"setp.lt.f32", {nan, F(1)}, 0},     {"setp.ne.f32", {nan, F(1)}, 0},      {"setp.neu.f32", {nan, F(1)}, 1},
        {"setp.geu.f32", {nan, F(1)}, 1},    {"setp.geu.f32", {F(0), F(1)}, 0},    {"setp.num.f32", {F(0), F(1)}, 1},
        {"setp.nan.f64", {D(NAN), D(1)}, 1}, {"setp.eq.f32", {0, 0x80000000}, 1},  {"setp.eq.ftz.f32", {1, 0}, 1},
        {"setp.eq.f32", {1, 0}, 0},          {"setp.gt.f16", {0x4000, 0x3c00}, 1},
    };
    check_rows(known, COUNT_OF(known));
}

/* xorshift64* (Marsaglia; Vigna, 2014) */
static u64 next_random(u64 *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

/* Random bits, with a bias to the ends and to exponents near one another. */
static u64 random_float(u64 *seed, bool wide)
{
    u64 r = next_random(seed), how = next_random(seed) % 8;
    if (!wide) {
        r &= mask_bits(32);
        return how == 0 ? r & 0x807fffff : how == 1 ? r | 0x7f000000 : how < 5 ? (r & 0x80ffffff) | 0x3f000000 : r;
    }
    return how < 4 ? (r & 0x800fffffffffffff) | 0x3ff0000000000000 : r;
}

static bool same_float(u64 a, u64 b) { return a == b || (isnan(bits_to_float(a)) && isnan(bits_to_float(b))); }

/* f32 in every rounding mode against the host under that mode; the software rounding against the host's conversions. */
static void against_host(void **state)
{
    (void)state;
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    static const char *const names[] = {"rn", "rz", "rm", "rp"};
    u64 seed = 12;
    for (u32 i = 0; i < 40000; i++) {
        u64 a = random_float(&seed, false), b = random_float(&seed, false), c = random_float(&seed, false);
        u64 wide = random_float(&seed, true);
        for (u32 k = 0; k < 4; k++) {
            volatile float x = bits_to_float(a), y = bits_to_float(b), z = bits_to_float(c), sum, fused, narrowed, counted;
            volatile double big = bits_to_double(wide);
            volatile i64 whole = (i64)wide;
            char add[24], fma_name[24], narrow[24], count[24];
            snprintf(add, sizeof add, "add.%s.f32", names[k]);
            snprintf(fma_name, sizeof fma_name, "fma.%s.f32", names[k]);
            snprintf(narrow, sizeof narrow, "cvt.%s.f32.f64", names[k]);
            snprintf(count, sizeof count, "cvt.%s.f32.s64", names[k]);
            fesetround(modes[k]);
            sum = x + y;
            fused = fmaf(x, y, z);
            narrowed = (float)big;
            counted = (float)whole;
            fesetround(FE_TONEAREST);
            assert_true(same_float(run(add, a, b, 0, 0), float_to_bits(sum)));
            assert_true(same_float(run(fma_name, a, b, c, 0), float_to_bits(fused)));
            assert_true(same_float(run(narrow, wide, 0, 0, 0), float_to_bits(narrowed)));
            assert_true(same_float(run(count, wide, 0, 0, 0), float_to_bits(counted)));
            /* the software's fused operation, which f16 rests on, in a format that the host has */
            if (!isnan(x) && !isnan(y) && !isnan(z))
                assert_true(same_float(format_fma(format_of((ElemType){EK_FLOAT, 32, 1}), x, y, z, (Round)k),
                                       float_to_bits(fused)));
        }
    }
}

/* Every f16 goes to f32 and back; every integer width against plain C. */
static void round_trips(void **state)
{
    (void)state;
    for (u64 h = 0; h < 0x10000; h++) {
        u64 back = run("cvt.rn.f16.f32", run("cvt.f32.f16", h, 0, 0, 0), 0, 0, 0);
        assert_true(back == h || (h & 0x7fff) > 0x7c00);
    }
    u64 seed = 3;
    for (u32 i = 0; i < 20000; i++) {
        u64 a = next_random(&seed), b = next_random(&seed);
        assert_int_equal(run("mul.lo.u16", a, b, 0, 0), (u16)((u32)(u16)a * (u16)b));
        assert_int_equal(run("mul.hi.s32", a, b, 0, 0), (u32)((i64)(i32)a * (i32)b >> 32));
        assert_int_equal(run("min.s64", a, b, 0, 0), (u64)((i64)a < (i64)b ? (i64)a : (i64)b));
        assert_int_equal(run("rem.u64", a, b | 1, 0, 0), a % (b | 1));
        assert_int_equal(run("div.s16", a, 7, 0, 0), (u16)((int16_t)a / 7));
    }
}

/* What is not known exactly is not guessed. */
static void refused(void **state)
{
    (void)state;
    static const char *const opcodes[] = {
        "add.s32.sat",
        "add.sat.u32",
        "add.f8",
        "mul.s32",
        "mul.wide.u64",
        "fma.f32",
        "div.approx.f64",
        "sqrt.f32",
        "and.u32",
        "shl.u32",
        "bfe.b32",
        "setp.lo.f32",
        "setp.equ.s32",
        "cvt.f32.f64",
        "cvt.rzi.f32.s32",
        "cvt.rn.e4m3x2.f32",
        "min.relu.u32",
        "add.rn.f16.foo",
        "popc.b16",
        "mov.b128",
        "vadd2.s32.s32.s32",
        "",
    };
    for (u32 i = 0; i < COUNT_OF(opcodes); i++) {
        Op op;
        AluOp alu;
        assert_true(op_split(&op, opcodes[i]));
        if (alu_pick(&op, &alu) == ALU_PICKED)
            fail_msg("%s is taken for something", opcodes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),     cmocka_unit_test(bits),        cmocka_unit_test(floats),
        cmocka_unit_test(halves),       cmocka_unit_test(conversions), cmocka_unit_test(comparisons),
        cmocka_unit_test(against_host), cmocka_unit_test(round_trips), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
