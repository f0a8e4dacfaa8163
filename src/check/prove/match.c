/* Events: what other threads, memory, or the caller can observe. Two match if they are the same instruction on equal
 * operands. Their result is then the same unknown on both sides, since all earlier events were the same. */
#include <string.h>

#include "check/prove/arguments.h"
#include "check/prove/integers.h"

static bool same_text(const Name *a, const Name *b) { return a->len == b->len && memcmp(a->text, b->text, a->len) == 0; }

/* Whether the instructions are the same; a call may promise to be uniform, or not. */
static bool same_op(const OpInfo *before, const OpInfo *after)
{
    return (before->opcode == OPC_CALL && after->opcode == OPC_CALL) || same_text(before->text, after->text);
}

static bool differ(const char **why, const char *what)
{
    *why = what;
    return false;
}

/* Sets *why to `what`, with the two terms. Answers false. */
static bool differ_in(Prover *p, const char **why, const char *what, Term x, Term y)
{
    char a[240], b[240];
    prove_print(&p->t, prove_simplify(p, x), a, sizeof a);
    prove_print(&p->t, prove_simplify(p, y), b, sizeof b);
    *why = strcmp(a, b) == 0 ? what : arena_printf(p->arena, "%s, %s and %s", what, a, b);
    return false;
}

/* ---- operands ---------------------------------------------------------------------------------------------------------- */

static bool same_tables(const Prover *p, u32 before, u32 after)
{
    const Function *f = p->side[PROVE_BEFORE].fn, *g = p->side[PROVE_AFTER].fn;
    const Table *a = &f->tables.v[before], *b = &g->tables.v[after];
    if (a->kind != b->kind)
        return false;
    Str x = span_str(f->module, a->text), y = span_str(g->module, b->text);
    return str_equal(x, y);
}

static bool same_values(Prover *p, const Operand *a, const Operand *b)
{
    Machine *m = p->side;
    Term x = prove_operand(&m[PROVE_BEFORE], a, 0), y = prove_operand(&m[PROVE_AFTER], b, 0);
    u32 bits = prove_bits(&p->t, x), other = prove_bits(&p->t, y);
    if (bits != other && (prove_is_const(&p->t, x) || prove_is_const(&p->t, y))) {
        x = prove_operand(&m[PROVE_BEFORE], a, bits < other ? bits : other); /* a literal is as wide as it must be */
        y = prove_operand(&m[PROVE_AFTER], b, bits < other ? bits : other);
    }
    return prove_equal(p, x, y);
}

/* Whether they are one number of 32 bits, written with a sign and without. */
static bool same_literals(const OpInfo *op, const Operand *a, const Operand *b)
{
    bool is_wide = op->types && type_bits((Type)op->type[0]) > 32;
    return a->kind == OPND_IMM && b->kind == OPND_IMM && op->opcode != OPC_CALL && !is_wide &&
           (u32)a->value == (u32)b->value && (a->value >> 31 == -1 || b->value >> 31 == -1) &&
           (a->value >> 32 == 0 || b->value >> 32 == 0);
}

static bool is_value(const Operand *o)
{
    return o->kind == OPND_REG || o->kind == OPND_IMM || o->kind == OPND_FLOAT || o->kind == OPND_SYM ||
           o->kind == OPND_SREG;
}

/* A parameter variable that a call passes, or that it returns something in: role says which. */
static bool same_variables(Prover *p, const Operand *a, const Operand *b)
{
    if (!prove_is_variable_of_call(&p->side[0], a) || !prove_is_variable_of_call(&p->side[1], b))
        return false;
    if (a->role != ROLE_DEF)
        return prove_same_arguments(p, a, b);
    const Sym *x = &p->side[0].fn->module->syms.v[a->id], *y = &p->side[1].fn->module->syms.v[b->id];
    return x->bytes == y->bytes && x->align == y->align && a->value == 0 && b->value == 0;
}

/* A scalar slot that is read. Stored data counts as wide as it is stored. */
static bool same_scalar(Prover *p, const OpInfo *op, const Operand *a, const Operand *b)
{
    Machine *m = p->side;
    bool is_volatile = a->kind == OPND_SREG && sreg_info(a->id)->is_volatile;
    if (op->opcode == OPC_CALL && (prove_is_variable_of_call(&m[0], a) || prove_is_variable_of_call(&m[1], b)))
        return same_variables(p, a, b);
    if (a->kind == OPND_TABLE || b->kind == OPND_TABLE)
        return a->kind == b->kind && same_tables(p, a->id, b->id);
    if (is_volatile)
        return b->kind == OPND_SREG && a->id == b->id && a->sub == b->sub;
    if (!is_value(a) || !is_value(b))
        return a->kind == b->kind && a->kind == OPND_SINK;
    if (op->opcode == OPC_ST && op->types == 1 && a->role != ROLE_ADDRESS) {
        u32 bits = type_bits(op->type[0]);
        return prove_equal(p, prove_operand(&m[0], a, bits), prove_operand(&m[1], b, bits));
    }
    return same_literals(op, a, b) || same_values(p, a, b);
}

