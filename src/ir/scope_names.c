/* Names for scopes_legalize(), old and new. Declarations are read from their text, because a register range holds names
 * that no instruction uses. */
#include "ir/scope_names.h"

#include <stdio.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static NameHash hash_text(const char *text, u32 len)
{
    u32 stem = len;
    while (stem > 0 && is_digit(text[stem - 1]))
        stem--;
    NameHash h = {.stem = fnv1a(text, stem)};
    h.whole = h.stem;
    for (; stem < len; stem++)
        h.whole = fnv1a_byte(h.whole, (u8)text[stem]);
    return h;
}

static NameHash hash_name(const Name *name) { return hash_text(name->text, name->len); }

static NameHash hash_sreg(u32 id) { return hash_text(sreg_info(id)->name, (u32)strlen(sreg_info(id)->name)); }

static NameHash hash_reg(const Reg *reg)
{
    char digits[16];
    NameHash h = hash_name(reg->name);
    int n = reg->number < 0 ? 0 : snprintf(digits, sizeof digits, "%d", reg->number);
    for (int k = 0; k < n; k++)
        h.whole = fnv1a_byte(h.whole, (u8)digits[k]);
    return h;
}

typedef struct Word {
    Str text;
    bool is_range; /* `<` follows it */
    NameHash hash;
} Word;

/* Finds the next name in a declaration's text from *at on. Directives and numbers are not names. */
static bool next_word(Str text, u32 *at, Word *word)
{
    u32 i = *at;
    while (i < text.len) {
        u32 beg = i;
        bool is_name = text.p[i] == '%' || (is_word(text.p[i]) && !is_digit(text.p[i]));
        i++;
        if (!is_name && text.p[beg] != '.' && !is_digit(text.p[beg]))
            continue;
        while (i < text.len && is_word(text.p[i]))
            i++;
        if (!is_name)
            continue;
        *at = i;
        while (i < text.len && (text.p[i] == ' ' || text.p[i] == '\t'))
            i++;
        *word = (Word){{text.p + beg, *at - beg}, i < text.len && text.p[i] == '<', hash_text(text.p + beg, *at - beg)};
        return true;
    }
    return false;
}

static u64 declared_key(ScopeId scope, u32 hash) { return (u64)scope << 32 | hash; }

/* The key under which `declared` counts the scopes that declare a hash in one of these ways, beside the scopes' own entries. */
static u64 count_key(u32 hash, u64 how) { return declared_key((ScopeId)(MODULE_SCOPE - how), hash); }

static void declare_hash(Legalizer *s, ScopeId scope, u32 hash, u64 how)
{
    u64 *bits = fnvmap_at(&s->declared, declared_key(scope, hash));
    if (*bits & how)
        return;
    *bits |= how;
    ++*fnvmap_at(&s->declared, count_key(hash, how));
}

static void declare(Legalizer *s, ScopeId scope, NameHash h, bool is_range)
{
    declare_hash(s, scope, h.stem, DECLARED_STEM);
    if (is_range)
        declare_hash(s, scope, h.stem, DECLARED_RANGE);
    else
        declare_hash(s, scope, h.whole, DECLARED_WHOLE);
}

static bool is_declared(const Legalizer *s, ScopeId scope, u32 hash, u64 how)
{
    const u64 *bits = fnvmap_find(&s->declared, declared_key(scope, hash));
    return bits && (*bits & how);
}

/* Whether a scope other than this one declares the hash. Only for such names are scopes walked. */
static bool is_declared_elsewhere(const Legalizer *s, ScopeId scope, u32 hash, u64 how)
{
    const u64 *count = fnvmap_find(&s->declared, count_key(hash, how));
    return count && *count > (is_declared(s, scope, hash, how) ? 1 : 0);
}

static void undeclare(Legalizer *s, ScopeId scope, u32 hash, u64 how)
{
    if (!is_declared(s, scope, hash, how))
        return;
    *fnvmap_at(&s->declared, declared_key(scope, hash)) &= ~how;
    --*fnvmap_at(&s->declared, count_key(hash, how));
}

void scope_declare_name(Legalizer *s, ScopeId scope, const Name *name) { declare(s, scope, hash_name(name), false); }

void scope_declare_sreg(Legalizer *s, u32 id) { declare(s, MODULE_SCOPE, hash_sreg(id), false); }

void scope_declare_words(Legalizer *s, ScopeId scope, Span span)
{
    Str text = span_str(s->fn->module, span);
    Word word;
    for (u32 at = 0; next_word(text, &at, &word);)
        declare(s, scope, word.hash, word.is_range);
}

