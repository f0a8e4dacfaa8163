/* Making modules, functions, blocks, instructions and fresh names. */
#define _GNU_SOURCE /* memmem */
#include "ir/cfg.h"

#include <stdio.h>
#include <string.h>

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

static u32 skip_blanks(Str text, u32 at)
{
    while (at < text.len && (text.p[at] == ' ' || text.p[at] == '\t'))
        at++;
    return at;
}

/* The place after a comment that starts at `at`; `at` itself when there is none, or it does not end on this line. */
static u32 skip_line_comment(Str text, u32 at)
{
    if (at + 1 >= text.len || text.p[at] != '/')
        return at;
    u32 to = at + 2;
    if (text.p[at + 1] == '/') {
        while (to < text.len && !is_line_end(text.p[to]))
            to++;
        return to;
    }
    if (text.p[at + 1] != '*')
        return at;
    for (; to + 1 < text.len && !is_line_end(text.p[to]); to++)
        if (text.p[to] == '*' && text.p[to + 1] == '/')
            return to + 2;
    return at;
}

u32 text_line_end(Str text, u32 end)
{
    if (end < text.len && text.p[end] == '\n') /* as nearly always */
        return end + 1;
    u32 at = skip_blanks(text, skip_line_comment(text, skip_blanks(text, end)));
    if (at >= text.len || !is_line_end(text.p[at]))
        return end;
    bool crlf = text.p[at] == '\r' && at + 1 < text.len && text.p[at + 1] == '\n';
    return at + (crlf ? 2 : 1);
}

u32 text_item_end(Str text, u32 end)
{
    u32 line = text_line_end(text, end), at = line;
    while (at < text.len && (text.p[at] == '\t' || text.p[at] == ' ' || is_line_end(text.p[at])))
        at++;
    u32 len = (u32)strlen(TEXT_ASM_END);
    if (text.len - at < len || memcmp(text.p + at, TEXT_ASM_END, len) != 0)
        return line;
    u32 after = text_line_end(text, at + len); /* at + len itself: the comment says more than that */
    return after > at + len || after == text.len ? after : line;
}

/* ---- modules, functions, blocks ------------------------------------------------------------------------------- */

Module *module_new(Arena *arena, const char *file, Str text)
{
    Module *m = arena_new(arena, Module);
    m->arena = arena;
    m->file = file;
    m->text = text;
    intern_init(&m->names, arena);
    m->isa = isa_new(arena, &m->names);
    vec_push(&m->syms, (Sym){0});
    return m;
}

static void function_free(Function *fn)
{
    cfg_free(fn);
    for (u32 s = 0; s < fn->scopes.n; s++)
        vec_free(&fn->scopes.v[s].decls);
    for (u32 t = 0; t < fn->tables.n; t++)
        vec_free(&fn->tables.v[t].targets);
    vec_free(&fn->regs);
    vec_free(&fn->scopes);
    vec_free(&fn->tables);
    vec_free(&fn->blocks);
    vec_free(&fn->params);
    vec_free(&fn->edits.origin_links);
    vec_free(&fn->edits.lost_readers);
}

void module_free(Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++)
        function_free(m->functions.v[f]);
    vec_free(&m->functions);
    vec_free(&m->syms);
    vec_free(&m->other_names);
    vec_free(&m->undated_files);
    isa_free(m->isa);
    intern_free(&m->names);
}

Function *function_new(Module *m, const Name *name)
{
    Function *fn = arena_new(m->arena, Function);
    fn->module = m;
    fn->name = name;
    vec_push(&fn->regs, (Reg){0});
    vec_push(&fn->scopes, (Scope){0});
    vec_push(&m->functions, fn);
    return fn;
}

void function_shrink(Function *fn)
{
    cfg_free(fn);
    vec_shrink(&fn->regs);
    vec_shrink(&fn->blocks);
    vec_shrink(&fn->scopes);
    vec_shrink(&fn->params);
    vec_shrink(&fn->scopes.v[0].decls);
    if (!fn->edits.lost_readers.n)
        vec_free(&fn->edits.lost_readers);
}

