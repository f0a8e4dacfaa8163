/* Declarations: registers, variables, types of parameters. */
#include "parse/lower.h"

#include <limits.h>
#include <string.h>

#define RANGE_LIMIT 100000000u /* the most members of one `%r<N>`, as for ptxas */
#define NAMED_LIMIT 100000u    /* the most members of a range of variables, which are made at once */

void lower_decl_begin(Lower *p, u32 space)
{
    p->space = space;
    p->type = TYPE_NONE;
    p->vector = 1;
    p->align = 0;
    p->first_sym = p->module->syms.n;
    p->declaring = true;
}

/* Reports a word that must stand before the type. A type ends what is said about all names of a declaration, except for
 * parameters: `.u64 .ptr .global .align 1`. */
void lower_decl_before_type(Lower *p, Span at)
{
    if (p->type != TYPE_NONE)
        lower_error(p, at, "this stands before the type");
}

void lower_decl_vector(Lower *p, u32 vector, Span at)
{
    lower_decl_before_type(p, at);
    if (p->vector > 1)
        lower_error(p, at, "a declaration has one vector size");
    p->vector = vector;
}

void lower_decl_type(Lower *p, u32 type, Span at)
{
    if (p->type != TYPE_NONE)
        lower_error(p, at, "a declaration has one type");
    p->type = type;
}

/* The index that the declaration will have in its scope once it is complete. */
static u32 decl_index(const Lower *p) { return p->fn ? p->fn->scopes.v[scope_now(p)].decls.n : 0; }

static void bind_register(Lower *p, Span name)
{
    RegId id = p->fn->regs.n;
    const Binding *b = names_bind(p, name, BIND_REG, id);
    if (!b)
        return;
    Reg reg = {.name = b->name,
               .number = -1,
               .type = (u8)p->type,
               .vector = (u8)p->vector,
               .scope = scope_now(p),
               .decl = decl_index(p)};
    vec_push(&p->fn->regs, reg);
}

static void need_type(Lower *p, Span at)
{
    if (p->type == TYPE_NONE) {
        lower_error(p, at, "this declaration lacks a type");
        p->type = TYPE_B32;
    }
}

void lower_decl_register(Lower *p, Span name)
{
    need_type(p, name);
    bind_register(p, name);
}

/* The number of members; 0 after an error. */
static u32 range_count(Lower *p, Val count, Span at, u32 limit)
{
    if (count.kind != VAL_INT || count.i < 0 || count.i > (i64)limit) {
        lower_error(p, at, "a range has 0 to %u names", limit);
        return 0;
    }
    return (u32)count.i;
}

void lower_decl_register_range(Lower *p, Span stem, Val count, Span at)
{
    need_type(p, stem);
    u32 members = range_count(p, count, at, RANGE_LIMIT);
    if (!members)
        return;
    RegRange *range = arena_new(&p->uses, RegRange);
    *range =
        (RegRange){.count = members, .type = p->type, .vector = p->vector, .scope = scope_now(p), .decl = decl_index(p)};
    names_bind_range(p, stem, range);
}

static Sym *new_sym(Lower *p, const Name *name)
{
    Sym sym = {.name = name,
               .kind = SYM_VAR,
               .space = (u8)p->space,
               .type = (u8)p->type,
               .is_extern = p->is_extern,
               .align = p->align,
               .owner = p->fn,
               .scope = scope_now(p)};
    u64 bits = type_bits(p->type);
    sym.bytes = bits ? (i64)(bits / 8 * p->vector) : -1;
    vec_push(&p->module->syms, sym);
    return &vec_last(&p->module->syms);
}

/* Binds a variable. One at module level may be declared again (extern first, then defined); the later declaration wins. */
static void bind_variable(Lower *p, Span at, const Name *name)
{
    SymId id = p->module->syms.n;
    RegId reg;
    if (!p->fn) {
        Binding *known = names_find(p, at, &reg);
        if (known && known->kind == BIND_SYM && p->module->syms.v[known->id].kind != SYM_FUNC) {
            new_sym(p, name);
            known->id = id;
            return;
        }
    }
    if (names_bind(p, at, BIND_SYM, id))
        new_sym(p, name);
}

