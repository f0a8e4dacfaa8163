/* --tune: variants of the options are tried on every kernel, ptxas assembles what differs, and the best one is kept. A
 * round makes the texts of all variants. It takes the bodies that are new of each group of functions that may call one
 * another, has them assembled, and judges (machine/worse.h). A variant is no choice if it is worse by any rule than what
 * the command line makes. Nor is it if it is worse than the untouched text, unless the command line's is, too. The best of
 * the others is taken. The next round combines it with other variants that were better. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check/proof/proof.h"
#include "pipeline/tuned.h"
#include "judge/tune/tune.h"
#include "judge/tune/tune_ninja.h"

enum { MOST_ROUNDS = 3 };

/* ---- judging ------------------------------------------------------------------------------------------------------ */

/* Whether every function of the group is no worse in `after`; `gain` adds up worse_order. */
static bool compare(const Tune *tune, u32 number, const Cubin *before, const Cubin *after, int *gain)
{
    bool worse = false, lost = false, won = false;
    for (u32 i = 0; i < tune->base.part.n; i++) {
        const Part *part = &tune->base.part.v[i];
        Judgement forth, back;
        if (part->group != number || (!part->is_entry && !worse_judge_function(&forth, before, before, part->name)))
            continue; /* a function inside of its callers */
        if (!worse_judge_function(&forth, before, after, part->name) ||
            !worse_judge_function(&back, after, before, part->name))
            return false;
        int order = worse_order(&forth, &back);
        worse |= forth.worse != 0;
        lost |= order < 0;
        won |= order > 0;
    }
    *gain = lost ? -1 : won;
    return !worse;
}

/* The machine code of the untouched text; NULL: it was not tried, or is what the command line's options make. */
static const Cubin *untouched(const Tune *tune, u32 number)
{
    const TuneGroup *group = &tune->group[number];
    u64 hash = tune_hash(&tune->original, number);
    for (u32 i = 1; i < group->tried.n; i++)
        if (group->tried.v[i].hash == hash)
            return group->tried.v[i].cubin;
    return NULL;
}

/* Whether ptxas spills in a function of the group, and then spills more. */
static bool spills_more(const Tune *tune, u32 number, const Cubin *before, const Cubin *after)
{
    bool more = false;
    for (u32 i = 0; i < tune->base.part.n; i++) {
        Judgement j;
        const Part *part = &tune->base.part.v[i];
        more |= part->group == number && worse_judge_function(&j, before, after, part->name) && j.moved.spilled[0] > 0 &&
                j.moved.spilled[1] > j.moved.spilled[0];
    }
    return more;
}

/* Whether a candidate is better than what the command line's options make, which is `base`. Where ptxas spills already, no lever may buy
 * warps with more spills: what these cost in memory is not estimated. */
static bool is_better(const Tune *tune, u32 number, const TuneCandidate *candidate, const Cubin *base)
{
    int gain = 0;
    return candidate->cubin && compare(tune, number, base, candidate->cubin, &gain) && gain > 0 &&
           !(tune_has_lever(candidate->words) && spills_more(tune, number, base, candidate->cubin));
}

static void judge_group(Tune *tune, u32 number)
{
    TuneGroup *group = &tune->group[number];
    const Cubin *base = group->tried.v[0].cubin, *input = untouched(tune, number);
    int ignored;
    if (input && base && !compare(tune, number, input, base, &ignored))
        input = NULL; /* what the command line makes is worse itself */
    for (u32 i = group->judged; i < group->tried.n && base; i++) {
        TuneCandidate *candidate = &group->tried.v[i];
        int gain = 0;
        candidate->better = is_better(tune, number, candidate, base) &&
                            (!input || compare(tune, number, input, candidate->cubin, &ignored));
        if (!candidate->better)
            continue;
        (void)compare(tune, number, group->tried.v[group->best].cubin, candidate->cubin, &gain);
        if (gain > 0)
            group->best = i;
    }
    group->judged = group->tried.n;
}

