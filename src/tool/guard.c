#define _GNU_SOURCE
#include "tool/guard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/worse.h"
#include "tool/parts.h"

enum { ERROR_BYTES = 300, MOST_ROUNDS = 4, REWRITE_ROUNDS = 2, MOST_REPAIRS = 3 };

/* A kernel or function that got worse: the phases that it does without are known to be enough. */
typedef struct Suspect {
    const char *name;
    bool without[PHASE_COUNT];
    u32 good, bad;           /* with so many rewrites of these phases it is known not to be worse, and to be worse */
    char moved[ERROR_BYTES]; /* what got worse with all phases */
} Suspect;

/* A phase that rewrote something in a function. */
typedef struct Rewrite {
    u32 phase, count;
    int group; /* of the function */
} Rewrite;

typedef struct Guard {
    Arena *arena;
    Options *options;
    Assembler assembler;
    GuardResult *result;
    Trial original, best;
    VEC(Trial *) assembled; /* of the search, to be used again */
    VEC(Suspect) suspects;
    Parts parts; /* of the original */
    VEC(Rewrite) rewrites;
    bool *changed; /* by group of them; NULL: not known */
    bool delivers; /* the machine code of all is wanted in the end */
} Guard;

static const char no_text[] = "the text could not be optimized";

/* ---- what is in question -------------------------------------------------------------------------------------------- */

/* The group of a function; -1. */
static int group_of(const Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (strcmp(guard->parts.part.v[i].name, name) == 0)
            return (int)guard->parts.part.v[i].group;
    return -1;
}

/* Finds the groups of functions whose text changed: the others' machine code is the same, and costs nothing. */
static void find_changed(Guard *guard)
{
    Parts made = {0};
    Parts *old = &guard->parts;
    if (parts_read(old, guard->options->input) && parts_read(&made, guard->best.text.path) && made.part.n == old->part.n) {
        guard->changed = arena_array(guard->arena, bool, old->groups);
        for (u32 i = 0; i < old->part.n; i++) {
            Str a = old->part.v[i].body, b = made.part.v[i].body;
            guard->changed[old->part.v[i].group] |= a.len != b.len || memcmp(a.p, b.p, a.len) != 0;
        }
    }
    parts_free(&made);
}

/* Takes what the optimizer said of its rewrites: lines "BISECT: running rewrite (N) PHASE on function (NAME)". */
static void find_rewrites(Guard *guard)
{
    size_t bytes = 0;
    char *said = scratch_read(&guard->best.said, &bytes), *saved = NULL;
    const PhaseTable *table = guard->options->pipeline.table;
    for (char *line = said ? strtok_r(said, "\n", &saved) : NULL; line; line = strtok_r(NULL, "\n", &saved)) {
        static const char ran[] = "BISECT: running rewrite (", on[] = " on function (";
        char *phase = strncmp(line, ran, sizeof ran - 1) == 0 ? strstr(line, ") ") : NULL;
        char *name = phase ? strstr(phase, on) : NULL, *end = name ? strrchr(name, ')') : NULL;
        if (!end)
            continue;
        *end = '\0';
        PhaseRange range = phase_find(table, phase + 2, (size_t)(name - phase - 2));
        Rewrite rewrite = {range.first, 1, group_of(guard, name + sizeof on - 1)};
        Rewrite *last = guard->rewrites.n ? &vec_last(&guard->rewrites) : NULL;
        if (last && last->phase == rewrite.phase && last->group == rewrite.group)
            last->count++;
        else if (range.count == 1)
            vec_push(&guard->rewrites, rewrite);
    }
    free(said);
}

static bool may_have_changed(const Guard *guard, const char *name)
{
    int group = group_of(guard, name);
    return !guard->changed || group < 0 || guard->changed[group];
}

static const char *path_of(const Guard *guard, const Trial *trial)
{
    return trial->text.fd >= 0 ? trial->text.path : guard->options->input;
}

