/* Modules and functions to text. Functions that no phase changed are copied. A changed function is walked in layout order,
 * and each item prints [lead, end of its line) of its own text unless it was changed. Scopes have been legalized before, so
 * a walk over the blocks comes to each brace once. */
#define _GNU_SOURCE /* memmem */
#include "ir/printer.h"
#include "ir/scopes.h"

enum { NOWHERE = UINT32_MAX };

/* The place where a table prints. */
enum TablePlace { PLACE_NONE, PLACE_SCOPE_START, PLACE_BEFORE_USER, PLACE_DONE };

typedef struct BodyPrinter {
    Printer *p;
    Function *fn;
    bool reprint;
    u32 at; /* the place in the source that the output has reached; NOWHERE after text that is not from the source */
    const Instr *loc; /* the .loc in force */
    LocsPrinted locs;
    Span assembly;         /* inline assembly in the source of which only the first comment is printed so far, or empty */
    ScopeId scope;         /* the scope that is open between blocks */
    VecU32 opening;        /* scratch for enter_scope */
    u8 *place;             /* by table */
    u32 tables_at_starts;  /* tables with PLACE_SCOPE_START that are not printed yet */
    u32 *next_decl;        /* by open scope: the first declaration that is not printed yet */
    bool no_more_assembly; /* no comment that ends inline assembly follows */
} BodyPrinter;

/* ---- items ----------------------------------------------------------------------------------------------------- */

static bool has_text(Span s) { return s.end > s.beg; }

/* Begins a line of text that is not from the source; end_line() ends it. */
static void begin_line(BodyPrinter *b, const char *indent)
{
    if (!printer_at_line_start(b->p))
        printer_text(b->p, "\n", 1);
    emit_cstr(b->p, indent);
}

static void end_line(BodyPrinter *b)
{
    printer_text(b->p, "\n", 1);
    b->at = NOWHERE;
}

/* Ends inline assembly. Its comments come in pairs: if the last one was removed with its instruction, another is printed. */
static void end_assembly(BodyPrinter *b)
{
    if (has_text(b->assembly)) {
        begin_line(b, "\t");
        emit_cstr(b->p, TEXT_ASM_END);
        end_line(b);
    }
    b->assembly = (Span){0};
}

/* Notes the first comment of inline assembly, which the lead of the next item may hold. */
static void begin_assembly(BodyPrinter *b, u32 lead, u32 beg)
{
    const u32 begin_len = (u32)strlen(TEXT_ASM_BEGIN), end_len = (u32)strlen(TEXT_ASM_END);
    const char *text = b->p->text.p, *found = NULL;
    if (beg - lead < begin_len || b->no_more_assembly || !memchr(text + lead, '/', beg - lead))
        return;
    for (const char *at = text + lead; (at = memmem(at, (size_t)(text + beg - at), TEXT_ASM_BEGIN, begin_len)); at++)
        found = at;
    if (!found)
        return;
    const char *end = memmem(found, (size_t)(text + b->fn->text.end - found), TEXT_ASM_END, end_len);
    b->no_more_assembly = !end;
    if (end && end >= text + beg)
        b->assembly = (Span){lead, (u32)(end - text)};
}

/* Begins an item. It starts a new line if it follows other text than in the source. */
static void begin_item(BodyPrinter *b, u32 lead, u32 beg)
{
    if (lead < b->assembly.beg || lead >= b->assembly.end)
        end_assembly(b);
    if (b->at != lead && !printer_at_line_start(b->p))
        printer_text(b->p, "\n", 1);
    begin_assembly(b, lead, beg);
    printer_source(b->p, lead, beg);
}

/* Begins an instruction, which is indented even if its own blanks are not printed with it. */
static void begin_instr(BodyPrinter *b, const Instr *i)
{
    bool bare = b->at != i->lead && i->lead == i->text.beg;
    if (bare && (i->lead < b->assembly.beg || i->lead >= b->assembly.end))
        end_assembly(b);
    if (bare && !printer_at_line_start(b->p))
        printer_text(b->p, "\n", 1);
    if (bare)
        printer_text(b->p, "\t", 1);
    else
        begin_item(b, i->lead, i->text.beg);
}

