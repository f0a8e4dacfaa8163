/* A function with analyses of it: from PTX text, where it is named f, or put together by the test. Include after cmocka.h. */
#ifndef PTXOPT_TESTS_ANALYSED_H
#define PTXOPT_TESTS_ANALYSED_H

#include "analysis/analyses.h"
#include "ptx_text.h"

typedef struct Fixture {
    Arena arena;
    Module *m;
    Function *fn;
    Analyses an;
} Fixture;

/* bits: the analyses that are wanted. The text must stay until unload. */
static inline void load_with(Fixture *f, const char *text, u32 bits)
{
    memset(f, 0, sizeof *f);
    f->m = ptx_module(&f->arena, text);
    f->fn = ptx_function(f->m, "f");
    analyses_init(&f->an, f->fn);
    an_compute(&f->an, bits);
}

static inline void unload(Fixture *f)
{
    analyses_free(&f->an);
    module_free(f->m);
    arena_free(&f->arena);
}

#endif
