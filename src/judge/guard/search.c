/* The search for the phases that made machine code worse: leaves out halves of them, then parts of their rewrites. */
#include <string.h>

#include "judge/guard/suspect.h"

enum { MOST_ROUNDS = 4, REWRITE_ROUNDS = 2, MOST_REPAIRS = 3 };

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

/* The purpose of a text: to try a half of the phases, or a part of their rewrites, or to be delivered. */
typedef enum Try { TRY_PHASES, TRY_REWRITES, TRY_NOTHING } Try;

/* part: 0 or 1. */
static void withhold(const Search *search, Try try, int part, VecWithheld *withheld)
{
    vec_clear(withheld);
    for (u32 i = 0; i < search->suspects.n; i++) {
        const Suspect *suspect = &search->suspects.v[i];
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
static bool learn(Search *search, Trial *const trial[2])
{
    bool any = false;
    for (u32 i = 0; i < search->suspects.n; i++) {
        Suspect *suspect = &search->suspects.v[i];
        if (suspect_phases(suspect) < 2)
            continue;
        for (int half = 0; half < 2; half++) {
            if (!trial[half]->read || suspect_is_worse(search, suspect, &trial[half]->cubin))
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

static bool learn_limits(Search *search, Trial *const trial[2])
{
    bool any = false;
    for (u32 i = 0; i < search->suspects.n; i++) {
        Suspect *suspect = &search->suspects.v[i];
        u32 tried[2] = {rewrites_to_try(suspect, 0), rewrites_to_try(suspect, 1)};
        for (int part = 0; part < 2 && suspect->bad && trial[part]->read; part++) {
            bool worse = suspect_is_worse(search, suspect, &trial[part]->cubin);
            if (!worse && tried[part] > suspect->good)
                suspect->good = tried[part];
            else if (worse && tried[part] > suspect->good && tried[part] < suspect->bad)
                suspect->bad = tried[part];
        }
        any |= suspect->bad > suspect->good + 1;
    }
    return any;
}

/* The trial whose text ptxas has already assembled; NULL: there is none. */
static Trial *find_assembled(Search *search, const Trial *trial)
{
    if (search->guard->original.read &&
        text_equals_file(&trial->text, guard_path_of(search->guard, &search->guard->original)))
        return &search->guard->original;
    for (u32 i = 0; i < search->assembled.n; i++)
        if (search->assembled.v[i]->read &&
            text_equals_file(&trial->text, guard_path_of(search->guard, search->assembled.v[i])))
            return search->assembled.v[i];
    return NULL;
}

/* Has those texts of the search assembled that are new: the trials become those that hold their machine code. */
static void assemble_new(Search *search, Trial *trial[2])
{
    Trial *new[2];
    u32 count = 0;
    for (int half = 0; half < 2; half++) {
        suspects_trim(search, trial[half]);
        Trial *same = find_assembled(search, trial[half]);
        if (!same)
            new[count++] = trial[half];
        else
            trial[half] = same;
    }
    trials_assemble(&search->guard->assembler, new, count);
    for (u32 i = 0; i < count; i++)
        if (trial_assembled(new[i]))
            (void)trial_read(&search->guard->assembler, new[i], "text without some phases");
}

/* Tries two ways to do without, each for all suspects, and learns from what ptxas makes of them. Whether another round may find less. */
static bool search_round(Search *search, Try try)
{
    Trial *trial[2];
    Options options[2] = {*search->guard->options, *search->guard->options};
    for (int half = 0; half < 2; half++) {
        trial[half] = arena_new(search->guard->arena, Trial);
        trial_init(trial[half]);
        vec_push(&search->assembled, trial[half]);
        options[half].pipeline.withheld = (VecWithheld){0};
        withhold(search, try, half, &options[half].pipeline.withheld);
    }
    bool made = trials_optimize(&search->guard->assembler, trial, options, 2);
    if (made)
        assemble_new(search, trial);
    bool more = made && (try == TRY_PHASES ? learn : learn_limits)(search, trial);
    for (int half = 0; half < 2; half++)
        vec_free(&options[half].pipeline.withheld);
    return more;
}

/* Makes the text that all was learned for; NULL, or why it cannot be judged. */
static const char *make_best(Search *search, const char *what)
{
    Guard *guard = search->guard;
    Trial *const best = &search->best;
    trial_end(best);
    if (!trials_optimize(&guard->assembler, &best, guard->options, 1))
        return guard_no_text;
    if (text_equals_file(&best->text, guard->options->input))
        return NULL; /* the original: nothing to assemble */
    guard_trim(guard, best, guard->changed);
    Trial *same = find_assembled(search, best);
    if (same && same != &guard->original) {
        trial_end(best);
        *best = *same;
        trial_init(same);
        return NULL;
    }
    trials_assemble(&guard->assembler, &best, 1);
    return trial_read(&guard->assembler, best, what);
}

static bool has_several_phases(const Search *search)
{
    bool several = false;
    for (u32 i = 0; i < search->suspects.n; i++)
        several |= suspect_phases(&search->suspects.v[i]) > 1;
    return several;
}

/* Searches the clean-up's changes only if nothing else was rewritten: it is to blame least often. */
static void trust_cleanup(Search *search)
{
    const PhaseTable *table = search->guard->options->pipeline.table;
    for (u32 i = 0; i < search->suspects.n; i++) {
        Suspect *suspect = &search->suspects.v[i], others = *suspect;
        for (u32 phase = 0; phase < table->phases; phase++)
            others.without[phase] &= table->phase[phase].after != OF_CLEANUP;
        if (suspect_phases(&others))
            *suspect = others;
    }
}

/* Rewrites of a suspect that neither calls a function nor is called, by the phases that it does without, are searched one by one. Whether
 * there are several of any. */
static bool set_limits(Search *search)
{
    bool any = false;
    for (u32 i = 0; i < search->suspects.n; i++) {
        Suspect *suspect = &search->suspects.v[i];
        int group = guard_group_of(search->guard, suspect->name);
        u32 count = 0, functions = 0;
        for (u32 k = 0; k < search->guard->parts.part.n; k++)
            functions += (int)search->guard->parts.part.v[k].group == group;
        for (u32 k = 0; k < search->rewrites.n; k++)
            if (search->rewrites.v[k].group == group && suspect->without[search->rewrites.v[k].phase])
                count += search->rewrites.v[k].count;
        suspect->bad = functions == 1 && count > 1 ? count : 0;
        any |= suspect->bad > 0;
    }
    return any;
}

/* Phases are withheld until nothing is worse; what stays worse is left alone. */
static const char *hold_back(Search *search)
{
    trust_cleanup(search);
    for (u32 round = 0; round < MOST_ROUNDS && has_several_phases(search) && search_round(search, TRY_PHASES); round++)
        ;
    for (u32 round = 0, open = set_limits(search); round < REWRITE_ROUNDS && open; round++)
        open = search_round(search, TRY_REWRITES);
    for (u32 i = 0; i < search->suspects.n; i++)
        search->suspects.v[i].bad = 0;
    for (u32 repair = 0; repair < MOST_REPAIRS; repair++) {
        withhold(search, TRY_NOTHING, 0, &search->guard->options->pipeline.withheld);
        const char *trouble = make_best(search, "text without some phases");
        if (trouble)
            return trouble;
        if (!search->best.read || !suspects_add(search, &search->best.cubin))
            return NULL;
    }
    return "kernels stay worse whatever is left out";
}

/* NULL, or why the original is to be used. */
static const char *judge_texts(Search *search)
{
    Guard *guard = search->guard;
    Trial *const both[] = {&guard->original, &search->best};
    if (!scratch_open(&search->best.said) || !trials_optimize(&guard->assembler, both + 1, guard->options, 1))
        return guard_no_text;
    if (text_equals_file(&search->best.text, guard->options->input))
        return NULL;
    if (!guard_compare(guard, search->best.text.path))
        return guard_no_parts;
    suspects_find_rewrites(search);
    for (u32 side = 0; side < 2; side++)
        guard_trim(guard, both[side], guard->changed);
    trials_assemble(&guard->assembler, both, 2);
    const char *trouble = trial_read(&guard->assembler, both[0], "original");
    trouble = trouble ? trouble : trial_read(&guard->assembler, both[1], "optimized text");
    return trouble ? trouble : suspects_add(search, &search->best.cubin) ? hold_back(search) : NULL;
}

/* "left alone", "optimized without jump-threading". */
static const char *describe(const Search *search, const Suspect *suspect)
{
    const PhaseTable *table = search->guard->options->pipeline.table;
    Arena *arena = search->guard->arena;
    Suspect all = {.name = suspect->name};
    suspect_do_without_those_that_rewrote(search, &all);
    if (!suspect->good && suspect_phases(&all) <= suspect_phases(suspect))
        return "left alone";
    const char *how = !suspect->good      ? "optimized without"
                      : suspect->good > 1 ? arena_printf(arena, "optimized with no more than %u rewrites of", suspect->good)
                                          : "optimized with no more than 1 rewrite of";
    const char *separator = " ";
    for (u32 phase = 0; phase < table->phases; phase++)
        if (suspect->without[phase]) {
            how = arena_printf(arena, "%s%s%s", how, separator, table->phase[phase].name);
            separator = ", ";
        }
    return how;
}

const char *search_run(Guard *guard)
{
    Search search = {.guard = guard};
    trial_init(&search.best);
    const char *trouble = judge_texts(&search);
    for (u32 i = 0; i < search.suspects.n && !trouble; i++)
        guard_hold_back(guard, search.suspects.v[i].name, describe(&search, &search.suspects.v[i]),
                        search.suspects.v[i].moved);
    VecWithheld *withheld = &guard->options->pipeline.withheld; /* whose names live as long as the machine code */
    for (u32 i = 0; i < withheld->n; i++)
        withheld->v[i].function = arena_copy(guard->arena, withheld->v[i].function, strlen(withheld->v[i].function));
    trial_end(&search.best);
    for (u32 i = 0; i < search.assembled.n; i++)
        trial_end(search.assembled.v[i]);
    vec_free(&search.assembled);
    vec_free(&search.suspects);
    vec_free(&search.rewrites);
    return trouble;
}
