/* Several tests of 32-bit values for zero become one. The logic instruction of the machine has three inputs, and makes a
 * predicate that says whether its result is zero. All terms of a conjunction hold where the `or` of the values that they
 * test is zero:
 *
 *     x == 0 & (y & m) == 0         t = y & m; u = x | t           !(u != 0)
 *     x == 0 & y == z               t = y ^ z; u = x | t           !(u != 0)
 *     x == 0 & y == 0 & z == 0      t = x | y; u = t | z           !(u != 0)
 *
 *     (x & 4) != 0 & (y & m) == 0   t = ~x & 4; u = y & m; v = t | u       !(v != 0)
 *     (x & 4) != 0 & (x & 3) == 0   t = x ^ 4; u = t & 7                   !(u != 0)
 *
 * By De Morgan a disjunction is rewritten if its terms test for not zero. A term of the opposite sense joins them only if
 * it tests one bit of a value.
 *
 * ptxas 12.5 and later make the same of lop3 as of two instructions; older ones make worse code of lop3. ptxas 12.5 to 13.5
 * crash on a branch on `setp.eq` of a lop3's result with zero: neither this file nor transform/condition.c writes that. */
#include <string.h>

#include "ir/builder.h"
#include "ir/inspect.h"
#include "transform/condition.h"
#include "phase/nested/truth_emit.h"

/* Truth tables for lop3 of `a & b | c`, `~a & b | c` and `a ^ b | c`: its inputs a, b and c are 0xF0, 0xCC and 0xAA. */
enum { LUT_AND_OR = ((0xF0 & 0xCC) | 0xAA), LUT_WITHOUT_OR = ((0x0F & 0xCC) | 0xAA), LUT_XOR_OR = ((0xF0 ^ 0xCC) | 0xAA) };

/* The value that is tested for zero: x, x & y, or x ^ y. */
typedef enum ZeroForm { ZERO_PLAIN, ZERO_BITS, ZERO_EQUAL } ZeroForm;

typedef struct ZeroTest {
    ZeroForm form;
    Operand x, y;
    u32 set; /* ZERO_BITS: bits of the mask y that must be set in x; the others must be clear */
    u32 at;  /* index of the term in the list */
    Instr *setp;
    Instr *feed; /* the `and` that only the setp reads, or NULL */
} ZeroTest;

typedef struct ZeroTests {
    ZeroTest v[TRUTH_LEAVES];
    u32 n, of_form[3];
} ZeroTests;

static bool is_source(const Operand *o) { return operand_plain_register(o) || o->kind == OPND_IMM; }

/* The `and` whose result only the setp reads, if it can be computed at the branch as well; otherwise NULL. */
static Instr *private_and(const Emit *e, const Instr *setp)
{
    Instr *i = local_definition(setp, setp->opnd[1].id);
    if (!i || i->op->sem.op != OPC_AND || i->op->sem.bits != 32 || i->scope != e->at->scope)
        return NULL;
    bool plain = is_source(&i->opnd[1]) && is_source(&i->opnd[2]);
    return plain && truth_read_only_by(e, i, i->opnd[0].id, setp) && truth_operands_hold(e, i) ? i : NULL;
}

static bool is_one_bit(const Operand *o)
{
    return o->kind == OPND_IMM && (u32)o->value && !((u32)o->value & ((u32)o->value - 1));
}

static bool as_zero_test(const Emit *e, TruthTerm t, bool is_or, ZeroTest *test)
{
    Instr *setp = t.truth->kind == TRUTH_LEAF ? truth_replaceable_setp(e, t.truth) : NULL;
    if (!setp || setp->op->sem.from != 32 || !type_is_integer(setp->op->sem.compared) ||
        (setp->op->cmp != CMP_EQ && setp->op->cmp != CMP_NE))
        return false;
    bool for_zero = ((setp->op->cmp == CMP_EQ) != t.inverted) != is_or;
    if (setp->opnd[1].kind != OPND_REG || !is_source(&setp->opnd[1]) || !is_source(&setp->opnd[2]))
        return false;
    *test = (ZeroTest){.form = ZERO_EQUAL, .x = setp->opnd[1], .y = setp->opnd[2], .setp = setp};
    if (test->y.kind != OPND_IMM || (u32)test->y.value)
        return for_zero;
    test->form = ZERO_PLAIN;
    test->feed = private_and(e, setp);
    if (test->feed) {
        test->form = ZERO_BITS;
        test->x = test->feed->opnd[1];
        test->y = test->feed->opnd[2];
        test->set = for_zero ? 0 : (u32)test->y.value;
    }
    return for_zero || (test->feed && test->x.kind == OPND_REG && is_one_bit(&test->y));
}

static void take(ZeroTests *tests, ZeroTest test)
{
    tests->of_form[test.form]++;
    tests->v[tests->n++] = test;
}

/* Joins the mask with that of an earlier test of the same value; false: there is none. `(x & 6) == 0 & (x & 9) == 0` is `(x
 * & 15) == 0`, and `(x & 4) != 0 & (x & 3) == 0` is `(x & 7) == 4`. */
static bool widen_mask(ZeroTests *tests, const ZeroTest *test)
{
    for (u32 k = 0; k < tests->n; k++) {
        ZeroTest *old = &tests->v[k];
        bool same = old->form == ZERO_BITS && test->form == ZERO_BITS && old->x.kind == OPND_REG && old->x.id == test->x.id;
        if (!same || test->x.kind != OPND_REG || old->y.kind != OPND_IMM || test->y.kind != OPND_IMM)
            continue;
        if ((old->set ^ test->set) & (u32)old->y.value & (u32)test->y.value)
            continue; /* one test wants a bit set that the other wants clear */
        old->y.value |= test->y.value;
        old->set |= test->set;
        return true;
    }
    return false;
}

