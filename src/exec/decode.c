/* From the IR to Codes: operands, blocks, functions, the program. */
#include "exec/decode.h"
#include "exec/reconverge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ------------------------------------------------------------------------------------------------- */

static bool is_param(const Function *fn, SymId id)
{
    for (u32 i = 0; i < fn->params.n; i++)
        if (fn->params.v[i] == id)
            return true;
    return false;
}

static Arg constant_arg(Program *p, u64 value)
{
    u64 *known = fnvmap_at(&p->constant_index, value);
    if (!*known) {
        *known = p->constants.n / LANES + 1;
        for (u32 i = 0; i < LANES; i++)
            vec_push(&p->constants, value);
    }
    return (Arg){.kind = ARG_CONST, .index = (u32)*known - 1, .bits = 64};
}

static u64 literal_bits(Decoder *d, const Operand *o, ElemType type)
{
    bool single = o->flags & OPNDF_SINGLE;
    if (single && elem_is_float(type) && type.bits == 64) { /* ptxas extends the bits, it does not convert */
        d->bad |= type.count != 1 || (o->flags & OPNDF_NEG);
        return (u64)o->value & mask_bits(32);
    }
    double x = single ? bits_to_float((u64)o->value) : bits_to_double((u64)o->value);
    if (o->flags & OPNDF_NEG)
        x = -x;
    if (type.kind == EK_BITS && type.bits == 32)
        type = elem_f32;
    if (type.kind == EK_BITS && type.bits == 64 && !single)
        type = (ElemType){EK_FLOAT, 64, 1};
    if (!elem_is_float(type) || type.count != 1) {
        d->bad = true;
        return 0;
    }
    if (single && type.bits == 32 && !(o->flags & OPNDF_NEG))
        return (u64)o->value & mask_bits(32); /* NaNs keep their bits */
    if (!single && type.bits == 64 && !(o->flags & OPNDF_NEG))
        return (u64)o->value;
    return format_from_double(format_of(type), x, ROUND_NEAREST_EVEN, false);
}

static Arg decode_symbol(Decoder *d, const Operand *o)
{
    const Sym *sym = &d->p->module->syms.v[o->id];
    i64 address;
    if (sym->owner && (sym->space == SPACE_LOCAL || sym->space == SPACE_PARAM)) {
        i64 at = d->p->sym_address[o->id] + o->value;
        bool in_bank = sym->space == SPACE_PARAM && d->f->fn->is_entry && at >= 0 && is_param(d->f->fn, o->id);
        return in_bank ? constant_arg(d->p, (u64)at) : (Arg){.kind = ARG_FRAME, .cooked = true, .add = at};
    }
    if (!variable_address(d->p, o->id, false, &address)) {
        d->bad = true;
        return (Arg){0};
    }
    if (sym->kind == SYM_FUNC)
        d->p->takes_addresses = true;
    return constant_arg(d->p, (u64)(address + o->value));
}

static bool special_register(const char *name, u32 component, Arg *a)
{
    static const struct {
        const char *name;
        SregId id;
        u8 bits;
    } rows[] = {
        {"%tid", 0, 32},
        {"%ntid", 3, 32},
        {"%ctaid", 6, 32},
        {"%nctaid", 9, 32},
        {"%clusterid", 6, 32},
        {"%nclusterid", 9, 32},
        {"%laneid", SREG_LANEID, 32},
        {"%warpid", SREG_WARPID, 32},
        {"%nwarpid", SREG_NWARPID, 32},
        {"WARP_SZ", SREG_WARP_SIZE, 32},
        {"%smid", SREG_SMID, 32},
        {"%nsmid", SREG_NSMID, 32},
        {"%gridid", SREG_GRIDID, 64},
        {"%clock", SREG_CLOCK, 32},
        {"%clock64", SREG_CLOCK, 64},
        {"%globaltimer", SREG_CLOCK, 64},
        {"%globaltimer_lo", SREG_CLOCK, 32},
        {"%clock_hi", SREG_ZERO, 32},
        {"%globaltimer_hi", SREG_ZERO, 32},
        {"%lanemask_eq", SREG_LANEMASK_EQ, 32},
        {"%lanemask_lt", SREG_LANEMASK_LT, 32},
        {"%lanemask_le", SREG_LANEMASK_LE, 32},
        {"%lanemask_gt", SREG_LANEMASK_GT, 32},
        {"%lanemask_ge", SREG_LANEMASK_GE, 32},
        {"%dynamic_smem_size", SREG_DYNAMIC_SHARED, 32},
        {"%total_smem_size", SREG_TOTAL_SHARED, 32},
        {"%cluster_ctarank", SREG_ZERO, 32},
        {"%cluster_nctarank", SREG_ONE, 32},
        {"%cluster_ctaid", SREG_ZERO, 32},
        {"%cluster_nctaid", SREG_ONE, 32},
        {"%is_explicit_cluster", SREG_ZERO, 1},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(name, rows[i].name)) {
            u32 index = (u32)rows[i].id + (rows[i].id < SREG_TID_END ? component : 0);
            *a = (Arg){.kind = ARG_SREG, .index = index, .cooked = true, .bits = rows[i].bits};
            return component < 3;
        }
    return false;
}