Block *block_new(Function *fn, ScopeId scope)
{
    assert(scope < 1u << 29);
    Block *b = arena_new(fn->module->arena, Block);
    b->id = fn->blocks.n;
    b->fn = fn;
    b->scope = scope;
    vec_push(&fn->blocks, b);
    fn_edges_changed(fn);
    return b;
}

void block_append_layout(Function *fn, Block *b)
{
    b->prev = fn->layout_last;
    b->next = NULL;
    if (b->prev)
        b->prev->next = b;
    else
        fn->entry = b;
    fn->layout_last = b;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

static void set_slot_role(Operand *o, Role role)
{
    bool component = role == ROLE_DEF && o->kind == OPND_REG && o->sub >= SUB_X && o->sub <= SUB_W;
    o->role = (u8)(component ? ROLE_DEF_USE : role); /* the other components keep their values */
}

static void set_member_roles(Operand *o, Role role)
{
    Role member = o->kind == OPND_MEM || o->kind == OPND_INDEX ? ROLE_USE : role;
    for (Operand *m = o + 1, *end = o + operand_slots(o); m < end; m += operand_slots(m)) {
        set_slot_role(m, m->kind == OPND_MEM ? ROLE_ADDRESS : member);
        if (operand_is_aggregate(m))
            set_member_roles(m, (Role)m->role);
    }
}

/* Gives one top-level operand its role, and its members theirs. */
static inline void set_role(Operand *o, Role role)
{
    set_slot_role(o, role);
    if (operand_is_aggregate(o))
        set_member_roles(o, role);
}

/* Sets the roles of a call's operands: returns, which are defined, callee, arguments, prototype or targets. */
static void fill_call_roles(Instr *i)
{
    bool before_callee = true;
    for_each_operand(o, i) {
        bool is_callee = o->kind == OPND_SYM || o->kind == OPND_REG;
        if (o->kind == OPND_LIST)
            set_role(o, before_callee ? ROLE_DEF : ROLE_USE);
        else if (o->kind == OPND_TABLE)
            set_role(o, ROLE_TABLE);
        else
            set_role(o, o->kind == OPND_SYM ? ROLE_FUNCTION : ROLE_USE);
        before_callee &= !is_callee;
    }
}

static void fill_plain_roles(Instr *i)
{
    const OpInfo *op = i->op;
    u32 count = op->operands_min, index = 0, last = op->roles ? op->roles - 1u : 0;
    for_each_operand(o, i) {
        Role role = (Role)op->role[index < last ? index : last];
        set_role(o, o->kind == OPND_MEM ? ROLE_ADDRESS : op->roles ? role : ROLE_DEF_USE);
        index++;
    }
    if (index >= count && index <= op->operands_max)
        return;
    for_each_operand(o, i)
        set_role(o, op_role(i->op, 0, index, o->kind == OPND_MEM));
}

void instr_fill_roles(Instr *i)
{
    if (i->kind != INSTR_OP || !i->op)
        return;
    if (op_has(i->op, OPF_CALL))
        fill_call_roles(i);
    else
        fill_plain_roles(i);
    i->def_slots = i->slots;
    while (i->def_slots && !role_defines((Role)i->opnd[i->def_slots - 1].role))
        i->def_slots--;
}

static Instr *instr_alloc(Function *fn, u32 count)
{
    return arena_alloc_raw(fn->module->arena, sizeof(Instr) + count * sizeof(Operand));
}

Instr *instr_new(Function *fn, const OpInfo *op, const Operand *slots, u32 count)
{
    Instr *i = instr_alloc(fn, count);
    *i = (Instr){.kind = INSTR_OP, .op = op, .slots = (u16)count, .changed = true, .origin = ++fn->edits.origins};
    if (count)
        memcpy(i->opnd, slots, count * sizeof(Operand));
    fn->has_calls |= op && op_has(op, OPF_CALL);
    instr_fill_roles(i);
    return i;
}

Instr *instr_clone(Function *fn, const Instr *i)
{
    Instr *copy = instr_alloc(fn, i->slots);
    memcpy(copy, i, sizeof(Instr) + i->slots * sizeof(Operand));
    copy->prev = copy->next = NULL;
    copy->block = NULL;
    copy->lead = copy->text.beg; /* the comments before it stay with the original */
    return copy;
}

void instr_inherit_origin(Function *fn, Instr *i, const Instr *a, const Instr *b)
{
    if (!b || a->origin == b->origin) {
        i->origin = a->origin;
        return;
    }
    u32 made = ++fn->edits.origins;
    vec_push(&fn->edits.origin_links, ((OriginLink){made, a->origin}));
    vec_push(&fn->edits.origin_links, ((OriginLink){made, b->origin}));
    i->origin = made;
}

/* ---- fresh names ---------------------------------------------------------------------------------------------- */

static bool text_has(Str text, const char *word)
{
    size_t len = strlen(word);
    const char *end = text.p + text.len;
    for (const char *at = text.p; at && (size_t)(end - at) >= len; at++) {
        at = memchr(at, word[0], (size_t)(end - at) - len + 1);
        if (!at || memcmp(at, word, len) == 0)
            return at != NULL;
    }
    return false;
}

/* A stem for new names. It searches the text itself, not the names that were parsed, because names in debug sections count,
 * too. */
static const char *fresh_stem(Module *m)
{
    char stem[64] = "po", start[80];
    while (!m->fresh_stem) {
        u32 len = (u32)snprintf(start, sizeof start, "%s_", stem) - 1;
        if (!text_has(m->text, start) || len + 1 == sizeof stem)
            m->fresh_stem = arena_copy(m->arena, stem, len);
        memcpy(stem + len, "x", 2);
    }
    return m->fresh_stem;
}

const Name *label_fresh_name(Function *fn)
{
    char text[128];
    int len = snprintf(text, sizeof text, "$L__%s_%u_%u", fresh_stem(fn->module), fn->sym, fn->edits.new_names++);
    return intern(&fn->module->names, text, (u32)len);
}

const Name *reg_fresh_stem(Function *fn)
{
    char text[128];
    int len = snprintf(text, sizeof text, "%%%s_%u_", fresh_stem(fn->module), fn->edits.new_names++);
    return intern(&fn->module->names, text, (u32)len);
}

/* The declaration of registers of this type that phases made. All such declarations stand last in scope 0. */
static Decl *fresh_decl(Function *fn, Type type, u32 *index)
{
    Scope *body = &fn->scopes.v[0];
    for (u32 d = body->decls.n; d-- > 0;) {
        Decl *decl = &body->decls.v[d];
        if (decl->kind != DECL_REG || decl->text.end > decl->text.beg)
            break;
        *index = d;
        if (fn->regs.v[decl->first_reg].type == type)
            return decl;
    }
    *index = body->decls.n;
    vec_push(&body->decls, ((Decl){.kind = DECL_REG, .early = true}));
    return &vec_last(&body->decls);
}

RegId reg_new(Function *fn, Type type)
{
    RegId id = fn->regs.n;
    u32 index;
    Decl *decl = fresh_decl(fn, type, &index);
    if (decl->regs == 0)
        decl->first_reg = id;
    const Name *stem = decl->regs ? fn->regs.v[decl->first_reg].name : reg_fresh_stem(fn);
    vec_push(&fn->regs, ((Reg){.name = stem, .number = (i32)decl->regs, .type = (u8)type, .vector = 1, .decl = index}));
    decl->regs++;
    fn_code_changed(fn);
    return id;
}

Label *label_new(Block *b)
{
    Label *label = arena_new(b->fn->module->arena, Label);
    label->name = label_fresh_name(b->fn);
    label->scope = b->scope;
    Label **end = &b->labels;
    while (*end)
        end = &(*end)->next;
    *end = label;
    b->fn->changed = true;
    return label;
}
