#include "check/prove/locals.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnvmap.h"
#include "ir/builder.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "ir/reg_walk.h"

enum { PASSES_MOST = 16 };
enum { UNKNOWN = UINT32_MAX };

/* An address: `at` to `at` + `more` bytes into variable number `var` - 1. */
typedef struct LocalPlace {
    u32 var; /* 0: none */
    bool generic;
    i64 at, more;
} LocalPlace;

/* One number that a load or store moves. */
typedef struct LocalCell {
    Instr *i;
    u32 slot; /* of its operand */
    u32 var, bytes;
    i64 at;
    u32 home; /* the first cell of the largest that contains it; cells are sorted */
} LocalCell;

typedef struct Locals {
    Function *fn;
    Arena arena;
    VecU32 sym;     /* by variable: SymId */
    FnvMap number;  /* SymId -> variable, plus 1 */
    BitSet known;   /* by variable: it stays, or something else may know of it */
    Instr **only;   /* by RegId: its only write */
    LocalPlace *of; /* by RegId: what that writes */
    u32 *ever;      /* by RegId: the variable, plus 1, of which it holds an address at times */
    /* what registers hold at a point of a block; those that nothing has written since it began have no mark */
    LocalPlace *now;
    u32 *mark, walk;
    VEC(Instr *) movers; /* the writes of registers that hold an address */
    VecU32 moved;        /* of which variable */
    VEC(LocalCell) cells;
} Locals;

/* ---- variables ------------------------------------------------------------------------------------------------- */

static u64 hash_of(const Name *name) { return fnv_bytes(FNV_BASIS, name->text, name->len); }

SymId prove_variables_end(const Function *fn, SymId *first)
{
    SymId end = 0;
    *first = fn->module->syms.n;
    for (u32 s = 0; s < fn->scopes.n; s++)
        for (u32 d = 0; d < fn->scopes.v[s].decls.n; d++) {
            const Decl *decl = &fn->scopes.v[s].decls.v[d];
            if (decl->kind != DECL_VAR)
                continue;
            *first = decl->sym < *first ? decl->sym : *first;
            end = decl->sym + decl->syms > end ? decl->sym + decl->syms : end;
        }
    return end > *first ? end : *first;
}

/* The hashes of the names of symbols that instructions name. */
static FnvMap names_used(const Function *fn)
{
    FnvMap names = {0};
    for_each_block(b, fn)
        for_each_instr(i, b)
            for_each_slot(o, i)
                if (o->kind == OPND_SYM)
                    fnvmap_at(&names, hash_of(fn->module->syms.v[o->id].name));
    return names;
}

static void find_variables(Locals *l, const Function *after)
{
    const Module *m = l->fn->module;
    VecU32 stays = {0};
    FnvMap names = names_used(after);
    for (u32 s = 0; s < l->fn->scopes.n; s++)
        for (u32 d = 0; d < l->fn->scopes.v[s].decls.n; d++) {
            const Decl *decl = &l->fn->scopes.v[s].decls.v[d];
            for (SymId id = decl->sym; decl->kind == DECL_VAR && id < decl->sym + decl->syms; id++)
                if (m->syms.v[id].space == SPACE_LOCAL) {
                    bool may_go = !m->syms.v[id].escapes && m->syms.v[id].bytes > 0 &&
                                  !fnvmap_find(&names, hash_of(m->syms.v[id].name));
                    vec_push(&l->sym, id);
                    *fnvmap_at(&l->number, id) = l->sym.n;
                    if (!may_go)
                        vec_push(&stays, l->sym.n - 1);
                }
        }
    l->known = bitset_new(&l->arena, l->sym.n);
    for (u32 k = 0; k < stays.n; k++)
        bitset_add(&l->known, stays.v[k]);
    vec_free(&stays);
    fnvmap_free(&names);
}