void lower_decl_variable(Lower *p, Span name)
{
    Str text = span_str(p->module, name);
    need_type(p, name);
    bind_variable(p, name, intern(&p->module->names, text.p, text.len));
}

void lower_decl_variable_range(Lower *p, Span stem, Val count, Span at)
{
    need_type(p, stem);
    u32 members = range_count(p, count, at, NAMED_LIMIT);
    if (p->fn) /* such a declaration cannot be renamed, so its scopes could not be flattened */
        lower_leave_alone(p, "it declares a range of variables", stem);
    for (u32 i = 0; i < members; i++) {
        Binding *b = names_bind_numbered(p, stem, i, at, BIND_SYM, p->module->syms.n);
        if (b)
            new_sym(p, b->name);
    }
}

void lower_dimension(Lower *p, const Val *count, Span at)
{
    if (p->module->syms.n <= 1)
        return;
    Sym *sym = &vec_last(&p->module->syms);
    if (!count) {
        sym->bytes = -1;
        return;
    }
    i64 n = lower_constant(p, *count, at);
    if (n < 0)
        lower_error(p, at, "an array cannot have a negative size");
    else if (sym->bytes >= 0 && __builtin_mul_overflow(sym->bytes, n, &sym->bytes))
        lower_error(p, at, "this array is too large");
}

void lower_attribute(Lower *p, Span at)
{
    static const char *const known[] = {".managed", ".unified"};
    Str text = span_str(p->module, at);
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (str_is(text, known[i]))
            return;
    if (p->fn)
        lower_unknown_in_function(p, "attribute", at);
    else
        lower_unknown_in_module(p, "attribute", at);
}

void lower_decl_end(Lower *p, Span at)
{
    for (u32 i = p->first_sym; i < p->module->syms.n; i++)
        p->module->syms.v[i].text = at;
    if (p->fn) {
        Scope *scope = &p->fn->scopes.v[scope_now(p)];
        Decl decl = {.kind = p->space == SPACE_REG ? DECL_REG : DECL_VAR,
                     .early = !vec_last(&p->scopes).any_instr,
                     .text = at,
                     .sym = p->first_sym,
                     .syms = p->module->syms.n - p->first_sym};
        decl.lead = lower_lead(p, at.beg);
        vec_push(&scope->decls, decl);
    }
    p->declaring = false;
    lower_statement_end(p, at);
}

void lower_alias(Lower *p, Span alias, Span aliasee)
{
    RegId reg;
    Binding *known = names_find(p, alias, &reg), *of = names_find(p, aliasee, &reg);
    if (of && of->kind == BIND_SYM)
        p->module->syms.v[of->id].escapes = true;
    if (!of)
        lower_error(p, aliasee, "'%.*s' is not declared", (int)(aliasee.end - aliasee.beg),
                    p->module->text.p + aliasee.beg);
    else if (!known)
        lower_error(p, alias, "'%.*s' is not declared", (int)(alias.end - alias.beg), p->module->text.p + alias.beg);
}

/* Notes a name in an initialiser, which is text to the phases. What it names in the function, including labels that come
 * later, must keep its name. */
void lower_mention(Lower *p, Val v)
{
    if (v.kind != VAL_NAME)
        return;
    if (v.flags & VAL_PARENTHESIZED)
        lower_error(p, v.name, "a name does not stand in parentheses");
    names_mention(p, v.name);
    RegId reg;
    const Binding *b = names_find(p, v.name, &reg);
    if (b && b->kind == BIND_SYM)
        p->module->syms.v[b->id].escapes = true;
    if (!p->fn)
        return;
    if (!b || b->kind != BIND_SYM || p->module->syms.v[b->id].owner == p->fn)
        lower_leave_alone(p, "an initialiser names something of the function", v.name);
}
