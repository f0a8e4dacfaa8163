/* Assembles the optimized text, and beside it the originals of changed groups. A group that ptxas made worse is left alone as a
 * whole. That may change what is made of the rest, so texts are compared again until every group has a verdict. */
#define _GNU_SOURCE
#include "judge/guard/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "check/proof/proof.h"
#include "judge/guard/guard_inside.h"
#include "judge/ptxas/child.h"
#include "judge/ptxas/folder.h"
#include "pipeline/advice.h"

enum { MOST_ROUNDS = 12, MOST_REVERTS = 2 /* of parts of a group, before all of it */ };

/* ---- texts -------------------------------------------------------------------------------------------------------- */

/* Forgets the best text. If it is to be delivered, it stays in the caller's files. */
static void forget_best(Guard *guard)
{
    if (guard->delivery)
        guard->best.text.fd = guard->best.out.fd = guard->best.error.fd = -1;
    trial_end(&guard->best);
}

static bool make_best(Guard *guard)
{
    Trial *const best = &guard->best;
    forget_best(guard);
    if (guard->rewrites.fd >= 0 && !scratch_clear(&guard->rewrites))
        return false;
    if (guard->delivery) {
        best->text = guard->delivery->text;
        if (!scratch_clear(&best->text))
            return false;
    }
    return trials_optimize(&guard->assembler, &best, guard->options, 1);
}

/* ---- what is worse ------------------------------------------------------------------------------------------------ */

static void withhold(Guard *guard, u32 part)
{
    const char *name = guard->parts.part.v[part].name;
    if (!guard->alone[part])
        guard_withhold(guard, arena_copy(guard->arena, name, strlen(name)));
    guard->alone[part] = true;
}

/* Tells of a part that the verdict leaves alone; `first` is one that got worse. */
static void tell(Guard *guard, u32 part, const GuardVerdict *verdict, u32 first)
{
    const Part *parts = guard->parts.part.v;
    const char *how = verdict->why[part] ? "left alone" : arena_printf(guard->arena, "left alone with '%s'", parts[first].name);
    guard_hold_back(guard, parts[part].name, how, verdict->why[verdict->why[part] ? part : first]);
}

/* What a verdict leaves alone: what got worse, with what that may call. All of the group where that is nothing new, or has not been
 * enough before: the rest of it is judged again each time. */
static void find_alone(Guard *guard, u32 group, const GuardVerdict *verdict, bool *alone)
{
    bool any_new = false;
    verdict_mark_alone(guard, verdict, alone);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        any_new |= alone[i] && guard_is_changed(guard, i);
    bool all = !any_new || guard->reverts[group]++ >= MOST_REVERTS;
    for (u32 i = 0; i < guard->parts.part.n; i++)
        alone[i] |= all && guard->parts.part.v[i].group == group;
}

static void leave_alone(Guard *guard, u32 group, const GuardVerdict *verdict)
{
    bool *alone = mem_zalloc(guard->parts.part.n + 1);
    u32 first = 0;
    while (!verdict->why[first])
        first++;
    find_alone(guard, group, verdict, alone);
    for (u32 i = 0; i < guard->parts.part.n; i++) {
        if (alone[i] && !guard->alone[i] && (verdict->why[i] || guard_is_changed(guard, i)))
            tell(guard, i, verdict, first);
        if (alone[i])
            withhold(guard, i);
    }
    mem_free(alone);
}

/* Leaves alone what is known to be worse; whether there was any. Where nothing is known, ptxas is to be asked. */
static bool apply_verdicts(Guard *guard, bool *asks)
{
    bool any = false;
    *asks = false;
    for (u32 g = 0; g < guard->parts.groups; g++) {
        const GuardVerdict *verdict = guard->changed[g] ? verdict_find(guard, g) : NULL;
        guard->asked[g] = guard->changed[g] && !verdict;
        *asks |= guard->asked[g];
        if (!verdict || !verdict->why)
            continue;
        leave_alone(guard, g, verdict);
        any = true;
    }
    return any;
}

/* A function inside of its caller's section is judged with it. */
static bool holds(const Cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (!cubin->functions[i].inner && strcmp(cubin->functions[i].name, name) == 0)
            return true;
    return false;
}