static void know_all(Locals *l)
{
    for (u32 var = 0; var < l->sym.n; var++)
        bitset_add(&l->known, var);
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* What the operand holds at the point where the walk is; var: UNKNOWN where that may be the address of a variable. */
static LocalPlace place_of(const Locals *l, const Operand *o)
{
    LocalPlace p = {0};
    if (o->kind == OPND_SYM) {
        const u64 *number = fnvmap_find(&l->number, o->id);
        p.var = number ? (u32)*number : 0;
    } else if (slot_is_use(o) && l->ever[o->id]) {
        if (l->mark[o->id] == l->walk)
            p = l->now[o->id];
        else if (l->only[o->id])
            p = l->of[o->id];
        else
            p.var = UNKNOWN;
    }
    p.at += p.var ? o->value : 0;
    return p;
}

/* The instruction that writes what the operand holds in i; NULL: it is not known to be one. */
static const Instr *definition(const Locals *l, const Instr *i, const Operand *o)
{
    const Instr *def = !operand_plain_register(o) ? NULL : l->only[o->id] ? l->only[o->id] : instr_last_write(i, o->id);
    return def && instr_kills(def, o->id) ? def : NULL;
}

/* By what a number of 32 bits, which is extended to 64, is multiplied. That is by i, or by i and the conversion in front
 * of it, which *number becomes. -1: by nothing that is known. */
static i64 factor(const Locals *l, const Instr *i, const Instr **number)
{
    const Sem *sem = &i->op->sem;
    const Instr *wide = sem->op == OPC_SHL && sem->bits == 64 ? definition(l, i, &i->opnd[1]) : NULL;
    bool extends = wide && wide->op->sem.op == OPC_CVT && wide->op->sem.from == 32 && wide->op->sem.bits == 64;
    *number = extends ? wide : i;
    if (i->slots != 3 || i->opnd[2].kind != OPND_IMM || i->opnd[2].value < 0 || i->opnd[2].value > UINT16_MAX)
        return -1;
    if (sem->op == OPC_MUL && sem->from == 32 && sem->bits == 64)
        return i->opnd[2].value;
    return extends && i->opnd[2].value < 16 ? 1 << i->opnd[2].value : -1;
}

/* The largest value of an index: what is left of a number by a mask, times a constant; -1: it is written otherwise. */
static i64 index_most(const Locals *l, const Instr *i, const Operand *o)
{
    const Instr *product = definition(l, i, o), *number;
    i64 by = product ? factor(l, product, &number) : -1;
    const Instr *masked = by >= 0 ? definition(l, number, &number->opnd[1]) : NULL;
    if (!masked || masked->op->sem.op != OPC_AND || masked->op->sem.bits != 32 || masked->slots != 3 ||
        masked->opnd[2].kind != OPND_IMM)
        return -1;
    i64 most = masked->opnd[2].value;
    return most >= 0 && most <= UINT16_MAX ? most * by : -1;
}

/* The address that i computes, and does nothing else: var is 0 where it does not. */
static LocalPlace moved_to(const Locals *l, const Instr *i)
{
    LocalPlace none = {0};
    u32 op = i->kind == INSTR_OP ? i->op->sem.op : OPC_UNKNOWN;
    bool adds = op == OPC_ADD || op == OPC_SUB, has_two = adds || op == OPC_OR;
    if ((!has_two && op != OPC_MOV && op != OPC_CVTA && op != OPC_CVTA_TO) || i->guard || i->slots != (has_two ? 3 : 2) ||
        op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT))
        return none;
    const Operand *to = &i->opnd[0];
    if (to->kind != OPND_REG || to->sub || fn_reg(l->fn, to->id)->is_param ||
        i->op->sem.bits != type_bits(fn_reg(l->fn, to->id)->type) || i->op->sem.bits < 32)
        return none;
    LocalPlace p = place_of(l, &i->opnd[1]);
    if (p.var == UNKNOWN)
        return none;
    if (op == OPC_CVTA || op == OPC_CVTA_TO) {
        if (i->op->space != SPACE_LOCAL || p.generic == (op == OPC_CVTA) || i->op->sem.bits != l->fn->module->address_size)
            return none;
        p.generic = !p.generic;
    }
    if (op == OPC_ADD && p.var && i->opnd[2].kind == OPND_REG) {
        i64 most = index_most(l, i, &i->opnd[2]);
        p.more += most;
        return most >= 0 ? p : none;
    }
    if (has_two && i->opnd[2].kind != OPND_IMM)
        return none;
    if (op == OPC_OR && p.var) {
        u64 by = (u64)i->opnd[2].value, align = l->fn->module->syms.v[l->sym.v[p.var - 1]].align;
        if (by >= align || (p.at & (i64)by))
            return none;
        p.at += (i64)by;
    }
    if (adds)
        p.at += op == OPC_ADD ? sem_signed((u64)i->opnd[2].value, i->op->sem.bits) : -i->opnd[2].value;
    return p.at >= INT32_MIN && p.at <= INT32_MAX ? p : none;
}

