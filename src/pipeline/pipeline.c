#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/convergence.h"
#include "analysis/exits.h"
#include "ir/cfg.h"
#include "ir/edit.h"
#include "pipeline/choice.h"
#include "pipeline/dot.h"
#include "pipeline/remarks.h"
#include "pipeline/tuned.h"

#ifdef PTXOPT_DEBUG
#define ALWAYS_VERIFY true
#else
#define ALWAYS_VERIFY false
#endif

/* How often the sequence of phases is run over a function at most, as long as it changes something. */
#define SEQUENCE_ROUNDS 8

/* How often the module is gone through at most, as long as functions do less than their callers assumed. */
#define MODULE_PASSES 8

/* Fixed points nest: calls of a phase, the clean-up between them, rounds of the sequence, passes over the module. However they
 * do, phases are called so often on a function in one pass at most; of 3,747 real ones none needs more than 70. */
#define CALLS 1000

/* One run over a module: what the phases' reports go to. */
typedef struct Runner {
    const PipelineConfig *config;
    FILE *messages;
    Stats *stats;
    RemarkWriter remarks;
    PhaseSink sink;
    Choices choices;
    const PipelineConfig *own;  /* that holds for the function that is run over: knobs, level, sequence */
    VecU32 sequence;            /* phases that run over the function */
    VecU32 cleanup;             /* phases of the clean-up that are called where a phase asks for it */
    bool cleans_up;             /* they are called for another phase, and have said before what they miss */
    const Summaries *summaries; /* of the module's functions */
    u32 *spent;                 /* of the budgets that phases have for the function that is run over */
    u32 phase;                  /* the one that runs */
    u32 calls;                  /* of phases, on the function that is run over, in this pass */
    u32 pass;                   /* over the module */
    u32 round;                  /* of the sequence, on the function that is run over; does not start again with a pass */
    bool went_back;             /* some function did */
    VEC(Function *) later;      /* those that later passes ran over */
    i64 rewrites;               /* asked for so far, for --opt-bisect-limit */
    u32 *limited;               /* by place among what is withheld: rewrites that counted against its limit */
} Runner;

/* ---- reports of the phases -------------------------------------------------------------------------------------- */

static void take_remark(void *user, const PhaseRun *run, RemarkKind kind, const char *name, Span at, const char *message)
{
    Runner *runner = user;
    if (kind == REMARK_MISSED && (runner->round > 0 || runner->cleans_up)) /* said in the first round */
        return;
    remarks_write(&runner->remarks, kind, run->phase, name, run->fn, at, message);
}

static void take_count(void *user, const PhaseRun *run, const char *what, u32 amount)
{
    Runner *runner = user;
    (void)run;
    stats_count(runner->stats, runner->phase, what, amount);
}

/* Whether what is withheld has a limit for the phase and function that has been reached; counts the rewrite. */
static bool reaches_limit(Runner *runner, const Function *fn)
{
    const VecWithheld *withheld = &runner->config->withheld;
    bool reached = false;
    for (u32 i = 0; i < withheld->n; i++) {
        const Withheld *one = &withheld->v[i];
        if (one->limit && one->phase[runner->phase] && strcmp(one->function, fn->name->text) == 0)
            reached |= runner->limited[i]++ >= one->limit;
    }
    return reached;
}

static bool allow_rewrite(void *user, const PhaseRun *run)
{
    Runner *runner = user;
    if (reaches_limit(runner, run->fn))
        return false;
    i64 limit = runner->config->bisect_limit;
    if (limit == BISECT_OFF)
        return true;
    runner->rewrites++;
    bool allowed = limit == BISECT_ALL || runner->rewrites <= limit;
    fprintf(runner->messages, "BISECT: %srunning rewrite (%lld) %s on function (%s)\n", allowed ? "" : "NOT ",
            (long long)runner->rewrites, run->phase, run->fn->name->text);
    return allowed;
}

static u32 line_of(void *user, u32 offset)
{
    Runner *runner = user;
    u32 line, column;
    diag_position(runner->remarks.diag, offset, &line, &column);
    return line;
}

/* Whether no rewrite will be allowed any more. */
static bool bisect_is_over(const Runner *runner)
{
    i64 limit = runner->config->bisect_limit;
    return limit != BISECT_OFF && limit != BISECT_ALL && runner->rewrites >= limit;
}

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

