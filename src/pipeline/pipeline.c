/* The runner: it runs the sequence of phases on each function until nothing changes any more. */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bound.h"
#include "ir/code_hash.h"
#include "ir/edit.h"
#include "pipeline/dot.h"
#include "pipeline/little.h"
#include "pipeline/runner.h"
#include "pipeline/tuned.h"

/* The step that begins at `at` in the sequence: a phase, or phases of the clean-up in the order of the table. */
static Step step_at(const Runner *runner, u32 at)
{
    const VecU32 *sequence = &runner->current.sequence;
    Step step = {sequence->v + at, 1};
    while (step_first(runner, step)->after == OF_CLEANUP && at + step.phases < sequence->n &&
           step.phase[step.phases] > step.phase[step.phases - 1] &&
           step_phase(runner, step.phase[step.phases])->after == OF_CLEANUP)
        step.phases++;
    return step;
}

/* Runs the sequence again and again, each step to its own fixed point, since one step may leave work for an earlier one. It
 * ends when every step has run since the last change, or has made it. */
static bool run_sequence(Runner *runner, Function *fn, Analyses *an, u32 *seen)
{
    u32 count = runner->current.sequence.n, end = count, state = 1; /* of the function: counts its changes */
    for (runner->first_round = runner->pass == 0; end > 0; runner->first_round = false) {
        u32 last = 0; /* the place after the last step that changed something in this round */
        for (u32 i = 0, next; i < (last ? count : end); i = next) {
            Outcome outcome;
            Step step = step_at(runner, i);
            next = i + step.phases;
            if (seen[i] == state)
                continue;
            if (!step_run(runner, step, fn, an, &outcome))
                return false;
            if (outcome != OUTCOME_NONE) {
                last = next;
                state++;
            }
            seen[i] = outcome == OUTCOME_CHANGED ? 0 : state;
        }
        end = sink_is_over(runner) ? 0 : last;
    }
    return true;
}

static bool run_to_fixed_point(Runner *runner, Function *fn, Analyses *an)
{
    u32 *seen = mem_zalloc(sizeof *seen * runner->current.sequence.n); /* by place in the sequence */
    u32 spent[PHASE_COUNT] = {0}, unchanged[PHASE_COUNT] = {0}, vain[PHASE_COUNT] = {0}, changed[PHASE_COUNT] = {0};
    runner->current.spent = spent;
    runner->current.unchanged = unchanged;
    runner->current.vain = vain;
    runner->current.changed = changed;
    runner->current.copied = 0;
    runner->current.calls = 0;
    bool ok = run_sequence(runner, fn, an, seen);
    mem_free(seen);
    return ok;
}

/* Whether fn belongs to a module for a debugger (`.target ..., debug`: nvcc -G), which must stay as it was written. ptxas
 * does not optimize it either. */
static bool is_for_debugger(const Runner *runner, const Function *fn)
{
    return fn->module->debug && !runner->config->optimize_debug;
}

/* Reports why phases leave a function alone. */
static void remark(Runner *runner, const Function *fn, const char *name, Span at, const char *why)
{
    if (runner->sink.wants_remarks)
        remarks_write(&runner->remarks, (Remark){REMARK_MISSED, "ptxopt", name, .message = why}, fn, at);
}

static const Span nowhere = {0, 0};

static void report_left_alone(Runner *runner, const Function *fn)
{
    if (runner->pass > 0)
        return;
    runner->stats->untouchable++;
    if (fn->untouchable.why)
        remark(runner, fn, "Untouchable", fn->untouchable.at, fn->untouchable.why);
    else
        remark(runner, fn, "DebugModule", nowhere,
               "the module's .target says debug; --optimize-debug optimizes it all the same");
}

/* Chooses the configuration of a function: the decision of --tuned about it, or else the command line's. */
static void choose_config(Runner *runner, const Function *fn)
{
    const PipelineConfig *tuned = tuned_find(runner->config, fn);
    runner->current.own = tuned ? tuned : runner->config;
    if (!tuned && runner->config->tuned.n && runner->pass == 0)
        remark(runner, fn, "NotTuned", nowhere,
               "no decision of --tuned is about this text: it is optimized as the command line says");
}