/* Goes on past i, which computes the address p or none. Answers whether that is news. */
static bool step(Locals *l, const Instr *i, LocalPlace p)
{
    bool is_news = false;
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        LocalPlace to = p.var && w.reg == i->opnd[0].id ? p : (LocalPlace){0};
        if (to.var && l->ever[w.reg] && l->ever[w.reg] != to.var) { /* who reads it may know of both */
            bitset_add(&l->known, to.var - 1);
            bitset_add(&l->known, l->ever[w.reg] - 1);
        }
        is_news |= to.var && (!l->ever[w.reg] || (l->only[w.reg] && !l->of[w.reg].var));
        if (to.var)
            l->ever[w.reg] = to.var;
        if (to.var && l->only[w.reg])
            l->of[w.reg] = to;
        if (!w.kills)
            to.var = UNKNOWN;
        l->now[w.reg] = to;
        l->mark[w.reg] = l->walk;
    }
    return is_news;
}

/* False: it does not come to an end. */
static bool find_places(Locals *l)
{
    bool again = true;
    for (u32 pass = 0; again && pass < PASSES_MOST; pass++) {
        again = false;
        for_each_block(b, l->fn) {
            l->walk++;
            for_each_instr(i, b)
                again |= step(l, i, moved_to(l, i));
        }
    }
    return !again;
}

/* ---- accesses -------------------------------------------------------------------------------------------------- */

static bool is_load(const Instr *i) { return i->op->opcode == OPC_LD; }

/* Whether slot k is all that is in the brackets of a weak load or store of numbers in registers, or constants. */
static bool is_weak_access(const Locals *l, const Instr *i, u32 k)
{
    if ((!is_load(i) && i->op->opcode != OPC_ST) || !op_has(i->op, OPF_PLAIN_ACCESS) || i->op->types != 1 ||
        instr_operands(i) != 2)
        return false;
    const Operand *mem = instr_operand(i, is_load(i) ? 1 : 0), *data = instr_operand(i, is_load(i) ? 0 : 1);
    u32 bits = type_bits(i->op->type[0]), n = data->kind == OPND_VEC ? (u32)data->value : 1;
    bool good =
        mem->kind == OPND_MEM && mem->value == 1 && mem + 1 == &i->opnd[k] && bits >= 8 && bits <= 64 && n == i->op->vector;
    for (const Operand *o = data + (data->kind == OPND_VEC); good && n-- > 0; o++)
        good = o->kind == OPND_REG
                   ? !o->sub && !o->flags && !o->value && fn_reg(l->fn, o->id)->vector == 1 &&
                         type_bits(fn_reg(l->fn, o->id)->type) >= bits
                   : o->kind == OPND_IMM || (o->kind == OPND_SINK && is_load(i)) || (o->kind == OPND_FLOAT && bits >= 32);
    return good;
}

static void add_cells(Locals *l, Instr *i, LocalPlace p)
{
    u32 bytes = type_bits(i->op->type[0]) / 8, first = operand_slot(i, is_load(i) ? 0 : 1);
    i64 end = p.at + p.more + (i64)bytes * i->op->vector;
    if (p.at < 0 || end > l->fn->module->syms.v[l->sym.v[p.var - 1]].bytes)
        know_all(l);
    if (p.more || p.at % (bytes * i->op->vector) || p.generic != (i->op->space == SPACE_GENERIC) ||
        (!p.generic && i->op->space != SPACE_LOCAL))
        bitset_add(&l->known, p.var - 1);
    first += i->opnd[first].kind == OPND_VEC;
    for (u32 k = 0; k < i->op->vector; k++)
        vec_push(&l->cells, ((LocalCell){.i = i, .slot = first + k, .var = p.var, .bytes = bytes, .at = p.at + k * bytes}));
}

static void look_at_slot(Locals *l, Instr *i, u32 k, bool moves)
{
    const Operand *o = &i->opnd[k];
    LocalPlace p = place_of(l, o);
    bool in_brackets = k && i->opnd[k - 1].kind == OPND_MEM;
    if (p.var == UNKNOWN)
        bitset_add(&l->known, l->ever[o->id] - 1);
    else if (p.var && is_weak_access(l, i, k))
        add_cells(l, i, p);
    else if (p.var && !moves)
        bitset_add(&l->known, p.var - 1);
    if ((!p.var || p.var == UNKNOWN) && o->kind != OPND_SYM && in_brackets && i->op->space == SPACE_LOCAL)
        know_all(l); /* an address that is not followed */
}

static void look_at(Locals *l)
{
    for_each_block(b, l->fn) {
        l->walk++;
        for_each_instr(i, b) {
            LocalPlace p = moved_to(l, i);
            for (u32 k = 0; i->kind == INSTR_OP && k < i->slots; k++)
                look_at_slot(l, i, k, p.var != 0);
            if (p.var) {
                vec_push(&l->movers, i);
                vec_push(&l->moved, p.var);
            }
            step(l, i, p);
        }
    }
}

