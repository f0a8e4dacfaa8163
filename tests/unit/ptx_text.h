/* Modules from PTX text, for unit tests. Include after cmocka.h. */
#ifndef PTXOPT_TESTS_PTX_TEXT_H
#define PTXOPT_TESTS_PTX_TEXT_H

#include <string.h>

#include "parse/parse.h"

#define PTX_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

/* Fails the test if there is an error in the text, which must stay until the module is freed. */
static inline Module *ptx_module(Arena *arena, const char *text)
{
    Diag diag;
    Str whole = {text, (u32)strlen(text)};
    diag_init(&diag, stderr, "test.ptx", whole);
    Module *m = parse_module(arena, "test.ptx", whole, &diag);
    assert_int_equal(diag.errors, 0);
    diag_free(&diag);
    return m;
}

static inline Function *ptx_function(Module *m, const char *name)
{
    for (u32 k = 0; k < m->functions.n; k++)
        if (!strcmp(m->functions.v[k]->name->text, name) && m->functions.v[k]->is_definition)
            return m->functions.v[k];
    fail_msg("no function %s", name);
    return NULL;
}

static inline RegId ptx_reg(const Function *fn, const char *name)
{
    size_t len = strlen(name);
    for (RegId id = 1; id < fn->regs.n; id++) {
        const Reg *r = fn_reg(fn, id);
        char *end;
        if (r->number < 0 ? !strcmp(r->name->text, name)
                          : r->name->len < len && !strncmp(r->name->text, name, r->name->len) &&
                                strtol(name + r->name->len, &end, 10) == r->number && !*end)
            return id;
    }
    fail_msg("no register %s", name);
    return 0;
}

static inline Block *ptx_block(const Function *fn, const char *label)
{
    for_each_block(b, fn)
        for (const Label *l = b->labels; l; l = l->next)
            if (!strcmp(l->name->text, label))
                return b;
    fail_msg("no label %s", label);
    return NULL;
}

#endif