Span scope_decl_words(const Decl *d)
{
    Span none = {0, 0};
    return d->renamed.p ? none : d->text;
}

/* Whether a name of this stem means something in this scope or one around it. */
static bool clashes(const Legalizer *s, ScopeId scope, NameHash h)
{
    bool anywhere = is_declared_elsewhere(s, MODULE_SCOPE, h.stem, DECLARED_STEM);
    for (; anywhere && scope != 0; scope = s->fn->scopes.v[scope].parent)
        if (is_declared(s, scope, h.stem, DECLARED_STEM))
            return true;
    return is_declared(s, 0, h.stem, DECLARED_STEM) || is_declared(s, MODULE_SCOPE, h.stem, DECLARED_STEM);
}

bool scope_words_clash(const Legalizer *s, ScopeId scope, Span span)
{
    Str text = span_str(s->fn->module, span);
    Word word;
    for (u32 at = 0; next_word(text, &at, &word);)
        if (clashes(s, scope, word.hash))
            return true;
    return false;
}

bool scope_name_clashes(const Legalizer *s, ScopeId scope, const Name *name) { return clashes(s, scope, hash_name(name)); }

/* ---- renaming -------------------------------------------------------------------------------------------------- */

static void rename_registers(Legalizer *s, ScopeId scope, u32 index, Decl *d)
{
    const Name *stem = NULL;
    const Reg *first = NULL;
    i32 count = 0;
    for (RegId id = s->first_reg[scope]; id; id = s->next_reg[id]) {
        Reg *reg = fn_reg(s->fn, id);
        if (reg->decl != index)
            continue;
        if (!stem)
            stem = reg_fresh_stem(s->fn);
        first = reg;
        reg->name = stem;
        reg->number = count++;
        reg->renamed = true;
    }
    char *text = "";
    if (first && first->vector > 1)
        text = arena_printf(s->fn->module->arena, ".reg .v%u %s %s<%d>;", first->vector, type_name(first->type), stem->text,
                            count);
    else if (first)
        text = arena_printf(s->fn->module->arena, ".reg %s %s<%d>;", type_name(first->type), stem->text, count);
    d->renamed = (Str){text, (u32)strlen(text)};
}

static Sym *sym_named(const Function *fn, const Decl *d, const Name *name)
{
    for (u32 k = 0; name && k < d->syms; k++)
        if (fn->module->syms.v[d->sym + k].name == name)
            return &fn->module->syms.v[d->sym + k];
    return NULL;
}

/* Makes the declaration's text with each name replaced. A range of variables has no name in the text and keeps its names. */
static void rename_variables(Legalizer *s, Decl *d)
{
    Module *m = s->fn->module;
    Str text = span_str(m, d->text);
    Word word;
    const char *made = "";
    u32 copied = 0;
    for (u32 at = 0; next_word(text, &at, &word);) {
        Sym *sym = sym_named(s->fn, d, intern_find(&m->names, word.text.p, word.text.len));
        if (!sym)
            continue;
        u32 beg = (u32)(word.text.p - text.p);
        sym->name = label_fresh_name(s->fn);
        sym->renamed = true;
        made = arena_printf(m->arena, "%s%.*s%s", made, (int)(beg - copied), text.p + copied, sym->name->text);
        copied = at;
    }
    made = arena_printf(m->arena, "%s%.*s", made, (int)(text.len - copied), text.p + copied);
    d->renamed = (Str){made, (u32)strlen(made)};
}

void scope_rename_decl(Legalizer *s, ScopeId scope, u32 index)
{
    Decl *d = &s->fn->scopes.v[scope].decls.v[index];
    if (d->kind == DECL_REG)
        rename_registers(s, scope, index, d);
    else
        rename_variables(s, d);
    s->renamed++;
}

void scope_rename_label(Legalizer *s, Label *l)
{
    l->name = label_fresh_name(s->fn);
    l->renamed = true;
    s->renamed++;
}

void scope_rename_table(Legalizer *s, Table *t)
{
    t->name = label_fresh_name(s->fn);
    t->renamed = true;
    s->renamed++;
}

/* ---- hidden names ---------------------------------------------------------------------------------------------- */

static bool declares(const Function *fn, const Decl *d, NameHash h)
{
    Str text = span_str(fn->module, scope_decl_words(d));
    Word word;
    for (u32 at = 0; next_word(text, &at, &word);)
        if (word.is_range ? word.hash.stem == h.stem : word.hash.whole == h.whole)
            return true;
    return false;
}