/* ---- registers ------------------------------------------------------------------------------------------------- */

static int compare_cells(const void *a, const void *b)
{
    const LocalCell *x = a, *y = b;
    return x->var != y->var       ? (x->var < y->var ? -1 : 1)
           : x->at != y->at       ? (x->at < y->at ? -1 : 1)
           : x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
                                  : 0;
}

/* The registers of the cells that one of 8 bytes or less contains: two of 32 bits if one of these is smaller than 8. */
typedef struct LocalHome {
    i64 at, end;
    u32 var;
    bool has_parts;
    RegId word[2];
} LocalHome;

typedef VEC(LocalHome) LocalHomes;

static void find_homes(Locals *l, LocalHomes *homes)
{
    if (l->cells.n)
        qsort(l->cells.v, l->cells.n, sizeof *l->cells.v, compare_cells);
    for (u32 k = 0; k < l->cells.n; k++) {
        LocalCell *c = &l->cells.v[k];
        LocalHome *h = homes->n ? &vec_last(homes) : NULL;
        if (!h || h->var != c->var || c->at >= h->end) {
            vec_push(homes, ((LocalHome){.at = c->at, .end = c->at + c->bytes, .var = c->var}));
            h = &vec_last(homes);
        }
        if (c->at + c->bytes > h->end)
            bitset_add(&l->known, c->var - 1);
        h->has_parts |= c->bytes < h->end - h->at;
        c->home = homes->n - 1;
    }
}

static Operand zero(u32 bits) { return build_integer(0, bits, false); }

static void make_home(Function *fn, LocalHome *h)
{
    Builder at = fn->entry->first ? build_before(fn->entry->first) : build_at_end(fn->entry);
    bool is_wide = h->end - h->at == 8 && !h->has_parts;
    Type type = is_wide ? TYPE_B64 : TYPE_B32;
    for (u32 k = 0; k < (h->end - h->at == 8 && h->has_parts ? 2u : 1u); k++)
        h->word[k] = build_unary(&at, OPC_MOV, (OpParts){.type = {type}}, type, zero(is_wide ? 64 : 32));
}

/* ---- moves ----------------------------------------------------------------------------------------------------- */

static OpParts between(Type to, Type from) { return (OpParts){.type = {to, from}}; }
static Type number_type(u32 bits, bool is_signed)
{
    static const Type types[][2] = {{TYPE_U8, TYPE_S8}, {TYPE_U16, TYPE_S16}, {TYPE_U32, TYPE_S32}, {TYPE_U64, TYPE_S64}};
    return types[bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3][is_signed];
}

/* An instruction that writes what the access writes, if that is executed. */
static void build_last(const Builder *at, const LocalCell *c, Opcode opcode, OpParts parts, const Operand *slots, u32 n)
{
    Instr *made = build(at, opcode, parts, slots, n);
    if (c->i->guard)
        instr_set_guard(made, c->i->guard, c->i->guard_not);
}

static u32 operand_bits(const Function *fn, const Operand *o)
{
    return o->kind == OPND_REG ? type_bits(fn_reg(fn, o->id)->type) : 0;
}

/* What is stored, as the low bits of a word. */
static Operand stored(const Builder *at, const LocalCell *c, Operand o)
{
    u32 bits = operand_bits(at->fn, &o);
    if (o.kind == OPND_FLOAT && c->bytes == 4)
        return register_operand(build_unary(at, OPC_MOV, (OpParts){.type = {TYPE_F32}}, TYPE_B32, o));
    if (!bits || bits == 32)
        return o;
    OpParts parts = between(TYPE_U32, number_type(bits, false));
    return register_operand(build_unary(at, OPC_CVT, parts, TYPE_B32, o));
}

