#include "check/prove/machine.h"

#include <stdio.h>
#include <string.h>

/* Asynchronous operations on registers that may not be complete: products, loads from tensor memory, stores to it. */
enum { PRODUCTS = 1, LOADS = 2, STORES = 4 };

/* The operations that may not be complete after the instruction, where `before` may not be complete in front of it. */
static u32 under_way_after(const Instr *i, u32 before)
{
    if (i->kind != INSTR_OP)
        return before;
    switch (i->op->async) {
    case ASYNC_MULTIPLIES: return before | PRODUCTS;
    case ASYNC_LOADS: return before | LOADS;
    case ASYNC_STORES: return before | STORES;
    case ASYNC_AWAITS_PRODUCTS: /* all groups of them, if the number of those that may go on is 0 */
        return i->opnd[0].kind == OPND_IMM && i->opnd[0].value == 0 ? before & ~(u32)PRODUCTS : before;
    case ASYNC_AWAITS_LOADS: return before & ~(u32)LOADS;
    case ASYNC_AWAITS_STORES: return before & ~(u32)STORES;
    default: return before;
    }
}

/* The registers in braces of wgmma.mma_async, tcgen05.ld and the like. */
static void find_in_use(Machine *m)
{
    for_each_block(b, m->fn)
        for_each_instr(i, b) {
            if (under_way_after(i, 0) == 0)
                continue;
            for_each_operand(o, i)
                for (u32 k = 1; o->kind == OPND_VEC && k <= (u32)o->value; k++) {
                    if (!m->in_use.word)
                        m->in_use = bitset_new(m->t->arena, m->fn->regs.n);
                    if (o[k].kind == OPND_REG)
                        bitset_add(&m->in_use, o[k].id);
                }
        }
}

/* Instructions that write such a register while something may be under way. */
static void find_early_writes(Machine *m)
{
    const ProveGraph *g = &m->g;
    u32 *before = arena_array(m->t->arena, u32, g->n);
    m->early_writes = bitset_new(m->t->arena, m->fn->edits.origins + 1);
    for (bool again = true; again;) {
        again = false;
        for (u32 k = 0; k < g->reachable; k++) {
            const Block *b = g->by_order[k];
            u32 now = before[b->id];
            for_each_instr(i, b) {
                for (RegWalk w = reg_walk(i); now && next_write(&w);)
                    if (bitset_has(&m->in_use, w.reg))
                        bitset_add(&m->early_writes, i->origin);
                now = under_way_after(i, now);
            }
            for (u32 edge = 0; edge < block_edge_count(b); edge++) {
                u32 *to = &before[block_edge_target(b, edge)->id];
                again |= (*to | now) != *to;
                *to |= now;
            }
        }
    }
}

void prove_machine_init(Machine *m, const ProveGraph *g, ProveSide side, Terms *t)
{
    Function *fn = g->fn;
    *m = (Machine){.t = t, .g = *g, .fn = fn, .side = side};
    m->reg = arena_array(t->arena, Term, fn->regs.n);
    find_in_use(m);
    if (m->in_use.word)
        find_early_writes(m);
}

void prove_machine_free(Machine *m)
{
    vec_free(&m->undo);
    vec_free(&m->arguments.cells);
    fnvmap_free(&m->names);
    fnvmap_free(&m->named);
}

void prove_set_place(Machine *m, u32 *place, u32 value)
{
    vec_push(&m->undo, ((Undo){place, *place}));
    *place = value;
}

void prove_set_reg(Machine *m, RegId reg, Term value) { prove_set_place(m, &m->reg[reg], value); }

void prove_undo(Machine *m, u32 mark)
{
    while (m->undo.n > mark) {
        Undo u = vec_pop(&m->undo);
        *u.place = u.old;
    }
}

void prove_rewind(Machine *m, u32 mark)
{
    for (u32 k = m->undo.n; k-- > mark;) {
        Undo u = m->undo.v[k], back = {u.place, *u.place};
        vec_push(&m->undo, back);
        *u.place = u.old;
    }
}

u32 prove_reg_bits(const Machine *m, RegId reg) { return reg == CARRY_REG ? 1 : type_bits(fn_reg(m->fn, reg)->type); }

/* Registers of one name hold the same garbage in both texts; what only AFTER has is another one. Those of the function's parameters
 * hold what the caller gave them. */
