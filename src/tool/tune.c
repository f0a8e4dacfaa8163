/* --tune: variants of the options are tried on every kernel, ptxas assembles what differs, and the best one is kept.
 *
 * A round makes the texts of all variants, takes of each group of functions that may call one another the bodies that are new, has
 * them assembled, and judges (machine/worse.h). What is worse by any rule than what the command line makes is no choice; of the others
 * the best one is. The next round combines it with other variants that were better. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fnvmap.h"
#include "front/child.h"
#include "pipeline/tuned.h"
#include "tool/guard.h"
#include "tool/parts.h"
#include "tool/tune_ninja.h"

enum {
    MOST_ROUNDS = 3,
    COMBINED = 4,   /* combinations that a group has in a round */
    MOST_PRICE = 8, /* times the least price: what is dearer is not tried */
    WORDS_BYTES = 400,
    MOVED_BYTES = 300,
    NAME_BYTES_MOST = 4096
};

/* What is tried beside the command line's options, with --disable of each phase. What the judge cannot see is not among them: that
 * threads of a warp are in different states of a machine. */
static const char *const variants[] = {
    "-O1",
    "-O2",
    "-O3",
    "-O0",
    "--switch-case-threshold=2",
    "--switch-case-threshold=8",
    "--switch-density=20",
    "--switch-density=70",
    "--switch-max-table=0",
    "--switch-search-threshold=4",
    "--switch-search-threshold=12",
    "--switch-search-threshold=48",
    "--branch-fold-reverse=0",
    "--branch-fold-reverse=2",
    "--no-latch-counters",
    "--enable-stride-unroll",
    "--jump-threading-threshold=2",
    "--jump-threading-threshold=16",
    "--jump-threading-loop-threshold=0",
    "--jump-threading-loop-threshold=16",
    "--jump-threading-across-loop-headers",
    "--enable-tail-merge=1",
    "--tail-merge-size=2",
    "--tail-merge-size=6",
    "--no-hoist-common-code",
    "--nested-cond-max-speculated=2",
    "--nested-cond-max-speculated=16",
    "--lop3=never",
    "--lop3=always",
    "--cbe-min-uses=3",
    "--cbe-min-uses=6",
    "--cbe-max-depth=2",
};

/* Bodies of a group of functions. */
typedef struct TuneCandidate {
    const char *words; /* the options that make it; "": the command line's */
    Str *bodies;       /* by part; only those of the group count */
    u64 hash;          /* of the bodies */
    u64 price;
    const Cubin *cubin; /* NULL: ptxas has made none */
    bool better;        /* than what the command line's options make */
} TuneCandidate;

typedef struct Group {
    VEC(TuneCandidate) tried; /* the first: what the command line's options make */
    u32 judged;               /* of them */
    u32 best;
} Group;

/* A text to assemble: of some groups one candidate each. */
typedef struct TrialText {
    Trial trial;
    u32 *candidate; /* by group; NONE: the group is not of interest */
    u32 groups;     /* that are */
} TrialText;
typedef VEC(TrialText *) VecText;

#define NONE UINT32_MAX

typedef struct Tune {
    Arena arena;
    Options *options;
    Assembler assembler;
    Parts original, base; /* the input, and what the command line's options make of it */
    Group *group;
    VecText texts;     /* their cubins are kept to the end */
    u32 done, planned; /* texts, for the progress */
    u32 missing;       /* texts whose result is not in the folder of --tune-read */
    u32 tuned;         /* kernels that get other options */
    bool apart;        /* each candidate in a text of its own */
    bool asks;         /* under --tune-read, for texts that are not in its folder: those of all rounds but the first */
    VecText asked;
} Tune;

/* ---- variants ----------------------------------------------------------------------------------------------------- */

/* Words of each group for one text; NULL: the command line's options. */
typedef struct Plan {
    const char **words;
} Plan;
typedef VEC(Plan) VecPlan;

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

/* Decisions that make the plan's text. */
static VecTuned plan_decisions(Tune *tune, const Plan *plan)
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
        vec_push(&decisions, ((Tuned){part->name, part->hash, config}));
    }
    return decisions;
}

