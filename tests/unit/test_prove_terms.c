/* Terms of the prover against arithmetic in C: random expressions over a few symbols, with what is true of their values as
 * facts. What the prover says of an expression must hold of its value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "check/prove/prover.h"

enum { EXPRESSIONS = 60, SYMBOLS = 4, ROUNDS = 1500, INTEGERS = 12, FEW_ROUNDS = 150 /* of slow questions */ };

typedef struct Value {
    Term term;
    u64 number;
    u32 bits;
} Value;

typedef struct Rig {
    Arena arena;
    Prover p;
    ProveOptions options;
    u64 random;
    Value v[EXPRESSIONS];
    u32 n;
} Rig;

static u64 draw(Rig *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random * 0x9e3779b97f4a7c15u >> 8;
}

static u64 draw_number(Rig *r, u32 bits)
{
    u64 x = draw(r);
    switch (draw(r) % 5) {
    case 0: x &= 15; break;
    case 1: x = 0 - (x & 15); break;
    case 2: x = (u64)1 << (x & 63); break;
    case 3: x = ((u64)1 << (bits - 1)) + (x & 3) - 1; break;
    default: x ^= x << 40; break;
    }
    return x & prove_mask(bits);
}

static u32 draw_bits(Rig *r)
{
    static const u32 bits[] = {1, 8, 16, 32, 32, 32, 64, 64};
    return bits[draw(r) % COUNT_OF(bits)];
}

static void push(Rig *r, Term term, u64 number, u32 bits)
{
    assert_int_equal(prove_bits(&r->p.t, term), bits);
    r->v[r->n++] = (Value){term, number & prove_mask(bits), bits};
}

/* An older value of that width, or a constant. */
static Value pick(Rig *r, u32 bits)
{
    for (u32 k = 0; k < 8; k++) {
        Value v = r->v[draw(r) % r->n];
        if (v.bits == bits)
            return v;
    }
    u64 number = draw_number(r, bits);
    return (Value){prove_const(&r->p.t, number, bits), number, bits};
}

static void push_symbols(Rig *r)
{
    for (u32 k = 0; k < SYMBOLS * 4; k++) {
        static const u32 width[] = {8, 16, 32, 64};
        u32 bits = width[k % 4];
        push(r, prove_sym(&r->p.t, PROVE_SYM_EVENT, 1, k, 0, bits), draw_number(r, bits), bits);
    }
}

/* What a path may know: something true, of any value there is so far. */
static void learn_something(Rig *r)
{
    const Value *v = &r->v[draw(r) % r->n];
    Sets *s = &r->p.t.sets;
    u64 most = prove_most(&r->p.t, v->term), lo = v->number, hi = v->number;
    u64 below = draw_number(r, v->bits) >> (draw(r) % v->bits), above = draw_number(r, v->bits) >> (draw(r) % v->bits);
    lo = below > lo ? 0 : lo - below;
    hi = above > most - hi ? most : hi + above;
    SetId set = prove_set_range(s, lo, hi);
    if (draw(r) % 3 == 0) {
        u64 hole = draw_number(r, v->bits);
        if (hole != v->number)
            set = prove_set_and(s, set, prove_set_not(s, prove_set_range(s, hole, hole), most));
    }
    assert_true(prove_learn(&r->p, v->term, set));
}

static u64 logic_of(u32 lut, u64 a, u64 b, u64 c, u32 bits)
{
    u64 x = 0;
    for (u32 k = 0; k < bits; k++)
        x |= (u64)(lut >> ((a >> k & 1) | (b >> k & 1) << 1 | (c >> k & 1) << 2) & 1) << k;
    return x;
}

static u64 shifted(TermOp op, u64 x, u64 by, u32 bits)
{
    if (op == TERM_SAR)
        return (u64)(prove_signed(x, bits) >> (by >= bits ? bits - 1 : by));
    return by >= bits ? 0 : op == TERM_SHL ? x << by : x >> by;
}