static void start_analyses(const Runner *runner, Analyses *an, Function *fn)
{
    analyses_init(an, fn);
    an->summaries = runner->summaries;
    an->clock = runner->stats->timed ? stats_now : NULL;
}

static void print_state(Runner *runner, Function *fn, const char *when, const char *phase)
{
    PrintOptions options = {.reprint = runner->config->reprint};
    fprintf(runner->messages, "// *** %s %s: %s ***\n", when, phase, fn->name->text);
    print_function(runner->messages, fn, &options);
    putc('\n', runner->messages);
}

/* ---- the checker: its analyses are its own, so that it does not believe what phases say they keep ---------------- */

static bool checks(const Runner *runner) { return runner->config->verify_each || ALWAYS_VERIFY; }

/* What a phase must not change about fn; NULL when nothing is checked. To be freed with convergence_free. */
static Convergence *snapshot(Runner *runner, Function *fn, Arena *arena)
{
    if (!checks(runner))
        return NULL;
    double start = stats_clock(runner->stats);
    Analyses an;
    start_analyses(runner, &an, fn);
    Convergence *before = convergence_snapshot(arena, &an);
    analyses_free(&an);
    runner->stats->step[STEP_VERIFY] += stats_clock(runner->stats) - start;
    return before;
}

/* NULL, or what is wrong. before, kept: of the phase that just ran, or NULL. */
static const char *find_fault(const Runner *runner, Function *fn, const Convergence *before, const Analyses *kept,
                              Arena *arena)
{
    const char *fault = verify_function(fn, arena);
    if (!fault && fn->cfg)
        fault = cfg_verify(fn, arena);
    if (fault || !before)
        return fault;
    const char *stale = analyses_stale(kept);
    if (stale)
        return arena_printf(arena, "what it kept of %s is no longer true", stale);
    Analyses an;
    start_analyses(runner, &an, fn);
    fault = convergence_compare(before, &an, arena);
    analyses_free(&an);
    return fault;
}

/* Whether the function is in order after `what`, a phase or parsing. */
static bool verify(Runner *runner, Function *fn, const Convergence *before, const Analyses *kept, const char *what,
                   Arena *arena)
{
    if (!checks(runner))
        return true;
    double start = stats_clock(runner->stats);
    const char *fault = find_fault(runner, fn, before, kept, arena);
    runner->stats->step[STEP_VERIFY] += stats_clock(runner->stats) - start;
    if (fault)
        fprintf(runner->messages, "ptxopt: internal error: function '%s' is broken after %s: %s\n", fn->name->text, what,
                fault);
    return !fault;
}

/* ---- one step on one function: a phase, or the phases of the clean-up --------------------------------------------- */

/* Phases that are called in turn, by index into the table. */
typedef struct Step {
    const u32 *phase;
    u32 phases;
} Step;

/* What a step did to a function. */
typedef enum Outcome {
    OUTCOME_NONE,    /* nothing */
    OUTCOME_SETTLED, /* it changed it until there was nothing more to do */
    OUTCOME_CHANGED /* it changed it, and may do so again: instructions or blocks are no longer those that it left, or it knew too little */
} Outcome;

static const PhaseInfo *phase_info(const Runner *runner, u32 phase) { return &runner->config->table->phase[phase]; }

static const PhaseInfo *first_of(const Runner *runner, Step step) { return phase_info(runner, step.phase[0]); }

static double seconds_but_for_analyses(const Runner *runner, const Analyses *an)
{
    return stats_clock(runner->stats) - an->seconds;
}

static PhaseRun start_run(Runner *runner, u32 phase, const Function *fn, Arena *kept)
{
    return (PhaseRun){
        .phase = phase_info(runner, phase)->name,
        .fn = fn,
        .level = runner->own->level > 0 ? runner->own->level : 1,
        .round = runner->round,
        .kept = kept,
        .origins = fn->origins,
        .spent = &runner->spent[phase],
        .sink = &runner->sink,
    };
}

static void end_run(PhaseRun *run)
{
    vec_free(&run->declined);
    fnvmap_free(&run->said);
}