/* Runs the phases, and sends the function back if they moved what decides who waits for whom. */
static bool run_and_compare(Runner *runner, Function *fn, Analyses *an)
{
    Original original = original_begin(an);
    const char *name = "ExitsDecide", *fault = NULL;
    runner->current.original = &original;
    bool ok = original.is_open || run_to_fixed_point(runner, fn, an);
    runner->current.original = NULL;
    if (original.is_open && runner->pass == 0)
        remark(runner, fn, name, nowhere, original_why_open);
    if (ok && original.is_taken && !original.is_open)
        fault = original_fault(&original, an, &name);
    if (fault) {
        remark(runner, fn, name, nowhere, fault);
        edit_revert(fn);
        runner->went_back = true;
        runner->stats->went_back++;
    }
    original_free(&original);
    return ok;
}

/* Reverts a large kernel that gains little, as if no phase had run over it. */
static void settle_little(Runner *runner, Function *fn)
{
    const CurrentFunction *current = &runner->current;
    if (!runner->config->thrifty || current->own != runner->config ||
        !little_is_gained(runner->config->table, fn, current->rewrote))
        return;
    remark(runner, fn, "LittleToGain", nowhere,
           "a large kernel, in which what was done was never seen to gain 1 %: the guard need not ask ptxas; --guard=all asks");
    edit_revert(fn);
}

static bool run_phases(Runner *runner, Function *fn, Analyses *an)
{
    choose_config(runner, fn);
    if (runner->current.own->sequence.n == 0)
        return true;
    vec_clear(&runner->current.sequence);
    vec_clear(&runner->current.cleanup);
    runner->current.level =
        choices_of(&runner->choices, runner->current.own, fn, &runner->current.sequence, &runner->current.cleanup);
    runner->current.is_chosen = runner->current.sequence.n > 0 || runner->config->withheld.n > 0;
    if (runner->current.sequence.n == 0) {
        if (runner->pass == 0)
            remark(runner, fn, "NotChosen", nowhere, "an option or a comment keeps all phases away");
        return true;
    }
    if (fn->untouchable.why || is_for_debugger(runner, fn)) {
        report_left_alone(runner, fn);
        return true;
    }
    edit_absorb_unused_labels(fn);
    if (!step_verify_parsed(runner, fn))
        return false;
    bool was_changed = fn->changed;
    bool ok = runner->config->ignore_exits ? run_to_fixed_point(runner, fn, an) : run_and_compare(runner, fn, an);
    if (ok && fn->changed && !was_changed)
        settle_little(runner, fn);
    return ok;
}

static bool dump_cfg(Runner *runner, Function *fn, Analyses *an)
{
    if (!runner->config->dump_cfg || fn->verbatim) /* the control flow of text that is not known is unknown */
        return true;
    if (dot_write(runner->config->dump_cfg, fn, an))
        return true;
    fprintf(runner->messages, "ptxopt: error: cannot write the graph of '%s' to '%s': %s\n", fn->name->text,
            runner->config->dump_cfg, strerror(errno));
    return false;
}

static PipelineResult run_function(Runner *runner, Function *fn)
{
    Analyses an;
    step_start_analyses(runner, &an, fn);
    PipelineResult result = PIPELINE_OK;
    /* cppcheck-suppress autoVariables ; it is left when this function returns */
    runner->current.an = &an;
    runner->current.is_chosen = false;
    runner->current.uncounted = (UncountedLoops){0};
    runner->current.kept = (KeptRemarks){0};
    memset(runner->current.rewrote, 0, sizeof runner->current.rewrote);
    if (!run_phases(runner, fn, &an))
        result = PIPELINE_INTERNAL;
    else if (!dump_cfg(runner, fn, &an))
        result = PIPELINE_FAILED;
    sink_report_kept(runner, fn);
    if (runner->current.is_chosen && runner->pass == 0 && runner->sink.wants_remarks)
        advice_on_function(&runner->remarks, runner->config, fn, &runner->current.uncounted);
    runner->stats->step[STEP_ANALYSES] += an.seconds;
    analyses_free(&an);
    function_shrink(fn);
    return result;
}

static void summarize(Runner *runner, Arena *arena, const Module *m)
{
    if (runner->config->sequence.n == 0 && runner->config->tuned.n == 0)
        return;
    double start = stats_clock(runner->stats);
    Summaries *summaries = summaries_compute(arena, m);
    summaries->ungated = runner->config->no_gates;
    runner->summaries = summaries;
    runner->stats->step[STEP_ANALYSES] += stats_clock(runner->stats) - start;
}

/* Runs over the entries of the module, or over its other functions. Later passes run only over functions whose calls and
 * callers do less than the previous pass assumed. */
