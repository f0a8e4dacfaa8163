/* Switches: sets of values against every value, and what recover_decision says about random trees of tests against what
 * each of the 65536 values of a 16-bit selector does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/cfg.h"
#include "phase/switch/plan.h"
#include "ptx_run.h"

static const Cmp all_compares[] = {CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LO, CMP_LS, CMP_HI, CMP_HS};

static bool compare_16(Cmp cmp, bool is_signed, u16 a, u16 b)
{
    i64 x = is_signed ? (int16_t)a : a, y = is_signed ? (int16_t)b : b;
    switch (cmp) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT: return x < y;
    case CMP_LE: return x <= y;
    case CMP_GT: return x > y;
    case CMP_GE: return x >= y;
    case CMP_LO: return a < b;
    case CMP_LS: return a <= b;
    case CMP_HI: return a > b;
    default: return a >= b;
    }
}

static void assert_well_formed(ValueSet s, u32 bits)
{
    for (u32 k = 0; k < s.n; k++) {
        assert_true(s.v[k].lo <= s.v[k].hi && s.v[k].hi <= sem_max(bits));
        assert_true(k == 0 || s.v[k].lo > s.v[k - 1].hi + 1);
    }
}

/* ---- sets ------------------------------------------------------------------------------------------------------ */

static void comparisons_are_exact(void **state)
{
    (void)state;
    static const u16 constants[] = {0, 1, 2, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 1234};
    Arena arena = {0};
    for (u32 c = 0; c < COUNT_OF(all_compares); c++)
        for (u32 k = 0; k < COUNT_OF(constants); k++)
            for (u32 is_signed = 0; is_signed < 2; is_signed++) {
                u64 extended = is_signed ? (u64)(i64)(int16_t)constants[k] : constants[k];
                ValueSet s = value_set_compare(&arena, all_compares[c], is_signed ? TYPE_S16 : TYPE_U16, extended, 16);
                assert_well_formed(s, 16);
                for (u32 v = 0; v < 0x10000; v++)
                    assert_int_equal(value_set_has(s, v), compare_16(all_compares[c], is_signed, (u16)v, constants[k]));
            }
    arena_free(&arena);
}

static ValueSet random_set(Arena *arena, u32 bits)
{
    ValueSet s = {0};
    for (u32 k = random_below(5); k > 0; k--) {
        u64 a = random_below((u32)sem_max(bits) + 1), b = random_below((u32)sem_max(bits) + 1);
        s = value_set_or(arena, s, value_set_range(arena, a < b ? a : b, a < b ? b : a));
    }
    return s;
}

/* However it is made, the union has one form. */
static void assert_union(Arena *arena, ValueSet a, ValueSet b, ValueSet either)
{
    u32 n = a.n + b.n;
    Interval *v = arena_array(arena, Interval, n);
    for (u32 k = 0; k < n; k++)
        v[k] = k < a.n ? a.v[k] : b.v[k - a.n];
    ValueSet sets[] = {a, b, {0}, b, a}, made[] = {value_set_of(v, n), value_set_union(arena, sets, 5)};
    for (u32 k = 0; k < 2; k++) {
        assert_int_equal(made[k].n, either.n);
        assert_true(either.n == 0 || !memcmp(made[k].v, either.v, either.n * sizeof *either.v));
    }
}

static void operations_are_those_of_sets(void **state)
{
    (void)state;
    enum { BITS = 5 };
    Arena arena = {0};
    for (u32 round = 0; round < 20000; round++) {
        ValueSet a = random_set(&arena, BITS), b = random_set(&arena, BITS);
        u32 by = random_below(1 << BITS), members = 0;
        ValueSet both = value_set_and(&arena, a, b), either = value_set_or(&arena, a, b),
                 none = value_set_not(&arena, a, BITS);
        ValueSet only = value_set_minus(&arena, a, b), shifted = value_set_shift(&arena, a, by, BITS);
        assert_well_formed(both, BITS);
        assert_well_formed(either, BITS);
        assert_well_formed(none, BITS);
        assert_well_formed(only, BITS);
        assert_well_formed(shifted, BITS);
        assert_union(&arena, a, b, either);
        for (u32 v = 0; v < 1 << BITS; v++) {
            bool in_a = value_set_has(a, v), in_b = value_set_has(b, v);
            members += in_a;
            assert_int_equal(value_set_has(both, v), in_a && in_b);
            assert_int_equal(value_set_has(either, v), in_a || in_b);
            assert_int_equal(value_set_has(none, v), !in_a);
            assert_int_equal(value_set_has(only, v), in_a && !in_b);
            assert_int_equal(value_set_has(shifted, (v + by) & sem_max(BITS)), in_a);
        }
        assert_int_equal(value_set_size(a), members);
        ValueSet copy = value_set_copy(&arena, a);
        assert_int_equal(copy.n, a.n);
        assert_true(a.n == 0 || !memcmp(copy.v, a.v, a.n * sizeof *a.v));
    }
    arena_free(&arena);
}

