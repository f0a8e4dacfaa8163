/* The terms that purely computing instructions make of their operands. Integers are exact, and conditions are relations.
 * Everything else is an application of its opcode. */
#include <string.h>

#include "check/prove/machine.h"
#include "check/prove/permute.h"
#include "check/prove/term_division.h"

enum { OPERANDS_MAX = 64, RESULTS_MAX = 16 };

/* One instruction, taken apart. */
typedef struct Compute {
    Machine *m;
    Terms *t;
    const Instr *i;
    const OpInfo *op;
    Term guard;
    const Operand *o[8]; /* top-level operands */
    u32 n;
    u32 bits; /* of the first type */
    bool is_signed;
} Compute;

static bool is_integer(Type type)
{
    TypeClass class = type_class(type);
    return (class == TC_BITS || class == TC_UNSIGNED || class == TC_SIGNED || class == TC_PRED) && type_bits(type) <= 64;
}

static Term source(Compute *c, u32 n, u32 bits) { return prove_operand(c->m, c->o[n], bits); }

static void result(Compute *c, Term x)
{
    if (c->o[0]->kind != OPND_REG)
        return;
    prove_define(c->m, c->guard, c->o[0], prove_resize(c->t, x, prove_reg_bits(c->m, c->o[0]->id), c->is_signed));
}

/* ---- the general case ------------------------------------------------------------------------------------------------ */

static void collect_sources(Compute *c, Term *kid, u32 *n)
{
    u32 width = c->op->types == 1 ? c->bits : 0;
    for_each_slot(o, c->i) {
        if (operand_is_aggregate(o) || o->kind == OPND_SINK || o->role == ROLE_DEF)
            continue;
        if (*n == OPERANDS_MAX) {
            c->m->fault = "an instruction of too many operands";
            return;
        }
        kid[(*n)++] =
            prove_operand(c->m, o, o->kind == OPND_REG || o->kind == OPND_SREG || o->kind == OPND_SYM ? 0 : width);
    }
}

/* Results are numbered, and are each a function of all operands. */
static void apply(Compute *c)
{
    Term kid[OPERANDS_MAX];
    u32 n = 0, number = 0;
    collect_sources(c, kid, &n);
    if (op_has(c->op, OPF_COMMUTES) && n >= 2 && kid[0] > kid[1]) {
        Term swap = kid[0];
        kid[0] = kid[1];
        kid[1] = swap;
    }
    Term made[RESULTS_MAX];
    const Operand *to[RESULTS_MAX];
    for_each_slot(o, c->i) {
        if (operand_is_aggregate(o) || !role_defines((Role)o->role) || number == RESULTS_MAX)
            continue;
        char text[160];
        snprintf(text, sizeof text, number ? "%.120s, result %u" : "%.120s", c->op->text->text, number);
        u32 bits = o->kind == OPND_REG ? prove_reg_bits(c->m, o->id) : 0;
        to[number] = o;
        made[number++] = bits ? prove_apply(c->t, prove_name(c->t, text), bits, kid, n) : 0;
    }
    for (u32 k = 0; k < number; k++)
        if (made[k])
            prove_define(c->m, c->guard, to[k], made[k]);
}

/* ---- integers ---------------------------------------------------------------------------------------------------------- */

/* The application of an operation that compute.c names itself to n terms. */
static Term named(Compute *c, const char *what, bool is_signed, u32 bits, const Term *kid, u32 n)
{
    char text[96];
    snprintf(text, sizeof text, "%.40s %u%s", what, bits, is_signed ? "s" : "u");
    return prove_apply(c->t, prove_name(c->t, text), strcmp(what, "mul.hi") == 0 ? bits : 1, kid, n);
}

static Term carry_in(Compute *c)
{
    Term x = op_has(c->op, OPF_CARRY_IN) ? c->m->reg[CARRY_REG] : prove_bool(c->t, false);
    if (x)
        return x;
    c->m->fault = "the carry is read where it is not known";
    return prove_bool(c->t, false);
}

