/* invariant-division: divides by loop invariants with a reciprocal that is computed once, in front of the loop.
 *
 *     LOOP: div.u32 q, a, d;                   div.u32 r, 2^32 - 1, d;   setp.eq.u32 zero, d, 0;
 *           rem.u32 m, a, d;                   neg.s32 n, d;
 *           ...                          LOOP: mul.hi.u32 q0, a, r;      mad.lo.u32 m0, q0, n, a;
 *           @p bra LOOP;                       setp.ge.u32 low, m0, d;
 *                                        to    add.u32 q1, q0, 1;        sub.u32 m1, m0, d;
 *                                              selp.b32 q2, q1, q0, low;    selp.b32 m2, m1, m0, low;
 *                                              selp.b32 q, -1, q2, zero;     selp.b32 m, -1, m2, zero;
 *                                              ...
 *                                              @p bra LOOP;
 *
 * Sound: let d be at least 1, r = floor((2^32 - 1) / d), so that r d = 2^32 - 1 - e with 0 <= e < d, and a < 2^32. Then
 * a / d - a r / 2^32 = a (2^32 - r d) / (2^32 d) = a (1 + e) / (2^32 d) < (1 + e) / d <= 1. So q0 = floor(a r / 2^32) is
 * floor(a / d) or one less, and m0 = a - q0 d is less than 2 d. Only where 2 d wraps may something wrap: m0 is then a -
 * q0 d <= a < 2^32 all the same. One correction is exact. PTX leaves the quotient and the remainder by zero to the
 * machine. ptxas has all ones for both, of either sign, and so has the rewritten code (tests/ptxas/DIVISIONS.md).
 *
 * Signed numbers are divided by their absolute values, unsigned, and get their signs afterwards. The quotient's sign is
 * that of a xor d, the remainder's that of a. The quotient of -2^31 by -1 is 2^31, which is -2^31, as ptxas has it.
 *
 * The code in front of the loop cannot fault, and nobody else reads its results. No edge is added, and no thread newly waits for
 * another one.
 *
 * Pays where the loop runs three times or more (tests/ptxas/DIVISIONS.md). ptxas makes 16 to 26 instructions of a
 * division, and always corrects twice. Unless the division stands in the loop's first block, it computes the reciprocal
 * anew in each iteration. In front of the loop it makes one such division of the reciprocal. div and rem of the same
 * operands share the estimate.
 *
 * Declines: constant divisors, by which ptxas divides in fewer instructions; guarded divisions; divisors for which no division is
 * executed in every iteration, except 32-bit divisions that compilers write beside a 64-bit one; loops that contain loops, or are
 * beside deeper ones, which take the time; loops with too many live-in registers. */
#include "analysis/loop_test.h"
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/division/sites.h"
#include "transform/loop_entry.h"

/* ---- instructions ------------------------------------------------------------------------------------------------------- */

static Operand one_of(const Builder *at, Opcode opcode, OpParts parts, Operand a)
{
    return register_operand(build_unary(at, opcode, parts, TYPE_B32, a));
}

static Operand two_of(const Builder *at, Opcode opcode, OpParts parts, Operand a, Operand b)
{
    return register_operand(build_binary(at, opcode, parts, TYPE_B32, a, b));
}

static RegId compare(const Builder *at, Cmp cmp, Type type, Operand a, Operand b)
{
    return build_binary(at, OPC_SETP, (OpParts){.cmp = cmp, .type = {type}}, TYPE_PRED, a, b);
}

/* Chooses by a predicate, in the register `to`; 0: in a new one. */
static Operand choose(const Builder *at, RegId to, Operand yes, Operand no, RegId which)
{
    Operand slots[] = {register_operand(to ? to : reg_new(at->fn, TYPE_B32)), yes, no, register_operand(which)};
    build(at, OPC_SELP, (OpParts){.type = {TYPE_B32}}, slots, COUNT_OF(slots));
    return slots[0];
}

static Operand zero(void) { return build_integer(0, 32, false); }

/* ---- in front of the loop ------------------------------------------------------------------------------------------------ */

static void build_divisor(Divisor *d, Function *fn)
{
    Builder at = build_at_end(loop_entry_block(fn, d->loop));
    OpParts of_signed = {.type = {TYPE_S32}}, of_unsigned = {.type = {TYPE_U32}};
    d->value = d->remade ? build_clone(&at, d->remade, fn_reg(fn, d->reg)->type) : d->reg;
    Operand value = register_operand(d->value), magnitude = value;
    if (d->is_signed)
        magnitude = one_of(&at, OPC_ABS, of_signed, value);
    d->magnitude = magnitude.id;
    d->reciprocal = two_of(&at, OPC_DIV, of_unsigned, build_integer(UINT32_MAX, 32, false), magnitude).id;
    d->opposite = one_of(&at, OPC_NEG, of_signed, magnitude).id;
    if (d->may_be_zero)
        d->is_zero = compare(&at, CMP_EQ, TYPE_U32, value, zero());
}