static u32 relation_of(u64 a, u64 b, u32 bits)
{
    i64 x = prove_signed(a, bits), y = prove_signed(b, bits);
    return a == b ? PROVE_EQ : x < y ? (a < b ? PROVE_SLT_ULT : PROVE_SLT_UGT) : a < b ? PROVE_SGT_ULT : PROVE_SGT_UGT;
}

static void push_arithmetic(Rig *r, u32 bits)
{
    Terms *t = &r->p.t;
    Value a = pick(r, bits), b = pick(r, bits), c = pick(r, bits);
    u64 by = draw_number(r, bits);
    u32 lut = draw(r) & 0xff;
    switch (draw(r) % 8) {
    case 0: push(r, prove_add(t, a.term, b.term), a.number + b.number, bits); break;
    case 1: push(r, prove_sub(t, a.term, b.term), a.number - b.number, bits); break;
    case 2: push(r, prove_mul(t, a.term, b.term), a.number * b.number, bits); break;
    case 3: push(r, prove_scale(t, a.term, by), a.number * by, bits); break;
    case 4: push(r, prove_plus(t, a.term, by), a.number + by, bits); break;
    case 5: push(r, prove_not(t, a.term), ~a.number, bits); break;
    case 6:
        push(r, prove_logic(t, lut, a.term, b.term, c.term, 3), logic_of(lut, a.number, b.number, c.number, bits), bits);
        break;
    default: push(r, prove_and(t, a.term, b.term), a.number & b.number, bits); break;
    }
}

static void push_shift(Rig *r, u32 bits)
{
    static const TermOp op[] = {TERM_SHL, TERM_SHR, TERM_SAR};
    TermOp how = op[draw(r) % 3];
    Value a = pick(r, bits), by = pick(r, 32);
    if (draw(r) % 4) {
        by.number = draw(r) % (bits + 2);
        by.term = prove_const(&r->p.t, by.number, 32);
    }
    push(r, prove_shift(&r->p.t, how, a.term, by.term), shifted(how, a.number, by.number, bits), bits);
}

static void push_resized(Rig *r, u32 bits)
{
    Value a = pick(r, draw_bits(r));
    bool sign = draw(r) & 1;
    push(r, prove_resize(&r->p.t, a.term, bits, sign), sign ? (u64)prove_signed(a.number, a.bits) : a.number, bits);
}

static void push_condition(Rig *r, u32 bits)
{
    Terms *t = &r->p.t;
    Value a = pick(r, bits), b = pick(r, bits);
    u32 relations = draw(r) & 31;
    if (draw(r) % 2) {
        push(r, prove_rel(t, a.term, b.term, relations), relations >> relation_of(a.number, b.number, bits) & 1, 1);
        return;
    }
    u64 x = draw_number(r, bits), y = draw_number(r, bits), lo = x < y ? x : y, hi = x < y ? y : x;
    push(r, prove_in(t, a.term, prove_set_range(&t->sets, lo, hi)), a.number >= lo && a.number <= hi, 1);
}

static void push_something(Rig *r)
{
    u32 bits = draw_bits(r);
    Value c, a, b;
    switch (draw(r) % 6) {
    case 0:
    case 1: push_arithmetic(r, bits); break;
    case 2: push_shift(r, bits == 1 ? 32 : bits); break;
    case 3: push_resized(r, bits); break;
    case 4: push_condition(r, bits); break;
    default:
        c = pick(r, 1), a = pick(r, bits), b = pick(r, bits);
        push(r, prove_ite(&r->p.t, c.term, a.term, b.term), c.number ? a.number : b.number, bits);
    }
}

/* The number that a term is where the symbols are what they are. */
static u64 number_of(Rig *r, Term x)
{
    Terms *t = &r->p.t;
    Subst s = {0};
    for (u32 k = 0; k < SYMBOLS * 4; k++)
        *fnvmap_at(&s.map, r->v[k].term) = prove_const(t, r->v[k].number, r->v[k].bits);
    Term made = prove_subst(t, &s, x);
    fnvmap_free(&s.map);
    assert_true(prove_is_const(t, made));
    return prove_node(t, made)->value;
}