/* The carry register is written under the guard too. */
static void carry_out(Compute *c, Term carry)
{
    if (!op_has(c->op, OPF_CARRY_OUT))
        return;
    Term old = c->m->reg[CARRY_REG];
    if (!old && !prove_is_const(c->t, c->guard))
        c->m->fault = "the carry is written under a guard where it is not known";
    else
        prove_set_reg(c->m, CARRY_REG, old ? prove_ite(c->t, c->guard, carry, old) : carry);
}

static void add(Compute *c)
{
    bool subtracts = c->op->opcode == OPC_SUB || c->op->opcode == OPC_SUBC;
    Term a = source(c, 1, c->bits), b = source(c, 2, c->bits), in = carry_in(c);
    Term extra = prove_zext(c->t, in, c->bits);
    Term x = subtracts ? prove_sub(c->t, prove_sub(c->t, a, b), extra) : prove_add(c->t, prove_add(c->t, a, b), extra);
    Term first = !subtracts && a > b ? b : a, second = first == a ? b : a;
    Term carry = named(c, subtracts ? "borrow" : "carry", false, c->bits, (Term[]){first, second, in}, 3);
    result(c, x);
    carry_out(c, carry);
}

/* The product of mul and mad, as wide as the result. */
static Term product(Compute *c, u32 *bits)
{
    *bits = c->bits;
    Term a = source(c, 1, c->bits), b = source(c, 2, c->bits);
    if (op_has_modifier(c->op, ".hi"))
        return named(c, "mul.hi", c->is_signed, c->bits, (Term[]){a < b ? a : b, a < b ? b : a}, 2);
    if (op_has_modifier(c->op, ".wide") && c->bits > 32) /* no PTX */
        return named(c, "mul.wide", c->is_signed, c->bits, (Term[]){a, b}, 2);
    if (op_has_modifier(c->op, ".wide")) {
        *bits = c->bits * 2;
        a = prove_resize(c->t, a, *bits, c->is_signed);
        b = prove_resize(c->t, b, *bits, c->is_signed);
    }
    return prove_mul(c->t, a, b);
}

static void multiply(Compute *c)
{
    u32 bits;
    Term x = product(c, &bits);
    if (c->op->opcode == OPC_MUL) {
        result(c, x);
        return;
    }
    Term d = source(c, 3, bits), in = carry_in(c);
    const char *what = op_has_modifier(c->op, ".hi") ? "carry of mad.hi" : "carry of mad";
    Term carry = named(c, what, c->is_signed, bits, (Term[]){x, d, in}, 3);
    result(c, prove_add(c->t, prove_add(c->t, x, d), prove_zext(c->t, in, bits)));
    carry_out(c, carry);
}

/* Combines two conditions as the modifier of setp, set and lop3 says. */
static Term combine(Compute *c, Term x, Term q)
{
    return c->op->bool_op == BOOL_AND  ? prove_and(c->t, x, q)
           : c->op->bool_op == BOOL_OR ? prove_or(c->t, x, q)
                                       : prove_xor(c->t, x, q);
}

static void logic3(Compute *c)
{
    Term a = source(c, 1, 32), b = source(c, 2, 32), d = source(c, 3, 32), lut = source(c, 4, 8);
    if (!prove_is_const(c->t, lut)) {
        apply(c);
        return;
    }
    Term x = prove_logic(c->t, (u32)prove_node(c->t, lut)->value, d, b, a, 3);
    const Operand *to = c->o[0];
    if (to->kind != OPND_PAIR) {
        result(c, x);
        return;
    }
    Sets *s = &c->t->sets;
    Term some = prove_in(c->t, x, prove_set_not(s, prove_set_range(s, 0, 0), prove_mask(32)));
    Term q = c->n > 5 ? source(c, 5, 1) : prove_bool(c->t, false);
    prove_define(c->m, c->guard, to + 1, x);
    prove_define(c->m, c->guard, to + 2, combine(c, some, q));
}

/* ---- comparisons --------------------------------------------------------------------------------------------------------- */

/* 0: integers are not compared so. */
static u32 integer_relations(Cmp cmp, bool is_signed)
{
    const u32 less = is_signed ? 1u << PROVE_SLT_ULT | 1u << PROVE_SLT_UGT : 1u << PROVE_SLT_ULT | 1u << PROVE_SGT_ULT;
    const u32 all = (1u << PROVE_RELS) - 1, equal = 1u << PROVE_EQ, outcomes = cmp > CMP_HS ? 0 : cmp_outcomes(cmp);
    return (outcomes & CMP_IF_LESS ? less : 0) | (outcomes & CMP_IF_EQUAL ? equal : 0) |
           (outcomes & CMP_IF_GREATER ? all & ~(less | equal) : 0);
}

