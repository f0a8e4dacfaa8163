/* Ranges: every value of small widths, and random ones of larger, against the arithmetic that they bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/analyses.h"
#include "analysis/values.h"
#include "ir_text.h"

static u64 mask(u32 bits) { return bits == 64 ? UINT64_MAX : ((u64)1 << bits) - 1; }
static i64 as_signed(u64 v, u32 bits) { return (i64)(v << (64 - bits)) >> (64 - bits); }

static bool has(const Range *r, u64 v)
{
    i64 s = as_signed(v, r->bits);
    return r->lo <= v && v <= r->hi && r->least <= s && s <= r->most;
}

static const Opcode opcodes[] = {OPC_ADD, OPC_SUB, OPC_MUL, OPC_MIN, OPC_MAX, OPC_AND,
                                 OPC_OR,  OPC_SHL, OPC_SHR, OPC_REM, OPC_DIV};

/* What PTX computes; false: not defined. */
static bool compute(Opcode opcode, bool is_signed, u32 bits, u64 a, u64 b, u64 *result)
{
    i64 sa = as_signed(a, bits), sb = as_signed(b, bits);
    switch (opcode) {
    case OPC_ADD: *result = a + b; break;
    case OPC_SUB: *result = a - b; break;
    case OPC_MUL: *result = a * b; break;
    case OPC_MIN: *result = is_signed ? (sa < sb ? a : b) : a < b ? a : b; break;
    case OPC_MAX: *result = is_signed ? (sa > sb ? a : b) : a > b ? a : b; break;
    case OPC_AND: *result = a & b; break;
    case OPC_OR: *result = a | b; break;
    case OPC_SHL: *result = b >= bits ? 0 : a << b; break;
    case OPC_SHR: *result = is_signed ? (u64)(sa >> (b >= bits ? bits - 1 : b)) : b >= bits ? 0 : a >> b; break;
    case OPC_REM:
    case OPC_DIV:
        if (b == 0 || (is_signed && sb == -1))
            return false;
        if (opcode == OPC_REM)
            *result = is_signed ? (u64)(sa % sb) : a % b;
        else
            *result = is_signed ? (u64)(sa / sb) : a / b;
        break;
    default: return false;
    }
    *result &= mask(bits);
    return true;
}

static void check_values(Range a, Range b, u64 x, u64 y)
{
    for (u32 k = 0; k < 2 * COUNT_OF(opcodes); k++) {
        u64 result;
        if (!compute(opcodes[k / 2], k % 2, a.bits, x, y, &result))
            continue;
        Range r = range_binary(opcodes[k / 2], k % 2, a, b);
        if (!has(&r, result))
            fail_msg("opcode %u%s: %llx and %llx give %llx", opcodes[k / 2], k % 2 ? " signed" : "", (unsigned long long)x,
                     (unsigned long long)y, (unsigned long long)result);
    }
}

static const Cmp compares[] = {CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE};

static bool holds(Cmp cmp, bool is_signed, u32 bits, u64 a, u64 b)
{
    i64 order = is_signed ? (as_signed(a, bits) > as_signed(b, bits)) - (as_signed(a, bits) < as_signed(b, bits))
                          : (a > b) - (a < b);
    switch (cmp) {
    case CMP_EQ: return order == 0;
    case CMP_NE: return order != 0;
    case CMP_LT: return order < 0;
    case CMP_LE: return order <= 0;
    case CMP_GT: return order > 0;
    default: return order >= 0;
    }
}

static void check_compares(Range a, Range b, u64 x, u64 y)
{
    for (u32 k = 0; k < 2 * COUNT_OF(compares); k++) {
        Cmp cmp = compares[k / 2];
        bool truth = holds(cmp, k % 2, a.bits, x, y);
        assert_int_not_equal(range_compare(cmp, k % 2, a, b), truth ? FACT_FALSE : FACT_TRUE);
        Range assumed = range_assume(a, cmp, k % 2, b);
        assert_true(!truth || has(&assumed, x));
    }
}