/* Leaves out of a trial's text what kernels of no wanted group do. */
static void trim(const Guard *guard, Trial *trial, const bool *wanted)
{
    Parts parts = {0};
    Scratch text = {.fd = -1};
    bool leaves_out = false;
    for (u32 i = 0; i < guard->parts.part.n && guard->changed && !guard->parts.whole; i++)
        leaves_out |= guard->parts.part.v[i].is_entry && !wanted[guard->parts.part.v[i].group];
    if (leaves_out && parts_read(&parts, path_of(guard, trial)) && parts.part.n == guard->parts.part.n) {
        Str *bodies = mem_zalloc(sizeof *bodies * parts.part.n);
        for (u32 i = 0; i < parts.part.n; i++)
            if (!parts.part.v[i].is_entry || wanted[guard->parts.part.v[i].group])
                bodies[i] = parts.part.v[i].body;
        if (parts_write(&parts, bodies, &text)) {
            scratch_close(&trial->text);
            trial->text = text;
        } else {
            scratch_close(&text);
        }
        mem_free(bodies);
    }
    parts_free(&parts);
}

static void trim_to_suspects(const Guard *guard, Trial *trial)
{
    bool *wanted = arena_array(guard->arena, bool, guard->parts.groups);
    for (u32 i = 0; i < guard->suspects.n; i++) {
        int group = group_of(guard, guard->suspects.v[i].name);
        if (group >= 0)
            wanted[group] = true;
    }
    trim(guard, trial, wanted);
}

/* ---- judging ------------------------------------------------------------------------------------------------------ */

static Suspect *find_suspect(Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->suspects.n; i++)
        if (strcmp(guard->suspects.v[i].name, name) == 0)
            return &guard->suspects.v[i];
    return NULL;
}

/* Whether the function of that index in the original is worse in `cubin`; what cannot be judged is. `moved` may be NULL. */
static bool is_worse(const Guard *guard, size_t index, const Cubin *cubin, char *moved)
{
    Judgement judgement = {.worse = WORSE_INSTRUCTIONS};
    bool known = cubins_judge(&judgement, &guard->original.cubin, cubin, guard->original.cubin.functions[index].name);
    if (moved && known)
        worse_describe(&judgement, moved, ERROR_BYTES);
    return !known || judgement.worse;
}

static u32 phases_without(const Suspect *suspect)
{
    u32 count = 0;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        count += suspect->without[phase];
    return count;
}

/* All phases that run: those of the sequence, and the clean-up's parts where one of them asks for it. */
static void do_without(const PipelineConfig *config, Suspect *suspect)
{
    bool cleans_up = false;
    for (u32 i = 0; i < config->sequence.n; i++) {
        suspect->without[config->sequence.v[i]] = true;
        cleans_up |= config->table->phase[config->sequence.v[i]].after == CLEANUP;
    }
    for (u32 phase = 0; phase < config->table->phases && cleans_up; phase++)
        suspect->without[phase] |= config->table->phase[phase].after == OF_CLEANUP && !config->disabled[phase];
}

static void do_without_all(const Guard *guard, Suspect *suspect)
{
    const PipelineConfig *config = &guard->options->pipeline;
    do_without(config, suspect);
    for (u32 i = 0; i < config->tuned.n; i++)
        do_without(config->tuned.v[i].config, suspect);
}

/* The phases that rewrote something in it or in what it calls; all where none is known to have, or the suspect has been without those. */
static void do_without_those_that_rewrote(const Guard *guard, Suspect *suspect)
{
    u32 before = phases_without(suspect);
    int group = group_of(guard, suspect->name);
    for (u32 i = 0; i < guard->rewrites.n; i++)
        if (guard->rewrites.v[i].group == group)
            suspect->without[guard->rewrites.v[i].phase] = true;
    if (phases_without(suspect) == before)
        do_without_all(guard, suspect);
}

/* Adds what is worse to the suspects, and leaves it alone. Whether there was any that was not left alone before. */
static bool add_suspects(Guard *guard, const Cubin *cubin)
{
    bool any = false;
    for (size_t i = 0; i < guard->original.cubin.count; i++) {
        const CubinFunction *function = &guard->original.cubin.functions[i];
        char moved[ERROR_BYTES] = "it cannot be judged";
        if (function->inner || !may_have_changed(guard, function->name) || !is_worse(guard, i, cubin, moved))
            continue;
        Suspect *suspect = find_suspect(guard, function->name);
        if (!suspect) {
            Suspect new = {.name = function->name};
            memcpy(new.moved, moved, sizeof moved);
            vec_push(&guard->suspects, new);
            suspect = &guard->suspects.v[guard->suspects.n - 1];
        }
        suspect->good = 0;
        u32 before = phases_without(suspect);
        do_without_those_that_rewrote(guard, suspect);
        any |= phases_without(suspect) > before;
    }
    return any;
}

