/* One step on one function, and the checks after it. */
#include "pipeline/runner.h"

#include "base/bound.h"
#include "analysis/convergence.h"
#include "base/clock.h"
#include "base/limit.h"
#include "ir/cfg.h"
#include "ir/edit.h"

#ifdef PTXOPT_DEBUG
#define ALWAYS_VERIFY true
#else
#define ALWAYS_VERIFY false
#endif

void step_start_analyses(const Runner *runner, Analyses *an, Function *fn)
{
    analyses_init(an, fn);
    an->summaries = runner->summaries;
    an->clock = runner->stats->timed ? clock_now : NULL;
}

static void print_state(Runner *runner, Function *fn, const char *when, const char *phase)
{
    PrintOptions options = {.reprint = runner->config->reprint};
    fprintf(runner->messages, "// *** %s %s: %s ***\n", when, phase, fn->name->text);
    print_function(runner->messages, fn, &options);
    putc('\n', runner->messages);
}

/* ---- the checker: it computes its own analyses, so that it does not rely on those that phases keep --------------- */

static bool checks(const Runner *runner)
{
    return runner->config->verify_each || (ALWAYS_VERIFY && !runner->config->no_gates);
}

/* The convergence of fn, which a phase must not change; NULL when nothing is checked. Free it with convergence_free. */
static Convergence *snapshot(Runner *runner, Function *fn, Arena *arena)
{
    if (!checks(runner))
        return NULL;
    double start = stats_clock(runner->stats);
    Analyses an;
    step_start_analyses(runner, &an, fn);
    Convergence *before = convergence_snapshot(arena, &an);
    analyses_free(&an);
    runner->stats->step[STEP_VERIFY] += stats_clock(runner->stats) - start;
    return before;
}

/* What is wrong with fn, or NULL. before, kept: of the step that has just run, or NULL; changed: what it did. */
static const char *find_fault(const Runner *runner, Function *fn, const Convergence *before, const Analyses *kept,
                              bool changed, Arena *arena)
{
    const ThreadsCheck *threads = &runner->config->threads;
    const char *fault = verify_function(fn, arena);
    if (!fault && fn->cfg)
        fault = cfg_verify(fn, arena);
    if (fault || !before)
        return fault;
    const char *stale = analyses_stale(kept);
    if (stale)
        return arena_printf(arena, "what it kept of %s is no longer true", stale);
    Analyses an;
    step_start_analyses(runner, &an, fn);
    fault = convergence_compare(before, &an, arena);
    analyses_free(&an);
    return !fault && changed && threads->fault ? threads->fault(threads->user, fn) : fault;
}

/* Whether the function is in order after `what`, a phase or parsing. If not, it reports that. */
static bool verify(Runner *runner, Function *fn, const Convergence *before, const Analyses *kept, bool changed,
                   const char *what)
{
    if (!checks(runner))
        return true;
    Arena arena = {0};
    double start = stats_clock(runner->stats);
    const char *fault = find_fault(runner, fn, before, kept, changed, &arena);
    runner->stats->step[STEP_VERIFY] += stats_clock(runner->stats) - start;
    if (fault)
        fprintf(runner->messages, "ptxopt: internal error: function '%s' is broken after %s: %s\n", fn->name->text, what,
                fault);
    arena_free(&arena);
    return !fault;
}

/* ---- calling phases ---------------------------------------------------------------------------------------------- */

static double seconds_but_for_analyses(const Runner *runner, const Analyses *an)
{
    return stats_clock(runner->stats) - an->seconds;
}

static PhaseRun start_run(Runner *runner, u32 phase, const Function *fn, Arena *kept)
{
    bool named = runner->current.own->named_phases || runner->current.own->enabled[phase],
         chosen = named || runner->config->judged || runner->current.own->judged;
    return (PhaseRun){
        .phase = step_phase(runner, phase)->name,
        .fn = fn,
        .level = runner->current.level > 0 ? runner->current.level : 1,
        .chosen = chosen,
        .aggressive = runner->current.level >= 3 || chosen,
        .risky = runner->current.level >= 3 || named,
        .first_round = runner->first_round,
        .kept = kept,
        .origins = fn->edits.origins,
        .spent = &runner->current.spent[phase],
        .copied = &runner->current.copied,
        .sink = &runner->sink,
    };
}

static void end_run(PhaseRun *run)
{
    vec_free(&run->declined);
    fnvmap_free(&run->said);
}