/* Whether ptxas has made both versions of all kernels of the group: with --entry it leaves some out. */
static bool is_complete(const Guard *guard, u32 group)
{
    bool complete = true;
    for (u32 i = 0; i < guard->parts.part.n; i++) {
        const Part *part = &guard->parts.part.v[i];
        if (part->group == group && part->is_entry)
            complete &= holds(&guard->original.cubin, part->name) && holds(&guard->best.cubin, part->name);
    }
    return complete;
}

static void judge_group(Guard *guard, u32 group)
{
    const char **why = arena_array(guard->arena, const char *, guard->parts.part.n);
    bool any = false;
    for (u32 i = 0; i < guard->parts.part.n; i++) {
        const Part *part = &guard->parts.part.v[i];
        if (part->group == group && (holds(&guard->original.cubin, part->name) ||
                                     (part->is_entry && holds(&guard->best.cubin, part->name))))
            why[i] = guard_worse_by(guard, part->name, &guard->best.cubin);
        any |= why[i] != NULL;
    }
    verdict_add(guard, group, any ? why : NULL, is_complete(guard, group));
}

/* Whether the machine code is of another module: of kernels that this one does not have. */
static bool is_of_another(const Guard *guard, const Cubin *cubin)
{
    for (size_t i = 0; i < cubin->count; i++)
        if (cubin->functions[i].kernel && guard_part_of(guard, cubin->functions[i].name) < 0)
            return true;
    return false;
}

/* Reads what ptxas has made of a trial, once. NULL, or why it cannot be judged. */
static const char *read_trial(const Guard *guard, Trial *trial, const char *what)
{
    const char *trouble = trial->read ? NULL : trial_read(&guard->assembler, trial, what);
    if (!trouble && is_of_another(guard, &trial->cubin))
        trouble = arena_printf(guard->arena, "what ptxas made of the %s is of another module", what);
    return trouble;
}

/* Opens what is to be assembled of the best text. */
static bool prepare_best(Guard *guard)
{
    if (!guard->delivery) {
        guard_trim(guard, &guard->best, guard->asked);
        return true;
    }
    guard->best.out = guard->delivery->out;
    guard->best.error = guard->delivery->error;
    return scratch_clear(&guard->best.out) && scratch_clear(&guard->best.error);
}

/* Whether the original has been assembled with all that is asked about. */
static bool has_original(const Guard *guard)
{
    bool has = guard->covered && guard->original.read;
    for (u32 g = 0; g < guard->parts.groups && has; g++)
        has = guard->covered[g] || !guard->asked[g];
    return has;
}

/* NULL, or why nothing can be said. */
static const char *ask_prepared(Guard *guard)
{
    Trial *const both[] = {&guard->best, &guard->original};
    bool again = !has_original(guard);
    if (again) {
        trial_end(&guard->original);
        guard_trim(guard, &guard->original, guard->asked);
        guard->covered = arena_array(guard->arena, bool, guard->parts.groups);
        memcpy(guard->covered, guard->asked, guard->parts.groups);
    }
    trials_assemble(&guard->assembler, both, again ? 2 : 1);
    const char *trouble = read_trial(guard, &guard->original, "original");
    trouble = trouble ? trouble : read_trial(guard, &guard->best, "optimized text");
    for (u32 g = 0; g < guard->parts.groups && !trouble; g++)
        if (guard->asked[g])
            judge_group(guard, g);
    return trouble;
}

static const char *ask(Guard *guard) { return prepare_best(guard) ? ask_prepared(guard) : "no temporary file"; }