static bool suspect_is_worse(const Guard *guard, const Suspect *suspect, const Cubin *cubin)
{
    for (size_t i = 0; i < guard->original.cubin.count; i++) {
        const CubinFunction *function = &guard->original.cubin.functions[i];
        if (!function->inner && strcmp(function->name, suspect->name) == 0)
            return is_worse(guard, i, cubin, NULL);
    }
    return true;
}

/* ---- the search for what is to blame -------------------------------------------------------------------------------- */

/* Half of the phases that the suspect does without: the first ones, or the others. */
static void take_half(const Suspect *suspect, int half, bool *without)
{
    u32 count = 0, seen = 0;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        count += suspect->without[phase];
    for (u32 phase = 0; phase < PHASE_COUNT; phase++) {
        bool first = seen < count / 2;
        without[phase] = suspect->without[phase] && first == (half == 0);
        seen += suspect->without[phase];
    }
}

/* A third, or two, of the way from what is good to what is bad: how many rewrites to allow. */
static u32 rewrites_to_try(const Suspect *suspect, int part)
{
    return suspect->good + (suspect->bad - suspect->good) * (u32)(part + 1) / 3;
}

/* What a text is made for: to try a half of the phases, or a part of their rewrites, or to be delivered. */
typedef enum Try { TRY_PHASES, TRY_REWRITES, TRY_NOTHING } Try;

/* part: 0 or 1. */
static void withhold(const Guard *guard, Try try, int part, VecWithheld *withheld)
{
    vec_clear(withheld);
    for (u32 i = 0; i < guard->suspects.n; i++) {
        const Suspect *suspect = &guard->suspects.v[i];
        Withheld one = {.function = suspect->name, .limit = suspect->good};
        if (try == TRY_PHASES && phases_without(suspect) > 1)
            take_half(suspect, part, one.phase);
        else
            memcpy(one.phase, suspect->without, sizeof one.phase);
        if (try == TRY_REWRITES && suspect->bad)
            one.limit = rewrites_to_try(suspect, part);
        vec_push(withheld, one);
    }
}

/* Keeps the half without which a suspect is no longer worse. Whether any suspect learned something. */
static bool learn(Guard *guard, Trial *const trial[2])
{
    bool any = false;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        Suspect *suspect = &guard->suspects.v[i];
        if (phases_without(suspect) < 2)
            continue;
        for (int half = 0; half < 2; half++) {
            if (!trial[half]->read || suspect_is_worse(guard, suspect, &trial[half]->cubin))
                continue;
            bool without[PHASE_COUNT];
            take_half(suspect, half, without);
            memcpy(suspect->without, without, sizeof without);
            any = true;
            break;
        }
    }
    return any;
}

static bool learn_limits(Guard *guard, Trial *const trial[2])
{
    bool any = false;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        Suspect *suspect = &guard->suspects.v[i];
        u32 tried[2] = {rewrites_to_try(suspect, 0), rewrites_to_try(suspect, 1)};
        for (int part = 0; part < 2 && suspect->bad && trial[part]->read; part++) {
            bool worse = suspect_is_worse(guard, suspect, &trial[part]->cubin);
            if (!worse && tried[part] > suspect->good)
                suspect->good = tried[part];
            else if (worse && tried[part] > suspect->good && tried[part] < suspect->bad)
                suspect->bad = tried[part];
        }
        any |= suspect->bad > suspect->good + 1;
    }
    return any;
}

/* What ptxas has already made of a trial's text; NULL. */
static Trial *find_assembled(Guard *guard, const Trial *trial)
{
    if (guard->original.read && trial_has_text(trial, path_of(guard, &guard->original)))
        return &guard->original;
    for (u32 i = 0; i < guard->assembled.n; i++)
        if (guard->assembled.v[i]->read && trial_has_text(trial, path_of(guard, guard->assembled.v[i])))
            return guard->assembled.v[i];
    return NULL;
}

/* Has those texts of the search assembled that are new: the trials become those that hold their machine code. */
static void assemble_new(Guard *guard, Trial *trial[2])
{
    Trial *new[2];
    u32 count = 0;
    for (int half = 0; half < 2; half++) {
        trim_to_suspects(guard, trial[half]);
        Trial *same = find_assembled(guard, trial[half]);
        if (!same)
            new[count++] = trial[half];
        else
            trial[half] = same;
    }
    trials_assemble(&guard->assembler, new, count, NULL, NULL);
    for (u32 i = 0; i < count; i++)
        if (trial_assembled(new[i]))
            (void)trial_read(&guard->assembler, new[i], "text without some phases");
}