static void note_change(Runner *runner, u32 phase, const PhaseRun *run)
{
    PhaseStats *stats = &runner->stats->phase[phase];
    runner->current.changed[phase] = runner->current.calls;
    runner->current.rewrote[phase] = true;
    if (stats->last_changed == run->fn)
        return;
    stats->changed++;
    stats->last_changed = run->fn;
    if (runner->config->rewrites)
        dprintf(runner->config->rewrites, "%s %s\n", run->phase, run->fn->name->text);
}

/* A number that differs from any before if the function was changed since, in what phases look at. */
static u32 state_of(const Function *fn) { return 1 + fn->epoch[EPOCH_CODE] + fn->edits.flattenings; }

/* Whether the phase had nothing to do when it last saw the function, which has not changed since. It is called all the same where
 * somebody counts what it declines, or the rewrites that it asks for. */
static bool has_nothing_to_do(const Runner *runner, u32 phase, const Function *fn)
{
    return runner->current.unchanged[phase] == state_of(fn) && !runner->sink.wants_reasons &&
           runner->config->bisect_limit == BISECT_OFF;
}

static bool gives_nothing_to_do(const PhaseTable *table, u32 change, u32 phase)
{
    for (const PhaseSpares *row = table->spares; row < table->spares + table->spares_rows; row++)
        if (row->change == change && row->spared == phase)
            return true;
    return false;
}

/* Whether something changed since the phase last had nothing to do, all of it by phases whose changes give it nothing to do. */
static bool is_spared(const Runner *runner, u32 phase)
{
    u32 since = runner->current.vain[phase];
    bool any = false;
    for (u32 k = 0; k < runner->config->table->phases && since; k++) {
        if (runner->current.changed[k] < since)
            continue;
        if (!gives_nothing_to_do(runner->config->table, k, phase))
            return false;
        any = true;
    }
    return any;
}

/* Notes that a phase found nothing to do in the function. One that knows less in a later call than in a first one is asked again. */
static void note_unchanged(Runner *runner, u32 phase, const PhaseRun *run)
{
    bool is_first = run->iteration == 0 || step_phase(runner, phase)->after == OF_CLEANUP;
    if (run->looks_at_jumps || run->may_do_more || (!is_first && (run->state || run->is_last)))
        return;
    runner->current.vain[phase] = runner->current.calls;
    runner->current.unchanged[phase] = state_of(run->fn);
}

/* Calls a phase once. Each call has its own arena, because in a large function the next one needs the memory. */
static PhaseResult call_phase(Runner *runner, u32 phase, Analyses *an, PhaseRun *run, u32 iteration)
{
    const PhaseInfo *info = step_phase(runner, phase);
    const Knobs *knobs = &runner->current.own->knobs;
    if (info->runs && !info->runs(knobs))
        return PHASE_UNCHANGED;
    runner->current.calls++;
    bool is_vain = has_nothing_to_do(runner, phase, an->fn);
    if ((is_vain && !checks(runner)) || is_spared(runner, phase))
        return PHASE_UNCHANGED;
    PhaseStats *stats = &runner->stats->phase[phase];
    double start = seconds_but_for_analyses(runner, an);
    Arena scratch = {0};
    limit_poll();
    runner->phase = phase;
    an->scratch = run->arena = &scratch;
    run->iteration = iteration;
    run->is_last = iteration + 1 == info->iterations;
    PhaseResult result = info->run(an, knobs, run);
    phase_report_declined(run, result != PHASE_AGAIN || run->is_last);
    an_thaw(an, AN_ALL);
    arena_free(&scratch);
    an->scratch = run->arena = NULL;
    stats->calls++;
    stats->in_vain += result == PHASE_UNCHANGED;
    runner->current.lied |= is_vain && result != PHASE_UNCHANGED;
    if (result != PHASE_UNCHANGED)
        note_change(runner, phase, run);
    else
        note_unchanged(runner, phase, run);
    stats->seconds += seconds_but_for_analyses(runner, an) - start;
    return result;
}

static void clean_up(Runner *runner, Function *fn, Analyses *an);

static u32 most_calls(const Function *fn)
{
    u32 n = fn->edits.origins > CALLS_OF ? (u64)MOST_CALLS * CALLS_OF / fn->edits.origins : MOST_CALLS;
    return n > LEAST_CALLS ? n : LEAST_CALLS;
}