static Arg decode_register(Decoder *d, const Operand *o)
{
    Arg a = d->f->reg[o->id];
    const Reg *r = fn_reg(d->f->fn, o->id);
    switch (o->sub) {
    case SUB_NONE: d->bad |= r->vector > 1; break;
    case SUB_X:
    case SUB_Y:
    case SUB_Z:
    case SUB_W:
        a.index += (u32)(o->sub - SUB_X);
        d->bad |= (u32)(o->sub - SUB_X) >= r->vector;
        break;
    case SUB_B0:
    case SUB_B1:
    case SUB_B2:
    case SUB_B3:
        a.field_at = (u8)(8 * (o->sub - SUB_B0));
        a.field_bits = 8;
        break;
    case SUB_H0:
    case SUB_H1:
        a.field_at = (u8)(16 * (o->sub - SUB_H0));
        a.field_bits = 16;
        break;
    default: d->bad = true;
    }
    a.invert = o->flags & OPNDF_NOT;
    a.negate = o->flags & OPNDF_NEG;
    a.add = o->sub == SUB_OTHER ? 0 : o->value;
    d->bad |= a.invert && a.kind != ARG_PRED;
    a.cooked = a.field_bits || a.invert || a.negate || a.add;
    return a;
}

Arg decode_source(Decoder *d, const Operand *o, ElemType type)
{
    Arg a = {0};
    switch (o->kind) {
    case OPND_REG: return decode_register(d, o);
    case OPND_IMM:
        if (elem_is_float(type))
            d->bad = true;
        return constant_arg(d->p, type.kind == EK_PRED ? o->value != 0 : (u64)o->value);
    case OPND_FLOAT: return constant_arg(d->p, literal_bits(d, o, type));
    case OPND_SYM: return decode_symbol(d, o);
    case OPND_SREG:
        if (!special_register(sreg_info(o->id)->name, o->sub == SUB_NONE ? 0 : (u32)(o->sub - SUB_X), &a))
            d->bad = true;
        return a;
    case OPND_NAME:
        if (!special_register(d->p->module->other_names.v[o->id]->text, 0, &a))
            d->bad = true;
        return a;
    default: d->bad = true; return a;
    }
}

Arg decode_result(Decoder *d, const Operand *o)
{
    if (o->kind == OPND_SINK)
        return (Arg){0};
    if (o->kind != OPND_REG) {
        d->bad = true;
        return (Arg){0};
    }
    Arg a = decode_register(d, o);
    d->bad |= a.invert || a.negate || a.add;
    return a;
}

void decode_reserve(Decoder *d, u32 results, u32 args)
{
    d->c->results = (u8)results;
    d->c->args = (u8)args;
    d->c->result = arena_array(d->p->arena, Arg, results + 1);
    d->c->arg = arena_array(d->p->arena, Arg, args + 1);
}

u32 decode_members(const Operand *o, const Operand **member, u32 max)
{
    if (!operand_is_aggregate(o)) {
        member[0] = o;
        return 1;
    }
    u32 n = 0;
    const Operand *m = o + 1;
    for (u32 i = 0; i < o->id; i++, m += operand_slots(m))
        if (n < max)
            member[n++] = m;
    return o->id > max ? max + 1 : n;
}