/* Tries two ways to do without, each for all suspects, and learns from what ptxas makes of them. Whether another round may find less. */
static bool search_round(Guard *guard, Try try)
{
    Trial *trial[2];
    Options options[2] = {*guard->options, *guard->options};
    for (int half = 0; half < 2; half++) {
        trial[half] = arena_new(guard->arena, Trial);
        trial_init(trial[half]);
        vec_push(&guard->assembled, trial[half]);
        options[half].pipeline.withheld = (VecWithheld){0};
        withhold(guard, try, half, &options[half].pipeline.withheld);
    }
    bool made = trials_optimize(&guard->assembler, trial, options, 2);
    if (made)
        assemble_new(guard, trial);
    bool more = made && (try == TRY_PHASES ? learn : learn_limits)(guard, trial);
    for (int half = 0; half < 2; half++)
        vec_free(&options[half].pipeline.withheld);
    return more;
}

/* Makes the text that is to be delivered; NULL, or why it cannot be judged. */
static const char *make_best(Guard *guard, const char *what)
{
    Trial *const best = &guard->best;
    trial_end(best);
    if (!trials_optimize(&guard->assembler, &best, guard->options, 1))
        return no_text;
    if (trial_has_text(best, guard->options->input))
        return NULL; /* the original: nothing to assemble */
    if (!guard->delivers)
        trim(guard, best, guard->changed);
    Trial *same = find_assembled(guard, best);
    if (same && same != &guard->original) {
        trial_end(best);
        *best = *same;
        trial_init(same);
        return NULL;
    }
    trials_assemble(&guard->assembler, &best, 1, NULL, NULL);
    return trial_read(&guard->assembler, best, what);
}

static bool has_several_phases(const Guard *guard)
{
    bool several = false;
    for (u32 i = 0; i < guard->suspects.n; i++)
        several |= phases_without(&guard->suspects.v[i]) > 1;
    return several;
}

/* What the clean-up did is searched only where nothing else was rewritten: it is to blame least often. */
static void trust_cleanup(Guard *guard)
{
    const PhaseTable *table = guard->options->pipeline.table;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        Suspect *suspect = &guard->suspects.v[i], others = *suspect;
        for (u32 phase = 0; phase < table->phases; phase++)
            others.without[phase] &= table->phase[phase].after != OF_CLEANUP;
        if (phases_without(&others))
            *suspect = others;
    }
}

/* Rewrites of a suspect that neither calls a function nor is called, by the phases that it does without, are searched one by one. Whether
 * there are several of any. */
static bool set_limits(Guard *guard)
{
    bool any = false;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        Suspect *suspect = &guard->suspects.v[i];
        int group = group_of(guard, suspect->name);
        u32 count = 0, functions = 0;
        for (u32 k = 0; k < guard->parts.part.n; k++)
            functions += (int)guard->parts.part.v[k].group == group;
        for (u32 k = 0; k < guard->rewrites.n; k++)
            if (guard->rewrites.v[k].group == group && suspect->without[guard->rewrites.v[k].phase])
                count += guard->rewrites.v[k].count;
        suspect->bad = functions == 1 && count > 1 ? count : 0;
        any |= suspect->bad > 0;
    }
    return any;
}

/* Phases are withheld until nothing is worse; what stays worse is left alone. */
static const char *hold_back(Guard *guard)
{
    trust_cleanup(guard);
    for (u32 round = 0; round < MOST_ROUNDS && has_several_phases(guard) && search_round(guard, TRY_PHASES); round++)
        ;
    for (u32 round = 0, open = set_limits(guard); round < REWRITE_ROUNDS && open; round++)
        open = search_round(guard, TRY_REWRITES);
    for (u32 i = 0; i < guard->suspects.n; i++)
        guard->suspects.v[i].bad = 0;
    for (u32 repair = 0; repair < MOST_REPAIRS; repair++) {
        withhold(guard, TRY_NOTHING, 0, &guard->options->pipeline.withheld);
        const char *trouble = make_best(guard, "text without some phases");
        if (trouble)
            return trouble;
        if (!guard->best.read || !add_suspects(guard, &guard->best.cubin))
            return NULL;
    }
    return "kernels stay worse whatever is left out";
}

static void leave_all_alone(Guard *guard)
{
    Withheld all = {.function = NULL};
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        all.phase[phase] = true;
    vec_clear(&guard->options->pipeline.withheld);
    vec_push(&guard->options->pipeline.withheld, all);
}

