#include "ir/builder.h"

#include <assert.h>
#include <string.h>

Operand build_integer(u64 value, u32 bits, bool is_signed)
{
    u64 all = bits < 64 ? ((u64)1 << bits) - 1 : UINT64_MAX;
    u64 low = value & all;
    bool negative = is_signed && low >> (bits - 1) & 1;
    Operand o = {.kind = OPND_IMM, .value = (i64)(negative ? low | ~all : low)};
    if (!negative && o.value < 0)
        o.flags = OPNDF_UNSIGNED;
    return o;
}

static Instr *put(const Builder *at, Instr *i)
{
    if (at->before)
        instr_insert_before(at->before, i);
    else
        instr_append(at->block, i);
    return i;
}

Instr *build(const Builder *at, Opcode opcode, OpParts parts, const Operand *slots, u32 count)
{
    return put(at, instr_new(at->fn, isa_op(at->fn->module->isa, opcode, parts), slots, count));
}

RegId build_value(const Builder *at, const OpInfo *op, Type type, const Operand *sources, u32 count)
{
    Operand slots[8] = {register_operand(reg_new(at->fn, type))};
    assert(count < COUNT_OF(slots));
    memcpy(slots + 1, sources, count * sizeof *sources);
    put(at, instr_new(at->fn, op, slots, count + 1));
    return slots[0].id;
}

RegId build_unary(const Builder *at, Opcode opcode, OpParts parts, Type type, Operand source)
{
    return build_value(at, isa_op(at->fn->module->isa, opcode, parts), type, &source, 1);
}

RegId build_binary(const Builder *at, Opcode opcode, OpParts parts, Type type, Operand left, Operand right)
{
    return build_value(at, isa_op(at->fn->module->isa, opcode, parts), type, (Operand[]){left, right}, 2);
}

/* The type of a mov for this type; TYPE_NONE: there is none. */
static Type copy_type(Type type)
{
    if (type == TYPE_PRED)
        return TYPE_PRED;
    switch (type_bits(type)) {
    case 16: return TYPE_B16;
    case 32: return TYPE_B32;
    case 64: return TYPE_B64;
    default: return TYPE_NONE;
    }
}

bool build_can_copy(Type type) { return copy_type(type) != TYPE_NONE; }

Instr *build_copy(const Builder *at, RegId to, RegId from)
{
    Type type = copy_type(fn_reg(at->fn, from)->type);
    assert(type != TYPE_NONE);
    return build(at, OPC_MOV, (OpParts){.type = {type}}, (Operand[]){register_operand(to), register_operand(from)}, 2);
}

RegId build_clone(const Builder *at, const Instr *i, Type type)
{
    Instr *made = instr_clone(at->fn, i);
    made->opnd[0].id = reg_new(at->fn, type);
    made->changed = true;
    return put(at, made)->opnd[0].id;
}

void build_nounroll(Block *b)
{
    Instr *pragma = instr_new(b->fn, NULL, NULL, 0);
    pragma->kind = INSTR_PRAGMA;
    pragma->changed = false;
    if (b->first)
        instr_insert_before(b->first, pragma);
    else
        instr_append(b, pragma);
}

u32 table_new(Block *b)
{
    Function *fn = b->fn;
    Table table = {.kind = TABLE_BRANCH, .changed = true, .name = label_fresh_name(fn), .scope = b->scope};
    vec_push(&fn->tables, table);
    return fn->tables.n - 1;
}

void table_add(Function *fn, u32 table, const Block *to) { vec_push(&fn->tables.v[table].targets, to->id); }
