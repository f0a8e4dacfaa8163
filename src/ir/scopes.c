/* Legalizes the scopes of a function: their braces after each phase, their names before it is printed. Three things break
 * the `{ }` of the source:
 *
 *     the layout      a scope whose blocks no longer stand together would be opened twice
 *     a reference     a branch into a scope; a register used by an instruction that was moved out of its scope
 *     a declaration   one in mid-body, which prints earlier than it stood and hides an outer name on the way; one in the
 *                     scope that an instruction was moved to
 *
 * The first two flatten the scope: its braces are removed, and its declarations move to the scope around it. Where a name
 * would then clash, and for the third, the whole declaration is renamed. The instructions that hold one of its names then
 * print from their operands. A range `%r<100>` counts as if it declared every name of its stem (%r, without the digits). So
 * a name may be renamed that need not be. */
#include "ir/scope_names.h"

/* Sets the parent and the jump of a scope. Jumps lead to ancestors at distances that grow with the depth, so a few of them
 * lead to any ancestor (Myers' random-access lists). */
void scope_set_parent(Function *fn, ScopeId id, ScopeId parent)
{
    const Scope *scopes = fn->scopes.v, *above = &scopes[parent];
    u32 near = above->depth - scopes[above->jump].depth;
    u32 far = scopes[above->jump].depth - scopes[scopes[above->jump].jump].depth;
    fn->scopes.v[id].parent = parent;
    fn->scopes.v[id].depth = above->depth + 1;
    fn->scopes.v[id].jump = near == far ? scopes[above->jump].jump : parent;
}

typedef void Visit(Legalizer *s, ScopeId from, RefKind kind, u32 id);

/* ---- references ------------------------------------------------------------------------------------------------ */

/* Visits a register, unless the scope that names it declares it, where it is always visible. */
static void visit_reg(Legalizer *s, ScopeId from, RegId id, Visit *visit)
{
    if (fn_reg(s->fn, id)->scope != from)
        visit(s, from, REF_REG, id);
}

static void visit_instr(Legalizer *s, const Instr *i, Visit *visit)
{
    if (i->guard)
        visit_reg(s, i->scope, i->guard, visit);
    for_each_slot(o, i) {
        if (o->kind == OPND_REG)
            visit_reg(s, i->scope, o->id, visit);
        else if (o->kind == OPND_SYM)
            visit(s, i->scope, REF_SYM, o->id);
        else if (o->kind == OPND_LABEL)
            visit(s, i->scope, REF_BLOCK, o->id);
        else if (o->kind == OPND_TABLE)
            visit(s, i->scope, REF_TABLE, o->id);
        else if (o->kind == OPND_SREG)
            visit(s, i->scope, REF_SREG, o->id);
    }
}

static void visit_references(Legalizer *s, Visit *visit)
{
    Function *fn = s->fn;
    for (u32 t = 0; t < fn->tables.n; t++)
        for (u32 k = 0; k < fn->tables.v[t].targets.n; k++)
            visit(s, fn->tables.v[t].scope, fn->tables.v[t].kind == TABLE_BRANCH ? REF_BLOCK : REF_SYM,
                  fn->tables.v[t].targets.v[k]);
    for_each_block(b, fn) {
        for_each_instr(i, b)
            if (i->changed || !s->changed_only)
                visit_instr(s, i, visit);
        if (b->jump)
            visit_instr(s, b->jump, visit);
    }
}

/* ---- flattening ------------------------------------------------------------------------------------------------ */

/* The scope that now holds the contents of `scope`. It halves the paths that it walks, since many scopes may be flattened
 * into one. */
static ScopeId living(Legalizer *s, ScopeId scope)
{
    ScopeId *outer = s->outer;
    while (outer[scope] != scope) {
        outer[scope] = outer[outer[scope]];
        scope = outer[scope];
    }
    return scope;
}

