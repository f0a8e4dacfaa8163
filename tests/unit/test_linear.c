/* Linear expressions against arithmetic: equal expressions are equal numbers whatever the terms are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/linear.h"

static u64 cut(u64 v, u32 bits) { return bits == 64 ? v : v & 0xffffffffu; }

/* The expression's value where the term of value k is value[k]. */
static u64 evaluate(const LinearExprs *f, LinearId id, const u64 *value);

static u64 term_number(const LinearExprs *f, TermId id, const u64 *value)
{
    const LinearTerm *t = &f->terms.v[id];
    switch (t->kind) {
    case TERM_VALUE: return cut(value[t->operand[0]], t->bits);
    case TERM_SIGNED: return (u64)(i64)(i32)evaluate(f, t->operand[0], value);
    case TERM_UNSIGNED: return evaluate(f, t->operand[0], value);
    case TERM_LOW: return cut(term_number(f, t->operand[0], value), 32);
    default: fail(); return 0;
    }
}

static u64 evaluate(const LinearExprs *f, LinearId id, const u64 *value)
{
    const LinearExpr *expr = linear_at(f, id);
    u64 sum = expr->constant;
    for (u32 k = 0; k < expr->terms; k++)
        sum += expr->term[k].scale * term_number(f, expr->term[k].term, value);
    return cut(sum, expr->bits);
}

static void equal_sums_are_one(void **state)
{
    (void)state;
    Arena arena = {0};
    LinearExprs *f = linear_new(&arena);
    LinearId x = linear_term(f, term_value(f, 64, 1)), y = linear_term(f, term_value(f, 64, 2)),
             c = linear_constant(f, 64, 5);
    assert_int_equal(linear_sum(f, linear_sum(f, x, y, 4), c, 1),
                     linear_sum(f, c, linear_sum(f, linear_scale(f, y, 4), x, 1), 1));
    assert_int_equal(linear_sum(f, linear_sum(f, x, y, 2), linear_sum(f, x, y, 2), (u64)-1), linear_constant(f, 64, 0));
    assert_int_not_equal(linear_sum(f, x, y, 2), linear_sum(f, x, y, 3));
    LinearId narrow = linear_term(f, term_value(f, 32, 1));
    assert_int_equal(linear_scale(f, narrow, (u64)1 << 32), linear_constant(f, 32, 0)); /* modulo the width */
    assert_int_not_equal(narrow, x);
    i64 difference;
    assert_true(linear_difference(f, linear_sum(f, x, c, 1), x, &difference));
    assert_int_equal(difference, -5);
    assert_false(linear_difference(f, x, y, &difference));
    linear_free(f);
    arena_free(&arena);
}

static void extensions_are_not_sums(void **state)
{
    (void)state;
    Arena arena = {0};
    LinearExprs *f = linear_new(&arena);
    LinearId x = linear_term(f, term_value(f, 32, 1)), next = linear_sum(f, x, linear_constant(f, 32, 1), 1);
    i64 difference;
    assert_false(linear_difference(f, linear_extend(f, x, true), linear_extend(f, next, true), &difference));
    assert_int_not_equal(linear_extend(f, x, true), linear_extend(f, x, false));
    assert_int_equal(linear_low(f, linear_extend(f, next, true)), next);
    assert_int_equal(linear_low(f, linear_extend(f, next, false)), next);
    assert_int_equal(linear_extend(f, linear_constant(f, 32, 0xffffffff), true), linear_constant(f, 64, UINT64_MAX));
    assert_int_equal(linear_extend(f, linear_constant(f, 32, 0xffffffff), false), linear_constant(f, 64, 0xffffffff));
    linear_free(f);
    arena_free(&arena);
}

static void too_many_terms_are_no_form(void **state)
{
    (void)state;
    Arena arena = {0};
    LinearExprs *f = linear_new(&arena);
    LinearId sum = linear_constant(f, 64, 0);
    for (u32 k = 1; k <= LINEAR_TERMS; k++)
        sum = linear_sum(f, sum, linear_term(f, term_value(f, 64, k)), 1);
    assert_int_not_equal(sum, 0);
    assert_int_equal(linear_sum(f, sum, linear_term(f, term_value(f, 64, 99)), 1), 0);
    assert_int_equal(linear_sum(f, 0, sum, 1), 0);
    linear_free(f);
    arena_free(&arena);
}