/* 0: numbers are not compared so. */
static u32 float_relations(Cmp cmp)
{
    u32 outcomes = cmp >= CMP_LO && cmp <= CMP_HS ? 0 : cmp_outcomes(cmp);
    return (outcomes & CMP_IF_LESS ? 1u << PROVE_FLT : 0) | (outcomes & CMP_IF_EQUAL ? 1u << PROVE_FEQ : 0) |
           (outcomes & CMP_IF_GREATER ? 1u << PROVE_FGT : 0) | (outcomes & CMP_IF_UNORDERED ? 1u << PROVE_FUN : 0);
}

/* The comparison of the first two sources; 0: it is not modelled. */
static Term compared(Compute *c)
{
    Type type = c->op->type[c->op->types - 1];
    u32 bits = type_bits(type);
    if (is_integer(type)) {
        bool low_high = c->op->cmp == CMP_LO || c->op->cmp == CMP_LS || c->op->cmp == CMP_HI || c->op->cmp == CMP_HS;
        u32 relations = integer_relations(c->op->cmp, type_class(type) == TC_SIGNED && !low_high);
        return relations ? prove_rel(c->t, source(c, 1, bits), source(c, 2, bits), relations) : 0;
    }
    u32 relations = float_relations(c->op->cmp);
    if (!relations || (type != TYPE_F32 && type != TYPE_F64 && type != TYPE_F16 && type != TYPE_BF16))
        return 0;
    char text[32];
    snprintf(text, sizeof text, "%s%s", type_name(type), op_has_modifier(c->op, ".ftz") ? ".ftz" : "");
    return prove_frel(c->t, prove_name(c->t, text), source(c, 1, bits), source(c, 2, bits), relations);
}

static Term combined(Compute *c, Term x) { return c->op->bool_op == BOOL_NONE ? x : combine(c, x, source(c, 3, 1)); }

static void compare(Compute *c)
{
    Term x = compared(c);
    if (!x) {
        apply(c);
        return;
    }
    const Operand *to = c->o[0];
    if (c->op->opcode == OPC_SET) {
        Type type = c->op->type[0];
        if (!is_integer(type) && type != TYPE_F32) {
            apply(c);
            return;
        }
        Term yes = prove_const(c->t, type == TYPE_F32 ? 0x3f800000u : UINT64_MAX, c->bits);
        result(c, prove_ite(c->t, combined(c, x), yes, prove_const(c->t, 0, c->bits)));
        return;
    }
    Term p = combined(c, x), q = combined(c, prove_not(c->t, x));
    if (to->kind != OPND_PAIR) {
        prove_define(c->m, c->guard, to, p);
        return;
    }
    /* The first counts where both are one register, as in ptxas. */
    prove_define(c->m, c->guard, to + 2, q);
    prove_define(c->m, c->guard, to + 1, p);
}

/* ---- moves and conversions ---------------------------------------------------------------------------------------------- */

static void convert(Compute *c)
{
    Type to = c->op->type[0], from = c->op->type[1];
    if (c->op->types != 2 || !is_integer(to) || !is_integer(from) || op_has_modifier(c->op, ".sat") || c->n != 2) {
        apply(c);
        return;
    }
    Term x = prove_resize(c->t, source(c, 1, 0), type_bits(from), false);
    result(c, prove_resize(c->t, x, type_bits(to), type_class(from) == TC_SIGNED));
}

