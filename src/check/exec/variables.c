/* Variables: where they lie, and what they hold at the start. Initialisers are read from the declaration's text. */
#include "check/exec/variables.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- initialisers --------------------------------------------------------------------------------------------- */

typedef struct Init {
    Program *p;
    const char *at, *end;
    u8 *data;
    u64 bytes, filled;
    u32 element; /* bytes */
    ElemType type;
} Init;

static void skip_blanks(Init *in)
{
    while (in->at < in->end) {
        if (isspace((unsigned char)*in->at)) {
            in->at++;
        } else if (in->end - in->at > 1 && in->at[0] == '/' && in->at[1] == '/') {
            while (in->at < in->end && *in->at != '\n')
                in->at++;
        } else if (in->end - in->at > 1 && in->at[0] == '/' && in->at[1] == '*') {
            in->at += 2;
            while (in->end - in->at > 1 && !(in->at[0] == '*' && in->at[1] == '/'))
                in->at++;
            in->at += 2;
        } else {
            return;
        }
    }
}

static bool take(Init *in, char c)
{
    skip_blanks(in);
    if (in->at >= in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool is_name_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

static Str take_name(Init *in)
{
    skip_blanks(in);
    const char *beg = in->at;
    while (in->at < in->end && is_name_char(*in->at))
        in->at++;
    return (Str){beg, (u32)(in->at - beg)};
}

/* A number, or the address of a symbol (generic: as a generic one). */
static bool number(Init *in, u64 *bits)
{
    Str word = take_name(in);
    bool is_float = elem_is_float(in->type);
    if (!word.len)
        return false;
    const char *text = word.p;
    char *end;
    if (text[0] == '0' && word.len > 1 && strchr("fFdD", text[1]) && word.len == (strchr("fF", text[1]) ? 10 : 18)) {
        *bits = strtoull(arena_copy(in->p->arena, text + 2, word.len - 2), &end, 16);
        if (is_float && strchr("fF", text[1]))
            *bits = format_from_double(format_of(in->type), bits_to_float(*bits), ROUND_NEAREST_EVEN, false);
        else if (is_float)
            *bits = format_from_double(format_of(in->type), bits_to_double(*bits), ROUND_NEAREST_EVEN, false);
        return true;
    }
    /* A decimal float's sign of the exponent is no name character, so the whole is read by strtod. */
    if (is_float) {
        double x = strtod(text, &end);
        *bits = format_from_double(format_of(in->type), x, ROUND_NEAREST_EVEN, false);
    } else {
        bool binary = text[0] == '0' && word.len > 2 && (text[1] == 'b' || text[1] == 'B');
        *bits = strtoull(binary ? text + 2 : text, &end, binary ? 2 : 0);
        if (end < in->end && *end == 'U')
            end++;
    }
    in->at = end;
    return end >= text + word.len;
}

static SymId find_symbol(const Program *p, Str name)
{
    for (SymId id = 1; id < p->module->syms.n; id++) {
        const Sym *sym = &p->module->syms.v[id];
        if (!sym->owner && sym->name->len == name.len && !memcmp(sym->name->text, name.p, name.len))
            return id;
    }
    return 0;
}

static bool symbol_value(Init *in, u64 *bits)
{
    const char *start = in->at;
    Str name = take_name(in);
    bool generic = str_is(name, "generic") && take(in, '(');
    if (generic)
        name = take_name(in);
    SymId id = find_symbol(in->p, name);
    i64 address;
    if (!id || !variable_address(in->p, id, generic, &address)) {
        in->at = start;
        return false;
    }
    if (generic && !take(in, ')'))
        return false;
    in->p->takes_addresses |= in->p->module->syms.v[id].kind == SYM_FUNC;
    *bits = (u64)address;
    return true;
}

static bool value(Init *in, u64 *bits)
{
    skip_blanks(in);
    bool negative = false;
    u64 mask = 0;
    for (;;) {
        if (take(in, '-'))
            negative = !negative;
        else if (!take(in, '+'))
            break;
    }
    skip_blanks(in);
    if (in->at < in->end && (isdigit((unsigned char)*in->at) || *in->at == '.')) {
        if (!number(in, bits))
            return false;
        if (take(in, '(')) { /* 0xFF00(symbol): the byte under the mask */
            mask = *bits;
            if (!symbol_value(in, bits) || !take(in, ')'))
                return false;
            *bits = (*bits & mask) >> (mask ? __builtin_ctzll(mask) : 0);
        }
    } else if (!symbol_value(in, bits)) {
        return false;
    } else if (take(in, '+')) {
        u64 more;
        if (!number(in, &more))
            return false;
        *bits += more;
    }
    if (negative)
        *bits = elem_is_float(in->type) ? *bits ^ (u64)1 << (in->type.bits - 1) : 0 - *bits;
    return true;
}

/* `{ ... }` after its opening brace. Nested lists follow one another: a short row is not filled up, as ptxas 12.9 to 13.5 have it. */
static bool list(Init *in)
{
    while (!take(in, '}')) {
        if (take(in, '{')) {
            if (!list(in))
                return false;
        } else {
            u64 bits;
            if (!value(in, &bits) || in->filled + in->element > in->bytes)
                return false;
            memcpy(in->data + in->filled, &bits, in->element);
            in->filled += in->element;
        }
        if (!take(in, ',') && (skip_blanks(in), in->at >= in->end || *in->at != '}'))
            return false;
    }
    return true;
}

/* Moves past the variable's name in its declaration. */
static bool find_declarator(Init *in, const Name *name)
{
    for (const char *p = in->at; p + name->len <= in->end; p++) {
        if (memcmp(p, name->text, name->len) != 0 || (p > in->at && (is_name_char(p[-1]) || p[-1] == '.')))
            continue;
        if (p + name->len < in->end && is_name_char(p[name->len]))
            continue;
        in->at = p + name->len;
        return true;
    }
    return false;
}

/* The initial bytes (NULL: zero). Answers what could not be understood. */
static const char *initialise(Program *p, const Sym *sym, u8 **data)
{
    Str text = span_str(p->module, sym->text);
    Init in = {.p = p, .at = text.p, .end = text.p + text.len, .bytes = (u64)sym->bytes};
    *data = NULL;
    const char *type = type_name(sym->type);
    if (!find_declarator(&in, sym->name) || !elem_type_parse((Str){type + 1, (u32)strlen(type) - 1}, &in.type))
        return NULL; /* opaque or a member of a range: no initialiser */
    in.element = elem_total_bits(in.type) / 8;
    while (take(&in, '['))
        while (in.at < in.end && *in.at++ != ']')
            ;
    if (!take(&in, '='))
        return NULL;
    in.data = arena_alloc(p->arena, in.bytes + 8);
    *data = in.data;
    u64 bits;
    if (take(&in, '{'))
        return list(&in) ? NULL : "initialiser";
    if (!value(&in, &bits))
        return "initialiser";
    memcpy(in.data, &bits, in.element < 8 ? in.element : 8);
    return NULL;
}

/* ---- places --------------------------------------------------------------------------------------------------- */

bool variable_address(const Program *p, SymId id, bool generic, i64 *address)
{
    const Sym *sym = &p->module->syms.v[id];
    if (sym->kind == SYM_FUNC) {
        const FnCode *f = program_function(p, sym->name->text);
        *address = f ? (i64)FUNCTION_ADDRESS(f->index) : 0;
        return f != NULL;
    }
    *address = p->sym_address[id];
    MemSpace space = sym->space == SPACE_SHARED ? MS_SHARED : sym->space == SPACE_CONST ? MS_CONST : MS_GLOBAL;
    if (generic)
        *address += (i64)window_base(p, space);
    return *address != 0;
}

u64 window_base(const Program *p, MemSpace space)
{
    return space == MS_GLOBAL ? 0 : (u64)space << (p->wide_addresses ? 40 : 27);
}

#define GUARD_GAP 512u

/* The first variables and buffers straddle a multiple of 4 GiB, so that address arithmetic which loses the carry shows. */
u64 global_next_address(const Program *p, const GlobalVar *last)
{
    if (!last)
        return p->wide_addresses ? 0x7f43fffffc00 : 0x80000000;
    return (last->address + last->bytes + GUARD_GAP + 255) & ~(u64)255;
}

static void place_global(Program *p, SymId id, const Sym *sym)
{
    GlobalVar v = {.name = sym->name->text, .bytes = sym->bytes > 0 ? (u64)sym->bytes : 0};
    v.address = global_next_address(p, p->globals.n ? &vec_last(&p->globals) : NULL);
    v.sym = id;
    p->sym_address[id] = (i64)v.address;
    vec_push(&p->globals, v);
}

static void complain(Program *p, const Sym *sym, const char *what)
{
    vec_push(&p->unsupported, arena_printf(p->arena, "%s: %s of variable %s", p->file, what, sym->name->text));
}

u32 program_place(Program *p, Layout *l, SymId id, u64 bytes, u32 align)
{
    const Sym *sym = &p->module->syms.v[id];
    u32 at = layout_add(l, sym->name->text, bytes, align);
    p->sym_address[id] = at;
    if (!at) {
        complain(p, sym, "no room for the bytes");
        p->no_room = vec_last(&p->unsupported);
    }
    return at;
}

void variables_place(Program *p)
{
    Module *m = p->module;
    p->sym_address = arena_array(p->arena, i64, m->syms.n);
    for (SymId id = 1; id < m->syms.n; id++) {
        const Sym *sym = &m->syms.v[id];
        u64 bytes = sym->bytes > 0 ? (u64)sym->bytes : 0;
        if (sym->kind != SYM_VAR)
            continue;
        if (sym->space == SPACE_GLOBAL)
            place_global(p, id, sym);
        else if (sym->space == SPACE_CONST)
            program_place(p, &p->constant_bank, id, bytes, sym->align ? sym->align : 16);
        else if (sym->space == SPACE_SHARED && sym->bytes > 0)
            program_place(p, &p->shared, id, bytes, sym->align ? sym->align : 16);
    }
    p->dynamic_shared = (p->shared.owner.n + 128) & ~127u; /* not 0, which is no address */
    for (SymId id = 1; id < m->syms.n; id++) {
        const Sym *sym = &m->syms.v[id];
        if (sym->kind == SYM_VAR && sym->space == SPACE_SHARED && sym->bytes <= 0)
            p->sym_address[id] = p->dynamic_shared;
    }
    p->constant_data = arena_alloc(p->arena, p->constant_bank.owner.n + 16);
}

void variables_initialise(Program *p)
{
    const char *problem;
    for (u32 i = 0; i < p->globals.n; i++) {
        const Sym *sym = &p->module->syms.v[p->globals.v[i].sym];
        if ((problem = initialise(p, sym, &p->globals.v[i].initial)))
            complain(p, sym, problem);
    }
    for (SymId id = 1; id < p->module->syms.n; id++) {
        const Sym *sym = &p->module->syms.v[id];
        u8 *data;
        if (sym->kind != SYM_VAR || sym->space != SPACE_CONST || sym->bytes <= 0 || !p->sym_address[id])
            continue;
        if ((problem = initialise(p, sym, &data)))
            complain(p, sym, problem);
        else if (data)
            memcpy(p->constant_data + p->sym_address[id], data, (size_t)sym->bytes);
    }
}
