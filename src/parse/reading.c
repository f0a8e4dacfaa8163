#include "parse/reading.h"

enum { ERRORS_SHOWN = 20 };

bool reading_init(Reading *r, const char *file, Str text, ParseFn *parse, FILE *messages)
{
    *r = (Reading){.module = NULL};
    diag_init(&r->diag, messages, file, text);
    r->diag.error_limit = ERRORS_SHOWN;
    r->module = parse(&r->arena, file, text, &r->diag);
    return r->diag.errors == 0;
}

void reading_free(Reading *r)
{
    if (r->module)
        module_free(r->module);
    diag_free(&r->diag);
    arena_free(&r->arena);
}