/* Packed values are applications of `pack`; the parts of one are its operands. */
static void unpack(Compute *c, Term x)
{
    const Operand *to = c->o[0] + 1;
    u32 count = (u32)c->o[0]->value, bits = prove_bits(c->t, x), part = bits / count;
    TermNode node = *prove_node(c->t, x);
    bool packed = node.op == TERM_APPLY && node.aux == prove_name(c->t, "pack") && node.n == count;
    Term made[RESULTS_MAX];
    for (u32 k = 0; k < count && k < RESULTS_MAX; k++) {
        char text[32];
        snprintf(text, sizeof text, "part %u of %u", k, count);
        if (packed && prove_bits(c->t, prove_kid(c->t, x, k)) == part)
            made[k] = prove_kid(c->t, x, k);
        else if (bits <= 64)
            made[k] = prove_trunc(c->t, prove_shift(c->t, TERM_SHR, x, prove_const(c->t, k * part, 32)), part);
        else
            made[k] = prove_apply(c->t, prove_name(c->t, text), part, &x, 1);
    }
    for (u32 k = 0; k < count && k < RESULTS_MAX; k++)
        prove_define(c->m, c->guard, to + k, made[k]);
}

static Term packed_operands(Compute *c)
{
    Term kid[RESULTS_MAX];
    u32 count = (u32)c->o[1]->value;
    for (u32 k = 0; k < count && k < RESULTS_MAX; k++)
        kid[k] = prove_operand(c->m, c->o[1] + 1 + k, c->bits / count);
    return prove_apply(c->t, prove_name(c->t, "pack"), c->bits, kid, count);
}

/* Moves elements to a vector register, which stands for all of them as one application. Nothing looks into it. Two vector
 * registers are equal if they are applied to equal elements. */
static void move_vector(Compute *c)
{
    const Operand *to = c->o[0], *from = c->o[1];
    u32 count = c->op->vector;
    Term kid[RESULTS_MAX];
    if (c->i->guard || to->kind != OPND_REG || to->sub || fn_reg(c->m->fn, to->id)->vector != count ||
        from->kind != OPND_VEC || (u32)from->value != count || count > RESULTS_MAX) {
        c->m->fault = "a move of a vector";
        return;
    }
    for (u32 k = 0; k < count; k++)
        kid[k] = prove_operand(c->m, from + 1 + k, c->bits);
    prove_set_reg(c->m, to->id, prove_apply(c->t, prove_name(c->t, "vector"), prove_reg_bits(c->m, to->id), kid, count));
}

static void move(Compute *c)
{
    bool packs = c->o[1]->kind == OPND_VEC, unpacks = c->o[0]->kind == OPND_VEC;
    if (c->op->vector > 1) {
        move_vector(c);
        return;
    }
    if (packs && (u32)c->o[1]->value > RESULTS_MAX) {
        c->m->fault = "a move of a vector";
        return;
    }
    Term x = packs ? packed_operands(c) : source(c, 1, c->bits);
    if (unpacks)
        unpack(c, x);
    else
        result(c, x);
}

/* prmt with a constant selector; false: with another one, or in another mode. */
static bool permute(Compute *c)
{
    if (c->op->opcode != OPC_PRMT || c->n != 4 || c->o[3]->kind != OPND_IMM || c->op->text->len != strlen("prmt.b32"))
        return false;
    Term x = prove_permuted(c->t, source(c, 1, 32), source(c, 2, 32), (u32)c->o[3]->value);
    if (x)
        result(c, x);
    return x != 0;
}

/* ---- dispatch ------------------------------------------------------------------------------------------------------------ */

bool prove_computes(const Machine *m, const Instr *i)
{
    const u32 impure =
        OPF_CONVERGENT | OPF_BARRIER | OPF_SIDE_EFFECT | OPF_TERMINATOR | OPF_CALL | OPF_VOLATILE | OPF_FENCE | OPF_ASYNC;
    if (prove_loads_constant(m, i))
        return true;
    for_each_slot(o, i)
        if (o->kind == OPND_SREG && sreg_info(o->id)->is_volatile)
            return false;
    return i->op->known && i->op->mem == MEM_NONE && !op_has(i->op, impure);
}

/* Integer arithmetic in one width, and nothing that saturates. */
static bool computes_integers(const Compute *c)
{
    return c->op->types >= 1 && is_integer(c->op->type[0]) && !op_has_modifier(c->op, ".sat");
}

/* The smaller or larger one of two. */
static void choose_extreme(Compute *c)
{
    Term a = source(c, 1, c->bits), b = source(c, 2, c->bits), first = a < b ? a : b, second = first == a ? b : a;
    u32 less = integer_relations(CMP_LT, c->is_signed), more = integer_relations(CMP_GT, c->is_signed);
    Term takes_first = prove_rel(c->t, first, second, c->op->opcode == OPC_MIN ? less : more);
    result(c, prove_ite(c->t, takes_first, first, second));
}