static PipelineResult run_part(Runner *runner, const Module *m, bool entries, bool *changed)
{
    PipelineResult result = PIPELINE_OK;
    const Summaries *before = runner->believed[entries];
    for (u32 i = 0; i < m->functions.n && result == PIPELINE_OK; i++) {
        Function *fn = m->functions.v[i];
        if (!fn->entry || fn->is_entry != entries || (before && !summaries_differ(fn, before, runner->summaries)))
            continue;
        if (before || (entries && summaries_differ(fn, runner->believed[false], runner->summaries)))
            vec_push(&runner->later, fn);
        result = run_function(runner, fn);
        *changed |= fn->changed;
    }
    runner->believed[entries] = runner->summaries;
    return result;
}

/* Runs one pass. The summaries of calls and callers are computed before each pass, and in the first pass again before the
 * entries, which nobody calls. */
static PipelineResult run_pass(Runner *runner, Arena *arena, const Module *m, bool *more)
{
    bool called = false, changed = false, has_entries = false, has_callees = false;
    for (u32 i = 0; i < m->functions.n; i++) {
        const Function *fn = m->functions.v[i];
        has_entries |= fn->entry && fn->is_entry;
        has_callees |= fn->entry && !fn->is_entry;
    }
    summarize(runner, arena, m);
    PipelineResult result = run_part(runner, m, false, &called);
    if (runner->pass == 0 && has_entries && called && !runner->went_back)
        summarize(runner, arena, m);
    if (result == PIPELINE_OK)
        result = run_part(runner, m, true, &changed);
    *more = (changed || called) && has_callees && !runner->went_back;
    return result;
}

/* Reverts the functions of `later` if a function was reverted in a later pass. These passes, and entries in the first one,
 * assume what functions did after they were run over. An entry that was reverted in the first pass affects no other
 * function. */
static void settle_back(Runner *runner)
{
    for (u32 k = 0; k < runner->later.n && runner->went_back && runner->pass > 1; k++)
        edit_revert(runner->later.v[k]);
    vec_free(&runner->later);
}

/* Reverts functions of which only labels and jumps would change, unless the phases were asked for by name. */
static void settle_spelling(Runner *runner, const Module *m)
{
    for (u32 i = 0; i < m->functions.n && !runner->config->named_phases; i++) {
        Function *fn = m->functions.v[i];
        if (!fn->changed || !code_is_as_parsed(fn))
            continue;
        edit_revert(fn);
        remark(runner, fn, "OnlySpelling", nowhere,
               "only labels, and jumps that ptxas removes itself, would change: it stays as it was");
    }
}

static void count_functions(Runner *runner, const Module *m)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        runner->stats->functions += m->functions.v[i]->entry != NULL;
        runner->stats->changed += m->functions.v[i]->changed;
    }
}

PipelineResult pipeline_run(Module *m, const PipelineConfig *config, Diag *diag, FILE *remarks, FILE *messages,
                            Stats *stats)
{
    if (config->dump_cfg && mkdir(config->dump_cfg, 0777) != 0 && errno != EEXIST) {
        fprintf(messages, "ptxopt: error: cannot make directory '%s': %s\n", config->dump_cfg, strerror(errno));
        return PIPELINE_FAILED;
    }
    Runner runner = {.config = config, .messages = messages, .stats = stats};
    runner.sink = sink_of(&runner, remarks || config->remark_taker);
    remarks_init(&runner.remarks, remarks, diag);
    runner.remarks.taker = config->remark_taker;
    runner.remarks.build_name = config->build_name;
    choices_init(&runner.choices, config, m, diag);
    if (m->untouchable.why && config->sequence.n > 0)
        remark(&runner, NULL, "Untouchable", m->untouchable.at, m->untouchable.why);
    if (runner.sink.wants_remarks && config->sequence.n > 0)
        advice_on_module(&runner.remarks, config, m);
    Arena arena = {0};
    runner.limited = arena_array(&arena, u32, config->withheld.n);
    PipelineResult result = PIPELINE_OK;
    bool more = true;
    for (; result == PIPELINE_OK && more && WITHIN(MOST_PASSES, runner.pass < MOST_PASSES); runner.pass++)
        result = run_pass(&runner, &arena, m, &more);
    settle_back(&runner);
    settle_spelling(&runner, m);
    count_functions(&runner, m);
    arena_free(&arena);
    vec_free(&runner.current.sequence);
    vec_free(&runner.current.cleanup);
    choices_free(&runner.choices);
    fnvmap_free(&runner.said);
    remarks_free(&runner.remarks);
    return result;
}