static void sets_reach_the_last_of_64_bits(void **state)
{
    (void)state;
    Arena arena = {0};
    ValueSet all = value_set_range(&arena, 0, UINT64_MAX), low = value_set_compare(&arena, CMP_LT, TYPE_S64, 0, 64);
    assert_int_equal(value_set_not(&arena, all, 64).n, 0);
    assert_int_equal(value_set_not(&arena, (ValueSet){0}, 64).v[0].hi, UINT64_MAX);
    assert_int_equal(value_set_size(all), UINT64_MAX);
    assert_int_equal(low.n, 1);
    assert_int_equal(low.v[0].lo, (u64)1 << 63);
    assert_int_equal(low.v[0].hi, UINT64_MAX);
    ValueSet turned = value_set_shift(&arena, value_set_range(&arena, UINT64_MAX - 1, UINT64_MAX), 3, 64);
    assert_int_equal(turned.n, 1);
    assert_int_equal(turned.v[0].lo, 1);
    assert_int_equal(turned.v[0].hi, 2);
    assert_int_equal(value_set_shift(&arena, all, 77, 64).n, 1);
    arena_free(&arena);
}

/* ---- decisions ------------------------------------------------------------------------------------------------- */

/* One test of a random tree: `value(x) cmp constant` is true: to `yes`, else to `no`; both are tests or leaves. */
typedef struct Test {
    Cmp cmp;
    bool is_signed, negated, second; /* @!p; the q of p|q */
    u16 offset;                      /* x - offset is compared */
    u16 constant;
    u32 yes, no; /* below TESTS: a test; else a leaf */
} Test;

enum { TESTS = 24, LEAVES = 6 };

static u32 tests;
static Test test[TESTS];

static u16 random_constant(void)
{
    static const u16 near[] = {0, 0x7fff, 0x8000, 0xffff, 40, 1000};
    return (u16)(near[random_below(COUNT_OF(near))] + random_below(7) - 3);
}

static u32 random_leaf(void) { return TESTS + random_below(LEAVES); }

/* A tree; now and then two edges lead to one test. */
static void random_tree(void)
{
    tests = 3 + random_below(TESTS - 3);
    for (u32 k = 0; k < tests; k++) {
        test[k] = (Test){
            all_compares[random_below(COUNT_OF(all_compares))], random_below(2),   random_below(2), random_below(4) == 0,
            random_below(3) ? 0 : (u16)(random_below(9) - 4),   random_constant(), random_leaf(),   random_leaf()};
        if (test[k].cmp >= CMP_LO)
            test[k].is_signed = false;
    }
    for (u32 k = 1; k < tests; k++) {
        Test *parent = &test[random_below(k)];
        *(random_below(2) ? &parent->yes : &parent->no) = k;
    }
    for (u32 k = 1; k < tests; k++) /* every test but the first has somebody who leads there, and comes before it */
        if (random_below(12) == 0)
            test[random_below(k)].no = k;
}

static bool is_led_to(u32 k)
{
    for (u32 t = 0; t < k; t++)
        if (test[t].yes == k || test[t].no == k)
            return true;
    return k == 0;
}

static char *print_test(char *t, u32 k)
{
    const Test *c = &test[k];
    char reg[16] = "%rs1";
    t += sprintf(t, "N%u:\n", k);
    if (c->offset) {
        sprintf(reg, "%%rs%u", 10 + k);
        t += random_below(2) ? sprintf(t, "sub.u16 %s, %%rs1, %d;\n", reg, (int16_t)c->offset)
                             : sprintf(t, "add.s16 %s, %%rs1, %d;\n", reg, -(int16_t)c->offset);
    }
    t += sprintf(t, "setp.%s.%c16 ", cmp_name(c->cmp), c->is_signed ? 's' : 'u');
    t += c->second ? sprintf(t, "%%p30|%%p%u, ", k) : sprintf(t, "%%p%u, ", k);
    t += sprintf(t, "%s, %d;\n", reg, c->is_signed ? (int16_t)c->constant : c->constant);
    t += sprintf(t, "@%s%%p%u bra %c%u;\n", c->negated ? "!" : "", k, c->yes < TESTS ? 'N' : 'L', c->yes);
    return t + sprintf(t, "bra %c%u;\n", c->no < TESTS ? 'N' : 'L', c->no);
}

static void print_tree(char *t)
{
    t += sprintf(t, PTX_HEAD ".entry f(.param .u64 o) {\n.reg .pred %%p<40>; .reg .b16 %%rs<40>; .reg .b64 %%rd1;\n"
                             "ld.param.u64 %%rd1, [o];\nld.global.u16 %%rs1, [%%rd1];\n");
    for (u32 k = 0; k < tests; k++)
        if (is_led_to(k))
            t = print_test(t, k);
    for (u32 l = TESTS; l < TESTS + LEAVES; l++)
        t += sprintf(t, "L%u: st.global.u16 [%%rd1+%u], %%rs1;\nbra END;\n", l, l);
    sprintf(t, "END: ret;\n}\n");
}

static bool block_has_label(const Block *b, const char *label)
{
    for (const Label *l = b->labels; l; l = l->next)
        if (!strcmp(l->name->text, label))
            return true;
    return false;
}