/* Each call has an arena of its own: in a large function the next one needs the room. */
static PhaseResult call_phase(Runner *runner, u32 phase, Analyses *an, PhaseRun *run, u32 iteration)
{
    const PhaseInfo *info = phase_info(runner, phase);
    const Knobs *knobs = &runner->own->knobs;
    if (info->runs && !info->runs(knobs))
        return PHASE_UNCHANGED;
    PhaseStats *stats = &runner->stats->phase[phase];
    double start = seconds_but_for_analyses(runner, an);
    Arena scratch = {0};
    runner->phase = phase;
    runner->calls++;
    an->scratch = run->arena = &scratch;
    run->iteration = iteration;
    run->is_last = iteration + 1 == info->iterations;
    PhaseResult result = info->run(an, knobs, run);
    phase_report_declined(run, result != PHASE_AGAIN || run->is_last);
    an_thaw(an, AN_ALL);
    arena_free(&scratch);
    an->scratch = run->arena = NULL;
    if (result != PHASE_UNCHANGED && stats->last_changed != run->fn) {
        stats->changed++;
        stats->last_changed = run->fn;
    }
    stats->seconds += seconds_but_for_analyses(runner, an) - start;
    return result;
}

static void clean_up(Runner *runner, Function *fn, Analyses *an);

