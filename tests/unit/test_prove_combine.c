/* Inequalities that random ones add up to: where the facts hold of random numbers, so must the goal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check/prove/combine.h"

enum { ATOMS = 3, FACTS = 5, ROUNDS = 3000, POINTS = 60, GREATEST = 9 };

static u64 seed = 1;

static u32 draw(u32 below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (u32)(seed >> 33) % below;
}

/* Atoms are unsigned: 2 * term. */
static Polynomial random_polynomial(void)
{
    Polynomial p = polynomial_constant((Wide)draw(9) - 4);
    for (u32 k = draw(3) + 1; k > 0; k--) {
        u32 a = 2 * (draw(ATOMS) + 1), b = 2 * (draw(ATOMS) + 1);
        Monomial m = {.coef = (Wide)draw(7) - 3, .n = draw(3) ? 1 : 2, .atom = {a < b ? a : b}};
        if (m.n == 2)
            m.atom[1] = a < b ? b : a;
        polynomial_add(&p, m);
    }
    return p;
}

static Wide value_of(const Polynomial *p, const u32 *number)
{
    Wide sum = 0;
    for (u32 k = 0; k < p->n; k++) {
        Wide product = p->m[k].coef;
        for (u32 i = 0; i < p->m[k].n; i++)
            product *= number[p->m[k].atom[i] / 2];
        sum += product;
    }
    return sum;
}

static bool has_negative(const Polynomial *p)
{
    bool has = false;
    for (u32 k = 0; k < p->n; k++)
        has |= p->m[k].coef < 0;
    return has;
}

static void test_sums_of_random_facts(void **state)
{
    (void)state;
    u32 found = 0, shown = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        Polynomial p[FACTS], g = random_polynomial(), left;
        const Polynomial *fact[FACTS];
        u32 work = 0;
        for (u32 k = 0; k < FACTS; k++) {
            p[k] = random_polynomial();
            fact[k] = &p[k];
        }
        if (!polynomial_combine(&g, fact, FACTS, &left, &work))
            continue;
        found++;
        assert_false(has_negative(&left));
        for (u32 point = 0; point < POINTS; point++) {
            u32 number[ATOMS + 1] = {0, draw(GREATEST), draw(GREATEST), draw(GREATEST)};
            bool holds = true;
            for (u32 k = 0; k < FACTS; k++)
                holds &= value_of(fact[k], number) >= 0;
            shown += holds && has_negative(&g);
            assert_true(!holds || value_of(&g, number) >= 0);
        }
    }
    assert_true(found > ROUNDS / 10);
    assert_true(shown > ROUNDS / 10);
}

/* x x - 2 x + 1 is at least 0 where x is at least 3. Where x is at least 2, x x is not at least 7. */
static void test_square(void **state)
{
    (void)state;
    Monomial x = {.coef = 1, .n = 1, .atom = {2}}, square = {.coef = 1, .n = 2, .atom = {2, 2}};
    Polynomial three = polynomial_constant(-3), two = polynomial_constant(-2), g = polynomial_constant(1), left;
    const Polynomial *at_least_three = &three, *at_least_two = &two;
    u32 work = 0;
    polynomial_add(&three, x);
    polynomial_add(&two, x);
    polynomial_add(&g, square);
    polynomial_add(&g, (Monomial){.coef = -2, .n = 1, .atom = {2}});
    assert_true(polynomial_combine(&g, &at_least_three, 1, &left, &work));
    g = polynomial_constant(-7);
    polynomial_add(&g, square);
    assert_false(polynomial_combine(&g, &at_least_two, 1, &left, &work));
    assert_true(polynomial_combine(&g, &at_least_three, 1, &left, &work));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_random_facts),
        cmocka_unit_test(test_square),
    };
    return cmocka_run_group_tests_name("prove_combine", tests, NULL, NULL);
}