static bool execute_integer(Compute *c)
{
    Terms *t = c->t;
    switch (c->op->opcode) {
    case OPC_ADD:
    case OPC_SUB:
    case OPC_ADDC:
    case OPC_SUBC: add(c); return true;
    case OPC_MUL:
    case OPC_MAD:
    case OPC_MADC: multiply(c); return true;
    case OPC_NEG: result(c, prove_sub(t, prove_const(t, 0, c->bits), source(c, 1, c->bits))); return true;
    case OPC_AND: result(c, prove_and(t, source(c, 1, c->bits), source(c, 2, c->bits))); return true;
    case OPC_OR: result(c, prove_or(t, source(c, 1, c->bits), source(c, 2, c->bits))); return true;
    case OPC_XOR: result(c, prove_xor(t, source(c, 1, c->bits), source(c, 2, c->bits))); return true;
    case OPC_NOT: result(c, prove_not(t, source(c, 1, c->bits))); return true;
    case OPC_LOP3: logic3(c); return true;
    case OPC_SHL: result(c, prove_shift(t, TERM_SHL, source(c, 1, c->bits), source(c, 2, 32))); return true;
    case OPC_MIN:
    case OPC_MAX:
        if (c->n != 3 || op_has_modifier(c->op, ".relu"))
            return false;
        choose_extreme(c);
        return true;
    case OPC_DIV:
    case OPC_REM:
        if (!t->divides || c->bits != 32)
            return false;
        result(c, prove_divide(t, c->op->opcode == OPC_REM, c->is_signed, source(c, 1, 32), source(c, 2, 32)));
        return true;
    case OPC_SHR:
        result(c, prove_shift(t, c->is_signed ? TERM_SAR : TERM_SHR, source(c, 1, c->bits), source(c, 2, 32)));
        return true;
    default: return false;
    }
}

/* Undoes a conversion to generic addresses and back; 0: there is none. The upper half of a shared or local address may get
 * lost. Only what is made of the lower half sees that it is the same: see prove_trunc(). */
static Term undone_conversion(Compute *c)
{
    Term x = source(c, 1, c->bits);
    const char *to = strstr(c->op->text->text, ".to.");
    bool is_narrow = to && c->bits > 32 && (strncmp(to, ".to.shared", 10) == 0 || strncmp(to, ".to.local", 9) == 0);
    return to && !is_narrow ? prove_undone_window(c->t, to + 4, x) : 0;
}

static void convert_address(Compute *c)
{
    Term x = c->op->opcode == OPC_CVTA_TO && c->bits ? undone_conversion(c) : 0;
    if (x)
        result(c, x);
    else
        apply(c);
}

static void execute(Compute *c)
{
    if (c->op->opcode == OPC_CVTA_TO)
        convert_address(c);
    else if (c->op->opcode == OPC_LD)
        prove_load_constant(c->m, c->i, c->guard);
    else if (c->op->opcode == OPC_SETP || c->op->opcode == OPC_SET)
        compare(c);
    else if (c->op->opcode == OPC_CVT)
        convert(c);
    else if (c->op->opcode == OPC_MOV && c->bits && c->bits <= 128)
        move(c);
    else if (c->op->opcode == OPC_SELP && c->bits)
        result(c, prove_ite(c->t, source(c, 3, 1), source(c, 1, c->bits), source(c, 2, c->bits)));
    else if (!permute(c) && (!computes_integers(c) || !execute_integer(c)))
        apply(c);
}

void prove_execute(Machine *m, const Instr *i)
{
    Compute c = {.m = m, .t = m->t, .i = i, .op = i->op, .guard = prove_guard(m, i)};
    for_each_operand(o, i)
        if (c.n < COUNT_OF(c.o))
            c.o[c.n++] = o;
    c.bits = i->op->types ? type_bits(i->op->type[0]) : 0;
    c.is_signed = i->op->types && type_class(i->op->type[0]) == TC_SIGNED;
    if (c.n < 2)
        m->fault = "an instruction of fewer than two operands";
    else
        execute(&c);
}