static void judge_round(Tune *tune)
{
    TrialTexts texts = {0};
    tune_plan_texts(tune, &texts);
    tune_assemble(tune, texts.v, texts.n);
    for (u32 i = 0; i < texts.n; i++)
        tune_take_cubins(tune, texts.v[i]);
    if (!tune->options->tune_read)
        tune_assemble_apart(tune, &texts);
    for (u32 g = 0; g < tune->original.groups; g++)
        judge_group(tune, g);
    vec_free(&texts);
}

/* Assembles the choices in one text, as they will be: a group that is worse there is left as the command line says. */
static void judge_choice(Tune *tune)
{
    TrialText *text = tune_new_text(tune);
    for (u32 g = 0; g < tune->original.groups; g++)
        if (tune->group[g].best)
            tune_set_candidate(text, g, tune->group[g].best);
    if (text->groups < 2)
        return; /* it has been assembled so */
    tune_assemble(tune, &text, 1);
    for (u32 g = 0; g < tune->original.groups && tune_has_all(tune); g++) {
        TuneGroup *group = &tune->group[g];
        int gain;
        if (group->best && !(text->trial.read && compare(tune, g, group->tried.v[0].cubin, &text->trial.cubin, &gain)))
            group->best = 0;
    }
}

/* ---- decisions ---------------------------------------------------------------------------------------------------- */

static const char *decision_words(Tune *tune, u32 group)
{
    const TuneGroup *g = &tune->group[group];
    const char *words = g->tried.v[g->best].words;
    if (strstr(words, "-O"))
        return words;
    return arena_printf(&tune->arena, "-O%u%s%s", tune->options->pipeline.level, *words ? " " : "", words);
}

/* The figures that moved in a function, in words; "": none did. */
static const char *describe(Tune *tune, const Part *part)
{
    const TuneGroup *group = &tune->group[part->group];
    Judgement judgement;
    bool moved = group->best &&
                 worse_judge_function(&judgement, group->tried.v[0].cubin, group->tried.v[group->best].cubin, part->name);
    return moved ? worse_describe(&tune->arena, &judgement) : "";
}

static void say_decisions(Tune *tune)
{
    u32 kernels = 0;
    assembler_clear_progress(&tune->assembler);
    for (u32 i = 0; i < tune->original.part.n; i++) {
        const Part *part = &tune->original.part.v[i];
        const TuneGroup *group = &tune->group[part->group];
        kernels += part->is_entry;
        if (!group->best || !part->is_entry)
            continue;
        tune->tuned++;
        fprintf(stderr, "ptxopt: note: '%s' is tuned with %s: %s\n", part->name, group->tried.v[group->best].words,
                describe(tune, part));
    }
    tune_say_ignored(tune);
    fprintf(stderr, "ptxopt: note: %s: %u of %u kernels tuned, %u runs of ptxas\n", tune->options->input_name, tune->tuned,
            kernels, tune->assembler.runs);
}

static ToolStatus write_decisions(Tune *tune)
{
    const Options *options = tune->options;
    Output output;
    if (!options->tune_out)
        return TOOL_OK;
    bool good = output_open(&output, options->tune_out);
    if (good) {
        fprintf(output.file, "# ptxopt --tune of %s: NAME HASH: OPTIONS\n", options->input_name);
        for (u32 i = 0; i < tune->original.part.n; i++) {
            const Part *part = &tune->original.part.v[i];
            const char *moved = describe(tune, part);
            fprintf(output.file, "%s %016" PRIx64 ": %s%s%s\n", part->name, parts_hash(&tune->original, i), decision_words(tune, part->group),
                    moved[0] ? " # " : "", moved);
        }
        good = output_commit(&output);
    }
    return good ? TOOL_OK : optimize_file_error("write", options->tune_out);
}

static void apply_decisions(Tune *tune)
{
    TunePlan plan = {arena_array(&tune->arena, const char *, tune->original.groups)};
    for (u32 g = 0; g < tune->original.groups; g++)
        plan.words[g] = decision_words(tune, g);
    tune->options->pipeline.tuned = tune_plan_decisions(tune, &plan);
}