/* Calls the phases of a step until none of them asks for more. */
static Outcome iterate(Runner *runner, Step step, Function *fn, Analyses *an)
{
    const PhaseInfo *first = first_of(runner, step);
    PhaseRun run[PHASE_COUNT];
    Arena kept = {0};
    bool changed = false, settled = true, again = true, laid_out = true;
    for (u32 k = 0; k < step.phases; k++)
        run[k] = start_run(runner, step.phase[k], fn, &kept);
    for (u32 iteration = 0; again && iteration < first->iterations && runner->calls < CALLS; iteration++) {
        again = false;
        for (u32 k = 0; k < step.phases; k++) {
            PhaseResult result = call_phase(runner, step.phase[k], an, &run[k], iteration);
            changed |= result != PHASE_UNCHANGED;
            again |= result == PHASE_AGAIN;
            laid_out &= result == PHASE_UNCHANGED;
        }
        if (again && first->after != NOTHING) {
            edit_layout(fn); /* the scopes that it flattens no longer keep blocks apart when they are cleaned up */
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
    if (runner->cleanup.n)
        iterate(runner, (Step){runner->cleanup.v, runner->cleanup.n}, fn, an);
    runner->cleans_up = false;
}

static Outcome run_step(Runner *runner, Step step, Function *fn, Analyses *an)
{
    if (runner->round == 0)
        for (u32 k = 0; k < step.phases; k++)
            runner->stats->phase[step.phase[k]].functions++;
    Outcome outcome = iterate(runner, step, fn, an);
    if (outcome == OUTCOME_NONE)
        return OUTCOME_NONE;
    u32 removed = edit_remove_unread(fn);
    if (removed) {
        edit_layout(fn); /* of blocks that are empty now */
        stats_count(runner->stats, step.phase[0], "UnreadRemoved", removed);
    }
    return edit_places(fn) || removed ? OUTCOME_CHANGED : outcome;
}

static void print_states(Runner *runner, Step step, Function *fn, const char *when, const bool *wanted)
{
    for (u32 k = 0; k < step.phases; k++)
        if (wanted[step.phase[k]])
            print_state(runner, fn, when, phase_info(runner, step.phase[k])->name);
}

/* False if the step broke the function. */
static bool run_checked(Runner *runner, Step step, Function *fn, Analyses *an, Outcome *outcome)
{
    const char *name = first_of(runner, step)->name;
    print_states(runner, step, fn, "before", runner->config->print_before);
    Arena arena = {0};
    Convergence *before = snapshot(runner, fn, &arena);
    bool was_changed = fn->changed;
    *outcome = run_step(runner, step, fn, an);
    bool ok = *outcome != OUTCOME_NONE || fn->changed == was_changed;
    if (!ok)
        fprintf(runner->messages, "ptxopt: internal error: %s changed function '%s' and denies it\n", name, fn->name->text);
    ok = ok && verify(runner, fn, before, an, name, &arena);
    if (before)
        convergence_free(before);
    arena_free(&arena);
    if (ok)
        print_states(runner, step, fn, "after", runner->config->print_after);
    if (ok && *outcome != OUTCOME_NONE && runner->config->after_step)
        runner->config->after_step(runner->config->user, fn, name);
    return ok;
}

/* Once, before the first phase: is what the parser made in order? */
static bool verify_parsed(Runner *runner, Function *fn)
{
    Arena arena = {0};
    bool ok = verify(runner, fn, NULL, NULL, "parsing", &arena);
    arena_free(&arena);
    return ok;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

/* The one that begins at `at` in the sequence: a phase, or phases of the clean-up in the order of the table. */
static Step step_at(const Runner *runner, u32 at)
{
    const VecU32 *sequence = &runner->sequence;
    Step step = {sequence->v + at, 1};
    while (first_of(runner, step)->after == OF_CLEANUP && at + step.phases < sequence->n &&
           step.phase[step.phases] > step.phase[step.phases - 1] &&
           phase_info(runner, step.phase[step.phases])->after == OF_CLEANUP)
        step.phases++;
    return step;
}

/* Each step goes to its own fixed point; but what one leaves may be work for another that stands before it. So the sequence
 * is run again, up to the step that changed something last: those after it have seen what it left. So has every step that
 * ran since the last change, the one that made it included. */
static bool run_sequence(Runner *runner, Function *fn, Analyses *an, u32 *seen)
{
    u32 count = runner->sequence.n, end = count, state = 1; /* of the function: counts its changes */
    for (u32 round = 0; end > 0 && round < SEQUENCE_ROUNDS; round++) {
        runner->round = runner->pass * SEQUENCE_ROUNDS + round;
        u32 last = 0; /* after the step that changed something last, in this round */
        for (u32 i = 0, next; i < (last ? count : end); i = next) {
            Outcome outcome;
            Step step = step_at(runner, i);
            next = i + step.phases;
            if (seen[i] == state)
                continue;
            if (!run_checked(runner, step, fn, an, &outcome))
                return false;
            if (outcome != OUTCOME_NONE) {
                last = next;
                state++;
            }
            seen[i] = outcome == OUTCOME_CHANGED ? 0 : state;
        }
        end = bisect_is_over(runner) ? 0 : last;
    }
    return true;
}

static bool run_to_fixed_point(Runner *runner, Function *fn, Analyses *an)
{
    u32 *seen = mem_zalloc(sizeof *seen * runner->sequence.n); /* by place in the sequence */
    u32 spent[PHASE_COUNT] = {0};
    runner->spent = spent;
    runner->calls = 0;
    bool ok = run_sequence(runner, fn, an, seen);
    mem_free(seen);
    return ok;
}

/* Who asks for code that a debugger can step through (`.target ..., debug`: nvcc -G) wants it as it was written, and ptxas
 * does not optimize it either. */
static bool is_for_debugger(const Runner *runner, const Function *fn)
{
    return fn->module->debug && !runner->config->optimize_debug;
}

static void report_left_alone(Runner *runner, const Function *fn)
{
    if (runner->pass > 0)
        return;
    runner->stats->untouchable++;
    if (!runner->sink.wants_remarks)
        return;
    if (fn->untouchable)
        remarks_write(&runner->remarks, REMARK_MISSED, "ptxopt", "Untouchable", fn, fn->untouchable_at, fn->untouchable);
    else
        remarks_write(&runner->remarks, REMARK_MISSED, "ptxopt", "DebugModule", fn, (Span){0, 0},
                      "the module's .target says debug; --optimize-debug optimizes it all the same");
}

static void report_not_chosen(Runner *runner, const Function *fn)
{
    if (runner->pass == 0 && runner->sink.wants_remarks)
        remarks_write(&runner->remarks, REMARK_MISSED, "ptxopt", "NotChosen", fn, (Span){0, 0},
                      "an option or a comment keeps all phases away");
}

/* Chooses the configuration of a function: what --tuned has decided, or else the command line's. */
static void choose_config(Runner *runner, const Function *fn)
{
    const PipelineConfig *tuned = tuned_find(runner->config, fn);
    runner->own = tuned ? tuned : runner->config;
    if (!tuned && runner->config->tuned.n && runner->pass == 0 && runner->sink.wants_remarks)
        remarks_write(&runner->remarks, REMARK_MISSED, "ptxopt", "NotTuned", fn, (Span){0, 0},
                      "no decision of --tuned is about this text: it is optimized as the command line says");
}

static void report_exits(Runner *runner, const Function *fn, bool before)
{
    if (runner->sink.wants_remarks)
        remarks_write(&runner->remarks, REMARK_MISSED, "ptxopt", "ExitsDecide", fn, (Span){0, 0},
                      before
                          ? "where threads reconverge depends on which exit ptxas takes for the function's end, and some "
                            "wait for others"
                          : "where threads reconverge would depend on which exit ptxas takes for the function's end: it "
                            "stays as it was");
}

/* Where phases may have made who waits for whom depend on the exit the function goes back. */
static bool run_and_look_at_exits(Runner *runner, Function *fn, Analyses *an)
{
    if (exits_decide(an)) {
        if (runner->pass == 0)
            report_exits(runner, fn, true);
        return true;
    }
    if (!run_to_fixed_point(runner, fn, an))
        return false;
    if (fn->changed && exits_decide(an)) {
        report_exits(runner, fn, false);
        edit_revert(fn);
        runner->went_back = true;
    }
    return true;
}

static bool run_phases(Runner *runner, Function *fn, Analyses *an)
{
    choose_config(runner, fn);
    if (runner->own->sequence.n == 0)
        return true;
    vec_clear(&runner->sequence);
    vec_clear(&runner->cleanup);
    choices_of(&runner->choices, runner->own, fn, &runner->sequence, &runner->cleanup);
    if (runner->sequence.n == 0) {
        report_not_chosen(runner, fn);
        return true;
    }
    if (fn->untouchable || is_for_debugger(runner, fn)) {
        report_left_alone(runner, fn);
        return true;
    }
    edit_absorb_unused_labels(fn);
    if (!verify_parsed(runner, fn))
        return false;
    return runner->config->ignore_exits ? run_to_fixed_point(runner, fn, an) : run_and_look_at_exits(runner, fn, an);
}

static bool dump_cfg(Runner *runner, Function *fn, Analyses *an)
{
    if (!runner->config->dump_cfg || fn->verbatim) /* where control goes in text that is not known is not known */
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
    start_analyses(runner, &an, fn);
    PipelineResult result = PIPELINE_OK;
    if (!run_phases(runner, fn, &an))
        result = PIPELINE_INTERNAL;
    else if (!dump_cfg(runner, fn, &an))
        result = PIPELINE_FAILED;
    runner->stats->step[STEP_ANALYSES] += an.seconds;
    analyses_free(&an);
    function_shrink(fn);
    return result;
}

/* What calls and callers do is known anew before each pass. In later ones only functions are run over for which they do less than
 * before. */
static PipelineResult run_pass(Runner *runner, Arena *arena, const Module *m, bool *more)
{
    const Summaries *before = runner->summaries;
    PipelineResult result = PIPELINE_OK;
    bool changed = false, has_callees = false;
    if (runner->config->sequence.n > 0 || runner->config->tuned.n > 0) {
        double start = stats_clock(runner->stats);
        runner->summaries = summaries_compute(arena, m);
        runner->stats->step[STEP_ANALYSES] += stats_clock(runner->stats) - start;
    }
    for (u32 i = 0; i < m->functions.n && result == PIPELINE_OK; i++) {
        Function *fn = m->functions.v[i];
        has_callees |= fn->entry && !fn->is_entry;
        if (!fn->entry || (before && !summaries_differ(fn, before, runner->summaries)))
            continue;
        if (before)
            vec_push(&runner->later, fn);
        result = run_function(runner, fn);
        changed |= fn->changed;
    }
    *more = changed && has_callees && !runner->went_back;
    return result;
}

/* Later passes believe what functions did after the ones before; where one goes back then, all do that were run over. */
static void settle_back(Runner *runner)
{
    for (u32 k = 0; k < runner->later.n && runner->went_back; k++)
        edit_revert(runner->later.v[k]);
    vec_free(&runner->later);
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
    runner.sink = (PhaseSink){&runner, take_remark, take_count, allow_rewrite, line_of, remarks != NULL};
    remarks_init(&runner.remarks, remarks, diag);
    choices_init(&runner.choices, config, m, diag);
    if (m->untouchable && remarks && config->sequence.n > 0)
        remarks_write(&runner.remarks, REMARK_MISSED, "ptxopt", "Untouchable", NULL, m->untouchable_at, m->untouchable);
    Arena arena = {0};
    runner.limited = arena_array(&arena, u32, config->withheld.n);
    PipelineResult result = PIPELINE_OK;
    bool more = true;
    for (; result == PIPELINE_OK && more && runner.pass < MODULE_PASSES; runner.pass++)
        result = run_pass(&runner, &arena, m, &more);
    settle_back(&runner);
    count_functions(&runner, m);
    arena_free(&arena);
    vec_free(&runner.sequence);
    vec_free(&runner.cleanup);
    choices_free(&runner.choices);
    remarks_free(&runner.remarks);
    return result;
}
