/* Makes blocks and instructions of statements. Control flow is decided here: which statement begins a block, and where a
 * block falls through to. */
#include "ir/scopes.h"
#include "parse/lower.h"
#include "parse/syntax_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 512

static void report(Lower *p, Span at, const char *format, va_list args)
{
    char message[MESSAGE_BYTES];
    vsnprintf(message, sizeof message, format, args);
    p->bad = true;
    if (!p->mute && !p->dropped)
        diag_at(p->diag, DIAG_ERROR, at, "%s", message);
}

void lower_error(Lower *p, Span at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->dropped = p->lenient;
    if (p->dropped && p->fn)
        p->fn->verbatim = true; /* the faulty part is not in the IR */
    report(p, at, format, args);
    va_end(args);
}

void lower_syntax_error(Lower *p, Span at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->dropped = false;
    report(p, at, format, args);
    va_end(args);
}

void lower_note(Lower *p, Span at, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!p->mute && !p->dropped)
        diag_at(p->diag, DIAG_NOTE, at, "%s", message);
}

void lower_bad_token(Lower *p, Span at, const char *message)
{
    lower_syntax_error(p, at, "%s", message);
    p->mute = true;
}

void lower_bad_byte(Lower *p, Span at)
{
    u8 byte = (u8)p->module->text.p[at.beg];
    if (byte >= 0x80)
        lower_syntax_error(p, at, "byte 0x%02X: PTX is ASCII only, except in comments", byte);
    else if (byte < 0x20 || byte == 0x7f)
        lower_syntax_error(p, at, "control character 0x%02X is not allowed in PTX", byte);
    else
        lower_syntax_error(p, at, "'%c' has no meaning here", byte);
    p->mute = true;
}

void lower_statement_end(Lower *p, Span at)
{
    p->last_end = at.end;
    p->mute = false;
    p->is_extern = false;
    p->function_start = p->fn ? p->function_start : NO_LINKAGE;
}