/* Whether x comes to the block on its path through the tree: a leaf, or a test that the region did not take in. */
static bool comes_to(u16 x, const Block *b)
{
    char label[16];
    for (u32 at = 0;;) {
        sprintf(label, "%c%u", at < TESTS ? 'N' : 'L', at);
        if (block_has_label(b, label))
            return true;
        if (at >= TESTS)
            return false;
        const Test *c = &test[at];
        bool holds = compare_16(c->cmp, c->is_signed, (u16)(x - c->offset), c->constant);
        at = (holds != c->second) != c->negated ? c->yes : c->no;
    }
}

static void take_remark(void *user, const PhaseRun *run, RemarkKind kind, const char *name, Span at, const char *message)
{
    (void)user, (void)run, (void)kind, (void)name, (void)at, (void)message;
}

/* What the decision at the end of the root says about x: a block. */
static const Block *decided(const Decision *d, u16 x)
{
    const Block *target = NULL;
    for (u32 l = 0; l < d->leaf_count; l++)
        if (value_set_has(d->leaves[l].values, x)) {
            assert_null(target);
            target = d->leaves[l].target;
        }
    assert_non_null(target);
    return target;
}

/* The same, by what was planned. */
static const Block *planned(const Decision *d, const SwitchPlan *p, u16 x)
{
    u64 key = plan_value(p, d, x);
    const SearchPlan *plan = p->plan;
    while (plan->kind != PLAN_GO) {
        u64 at = (key - plan->lo) & sem_max(16), span = plan->hi - plan->lo;
        if (plan->kind == PLAN_TABLE && (at <= span || !plan->no)) {
            assert_true(at <= span);
            return d->leaves[plan->entry[at]].target;
        }
        bool yes = plan->kind == PLAN_LESS    ? key < plan->lo
                   : plan->kind == PLAN_EQUAL ? key == plan->lo
                   : plan->kind == PLAN_RANGE ? at <= span
                                              : plan->kind == PLAN_BITS && at < 32 && (plan->mask >> at & 1);
        plan = yes ? plan->yes : plan->no;
    }
    return d->leaves[plan->leaf].target;
}

static void check_decision(const Decision *d, Arena *arena)
{
    PlanLimits limits[] = {{40, 1024, true}, {1, 64, true}, {40, 0, false}};
    SwitchPlan p[COUNT_OF(limits)];
    for (u32 k = 0; k < COUNT_OF(limits); k++)
        p[k] = switch_plan(arena, d, &limits[k]);
    for (u32 x = 0; x < 0x10000; x++) {
        const Block *target = decided(d, (u16)x);
        assert_true(comes_to((u16)x, target));
        for (u32 k = 0; k < COUNT_OF(limits); k++)
            assert_ptr_equal(planned(d, &p[k], (u16)x), target);
    }
}

static void decisions_are_exact(void **state)
{
    (void)state;
    static char text[1 << 16];
    PhaseSink sink = {.remark = take_remark};
    u32 whole = 0;
    for (u32 round = 0; round < 150; round++) {
        random_state = round + 1;
        random_tree();
        print_tree(text);
        Arena arena = {0}, scratch = {0};
        Module *m = ptx_module(&arena, text);
        Analyses an;
        analyses_init(&an, ptx_function(m, "f"));
        an_compute(&an, AN_LOOPS);
        PhaseRun run = {.phase = "test", .fn = an.fn, .arena = &scratch, .sink = &sink};
        Decision d;
        RecoverResult result =
            recover_decision(recovery_new(&an, &run, &scratch, &(BlockKinds){0}), &scratch, ptx_block(an.fn, "N0"), 1, &d);
        assert_true(result == RECOVER_DONE);
        Decision same, none;
        result = recover_decision(recovery_new(&an, &run, &scratch, &(BlockKinds){0}), &scratch, d.root, d.branches, &same);
        assert_true(result == RECOVER_DONE && same.count == d.count && same.leaf_count == d.leaf_count);
        result =
            recover_decision(recovery_new(&an, &run, &scratch, &(BlockKinds){0}), &scratch, d.root, d.branches + 1, &none);
        assert_true(result == RECOVER_NONE);
        check_decision(&d, &scratch);
        bool only_leaves = true;
        for (u32 l = 0; l < d.leaf_count; l++)
            only_leaves &= !block_terminator(d.leaves[l].target);
        whole += only_leaves;
        analyses_free(&an);
        module_free(m);
        arena_free(&arena);
        arena_free(&scratch);
    }
    assert_true(whole > 100); /* most trees are recovered to their leaves */
}

int main(void)
{
    const struct CMUnitTest tests_of_switches[] = {
        cmocka_unit_test(comparisons_are_exact),
        cmocka_unit_test(operations_are_those_of_sets),
        cmocka_unit_test(sets_reach_the_last_of_64_bits),
        cmocka_unit_test(decisions_are_exact),
    };
    return cmocka_run_group_tests_name("switches", tests_of_switches, NULL, NULL);
}
