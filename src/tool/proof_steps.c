#include "tool/proof_steps.h"

#include <stdlib.h>
#include <string.h>

#include "tool/proof.h"
#include "tool/proof_text.h"

void proof_steps_init(ProofSteps *s, const Options *options, Module *m, Stats *stats)
{
    stats->proves_steps = true;
    *s = (ProofSteps){
        .options = options, .m = m, .stats = stats, .of = arena_array(m->arena, FunctionSteps, m->functions.n)};
}

void proof_steps_free(ProofSteps *s)
{
    for (u32 k = 0; k < s->m->functions.n; k++)
        free(s->of[k].text);
}

static u32 index_of(const Module *m, const Function *fn)
{
    for (u32 k = 0; k < m->functions.n; k++)
        if (m->functions.v[k] == fn)
            return k;
    return 0;
}

static ProveVerdict prove_step(const ProofSteps *s, u32 k, Str before, Str after)
{
    Reading text[2];
    ProveVerdict v = {.answer = PROVE_UNKNOWN, .why = "the printed text does not parse", .is_suspect = true};
    ProveOptions options = {.solver = s->options->solver,
                            .solver_ms = PROOF_SOLVER_MS,
                            .assume_in_bounds = s->options->pipeline.knobs.assume_in_bounds};
    reading_init(&text[0], "before.ptx", before, parse_module, NULL);
    reading_init(&text[1], "after.ptx", after, parse_module, NULL);
    Function *f = same_function(s->m, &text[0], k), *g = same_function(s->m, &text[1], k);
    if (f && g)
        v = prove_function(f, g, &options, s->m->arena);
    reading_free(&text[0]);
    reading_free(&text[1]);
    return v;
}

static void say(const Function *fn, const char *phase, const ProveVerdict *v)
{
    if (v->answer != PROVE_PROVED)
        fprintf(stderr, "ptxopt: function '%s' is not proved after %s: %s: %s\n", fn->name->text, phase,
                v->answer == PROVE_REFUTED ? "refuted" : "unknown", v->why);
}

void proof_steps_take(void *user, Function *fn, const char *phase)
{
    ProofSteps *s = user;
    Str after;
    u32 k = index_of(s->m, fn);
    FunctionSteps *steps = &s->of[k];
    char *text = print_text(s->options, s->m, &after);
    if (!text)
        return;
    ProveVerdict v = prove_step(s, k, steps->text ? (Str){steps->text, steps->len} : s->m->text, after);
    say(fn, phase, &v);
    v.why = arena_printf(s->m->arena, "after %s: %s", phase, v.why);
    s->stats->step_proof[v.answer]++;
    if (v.answer > steps->worst.answer)
        steps->worst = v;
    free(steps->text);
    steps->text = text;
    steps->len = after.len;
}

const ProveVerdict *proof_steps_verdict(const ProofSteps *s, u32 k, const Function *printed)
{
    const FunctionSteps *steps = &s->of[k];
    Reading last;
    if (!steps->text)
        return NULL;
    reading_init(&last, "after.ptx", (Str){steps->text, steps->len}, parse_module, NULL);
    const Function *fn = same_function(s->m, &last, k);
    Str a = fn ? span_str(last.module, fn->text) : (Str){"", 0}, b = span_str(printed->module, printed->text);
    bool same = a.len > 0 && str_equal(a, b);
    reading_free(&last);
    return same ? &steps->worst : NULL;
}