/* Ends an item: prints the rest of its line if that holds only a comment, and the comment after inline assembly. */
static void end_item(BodyPrinter *b, u32 end)
{
    u32 line = text_line_end(b->p->text, end);
    b->at = text_item_end(b->p->text, end);
    printer_source(b->p, end, has_text(b->assembly) ? b->at : line);
    if (b->at != line)
        b->assembly = (Span){0};
}

static void emit_own_text(BodyPrinter *b, u32 lead, Span text)
{
    begin_item(b, lead, text.beg);
    printer_source(b->p, text.beg, text.end);
    end_item(b, text.end);
}

/* Where --reprint puts several lines on one, adds line ends so that later lines keep their numbers: ptxas makes names from
 * these. */
static void keep_lines(BodyPrinter *b, Span text)
{
    const char *at = b->p->text.p + text.beg, *end = b->p->text.p + text.end;
    while (b->reprint && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        printer_text(b->p, "\n", 1);
        at++;
    }
}

/* ---- declarations and tables ----------------------------------------------------------------------------------- */

static void emit_made_registers(BodyPrinter *b, const Decl *d)
{
    const Reg *first = fn_reg(b->fn, d->first_reg);
    begin_line(b, "\t.reg ");
    emit_cstr(b->p, type_name(first->type));
    printer_text(b->p, " ", 1);
    emit_name(b->p, first->name);
    printer_text(b->p, "<", 1);
    printer_unsigned(b->p, d->regs);
    printer_text(b->p, ">;", 2);
    end_line(b);
}

static void emit_decl(BodyPrinter *b, const Decl *d)
{
    if (d->syms && d->removed == d->syms)
        return;
    if (!has_text(d->text)) {
        emit_made_registers(b, d);
    } else if (d->renamed.p) {
        begin_item(b, d->lead, d->text.beg);
        printer_text(b->p, d->renamed.p, d->renamed.len);
        end_item(b, d->text.end);
    } else {
        emit_own_text(b, d->lead, d->text);
    }
}

static void emit_targets(BodyPrinter *b, const Table *t)
{
    const char *separator = t->kind == TABLE_BRANCH ? ": .branchtargets " : ": .calltargets ";
    emit_name(b->p, t->name);
    for (u32 k = 0; k < t->targets.n; k++) {
        u32 id = t->targets.v[k];
        emit_cstr(b->p, separator);
        emit_name(b->p, t->kind == TABLE_BRANCH ? block_label_for(fn_block(b->fn, id), t->scope)->name
                                                : b->fn->module->syms.v[id].name);
        separator = ", ";
    }
    printer_text(b->p, ";", 1);
}

static void emit_table(BodyPrinter *b, u32 index)
{
    const Table *t = &b->fn->tables.v[index];
    bool from_targets = t->changed || (b->reprint && t->kind != TABLE_PROTO);
    b->place[index] = PLACE_DONE;
    if (!has_text(t->text)) {
        begin_line(b, "\t");
        emit_targets(b, t);
        end_line(b);
        return;
    }
    begin_item(b, t->lead, t->text.beg);
    if (from_targets) {
        emit_targets(b, t);
        keep_lines(b, t->text);
    } else if (t->renamed) {
        const char *colon = memchr(b->p->text.p + t->text.beg, ':', t->text.end - t->text.beg);
        emit_name(b->p, t->name);
        printer_source(b->p, (u32)(colon - b->p->text.p), t->text.end);
    } else {
        printer_source(b->p, t->text.beg, t->text.end);
    }
    end_item(b, t->text.end);
}

/* Decides where each table prints: right before its first user, or at the start of its scope if that user is in an inner
 * scope. A table that no instruction uses is not printed. */
