/* --tune: which variants of the options are tried, and what they make of each group of functions. */
#define _GNU_SOURCE
#include <assert.h>
#include <string.h>

#include "base/fnvmap.h"
#include "judge/tune/tune.h"

enum {
    COMBINED = 4,  /* combinations that a group has in a round */
    MOST_PRICE = 8 /* times the least price: what is dearer is not tried */
};

/* The variants that are tried beside the command line's options, with --disable of each phase. Some kernel of the corpora
 * chose each of them (docs/levers.md), or it is a lever that asks nothing of the machine code. None is among them that
 * the judge cannot judge, such as one for threads of a warp in different states of a machine. */
static const char *const variants[] = {
    "-O1",
    "-O2",
    "-O3",
    "-O0",
    "--switch-lowering-density=2",
    "--layout-invert=always",
    "--stride-unroll-always",
    "--tail-merge-when=always",
    "--tail-merge-size=6",
    "--nested-cond-max-speculated=2",
    "--nested-cond-max-speculated=16",
    "--common-base-elim-wide=always",
    "--common-base-elim-wide=never",
    "--levers-min-ctas=1",
    "--levers-max-threads",
    "--levers-max-threads --levers-min-ctas=1",
    ALL_ROLLED,
    ALL_UNROLLED,
};

/* The configuration that the words make. */
static const PipelineConfig *config_of(Tune *tune, const char *words)
{
    char *copy = arena_printf(&tune->arena, "%s", words), *saved = NULL;
    Words split = {0};
    for (char *word = strtok_r(copy, " ", &saved); word; word = strtok_r(NULL, " ", &saved))
        vec_push(&split, word);
    const char *why = NULL;
    int at = 0;
    const PipelineConfig *config = options_vary(tune->options, (int)split.n, split.v, &at, &why);
    assert(config);
    vec_free(&split);
    return config;
}

VecTuned tune_plan_decisions(Tune *tune, const TunePlan *plan)
{
    VecTuned decisions = {0};
    const char *last = NULL;
    const PipelineConfig *config = NULL;
    for (u32 i = 0; i < tune->original.part.n; i++) {
        const Part *part = &tune->original.part.v[i];
        const char *words = plan->words[part->group];
        if (!words)
            continue;
        if (words != last)
            config = config_of(tune, words);
        last = words;
        vec_push(&decisions, ((Tuned){part->name, parts_hash(&tune->original, i), config, NULL}));
    }
    return decisions;
}

u64 tune_hash(const Parts *parts, u32 number)
{
    u64 hash = FNV_BASIS;
    for (u32 i = 0; i < parts->part.n; i++)
        if (parts->part.v[i].group == number)
            hash = fnv_bytes(hash, parts->part.v[i].body.p, parts->part.v[i].body.len);
    return hash;
}

void tune_add_candidate(Tune *tune, u32 number, const Parts *parts, const char *words)
{
    TuneGroup *group = &tune->group[number];
    TuneCandidate new = {.words = words, .hash = tune_hash(parts, number)};
    for (u32 i = 0; i < parts->part.n; i++)
        if (parts->part.v[i].group == number)
            new.price += parts->part.v[i].price;
    for (u32 i = 0; i < group->tried.n; i++)
        if (group->tried.v[i].hash == new.hash || new.price > MOST_PRICE *(group->tried.v[i].price + MOST_PRICE))
            return;
    new.bodies = arena_array(&tune->arena, Str, parts->part.n);
    for (u32 i = 0; i < parts->part.n; i++)
        if (parts->part.v[i].group == number) {
            Str body = parts->part.v[i].body;
            new.bodies[i] = (Str){arena_copy(&tune->arena, body.p, body.len), body.len};
        }
    vec_push(&group->tried, new);
}

void tune_make_candidates(Tune *tune, const TunePlans *plans)
{
    Options *options = arena_array(&tune->arena, Options, plans->n);
    Trial *trial = arena_array(&tune->arena, Trial, plans->n), **trials = arena_array(&tune->arena, Trial *, plans->n);
    for (u32 i = 0; i < plans->n; i++) {
        options[i] = *tune->options;
        options[i].pipeline.tuned = tune_plan_decisions(tune, &plans->v[i]);
        trial_init(&trial[i]);
        trials[i] = &trial[i];
    }
    (void)trials_optimize(&tune->assembler, trials, options, plans->n);
    for (u32 i = 0; i < plans->n; i++) {
        Parts parts = {0};
        if (trial[i].in_time && trial[i].status == 0 && parts_read(&parts, trial[i].text.path) &&
            parts.part.n == tune->original.part.n)
            for (u32 g = 0; g < tune->original.groups; g++)
                if (plans->v[i].words[g])
                    tune_add_candidate(tune, g, &parts, plans->v[i].words[g]);
        parts_free(&parts);
        vec_free(&options[i].pipeline.tuned);
        trial_end(&trial[i]);
    }
}

static void plan_all(Tune *tune, TunePlans *plans, const char *words)
{
    TunePlan plan = {arena_array(&tune->arena, const char *, tune->original.groups)};
    for (u32 g = 0; g < tune->original.groups; g++)
        plan.words[g] = words;
    vec_push(plans, plan);
}

void tune_plan_first_round(Tune *tune, TunePlans *plans)
{
    const PhaseTable *table = tune->options->pipeline.table;
    char level[] = "-O0";
    level[2] = (char)('0' + tune->options->pipeline.level);
    for (u32 v = 0; v < COUNT_OF(variants); v++)
        if (strcmp(variants[v], level) != 0)
            plan_all(tune, plans, variants[v]);
    for (u32 phase = 0; phase < table->phases; phase++)
        if (!tune->options->pipeline.disabled[phase])
            plan_all(tune, plans, arena_printf(&tune->arena, "--disable=%s", table->phase[phase].name));
}

/* Whether both set the same thing, so that one of them would have no effect. `more` is one word. */
static bool contradict(const char *words, const char *more)
{
    size_t len = strncmp(more, "-O", 2) == 0 ? 2 : strncmp(more, "--disable", 9) == 0 ? strlen(more) : strcspn(more, "=");
    for (const char *at = words; (at = strchr(at, '-')); at += strcspn(at, " "))
        if (strncmp(at, more, len) == 0)
            return true;
    return false;
}

/* The combinations of a group's best candidate with other good ones that have not been tried, of the first `from` ones. */
static u32 combine(Tune *tune, const TuneGroup *group, u32 from, const char **words)
{
    const char *best = group->tried.v[group->best].words;
    u32 count = 0;
    for (u32 i = 1; i < from && count < COMBINED && group->best; i++) {
        const TuneCandidate *other = &group->tried.v[i];
        if (other->better && i != group->best && strcmp(best, "-O0") != 0 && strcmp(other->words, "-O0") != 0 &&
            !strchr(other->words, ' ') && !contradict(best, other->words))
            words[count++] = arena_printf(&tune->arena, "%s %s", best, other->words);
    }
    return count;
}

void tune_plan_next_round(Tune *tune, TunePlans *plans, const u32 *old_best, bool pulls_levers)
{
    const char *words[COMBINED + TUNE_LEVERS];
    for (u32 g = 0; g < tune->original.groups; g++) {
        const TuneGroup *group = &tune->group[g];
        u32 count = group->best == old_best[g] ? 0 : combine(tune, group, group->judged, words);
        if (pulls_levers)
            count += tune_choose_levers(tune, g, words + count);
        while (plans->n < count)
            plan_all(tune, plans, NULL);
        for (u32 k = 0; k < count; k++)
            plans->v[k].words[g] = words[k];
    }
}