/* Calls the phases of a step until none of them asks for more. */
static Outcome iterate(Runner *runner, Step step, Function *fn, Analyses *an)
{
    const PhaseInfo *first = step_first(runner, step);
    PhaseRun run[PHASE_COUNT];
    Arena kept = {0};
    bool changed = false, settled = true, again = true, laid_out = true;
    for (u32 k = 0; k < step.phases; k++)
        run[k] = start_run(runner, step.phase[k], fn, &kept);
    for (u32 iteration = 0; again && WITHIN(ITERATIONS, iteration < first->iterations) &&
                            WITHIN(MOST_CALLS, runner->current.calls < most_calls(fn));
         iteration++) {
        again = false;
        for (u32 k = 0; k < step.phases; k++) {
            PhaseResult result = call_phase(runner, step.phase[k], an, &run[k], iteration);
            changed |= result != PHASE_UNCHANGED;
            again |= result == PHASE_AGAIN;
            laid_out &= result == PHASE_UNCHANGED;
        }
        if (again && first->after != NOTHING) {
            edit_layout(fn); /* the scopes that it flattens no longer separate blocks when these are cleaned up */
            laid_out = true;
        }
        if (again && first->after == CLEANUP)
            clean_up(runner, fn, an);
    }
    if (!laid_out)
        edit_layout(fn);
    for (u32 k = 0; k < step.phases; k++) {
        settled &= !run[k].may_do_more;
        end_run(&run[k]);
    }
    arena_free(&kept);
    return !changed ? OUTCOME_NONE : settled ? OUTCOME_SETTLED : OUTCOME_CHANGED;
}

static void clean_up(Runner *runner, Function *fn, Analyses *an)
{
    runner->cleans_up = true;
    if (runner->current.cleanup.n)
        iterate(runner, (Step){runner->current.cleanup.v, runner->current.cleanup.n}, fn, an);
    runner->cleans_up = false;
}

static Outcome run_step(Runner *runner, Step step, Function *fn, Analyses *an)
{
    if (runner->first_round)
        for (u32 k = 0; k < step.phases; k++)
            runner->stats->phase[step.phase[k]].functions++;
    Outcome outcome = iterate(runner, step, fn, an);
    if (outcome == OUTCOME_NONE)
        return OUTCOME_NONE;
    u32 removed = edit_remove_unread(fn);
    if (removed) {
        edit_layout(fn); /* of blocks that are now empty */
        stats_count(runner->stats, step.phase[0], "UnreadRemoved", removed);
    }
    if (!edit_places(fn) && !removed)
        return outcome;
    runner->current.changed[step.phase[0]] = runner->current.calls;
    return OUTCOME_CHANGED;
}

static void print_states(Runner *runner, Step step, Function *fn, const char *when, const bool *wanted)
{
    for (u32 k = 0; k < step.phases; k++)
        if (wanted[step.phase[k]])
            print_state(runner, fn, when, step_phase(runner, step.phase[k])->name);
}

/* What is wrong with what a step said; NULL: nothing. A phase says whether it changed the function, and asks before it does. */
static const char *find_lie(const Runner *runner, bool changed, bool looks_changed)
{
    if (!changed && looks_changed)
        return "and denies it";
    return changed && runner->current.original && !runner->current.original->is_taken ? "and did not ask" : NULL;
}

bool step_run(Runner *runner, Step step, Function *fn, Analyses *an, Outcome *outcome)
{
    const char *name = step_first(runner, step)->name;
    print_states(runner, step, fn, "before", runner->config->print_before);
    Arena arena = {0};
    Convergence *before = snapshot(runner, fn, &arena);
    bool was_changed = fn->changed;
    *outcome = run_step(runner, step, fn, an);
    bool changed = *outcome != OUTCOME_NONE;
    const char *lie = find_lie(runner, changed, fn->changed != was_changed);
    bool ok = !lie;
    if (lie)
        fprintf(runner->messages, "ptxopt: internal error: %s changed function '%s' %s\n", name, fn->name->text, lie);
    ok = ok && verify(runner, fn, before, an, changed, name);
    if (before)
        convergence_free(before);
    arena_free(&arena);
    if (ok)
        print_states(runner, step, fn, "after", runner->config->print_after);
    if (ok && changed && runner->config->after_step)
        runner->config->after_step(runner->config->user, fn, name);
    return ok;
}

bool step_verify_parsed(Runner *runner, Function *fn)
{
    bool ok = verify(runner, fn, NULL, NULL, false, "parsing");
    if (runner->config->threads.begin)
        runner->config->threads.begin(runner->config->threads.user);
    return ok;
}