/* Adds what `parts` holds of a group to what is to be tried, unless it has been. */
static void add_candidate(Tune *tune, u32 number, const Parts *parts, const char *words)
{
    Group *group = &tune->group[number];
    TuneCandidate new = {.words = words, .hash = FNV_BASIS};
    for (u32 i = 0; i < parts->part.n; i++)
        if (parts->part.v[i].group == number) {
            new.hash = fnv_bytes(new.hash, parts->part.v[i].body.p, parts->part.v[i].body.len);
            new.price += parts->part.v[i].price;
        }
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

/* Makes the texts of the plans and takes the candidates from them. */
static void make_candidates(Tune *tune, const VecPlan *plans)
{
    Options *options = arena_array(&tune->arena, Options, plans->n);
    Trial *trial = arena_array(&tune->arena, Trial, plans->n), **trials = arena_array(&tune->arena, Trial *, plans->n);
    for (u32 i = 0; i < plans->n; i++) {
        options[i] = *tune->options;
        options[i].pipeline.tuned = plan_decisions(tune, &plans->v[i]);
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
                    add_candidate(tune, g, &parts, plans->v[i].words[g]);
        parts_free(&parts);
        vec_free(&options[i].pipeline.tuned);
        trial_end(&trial[i]);
    }
}

static void plan_all(Tune *tune, VecPlan *plans, const char *words)
{
    Plan plan = {arena_array(&tune->arena, const char *, tune->original.groups)};
    for (u32 g = 0; g < tune->original.groups; g++)
        plan.words[g] = words;
    vec_push(plans, plan);
}

static void plan_first_round(Tune *tune, VecPlan *plans)
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
static u32 combine(Tune *tune, const Group *group, u32 from, const char **words)
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

static void plan_next_round(Tune *tune, VecPlan *plans, const u32 *old_best)
{
    const char *words[COMBINED];
    for (u32 g = 0; g < tune->original.groups; g++) {
        const Group *group = &tune->group[g];
        u32 count = group->best == old_best[g] ? 0 : combine(tune, group, group->judged, words);
        while (plans->n < count)
            plan_all(tune, plans, NULL);
        for (u32 k = 0; k < count; k++)
            plans->v[k].words[g] = words[k];
    }
}

/* ---- texts that are assembled ------------------------------------------------------------------------------------- */

static TrialText *new_text(Tune *tune)
{
    TrialText *text = arena_new(&tune->arena, TrialText);
    trial_init(&text->trial);
    text->candidate = arena_array(&tune->arena, u32, tune->original.groups);
    for (u32 g = 0; g < tune->original.groups; g++)
        text->candidate[g] = NONE;
    return text;
}

static void set_candidate(TrialText *text, u32 group, u32 candidate)
{
    text->candidate[group] = candidate;
    text->groups++;
}

static bool write_text(const Tune *tune, TrialText *text)
{
    const Parts *base = &tune->base;
    Str *bodies = mem_zalloc(sizeof *bodies * base->part.n);
    for (u32 i = 0; i < base->part.n; i++) {
        const Part *part = &base->part.v[i];
        u32 candidate = text->candidate[part->group];
        if (candidate != NONE)
            bodies[i] = tune->group[part->group].tried.v[candidate].bodies[i];
        else if (base->whole || !part->is_entry)
            bodies[i] = part->body;
    }
    bool good = parts_write(base, bodies, &text->trial.text);
    mem_free(bodies);
    return good;
}

static void show_progress(void *user, Trial *trial)
{
    Tune *tune = user;
    (void)trial;
    tune->done++;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rptxopt: tuning: %u of %u texts assembled ", tune->done, tune->planned);
}

/* What Ninja has made of the text, if it has been asked. */
static void fetch_text(Tune *tune, TrialText *text)
{
    char error[MOVED_BYTES];
    const char *folder = tune->options->tune_read;
    const char *path = ninja_name(&tune->arena, folder, &text->trial.text, "cubin");
    text->trial.read = cubin_open(&text->trial.cubin, path, error, sizeof error);
    if (access(path, R_OK) == 0)
        return;
    if (tune->asks && access(ninja_name(&tune->arena, folder, &text->trial.text, "ptx"), F_OK) != 0)
        vec_push(&tune->asked, text);
    else
        tune->missing++;
}

/* Whether the texts so far have results. */
static bool has_all(const Tune *tune) { return !tune->missing && !tune->asked.n; }

static void assemble_texts(Tune *tune, TrialText *const *texts, u32 count)
{
    Trial **trials = arena_array(&tune->arena, Trial *, count);
    u32 ready = 0;
    for (u32 i = 0; i < count; i++) {
        vec_push(&tune->texts, texts[i]);
        if (write_text(tune, texts[i]))
            trials[ready++] = &texts[i]->trial;
    }
    if (tune->options->tune_read) {
        for (u32 i = 0; i < count; i++)
            fetch_text(tune, texts[i]);
        return;
    }
    tune->planned += ready;
    trials_assemble(&tune->assembler, trials, ready, show_progress, tune);
    for (u32 i = 0; i < ready; i++)
        if (trial_assembled(trials[i]))
            (void)trial_read(&tune->assembler, trials[i], "text");
}

static void take_cubins(Tune *tune, const TrialText *text)
{
    for (u32 g = 0; g < tune->original.groups; g++)
        if (text->candidate[g] != NONE && text->trial.read)
            tune->group[g].tried.v[text->candidate[g]].cubin = &text->trial.cubin;
}

static int by_price(const void *a, const void *b)
{
    const TuneCandidate *x = a, *y = b;
    return x->price < y->price ? -1 : x->price > y->price;
}

/* Texts of what has not been judged: the n-th one holds the n-th candidate of each group, the cheapest first. */
static void plan_texts(Tune *tune, VecText *texts)
{
    for (u32 g = 0; g < tune->original.groups; g++) {
        Group *group = &tune->group[g];
        u32 first = group->judged, count = group->tried.n - first;
        if (count)
            qsort(group->tried.v + first, count, sizeof *group->tried.v, by_price);
        for (u32 i = 0; i < count; i++) {
            if (tune->apart || i >= texts->n)
                vec_push(texts, new_text(tune));
            set_candidate(tune->apart ? vec_last(texts) : texts->v[i], g, first + i);
        }
    }
}

/* One body that ptxas does not take would spoil the others of its text: they are assembled once more, apart. */
static void assemble_apart(Tune *tune, const VecText *texts)
{
    VecText again = {0};
    for (u32 i = 0; i < texts->n; i++)
        for (u32 g = 0; g < tune->original.groups && texts->v[i]->groups > 1 && !texts->v[i]->trial.read; g++)
            if (texts->v[i]->candidate[g] != NONE && texts->v[i]->trial.in_time) {
                vec_push(&again, new_text(tune));
                set_candidate(vec_last(&again), g, texts->v[i]->candidate[g]);
            }
    assemble_texts(tune, again.v, again.n);
    for (u32 i = 0; i < again.n; i++)
        take_cubins(tune, again.v[i]);
    vec_free(&again);
}

/* ---- judging ------------------------------------------------------------------------------------------------------ */

/* Whether every function of the group is no worse in `after`; `gain` adds up worse_order. */
static bool compare(const Tune *tune, u32 number, const Cubin *before, const Cubin *after, int *gain)
{
    bool worse = false, lost = false, won = false;
    for (u32 i = 0; i < tune->base.part.n; i++) {
        const Part *part = &tune->base.part.v[i];
        Judgement forth, back;
        if (part->group != number || (!part->is_entry && !cubins_judge(&forth, before, before, part->name)))
            continue; /* a function inside of its callers */
        if (!cubins_judge(&forth, before, after, part->name) || !cubins_judge(&back, after, before, part->name))
            return false;
        int order = worse_order(&forth, &back);
        worse |= forth.worse != 0;
        lost |= order < 0;
        won |= order > 0;
    }
    *gain = lost ? -1 : won;
    return !worse;
}

static void judge_group(Tune *tune, u32 number)
{
    Group *group = &tune->group[number];
    const Cubin *base = group->tried.v[0].cubin;
    for (u32 i = group->judged; i < group->tried.n && base; i++) {
        TuneCandidate *candidate = &group->tried.v[i];
        int gain = 0;
        candidate->better = candidate->cubin && compare(tune, number, base, candidate->cubin, &gain) && gain > 0;
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
    VecText texts = {0};
    plan_texts(tune, &texts);
    assemble_texts(tune, texts.v, texts.n);
    for (u32 i = 0; i < texts.n; i++)
        take_cubins(tune, texts.v[i]);
    if (!tune->options->tune_read)
        assemble_apart(tune, &texts);
    for (u32 g = 0; g < tune->original.groups; g++)
        judge_group(tune, g);
    vec_free(&texts);
}

/* What is chosen is assembled in one text, as it will be: a group that is worse there is left as the command line says. */
static void judge_choice(Tune *tune)
{
    TrialText *text = new_text(tune);
    for (u32 g = 0; g < tune->original.groups; g++)
        if (tune->group[g].best)
            set_candidate(text, g, tune->group[g].best);
    if (text->groups < 2)
        return; /* it has been assembled so */
    assemble_texts(tune, &text, 1);
    for (u32 g = 0; g < tune->original.groups && has_all(tune); g++) {
        Group *group = &tune->group[g];
        int gain;
        if (group->best && !(text->trial.read && compare(tune, g, group->tried.v[0].cubin, &text->trial.cubin, &gain)))
            group->best = 0;
    }
}

/* ---- decisions ---------------------------------------------------------------------------------------------------- */

static const char *decision_words(Tune *tune, u32 group)
{
    const Group *g = &tune->group[group];
    const char *words = g->tried.v[g->best].words;
    if (strstr(words, "-O"))
        return words;
    return arena_printf(&tune->arena, "-O%u%s%s", tune->options->pipeline.level, *words ? " " : "", words);
}

/* What moved in a function; "" where nothing did. */
static void describe(const Tune *tune, const Part *part, char *moved)
{
    const Group *group = &tune->group[part->group];
    Judgement judgement;
    moved[0] = '\0';
    if (group->best && cubins_judge(&judgement, group->tried.v[0].cubin, group->tried.v[group->best].cubin, part->name))
        worse_describe(&judgement, moved, MOVED_BYTES);
}

static void say_decisions(Tune *tune)
{
    u32 kernels = 0;
    char moved[MOVED_BYTES];
    if (isatty(STDERR_FILENO) && tune->planned)
        fputs("\r\033[K", stderr);
    for (u32 i = 0; i < tune->original.part.n; i++) {
        const Part *part = &tune->original.part.v[i];
        const Group *group = &tune->group[part->group];
        kernels += part->is_entry;
        if (!group->best || !part->is_entry)
            continue;
        tune->tuned++;
        describe(tune, part, moved);
        fprintf(stderr, "ptxopt: note: '%s' is tuned with %s: %s\n", part->name, group->tried.v[group->best].words, moved);
    }
    fprintf(stderr, "ptxopt: note: %s: %u of %u kernels tuned, %u runs of ptxas\n", tune->options->input_name, tune->tuned,
            kernels, tune->assembler.runs);
}

static ToolStatus write_decisions(Tune *tune)
{
    const Options *options = tune->options;
    Output output;
    char moved[MOVED_BYTES];
    if (!options->tune_out)
        return TOOL_OK;
    bool good = output_open(&output, options->tune_out);
    if (good) {
        fprintf(output.file, "# ptxopt --tune of %s: NAME HASH: OPTIONS\n", options->input_name);
        for (u32 i = 0; i < tune->original.part.n; i++) {
            const Part *part = &tune->original.part.v[i];
            describe(tune, part, moved);
            fprintf(output.file, "%s %016" PRIx64 ": %s%s%s\n", part->name, part->hash, decision_words(tune, part->group),
                    moved[0] ? " # " : "", moved);
        }
        good = output_commit(&output);
    }
    if (!good)
        fprintf(stderr, "ptxopt: error: cannot write '%s': %s\n", options->tune_out, strerror(errno));
    return good ? TOOL_OK : TOOL_BAD_INPUT;
}

static void apply_decisions(Tune *tune)
{
    Plan plan = {arena_array(&tune->arena, const char *, tune->original.groups)};
    for (u32 g = 0; g < tune->original.groups; g++)
        plan.words[g] = decision_words(tune, g);
    tune->options->pipeline.tuned = plan_decisions(tune, &plan);
}

/* ---- Ninja -------------------------------------------------------------------------------------------------------- */

static ToolStatus write_ninja(Tune *tune)
{
    const char *folder = tune->options->tune_ninja;
    NinjaFolder ninja;
    VecText texts = {0};
    bool good = ninja_open(&ninja, &tune->arena, folder, &tune->assembler);
    for (u32 g = 0; g < tune->original.groups; g++)
        tune->group[g].judged = tune->group[g].tried.n > 1 ? 0 : tune->group[g].tried.n;
    plan_texts(tune, &texts);
    for (u32 i = 0; i < texts.n && good; i++) {
        good = write_text(tune, texts.v[i]) && ninja_add(&ninja, &texts.v[i]->trial.text);
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
    tune->group = arena_array(&tune->arena, Group, tune->original.groups);
    for (u32 i = 0; i < tune->base.part.n; i++)
        tune->base.part.v[i].group = tune->original.part.v[i].group;
    for (u32 g = 0; g < tune->original.groups; g++)
        add_candidate(tune, g, &tune->base, "");
    return NULL;
}

/* Assembles what the command line's options make of the groups that have a choice. NULL, or why it cannot be judged. */
static const char *judge_base(Tune *tune)
{
    VecText texts = {0};
    for (u32 g = 0; g < tune->original.groups; g++) {
        tune->group[g].judged = 1;
        if (tune->group[g].tried.n < 2)
            continue;
        if (tune->apart || texts.n == 0)
            vec_push(&texts, new_text(tune));
        set_candidate(vec_last(&texts), g, 0);
    }
    assemble_texts(tune, texts.v, texts.n);
    const char *trouble = NULL;
    for (u32 i = 0; i < texts.n; i++) {
        take_cubins(tune, texts.v[i]);
        if (!tune->apart && !texts.v[i]->trial.read)
            trouble = child_clock() > tune->assembler.end && tune->assembler.end > 0
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
        VecPlan plans = {0};
        if (round > 0) {
            plan_next_round(tune, &plans, old_best);
            for (u32 g = 0; g < tune->original.groups; g++)
                old_best[g] = tune->group[g].best;
            make_candidates(tune, &plans);
            tune->asks = tune->options->tune_read;
        }
        if (round == 0 || plans.n)
            judge_round(tune);
        bool more = round == 0 || plans.n;
        vec_free(&plans);
        if (!more || !has_all(tune) || child_caught())
            return;
    }
}

/* NULL, or why nothing is decided. */
static const char *decide(Tune *tune)
{
    VecPlan plans = {0};
    plan_first_round(tune, &plans);
    make_candidates(tune, &plans);
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
    if (has_all(tune) && !child_caught())
        judge_choice(tune);
    return NULL;
}

static ToolStatus tune_text(Tune *tune)
{
    Options *options = tune->options;
    const char *trouble = make_base(tune);
    if (!trouble)
        trouble = decide(tune);
    if (child_caught())
        return TOOL_BAD_INPUT;
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
    return status == TOOL_OK ? tool_optimize(options) : status;
}

static void tune_end(Tune *tune)
{
    for (u32 i = 0; i < tune->texts.n; i++)
        trial_end(&tune->texts.v[i]->trial);
    vec_free(&tune->texts);
    vec_free(&tune->asked);
    for (u32 g = 0; tune->group && g < tune->original.groups; g++)
        vec_free(&tune->group[g].tried);
    parts_free(&tune->original);
    parts_free(&tune->base);
    assembler_end(&tune->assembler);
    arena_free(&tune->arena);
}

ToolStatus tool_optimize_tuned(Options *options)
{
    Tune tune = {.options = options, .apart = options->tune_ninja || options->tune_read};
    Scratch copy = {.fd = -1};
    const char *why = NULL;
    if (!input_copy(options->input, &copy)) {
        fprintf(stderr, "ptxopt: error: cannot read '%s': %s\n", options->input, strerror(errno));
        return TOOL_BAD_INPUT;
    }
    options->input_name = strcmp(options->input, "-") == 0 ? "<stdin>" : options->input;
    options->input = copy.path;
    child_forward_signals();
    AssembleCommand command = {0};
    if (options->tune_by)
        command = assemble_command(&tune.arena, "--tune", options->tune_by, options->guard_arch, options->input, &why);
    ToolStatus status = TOOL_BAD_INPUT;
    if (options->tune_by && !command.ptxas) {
        fprintf(stderr, "ptxopt: error: %s\n", why);
    } else {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        tune.assembler = assembler_start(&tune.arena, &command, options->guard_limit);
        tune.assembler.jobs = options->tune_jobs ? options->tune_jobs : cores > 0 ? (u32)cores : 1;
        tune.assembler.end = options->tune_budget ? child_clock() + options->tune_budget : 0;
        status = tune_text(&tune);
    }
    tune_end(&tune);
    scratch_close(&copy);
    if (child_caught())
        child_end_as(-1, child_caught());
    return status;
}
