#include "phase/local_to_registers/addresses.h"

#include "analysis/values.h"
#include "ir/inspect.h"

enum { INDEX_MOST = 1 << 30 };

/* ---- registers ------------------------------------------------------------------------------------------------- */

const LocalHeld *local_address_held(const LocalVariables *l, const Instr *i, RegId reg)
{
    const u64 *place = l->iteration ? fnvmap_find(&l->iteration->of_reg, reg) : NULL;
    const LocalHeld *held = place ? &l->iteration->held.v[*place] : NULL;
    return held && held->is_known && (!held->at || dominates(an_dom(l->an), held->at, i->block)) ? held : NULL;
}

ValueId local_address_value(LocalVariables *l, const Instr *i, const Operand *o)
{
    return ssa_at(an_ssa(l->an), i->block, i, o->id);
}

LocalAddress local_address_in(LocalVariables *l, const Instr *i, const Operand *o)
{
    LocalAddress a = {0};
    const LocalHeld *held = slot_is_use(o) && !o->sub ? local_address_held(l, i, o->id) : NULL;
    if (o->kind == OPND_SYM) {
        const u64 *number = fnvmap_find(&l->of_sym, o->id);
        a.variable = number ? (u32)*number : 0;
    } else if (held) {
        a = held->address;
    } else if (slot_is_use(o) && l->of_reg[o->id] && !o->sub) {
        a = l->of_value[local_address_value(l, i, o)];
    }
    a.lo += a.variable ? o->value : 0;
    a.hi += a.variable ? o->value : 0;
    return a;
}

Range local_address_range(LocalVariables *l, const Instr *i, const Operand *o, u32 bits)
{
    const LocalHeld *held = local_address_held(l, i, o->id);
    if (held && !held->address.variable)
        return range_constant(bits, held->number);
    const Instr *def = ssa_definition(an_ssa(l->an), local_address_value(l, i, o), o->id);
    const Operand *x = def ? instr_operand(def, 1) : NULL, *y = def ? instr_operand(def, 2) : NULL;
    const Sem *sem = def ? &def->op->sem : NULL;
    bool is_product = def && sem->op == OPC_MUL && sem->from == 32 && sem->bits == 64 && bits == 64;
    if (!is_product || !operand_plain_register(x) || y->kind != OPND_IMM || y->value < 0 || y->value > INDEX_MOST)
        return value_of_register(an_facts(l->an), (ProgramPoint){NULL, i->block, i}, o->id, bits);
    Range r = value_of_register(an_facts(l->an), (ProgramPoint){NULL, def->block, def}, x->id, 32);
    return range_binary(OPC_MUL, sem->is_signed, range_extend(r, 64, sem->is_signed), range_constant(64, (u64)y->value));
}

void local_address_note(LocalVariables *l, RegId reg, u32 variable)
{
    l->of_reg[reg] = l->of_reg[reg] && l->of_reg[reg] != variable ? LOCAL_SEVERAL : variable;
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* The values of the operand that is added to an address; false: they are not known to be small. */
static bool index_range(LocalVariables *l, const Instr *i, const Operand *o, i64 *least, i64 *most)
{
    u32 bits = i->op->sem.bits;
    if (o->kind == OPND_IMM) {
        *least = *most = sem_signed((u64)o->value, bits);
    } else if (operand_plain_register(o)) {
        Range r = local_address_range(l, i, o, bits);
        *least = r.least;
        *most = r.most;
    } else {
        return false;
    }
    return *least >= -INDEX_MOST && *most <= INDEX_MOST;
}

static LocalAddress added(LocalVariables *l, const Instr *i)
{
    const Operand *x = instr_operand(i, 1), *y = instr_operand(i, 2);
    bool subtracts = i->op->sem.op == OPC_SUB;
    LocalAddress a = local_address_in(l, i, x), b = local_address_in(l, i, y);
    if (!a.variable && !subtracts) {
        SWAP(a, b);
        SWAP(x, y);
    }
    i64 least, most;
    if (!a.variable || b.variable || !index_range(l, i, y, &least, &most))
        return (LocalAddress){0};
    a.lo += subtracts ? -most : least;
    a.hi += subtracts ? -least : most;
    return a.lo >= -INDEX_MOST && a.hi <= INDEX_MOST ? a : (LocalAddress){0};
}

/* An or with bits that the alignment of the variable leaves free, as LLVM writes additions. */
static LocalAddress with_bits(LocalVariables *l, const Instr *i)
{
    const Operand *x = instr_operand(i, 1), *y = instr_operand(i, 2);
    LocalAddress a = local_address_in(l, i, x);
    if (!a.variable || y->kind != OPND_IMM || a.lo != a.hi)
        return (LocalAddress){0};
    u32 align = l->fn->module->syms.v[l->variables.v[a.variable - 1].sym].align;
    if (y->value < 0 || y->value >= align || (a.lo & y->value) != 0)
        return (LocalAddress){0};
    a.lo = a.hi = a.lo + y->value;
    return a;
}

static LocalAddress windowed(LocalVariables *l, const Instr *i)
{
    LocalAddress a = local_address_in(l, i, instr_operand(i, 1));
    bool to_generic = i->op->opcode == OPC_CVTA;
    if (i->op->space != SPACE_LOCAL || !a.variable || a.generic == to_generic ||
        i->op->sem.bits != l->fn->module->address_size)
        return (LocalAddress){0};
    a.generic = to_generic;
    a.converted = true;
    return a;
}

bool local_address_is_moved(const Function *fn, const Instr *i)
{
    if (i->kind != INSTR_OP || op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) || i->slots < 2 || i->slots > 3)
        return false;
    const Operand *to = &i->opnd[0];
    u32 op = i->op->sem.op, bits = i->op->sem.bits;
    if (op != OPC_MOV && op != OPC_ADD && op != OPC_SUB && op != OPC_OR && op != OPC_CVTA && op != OPC_CVTA_TO)
        return false;
    return (bits == 32 || bits == 64) && to->kind == OPND_REG && to->sub == SUB_NONE && !fn_reg(fn, to->id)->is_param &&
           fn_reg(fn, to->id)->vector == 1 && type_bits(fn_reg(fn, to->id)->type) == bits &&
           i->slots == (op == OPC_ADD || op == OPC_SUB || op == OPC_OR ? 3u : 2u);
}

LocalAddress local_address_of_result(LocalVariables *l, const Instr *i)
{
    switch (i->op->sem.op) {
    case OPC_MOV: return local_address_in(l, i, &i->opnd[1]);
    case OPC_ADD:
    case OPC_SUB: return added(l, i);
    case OPC_OR: return with_bits(l, i);
    default: return windowed(l, i);
    }
}