/* The text that text_item_end() gives to the statement before does not lead this one. */
u32 lower_lead(const Lower *p, u32 beg)
{
    u32 lead = text_item_end(p->module->text, p->last_end);
    return lead <= beg ? lead : p->last_end;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static Block *begin_block(Lower *p)
{
    Function *fn = p->fn;
    ScopeId scope = scope_now(p);
    while (fn->scopes.v[scope].in_block)
        scope = fn->scopes.v[scope].parent;
    Block *b = block_new(fn, scope);
    block_append_layout(fn, b);
    b->loc = p->loc;
    if (p->falling)
        p->falling->fall = b;
    p->falling = p->jumpable = NULL;
    p->block = b;
    return b;
}

Block *lower_open_block(Lower *p) { return p->block ? p->block : begin_block(p); }

/* Ends the open block. Control continues with whatever block begins next. */
static void fall_through(Lower *p)
{
    if (p->block)
        p->falling = p->block;
    p->jumpable = NULL;
    p->block = NULL;
}

void lower_append(Lower *p, Instr *i)
{
    Block *b = lower_open_block(p);
    i->block = b;
    i->prev = b->last;
    if (b->last)
        b->last->next = i;
    else
        b->first = i;
    b->last = i;
    for (u32 s = p->scopes.n; s-- && !p->scopes.v[s].any_instr;)
        p->scopes.v[s].any_instr = true;
}

Instr *lower_item(Lower *p, InstrKind kind, const OpInfo *op, Span at)
{
    Instr *i = instr_new(p->fn, op, NULL, 0);
    i->kind = (u8)kind;
    i->changed = false;
    i->text = at;
    i->lead = lower_lead(p, at.beg);
    i->scope = scope_now(p);
    return i;
}

/* ---- scopes ---------------------------------------------------------------------------------------------------- */

void lower_scope_begin(Lower *p, Span brace)
{
    Function *fn = p->fn;
    u32 lead = lower_lead(p, brace.beg);
    ScopeId id = fn->scopes.n, parent = scope_now(p);
    Scope scope = {.in_block = true, .open = brace, .lead_open = lead};
    vec_push(&fn->scopes, scope);
    scope_set_parent(fn, id, parent);
    lower_open_block(p);
    Instr *begin = lower_item(p, INSTR_SCOPE_BEGIN, NULL, brace);
    begin->scope = id;
    lower_append(p, begin);
    names_open_scope(p, id);
    vec_last(&p->scopes).begin = begin;
    vec_last(&p->scopes).loc = p->loc;
    vec_last(&p->scopes).last_end = p->last_end;
    p->last_end = brace.end;
}

/* Moves the items of the scope to a block of their own, which the rest of b falls into. */
static Block *split_off(Lower *p, Block *b, const OpenScope *scope)
{
    Instr *first = scope->begin;
    Function *fn = p->fn;
    Block *rest = block_new(fn, scope->id);
    rest->prev = b;
    rest->next = b->next;
    if (b->next)
        b->next->prev = rest;
    else
        fn->layout_last = rest;
    b->next = rest;
    rest->loc = scope->loc;
    rest->fall = b->fall; /* the inner scope that was split off before */
    b->last = first->prev;
    if (b->last)
        b->last->next = NULL;
    else
        b->first = NULL;
    /* the brace itself becomes the scope's, between the blocks */
    rest->first = first->next;
    if (rest->first) {
        rest->first->prev = NULL;
        rest->last = rest->first;
        for (Instr *i = rest->first; i; i = i->next) {
            i->block = rest;
            rest->last = i;
        }
    }
    b->fall = rest;
    return rest;
}

/* Makes every open scope that looked straight-line span blocks, since a label or branch follows. The innermost comes
 * first, so that each item moves once. */
void lower_scopes_span_blocks(Lower *p)
{
    if (!p->scopes.n || !vec_last(&p->scopes).begin)
        return;
    Block *b = p->block;
    for (u32 s = p->scopes.n; s-- && p->scopes.v[s].begin;) {
        OpenScope *scope = &p->scopes.v[s];
        Block *rest = split_off(p, b, scope);
        if (p->block == b)
            p->block = rest;
        p->fn->scopes.v[scope->id].in_block = false;
        scope->begin = NULL;
    }
}

/* Whether nothing was read since the scope began. */
static bool is_scope_empty(const Lower *p, ScopeId id)
{
    const Function *fn = p->fn;
    const Instr *begin = vec_last(&p->scopes).begin;
    return begin && p->block && p->block->last == begin && id == fn->scopes.n - 1 && !fn->scopes.v[id].decls.n &&
           (!fn->tables.n || vec_last(&fn->tables).scope != id);
}

/* Forgets a scope that is empty: its braces are then part of what leads the next item. A text may be nearly all such scopes. */
static void drop_scope(Lower *p)
{
    Function *fn = p->fn;
    Instr *begin = vec_last(&p->scopes).begin;
    Block *b = begin->block;
    b->last = begin->prev;
    if (b->last)
        b->last->next = NULL;
    else
        b->first = NULL;
    fn->scopes.n--;
    fn->edits.origins--;
    p->last_end = vec_last(&p->scopes).last_end;
    names_close_scope(p);
    arena_shrink(p->module->arena, begin, sizeof *begin, 0);
}

void lower_scope_end(Lower *p, Span brace)
{
    ScopeId id = scope_now(p);
    Scope *scope = &p->fn->scopes.v[id];
    if (is_scope_empty(p, id)) {
        drop_scope(p);
        return;
    }
    scope->close = brace;
    scope->lead_close = lower_lead(p, brace.beg);
    vec_shrink(&scope->decls);
    if (scope->in_block) {
        Instr *end = lower_item(p, INSTR_SCOPE_END, NULL, brace);
        end->scope = id;
        names_close_scope(p);
        lower_append(p, end);
    } else {
        names_close_scope(p);
        fall_through(p);
    }
    p->last_end = brace.end;
}

/* ---- labels and directives ------------------------------------------------------------------------------------- */

void lower_label(Lower *p, Span name, Span at)
{
    lower_scopes_span_blocks(p);
    Block *b = p->block;
    if (!b || b->first) {
        fall_through(p);
        b = begin_block(p);
    }
    names_bind(p, name, BIND_LABEL, b->id); /* a label that is declared twice keeps its name */
    Str text = span_str(p->module, name);
    Label *label = arena_new(p->module->arena, Label);
    *label = (Label){.name = intern(&p->module->names, text.p, text.len), .scope = scope_now(p), .text = at};
    label->lead = lower_lead(p, at.beg);
    if (b->labels)
        p->label->next = label;
    else
        b->labels = label;
    p->label = label;
    p->last_end = at.end;
}

void lower_loc(Lower *p, Span at)
{
    lower_open_block(p);
    Instr *loc = lower_item(p, INSTR_LOC, NULL, at);
    lower_append(p, loc);
    p->loc = loc;
    p->last_end = at.end;
}

void lower_pragma(Lower *p, Span at)
{
    lower_open_block(p);
    lower_append(p, lower_item(p, INSTR_PRAGMA, NULL, at));
    p->last_end = at.end;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

void lower_table_begin(Lower *p, TableKind kind, Span name)
{
    Function *fn = p->fn;
    Str text = span_str(p->module, name);
    p->table = fn->tables.n;
    Table table = {.kind = (u8)kind, .name = intern(&p->module->names, text.p, text.len), .scope = scope_now(p)};
    table.lead = lower_lead(p, name.beg);
    vec_push(&fn->tables, table);
    names_bind(p, name, BIND_TABLE, p->table);
}

static void add_label_entry(Lower *p, Span at)
{
    Table *table = &p->fn->tables.v[p->table];
    vec_push(&table->targets, 0);
    names_refer(p, at, (LabelRef){.table = p->table, .entry = table->targets.n - 1});
}

void lower_table_entry(Lower *p, Span name)
{
    Table *table = &p->fn->tables.v[p->table];
    if (table->kind == TABLE_BRANCH) {
        add_label_entry(p, name);
        return;
    }
    RegId reg;
    Binding *b = names_find(p, name, &reg);
    if (b && b->kind == BIND_SYM && p->module->syms.v[b->id].kind == SYM_FUNC)
        vec_push(&table->targets, b->id);
    else
        lower_error(p, name, "'%.*s' is not a function declared before", (int)(name.end - name.beg),
                    p->module->text.p + name.beg);
}

void lower_table_range(Lower *p, Span stem, Val count, Span at)
{
    Table *table = &p->fn->tables.v[p->table];
    if (table->kind != TABLE_BRANCH || count.kind != VAL_INT || count.i < 0 || count.i > 65536) {
        lower_error(p, at, "a range has 0 to 65536 labels");
        return;
    }
    for (u32 i = 0; i < count.i; i++) {
        u32 entry = table->targets.n;
        vec_push(&table->targets, 0);
        names_refer_numbered(p, stem, i, (LabelRef){.table = p->table, .entry = entry});
    }
}

void lower_table_end(Lower *p, Span at)
{
    vec_shrink(&p->fn->tables.v[p->table].targets);
    p->fn->tables.v[p->table].text = at;
    p->last_end = at.end;
}

/* ---- recovery -------------------------------------------------------------------------------------------------- */

void lower_instr_reset(Lower *p)
{
    vec_clear(&p->operands);
    vec_clear(&p->open_aggregates);
    p->op = NULL;
    p->guard = 0;
    p->guard_not = false;
    p->start = NO_START;
    p->operand_count = 0;
    p->declaring = false;
    p->bad = false;
    p->mute = false;
}

void lower_skip_statement(Lower *p, u32 end)
{
    lower_instr_reset(p);
    p->last_end = end;
}

void lower_block_finish(Lower *p)
{
    fall_through(p);
    if (!p->falling && p->fn->entry)
        return;
    Block *last = p->falling;
    if (!last || block_terminator(last))
        last = begin_block(p);
    last->falls_off = true;
    p->block = p->falling = NULL;
}

/* ---- modules --------------------------------------------------------------------------------------------------- */

static u32 digits_end(const char *text, u32 at, u32 len)
{
    while (at < len && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

static u32 number_at(const char *text, u32 beg, u32 end)
{
    u32 value = 0;
    for (u32 i = beg; i < end && value < 1000; i++)
        value = value * 10 + (u32)(text[i] - '0');
    return value;
}

void lower_version(Lower *p, Span number)
{
    const char *text = p->module->text.p + number.beg;
    u32 len = number.end - number.beg, whole = digits_end(text, 0, len), end = digits_end(text, whole + 1, len);
    u32 major = number_at(text, 0, whole), minor = number_at(text, whole + 1, end);
    if (text[whole] != '.' || whole + 1 >= len || end != len || major < 1) {
        lower_error(p, number, "a version is written like 9.0");
        return;
    }
    if (p->module->version_major)
        lower_error(p, number, "'.version' stands once, at the start of the file");
    p->module->version_major = major;
    p->module->version_minor = minor;
    p->last_end = number.end;
}

static bool is_target_option(Str text)
{
    static const char *const known[] = {"debug", "texmode_unified", "texmode_independent", "map_f64_to_f32"};
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (str_is(text, known[i]))
            return true;
    return false;
}

void lower_target(Lower *p, Span word)
{
    Str text = span_str(p->module, word);
    if (str_begins(text, "sm_"))
        p->module->target_sm = number_at(text.p, 3, digits_end(text.p, 3, text.len));
    else if (!is_target_option(text))
        lower_unknown_in_module(p, "target", word);
    if (str_is(text, "debug"))
        p->module->debug = true;
    p->last_end = word.end;
}

void lower_target_joined(Lower *p, Span word)
{
    const char *text = p->module->text.p;
    const char *dot = memchr(text + word.beg, '.', word.end - word.beg);
    p->cursor = (u32)(dot - text);
    lower_target(p, (Span){word.beg, p->cursor});
}

void lower_address_size(Lower *p, Val v, Span at)
{
    i64 size = lower_constant(p, v, at);
    if (size != 32 && size != 64)
        lower_error(p, at, "the address size is 32 or 64");
    p->module->address_size = (u32)size;
    p->last_end = at.end;
}

void lower_file_without_time(Lower *p, Span times) { vec_push(&p->module->undated_files, times); }

/* The length of the text without NULs at its end, which belong to no statement: a program that loads a module from memory
 * writes one. */
static u32 length_without_nuls(Str text)
{
    while (text.len > 0 && text.p[text.len - 1] == '\0')
        text.len--;
    return text.len;
}

/* Reports why parsing ended early. The grammar is silent about errors right after an unknown directive. */
static void report_unparsed(Lower *p, ParseStatus status)
{
    Span end = {p->module->text.len, p->module->text.len};
    p->mute = false;
    if (status == PARSE_TOO_DEEP)
        lower_syntax_error(p, end, "this file is nested too deeply");
    else if (p->fn)
        syntax_error_end_inside_function(p, end);
    else
        lower_syntax_error(p, end, "the file ends in the middle of a statement");
}

static Module *parse(Arena *arena, const char *file, Str text, Diag *diag, bool strict)
{
    Lower p = {.module = module_new(arena, file, text), .diag = diag, .function_start = NO_LINKAGE, .strict = strict};
    p.module->text.len = length_without_nuls(text);
    lower_instr_reset(&p);
    diag_hold(diag);
    ParseStatus status = lower_parse(&p);
    if (status != PARSE_ACCEPTED && !diag->errors)
        report_unparsed(&p, status);
    if (p.fn)
        lower_function_abandon(&p);
    diag_release(diag);
    if (!diag->errors)
        names_pin_mentioned(&p);
    lower_distrust(p.module);
    p.module->text.len = text.len;
    vec_free(&p.operands);
    vec_free(&p.open_aggregates);
    vec_free(&p.scopes);
    vec_free(&p.undo);
    vec_free(&p.refs);
    vec_free(&p.range_ids);
    vec_free(&p.unknown_names);
    arena_free(&p.uses);
    arena_free(&p.names);
    return p.module;
}

Module *parse_module(Arena *arena, const char *file, Str text, Diag *diag) { return parse(arena, file, text, diag, false); }

Module *parse_module_strict(Arena *arena, const char *file, Str text, Diag *diag)
{
    return parse(arena, file, text, diag, true);
}
