/* Decodes the IR to Codes: instructions, blocks, functions, the program. */
#include "check/exec/decode.h"
#include "check/exec/reconverge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- instructions --------------------------------------------------------------------------------------------- */

static void run_unsupported(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)s;
    (void)mask;
    if (!w->m->unsupported)
        w->m->unsupported = code_location(w->m->program, c);
    machine_stop(w->m);
}

static void run_goto(Warp *w, Split *s, const Code *c, u32 mask)
{
    (void)mask;
    w->m->count->jumps += c->counted;
    split_go(w, s, c->flow.fall);
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
    *c = (Code){.instr = i,
                .counted = true,
                .flow = {.target = NO_PC, .fall = NO_PC, .join = {NO_PC, NO_PC}},
                .guard_not = i->guard_not};
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
            f->param[n++] = (FnParam){.place = f->reg[r]};
    for (u32 i = 0; i < fn->params.n; i++) {
        const Sym *sym = &p->module->syms.v[fn->params.v[i]];
        u32 bytes = sym->bytes > 0 ? (u32)sym->bytes : 0;
        u32 at = program_place(p, fn->is_entry ? &f->bank : &f->local, fn->params.v[i], bytes, sym_align(sym));
        f->param[n++] = (FnParam){.place = {.kind = ARG_FRAME, .add = at}, .bytes = bytes};
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
                    program_place(p, &f->local, id, sym->bytes > 0 ? (u64)sym->bytes : 0, sym_align(sym));
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
    c->flow.fall = pc_of(pcs, b->fall);
    c->flow.fall_counted = b->jump && b->fall != b->next;
    for (u32 m = 0; m < RECONVERGE_MODELS; m++)
        c->flow.join[m] = join[m][b->id] == NO_PC ? NO_PC : pcs[join[m][b->id]];
    const Table *table = branch_table(i);
    if (!table) {
        c->flow.target = pc_of(pcs, branch_target(i));
        return;
    }
    c->flow.entries = table->targets.n;
    c->flow.table = arena_array(p->arena, u32, c->flow.entries + 1);
    for (u32 k = 0; k < c->flow.entries; k++)
        c->flow.table[k] = pcs[table->targets.v[k]];
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
    Code c = {.run = b->fall ? run_goto : run_return,
              .flow = {.fall = pc_of(pcs, b->fall), .target = NO_PC, .join = {NO_PC, NO_PC}}};
    c.instr = b->jump ? b->jump : NULL;
    c.counted = b->jump && b->fall != b->next;
    c.flow.ends = !b->fall;
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
        mem_free(join[m]);
    mem_free(pcs);
}

/* ---- the program ---------------------------------------------------------------------------------------------- */

Program *program_new(Arena *arena, Module *module, const char *file)
{
    Program *p = arena_new(arena, Program);
    p->arena = arena;
    p->module = module;
    p->file = file;
    p->wide_addresses = module->address_size != 32;
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