static void check_values(Rig *r)
{
    Term atom;
    for (u32 k = 0; k < r->n; k++) {
        const Value *v = &r->v[k];
        assert_true(number_of(r, v->term) == v->number);
        assert_true(prove_set_has(&r->p.t.sets, prove_known(&r->p, v->term), v->number));
        assert_true(number_of(r, prove_simplify(&r->p, v->term)) == v->number);
        if (v->bits == 1) {
            int is = prove_decide(&r->p, v->term, &atom);
            assert_true(is < 0 || (u64)is == v->number);
        }
    }
    for (u32 k = 0; k < r->n; k++) {
        Value a = r->v[draw(r) % r->n], b = r->v[draw(r) % r->n];
        if (a.bits == b.bits && prove_equal(&r->p, a.term, b.term))
            assert_true(a.number == b.number);
    }
}

static void free_rig(Rig *r)
{
    prove_facts_free(&r->p.facts);
    prove_terms_free(&r->p.t);
    intern_free(&r->p.names);
    arena_free(&r->arena);
}

static void init_rig(Rig *r, u32 round)
{
    r->random = 0x2545f4914f6cdd1du + round;
    r->p.arena = &r->arena;
    r->p.options = &r->options;
    intern_init(&r->p.names, &r->arena);
    prove_terms_init(&r->p.t, &r->arena, &r->p.names);
    push_symbols(r);
}

/* Of a bitwise function, less a number that it can be: whether it is 0, for the symbols as they are, and with one bit changed. */
static void test_zero_of_bitwise_functions(void **state)
{
    (void)state;
    u32 zeros = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        Rig r = {0};
        init_rig(&r, round);
        Terms *t = &r.p.t;
        u32 bits = r.v[round % 4].bits, lut = draw(&r) & 0xff, other = draw(&r) & 0xff;
        Value *v[] = {&r.v[round % 4], &r.v[round % 4 + 4], &r.v[round % 4 + 8]};
        u64 mask = draw_number(&r, bits);
        Term inner = prove_logic(t, lut, v[0]->term, v[1]->term, draw(&r) % 2 ? prove_const(t, mask, bits) : v[2]->term, 3);
        Term x = prove_logic(t, other, inner, v[draw(&r) % 3]->term, prove_const(t, draw_number(&r, bits), bits), 3);
        x = prove_xor(t, x, prove_const(t, number_of(&r, x), bits));
        Term is_zero = prove_in(t, x, prove_set_range(&t->sets, 0, 0));
        Term is_not = prove_in(t, x, prove_set_range(&t->sets, 1, prove_mask(bits)));
        assert_true(number_of(&r, is_zero) == 1 && number_of(&r, is_not) == 0);
        for (u32 k = 0; k < 3 * bits; k++) {
            v[k % 3]->number ^= (u64)1 << k / 3;
            assert_true(number_of(&r, is_zero) == (number_of(&r, x) == 0));
            assert_true(number_of(&r, is_not) == (number_of(&r, x) != 0));
            zeros += number_of(&r, x) == 0;
            if (draw(&r) % 2)
                v[k % 3]->number ^= (u64)1 << k / 3;
        }
        free_rig(&r);
    }
    assert_true(zeros > ROUNDS);
}

static void test_values_of_random_expressions(void **state)
{
    (void)state;
    for (u32 round = 0; round < ROUNDS; round++) {
        Rig r = {0};
        init_rig(&r, round);
        for (u32 k = draw(&r) % 8; k > 0; k--)
            learn_something(&r);
        while (r.n < EXPRESSIONS) {
            push_something(&r);
            if (draw(&r) % 8 == 0)
                learn_something(&r);
        }
        check_values(&r);
        free_rig(&r);
    }
}