static void zeros_hold(void **state)
{
    (void)state;
    Arena arena = {0};
    LinearExprs *f = linear_new(&arena);
    LinearId x = linear_term(f, term_value(f, 32, 1));
    assert_int_equal(linear_zeros(f, x), 0);
    assert_int_equal(linear_zeros(f, linear_scale(f, x, 24)), 3);
    assert_int_equal(linear_zeros(f, linear_sum(f, linear_scale(f, x, 8), linear_constant(f, 32, 4), 1)), 2);
    assert_int_equal(linear_zeros(f, linear_constant(f, 32, 0)), 32);
    LinearId wide = linear_extend(f, linear_scale(f, x, 16), false);
    assert_int_equal(linear_zeros(f, wide), 4);
    assert_int_equal(linear_zeros(f, linear_scale(f, wide, 2)), 5);
    linear_free(f);
    arena_free(&arena);
}

static u32 random_state = 7;
static u32 below(u32 bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (u32)(((u64)random_state * bound) >> 32);
}

enum { NUMBERS = 4, STEPS = 40, TRIALS = 300 };

/* LinearExprs made at random beside the numbers that they stand for, under two sets of values. */
static void forms_are_what_they_stand_for(void **state)
{
    (void)state;
    for (u32 trial = 0; trial < TRIALS; trial++) {
        Arena arena = {0};
        LinearExprs *f = linear_new(&arena);
        u64 value[2][NUMBERS], number[2][STEPS];
        LinearId expr[STEPS], made[2][NUMBERS] = {{0}};
        for (u32 k = 0; k < 2 * NUMBERS; k++)
            value[k / NUMBERS][k % NUMBERS] = below(3) ? below(9) : (u64)below(UINT32_MAX) << 32 | below(UINT32_MAX);
        for (u32 n = 0; n < STEPS; n++) {
            u32 a = n ? below(n) : 0, b = n ? below(n) : 0, kind = n < 6 ? 0 : below(6);
            u64 scale = below(2) ? (u64)1 << below(40) : (u64)0 - below(5);
            bool narrow = n & 1;
            for (u32 k = 0; k < 6 && kind && linear_at(f, expr[a])->bits != linear_at(f, expr[b])->bits; k++)
                b = below(n);
            if (kind && linear_at(f, expr[a])->bits != linear_at(f, expr[b])->bits)
                b = a;
            u32 bits = kind ? linear_at(f, expr[a])->bits : narrow ? 32 : 64;
            expr[n] = 0;
            if (kind == 1 || kind == 2)
                expr[n] = linear_sum(f, expr[a], expr[b], scale);
            else if (kind == 3)
                expr[n] = linear_scale(f, expr[a], scale);
            else if (kind >= 4 && bits == 32)
                expr[n] = linear_extend(f, expr[a], kind == 4);
            else if (kind >= 4)
                expr[n] = linear_low(f, expr[a]);
            for (u32 s = 0; s < 2 && expr[n]; s++) {
                u64 x = number[s][a];
                number[s][n] = kind <= 2    ? cut(x + scale * number[s][b], bits)
                               : kind == 3  ? cut(scale * x, bits)
                               : bits == 64 ? cut(x, 32)
                               : kind == 4  ? (u64)(i64)(i32)x
                                            : x;
            }
            if (!expr[n]) {
                u32 which = below(NUMBERS);
                if (!made[narrow][which])
                    made[narrow][which] = linear_term(f, term_value(f, narrow ? 32 : 64, which));
                expr[n] = made[narrow][which];
                for (u32 s = 0; s < 2; s++)
                    number[s][n] = cut(value[s][which], narrow ? 32 : 64);
            }
            for (u32 s = 0; s < 2; s++) {
                assert_int_equal(evaluate(f, expr[n], value[s]), number[s][n]);
                assert_int_equal(
                    number[s][n] & ((linear_zeros(f, expr[n]) < 64 ? (u64)1 << linear_zeros(f, expr[n]) : 0) - 1), 0);
            }
        }
        linear_free(f);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sums_are_one),
        cmocka_unit_test(extensions_are_not_sums),
        cmocka_unit_test(too_many_terms_are_no_form),
        cmocka_unit_test(zeros_hold),
        cmocka_unit_test(forms_are_what_they_stand_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
