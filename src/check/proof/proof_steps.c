#include "check/proof/proof_steps.h"

#include <stdlib.h>
#include <string.h>

enum { SOLVER_MS = 10000 }; /* for each function */

/* ---- texts of a module, printed and read again ------------------------------------------------------------------- */

const ProveVerdict proof_unread = {.answer = PROVE_UNKNOWN, .why = "the printed text does not parse", .is_suspect = true};

char *proof_print(const Options *options, Module *m, Str *text)
{
    PrintOptions print = {.reprint = options->pipeline.reprint};
    char *made = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&made, &len);
    if (!out)
        return NULL;
    print_module(out, m, &print);
    bool whole = !ferror(out); /* memory may have run out in between */
    if (fclose(out) != 0 || !whole) {
        free(made);
        return NULL;
    }
    *text = (Str){made, (u32)len};
    return made;
}

/* The definition that stands where function k of m does, and has its name; NULL: there is none. */
static Function *same_function(const Module *m, const Reading *other, u32 k)
{
    if (other->diag.errors || k >= other->module->functions.n)
        return NULL;
    const Function *fn = m->functions.v[k];
    Function *found = other->module->functions.v[k];
    return found->is_definition && fn->is_definition && strcmp(found->name->text, fn->name->text) == 0 ? found : NULL;
}

ProofTexts proof_texts(const Reading *before, const Reading *after, Arena *arena)
{
    bool are_read = !before->diag.errors && !after->diag.errors;
    return (ProofTexts){before, after, are_read ? prove_callees(arena, before->module, after->module) : NULL};
}

ProveVerdict proof_of_texts(const Options *options, const Module *m, u32 k, const ProofTexts *texts, bool threads_alone)
{
    ProveOptions prove = {.solver = options->solver,
                          .solver_ms = SOLVER_MS,
                          .assume_in_bounds = options->pipeline.knobs.assume_in_bounds,
                          .threads_alone = threads_alone};
    Function *f = same_function(m, texts->before, k), *g = same_function(m, texts->after, k);
    return f && g ? prove_function(f, g, texts->callees, &prove, m->arena) : proof_unread;
}

static u32 index_of(const Module *m, const Function *fn)
{
    for (u32 k = 0; k < m->functions.n; k++)
        if (m->functions.v[k] == fn)
            return k;
    return 0;
}

ProveVerdict proof_of_step(const Options *options, const Module *m, const Function *fn, Str before, Str after,
                           bool threads_alone)
{
    Reading text[2];
    reading_init(&text[0], "before.ptx", before, parse_module, NULL);
    reading_init(&text[1], "after.ptx", after, parse_module, NULL);
    ProofTexts texts = proof_texts(&text[0], &text[1], &text[1].arena);
    ProveVerdict v = proof_of_texts(options, m, index_of(m, fn), &texts, threads_alone);
    reading_free(&text[0]);
    reading_free(&text[1]);
    return v;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

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

static void say(const Function *fn, const char *phase, const ProveVerdict *v)
{
    if (v->answer != PROVE_PROVED)
        fprintf(stderr, "ptxopt: function '%s' is not proved after %s: %s: %s\n", fn->name->text, phase,
                prove_answer_name(v->answer), v->why);
}

void proof_steps_take(void *user, Function *fn, const char *phase)
{
    ProofSteps *s = user;
    Str after;
    FunctionSteps *steps = &s->of[index_of(s->m, fn)];
    char *text = proof_print(s->options, s->m, &after);
    if (!text)
        return;
    Str before = steps->text ? (Str){steps->text, steps->len} : s->m->text;
    ProveVerdict v = proof_of_step(s->options, s->m, fn, before, after, false);
    say(fn, phase, &v);
    v.why = arena_printf(s->m->arena, "after %s: %s", phase, v.why);
    s->stats->step_proof[v.answer]++;
    if (v.answer > steps->worst.answer)
        steps->worst = v;
    free(steps->text);
    steps->text = text;
    steps->len = after.len;
}

const ProveVerdict *proof_steps_verdict(const ProofSteps *s, u32 k, const Reading *printed)
{
    const FunctionSteps *steps = &s->of[k];
    Reading last;
    if (!steps->text)
        return NULL;
    reading_init(&last, "after.ptx", (Str){steps->text, steps->len}, parse_module, NULL);
    const Function *f = same_function(s->m, &last, k), *g = same_function(s->m, printed, k);
    bool same = f && g && str_equal(span_str(last.module, f->text), span_str(printed->module, g->text));
    reading_free(&last);
    return same ? &steps->worst : NULL;
}
