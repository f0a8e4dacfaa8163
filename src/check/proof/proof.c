#include "check/proof/proof.h"

#include <stdlib.h>
#include <string.h>

#include "check/proof/proof_steps.h"
#include "check/proof/proof_threads.h"
#include "base/graph.h"
#include "base/bitset.h"
#include "pipeline/remarks.h"
#include "version.h"

enum { ROUNDS_MAX = 4 /* of asking again because callees went back */ };

typedef struct Proof {
    const Options *options;
    Module *m;
    Stats *stats;
    ProofSteps steps;     /* with --prove-each */
    ProofThreads threads; /* with --verify-each */
    RemarkWriter remarks;
    bool wants_remarks;
    FILE *bug_report; /* of refutations; NULL: none yet */
    char *after;      /* the text with everything that changed */
    u32 after_len;
    Graph callers;         /* by SymId */
    BitSet asked;          /* by index of the function: those that are printed anew */
    BitSet calls_changed;  /* by SymId: who calls one of those, through others or not */
    ProveVerdict *verdict; /* by index of the function */
} Proof;

/* ---- what is said of a function -------------------------------------------------------------------------------------------- */

/* Beside the output; where that is no file, in the current folder. */
static void path_of_report(const Options *options, char *path, size_t size)
{
    const char *input = options->input_name ? options->input_name : options->input;
    const char *base = strrchr(input, '/');
    base = base ? base + 1 : input;
    if (strcmp(options->output, "-") != 0 && strncmp(options->output, "/dev/", 5) != 0)
        base = options->output;
    snprintf(path, size, "%s.refuted", strcmp(base, "-") == 0 || strcmp(base, "<stdin>") == 0 ? "ptxopt" : base);
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
            (int)p->after_len, p->after);
    fclose(p->bug_report);
}

/* Its bytes may be others than those that came in. */
static bool prints_anew(const Proof *p, const Function *fn)
{
    return print_is_anew(fn, &(PrintOptions){.reprint = p->options->pipeline.reprint});
}

static bool goes_back(const Proof *p, const ProveVerdict *v)
{
    if (p->options->prove == PROVING_STRICT)
        return v->answer != PROVE_PROVED;
    return p->options->prove == PROVING_REVERT && (v->answer == PROVE_REFUTED || v->is_suspect);
}

static void say_verdict(Proof *p, Function *fn, const ProveVerdict *v)
{
    char *text =
        arena_printf(p->m->arena, "%s%s%s", prove_answer_name(v->answer), v->answer == PROVE_PROVED ? "" : ": ", v->why);
    Remark remark = {v->answer == PROVE_PROVED ? REMARK_PASSED : REMARK_MISSED, "prove",
                     v->answer == PROVE_PROVED ? "Proved" : "Unproved", .message = text};
    if (p->wants_remarks)
        remarks_write(&p->remarks, remark, fn, (Span){0, 0});
    if (v->answer != PROVE_PROVED)
        fprintf(stderr, "ptxopt: function '%s' is not proved: %s%s\n", fn->name->text, text,
                goes_back(p, v) ? "; it stays as it was" : "");
    p->stats->proof[v->answer]++;
    if (v->answer == PROVE_REFUTED)
        write_bug_report(p, fn, v);
}

/* ---- who calls whom ---------------------------------------------------------------------------------------------------------- */

static Graph find_callers(const Module *m)
{
    VecU32 from = {0}, to = {0};
    for (u32 k = 0; k < m->functions.n; k++)
        for_each_block(b, m->functions.v[k])
            for_each_instr(i, b)
                if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL) && call_callee(i)) {
                    vec_push(&from, call_callee(i));
                    vec_push(&to, m->functions.v[k]->sym);
                }
    Graph callers = graph_from_edges(m->arena, m->syms.n, from.v, to.v, from.n);
    vec_free(&from);
    vec_free(&to);
    return callers;
}

/* Adds whoever calls one of the set, through others or not, to the set. */
static void add_callers(const Graph *callers, BitSet *of)
{
    VecU32 work = {0};
    for_each_bit(sym, of)
        vec_push(&work, sym);
    graph_spread(callers, &work, of);
}

/* ---- proofs --------------------------------------------------------------------------------------------------------------------- */

/* The verdict on function k from the first text to the last one; where that is unknown, from its steps. Steps that were proved
 * with what callees did at that time do not prove the whole, and a refuted step refutes it. */
static ProveVerdict prove_changed(const Proof *p, u32 k, const ProofTexts *texts)
{
    ProveVerdict v = proof_of_texts(p->options, p->m, k, texts, false);
    const ProveVerdict *steps =
        p->options->prove_each && v.answer == PROVE_UNKNOWN ? proof_steps_verdict(&p->steps, k, texts->after) : NULL;
    bool counts = steps && (steps->answer == PROVE_REFUTED ||
                            (steps->answer == PROVE_PROVED && !bitset_has(&p->calls_changed, p->m->functions.v[k]->sym)));
    return counts ? *steps : v;
}

