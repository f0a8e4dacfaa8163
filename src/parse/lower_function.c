/* Functions: headers, parameters, bodies. */
#include "parse/lower.h"

#define BLOCK_LIMIT 1024 /* threads; ptxas takes larger numbers, but no block has more */

void lower_linkage(Lower *p, bool is_extern, Span at)
{
    p->is_extern = is_extern;
    p->function_start = at.beg;
}

/* Makes the Function without a name, because parameters that a `.func` returns come before its name. */
void lower_function_begin(Lower *p, bool is_entry, Span at)
{
    u32 beg = p->function_start != NO_LINKAGE ? p->function_start : at.beg;
    Function *fn = function_new(p->module, NULL);
    fn->is_entry = is_entry;
    fn->text.beg = beg;
    fn->lead = lower_lead(p, beg);
    p->fn = fn;
    p->block = p->falling = p->jumpable = NULL;
    p->loc = NULL;
    p->functions++;
    p->names_missing &= (u8)~MISSING_IN_FUNCTION;
    names_open_scope(p, 0);
}

/* Binds the function's symbol in the module's scope, outside of the scope of its parameters. */
static Binding *bind_function(Lower *p, Span name, SymId id)
{
    u32 open = p->scopes.n;
    RegId reg;
    Binding *known = names_find(p, name, &reg);
    while (known && known->depth > 0)
        known = known->outer;
    if (known)
        return known;
    p->scopes.n = 0;
    Binding *made = names_bind(p, name, BIND_SYM, id);
    p->scopes.n = open;
    return made;
}

void lower_function_name(Lower *p, Span name)
{
    Module *m = p->module;
    Str text = span_str(m, name);
    Function *fn = p->fn;
    fn->name = intern(&m->names, text.p, text.len);
    SymId id = m->syms.n;
    Binding *b = bind_function(p, name, id);
    if (!b)
        return;
    if (b->id == id) {
        Sym sym = {
            .name = fn->name, .kind = SYM_FUNC, .is_extern = p->is_extern, .text = name, .function = fn, .bytes = -1};
        vec_push(&m->syms, sym);
    } else if (m->syms.v[b->id].kind != SYM_FUNC) {
        lower_error(p, name, "'%s' is already declared as a variable", fn->name->text);
        lower_note(p, b->at, "it was declared here");
    }
    fn->sym = b->id;
}

void lower_parameter(Lower *p, Span name, bool is_return)
{
    Function *fn = p->fn;
    if (p->space == SPACE_REG) {
        u32 regs = fn->regs.n;
        lower_decl_register(p, name);
        if (fn->regs.n > regs)
            vec_last(&fn->regs).is_param = true;
        return;
    }
    u32 id = p->module->syms.n;
    lower_decl_variable(p, name);
    if (p->module->syms.n == id)
        return;
    p->module->syms.v[id].text = name;
    p->module->syms.v[id].kind = SYM_PARAM;
    vec_push(&fn->params, id);
    fn->return_params += is_return;
}

void lower_block_shape(Lower *p, u32 which, u32 dimension, Val v, Span at)
{
    i64 n = lower_constant(p, v, at);
    if (n < 1)
        lower_error(p, at, "a thread block has at least one thread in each dimension");
    Function *fn = p->fn;
    bool exact = which == 'r';
    if (fn->tuning.shape_exact && !exact)
        return;
    if (dimension == 0)
        fn->tuning.block_shape[1] = fn->tuning.block_shape[2] = 1;
    fn->tuning.block_shape[dimension] = n > BLOCK_LIMIT ? BLOCK_LIMIT : (i32)n;
    fn->tuning.shape_exact = exact;
}

void lower_performance(Lower *p, u32 directive, Val v, Span at)
{
    Directive read = {.value = v.i < 0 || v.i > UINT16_MAX ? UINT16_MAX : (u32)v.i, .text = at};
    if (directive == DIRECTIVE_MINNCTAPERSM)
        p->fn->tuning.least_ctas = read;
    else if (directive == DIRECTIVE_MAXNREG)
        p->fn->tuning.most_registers = read;
}

void lower_noreturn(Lower *p) { p->fn->tuning.has_noreturn = true; }

void lower_body_begin(Lower *p, Span brace)
{
    Function *fn = p->fn;
    lower_instr_reset(p);
    fn->is_definition = true;
    fn->open = brace;
    fn->scopes.v[0].open = brace;
    Sym *sym = fn->sym ? &p->module->syms.v[fn->sym] : NULL;
    if (sym && sym->kind == SYM_FUNC) {
        if (sym->function != fn && sym->function && sym->function->is_definition)
            lower_error(p, sym->text, "function '%s' is defined twice", fn->name->text);
        sym->function = fn;
        sym->is_extern = false;
    }
    p->last_end = brace.end;
}

static void function_end(Lower *p, Span at)
{
    Function *fn = p->fn;
    lower_instr_reset(p);
    lower_check_unknown_registers(p);
    lower_instr_reset(p);
    names_close_scope(p);
    names_report_unresolved(p);
    if (!fn->name)
        fn->name = intern_cstr(&p->module->names, "?");
    if (p->lenient == LENIENT_FUNCTION)
        p->lenient = LENIENT_NOT;
    fn->text.end = at.end;
    function_shrink(fn);
    p->fn = NULL;
    p->block = p->falling = p->jumpable = NULL;
    p->is_extern = false;
    p->function_start = NO_LINKAGE;
    p->last_end = at.end;
}

void lower_body_end(Lower *p, Span brace)
{
    lower_block_finish(p);
    p->fn->close = brace;
    p->fn->scopes.v[0].close = brace;
    p->fn->scopes.v[0].lead_close = lower_lead(p, brace.beg);
    function_end(p, brace);
}

void lower_prototype_end(Lower *p, Span semicolon) { function_end(p, semicolon); }

/* Abandons a function after a syntax error that its own rules could not recover from. */
void lower_function_abandon(Lower *p)
{
    while (p->scopes.n)
        names_close_scope(p);
    for (u32 i = 0; i < p->refs.n; i++)
        p->refs.v[i]->done = true;
    names_report_unresolved(p);
    p->fn = NULL;
    p->block = p->falling = p->jumpable = NULL;
}