/* NULL, or why the original is to be used. */
static const char *judge_texts(Guard *guard)
{
    Trial *const both[] = {&guard->original, &guard->best};
    if (!scratch_open(&guard->best.said) || !trials_optimize(&guard->assembler, both + 1, guard->options, 1))
        return no_text;
    if (trial_has_text(&guard->best, guard->options->input))
        return NULL;
    find_changed(guard);
    find_rewrites(guard);
    trim(guard, &guard->original, guard->changed);
    if (!guard->delivers)
        trim(guard, &guard->best, guard->changed);
    trials_assemble(&guard->assembler, both, 2, NULL, NULL);
    const char *trouble = trial_read(&guard->assembler, &guard->original, "original");
    if (trouble)
        return trouble;
    trouble = trial_read(&guard->assembler, &guard->best, "optimized text");
    if (trouble)
        return trouble;
    return add_suspects(guard, &guard->best.cubin) ? hold_back(guard) : NULL;
}

static void say_held_back(const Guard *guard, FILE *notes)
{
    const PhaseTable *table = guard->options->pipeline.table;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        const Suspect *suspect = &guard->suspects.v[i];
        Suspect all = {.name = suspect->name};
        do_without_those_that_rewrote(guard, &all);
        bool alone = phases_without(&all) <= phases_without(suspect);
        u32 said = 0;
        fprintf(notes, "ptxopt: note: '%s' is ", suspect->name);
        alone &= !suspect->good;
        if (suspect->good)
            fprintf(notes, "optimized with no more than %u rewrite%s of ", suspect->good, suspect->good == 1 ? "" : "s");
        else
            fputs(alone ? "left alone" : "optimized without ", notes);
        for (u32 phase = 0; phase < table->phases && !alone; phase++)
            if (suspect->without[phase])
                fprintf(notes, "%s%s", said++ ? ", " : "", table->phase[phase].name);
        fprintf(notes, ": ptxas made it worse: %s\n", suspect->moved);
    }
}

/* Hands over the best text's machine code; the original's, if that is the best and all of it has been assembled. */
static void deliver(Guard *guard)
{
    GuardResult *result = guard->result;
    Trial *trial = guard->best.read ? &guard->best : &guard->original;
    result->held_back = guard->suspects.n;
    if (!trial->read || !guard->delivers || (trial == &guard->original && trial->text.fd >= 0))
        return;
    result->cubin = trial->path;
    if (trial != &guard->original)
        result->input = arena_copy(guard->arena, trial->text.path, strlen(trial->text.path));
    result->out = trial->out;
    result->error = trial->error;
    trial->path = NULL;
    trial->out.fd = trial->error.fd = -1;
}

GuardResult guard_run(Arena *arena, Options *options, const AssembleCommand *command, bool delivers, FILE *notes)
{
    GuardResult result = {.out = {.fd = -1}, .error = {.fd = -1}};
    Guard guard = {.arena = arena, .options = options, .result = &result, .delivers = delivers};
    trial_init(&guard.original);
    trial_init(&guard.best);
    guard.assembler = assembler_start(arena, command, options->guard_limit);
    result.trouble = guard.assembler.folder ? judge_texts(&guard) : "no temporary folder";
    result.assembler = guard.assembler;
    if (result.trouble) {
        leave_all_alone(&guard);
    } else {
        deliver(&guard);
        if (notes)
            say_held_back(&guard, notes);
    }
    for (u32 i = 0; i < options->pipeline.withheld.n; i++) { /* the names live as long as the cubin */
        Withheld *withheld = &options->pipeline.withheld.v[i];
        withheld->function = withheld->function ? arena_copy(arena, withheld->function, strlen(withheld->function)) : NULL;
    }
    trial_end(&guard.original);
    trial_end(&guard.best);
    for (u32 i = 0; i < guard.assembled.n; i++)
        trial_end(guard.assembled.v[i]);
    vec_free(&guard.assembled);
    vec_free(&guard.suspects);
    vec_free(&guard.rewrites);
    parts_free(&guard.parts);
    return result;
}

void guard_end(GuardResult *result)
{
    scratch_close(&result->out);
    scratch_close(&result->error);
    if (result->cubin)
        unlink(result->cubin);
    assembler_end(&result->assembler);
    *result = (GuardResult){.out = {.fd = -1}, .error = {.fd = -1}};
}
