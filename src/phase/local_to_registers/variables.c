#include "phase/local_to_registers/variables.h"

#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/local_to_registers/addresses.h"
#include "phase/local_to_registers/iterations.h"

/* ---- variables ------------------------------------------------------------------------------------------------- */

/* Notes the loop of an instruction for which variables stay. In its iterations, one by one, they might not. */
static void note_loop(LocalVariables *l, const Instr *at)
{
    const Loop *loop = at && !l->iteration ? loop_of(an_loops(l->an), at->block) : NULL;
    if (loop)
        bitset_add(&l->indexing, local_loop_place(l->an, loop));
}

/* The first reason counts. */
static void keep(LocalVariables *l, LocalVariable *v, const Instr *at, const char *why)
{
    note_loop(l, at);
    if (!v->stays) {
        v->stays = why;
        v->at = at;
    }
}

/* Keeps a variable for a reason that stays outside of a loop, whichever loops are written out. */
static void keep_anyway(LocalVariables *l, LocalVariable *v, const Instr *at, const char *why)
{
    keep(l, v, at, why);
    if (v->stays_anyway || (at && loop_of(an_loops(l->an), at->block)))
        return;
    v->stays_anyway = true;
    l->staying++;
}

static void keep_all(LocalVariables *l, const Instr *at, const char *why)
{
    note_loop(l, at);
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
            keep_anyway(l, &vec_last(&l->variables), NULL,
                        s->escapes ? "debug data or a declaration names it" : "its size is not known");
    }
}

/* Notes what i computes, if that is an address. */
static void look_at_mover(LocalVariables *l, Instr *i)
{
    LocalAddress a = local_address_of_result(l, i);
    if (!a.variable)
        return;
    RegId reg = i->opnd[0].id;
    ValueId value = ssa_at(an_ssa(l->an), i->block, i->next, reg);
    if (value && !i->guard)
        l->of_value[value] = a;
    local_address_note(l, reg, a.variable);
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
    if (!access.is_constant)
        note_loop(l, i);
    if (access.lo < 0 || access.end > l->fn->module->syms.v[v->sym].bytes)
        keep_all(l, i, "an access is not known to stay inside its variable");
    else if (a->generic != (i->op->space == SPACE_GENERIC))
        keep_all(l, i, "an access has the address of another state space");
    else if (access.is_constant && access.lo % all != 0)
        keep(l, v, i, "an access is not aligned");
    else if (!are_movable(l->fn, i))
        keep(l, v, i, "an access is of what cannot be moved");
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

/* A read of a register that may, on some path, hold an address, and does not hold the same value on all. The addresses that single
 * iterations compute are followed in these only. */
static void look_at_unknown(LocalVariables *l, const Instr *i, const Operand *o)
{
    if (!l->of_reg[o->id] || local_address_held(l, i, o->id) ||
        (!bitset_has(&l->of_iteration, o->id) && ssa_definition(an_ssa(l->an), local_address_value(l, i, o), o->id)))
        return;
    if (l->of_reg[o->id] == LOCAL_SEVERAL)
        keep_all(l, i, "a register may hold the address of one variable or of another");
    else
        keep(l, &l->variables.v[l->of_reg[o->id] - 1], i, "its address is not the same on all paths");
}

static void look_at_slot(LocalVariables *l, Instr *i, u32 slot, bool moves)
{
    const Operand *o = &i->opnd[slot];
    LocalAddress a = local_address_in(l, i, o);
    if (!a.variable && o->kind == OPND_REG)
        look_at_unknown(l, i, o);
    else if (a.variable && is_plain_access(i, slot))
        add_access(l, i, &a);
    else if (a.variable && !moves)
        keep_anyway(l, &l->variables.v[a.variable - 1], i, escape(i, slot));
}

/* An access of local memory whose address is not followed may be of any variable. */
static void look_at_brackets(LocalVariables *l, const Instr *i)
{
    for (u32 k = 0; k + 1 < i->slots && i->op->space == SPACE_LOCAL && i->op->mem != MEM_NONE; k++) {
        const Operand *base = &i->opnd[k + 1];
        if (i->opnd[k].kind == OPND_MEM && base->kind != OPND_SYM && !local_address_in(l, i, base).variable)
            keep_all(l, i, "an access of local memory may be of any variable");
    }
}

static void look_at(LocalVariables *l, Instr *i)
{
    bool moves = order_reachable(an_order(l->an), i->block) && local_address_is_moved(l->fn, i) &&
                 local_address_of_result(l, i).variable;
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
            if (local_address_is_moved(l->fn, i))
                look_at_mover(l, i);
}

static void look_at_block(LocalVariables *l, const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP)
            look_at(l, i);
}

LocalVariables *local_variables_find(Analyses *an, const LocalLoops *written_out, bool all)
{
    LocalVariables *l = arena_new(an->scratch, LocalVariables);
    Function *fn = an->fn;
    *l = (LocalVariables){.an = an, .fn = fn};
    l->indexing = bitset_new(an->scratch, an_loops(an)->n + 1);
    l->walked = bitset_new(an->scratch, an_loops(an)->n + 1);
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
    l->of_iteration = bitset_new(an->scratch, fn->regs.n);
    find_addresses(l);
    for (u32 k = 0; k < written_out->n; k++) {
        const LocalLoop *w = &written_out->v[k];
        for (u32 b = 0; b < w->as.blocks; b++)
            bitset_add(&l->walked, local_loop_place(an, loop_of(an_loops(an), w->as.block[b])));
        local_loop_walk(l, w, look_at);
    }
    for (const Block *b = fn->entry; b && (all || local_variables_may_go(l)); b = b->next)
        if (!loop_of(an_loops(an), b) || !bitset_has(&l->walked, local_loop_place(an, loop_of(an_loops(an), b))))
            look_at_block(l, b);
    return l;
}

void local_variables_free(LocalVariables *l)
{
    vec_free(&l->variables);
    vec_free(&l->movers);
    vec_free(&l->accesses);
    fnvmap_free(&l->of_sym);
}