static void flatten(Legalizer *s, ScopeId scope)
{
    if (scope == 0 || s->fn->scopes.v[scope].flattened)
        return;
    s->fn->scopes.v[scope].flattened = true;
    s->outer[scope] = s->fn->scopes.v[scope].parent;
    s->flattened++;
}

static void index_living(Legalizer *s)
{
    const Function *fn = s->fn;
    s->outer = arena_array(&s->arena, ScopeId, fn->scopes.n);
    for (ScopeId id = 0; id < fn->scopes.n; id++)
        s->outer[id] = fn->scopes.v[id].flattened ? fn->scopes.v[id].parent : id;
}

static void make_visible(Legalizer *s, ScopeId declared_in, ScopeId from)
{
    ScopeId scope;
    while (declared_in != 0 && !scope_encloses(s->fn, scope = living(s, declared_in), from))
        flatten(s, scope);
}

static void flatten_unseen(Legalizer *s, ScopeId from, RefKind kind, u32 id)
{
    Function *fn = s->fn;
    const Sym *sym = kind == REF_SYM ? &fn->module->syms.v[id] : NULL;
    if (kind == REF_REG)
        make_visible(s, fn_reg(fn, id)->scope, from);
    else if (kind == REF_TABLE)
        make_visible(s, fn->tables.v[id].scope, from);
    else if (sym && sym->owner == fn)
        make_visible(s, sym->scope, from);
    const Label *labels = kind == REF_BLOCK ? fn_block(fn, id)->labels : NULL;
    if (!labels || fn_block(fn, id)->dead)
        return;
    for (const Label *l = labels; l; l = l->next)
        if (scope_encloses(fn, living(s, l->scope), from))
            return;
    make_visible(s, labels->scope, from);
}

static void declare_outside_name(Legalizer *s, ScopeId from, RefKind kind, u32 id)
{
    (void)from;
    if (kind == REF_SYM && s->fn->module->syms.v[id].owner != s->fn)
        scope_declare_name(s, MODULE_SCOPE, s->fn->module->syms.v[id].name);
    else if (kind == REF_SREG)
        scope_declare_sreg(s, id);
}

static void count_opening(Legalizer *s, u8 *opened, ScopeId scope)
{
    if (opened[scope])
        flatten(s, scope);
    opened[scope] = 1;
}

/* Counts the scopes that are opened on the way from `from` to `to`. */
static void count_openings(Legalizer *s, u8 *opened, ScopeId from, ScopeId to)
{
    for (to = living(s, to); !scope_encloses(s->fn, to, from); to = living(s, s->fn->scopes.v[to].parent))
        count_opening(s, opened, to);
}

/* Flattens in-block scopes that do not nest within their block. */
static void check_block_scopes(Legalizer *s, u8 *opened, const Block *b)
{
    const Function *fn = s->fn;
    ScopeId open = b->scope;
    for_each_instr(i, b) {
        if (i->kind == INSTR_SCOPE_BEGIN) {
            count_opening(s, opened, i->scope);
            if (fn->scopes.v[i->scope].parent != open)
                flatten(s, i->scope);
            open = i->scope;
        } else if (i->kind == INSTR_SCOPE_END) {
            if (open != i->scope) {
                flatten(s, i->scope);
                flatten(s, open == b->scope ? 0 : open);
            } else {
                open = fn->scopes.v[open].parent;
            }
        }
    }
    for (; open != b->scope && open != 0; open = fn->scopes.v[open].parent)
        flatten(s, open);
}

/* Whether each scope but the body lies in one block. No label is in such a scope, and what is declared around it stays so. An
 * instruction that comes to another scope prints from its operands. */
static bool is_one_body(const Function *fn)
{
    for (ScopeId id = 1; id < fn->scopes.n; id++)
        if (!fn->scopes.v[id].in_block)
            return false;
    return true;
}

static void flatten_broken(Legalizer *s)
{
    u8 *opened = arena_alloc(&s->arena, s->fn->scopes.n);
    ScopeId scope = 0;
    for_each_block(b, s->fn) {
        count_openings(s, opened, scope, b->scope);
        scope = b->scope;
        check_block_scopes(s, opened, b);
    }
    s->changed_only = is_one_body(s->fn);
    visit_references(s, flatten_unseen);
    s->changed_only = false;
}