/* Whether x - y is nothing but f * zext(a) - f * zext(b) - f * (a - b), and no number from a to b wraps. */
static bool differ_as_extended(Prover *p, Term x, Term y)
{
    Terms *t = &p->t;
    Term apart = prove_sub(t, x, y);
    TermNode node = *prove_node(t, apart);
    if (node.op != TERM_LINEAR || node.n != 2)
        return false;
    Term wide[2] = {prove_kid(t, apart, 0), prove_kid(t, apart, 1)};
    u64 times = t->coef.v[node.kids];
    if (prove_node(t, wide[0])->op != TERM_ZEXT || prove_node(t, wide[1])->op != TERM_ZEXT ||
        ((times + t->coef.v[node.kids + 1]) & prove_mask(node.bits)) != 0)
        return false;
    Term a = prove_kid(t, wide[0], 0), b = prove_kid(t, wide[1], 0);
    u32 bits = prove_bits(t, a);
    if (bits > 32 || bits != prove_bits(t, b) || !prove_is_const(t, prove_sub(t, a, b)))
        return false;
    i64 more = prove_signed(prove_node(t, prove_sub(t, a, b))->value, bits);
    if (((node.value + times * (u64)more) & prove_mask(node.bits)) != 0)
        return false;
    u64 far = (u64)(more < 0 ? -more : more);
    return prove_at_most(p, more < 0 ? a : b, prove_const(t, prove_mask(bits) - far, bits));
}

/* Whether two addresses are equal, also where one extends a sum that the path knows not to wrap, and the other one adds to an
 * extension. */
static bool same_addresses(Prover *p, Term x, Term y)
{
    return prove_equal(p, x, y) || (prove_bits(&p->t, x) == prove_bits(&p->t, y) && differ_as_extended(p, x, y));
}

static bool same_operands(Prover *p, const Instr *before, const Instr *after, const char **why)
{
    if (before->slots != after->slots)
        return differ(why, "another number of operands");
    for (u32 k = 0; k < before->slots; k++) {
        const Operand *a = &before->opnd[k], *b = &after->opnd[k];
        bool fixed = operand_is_aggregate(a) || operand_is_aggregate(b);
        if (fixed && (a->kind != b->kind || a->value != b->value))
            return differ(why, "operands of another form");
        if (a->kind == OPND_MEM && a->value >= 1) {
            Term x = prove_address(&p->side[0], before->op, a), y = prove_address(&p->side[1], after->op, b);
            if (!same_addresses(p, x, y))
                return differ_in(p, why, "another address", x, y);
            k++; /* the base is in it; what else stands in brackets is compared by itself */
        } else if (!fixed && (a->role != ROLE_DEF || a->kind == OPND_SYM || b->kind == OPND_SYM) &&
                   !same_scalar(p, before->op, a, b)) {
            if (before->op->opcode == OPC_CALL && prove_is_variable_of_call(&p->side[0], a))
                return differ(why, "another argument of the call");
            return is_value(a) && is_value(b) ? differ_in(p, why, "another operand", prove_operand(&p->side[0], a, 0),
                                                          prove_operand(&p->side[1], b, 0))
                                              : differ(why, "another operand");
        }
    }
    return true;
}

/* ---- results ----------------------------------------------------------------------------------------------------------- */

/* The value that a load of narrow elements leaves in a wider register: the element, extended. */
static Term result_of(Prover *p, const Instr *i, const Operand *o, u32 number)
{
    u32 bits = prove_reg_bits(&p->side[PROVE_BEFORE], o->id), element = bits;
    bool is_load = i->op->opcode == OPC_LD || i->op->opcode == OPC_LDU;
    if (is_load && i->op->types == 1 && type_bits(i->op->type[0]) && type_bits(i->op->type[0]) < bits)
        element = type_bits(i->op->type[0]);
    Term x = prove_sym(&p->t, PROVE_SYM_EVENT, p->product.at->id, i->origin, number, element);
    return prove_resize(&p->t, x, bits, type_class(i->op->type[0]) == TC_SIGNED);
}