static void rename_in_scope(Legalizer *s, ScopeId scope, NameHash h)
{
    Function *fn = s->fn;
    for (u32 d = 0; d < fn->scopes.v[scope].decls.n; d++)
        if (scope_may_hide(scope, &fn->scopes.v[scope].decls.v[d]) && declares(fn, &fn->scopes.v[scope].decls.v[d], h))
            scope_rename_decl(s, scope, d);
    for (u32 t = 0; scope != 0 && t < fn->tables.n; t++)
        if (fn->tables.v[t].scope == scope && fn->tables.v[t].name->hash == h.whole)
            scope_rename_table(s, &fn->tables.v[t]);
    for (Block *b = scope != 0 ? fn->entry : NULL; b; b = b->next)
        for (Label *l = b->labels; l; l = l->next)
            if (l->scope == scope && l->name->hash == h.whole)
                scope_rename_label(s, l);
    undeclare(s, scope, h.whole, DECLARED_WHOLE);
    undeclare(s, scope, h.stem, DECLARED_RANGE);
}

/* Renames whatever hides a name between its use and the scope that declares it. */
static void rename_between(Legalizer *s, ScopeId from, ScopeId declared_in, NameHash h)
{
    if (!is_declared_elsewhere(s, declared_in, h.whole, DECLARED_WHOLE) &&
        !is_declared_elsewhere(s, declared_in, h.stem, DECLARED_RANGE))
        return;
    for (ScopeId scope = from; scope != declared_in; scope = s->fn->scopes.v[scope].parent) {
        if (is_declared(s, scope, h.whole, DECLARED_WHOLE) || is_declared(s, scope, h.stem, DECLARED_RANGE))
            rename_in_scope(s, scope, h);
        if (scope == 0)
            return;
    }
}

void scope_rename_hiding(Legalizer *s, ScopeId from, RefKind kind, u32 id)
{
    Function *fn = s->fn;
    if (kind == REF_REG) {
        const Reg *reg = fn_reg(fn, id);
        if (is_declared_elsewhere(s, reg->scope, hash_name(reg->name).stem, DECLARED_STEM))
            rename_between(s, from, reg->scope, hash_reg(reg));
    } else if (kind == REF_SYM) {
        const Sym *sym = &fn->module->syms.v[id];
        rename_between(s, from, sym->owner == fn ? sym->scope : MODULE_SCOPE, hash_name(sym->name));
    } else if (kind == REF_SREG) {
        rename_between(s, from, MODULE_SCOPE, hash_sreg(id));
    } else if (kind == REF_TABLE) {
        rename_between(s, from, fn->tables.v[id].scope, hash_name(fn->tables.v[id].name));
    } else {
        for (const Label *l = fn_block(fn, id)->labels; l; l = l->next) /* any of them may be the one that is written */
            if (scope_encloses(fn, l->scope, from))
                rename_between(s, from, l->scope, hash_name(l->name));
    }
}

/* ---- instructions that hold a new name ------------------------------------------------------------------------- */

static bool has_renamed_label(const Block *b)
{
    for (const Label *l = b->labels; l; l = l->next)
        if (l->renamed)
            return true;
    return false;
}

static bool holds_renamed(const Function *fn, const Instr *i)
{
    if (i->guard && fn_reg(fn, i->guard)->renamed)
        return true;
    for_each_slot(o, i)
        if ((o->kind == OPND_REG && fn_reg(fn, o->id)->renamed) || (o->kind == OPND_TABLE && fn->tables.v[o->id].renamed) ||
            (o->kind == OPND_SYM && fn->module->syms.v[o->id].renamed) ||
            (o->kind == OPND_LABEL && has_renamed_label(fn_block(fn, o->id))))
            return true;
    return false;
}

void scope_mark_holders(Function *fn)
{
    for_each_block(b, fn) {
        for_each_instr(i, b)
            i->changed |= holds_renamed(fn, i);
        if (b->jump)
            b->jump->changed |= holds_renamed(fn, b->jump);
    }
    for (u32 t = 0; t < fn->tables.n; t++)
        for (u32 k = 0; fn->tables.v[t].kind == TABLE_BRANCH && k < fn->tables.v[t].targets.n; k++)
            fn->tables.v[t].changed |= has_renamed_label(fn_block(fn, fn->tables.v[t].targets.v[k]));
}