/* Every interval of both readings with every other, and every pair of values in them. */
static void test_small_widths(void **state)
{
    (void)state;
    const u32 bits = 3, values = 8;
    Range all[2 * 64];
    u32 n = 0;
    for (u64 lo = 0; lo < values; lo++)
        for (u64 hi = lo; hi < values; hi++) {
            all[n++] = range_unsigned(bits, lo, hi);
            all[n++] = range_signed(bits, (i64)lo - 4, (i64)hi - 4);
        }
    for (u32 i = 0; i < n; i++)
        for (u32 k = 0; k < n; k++)
            for (u64 pair = 0; pair < (u64)values * values; pair++)
                if (has(&all[i], pair / values) && has(&all[k], pair % values)) {
                    Range joined = range_union(all[i], all[k]);
                    check_values(all[i], all[k], pair / values, pair % values);
                    check_compares(all[i], all[k], pair / values, pair % values);
                    assert_true(has(&joined, pair / values) && has(&joined, pair % values));
                }
}

static u64 random_u64(u64 *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    u64 x = *seed ^ *seed >> 29;
    return x >> (*seed >> 58); /* small ones as often as large ones */
}

static Range random_range(u64 *seed, u32 bits, u64 *inside)
{
    u64 a = random_u64(seed) & mask(bits), b = random_u64(seed) & mask(bits), c = random_u64(seed) & mask(bits);
    bool is_signed = *seed >> 40 & 1;
    Range r;
    if (*seed >> 41 & 1)
        b = c = a;
    if (is_signed) {
        i64 x = as_signed(a, bits), y = as_signed(b, bits);
        r = range_signed(bits, x < y ? x : y, x < y ? y : x);
    } else {
        r = range_unsigned(bits, a < b ? a : b, a < b ? b : a);
    }
    *inside = has(&r, c) ? c : a;
    return r;
}

static void test_random_values(void **state)
{
    (void)state;
    const u32 widths[] = {8, 16, 32, 64};
    u64 seed = 1;
    for (u32 k = 0; k < 400000; k++) {
        u64 x, y;
        u32 bits = widths[k % 4], other = widths[seed >> 33 & 3];
        Range a = random_range(&seed, bits, &x), b = random_range(&seed, bits, &y);
        check_values(a, b, x, y);
        check_compares(a, b, x, y);
        bool is_signed = k / 4 % 2;
        Range cut = range_truncate(a, other < bits ? other : bits);
        assert_true(has(&cut, x & mask(cut.bits)));
        Range wide = range_extend(a, other > bits ? other : bits, is_signed);
        assert_true(has(&wide, (is_signed ? (u64)as_signed(x, bits) : x) & mask(wide.bits)));
    }
}

/* Whatever is known of two values decides only what is true of all such values. */
static void test_implied(void **state)
{
    (void)state;
    const Type types[] = {TYPE_S16, TYPE_U16};
    for (u32 known = 0; known < COUNT_OF(compares) * 2; known++)
        for (u32 asked = 0; asked < COUNT_OF(compares) * 2; asked++) {
            FactValue v = compare_implies(compares[known / 2], types[known % 2], compares[asked / 2], types[asked % 2]);
            for (u64 pair = 0; pair < 64; pair++) {
                u64 x = (pair / 8 - 4) & 0xffff, y = (pair % 8 - 4) & 0xffff;
                if (holds(compares[known / 2], known % 2 == 0, 16, x, y))
                    assert_int_not_equal(v, holds(compares[asked / 2], asked % 2 == 0, 16, x, y) ? FACT_FALSE : FACT_TRUE);
            }
        }
    assert_int_equal(compare_implies(CMP_LT, TYPE_F32, CMP_GE, TYPE_F32), FACT_FALSE);
    assert_int_equal(compare_implies(CMP_GEU, TYPE_F32, CMP_GE, TYPE_F32), FACT_UNKNOWN);
    assert_int_equal(compare_implies(CMP_GEU, TYPE_F32, CMP_LT, TYPE_F32), FACT_FALSE);
    assert_int_equal(compare_implies(CMP_NUM, TYPE_F32, CMP_NEU, TYPE_F32), FACT_UNKNOWN);
    assert_int_equal(compare_implies(CMP_EQ, TYPE_F32, CMP_EQ, TYPE_F64), FACT_UNKNOWN);
    assert_int_equal(compare_implies(CMP_LT, TYPE_S32, CMP_LE, TYPE_S32), FACT_TRUE);
    assert_int_equal(compare_implies(CMP_LT, TYPE_S32, CMP_LT, TYPE_U32), FACT_UNKNOWN);
}