/* ---- moving what a flattened scope declared -------------------------------------------------------------------- */

static void move_decl(Legalizer *s, ScopeId from, u32 index, ScopeId to)
{
    Function *fn = s->fn;
    if (scope_words_clash(s, to, scope_decl_words(&fn->scopes.v[from].decls.v[index])))
        scope_rename_decl(s, from, index);
    Decl d = fn->scopes.v[from].decls.v[index];
    d.early = true;
    scope_declare_words(s, to, scope_decl_words(&d));
    for (u32 k = 0; k < d.syms; k++)
        fn->module->syms.v[d.sym + k].scope = to;
    for (u32 *link = &s->first_reg[from]; *link;) {
        RegId id = *link;
        if (fn_reg(fn, id)->decl != index) {
            link = &s->next_reg[id];
            continue;
        }
        *link = s->next_reg[id];
        s->next_reg[id] = s->first_reg[to];
        s->first_reg[to] = id;
        fn_reg(fn, id)->scope = to;
        fn_reg(fn, id)->decl = fn->scopes.v[to].decls.n;
    }
    vec_push(&fn->scopes.v[to].decls, d);
}

static void move_labels(Legalizer *s, Block *b)
{
    for (Label *l = b->labels; l; l = l->next) {
        ScopeId to = living(s, l->scope);
        if (to == l->scope)
            continue;
        if (!l->renamed && scope_name_clashes(s, to, l->name))
            scope_rename_label(s, l);
        l->scope = to;
        scope_declare_name(s, to, l->name);
    }
}

static void move_tables(Legalizer *s)
{
    for (u32 k = 0; k < s->fn->tables.n; k++) {
        Table *t = &s->fn->tables.v[k];
        ScopeId to = living(s, t->scope);
        if (to == t->scope)
            continue;
        if (!t->renamed && scope_name_clashes(s, to, t->name))
            scope_rename_table(s, t);
        t->scope = to;
        scope_declare_name(s, to, t->name);
    }
}

static void unlink_brace(Block *b, Instr *i)
{
    *(i->prev ? &i->prev->next : &b->first) = i->next;
    *(i->next ? &i->next->prev : &b->last) = i->prev;
    i->prev = i->next = NULL;
    i->block = NULL;
}

static void move_instrs(Legalizer *s, Block *b)
{
    b->scope = living(s, b->scope);
    if (b->jump)
        b->jump->scope = living(s, b->jump->scope);
    for (Instr *i = b->first, *next; i; i = next) {
        next = i->next;
        bool brace = i->kind == INSTR_SCOPE_BEGIN || i->kind == INSTR_SCOPE_END;
        if (brace && s->fn->scopes.v[i->scope].flattened)
            unlink_brace(b, i);
        else
            i->scope = living(s, i->scope);
    }
}

/* Makes the parents of scopes ones that are not flattened, outer scopes first. Their ids are smaller, except those of
 * in-block scopes that came to another block. */
static void skip_flattened(Legalizer *s)
{
    Function *fn = s->fn;
    for (int in_block = 0; in_block < 2; in_block++)
        for (ScopeId id = 1; id < fn->scopes.n; id++)
            if (fn->scopes.v[id].in_block == in_block)
                scope_set_parent(fn, id, living(s, fn->scopes.v[id].parent));
}

/* Moves the contents of flattened scopes. Outer scopes come first, so nothing moves twice. */
static void empty_flattened(Legalizer *s)
{
    Function *fn = s->fn;
    skip_flattened(s);
    for (ScopeId id = 1; id < fn->scopes.n; id++) {
        ScopeId to = living(s, id);
        if (to == id)
            continue;
        for (u32 d = 0; d < fn->scopes.v[id].decls.n; d++)
            move_decl(s, id, d, to);
        fn->scopes.v[id].decls.n = 0;
    }
    move_tables(s);
    for_each_block(b, fn) {
        move_labels(s, b);
        move_instrs(s, b);
    }
}