/* Judges the groups that are likely to be worse by themselves. NULL, or why nothing can be said. */
static const char *probe(Guard *guard)
{
    bool *all = guard->asked, *probed = arena_array(guard->arena, bool, guard->parts.groups);
    if (!guard->delivery || guard->probed || !risk_find_probes(guard, probed))
        return NULL;
    Trial whole = guard->best;
    trial_init(&guard->best);
    guard->probed = true;
    guard->asked = probed;
    guard->best.text = guard_cut(guard, &guard->made, probed);
    const char *trouble = guard->best.text.fd >= 0 ? ask_prepared(guard) : "no temporary file";
    trial_end(&guard->best);
    guard->best = whole;
    guard->asked = all;
    return trouble;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

static void begin_groups(Guard *guard)
{
    if (guard->reverts)
        return;
    guard->reverts = arena_array(guard->arena, u32, guard->parts.groups);
    guard->alone = arena_array(guard->arena, bool, guard->parts.part.n);
}

/* Judges the best text by its kernels. NULL, or why the original is to be used. `*again`: something has been left alone. */
static const char *judge_best(Guard *guard, bool *again)
{
    if (!guard_compare(guard, guard->best.text.path))
        return guard_no_parts;
    begin_groups(guard);
    risk_find(guard);
    bool asks;
    *again = apply_verdicts(guard, &asks);
    if (*again && asks)
        return NULL;
    const char *trouble = asks ? probe(guard) : NULL;
    *again |= !trouble && asks && apply_verdicts(guard, &asks);
    if (trouble || *again || !asks)
        return trouble;
    trouble = ask(guard);
    *again = !trouble && apply_verdicts(guard, &asks);
    return trouble;
}

/* Judges texts until nothing in one is worse. NULL, or why the original is to be used. */
static const char *judge_texts(Guard *guard)
{
    const char *trouble = NULL;
    bool again = true, made = guard->delivery;
    for (u32 round = 0; round < MOST_ROUNDS && again && !trouble; round++, made = false) {
        if (!made && !make_best(guard))
            return guard_no_text;
        if (text_equals_file(&guard->best.text, guard->options->input))
            return NULL;
        trouble = judge_best(guard, &again);
    }
    return trouble ? trouble : again ? "kernels stay worse whatever is left out" : NULL;
}

/* Makes the text that is remembered of the input. False: none is, or another one is made now. */
static bool recall_best(Guard *guard)
{
    u64 made;
    if (!recall_find(guard, &made))
        return false;
    bool same = make_best(guard) && recall_is_made(&guard->best.text, made);
    if (!same)
        recall_forget(guard);
    return same;
}

/* As judge_texts(), with what is remembered. The delivery's text was made without that. */
static const char *judge_input(Guard *guard)
{
    verdict_begin(guard);
    if (!guard->delivery && recall_best(guard))
        return NULL;
    const char *trouble = judge_texts(guard);
    if (!trouble)
        recall_add(guard);
    return trouble;
}

static void leave_all_alone(Guard *guard)
{
    Withheld all = {.function = NULL};
    memset(all.phase, true, sizeof all.phase);
    vec_clear(&guard->options->pipeline.withheld);
    vec_push(&guard->options->pipeline.withheld, all);
    vec_clear(&guard->result->held_back);
}

static void copy_said(const Scratch *from, Scratch *to)
{
    size_t bytes = 0;
    char *said = scratch_read(from, &bytes);
    (void)(scratch_clear(to) && said && scratch_write(to, said, bytes));
    free(said);
}

/* Hands over machine code of the text to deliver, if ptxas has made it. Where nothing else is left of it, that is the
 * machine code of all of the original. */
static void deliver(Guard *guard)
{
    Trial *trial = &guard->best;
    guard->result->is_original = text_equals_file(&trial->text, guard->options->input);
    if (guard->result->is_original && guard->original.read && guard->original.text.fd < 0) {
        trial = &guard->original;
        copy_said(&trial->out, &guard->delivery->out);
        copy_said(&trial->error, &guard->delivery->error);
    }
    Str cubin = {NULL, 0};
    guard->result->is_judged = trial->read && source_read(trial->path, &cubin) && scratch_clear(&guard->delivery->cubin) &&
                               scratch_write(&guard->delivery->cubin, cubin.p, cubin.len);
    source_free(&cubin);
}

static const char *run(Guard *guard)
{
    if (!guard->assembler.folder)
        return "no temporary folder";
    if (!guard->options->guard_search)
        return judge_input(guard);
    const char *trouble = search_run(guard);
    return trouble || !guard->delivery || make_best(guard) ? trouble : guard_no_text;
}

/* ---- what is spilled ---------------------------------------------------------------------------------------------- */

static void add_spill(Arena *arena, const Cubin *cubin, size_t function, VecSpilled *spills)
{
    Unit unit;
    if (cubin->functions[function].inner || !unit_read(&unit, cubin, function))
        return;
    const char *name = cubin->functions[function].name;
    u64 bytes = unit.spilled_stores + unit.spilled_loads;
    if (bytes)
        vec_push(spills, ((Spilled){arena_copy(arena, name, strlen(name)), bytes, advice_of_spill(arena, bytes, false)}));
    unit_free(&unit);
}

void guard_find_spills(Arena *arena, const char *path, VecSpilled *spills)
{
    Cubin cubin;
    if (cubin_open(&cubin, path))
        return;
    for (size_t i = 0; i < cubin.count; i++)
        add_spill(arena, &cubin, i, spills);
    cubin_close(&cubin);
}

/* Assembles the text that is decided on: what is said of it must not depend on what had to be asked. */
static void note_spills(Guard *guard)
{
    Trial *const best = &guard->best;
    if (!make_best(guard) || text_equals_file(&best->text, guard->options->input))
        return;
    trials_assemble(&guard->assembler, &best, 1);
    if (trial_assembled(best))
        guard_find_spills(guard->arena, best->path, &guard->result->spills);
}

/* ---- the calls ---------------------------------------------------------------------------------------------------- */

GuardResult guard_run(Arena *arena, Options *options, const AssembleCommand *command, GuardDelivery *delivery)
{
    GuardResult result = {.trouble = NULL};
    Guard guard = {.arena = arena, .options = options, .result = &result, .delivery = delivery};
    trial_init(&guard.original);
    trial_init(&guard.best);
    guard.assembler = assembler_start(arena, command, options->guard_limit);
    guard.assembler.asks = true;
    guard.assembler.name = delivery ? NULL : "ptxopt: guard";
    guard.rewrites.fd = -1;
    if (delivery)
        guard.rewrites = delivery->rewrites;
    else
        (void)scratch_open(&guard.rewrites);
    options->pipeline.rewrites = guard.rewrites.fd > 0 ? guard.rewrites.fd : 0;
    if (delivery)
        guard.best.text = delivery->text;
    result.trouble = run(&guard);
    if (result.trouble)
        leave_all_alone(&guard);
    else if (delivery)
        deliver(&guard);
    else if (options->wants_spills)
        note_spills(&guard);
    trial_end(&guard.original);
    forget_best(&guard);
    assembler_end(&guard.assembler);
    options->pipeline.rewrites = 0;
    if (!delivery)
        scratch_close(&guard.rewrites);
    vec_free(&guard.verdicts);
    parts_free(&guard.parts);
    parts_free(&guard.made);
    return result;
}

bool guard_recall(Arena *arena, Options *options, const AssembleCommand *command, GuardResult *result, u64 *made)
{
    *result = (GuardResult){.trouble = NULL};
    Guard guard = {.arena = arena, .options = options, .result = result, .assembler.command = command};
    if (!folder_make(arena))
        return false;
    folder_remove();
    verdict_begin(&guard);
    return recall_find(&guard, made);
}

bool guard_recalled(const Scratch *text, u64 made) { return recall_is_made(text, made); }

void guard_end(GuardResult *result)
{
    vec_free(&result->held_back);
    vec_free(&result->spills);
}

/* Decides first what ptxas is asked about; then makes the text as without a guard. */
ToolStatus guard_optimize_file(Options *options)
{
    Arena arena = {0};
    Scratch copy = {.fd = -1};
    const char *why = NULL;
    options->wants_spills = options->explain || options->remarks;
    if (!input_set_aside(options, &copy))
        return TOOL_BAD_INPUT;
    if (!options->guard_search && cache_complain(&arena))
        fprintf(stderr, "ptxopt: warning: %s\n", cache_complain(&arena));
    AssembleCommand command =
        assemble_command(&arena, "--guard", options->guard_by, options->guard_arch, options->input, &why);
    ToolStatus status = TOOL_BAD_INPUT;
    if (!command.ptxas) {
        fprintf(stderr, "ptxopt: error: %s\n", why);
    } else {
        GuardResult result = guard_run(&arena, options, &command, NULL);
        for (u32 i = 0; i < result.held_back.n; i++)
            fprintf(stderr, "ptxopt: note: '%s' is %s: ptxas made it worse: %s\n", result.held_back.v[i].name,
                    result.held_back.v[i].how, result.held_back.v[i].why);
        options->pipeline.spills = result.spills;
        result.spills = (VecSpilled){0};
        status = proof_optimize_file(options);
        if (result.trouble && status == TOOL_OK)
            fprintf(stderr, "ptxopt: warning: %s: the original is used: %s\n", options->input_name, result.trouble);
        guard_end(&result);
    }
    vec_free(&options->pipeline.withheld);
    vec_free(&options->pipeline.spills);
    scratch_close(&copy);
    arena_free(&arena);
    return status;
}