/* The range of a register right before the ret of a body. */
static void check_register(const char *body, const char *reg, u64 lo, u64 hi)
{
    Fixture f;
    Analyses an;
    load(&f, body);
    analyses_init(&an, f.fn);
    an_compute(&an, AN_FACTS);
    Block *last = f.fn->layout_last;
    Range r = value_of_register(an_facts(&an), (ProgramPoint){NULL, last, last->last}, ptx_reg(f.fn, reg), 32);
    assert_int_equal(r.lo, lo);
    assert_int_equal(r.hi, hi);
    analyses_free(&an);
    unload(&f);
}

#define REGS "\n .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .pred %p<9>;\n"

/* What is given counts, and the selp that is not given is named. */
static void test_given(void **state)
{
    (void)state;
    Fixture f;
    Analyses an;
    Instr *open = NULL;
    load(&f, "\n .reg .b32 %r<9>; .reg .pred %p<9>;\n mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 7;\n"
             "L: selp.b32 %r2, 4, 9, %p1; add.s32 %r3, %r2, %r4; mov.u32 %r4, %r3; @%p1 bra L; ret;\n");
    analyses_init(&an, f.fn);
    an_compute(&an, AN_FACTS);
    Block *loop = f.fn->entry->next;
    ProgramPoint end = {NULL, loop, NULL};
    Given given = {.top = loop, .regs = 1};
    given.reg[0].reg = ptx_reg(f.fn, "%r4");
    given.reg[0].value = 100;
    Range r = value_of_register_given(an_facts(&an), end, ptx_reg(f.fn, "%r4"), 32, &given, &open);
    assert_int_equal(r.lo, 104);
    assert_int_equal(r.hi, 109);
    assert_ptr_equal(open, loop->first);
    given.selects = 1;
    given.select[0].selp = open;
    given.select[0].first = false;
    r = value_of_register_given(an_facts(&an), end, ptx_reg(f.fn, "%r4"), 32, &given, &open);
    assert_true(range_is_constant(&r) && r.lo == 109);
    given.top = f.fn->entry; /* elsewhere */
    r = value_of_register_given(an_facts(&an), end, ptx_reg(f.fn, "%r4"), 32, &given, &open);
    assert_false(range_is_constant(&r));
    analyses_free(&an);
    unload(&f);
}

static void test_registers(void **state)
{
    (void)state;
    check_register(REGS "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 12; shl.b32 %r3, %r2, 2; add.s32 %r4, %r3, 1; ret;\n",
                   "%r4", 1, 49);
    check_register(REGS "ld.global.u8 %h1, [g]; cvt.u32.u16 %r1, %h1; ret;\n", "%r1", 0, 255);
    check_register(REGS "selp.b32 %r1, 3, 7, %p1; ret;\n", "%r1", 3, 7);
    check_register(REGS "mov.u32 %r1, 3; @%p1 mov.u32 %r1, 9; ret;\n", "%r1", 3, 9);
    check_register(REGS "setp.lt.u32 %p1, %r1, 8;\n @%p1 bra A;\n exit;\nA: ret;\n", "%r1", 0, 7);
    check_register(REGS "setp.lt.u32 %p1, %r1, 8;\n @%p1 bra A;\n exit;\nA: add.s32 %r1, %r1, 1; ret;\n", "%r1", 1, 8);
    check_register(REGS "setp.lt.u32 %p1, %r1, 8;\n add.s32 %r1, %r1, 1;\n @%p1 bra A;\n exit;\nA: ret;\n", "%r1", 0,
                   UINT32_MAX);
    check_register(REGS "mov.u32 %r1, 3; @%p1 ld.global.u32 %r1, [g]; ret;\n", "%r1", 0, UINT32_MAX);
    check_register(REGS "mov.u32 %r1, 5; add.sat.s32 %r2, %r1, 1; ret;\n", "%r2", 0, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_widths), cmocka_unit_test(test_random_values), cmocka_unit_test(test_implied),
        cmocka_unit_test(test_given),        cmocka_unit_test(test_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