/* ---- Ninja -------------------------------------------------------------------------------------------------------- */

static ToolStatus write_ninja(Tune *tune)
{
    const char *folder = tune->options->tune_ninja;
    NinjaFolder ninja;
    TrialTexts texts = {0};
    bool good = ninja_open(&ninja, &tune->arena, folder, &tune->assembler);
    for (u32 g = 0; g < tune->original.groups; g++)
        tune->group[g].judged = tune_asks(tune, g) ? 0 : tune->group[g].tried.n;
    tune_plan_texts(tune, &texts);
    for (u32 i = 0; i < texts.n && good; i++) {
        good = tune_write_text(tune, texts.v[i]) && ninja_add(&ninja, &texts.v[i]->trial.text);
        scratch_close(&texts.v[i]->trial.text);
    }
    good = ninja_close(&ninja, good);
    if (!good)
        fprintf(stderr, "ptxopt: error: cannot write to '%s': %s\n", folder, strerror(errno));
    else
        fprintf(stderr, "ptxopt: note: %u texts to assemble: ninja -C %s, then ptxopt --tune-read=%s\n", texts.n, folder,
                folder);
    vec_free(&texts);
    return good ? TOOL_OK : TOOL_BAD_INPUT;
}

/* Adds what a further round asks for to the folder. */
static void ask_for_more(Tune *tune)
{
    const char *folder = tune->options->tune_read;
    NinjaFolder ninja;
    if (!tune->asked.n)
        return;
    bool good = ninja_open(&ninja, &tune->arena, folder, NULL);
    for (u32 i = 0; i < tune->asked.n && good; i++)
        good = ninja_add(&ninja, &tune->asked.v[i]->trial.text);
    if (ninja_close(&ninja, good))
        fprintf(stderr,
                "ptxopt: note: %u more texts to assemble: ninja -C %s, then the same ptxopt --tune-read once more\n",
                tune->asked.n, folder);
    else
        fprintf(stderr, "ptxopt: warning: cannot ask for %u more texts in '%s': %s\n", tune->asked.n, folder,
                strerror(errno));
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* The command line's text, and its bodies as the first candidate of each group. NULL, or why there is none. */
static const char *make_base(Tune *tune)
{
    Trial trial, *const trials[] = {&trial};
    trial_init(&trial);
    bool good = parts_read(&tune->original, tune->options->input) &&
                trials_optimize(&tune->assembler, trials, tune->options, 1) && parts_read(&tune->base, trial.text.path) &&
                tune->base.part.n == tune->original.part.n;
    trial_end(&trial);
    if (!good)
        return "the text could not be optimized";
    tune->group = arena_array(&tune->arena, TuneGroup, tune->original.groups);
    for (u32 i = 0; i < tune->base.part.n; i++)
        tune->base.part.v[i].group = tune->original.part.v[i].group;
    for (u32 g = 0; g < tune->original.groups; g++)
        tune_add_candidate(tune, g, &tune->base, "");
    return NULL;
}

/* Assembles what the command line's options make of the groups that have a choice. NULL, or why it cannot be judged. */
static const char *judge_base(Tune *tune)
{
    TrialTexts texts = {0};
    for (u32 g = 0; g < tune->original.groups; g++) {
        tune->group[g].judged = 1;
        if (!tune_asks(tune, g))
            continue;
        if (tune->apart || texts.n == 0)
            vec_push(&texts, tune_new_text(tune));
        tune_set_candidate(vec_last(&texts), g, 0);
    }
    tune_assemble(tune, texts.v, texts.n);
    const char *trouble = NULL;
    for (u32 i = 0; i < texts.n; i++) {
        tune_take_cubins(tune, texts.v[i]);
        tune_note_said(tune, texts.v[i]);
        if (!tune->apart && !texts.v[i]->trial.read)
            trouble = clock_now() > tune->assembler.end && tune->assembler.end > 0
                          ? "the time of --tune-budget was over"
                          : trial_read(&tune->assembler, &texts.v[i]->trial, "text");
    }
    vec_free(&texts);
    return trouble;
}

static void tune_rounds(Tune *tune)
{
    u32 *old_best = arena_array(&tune->arena, u32, tune->original.groups);
    for (u32 round = 0; round < MOST_ROUNDS; round++) {
        TunePlans plans = {0};
        if (round > 0) {
            tune_plan_next_round(tune, &plans, old_best, round == 1);
            for (u32 g = 0; g < tune->original.groups; g++)
                old_best[g] = tune->group[g].best;
            tune_make_candidates(tune, &plans);
            tune->asks = tune->options->tune_read;
        }
        if (round == 0 || plans.n)
            judge_round(tune);
        bool more = round == 0 || plans.n;
        vec_free(&plans);
        if (!more || !tune_has_all(tune))
            return;
    }
}

/* NULL, or why nothing is decided. */
static const char *decide(Tune *tune)
{
    TunePlans plans = {0};
    tune_plan_first_round(tune, &plans);
    tune_make_candidates(tune, &plans);
    vec_free(&plans);
    if (tune->options->tune_ninja)
        return NULL;
    const char *trouble = judge_base(tune);
    if (trouble)
        return trouble;
    if (tune->texts.n)
        tune_rounds(tune);
    if (tune->missing && tune->missing == tune->texts.n)
        return "Ninja has made nothing of this text, with these options, in the folder of --tune-read";
    tune->asks = tune->options->tune_read;
    if (tune_has_all(tune))
        judge_choice(tune);
    return NULL;
}

static ToolStatus tune_text(Tune *tune)
{
    Options *options = tune->options;
    const char *trouble = make_base(tune);
    if (!trouble)
        trouble = decide(tune);
    if (!trouble && options->tune_ninja)
        return write_ninja(tune);
    if (trouble)
        fprintf(stderr, "ptxopt: warning: %s: nothing is tuned: %s\n", options->input_name, trouble);
    else
        say_decisions(tune);
    if (!trouble && tune->missing)
        fprintf(stderr, "ptxopt: warning: %u texts have no result in '%s'\n", tune->missing, options->tune_read);
    ask_for_more(tune);
    if (!trouble)
        apply_decisions(tune);
    ToolStatus status = trouble ? TOOL_OK : write_decisions(tune);
    return status == TOOL_OK ? proof_optimize_file(options) : status;
}

static void tune_end(Tune *tune)
{
    for (u32 i = 0; i < tune->texts.n; i++)
        trial_end(&tune->texts.v[i]->trial);
    vec_free(&tune->texts);
    vec_free(&tune->asked);
    vec_free(&tune->told);
    for (u32 g = 0; tune->group && g < tune->original.groups; g++)
        vec_free(&tune->group[g].tried);
    parts_free(&tune->original);
    parts_free(&tune->base);
    assembler_end(&tune->assembler);
    arena_free(&tune->arena);
}

ToolStatus tune_optimize_file(Options *options)
{
    Tune tune = {.options = options, .apart = options->tune_ninja || options->tune_read};
    Scratch copy = {.fd = -1};
    const char *why = NULL;
    if (!input_set_aside(options, &copy))
        return TOOL_BAD_INPUT;
    AssembleCommand command = {0};
    if (options->tune_by)
        command = assemble_command(&tune.arena, "--tune", options->tune_by, options->guard_arch, options->input, &why);
    ToolStatus status = TOOL_BAD_INPUT;
    if (options->tune_by && !command.ptxas) {
        fprintf(stderr, "ptxopt: error: %s\n", why);
    } else {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        tune.assembler = assembler_start(&tune.arena, &command, options->guard_limit);
        tune.assembler.name = "ptxopt: tuning";
        tune.assembler.jobs = options->tune_jobs ? options->tune_jobs : cores > 0 ? (u32)cores : 1;
        tune.assembler.end = options->tune_budget ? clock_now() + options->tune_budget : 0;
        status = tune_text(&tune);
    }
    tune_end(&tune);
    scratch_close(&copy);
    return status;
}
