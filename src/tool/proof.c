#include "tool/proof.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/remarks.h"
#include "tool/proof_text.h"
#include "version.h"

typedef struct Proof {
    const Options *options;
    Module *m;
    Stats *stats;
    const ProofSteps *steps; /* NULL: only input and output are compared */
    RemarkWriter remarks;
    bool wants_remarks;
    Str after_text;
    FILE *bug_report; /* of refutations; NULL: none yet */
} Proof;

/* ---- what is said of a function -------------------------------------------------------------------------------------------- */

/* Beside the output; where that is no file, in the current folder. */
static void path_of_report(const Options *options, char *path, size_t size)
{
    const char *base = strrchr(options->input, '/');
    base = base ? base + 1 : options->input;
    if (strcmp(options->output, "-") != 0 && strncmp(options->output, "/dev/", 5) != 0)
        base = options->output;
    snprintf(path, size, "%s.refuted", strcmp(base, "-") == 0 ? "ptxopt" : base);
}

/* Everything that somebody needs who looks for the fault: version, command line, verdicts, both texts. */
static void begin_bug_report(Proof *p)
{
    char path[4096];
    path_of_report(p->options, path, sizeof path);
    p->bug_report = fopen(path, "we");
    if (!p->bug_report) {
        fprintf(stderr, "ptxopt: a wrong rewrite was found, and '%s' cannot be written\n", path);
        return;
    }
    fprintf(stderr, "ptxopt: a wrong rewrite was found: please report it with '%s'\n", path);
    fprintf(p->bug_report, "// ptxopt " PTXOPT_VERSION " (commit " PTXOPT_COMMIT
                           ") made a wrong rewrite, as --prove shows.\n// Command line:");
    for (int k = 0; k < p->options->argc; k++)
        fprintf(p->bug_report, " '%s'", p->options->argv[k]);
    fprintf(p->bug_report,
            "\n// To see it, put what stands below each line of dashes into a file: ptxopt-prove BEFORE.ptx AFTER.ptx\n");
}

static void write_bug_report(Proof *p, const Function *fn, const ProveVerdict *v)
{
    if (!p->bug_report)
        begin_bug_report(p);
    if (p->bug_report)
        fprintf(p->bug_report, "// %s: refuted: %s\n", fn->name->text, v->why);
}

static void end_bug_report(Proof *p)
{
    if (!p->bug_report)
        return;
    fprintf(p->bug_report, "// ---- BEFORE\n%.*s\n// ---- AFTER\n%.*s\n", (int)p->m->text.len, p->m->text.p,
            (int)p->after_text.len, p->after_text.p);
    fclose(p->bug_report);
}

static void take_verdict(Proof *p, Function *fn, const ProveVerdict *v)
{
    static const char *const word[] = {[PROVE_PROVED] = "proved", [PROVE_UNKNOWN] = "unknown", [PROVE_REFUTED] = "refuted"};
    bool reverts = v->answer != PROVE_PROVED &&
                   (p->options->prove == PROVING_STRICT ||
                    (p->options->prove == PROVING_REVERT && (v->answer == PROVE_REFUTED || v->is_suspect)));
    char *text = arena_printf(p->m->arena, "%s%s%s", word[v->answer], v->answer == PROVE_PROVED ? "" : ": ", v->why);
    if (p->wants_remarks)
        remarks_write(&p->remarks, v->answer == PROVE_PROVED ? REMARK_PASSED : REMARK_MISSED, "prove",
                      v->answer == PROVE_PROVED ? "Proved" : "Unproved", fn, (Span){0, 0}, text);
    if (v->answer != PROVE_PROVED)
        fprintf(stderr, "ptxopt: function '%s' is not proved: %s%s\n", fn->name->text, text,
                reverts ? "; it stays as it was" : "");
    p->stats->proof[v->answer]++;
    if (v->answer == PROVE_REFUTED)
        write_bug_report(p, fn, v);
    if (reverts) {
        fn->changed = false;
        p->stats->changed--;
        p->stats->reverted++;
    }
}

/* From the first text to the last one. Where that is not proved, the steps may be: then all of it is, and one that is refuted
 * tells more than the whole that is unknown. */
static ProveVerdict prove_changed(const Proof *p, u32 k, const Reading *before, const Reading *after)
{
    ProveOptions options = {.solver = p->options->solver,
                            .solver_ms = PROOF_SOLVER_MS,
                            .assume_in_bounds = p->options->pipeline.knobs.assume_in_bounds};
    ProveVerdict v = {.answer = PROVE_UNKNOWN, .why = "the printed text does not parse", .is_suspect = true};
    Function *f = same_function(p->m, before, k), *g = same_function(p->m, after, k);
    if (!f || !g)
        return v;
    v = prove_function(f, g, &options, p->m->arena);
    const ProveVerdict *steps = p->steps && v.answer == PROVE_UNKNOWN ? proof_steps_verdict(p->steps, k, g) : NULL;
    return steps && steps->answer != PROVE_UNKNOWN ? *steps : v;
}

static void prove_functions(Proof *p, const Reading *before, const Reading *after)
{
    for (u32 k = 0; k < p->m->functions.n; k++) {
        Function *fn = p->m->functions.v[k];
        if (!fn->changed || !fn->is_definition)
            continue;
        ProveVerdict v = prove_changed(p, k, before, after);
        take_verdict(p, fn, &v);
    }
}

void tool_prove(const Options *options, Module *m, const ProofSteps *steps, Diag *diag, FILE *remarks, Stats *stats)
{
    Proof p = {.options = options, .m = m, .stats = stats, .steps = steps, .wants_remarks = remarks != NULL};
    Reading before, after;
    char *text = print_text(options, m, &p.after_text);
    stats->proves = true;
    if (!text)
        return;
    remarks_init(&p.remarks, remarks, diag);
    reading_init(&before, "before.ptx", m->text);
    reading_init(&after, "after.ptx", p.after_text);
    prove_functions(&p, &before, &after);
    end_bug_report(&p);
    reading_free(&before);
    reading_free(&after);
    remarks_free(&p.remarks);
    free(text);
}
