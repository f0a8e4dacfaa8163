/* Functions of one module, edited and printed, for unit tests. Include after cmocka.h. */
#ifndef PTXOPT_TESTS_IR_TEXT_H
#define PTXOPT_TESTS_IR_TEXT_H

#include "ir/cfg.h"
#include "ir/edit.h"
#include "ptx_text.h"

typedef struct Fixture {
    Arena arena;
    char *source; /* the module's text */
    Module *m;
    Function *fn; /* f */
    char *printed;
} Fixture;

/* A module that holds the function `.entry f() {BODY}`, with its edges. */
static inline void load(Fixture *f, const char *body)
{
    memset(f, 0, sizeof *f);
    f->source =
        arena_printf(&f->arena, "%s.global .align 4 .b32 g[8];\n.func callee();\n.entry f()\n{%s}\n", PTX_HEAD, body);
    f->m = ptx_module(&f->arena, f->source);
    f->fn = ptx_function(f->m, "f");
    cfg_build(f->fn);
}

static inline void unload(Fixture *f)
{
    free(f->printed);
    module_free(f->m);
    arena_free(&f->arena);
}

/* What stands between the braces of f when it is printed. */
static inline const char *printed_body(Fixture *f, bool reprint)
{
    size_t len;
    free(f->printed);
    FILE *out = open_memstream(&f->printed, &len);
    print_function(out, f->fn, &(PrintOptions){.reprint = reprint});
    fclose(out);
    char *body = strchr(f->printed, '{') + 1;
    *strrchr(body, '}') = '\0';
    return body;
}

static inline void assert_verified(Fixture *f)
{
    const char *wrong = verify_function(f->fn, &f->arena);
    if (wrong)
        fail_msg("%s", wrong);
}

/* Ends a phase: lays out, verifies, and compares the body; the text must parse again. */
static inline void assert_body(Fixture *f, const char *expected)
{
    edit_layout(f->fn);
    assert_verified(f);
    assert_string_equal(printed_body(f, false), expected);
    assert_verified(f);
    Arena arena = {0};
    module_free(
        ptx_module(&arena, arena_printf(&arena, "%s.global .align 4 .b32 g[8];\n.func callee();\n.entry f()\n{%s}\n",
                                        PTX_HEAD, expected)));
    arena_free(&arena);
}

static inline Block *at(Fixture *f, const char *label) { return ptx_block(f->fn, label); }

static inline const OpInfo *op(Fixture *f, const char *text) { return isa_decode(f->m->isa, text, (u32)strlen(text)); }

static inline Operand reg_operand(RegId id) { return (Operand){.kind = OPND_REG, .id = id}; }

#endif