MemSpace decode_take_space(Decoder *d)
{
    static const char *const names[] = {"global",      "shared",          "local",        "const",       "param",
                                        "shared::cta", "shared::cluster", "param::entry", "param::func", NULL};
    static const MemSpace spaces[] = {MS_GLOBAL, MS_SHARED, MS_LOCAL, MS_CONST, MS_PARAM,
                                      MS_SHARED, MS_SHARED, MS_PARAM, MS_PARAM};
    int i = op_take_any(&d->op, names);
    return i < 0 ? MS_GENERIC : spaces[i];
}

bool decode_address(Decoder *d, const Operand *o, Arg *base, i64 *offset, MemSpace *space)
{
    const Operand *member[2];
    if (o->kind != OPND_MEM || decode_members(o, member, 2) != 1)
        return false;
    Operand first = *member[0];
    if (first.kind == OPND_SYM) {
        const Sym *sym = &d->p->module->syms.v[first.id];
        bool bank = sym->space == SPACE_PARAM && d->f->fn->is_entry && is_param(d->f->fn, first.id);
        if (sym->space == SPACE_PARAM && !bank)
            *space = MS_LOCAL; /* .func parameters and those of calls lie in local memory */
        else if (*space == MS_GENERIC && sym->kind != SYM_FUNC) /* a variable's name alone names its space */
            *space = sym->space == SPACE_SHARED  ? MS_SHARED
                     : sym->space == SPACE_CONST ? MS_CONST
                     : sym->space == SPACE_LOCAL ? MS_LOCAL
                     : sym->space == SPACE_PARAM ? MS_PARAM
                                                 : MS_GLOBAL;
    } else if (*space == MS_PARAM && !d->f->fn->is_entry) {
        *space = MS_LOCAL;
    }
    *offset = 0;
    if (first.kind == OPND_REG && first.sub != SUB_OTHER) {
        *offset = first.value;
        first.value = 0;
    }
    *base = decode_source(d, &first, elem_b64);
    return true;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

const char *code_location(const Program *p, const Code *c)
{
    if (!c || !c->instr)
        return arena_printf(p->arena, "%s", p->file);
    Str text = span_str(p->module, c->instr->text);
    u32 line = 1, shown = 0;
    for (const char *q = p->module->text.p; q < text.p; q++)
        line += *q == '\n';
    while (shown < text.len && text.p[shown] != '\n' && shown < 100)
        shown++;
    return arena_printf(p->arena, "%s:%u: %.*s", p->file, line, (int)shown, text.p);
}

static void run_unsupported(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    if (!mask)
        return;
    if (!w->m->unsupported)
        w->m->unsupported = code_location(w->m->program, c);
    machine_stop(w->m);
}

static void run_goto(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)mask;
    w->m->count->jumps += c->counted;
    split_go(w, s, c->fall);
}

static DecodeFn *find_row(const Op *op)
{
    static const DecodeRow *const tables[] = {rows_alu, rows_memory, rows_lanes, rows_control, rows_matrix};
    for (u32 t = 0; t < COUNT_OF(tables); t++)
        for (const DecodeRow *row = tables[t]; row->name; row++)
            if (op_is(op, row->name))
                return row->decode;
    return NULL;
}

static void report_unsupported(Program *p, const Code *c) { vec_push(&p->unsupported, code_location(p, c)); }