Term prove_garbage(Machine *m, RegId reg)
{
    const Reg *r = fn_reg(m->fn, reg);
    bool is_argument = reg && r->is_param;
    const char *what = is_argument ? "argument" : "garbage";
    char text[300];
    if (reg == CARRY_REG)
        snprintf(text, sizeof text, "%s carry", what);
    else if (r->number >= 0)
        snprintf(text, sizeof text, "%s %.200s%d", what, r->name->text, (int)r->number);
    else
        snprintf(text, sizeof text, "%s %.200s", what, r->name->text);
    return prove_sym(m->t, is_argument ? PROVE_SYM_PARAM : PROVE_SYM_GARBAGE, 0, prove_name(m->t, text), reg ? r->scope : 0,
                     prove_reg_bits(m, reg));
}

void prove_await_registers(Machine *m, const Instr *i)
{
    if (!m->in_use.word || i->op->async < ASYNC_AWAITS_PRODUCTS)
        return;
    u32 name = prove_name(m->t, i->op->text->text);
    for_each_bit(r, &m->in_use)
        if (m->reg[r])
            prove_set_reg(m, r, prove_apply(m->t, name, prove_reg_bits(m, r), &m->reg[r], 1));
}

static void note_written(Machine *m, RegId reg)
{
    Term kid[] = {m->written ? m->written : prove_bool(m->t, false), prove_garbage(m, reg), m->reg[reg]};
    if (bitset_has(&m->in_use, reg) && kid[2])
        m->written = prove_apply(m->t, prove_name(m->t, "written"), 1, kid, COUNT_OF(kid));
}

