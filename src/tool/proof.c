#include "tool/proof.h"

#include <stdlib.h>
#include <string.h>

#include "parse/parse.h"
#include "pipeline/remarks.h"
#include "prove/prove.h"

enum { SOLVER_MS = 10000 }; /* for each function */

typedef struct Reading {
    Arena arena;
    Diag diag;
    FILE *messages;
    char *said;
    size_t said_len;
    Module *module; /* NULL: the text does not parse */
} Reading;

typedef struct Proof {
    const Options *options;
    Module *m;
    Stats *stats;
    RemarkWriter remarks;
    bool wants_remarks;
    Str after_text;
    FILE *bug_report; /* of refutations; NULL: none yet */
} Proof;

/* ---- the text that would be printed --------------------------------------------------------------------------------------- */

static void read_text(Reading *r, const char *file, Str text)
{
    *r = (Reading){0};
    r->messages = open_memstream(&r->said, &r->said_len);
    diag_init(&r->diag, r->messages, file, text);
    r->module = parse_module(&r->arena, file, text, &r->diag);
}

static void read_done(Reading *r)
{
    module_free(r->module);
    diag_free(&r->diag);
    fclose(r->messages);
    free(r->said);
    arena_free(&r->arena);
}

/* NUL-terminated, to be freed; NULL where there is no memory for it. */
static char *print_text(const Options *options, Module *m, Str *text)
{
    PrintOptions print = {.reprint = options->pipeline.reprint};
    char *made = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&made, &len);
    if (!out)
        return NULL;
    print_module(out, m, &print);
    fclose(out);
    *text = (Str){made, (u32)len};
    return made;
}

/* ---- what is said of a function -------------------------------------------------------------------------------------------- */

/* Everything that somebody needs who looks for the fault: versions, verdict, both texts. */
static void write_bug_report(Proof *p, const Function *fn, const ProveVerdict *v)
{
    char path[4096];
    if (!p->bug_report) {
        bool piped = strcmp(p->options->output, "-") == 0;
        snprintf(path, sizeof path, "%s.refuted", piped ? "ptxopt" : p->options->output);
        p->bug_report = fopen(path, "we");
        if (!p->bug_report)
            return;
        fprintf(stderr, "ptxopt: a wrong rewrite was found: please report it with '%s'\n", path);
        fprintf(p->bug_report, "ptxopt made a wrong rewrite of this module at -O%u, as --prove shows.\n", p->options->pipeline.level);
    }
    fprintf(p->bug_report, "\n%s: refuted: %s\n", fn->name->text, v->why);
}

static void end_bug_report(Proof *p)
{
    if (!p->bug_report)
        return;
    fprintf(p->bug_report, "\n---- before\n%.*s\n---- after\n%.*s\n", (int)p->m->text.len, p->m->text.p, (int)p->after_text.len,
        p->after_text.p);
    fclose(p->bug_report);
}

static void take_verdict(Proof *p, Function *fn, const ProveVerdict *v)
{
    static const char *const word[] = {[PROVE_PROVED] = "proved", [PROVE_UNKNOWN] = "unknown", [PROVE_REFUTED] = "refuted"};
    bool reverts = v->answer != PROVE_PROVED && (p->options->prove == PROVING_STRICT ||
        (p->options->prove == PROVING_REVERT && (v->answer == PROVE_REFUTED || v->is_suspect)));
    char *text = arena_printf(p->m->arena, "%s%s%s", word[v->answer], v->answer == PROVE_PROVED ? "" : ": ", v->why);
    if (p->wants_remarks)
        remarks_write(&p->remarks, v->answer == PROVE_PROVED ? REMARK_PASSED : REMARK_MISSED, "prove",
            v->answer == PROVE_PROVED ? "Proved" : "Unproved", fn, (Span){0, 0}, text);
    if (v->answer != PROVE_PROVED)
        fprintf(stderr, "ptxopt: function '%s' is not proved: %s%s\n", fn->name->text, text, reverts ? "; it stays as it was" : "");
    p->stats->proof[v->answer]++;
    if (v->answer == PROVE_REFUTED)
        write_bug_report(p, fn, v);
    if (reverts) {
        fn->changed = false;
        p->stats->changed--;
        p->stats->reverted++;
    }
}

static Function *same_function(const Module *m, const Module *other, u32 k)
{
    if (k >= other->functions.n)
        return NULL;
    const Function *fn = m->functions.v[k];
    Function *found = other->functions.v[k];
    return found->is_definition == fn->is_definition && strcmp(found->name->text, fn->name->text) == 0 ? found : NULL;
}

static void prove_functions(Proof *p, const Module *before, const Module *after)
{
    ProveOptions options = {.solver = p->options->solver, .solver_ms = SOLVER_MS};
    for (u32 k = 0; k < p->m->functions.n; k++) {
        Function *fn = p->m->functions.v[k];
        if (!fn->changed || !fn->is_definition)
            continue;
        ProveVerdict v = {.answer = PROVE_UNKNOWN, .why = "the printed text does not parse"};
        Function *f = before ? same_function(p->m, before, k) : NULL, *g = after ? same_function(p->m, after, k) : NULL;
        if (f && g)
            v = prove_function(f, g, &options, p->m->arena);
        take_verdict(p, fn, &v);
    }
}

void tool_prove(const Options *options, Module *m, Diag *diag, FILE *remarks, Stats *stats)
{
    Proof p = {.options = options, .m = m, .stats = stats, .wants_remarks = remarks != NULL};
    Reading before, after;
    char *text = print_text(options, m, &p.after_text);
    stats->proves = true;
    if (!text)
        return;
    remarks_init(&p.remarks, remarks, diag);
    read_text(&before, "before.ptx", m->text);
    read_text(&after, "after.ptx", p.after_text);
    prove_functions(&p, before.diag.errors ? NULL : before.module, after.diag.errors ? NULL : after.module);
    end_bug_report(&p);
    read_done(&before);
    read_done(&after);
    remarks_free(&p.remarks);
    free(text);
}
