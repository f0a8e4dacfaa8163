#include "analysis/loop_compares.h"

#include "analysis/loop_bounds.h"
#include "analysis/ranges.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "ir/reg_walk.h"

enum {
    PREDICATES_MAX = 16, /* the most instructions that compute a branch's predicate and are looked at */
    BLAMED_MAX = 8       /* the most definitions that are looked at for what is to blame */
};

typedef struct CompareSearch {
    LoopSums *s;
    SumCompares *out;
    u32 left; /* of PREDICATES_MAX */
} CompareSearch;

static const char *const not_compared = "its condition is no comparison";
static const char *const not_counted = "what it compares is neither invariant nor counted evenly";

static const char *const bound_loaded = "its bound is loaded in the loop";
static const char *const value_loaded = "what it compares is loaded in the loop";
static const char *const bound_changes = "its bound changes in the loop";

static Cmp plain_cmp(Cmp cmp)
{
    switch (cmp) {
    case CMP_LO: return CMP_LT;
    case CMP_LS: return CMP_LE;
    case CMP_HI: return CMP_GT;
    case CMP_HS: return CMP_GE;
    default: return cmp;
    }
}

/* Makes `value` the side that changes. */
static bool arrange(const LoopSums *s, const LoopSum *a, const LoopSum *b, SumCompare *c)
{
    bool left = !loop_sum_is_zero(s, a->step), right = !loop_sum_is_zero(s, b->step);
    if (left && right)
        return false;
    c->value = right ? *b : *a;
    c->bound = right ? a->start : b->start;
    c->cmp = right ? cmp_swapped(c->cmp) : c->cmp;
    return true;
}

static bool is_bitwise(const Instr *i, Opcode opcode, u32 bits)
{
    return i->op->opcode == opcode && i->op->sem.op == opcode && i->op->sem.bits == bits && !i->guard;
}

/* The first source of an instruction about which nothing is known; NULL: there is none. */
static const Operand *unknown_source(LoopSums *s, const Instr *i)
{
    LoopSum sum;
    for (u32 k = 1; k < instr_operands(i); k++) {
        const Operand *o = instr_operand(i, k);
        RegId reg = operand_plain_register(o);
        if (reg && !loop_sum_of(s, i, o, type_bits(fn_reg(s->in.loop->header->fn, reg)->type), &sum))
            return o;
    }
    return NULL;
}

/* The reason why nothing is known of an operand, and the instruction to blame: the load that it comes from, or what computes it. */
static const char *blame(LoopSums *s, const Instr *at, const Operand *o, bool is_bound)
{
    for (u32 k = 0; k < BLAMED_MAX && o; k++) {
        RegId reg = operand_plain_register(o);
        const Instr *def = reg ? loop_definition(s, at, reg) : NULL;
        if (!def || def->kind != INSTR_OP)
            break;
        s->blamed = at = def;
        if (def->op->mem == MEM_READ)
            return is_bound ? bound_loaded : value_loaded;
        o = unknown_source(s, def);
    }
    return is_bound ? bound_changes : not_counted;
}

/* Whether the comparison asks for the sign of its first operand. */
static bool asks_for_sign(const Instr *i, const SumCompare *c)
{
    const Operand *with = instr_operand(i, 2);
    bool zero = c->cmp == CMP_LT || c->cmp == CMP_GE, minus_one = c->cmp == CMP_LE || c->cmp == CMP_GT;
    return c->is_signed && with->kind == OPND_IMM && ((zero && with->value == 0) || (minus_one && with->value == -1));
}

/* Adds comparisons of a value's sign. An `or` is negative where one of its operands is, an `and` where both are. */
static const char *add_sign(CompareSearch *search, const Instr *at, const Operand *o, SumCompare c)
{
    if (loop_sum_of(search->s, at, o, c.width, &c.value)) {
        vec_push(search->out, c);
        return NULL;
    }
    bool negative = c.cmp == CMP_LT || c.cmp == CMP_LE;
    RegId reg = operand_plain_register(o);
    const Instr *def = reg ? loop_definition(search->s, at, reg) : NULL;
    if (!def || !is_bitwise(def, negative ? OPC_AND : OPC_OR, c.width) || search->left-- == 0)
        return blame(search->s, at, o, false);
    const char *why = add_sign(search, def, instr_operand(def, 1), c);
    return why ? why : add_sign(search, def, instr_operand(def, 2), c);
}

/* Whether what is not known of two operands of a comparison is the bound of the other one, which changes. */
static bool is_bound(const LoopSums *s, bool left, const LoopSum *a, bool right, const LoopSum *b)
{
    return left != right && !loop_sum_is_zero(s, left ? a->step : b->step);
}

/* Adds what makes a comparison hold that only bounds decide. */
static bool add_bound(CompareSearch *search, const Instr *i, SumCompare c)
{
    return search->s->bounds && loop_bound_compares(search->s, i, c, search->out);
}

/* An operand right before an instruction. */
typedef struct ReadAt {
    const Instr *at;
    const Operand *o;
} ReadAt;

/* The instruction that makes the operand the smaller, or the greater, of two numbers of the comparison's kind; NULL: none does. */
static const Instr *choice_of(LoopSums *s, ReadAt x, Opcode opcode, const SumCompare *c)
{
    RegId reg = operand_plain_register(x.o);
    const Instr *def = reg ? loop_definition(s, x.at, reg) : NULL;
    bool is_one = def && is_bitwise(def, opcode, c->width) && def->op->sem.from == c->width;
    return is_one && def->op->sem.is_signed == c->is_signed ? def : NULL;
}

