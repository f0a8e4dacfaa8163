/* The search for the phases that made machine code worse: halves of them are left out, then parts of their rewrites. */
#define _GNU_SOURCE
#include "judge/guard/guard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/proof/proof.h"
#include "judge/ptxas/child.h"
#include "judge/guard/guard_suspect.h"

enum { MOST_ROUNDS = 4, REWRITE_ROUNDS = 2, MOST_REPAIRS = 3 };

static const char no_text[] = "the text could not be optimized";

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
        if (try == TRY_PHASES && suspect_phases(suspect) > 1)
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
        if (suspect_phases(suspect) < 2)
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
    if (guard->original.read && text_equals_file(&trial->text, guard_path_of(guard, &guard->original)))
        return &guard->original;
    for (u32 i = 0; i < guard->assembled.n; i++)
        if (guard->assembled.v[i]->read && text_equals_file(&trial->text, guard_path_of(guard, guard->assembled.v[i])))
            return guard->assembled.v[i];
    return NULL;
}

/* Has those texts of the search assembled that are new: the trials become those that hold their machine code. */
static void assemble_new(Guard *guard, Trial *trial[2])
{
    Trial *new[2];
    u32 count = 0;
    for (int half = 0; half < 2; half++) {
        guard_trim_to_suspects(guard, trial[half]);
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
    if (text_equals_file(&best->text, guard->options->input))
        return NULL; /* the original: nothing to assemble */
    if (!guard->delivers)
        guard_trim(guard, best, guard->changed);
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
        several |= suspect_phases(&guard->suspects.v[i]) > 1;
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
        if (suspect_phases(&others))
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
        int group = guard_group_of(guard, suspect->name);
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
        if (!guard->best.read || !guard_add_suspects(guard, &guard->best.cubin))
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
    if (text_equals_file(&guard->best.text, guard->options->input))
        return NULL;
    guard_find_changed(guard);
    guard_find_rewrites(guard);
    guard_trim(guard, &guard->original, guard->changed);
    if (!guard->delivers)
        guard_trim(guard, &guard->best, guard->changed);
    trials_assemble(&guard->assembler, both, 2, NULL, NULL);
    const char *trouble = trial_read(&guard->assembler, &guard->original, "original");
    if (trouble)
        return trouble;
    trouble = trial_read(&guard->assembler, &guard->best, "optimized text");
    if (trouble)
        return trouble;
    return guard_add_suspects(guard, &guard->best.cubin) ? hold_back(guard) : NULL;
}

static void say_held_back(const Guard *guard, FILE *notes)
{
    const PhaseTable *table = guard->options->pipeline.table;
    for (u32 i = 0; i < guard->suspects.n; i++) {
        const Suspect *suspect = &guard->suspects.v[i];
        Suspect all = {.name = suspect->name};
        suspect_do_without_those_that_rewrote(guard, &all);
        bool alone = suspect_phases(&all) <= suspect_phases(suspect);
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

/* What ptxas is asked about is decided first; then the text is made as without a guard. */
ToolStatus guard_optimize_file(Options *options)
{
    Arena arena = {0};
    Scratch copy = {.fd = -1};
    const char *why = NULL;
    if (!input_set_aside(options, &copy))
        return TOOL_BAD_INPUT;
    AssembleCommand command =
        assemble_command(&arena, "--guard", options->guard_by, options->guard_arch, options->input, &why);
    ToolStatus status = TOOL_BAD_INPUT;
    if (!command.ptxas) {
        fprintf(stderr, "ptxopt: error: %s\n", why);
    } else {
        GuardResult result = guard_run(&arena, options, &command, false, stderr);
        status = proof_optimize_file(options);
        if (result.trouble && status == TOOL_OK)
            fprintf(stderr, "ptxopt: warning: %s: the original is used: %s\n", options->input_name, result.trouble);
        guard_end(&result);
    }
    vec_free(&options->pipeline.withheld);
    scratch_close(&copy);
    arena_free(&arena);
    return status;
}