void prove_note_written(Machine *m, const Instr *i)
{
    bool is_early = m->early_writes.word && bitset_has(&m->early_writes, i->origin);
    for (RegWalk w = reg_walk(i); is_early && next_write(&w);)
        note_written(m, w.reg);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static Term fault(Machine *m, const char *why, u32 bits)
{
    m->fault = why;
    return prove_const(m->t, 0, bits && bits <= 64 ? bits : 64);
}

/* Variables of a function, and parameters, may share their names with others: they are counted. */
static void write_sym_name(const Machine *m, SymId id, char *text, u32 size)
{
    const Module *module = m->fn->module;
    const Sym *s = &module->syms.v[id];
    u32 nth = 0;
    for (u32 k = 0; k < m->fn->params.n; k++)
        if (m->fn->params.v[k] == id) {
            snprintf(text, size, "parameter %u", k);
            return;
        }
    for (u32 k = id; s->owner && k-- > 1 && module->syms.v[k].owner == s->owner;)
        nth += module->syms.v[k].name == s->name;
    snprintf(text, size, s->owner ? "%.200s of the function, number %u" : "%.200s", s->name->text, nth);
}

const Name *prove_sym_name(Machine *m, SymId id)
{
    char text[300];
    const u64 *known = fnvmap_find(&m->names, id);
    if (known)
        return (const Name *)(uintptr_t)*known;
    write_sym_name(m, id, text, sizeof text);
    const Name *name = intern_cstr(m->t->names, text);
    *fnvmap_at(&m->names, id) = (u64)(uintptr_t)name;
    u64 *first = fnvmap_at(&m->named, (u64)(uintptr_t)name);
    *first = *first && *first < id ? *first : id;
    return name;
}

static Term symbol_address(Machine *m, const Operand *o)
{
    u32 name = prove_name(m->t, prove_sym_name(m, o->id)->text);
    return prove_plus(m->t, prove_sym(m->t, PROVE_SYM_ADDRESS, 0, name, 0, 64), (u64)o->value);
}

static Term float_operand(Machine *m, const Operand *o, u32 bits)
{
    u64 value = (u64)o->value;
    if (!(o->flags & OPNDF_SINGLE) && bits == 32) {
        double wide;
        float narrow;
        u32 pattern;
        memcpy(&wide, &value, sizeof wide);
        narrow = (float)wide;
        memcpy(&pattern, &narrow, sizeof pattern);
        return prove_const(m->t, pattern, 32);
    }
    return prove_const(m->t, value, o->flags & OPNDF_SINGLE ? 32 : 64);
}

static Term special_register(Machine *m, const Operand *o)
{
    const SregInfo *info = sreg_info(o->id);
    if (info->is_volatile || (info->components && o->sub == SUB_NONE))
        return fault(m, "a special register that may change is read in an operand", type_bits(info->type));
    return prove_sym(m->t, PROVE_SYM_SREG, 0, o->id, o->sub, type_bits(info->type));
}

static Term part_of_register(Machine *m, const Operand *o, Term x)
{
    char text[64];
    snprintf(text, sizeof text, "part %u", o->sub);
    if (o->sub == SUB_OTHER)
        snprintf(text, sizeof text, "part %.48s", m->fn->module->other_names.v[o->value]->text);
    return prove_apply(m->t, prove_name(m->t, text), prove_bits(m->t, x), &x, 1);
}

static Term register_operand(Machine *m, const Operand *o)
{
    Term x = m->reg[o->id];
    if (!x)
        return fault(m, "a register is read whose value is not known", prove_reg_bits(m, o->id));
    if (o->sub)
        return part_of_register(m, o, x);
    return o->value ? prove_plus(m->t, x, (u64)o->value) : x;
}

Term prove_operand(Machine *m, const Operand *o, u32 bits)
{
    Term x;
    switch ((OperandKind)o->kind) {
    case OPND_REG: x = register_operand(m, o); break;
    case OPND_IMM: /* as a predicate, what is not zero is true */
        x = bits == 1 ? prove_bool(m->t, o->value != 0) : prove_const(m->t, (u64)o->value, bits && bits <= 64 ? bits : 64);
        break;
    case OPND_FLOAT: x = float_operand(m, o, bits); break;
    case OPND_SREG: x = special_register(m, o); break;
    case OPND_SYM: x = symbol_address(m, o); break;
    default: return fault(m, "an operand that is not modelled", bits);
    }
    if (bits)
        x = prove_resize(m->t, x, bits, false);
    if (o->flags & OPNDF_NOT)
        x = prove_not(m->t, x);
    if (o->flags & OPNDF_NEG)
        x = prove_sub(m->t, prove_const(m->t, 0, prove_bits(m->t, x)), x);
    return x;
}

Term prove_guard(Machine *m, const Instr *i)
{
    if (!i->guard)
        return prove_bool(m->t, true);
    Term x = m->reg[i->guard];
    if (!x)
        return fault(m, "a guard whose value is not known", 1);
    return i->guard_not ? prove_not(m->t, x) : x;
}

/* Addresses of shared and local memory count modulo 2^32, whatever register holds them. */
Term prove_address(Machine *m, const OpInfo *op, const Operand *mem)
{
    u32 bits = op->space == SPACE_SHARED || op->space == SPACE_LOCAL || op->space == SPACE_SHARED_CLUSTER ? 32 : 64;
    const Operand *base = mem + 1;
    if (base->kind == OPND_REG) {
        Operand plain = *base;
        plain.value = 0;
        Term x = prove_resize(m->t, prove_operand(m, &plain, 0), bits, false);
        return prove_plus(m->t, x, (u64)base->value);
    }
    return prove_operand(m, base, bits);
}

/* One element of a vector register: its value is applied to what it was and to the element. */
static void define_element(Machine *m, Term guard, const Operand *o, Term value)
{
    Term kid[] = {m->reg[o->id], value};
    char text[64];
    snprintf(text, sizeof text, "with part %u", o->sub);
    if (!prove_is_const(m->t, guard) || !prove_node(m->t, guard)->value || !kid[0] || o->value || o->sub == SUB_OTHER ||
        prove_bits(m->t, value) != prove_reg_bits(m, o->id))
        m->fault = "a part of a register is written";
    else
        prove_set_reg(m, o->id, prove_apply(m->t, prove_name(m->t, text), prove_reg_bits(m, o->id), kid, 2));
}

void prove_define(Machine *m, Term guard, const Operand *o, Term value)
{
    if (o->kind != OPND_REG)
        return;
    if (o->sub && fn_reg(m->fn, o->id)->vector > 1) {
        define_element(m, guard, o, value);
        return;
    }
    if (o->sub || o->value || fn_reg(m->fn, o->id)->vector > 1) {
        m->fault = "a part of a register is written";
        return;
    }
    u32 bits = prove_reg_bits(m, o->id);
    if (prove_bits(m->t, value) != bits) {
        m->fault = "a value of another width than its register";
        return;
    }
    if (prove_is_const(m->t, guard)) {
        if (prove_node(m->t, guard)->value)
            prove_set_reg(m, o->id, value);
    } else if (!m->reg[o->id]) {
        m->fault = "a guarded write to a register whose value is not known";
    } else {
        prove_set_reg(m, o->id, prove_ite(m->t, guard, value, m->reg[o->id]));
    }
}