/* Adds the comparison of two operands. One is less than the smaller of two numbers if it is less than both, and the greater of two
 * is less than one if both are; the same of greater. False: something is not known. */
static bool add_ordered(CompareSearch *search, ReadAt a, ReadAt b, SumCompare c)
{
    LoopSum x, y;
    bool left = loop_sum_of(search->s, a.at, a.o, c.width, &x), right = loop_sum_of(search->s, b.at, b.o, c.width, &y);
    if (left && right) {
        bool one = arrange(search->s, &x, &y, &c);
        if (one)
            vec_push(search->out, c);
        return one;
    }
    if (c.cmp == CMP_EQ || c.cmp == CMP_NE || search->left == 0)
        return false;
    search->left--;
    bool below = cmp_is_below(c.cmp);
    const Instr *def = choice_of(search->s, left ? b : a, below == left ? OPC_MIN : OPC_MAX, &c);
    for (u32 k = 1; k <= 2; k++) {
        ReadAt one = {def, def ? instr_operand(def, k) : NULL};
        if (!def || !add_ordered(search, left ? a : one, left ? one : b, c))
            return false;
    }
    return true;
}

/* Adds a comparison whose operands are not both known themselves. */
static bool add_choice(CompareSearch *search, const Instr *i, SumCompare c)
{
    u32 before = search->out->n, left = search->left;
    if (add_ordered(search, (ReadAt){i, instr_operand(i, 1)}, (ReadAt){i, instr_operand(i, 2)}, c))
        return true;
    search->out->n = before;
    search->left = left;
    return false;
}

static const char *add_compare(CompareSearch *search, const Instr *i, bool holds)
{
    Type type = i->op->type[0];
    TypeClass class = type_class(type);
    u32 bits = type_bits(type);
    bool integer = class == TC_SIGNED || class == TC_UNSIGNED || class == TC_BITS;
    if (!integer || (bits != 32 && bits != 64) || i->op->cmp == CMP_NONE)
        return "it compares other numbers than integers of 32 or 64 bits";
    SumCompare c = {.width = bits, .is_signed = compare_is_signed(i->op->cmp, type)};
    c.cmp = plain_cmp(holds ? i->op->cmp : cmp_inverse(i->op->cmp, class));
    LoopSum a, b;
    bool right = loop_sum_of(search->s, i, instr_operand(i, 2), bits, &b);
    if (right && asks_for_sign(i, &c)) {
        u32 before = search->out->n;
        c.bound = b.start;
        const char *why = add_sign(search, i, instr_operand(i, 1), c);
        if (why)
            search->out->n = before;
        return why && add_bound(search, i, c) ? NULL : why;
    }
    bool left = loop_sum_of(search->s, i, instr_operand(i, 1), bits, &a);
    if (!left || !right)
        return add_bound(search, i, c) || add_choice(search, i, c)
                   ? NULL
                   : blame(search->s, i, instr_operand(i, right ? 1 : 2), is_bound(search->s, left, &a, right, &b));
    if (!arrange(search->s, &a, &b, &c))
        return "both sides of its comparison change";
    vec_push(search->out, c);
    return NULL;
}

static const char *add_predicate(CompareSearch *search, const Instr *at, const Operand *predicate, bool holds);

/* setp.CMP.and p, a, b, q, which must hold, or setp.CMP.or, which must not. */
static const char *add_setp(CompareSearch *search, const Instr *i, bool holds)
{
    if (i->opnd[0].kind != OPND_REG || i->op->types != 1)
        return not_compared;
    if (i->op->bool_op == BOOL_NONE)
        return add_compare(search, i, holds);
    if (i->op->bool_op != (holds ? BOOL_AND : BOOL_OR))
        return not_compared;
    const char *why = add_compare(search, i, holds);
    return why ? why : add_predicate(search, i, instr_operand(i, 3), holds);
}

static const char *add_definition(CompareSearch *search, const Instr *i, bool holds)
{
    if (i->op->opcode == OPC_SETP)
        return add_setp(search, i, holds);
    if (is_bitwise(i, OPC_NOT, 1))
        return add_predicate(search, i, instr_operand(i, 1), !holds);
    if (!is_bitwise(i, holds ? OPC_AND : OPC_OR, 1))
        return not_compared;
    const char *why = add_predicate(search, i, instr_operand(i, 1), holds);
    return why ? why : add_predicate(search, i, instr_operand(i, 2), holds);
}

static const char *add_register(CompareSearch *search, const Instr *at, RegId reg, bool holds)
{
    if (!reg || search->left-- == 0)
        return not_compared;
    if (loop_is_invariant(search->s->in.loop, reg)) {
        vec_push(search->out, ((SumCompare){.predicate = reg, .holds = holds}));
        return NULL;
    }
    const Instr *def = loop_definition(search->s, at, reg);
    return def ? add_definition(search, def, holds) : "its condition is computed elsewhere";
}

static const char *add_predicate(CompareSearch *search, const Instr *at, const Operand *predicate, bool holds)
{
    return add_register(search, at, operand_register(predicate), holds != !!(predicate->flags & OPNDF_NOT));
}

const char *loop_compares_of(LoopSums *s, const Block *b, const Block *pass, SumCompares *out, Analyses *bounds)
{
    CompareSearch search = {s, out, PREDICATES_MAX};
    const Instr *branch = block_terminator(b);
    u32 before = out->n;
    s->blamed = NULL;
    s->bounds = bounds;
    const char *why = add_register(&search, branch, branch->guard, (pass == branch_target(branch)) != branch->guard_not);
    if (why)
        out->n = before;
    return why;
}
