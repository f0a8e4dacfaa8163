/* Loads of a kernel's parameters and of constant memory: they are no events, and what they load are symbols. */
#include <stdio.h>

#include "check/prove/machine.h"

/* A load that may be of a parameter of the kernel or of constant memory, and no event. */
static const Operand *weak_scalar_load(const Instr *i)
{
    const OpInfo *op = i->op;
    if (op->opcode != OPC_LD || op->strength != STRENGTH_WEAK || i->slots < 3 || !type_bits(op->type[0]) || op->types != 1)
        return NULL;
    const Operand *mem = instr_operand(i, 1);
    return mem->kind == OPND_MEM && mem->value == 1 ? mem : NULL;
}

static u32 loaded_bytes(const Instr *i)
{
    u32 count = i->opnd[0].kind == OPND_VEC ? (u32)i->opnd[0].value : 1;
    return count * type_bits(i->op->type[0]) / 8;
}

/* The parameter of a kernel into which a register points by which i loads; 0: it does no such thing. */
static SymId parameter_pointed_into(Machine *m, const Instr *i, i64 *offset)
{
    const Operand *mem = weak_scalar_load(i);
    if (!mem || mem[1].kind != OPND_REG || i->op->space != SPACE_PARAM || !m->fn->is_entry || !m->reg[mem[1].id])
        return 0;
    Term address = prove_address(m, i->op, mem);
    for (u32 k = 0; k < m->fn->params.n; k++) {
        SymId id = m->fn->params.v[k];
        Operand start = {.kind = OPND_SYM, .id = id};
        Term distance = prove_sub(m->t, address, prove_operand(m, &start, prove_bits(m->t, address)));
        i64 bytes = m->fn->module->syms.v[id].bytes;
        if (!prove_is_const(m->t, distance) || (i64)prove_node(m->t, distance)->value < 0 ||
            (i64)prove_node(m->t, distance)->value + loaded_bytes(i) > bytes)
            continue;
        *offset = (i64)prove_node(m->t, distance)->value;
        return id;
    }
    return 0;
}

bool prove_loads_parameter(Machine *m, const Instr *i)
{
    i64 unused;
    return parameter_pointed_into(m, i, &unused) != 0;
}

void prove_load_constant(Machine *m, const Instr *i, Term guard)
{
    const Operand *mem = instr_operand(i, 1), *to = instr_operand(i, 0);
    i64 offset = mem[1].value;
    SymId sym = mem[1].kind == OPND_SYM ? mem[1].id : parameter_pointed_into(m, i, &offset);
    u32 count = to->kind == OPND_VEC ? (u32)to->value : 1;
    Type type = i->op->type[0];
    for (u32 k = 0; k < count; k++) {
        const Operand *part = count > 1 || to->kind == OPND_VEC ? to + 1 + k : to;
        char text[360];
        long long at = offset + (i64)k * type_bits(type) / 8;
        snprintf(text, sizeof text, "%s %s+%lld", i->op->space == SPACE_CONST ? "constant" : "argument",
                 prove_sym_name(m, sym)->text, at);
        if (part->kind != OPND_REG)
            continue;
        Term x = prove_sym(m->t, PROVE_SYM_PARAM, 0, prove_name(m->t, text), 0, type_bits(type));
        x = prove_resize(m->t, x, prove_reg_bits(m, part->id), type_class(type) == TC_SIGNED);
        prove_define(m, guard, part, x);
    }
}

bool prove_loads_constant(const Machine *m, const Instr *i)
{
    const OpInfo *op = i->op;
    const Operand *mem = weak_scalar_load(i);
    if (!mem || mem[1].kind != OPND_SYM)
        return false;
    const Sym *s = &m->fn->module->syms.v[mem[1].id];
    if (op->space == SPACE_PARAM && s->kind == SYM_PARAM)
        return m->fn->is_entry;
    return op->space == SPACE_CONST && s->kind == SYM_VAR && s->space == SPACE_CONST;
}