static void store(const Builder *at, const LocalCell *c, const LocalHome *h, Operand o)
{
    u32 from = 8 * ((u32)(c->at - h->at) % 4), bits = 8 * c->bytes;
    Operand word = register_operand(h->word[(c->at - h->at) / 4]);
    OpParts b32 = {.type = {TYPE_B32}};
    if (bits == 64 && h->has_parts) {
        Operand whole = o.kind == OPND_REG
                            ? o
                            : register_operand(build_unary(
                                  at, OPC_MOV, (OpParts){.type = {o.kind == OPND_IMM ? TYPE_B64 : TYPE_F64}}, TYPE_B64, o));
        Operand slots[] = {{.kind = OPND_VEC, .id = 2, .value = 2}, word, register_operand(h->word[1]), whole};
        build_last(at, c, OPC_MOV, (OpParts){.type = {TYPE_B64}}, slots, 4);
    } else if (bits == 64) {
        OpParts parts = {.type = {o.kind == OPND_FLOAT ? TYPE_F64 : TYPE_B64}};
        build_last(at, c, OPC_MOV, parts, (Operand[]){word, o}, 2);
    } else if (bits == 32 || !h->has_parts) {
        build_last(at, c, OPC_MOV, b32, (Operand[]){word, stored(at, c, o)}, 2);
    } else {
        u32 mask = (u32)sem_max(bits) << from;
        Operand rest = register_operand(build_binary(at, OPC_AND, b32, TYPE_B32, word, build_integer(~mask, 32, false)));
        Operand part = register_operand(
            build_binary(at, OPC_AND, b32, TYPE_B32, stored(at, c, o), build_integer(sem_max(bits), 32, false)));
        part = register_operand(build_binary(at, OPC_SHL, b32, TYPE_B32, part, build_integer(from, 32, false)));
        build_last(at, c, OPC_OR, b32, (Operand[]){word, rest, part}, 3);
    }
}

static void load(const Builder *at, const LocalCell *c, const LocalHome *h, Operand to)
{
    u32 from = 8 * ((u32)(c->at - h->at) % 4), bits = 8 * c->bytes;
    Operand word = register_operand(h->word[(c->at - h->at) / 4]);
    bool is_signed = type_class(c->i->op->type[0]) == TC_SIGNED;
    if (bits == 64 && h->has_parts) {
        Operand slots[] = {to, {.kind = OPND_VEC, .id = 2, .value = 2}, word, register_operand(h->word[1])};
        build_last(at, c, OPC_MOV, (OpParts){.type = {TYPE_B64}}, slots, 4);
        return;
    }
    if (bits == operand_bits(at->fn, &to) && bits >= 32) {
        build_last(at, c, OPC_MOV, (OpParts){.type = {bits_type(bits)}}, (Operand[]){to, word}, 2);
        return;
    }
    if (from)
        word = register_operand(
            build_binary(at, OPC_SHR, (OpParts){.type = {TYPE_U32}}, TYPE_B32, word, build_integer(from, 32, false)));
    OpParts parts = between(number_type(operand_bits(at->fn, &to), is_signed), number_type(bits, is_signed));
    build_last(at, c, OPC_CVT, parts, (Operand[]){to, word}, 2);
}

static void move_cells(Locals *l, LocalHomes *homes)
{
    for (u32 k = 0; k < homes->n; k++)
        if (!bitset_has(&l->known, homes->v[k].var - 1))
            make_home(l->fn, &homes->v[k]);
    for (u32 k = 0; k < l->cells.n; k++) {
        const LocalCell *c = &l->cells.v[k];
        Builder at = build_before(c->i);
        Operand o = c->i->opnd[c->slot];
        if (bitset_has(&l->known, c->var - 1) || o.kind == OPND_SINK)
            continue;
        (is_load(c->i) ? load : store)(&at, c, &homes->v[c->home], o);
    }
    for (u32 k = 0; k < l->cells.n; k++)
        if (!bitset_has(&l->known, l->cells.v[k].var - 1) && l->cells.v[k].i->block)
            instr_remove(l->cells.v[k].i);
    for (u32 k = 0; k < l->movers.n; k++)
        if (!bitset_has(&l->known, l->moved.v[k] - 1))
            instr_remove(l->movers.v[k]);
}

/* Registers get their first value in front of the entry. */
static bool is_entered_again(const Function *fn)
{
    for_each_block(b, fn)
        for (u32 edge = 0; edge < block_edge_count(b); edge++)
            if (block_edge_target(b, edge) == fn->entry)
                return true;
    return false;
}

void prove_drop_locals(Function *before, const Function *after)
{
    Locals l = {.fn = before};
    LocalHomes homes = {0};
    find_variables(&l, after);
    if (l.sym.n && !is_entered_again(before)) {
        l.only = instr_only_writes(&l.arena, before);
        l.of = arena_array(&l.arena, LocalPlace, before->regs.n);
        l.now = arena_array(&l.arena, LocalPlace, before->regs.n);
        l.ever = arena_array(&l.arena, u32, before->regs.n);
        l.mark = arena_array(&l.arena, u32, before->regs.n);
        if (find_places(&l)) {
            look_at(&l);
            find_homes(&l, &homes);
            move_cells(&l, &homes);
        }
    }
    vec_free(&homes);
    vec_free(&l.cells);
    vec_free(&l.movers);
    vec_free(&l.moved);
    fnvmap_free(&l.number);
    vec_free(&l.sym);
    arena_free(&l.arena);
}
