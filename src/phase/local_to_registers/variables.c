#include "phase/local_to_registers/variables.h"

#include "analysis/values.h"
#include "ir/builder.h"
#include "ir/inspect.h"

enum { SEVERAL = UINT32_MAX /* of_reg: addresses of more than one variable */ };
enum { INDEX_MOST = 1 << 30 };

/* ---- variables ------------------------------------------------------------------------------------------------- */

/* The first reason counts. */
static void keep(LocalVariable *v, const Instr *at, const char *why)
{
    if (!v->stays) {
        v->stays = why;
        v->at = at;
    }
}

static void keep_all(LocalVariables *l, const Instr *at, const char *why)
{
    if (!l->all_stay) {
        l->all_stay = why;
        l->all_stay_at = at;
    }
}

static void add_variables(LocalVariables *l, u32 scope, u32 decl)
{
    const Decl *d = &l->fn->scopes.v[scope].decls.v[decl];
    for (SymId id = d->sym; d->kind == DECL_VAR && id < d->sym + d->syms; id++) {
        const Sym *s = &l->fn->module->syms.v[id];
        if (s->kind != SYM_VAR || s->space != SPACE_LOCAL)
            continue;
        LocalVariable v = {.sym = id, .scope = scope, .decl = decl};
        vec_push(&l->variables, v);
        *fnvmap_at(&l->of_sym, id) = l->variables.n;
        if (s->escapes || s->bytes <= 0)
            keep(&vec_last(&l->variables), NULL,
                 s->escapes ? "debug data or a declaration names it" : "its size is not known");
    }
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* The value of the register that the operand reads in i. */
static ValueId value_in(LocalVariables *l, const Instr *i, const Operand *o)
{
    return ssa_at(an_ssa(l->an), i->block, i, o->id);
}

/* The address that the operand has in i, with its offset; variable 0: none that is followed. */
static LocalAddress address_in(LocalVariables *l, const Instr *i, const Operand *o)
{
    LocalAddress a = {0};
    if (o->kind == OPND_SYM) {
        const u64 *number = fnvmap_find(&l->of_sym, o->id);
        a.variable = number ? (u32)*number : 0;
    } else if (slot_is_use(o) && l->of_reg[o->id] && !o->sub) {
        a = l->of_value[value_in(l, i, o)];
    }
    a.lo += a.variable ? o->value : 0;
    a.hi += a.variable ? o->value : 0;
    return a;
}

/* The values of a register; a widening product by a constant, as indices are multiplied, is followed to its factor. */
static Range register_range(LocalVariables *l, const Instr *i, const Operand *o, u32 bits)
{
    const Instr *def = ssa_definition(an_ssa(l->an), value_in(l, i, o), o->id);
    const Operand *x = def ? instr_operand(def, 1) : NULL, *y = def ? instr_operand(def, 2) : NULL;
    const Sem *sem = def ? &def->op->sem : NULL;
    bool is_product = def && sem->op == OPC_MUL && sem->from == 32 && sem->bits == 64 && bits == 64;
    if (!is_product || !operand_plain_register(x) || y->kind != OPND_IMM || y->value < 0 || y->value > INDEX_MOST)
        return value_of_register(an_facts(l->an), (ProgramPoint){NULL, i->block, i}, o->id, bits);
    Range r = value_of_register(an_facts(l->an), (ProgramPoint){NULL, def->block, def}, x->id, 32);
    return range_binary(OPC_MUL, sem->is_signed, range_extend(r, 64, sem->is_signed), range_constant(64, (u64)y->value));
}

/* The values of the operand that is added to an address; false: they are not known to be small. */
static bool index_range(LocalVariables *l, const Instr *i, const Operand *o, i64 *least, i64 *most)
{
    u32 bits = i->op->sem.bits;
    if (o->kind == OPND_IMM) {
        *least = *most = sem_signed((u64)o->value, bits);
    } else if (operand_plain_register(o)) {
        Range r = register_range(l, i, o, bits);
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
    LocalAddress a = address_in(l, i, x), b = address_in(l, i, y);
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
    LocalAddress a = address_in(l, i, x);
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
    LocalAddress a = address_in(l, i, instr_operand(i, 1));
    bool to_generic = i->op->opcode == OPC_CVTA;
    if (i->op->space != SPACE_LOCAL || !a.variable || a.generic == to_generic ||
        i->op->sem.bits != l->fn->module->address_size)
        return (LocalAddress){0};
    a.generic = to_generic;
    a.converted = true;
    return a;
}

/* Whether i computes what may be an address. One of local memory has 32 bits, also where it stands in a register of 64. */
static bool is_mover(const Function *fn, const Instr *i)
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

static LocalAddress computed(LocalVariables *l, const Instr *i)
{
    switch (i->op->sem.op) {
    case OPC_MOV: return address_in(l, i, &i->opnd[1]);
    case OPC_ADD:
    case OPC_SUB: return added(l, i);
    case OPC_OR: return with_bits(l, i);
    default: return windowed(l, i);
    }
}

/* Notes what i computes, if that is an address. */
static void look_at_mover(LocalVariables *l, Instr *i)
{
    LocalAddress a = computed(l, i);
    if (!a.variable)
        return;
    RegId reg = i->opnd[0].id;
    ValueId value = ssa_at(an_ssa(l->an), i->block, i->next, reg);
    if (value && !i->guard)
        l->of_value[value] = a;
    l->of_reg[reg] = l->of_reg[reg] && l->of_reg[reg] != a.variable ? SEVERAL : a.variable;
    vec_push(&l->movers, ((LocalMover){i, a.variable - 1}));
}

/* ---- what is done with them ------------------------------------------------------------------------------------ */

/* Whether the slot is the register or variable in the brackets of a plain access, which reads it nowhere else. */
static bool is_plain_access(const Instr *i, u32 slot)
{
    const OpInfo *op = i->op;
    if ((op->opcode != OPC_LD && op->opcode != OPC_ST) || !op_has(op, OPF_PLAIN_ACCESS) || op->types != 1)
        return false;
    u32 mem = operand_slot(i, op->opcode == OPC_LD ? 1 : 0), bits = type_bits(op->type[0]);
    return slot == mem + 1 && i->opnd[mem].kind == OPND_MEM && i->opnd[mem].value == 1 && instr_operands(i) == 2 &&
           (op->space == SPACE_LOCAL || op->space == SPACE_GENERIC) && bits >= 8 && bits <= 64 && op->vector >= 1;
}

/* Whether the register or constant can be loaded to, or stored, by moves. */
static bool is_movable(const Function *fn, const Operand *o, Type type, bool loads)
{
    u32 bits = type_bits(type);
    if (o->kind == OPND_SINK)
        return loads;
    if (o->kind == OPND_IMM)
        return !loads && !(o->flags & ~OPNDF_UNSIGNED) && type_class(type) != TC_FLOAT;
    if (o->kind == OPND_FLOAT)
        return !loads && !(o->flags & ~OPNDF_SINGLE) && bits == (o->flags & OPNDF_SINGLE ? 32u : 64u) &&
               (type_class(type) == TC_FLOAT || type_class(type) == TC_BITS);
    if (!operand_plain_register(o))
        return false;
    const Reg *r = fn_reg(fn, o->id);
    bool is_part_of_float = type_class(r->type) == TC_FLOAT && bits < type_bits(r->type); /* no cvt takes its bits */
    return r->vector == 1 && type_bits(r->type) >= 16 && type_bits(r->type) >= bits && build_can_copy(r->type) &&
           r->type != TYPE_PRED && !is_part_of_float;
}

static bool are_movable(const Function *fn, const Instr *i)
{
    const Operand *data = instr_operand(i, i->op->opcode == OPC_LD ? 0 : 1);
    u32 count = data->kind == OPND_VEC ? (u32)data->value : 1;
    bool all = count == i->op->vector;
    data += data->kind == OPND_VEC;
    for (u32 k = 0; k < count && all; k++)
        all = is_movable(fn, data + k, i->op->type[0], i->op->opcode == OPC_LD);
    return all;
}

static void add_access(LocalVariables *l, Instr *i, const LocalAddress *a)
{
    LocalVariable *v = &l->variables.v[a->variable - 1];
    u32 bytes = type_bits(i->op->type[0]) / 8, all = bytes * i->op->vector;
    LocalAccess access = {.i = i, .variable = a->variable - 1, .bytes = bytes, .elements = i->op->vector, .lo = a->lo};
    access.end = a->hi + all;
    access.is_constant = a->lo == a->hi;
    access.converted = a->converted;
    v->access = v->access ? v->access : i;
    if (access.lo < 0 || access.end > l->fn->module->syms.v[v->sym].bytes)
        keep_all(l, i, "an access is not known to stay inside its variable");
    else if (a->generic != (i->op->space == SPACE_GENERIC))
        keep_all(l, i, "an access has the address of another state space");
    else if (access.is_constant && access.lo % all != 0)
        keep(v, i, "an access is not aligned");
    else if (!are_movable(l->fn, i))
        keep(v, i, "an access is of what cannot be moved");
    vec_push(&l->accesses, access);
}

/* Why a variable whose address the instruction reads, in any other place than the brackets of a plain access, must stay. */
static const char *escape(const Instr *i, u32 slot)
{
    static const char other[] = "its address is used otherwise than in a load or store";
    const OpInfo *op = i->op;
    bool in_brackets = slot > 0 && i->opnd[slot - 1].kind == OPND_MEM;
    if (op_has(op, OPF_CALL) || (op->mem == MEM_WRITE && op->space == SPACE_PARAM && !in_brackets))
        return "its address is passed to a call";
    if (op->mem == MEM_READ_WRITE)
        return "an atomic operation has its address";
    if (op->mem != MEM_NONE)
        return in_brackets ? "an access of it is volatile or strong, or of another kind" : "its address is stored";
    if (op->cmp != CMP_NONE)
        return "its address is compared";
    if (op->sem.op == OPC_SELP)
        return "its address is chosen by a predicate";
    bool adds = op->sem.op == OPC_ADD || op->sem.op == OPC_SUB || op->sem.op == OPC_MAD;
    return adds && !op_has(op, OPF_CARRY_IN | OPF_CARRY_OUT) ? "it is indexed by a register" : other;
}

/* A read of a register that may, on some path, hold an address, and does not hold the same value on all. */
static void look_at_unknown(LocalVariables *l, const Instr *i, const Operand *o)
{
    if (!l->of_reg[o->id] || ssa_definition(an_ssa(l->an), value_in(l, i, o), o->id))
        return;
    if (l->of_reg[o->id] == SEVERAL)
        keep_all(l, i, "a register may hold the address of one variable or of another");
    else
        keep(&l->variables.v[l->of_reg[o->id] - 1], i, "its address is not the same on all paths");
}

static void look_at_slot(LocalVariables *l, Instr *i, u32 slot, bool moves)
{
    const Operand *o = &i->opnd[slot];
    LocalAddress a = address_in(l, i, o);
    if (!a.variable && o->kind == OPND_REG)
        look_at_unknown(l, i, o);
    else if (a.variable && is_plain_access(i, slot))
        add_access(l, i, &a);
    else if (a.variable && !moves)
        keep(&l->variables.v[a.variable - 1], i, escape(i, slot));
}

/* An access of local memory whose address is not followed may be of any variable. */
static void look_at_brackets(LocalVariables *l, const Instr *i)
{
    for (u32 k = 0; k + 1 < i->slots && i->op->space == SPACE_LOCAL && i->op->mem != MEM_NONE; k++) {
        const Operand *base = &i->opnd[k + 1];
        if (i->opnd[k].kind == OPND_MEM && base->kind != OPND_SYM && !address_in(l, i, base).variable)
            keep_all(l, i, "an access of local memory may be of any variable");
    }
}

static void look_at(LocalVariables *l, Instr *i)
{
    bool moves = order_reachable(an_order(l->an), i->block) && is_mover(l->fn, i) && computed(l, i).variable;
    for (u32 k = 0; k < i->slots; k++)
        if (i->opnd[k].kind == OPND_SYM || slot_is_use(&i->opnd[k]))
            look_at_slot(l, i, k, moves);
    look_at_brackets(l, i);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* Addresses come before their readers in this order, except before readers of which nothing is known. */
static void find_addresses(LocalVariables *l)
{
    const Order *order = an_order(l->an);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (is_mover(l->fn, i))
                look_at_mover(l, i);
}

LocalVariables *local_variables_find(Analyses *an)
{
    LocalVariables *l = arena_new(an->scratch, LocalVariables);
    Function *fn = an->fn;
    *l = (LocalVariables){.an = an, .fn = fn};
    for (u32 s = 0; s < fn->scopes.n; s++)
        for (u32 d = 0; d < fn->scopes.v[s].decls.n; d++)
            add_variables(l, s, d);
    if (!l->variables.n)
        return l;
    if (fn->module->address_size != 32 && fn->module->address_size != 64)
        keep_all(l, NULL, "the size of addresses is not known");
    const Order *order = an_order(an);
    if (order->pred.start[0] < order->pred.start[1]) /* of the entry */
        keep_all(l, NULL, "nothing can stand in front of the first block");
    l->of_reg = arena_array(an->scratch, u32, fn->regs.n);
    l->of_value = arena_array(an->scratch, LocalAddress, an_ssa(an)->count);
    find_addresses(l);
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP)
                look_at(l, i);
    return l;
}

void local_variables_free(LocalVariables *l)
{
    vec_free(&l->variables);
    vec_free(&l->movers);
    vec_free(&l->accesses);
    fnvmap_free(&l->of_sym);
}
