/* --tune: the texts in which candidates are assembled. */
#include <stdlib.h>
#include <unistd.h>

#include "base/source.h"
#include "judge/tune/tune.h"
#include "judge/tune/tune_ninja.h"

TrialText *tune_new_text(Tune *tune)
{
    TrialText *text = arena_new(&tune->arena, TrialText);
    trial_init(&text->trial);
    text->candidate = arena_array(&tune->arena, u32, tune->original.groups);
    for (u32 g = 0; g < tune->original.groups; g++)
        text->candidate[g] = TUNE_NONE;
    return text;
}

void tune_set_candidate(TrialText *text, u32 group, u32 candidate)
{
    text->candidate[group] = candidate;
    text->groups++;
}

bool tune_write_text(const Tune *tune, TrialText *text)
{
    const Parts *base = &tune->base;
    Str *bodies = mem_zalloc(sizeof *bodies * base->part.n);
    bool whole = parts_are_whole(base);
    for (u32 i = 0; i < base->part.n; i++) {
        const Part *part = &base->part.v[i];
        u32 candidate = text->candidate[part->group];
        if (candidate != TUNE_NONE)
            bodies[i] = tune->group[part->group].tried.v[candidate].bodies[i];
        else if (whole || !part->is_entry)
            bodies[i] = part->body;
    }
    bool good = parts_write(base, bodies, &text->trial.text);
    mem_free(bodies);
    return good;
}

/* Fetches what ptxas has said under Ninja. */
static void fetch_said(TrialText *text, const char *path)
{
    Str said;
    if (!source_read(path, &said))
        return;
    if (scratch_open(&text->trial.error))
        (void)scratch_write(&text->trial.error, said.p, said.len);
    source_free(&said);
}

/* Fetches what Ninja has made of the text, if it has been asked. */
static void fetch_text(Tune *tune, TrialText *text)
{
    const char *folder = tune->options->tune_read;
    const char *path = ninja_name(&tune->arena, folder, &text->trial.text, "cubin");
    text->trial.read = !cubin_open(&text->trial.cubin, path);
    fetch_said(text, arena_printf(&tune->arena, "%s.log", path));
    if (access(path, R_OK) == 0)
        return;
    if (tune->asks && access(ninja_name(&tune->arena, folder, &text->trial.text, "ptx"), F_OK) != 0)
        vec_push(&tune->asked, text);
    else
        tune->missing++;
}

bool tune_has_all(const Tune *tune) { return !tune->missing && !tune->asked.n; }

void tune_assemble(Tune *tune, TrialText *const *texts, u32 count)
{
    Trial **trials = arena_array(&tune->arena, Trial *, count);
    u32 ready = 0;
    for (u32 i = 0; i < count; i++) {
        vec_push(&tune->texts, texts[i]);
        if (tune_write_text(tune, texts[i]))
            trials[ready++] = &texts[i]->trial;
    }
    if (tune->options->tune_read) {
        for (u32 i = 0; i < count; i++) {
            fetch_text(tune, texts[i]);
            tune_heed_warnings(tune, texts[i]);
        }
        return;
    }
    trials_assemble(&tune->assembler, trials, ready);
    for (u32 i = 0; i < ready; i++)
        if (trial_assembled(trials[i]))
            (void)trial_read(&tune->assembler, trials[i], "text");
    for (u32 i = 0; i < count; i++)
        tune_heed_warnings(tune, texts[i]);
}

void tune_take_cubins(Tune *tune, const TrialText *text)
{
    for (u32 g = 0; g < tune->original.groups; g++)
        if (text->candidate[g] != TUNE_NONE && text->trial.read && !text->warned)
            tune->group[g].tried.v[text->candidate[g]].cubin = &text->trial.cubin;
}

static int by_price(const void *a, const void *b)
{
    const TuneCandidate *x = a, *y = b;
    return x->price < y->price ? -1 : x->price > y->price;
}

void tune_plan_texts(Tune *tune, TrialTexts *texts)
{
    for (u32 g = 0; g < tune->original.groups; g++) {
        TuneGroup *group = &tune->group[g];
        u32 first = group->judged, count = group->tried.n - first;
        if (count)
            qsort(group->tried.v + first, count, sizeof *group->tried.v, by_price);
        for (u32 i = 0; i < count; i++) {
            if (tune->apart || i >= texts->n)
                vec_push(texts, tune_new_text(tune));
            tune_set_candidate(tune->apart ? vec_last(texts) : texts->v[i], g, first + i);
        }
    }
}

static bool is_spoiled(const TrialText *text) { return !text->trial.read || text->warned; }

void tune_assemble_apart(Tune *tune, const TrialTexts *texts)
{
    TrialTexts again = {0};
    for (u32 i = 0; i < texts->n; i++)
        for (u32 g = 0; g < tune->original.groups && texts->v[i]->groups > 1 && is_spoiled(texts->v[i]); g++)
            if (texts->v[i]->candidate[g] != TUNE_NONE && texts->v[i]->trial.in_time) {
                vec_push(&again, tune_new_text(tune));
                tune_set_candidate(vec_last(&again), g, texts->v[i]->candidate[g]);
            }
    tune_assemble(tune, again.v, again.n);
    for (u32 i = 0; i < again.n; i++)
        tune_take_cubins(tune, again.v[i]);
    vec_free(&again);
}