/* A sum, a product, or a number without some of its bits, of 32 bits or of 64. */
static void push_integer(Rig *r)
{
    static const u64 mask[] = {~(u64)1, ~(u64)3, ~(u64)7, ~(u64)5, 3, 255};
    Terms *t = &r->p.t;
    u32 bits = draw(r) % 8 ? 32 : 64, by = (u32)(draw(r) % 9), how = (u32)(draw(r) % COUNT_OF(mask));
    Value a = pick(r, bits), b = pick(r, bits), narrow = pick(r, 32);
    switch (draw(r) % 9) {
    case 0: push(r, prove_add(t, a.term, b.term), a.number + b.number, bits); break;
    case 1: push(r, prove_sub(t, a.term, b.term), a.number - b.number, bits); break;
    case 2: push(r, prove_mul(t, a.term, b.term), a.number * b.number, bits); break;
    case 3: push(r, prove_scale(t, a.term, by), a.number * by, bits); break;
    case 4:
    case 5: push(r, prove_plus(t, a.term, by - (u64)4), a.number + by - 4, bits); break;
    case 6:
        push(r, prove_and(t, a.term, prove_const(t, mask[how] & prove_mask(bits), bits)), a.number & mask[how], bits);
        break;
    case 7: push(r, prove_shift(t, TERM_SHR, a.term, prove_const(t, by, 32)), a.number >> by, bits); break;
    default: push(r, prove_zext(t, narrow.term, 64), narrow.number, 64); break;
    }
}

/* A condition of two values of one width, and whether it holds. */
static Term compare_two(Rig *r, bool *holds)
{
    u32 bits = draw(r) % 8 ? 32 : 64;
    static const u32 relations[] = {10, 11, 20, 21, 6, 7, 24, 25, 1, 30};
    u32 asked = relations[draw(r) % COUNT_OF(relations)];
    Value a = pick(r, bits), b = pick(r, bits);
    *holds = asked >> relation_of(a.number, b.number, bits) & 1;
    return prove_rel(&r->p.t, a.term, b.term, asked);
}

/* What a path knows of two values, or of one. False: that says nothing. */
static void learn_integers(Rig *r)
{
    bool holds;
    Term said = compare_two(r, &holds), atom = said;
    bool is_not = prove_node(&r->p.t, said)->op == TERM_LOGIC && prove_node(&r->p.t, said)->n == 1;
    atom = is_not ? prove_kid(&r->p.t, said, 0) : said;
    if (prove_node(&r->p.t, atom)->op == TERM_IN)
        assert_true(prove_assume(&r->p, atom, holds != is_not));
}

static void test_integers_of_random_sums(void **state)
{
    (void)state;
    u32 decided = 0;
    for (u32 round = 0; round < FEW_ROUNDS; round++) {
        Rig r = {.p.plan = {.counts = true, .iterates = true, .step_limit = UINT32_MAX / 2}};
        init_rig(&r, round);
        for (r.n = 0; r.n < SYMBOLS;) {
            u64 number = draw_number(&r, 32);
            push(&r, prove_sym(&r.p.t, PROVE_SYM_EVENT, 1, r.n, 0, 32), draw(&r) % 3 ? number % 40 : number, 32);
        }
        while (r.n < INTEGERS) {
            push_integer(&r);
            learn_integers(&r);
        }
        for (u32 k = 0; k < 20; k++) {
            bool holds;
            Term atom, asked = compare_two(&r, &holds);
            int is = prove_decide(&r.p, asked, &atom);
            decided += is >= 0 && !prove_is_const(&r.p.t, asked);
            assert_true(is < 0 || is == holds);
        }
        free_rig(&r);
    }
    assert_true(decided > FEW_ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_random_expressions),
        cmocka_unit_test(test_zero_of_bitwise_functions),
        cmocka_unit_test(test_integers_of_random_sums),
    };
    return cmocka_run_group_tests_name("prove_terms", tests, NULL, NULL);
}