static void place_tables(BodyPrinter *b)
{
    b->place = mem_zalloc(b->fn->tables.n);
    if (!b->fn->tables.n)
        return;
    for_each_block(block, b->fn)
        for_each_instr(i, block) {
            if (i->kind != INSTR_OP)
                continue;
            for_each_slot(o, i)
                if (o->kind == OPND_TABLE && b->place[o->id] == PLACE_NONE) {
                    bool user_is_inside = i->scope != b->fn->tables.v[o->id].scope;
                    b->place[o->id] = user_is_inside ? PLACE_SCOPE_START : PLACE_BEFORE_USER;
                    b->tables_at_starts += user_is_inside;
                }
        }
}

/* Prints the declarations in mid-body where they stood: before the first item that comes from after them. An item that a
 * phase made or changed may use any of them, so it comes after all. */
static void emit_decls(BodyPrinter *b, ScopeId id, u32 before)
{
    const Scope *scope = &b->fn->scopes.v[id];
    for (u32 *d = &b->next_decl[id]; *d < scope->decls.n; ++*d) {
        const Decl *decl = &scope->decls.v[*d];
        if (decl->early)
            continue;
        if (decl->text.beg >= before)
            return;
        emit_decl(b, decl);
    }
}

/* Prints the tables whose first reader is this instruction, each after the declarations that preceded it in the input. */
static void emit_tables_before(BodyPrinter *b, const Instr *user)
{
    if (!b->fn->tables.n || user->kind != INSTR_OP)
        return;
    for_each_slot(o, user) {
        if (o->kind != OPND_TABLE || b->place[o->id] != PLACE_BEFORE_USER)
            continue;
        const Table *t = &b->fn->tables.v[o->id];
        emit_decls(b, t->scope, t->text.beg);
        emit_table(b, o->id);
    }
}

static void emit_decls_for(BodyPrinter *b, ScopeId scope, const Instr *i)
{
    bool anywhere = i->kind == INSTR_OP && (i->changed || !has_text(i->text));
    if (b->next_decl[scope] < b->fn->scopes.v[scope].decls.n)
        emit_decls(b, scope, anywhere ? NOWHERE : i->text.beg);
}

/* ---- scopes ---------------------------------------------------------------------------------------------------- */

static void emit_scope_contents(BodyPrinter *b, ScopeId id)
{
    const Scope *scope = &b->fn->scopes.v[id];
    b->next_decl[id] = scope->decls.n;
    for (u32 d = scope->decls.n; d-- > 0;)
        if (!scope->decls.v[d].early)
            b->next_decl[id] = d;
    for (u32 d = 0; d < scope->decls.n; d++)
        if (scope->decls.v[d].early)
            emit_decl(b, &scope->decls.v[d]);
    for (u32 t = 0; b->tables_at_starts && t < b->fn->tables.n; t++)
        if (b->place[t] == PLACE_SCOPE_START && b->fn->tables.v[t].scope == id) {
            emit_table(b, t);
            b->tables_at_starts--;
        }
}

static void close_scope(BodyPrinter *b)
{
    const Scope *scope = &b->fn->scopes.v[b->scope];
    emit_decls(b, b->scope, NOWHERE);
    emit_own_text(b, scope->lead_close, scope->close);
    b->scope = scope->parent;
}

static void open_scope(BodyPrinter *b, ScopeId inner)
{
    const Scope *scope = &b->fn->scopes.v[inner];
    emit_decls(b, b->scope, b->fn->changed ? NOWHERE : scope->open.beg);
    emit_own_text(b, scope->lead_open, scope->open);
    b->scope = inner;
    emit_scope_contents(b, inner);
}

