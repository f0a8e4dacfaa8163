#include "ask.h"

#include "base/diag.h"
#include "parse/parse.h"

typedef struct Parsed {
    Arena arena;
    Module *module;
    u32 errors;
} Parsed;

static void parse(Parsed *p, const Text *t, FILE *messages)
{
    Str text = {t->v, t->n};
    Diag diag;
    diag_init(&diag, messages, "x.ptx", text);
    p->module = parse_module(&p->arena, "x.ptx", text, &diag);
    p->errors = diag.errors;
    diag_free(&diag);
}

static void note(void *user, const char *name, const ProveVerdict *v)
{
    Text *said = user;
    if (said && v->answer != PROVE_PROVED)
        text_printf(said, "%s: %s: %s\n", name, v->answer == PROVE_REFUTED ? "refuted" : "unknown", v->why);
}

ProveAnswer ask_prover(const ProveOptions *options, const Text *before, const Text *after, Text *said)
{
    ProveAnswer answer = PROVE_UNKNOWN;
    Parsed p[2] = {{.errors = 0}, {.errors = 0}};
    FILE *nowhere = fopen("/dev/null", "w");
    parse(&p[0], before, nowhere);
    parse(&p[1], after, nowhere);
    if (!p[0].errors && !p[1].errors)
        answer = prove_modules(p[0].module, p[1].module, options, note, said);
    for (u32 k = 0; k < 2; k++) {
        module_free(p[k].module);
        arena_free(&p[k].arena);
    }
    fclose(nowhere);
    return answer;
}