/* Under which condition i writes, as far as the path knows it. */
static Term known_guard(Prover *p, ProveSide side, const Instr *i)
{
    Term atom = 0, guard = prove_guard(&p->side[side], i);
    int holds = prove_decide(p, guard, &atom);
    return holds < 0 ? guard : prove_bool(&p->t, holds);
}

/* Both sides' destinations get the same unknown. */
static void define_results(Prover *p, const Instr *before, const Instr *after)
{
    u32 number = 0;
    Term guard[2] = {known_guard(p, PROVE_BEFORE, before), known_guard(p, PROVE_AFTER, after)};
    for (u32 k = 0; k < before->slots; k++) {
        const Operand *a = &before->opnd[k], *b = &after->opnd[k];
        if (operand_is_aggregate(a) || (!role_defines((Role)a->role) && !role_defines((Role)b->role)))
            continue;
        if (before->op->opcode == OPC_CALL && prove_is_variable_of_call(&p->side[0], a)) {
            prove_return(p, before->origin, number++, a, b);
            continue;
        }
        const Operand *sized = a->kind == OPND_REG ? a : b;
        if (sized->kind != OPND_REG)
            continue;
        if (a->kind != OPND_REG) {
            p->side[PROVE_AFTER].fault = "a result that BEFORE has no register for";
            continue;
        }
        Term x = result_of(p, before, a, number++);
        prove_define(&p->side[PROVE_BEFORE], guard[PROVE_BEFORE], a, x);
        prove_define(&p->side[PROVE_AFTER], guard[PROVE_AFTER], b, x);
    }
    if (op_has(before->op, OPF_CARRY_OUT))
        p->side[PROVE_BEFORE].fault = "an event that writes the carry";
}

/* Whether the event begins an asynchronous operation on registers, or waits for one, or hands them over. In between both sides write
 * such registers alike: elsewhere they may be in use. */
static bool uses_registers(const Prover *p, const Instr *i)
{
    return op_has(i->op, OPF_ASYNC) && op_has(i->op, OPF_CONVERGENT) && !p->t.seed;
}

/* ---- events -------------------------------------------------------------------------------------------------------------- */

bool prove_match(Prover *p, const Instr *before, const Instr *after, const char **why)
{
    bool weakened = prove_weaken_barrier(p, before, after);
    if (!weakened && !same_op(before->op, after->op))
        return differ(why, "another instruction");
    if (!before->op->known)
        return differ(why, "an unknown instruction");
    Term guard = prove_guard(&p->side[0], before), other = prove_guard(&p->side[1], after), atom = 0;
    if (!prove_equal(p, guard, other))
        return differ(why, "another guard");
    u32 mark = p->facts.all.n;
    if (prove_decide(p, guard, &atom) < 0) { /* operands count where the guard holds */
        if (atom == guard)
            prove_assume(p, atom, true);
        else if (atom == prove_not(&p->t, guard))
            prove_assume(p, atom, false);
    }
    if (uses_registers(p, before) && p->side[0].written != p->side[1].written)
        return differ(why, "a register is written that may be in use");
    bool same = weakened || same_operands(p, before, after, why);
    prove_forget(p, mark);
    if (same) {
        if (before->op->opcode == OPC_CALL)
            prove_note_promise(p, before, after);
        prove_note_event(p, before);
        define_results(p, before, after);
        for (u32 side = 0; side < 2; side++) {
            if (uses_registers(p, before))
                p->side[side].written = 0;
            prove_await_registers(&p->side[side], side ? after : before);
        }
    }
    return same;
}

static bool is_ret(const Instr *i) { return !i || i->op->opcode == OPC_RET; }

/* Whether both sides leave the function alike, with the same results in registers. In an entry, `ret` and `exit` do the same. */
bool prove_match_end(Prover *p, const Instr *before, const Instr *after, const char **why)
{
    const Function *fn = p->side[PROVE_BEFORE].fn;
    prove_note_promise(p, before, after);
    if (!fn->is_entry && is_ret(before) != is_ret(after))
        return differ(why, "one returns, the other exits");
    for (u32 r = 1; r < fn->regs.n; r++) {
        if (!fn_reg(fn, r)->is_param)
            continue;
        if (r >= p->side[PROVE_AFTER].fn->regs.n || !fn_reg(p->side[PROVE_AFTER].fn, r)->is_param)
            return differ(why, "other registers of parameters");
        Term x = p->side[PROVE_BEFORE].reg[r], y = p->side[PROVE_AFTER].reg[r];
        if (!x || !y || !prove_equal(p, x, y))
            return differ(why, "another result");
    }
    return true;
}