/* Whether merging pays. *equalities becomes true if that merges tests for equality. An equality costs as much in a lop3
 * as in a setp, so it only pays beside a plain test, which then costs nothing. */
static bool worth_it(const Emit *e, const ZeroTests *tests, bool *equalities)
{
    u32 knob = e->knobs->lop3;
    const Module *m = e->fn->module;
    bool always = knob == LOP3_ALWAYS;
    *equalities = always || tests->of_form[ZERO_PLAIN];
    if (knob == LOP3_NEVER || (m->version_major == 4 && m->version_minor < 3) || m->version_major < 4)
        return false;
    return tests->of_form[ZERO_PLAIN] + tests->of_form[ZERO_BITS] + (*equalities ? tests->of_form[ZERO_EQUAL] : 0) > 1;
}

static const OpParts words = {.type = {TYPE_B32}};

static RegId emit_or(const Emit *e, RegId a, RegId b)
{
    Builder at = build_before(e->at);
    return build_binary(&at, OPC_OR, words, TYPE_B32, register_operand(a), register_operand(b));
}

/* Whether lop3 is written. .version 8.5, which CUDA 12.5 brought, stands for a ptxas that makes good code of it. */
static bool spells_lop3(const Emit *e)
{
    const Module *m = e->fn->module;
    u32 knob = e->knobs->lop3;
    return knob == LOP3_ALWAYS ||
           (knob == LOP3_AUTO && (m->version_major > 8 || (m->version_major == 8 && m->version_minor >= 5)));
}

/* A register that is zero where the test, some of whose bits must be set, holds and `all`, if it is a register, is zero. */
static RegId add_set_bits(const Emit *e, const ZeroTest *test, RegId all)
{
    bool whole = test->set == (u32)test->y.value;
    Builder at = build_before(e->at);
    Operand set = {.kind = OPND_IMM, .value = test->set}, table = {.kind = OPND_IMM, .value = LUT_WITHOUT_OR};
    if (whole && spells_lop3(e)) {
        Operand sources[4] = {test->x, test->y, all ? register_operand(all) : (Operand){.kind = OPND_IMM}, table};
        return build_value(&at, isa_op(e->fn->module->isa, OPC_LOP3, words), TYPE_B32, sources, 4);
    }
    RegId inverted = whole ? build_unary(&at, OPC_NOT, words, TYPE_B32, test->x)
                           : build_binary(&at, OPC_XOR, words, TYPE_B32, test->x, set);
    RegId one = build_binary(&at, OPC_AND, words, TYPE_B32, register_operand(inverted), test->y);
    return all ? emit_or(e, all, one) : one;
}

/* A register that is zero where the test holds and `all`, if it is a register, is zero. */
static RegId add_logic(const Emit *e, const ZeroTest *test, RegId all)
{
    bool bits = test->form == ZERO_BITS;
    Builder at = build_before(e->at);
    if (test->set)
        return add_set_bits(e, test, all);
    Operand table = {.kind = OPND_IMM, .value = bits ? LUT_AND_OR : LUT_XOR_OR};
    if (all && spells_lop3(e)) {
        Operand sources[4] = {test->x, test->y, register_operand(all), table};
        return build_value(&at, isa_op(e->fn->module->isa, OPC_LOP3, words), TYPE_B32, sources, 4);
    }
    RegId one = build_binary(&at, bits ? OPC_AND : OPC_XOR, words, TYPE_B32, test->x, test->y);
    return all ? emit_or(e, all, one) : one;
}

/* A register that is zero where all tests hold. */
static RegId emit_tests(const Emit *e, const ZeroTests *tests)
{
    RegId all = 0;
    for (u32 k = 0; k < tests->n; k++)
        if (tests->v[k].form == ZERO_PLAIN)
            all = all ? emit_or(e, all, tests->v[k].x.id) : tests->v[k].x.id;
    for (u32 k = 0; k < tests->n; k++)
        if (tests->v[k].form != ZERO_PLAIN)
            all = add_logic(e, &tests->v[k], all);
    return all;
}

void truth_merge_zero_tests(const Emit *e, TermList *list, bool is_or)
{
    ZeroTests found = {.n = 0}, tests = {.n = 0};
    bool merged[TRUTH_LEAVES] = {false}, equalities;
    for (u32 k = 0; k < list->n; k++) {
        ZeroTest test;
        if (as_zero_test(e, list->v[k], is_or, &test)) {
            test.at = k;
            take(&found, test);
        }
    }
    if (!worth_it(e, &found, &equalities))
        return;
    for (u32 k = 0; k < found.n; k++) {
        merged[found.v[k].at] = equalities || found.v[k].form != ZERO_EQUAL;
        if (merged[found.v[k].at] && !widen_mask(&tests, &found.v[k]))
            take(&tests, found.v[k]);
    }
    Builder at = build_before(e->at);
    RegId all = emit_tests(e, &tests);
    RegId result = build_binary(&at, OPC_SETP, (OpParts){.cmp = CMP_NE, .type = {TYPE_B32}}, TYPE_PRED,
                                register_operand(all), (Operand){.kind = OPND_IMM});
    for (u32 k = 0; k < found.n; k++) {
        if (!merged[found.v[k].at])
            continue;
        instr_remove(found.v[k].setp);
        if (found.v[k].feed)
            instr_remove(found.v[k].feed);
    }
    u32 left = 0;
    for (u32 k = 0; k < list->n; k++)
        if (!merged[k])
            list->v[left++] = list->v[k];
    list->v[left] = truth_leaf(e->an->scratch, result, !is_or);
    list->v[left++].truth->kept = true;
    list->n = left;
    phase_count(e->run, "ZeroTestsMerged", found.n);
}