/* ---- all together ---------------------------------------------------------------------------------------------- */

/* Whether a changed function may need new names. The source itself is in order; without inner scopes only a declaration in
 * mid-body can come to hide something. */
static bool may_be_illegal(const Function *fn)
{
    const Scope *body = &fn->scopes.v[0];
    if (!fn->changed || fn->scopes.n > 1)
        return fn->changed;
    for (u32 d = 0; d < body->decls.n; d++)
        if (!body->decls.v[d].early)
            return true;
    return false;
}

static void index_registers(Legalizer *s)
{
    Function *fn = s->fn;
    s->first_reg = arena_array(&s->arena, u32, fn->scopes.n);
    s->next_reg = arena_array(&s->arena, u32, fn->regs.n);
    for (RegId id = fn->regs.n; --id > 0;) {
        s->next_reg[id] = s->first_reg[fn_reg(fn, id)->scope];
        s->first_reg[fn_reg(fn, id)->scope] = id;
    }
}

/* Lists the names that may hide another, or, if `all`, every name. Early declarations of scope 0, its labels and its tables
 * hide nothing. */
static void index_names(Legalizer *s, bool all)
{
    Function *fn = s->fn;
    for (ScopeId id = 0; id < fn->scopes.n; id++)
        for (u32 d = 0; !fn->scopes.v[id].flattened && d < fn->scopes.v[id].decls.n; d++)
            if (all || scope_may_hide(id, &fn->scopes.v[id].decls.v[d]))
                scope_declare_words(s, id, scope_decl_words(&fn->scopes.v[id].decls.v[d]));
    for (u32 t = 0; t < fn->tables.n; t++)
        if (!fn->scopes.v[fn->tables.v[t].scope].flattened && (all || fn->tables.v[t].scope != 0))
            scope_declare_name(s, fn->tables.v[t].scope, fn->tables.v[t].name);
    for_each_block(b, fn)
        for (const Label *l = b->labels; l; l = l->next)
            if (!fn->scopes.v[l->scope].flattened && (all || l->scope != 0))
                scope_declare_name(s, l->scope, l->name);
}

/* Lists every name that a name moved into a scope may clash with, including parameters and names of the module. */
static void index_all_names(Legalizer *s)
{
    scope_declare_words(s, 0, (Span){s->fn->text.beg, s->fn->open.beg});
    index_names(s, true);
    visit_references(s, declare_outside_name);
}

/* Makes every name mean what it did, including those in scopes that were flattened. */
static void settle_names(Legalizer *s)
{
    Function *fn = s->fn;
    index_registers(s);
    if (s->flattened) {
        index_all_names(s);
        empty_flattened(s);
    } else {
        index_names(s, false);
    }
    if (s->declared.count)
        visit_references(s, scope_rename_hiding);
    if (s->renamed)
        scope_mark_holders(fn);
    fn->edits.legal_epoch = fn->epoch[EPOCH_CODE];
    fnvmap_free(&s->declared);
}

static void settle(Function *fn, bool names)
{
    Legalizer s = {.fn = fn};
    index_living(&s);
    if (fn->edits.flat_epoch != fn->epoch[EPOCH_CODE])
        flatten_broken(&s);
    fn->edits.flat_epoch = fn->epoch[EPOCH_CODE];
    fn->edits.flattenings += s.flattened > 0;
    if (names || s.flattened)
        settle_names(&s);
    arena_free(&s.arena);
}

void scopes_flatten(Function *fn)
{
    if (fn->edits.flat_epoch != fn->epoch[EPOCH_CODE] && fn->changed && fn->scopes.n > 1)
        settle(fn, false);
}

void scopes_legalize(Function *fn)
{
    if (fn->edits.legal_epoch != fn->epoch[EPOCH_CODE] && may_be_illegal(fn))
        settle(fn, true);
}