static void decode_instr(Program *p, FnCode *f, const Instr *i, Code *c)
{
    Decoder d = {.p = p, .f = f, .i = i, .c = c};
    *c = (Code){
        .instr = i, .counted = true, .target = NO_PC, .fall = NO_PC, .join = {NO_PC, NO_PC}, .guard_not = i->guard_not};
    bool ok = op_split(&d.op, i->op->text->text);
    for_each_operand(o, i) {
        if (d.opnds < COUNT_OF(d.opnd))
            d.opnd[d.opnds++] = o;
        else
            ok = false;
    }
    if (i->guard) {
        c->guarded = true;
        c->guard = f->reg[i->guard].index;
        ok &= f->reg[i->guard].kind == ARG_PRED;
    }
    DecodeFn *family = ok ? find_row(&d.op) : NULL;
    Op whole = d.op;
    ok = ok && family && family(&d) && op_done(&d.op) && !d.bad;
    if (!ok) {
        d.op = whole;
        d.bad = false;
        ok = decode_arithmetic(&d) && op_done(&d.op) && !d.bad;
    }
    if (!ok) {
        c->run = run_unsupported;
        report_unsupported(p, c);
    }
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

static void number_registers(Program *p, FnCode *f)
{
    const Function *fn = f->fn;
    f->reg = arena_array(p->arena, Arg, fn->regs.n + 1);
    for (RegId r = 1; r < fn->regs.n; r++) {
        const Reg *reg = fn_reg(fn, r);
        u32 bits = type_bits(reg->type);
        if (type_class(reg->type) == TC_PRED) {
            f->reg[r] = (Arg){.kind = ARG_PRED, .bits = 1, .index = f->preds++};
            continue;
        }
        /* A 128-bit register is two slots; the second one is the upper half. */
        f->reg[r] = (Arg){.kind = ARG_SLOT, .bits = (u8)(bits < 64 ? bits : 64), .index = f->slots};
        f->slots += bits > 64 ? 2 : reg->vector;
    }
}

static u32 sym_align(const Sym *sym)
{
    u32 natural = type_bits(sym->type) / 8;
    return sym->align ? sym->align : natural ? natural : 8;
}

static void place_params(Program *p, FnCode *f)
{
    const Function *fn = f->fn;
    u32 reg_params = 0;
    for (RegId r = 1; r < fn->regs.n; r++)
        reg_params += fn_reg(fn, r)->is_param;
    f->params = fn->params.n + reg_params;
    f->returns = reg_params ? RETURNS_AS_CALLED : fn->return_params;
    f->param = arena_array(p->arena, FnParam, f->params + 1);
    u32 n = 0;
    for (RegId r = 1; r < fn->regs.n; r++)
        if (fn_reg(fn, r)->is_param)
            f->param[n++] = (FnParam){.in_register = true, .reg = f->reg[r]};
    for (u32 i = 0; i < fn->params.n; i++) {
        const Sym *sym = &p->module->syms.v[fn->params.v[i]];
        u32 bytes = sym->bytes > 0 ? (u32)sym->bytes : 0;
        u32 at = layout_add(fn->is_entry ? &f->bank : &f->local, sym->name->text, bytes, sym_align(sym));
        p->sym_address[fn->params.v[i]] = at;
        f->param[n++] = (FnParam){.address = at, .bytes = bytes};
    }
}

static void place_locals(Program *p, FnCode *f)
{
    for (u32 s = 0; s < f->fn->scopes.n; s++)
        for (u32 k = 0; k < f->fn->scopes.v[s].decls.n; k++) {
            const Decl *decl = &f->fn->scopes.v[s].decls.v[k];
            for (SymId id = decl->sym; decl->kind == DECL_VAR && id < decl->sym + decl->syms; id++) {
                const Sym *sym = &p->module->syms.v[id];
                if (sym->space == SPACE_LOCAL || sym->space == SPACE_PARAM)
                    p->sym_address[id] =
                        layout_add(&f->local, sym->name->text, sym->bytes > 0 ? (u64)sym->bytes : 0, sym_align(sym));
            }
        }
}

/* Whether a Code without text ends the block: control goes on, or runs off, without an unguarded terminator. */
static bool needs_transfer(const Block *b)
{
    const Instr *t = block_terminator(b);
    return !t || (t->guard && op_has(t->op, OPF_NO_RETURN));
}

static u32 count_instrs(const Block *b)
{
    u32 n = 0;
    for_each_instr(i, b)
        n += i->kind == INSTR_OP;
    return n;
}

static u32 pc_of(const u32 *pcs, const Block *b) { return b ? pcs[b->id] : NO_PC; }

static void finish_branch(Program *p, Code *c, const Block *b, const u32 *pcs, u32 *const *join)
{
    const Instr *i = c->instr;
    c->fall = pc_of(pcs, b->fall);
    c->fall_counted = b->jump && b->fall != b->next;
    for (u32 m = 0; m < RECONVERGE_MODELS; m++)
        c->join[m] = join[m][b->id] == NO_PC ? NO_PC : pcs[join[m][b->id]];
    const Table *table = branch_table(i);
    if (!table) {
        c->target = pc_of(pcs, branch_target(i));
        return;
    }
    c->entries = table->targets.n;
    c->table = arena_array(p->arena, u32, c->entries + 1);
    for (u32 k = 0; k < c->entries; k++)
        c->table[k] = pcs[table->targets.v[k]];
}

static void decode_block(Program *p, FnCode *f, const Block *b, const u32 *pcs, u32 *const *join)
{
    for_each_instr(i, b) {
        Code c;
        if (i->kind != INSTR_OP)
            continue;
        decode_instr(p, f, i, &c);
        if (op_has(i->op, OPF_BRANCH))
            finish_branch(p, &c, b, pcs, join);
        vec_push(&f->code, c);
    }
    if (!needs_transfer(b))
        return;
    Code c = {.run = b->fall ? run_goto : run_return, .fall = pc_of(pcs, b->fall), .target = NO_PC, .join = {NO_PC, NO_PC}};
    c.instr = b->jump ? b->jump : NULL;
    c.counted = b->jump && b->fall != b->next;
    vec_push(&f->code, c);
}

static void decode_function(Program *p, FnCode *f)
{
    Function *fn = f->fn;
    u32 *pcs = mem_zalloc(sizeof(u32) * (fn->blocks.n + 1)), pc = 0;
    f->decoded = true;
    number_registers(p, f);
    place_params(p, f);
    place_locals(p, f);
    for_each_block(b, fn) {
        pcs[b->id] = pc;
        pc += count_instrs(b) + needs_transfer(b);
    }
    u32 *join[RECONVERGE_MODELS];
    for (u32 m = 0; m < RECONVERGE_MODELS; m++)
        join[m] = reconvergence_points(fn, (ReconvergeModel)m);
    for_each_block(b, fn)
        decode_block(p, f, b, pcs, join);
    f->reached = arena_alloc(p->arena, f->code.n + 1);
    for (u32 m = 0; m < RECONVERGE_MODELS; m++)
        free(join[m]);
    free(pcs);
}

/* ---- the program ---------------------------------------------------------------------------------------------- */

FnCode *program_function(const Program *p, const char *name)
{
    for (u32 i = 0; i < p->functions.n; i++)
        if (!strcmp(p->functions.v[i]->name, name))
            return p->functions.v[i];
    return NULL;
}

Program *program_new(Arena *arena, Module *module, const char *file)
{
    Program *p = arena_new(arena, Program);
    p->arena = arena;
    p->module = module;
    p->file = file;
    static const char narrow[] = ".address_size 32";
    p->wide_addresses = true;
    for (u32 i = 0; i + sizeof narrow < module->text.len && i < 4096; i++)
        if (!memcmp(module->text.p + i, narrow, sizeof narrow - 1))
            p->wide_addresses = false;
    for (u32 i = 0; i < module->functions.n; i++) {
        Function *fn = module->functions.v[i];
        if (!fn->is_definition)
            continue;
        FnCode *f = arena_new(arena, FnCode);
        *f = (FnCode){.fn = fn, .name = fn->name->text, .index = p->functions.n};
        vec_push(&p->functions, f);
    }
    variables_place(p);
    variables_initialise(p);
    return p;
}

void program_decode(Program *p, FnCode *entry)
{
    VEC(FnCode *) work = {0};
    if (!entry->decoded)
        vec_push(&work, entry);
    while (work.n) {
        FnCode *f = vec_pop(&work);
        if (f->decoded)
            continue;
        decode_function(p, f);
        for (u32 i = 0; i < f->code.n; i++)
            if (f->code.v[i].callee && !f->code.v[i].callee->decoded)
                vec_push(&work, f->code.v[i].callee);
        /* Once an address is taken, a call may reach whatever function there is. */
        for (u32 i = 0; i < p->functions.n && p->takes_addresses; i++)
            if (!p->functions.v[i]->decoded && !p->functions.v[i]->fn->is_entry)
                vec_push(&work, p->functions.v[i]);
    }
    vec_free(&work);
}

void program_free(Program *p)
{
    for (u32 i = 0; i < p->functions.n; i++) {
        vec_free(&p->functions.v[i]->code);
        layout_free(&p->functions.v[i]->local);
        layout_free(&p->functions.v[i]->bank);
    }
    vec_free(&p->functions);
    vec_free(&p->constants);
    vec_free(&p->globals);
    vec_free(&p->unsupported);
    fnvmap_free(&p->constant_index);
    layout_free(&p->shared);
    layout_free(&p->constant_bank);
}