/* Those of the set of SymIds that are still printed anew. The text is kept where none was kept before. */
static void prove_functions(Proof *p, const Reading *before, const BitSet *of)
{
    Reading after;
    Str text;
    char *made = proof_print(p->options, p->m, &text);
    if (!made)
        return;
    reading_init(&after, "after.ptx", text, parse_module, NULL);
    ProofTexts texts = proof_texts(before, &after, &after.arena);
    const char *outside = after.diag.errors ? NULL : prove_differs_outside(before->module, after.module);
    for (u32 k = 0; k < p->m->functions.n; k++)
        if (prints_anew(p, p->m->functions.v[k]) && bitset_has(of, p->m->functions.v[k]->sym))
            p->verdict[k] = outside ? (ProveVerdict){.answer = PROVE_UNKNOWN, .why = outside, .is_suspect = true}
                                    : prove_changed(p, k, &texts);
    reading_free(&after);
    if (p->after) {
        free(made);
    } else {
        p->after = made;
        p->after_len = text.len;
    }
}

/* The set becomes that of the functions that go back now, by SymId; false: there are none. */
static bool send_back(Proof *p, BitSet *back)
{
    bool any = false;
    bitset_clear(back);
    for_each_bit(k, &p->asked) {
        Function *fn = p->m->functions.v[k];
        if (!prints_anew(p, fn) || !goes_back(p, &p->verdict[k]))
            continue;
        any = true;
        p->stats->changed -= fn->changed;
        p->stats->reverted++;
        fn->changed = false;
        fn->verbatim = true; /* even with --reprint */
        bitset_add(back, fn->sym);
    }
    return any;
}

/* Until they are asked about again. */
static void doubt(Proof *p, const BitSet *of)
{
    for_each_bit(k, &p->asked)
        if (prints_anew(p, p->m->functions.v[k]) && bitset_has(of, p->m->functions.v[k]->sym))
            p->verdict[k] = (ProveVerdict){
                .answer = PROVE_UNKNOWN, .why = "a function that it calls stays as it was", .is_suspect = true};
}

/* A proof takes a callee as AFTER has it. Where that goes back, its callers are asked about again, and go back as well if that does
 * not come to an end. */
static void prove_until_settled(Proof *p, const Reading *before, BitSet *changed)
{
    prove_functions(p, before, changed);
    for (u32 round = 0; send_back(p, changed); round++) {
        add_callers(&p->callers, changed);
        doubt(p, changed);
        if (round < ROUNDS_MAX)
            prove_functions(p, before, changed);
    }
}

/* The functions that are printed anew, by SymId. */
static BitSet find_changed(Proof *p)
{
    const Module *m = p->m;
    BitSet changed = bitset_new(m->arena, m->syms.n), above = bitset_new(m->arena, m->syms.n);
    p->callers = find_callers(m);
    p->calls_changed = bitset_new(m->arena, m->syms.n);
    p->asked = bitset_new(m->arena, m->functions.n);
    p->verdict = arena_array(m->arena, ProveVerdict, m->functions.n);
    for (u32 k = 0; k < m->functions.n; k++)
        if (prints_anew(p, m->functions.v[k])) {
            bitset_add(&p->asked, k);
            bitset_add(&changed, m->functions.v[k]->sym);
            p->verdict[k] = proof_unread;
        }
    bitset_copy(&above, &changed);
    add_callers(&p->callers, &above);
    for_each_bit(sym, &above)
        for_each_edge(e, &p->callers, sym)
            bitset_add(&p->calls_changed, p->callers.to[e]);
    return changed;
}

static void prove_module(Proof *p, Diag *diag, FILE *remarks)
{
    Reading before;
    p->wants_remarks = remarks != NULL;
    BitSet changed = find_changed(p);
    p->stats->proves = true;
    remarks_init(&p->remarks, remarks, diag);
    reading_init(&before, "before.ptx", p->m->text, parse_module, NULL);
    prove_until_settled(p, &before, &changed);
    for_each_bit(k, &p->asked)
        say_verdict(p, p->m->functions.v[k], &p->verdict[k]);
    end_bug_report(p);
    reading_free(&before);
    remarks_free(&p->remarks);
    free(p->after);
}

static void *begin_proof(const Options *options, Module *m, Stats *stats, PipelineConfig *config)
{
    Proof *p = arena_new(m->arena, Proof);
    *p = (Proof){.options = options, .m = m, .stats = stats};
    if (options->prove_each) {
        proof_steps_init(&p->steps, options, m, stats);
        config->after_step = proof_steps_take;
        config->user = &p->steps;
    }
    if (options->pipeline.verify_each)
        proof_threads_init(&p->threads, options, m, config);
    return p;
}

static void end_proof(void *proof, bool good, Diag *diag, FILE *remarks)
{
    Proof *p = proof;
    if (good && p->options->prove != PROVING_NOT)
        prove_module(p, diag, remarks);
    if (p->options->prove_each)
        proof_steps_free(&p->steps);
    if (p->options->pipeline.verify_each)
        proof_threads_free(&p->threads);
}

ToolStatus proof_optimize_file(const Options *options)
{
    static const Validator validator = {begin_proof, end_proof};
    if (options->solver && !prove_solver_is_there(options->solver)) {
        fprintf(stderr, "ptxopt: error: --solver: '%s' cannot be found\n", options->solver);
        return TOOL_BAD_INPUT;
    }
    return optimize_file(options, &validator);
}