/* ---- in the loop --------------------------------------------------------------------------------------------------------- */

/* Makes the quotient of the magnitudes, or one less, and the predicate that tells which. */
static void build_estimate(const Builder *at, Division *x, const Divisor *d)
{
    Operand a = register_operand(x->dividend);
    if (d->is_signed)
        a = one_of(at, OPC_ABS, (OpParts){.type = {TYPE_S32}}, a);
    x->magnitude = a.id;
    Operand q = two_of(at, OPC_MUL, (OpParts){.high = true, .type = {TYPE_U32}}, a, register_operand(d->reciprocal));
    const OpInfo *mad = isa_op(at->fn->module->isa, OPC_MAD, (OpParts){.low = true, .type = {TYPE_U32}});
    x->estimate = q.id;
    x->remainder = build_value(at, mad, TYPE_B32, (Operand[]){q, register_operand(d->opposite), a}, 3);
    x->is_low = compare(at, CMP_GE, TYPE_U32, register_operand(x->remainder), register_operand(d->magnitude));
}

static Operand corrected(const Builder *at, const Division *x, const Divisor *d, RegId to)
{
    OpParts type = {.type = {TYPE_U32}};
    Operand from = register_operand(x->is_remainder ? x->remainder : x->estimate);
    Operand more = x->is_remainder ? two_of(at, OPC_SUB, type, from, register_operand(d->magnitude))
                                   : two_of(at, OPC_ADD, type, from, build_integer(1, 32, false));
    return choose(at, to, more, from, x->is_low);
}

/* The result is negative where the dividend is, and a quotient where only one of both operands is. */
static Operand with_sign(const Builder *at, const Division *x, const Divisor *d, RegId to, Operand result)
{
    Operand sign = register_operand(x->dividend);
    if (!x->is_remainder)
        sign = two_of(at, OPC_XOR, (OpParts){.type = {TYPE_B32}}, sign, register_operand(d->value));
    RegId is_negative = compare(at, CMP_LT, TYPE_S32, sign, zero());
    return choose(at, to, one_of(at, OPC_NEG, (OpParts){.type = {TYPE_S32}}, result), result, is_negative);
}

static void build_result(const Builder *at, const Division *x, const Divisor *d)
{
    RegId to = operand_plain_register(instr_operand(x->i, 0));
    Operand result = corrected(at, x, d, d->is_signed || x->may_be_zero ? 0 : to);
    if (d->is_signed)
        result = with_sign(at, x, d, x->may_be_zero ? 0 : to, result);
    if (x->may_be_zero)
        choose(at, to, build_integer(UINT32_MAX, 32, true), result, d->is_zero);
}

/* ---- the phase ----------------------------------------------------------------------------------------------------------- */

static u64 key_of(const Division *x) { return (u64)x->divisor << 32 | x->value; }

/* Takes over what an earlier division of the same operands made, where every path comes from it. */
static bool shares(Analyses *an, const Divisions *all, const FnvMap *built, Division *x)
{
    const u64 *place = x->value ? fnvmap_find(built, key_of(x)) : NULL;
    const Division *first = place ? &all->v.v[*place] : NULL;
    if (!first || !dominates(an_dom(an), first->block, x->block))
        return false;
    x->magnitude = first->magnitude;
    x->estimate = first->estimate;
    x->remainder = first->remainder;
    x->is_low = first->is_low;
    return true;
}

static bool rewrite(Analyses *an, PhaseRun *run, Divisions *all, FnvMap *built, u32 number)
{
    Division *x = &all->v.v[number];
    Divisor *d = &all->divisors.v[x->divisor];
    if (!phase_rewrite_at(run, "DivisionSplit", x->i,
                          "the divisor does not change in the loop: its reciprocal is computed in front of it"))
        return false;
    if (!d->reciprocal)
        build_divisor(d, an->fn);
    Builder at = build_before(x->i);
    if (!shares(an, all, built, x)) {
        build_estimate(&at, x, d);
        if (x->value)
            *fnvmap_at(built, key_of(x)) = number;
    }
    build_result(&at, x, d);
    instr_remove(x->i);
    return true;
}

Phase phase_invariant_division;
PhaseResult phase_invariant_division(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    Divisions all = {0};
    FnvMap built = {0};
    bool changed = false;
    divisions_find(an, run, &all);
    if (all.v.n)
        an_freeze(an, AN_DOM | AN_LOOPS);
    for (u32 k = 0; k < all.v.n; k++)
        changed |= rewrite(an, run, &all, &built, k);
    fnvmap_free(&built);
    divisions_free(&all);
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