/* Closes and opens braces until `to` is the innermost open scope. */
static void enter_scope(BodyPrinter *b, ScopeId to)
{
    if (b->scope == to)
        return;
    while (!scope_encloses(b->fn, b->scope, to))
        close_scope(b);
    vec_clear(&b->opening);
    for (ScopeId inner = to; inner != b->scope; inner = b->fn->scopes.v[inner].parent)
        vec_push(&b->opening, inner);
    while (b->opening.n)
        open_scope(b, vec_pop(&b->opening));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void emit_loc_parents(BodyPrinter *b, Span loc)
{
    Span parent;
    if (!locs_parent_missing(&b->locs, b->p->text, loc, &parent))
        return;
    emit_loc_parents(b, parent);
    begin_line(b, "\t");
    printer_source(b->p, parent.beg, parent.end);
    end_line(b);
}

static void emit_item(BodyPrinter *b, const Instr *i)
{
    emit_tables_before(b, i);
    if (i->kind == INSTR_SCOPE_BEGIN)
        emit_decls(b, b->fn->scopes.v[i->scope].parent, b->fn->changed ? NOWHERE : i->text.beg);
    else
        emit_decls_for(b, i->scope, i);
    if (i->kind == INSTR_SCOPE_END)
        emit_decls(b, i->scope, NOWHERE);
    if (i->kind == INSTR_LOC)
        emit_loc_parents(b, i->text);
    bool from_operands = i->kind == INSTR_OP && (i->changed || b->reprint);
    if (i->kind == INSTR_PRAGMA && !has_text(i->text)) {
        begin_line(b, "\t");
        emit_cstr(b->p, ".pragma \"nounroll\";");
        end_line(b);
    } else if (!from_operands) {
        begin_instr(b, i);
        printer_source(b->p, i->text.beg, i->text.end);
        end_item(b, i->text.end);
    } else if (has_text(i->text)) {
        begin_instr(b, i);
        printer_instr(b->p, b->fn, i);
        keep_lines(b, i->text);
        end_item(b, i->text.end);
    } else {
        begin_line(b, "\t");
        printer_instr(b->p, b->fn, i);
        end_line(b);
    }
    if (i->kind == INSTR_SCOPE_BEGIN)
        emit_scope_contents(b, i->scope);
    else if (i->kind == INSTR_LOC)
        b->loc = i;
}

static void emit_label(BodyPrinter *b, const Label *l)
{
    if (!has_text(l->text)) {
        begin_line(b, "");
        emit_name(b->p, l->name);
        printer_text(b->p, ":", 1);
        end_line(b);
    } else if (l->renamed) {
        begin_item(b, l->lead, l->text.beg);
        emit_name(b->p, l->name);
        printer_text(b->p, ":", 1);
        end_item(b, l->text.end);
    } else {
        emit_own_text(b, l->lead, l->text);
    }
}

static bool same_loc(const Instr *a, const Instr *b) { return a == b || (a && b && a->text.beg == b->text.beg); }

/* Prints the .loc that was in force where the block stood in the source, if another one is now. */
static void restore_loc(BodyPrinter *b, const Block *block)
{
    const Instr *first = block->first ? block->first : block->jump;
    if (!first || first->kind == INSTR_LOC || !block->loc || same_loc(block->loc, b->loc))
        return;
    emit_loc_parents(b, block->loc->text);
    begin_line(b, "\t");
    printer_source(b->p, block->loc->text.beg, block->loc->text.end);
    end_line(b);
    b->loc = block->loc;
}

static void emit_block(BodyPrinter *b, const Block *block)
{
    enter_scope(b, block->scope);
    for (const Label *l = block->labels; l; l = l->next) {
        emit_decls(b, block->scope, has_text(l->text) ? l->text.beg : 0);
        emit_label(b, l);
    }
    restore_loc(b, block);
    for_each_instr(i, block)
        emit_item(b, i);
    if (block->jump)
        emit_item(b, block->jump);
}

/* ---- functions and modules ------------------------------------------------------------------------------------- */

static void emit_directive(Printer *p, const char *name, const Directive *d)
{
    emit_cstr(p, name);
    printer_text(p, " ", 1);
    printer_unsigned(p, d->value);
}

/* Prints the source up to a directive, and what a phase made of that. Answers how far the source is printed. */
static u32 emit_replaced(Printer *p, u32 at, const char *name, const Directive *d)
{
    if (!d->made || !has_text(d->text))
        return at;
    printer_source(p, at, d->text.beg);
    emit_directive(p, name, d);
    return d->text.end;
}

static void emit_added(Printer *p, const char *name, const Directive *d)
{
    if (!d->made || has_text(d->text))
        return;
    emit_directive(p, name, d);
    printer_text(p, "\n", 1);
}

/* Prints all in front of the body. A directive that a phase made stands where the source has it, or before the brace. */
static void emit_header(Printer *p, const Function *fn)
{
    static const char threads[] = ".maxntid", ctas[] = ".minnctapersm", registers[] = ".maxnreg";
    bool registers_first = fn->tuning.most_registers.text.beg < fn->tuning.least_ctas.text.beg;
    u32 at = fn->text.beg;
    if (registers_first)
        at = emit_replaced(p, at, registers, &fn->tuning.most_registers);
    at = emit_replaced(p, at, ctas, &fn->tuning.least_ctas);
    if (!registers_first)
        at = emit_replaced(p, at, registers, &fn->tuning.most_registers);
    printer_source(p, at, fn->open.beg);
    emit_added(p, threads, &fn->tuning.most_threads);
    emit_added(p, ctas, &fn->tuning.least_ctas);
    emit_added(p, registers, &fn->tuning.most_registers);
    printer_source(p, fn->open.beg, fn->open.end);
}

static void emit_body(Printer *p, Function *fn, bool reprint)
{
    BodyPrinter b = {.p = p, .fn = fn, .reprint = reprint};
    scopes_legalize(fn);
    place_tables(&b);
    locs_begin(&b.locs, fn);
    b.next_decl = mem_alloc(fn->scopes.n * sizeof *b.next_decl);
    emit_header(p, fn);
    end_item(&b, fn->open.end);
    if (fn->tuning.spills_to_shared) {
        begin_line(&b, "\t");
        emit_cstr(p, ".pragma \"enable_smem_spilling\";");
        end_line(&b);
    }
    emit_scope_contents(&b, 0);
    for_each_block(block, fn)
        emit_block(&b, block);
    enter_scope(&b, 0);
    emit_decls(&b, 0, NOWHERE);
    begin_item(&b, fn->scopes.v[0].lead_close, fn->close.beg);
    printer_source(p, fn->close.beg, fn->close.end);
    locs_end(&b.locs);
    vec_free(&b.opening);
    mem_free(b.place);
    mem_free(b.next_decl);
}

bool print_is_anew(const Function *fn, const PrintOptions *options)
{
    return fn->is_definition && !fn->verbatim && (fn->changed || options->reprint);
}

static void emit_function(Printer *p, Function *fn, const PrintOptions *options)
{
    if (print_is_anew(fn, options))
        emit_body(p, fn, options->reprint);
    else
        printer_source(p, fn->text.beg, fn->text.end);
}

void print_function(FILE *out, Function *fn, const PrintOptions *options)
{
    Printer p;
    printer_init(&p, out, fn->module->text);
    emit_function(&p, fn, options);
    if (!printer_at_line_start(&p))
        printer_text(&p, "\n", 1);
    printer_flush(&p);
}

/* Whether the module may say when its sources were written: a feature of PTX ISA 3.2. */
static bool may_date_files(const Module *m)
{
    return m->version_major > 3 || (m->version_major == 3 && m->version_minor >= 2);
}

/* Copies text outside of functions. `files` counts the .file directives without a time that have been passed. */
static void emit_between(Printer *p, const Module *m, u64 file_time, u32 beg, u32 end, u32 *files)
{
    for (; file_time && *files < m->undated_files.n && m->undated_files.v[*files].beg <= end; ++*files) {
        Span times = m->undated_files.v[*files];
        printer_source(p, beg, times.beg);
        emit_cstr(p, ", ");
        printer_unsigned(p, file_time);
        emit_cstr(p, ", 0");
        beg = times.end;
    }
    printer_source(p, beg, end);
}

void print_module(FILE *out, Module *m, const PrintOptions *options)
{
    Printer p;
    u32 copied = 0, files = 0;
    u64 file_time = may_date_files(m) ? options->file_time : 0;
    printer_init(&p, out, m->text);
    for (u32 f = 0; f < m->functions.n; f++) {
        Function *fn = m->functions.v[f];
        emit_between(&p, m, file_time, copied, fn->text.beg, &files);
        emit_function(&p, fn, options);
        copied = fn->text.end;
    }
    emit_between(&p, m, file_time, copied, m->text.len, &files);
    printer_flush(&p);
}
