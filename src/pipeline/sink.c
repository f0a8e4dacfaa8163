/* Takes the reports of the phases, and decides which of their rewrites are allowed. */
#include "pipeline/runner.h"

#include <string.h>

#include "ir/code_hash.h"

/* Whether the same has been said of the same place: a phase that comes to it again, or to a copy of it, repeats itself. Code that a
 * phase made has no place of its own. */
static bool is_said(Runner *runner, const char *phase, const char *name, Span at, const char *message)
{
    if (at.beg == at.end)
        return false;
    u64 key = fnv_bytes(FNV_BASIS ^ at.beg, phase, strlen(phase));
    key = fnv_bytes(fnv_bytes(key, name, strlen(name)), message, strlen(message));
    return (*fnvmap_at(&runner->said, key))++ > 0;
}

static void take_remark(void *user, const PhaseRun *run, RemarkKind kind, const char *name, Span at, const char *message)
{
    Runner *runner = user;
    if (kind == REMARK_MISSED && (!runner->first_round || runner->cleans_up)) /* reported in the first round */
        return;
    if (is_said(runner, run->phase, name, at, message))
        return;
    if (kind == REMARK_MISSED)
        advice_note_loop(&runner->current.uncounted, name, at);
    remarks_write(&runner->remarks, (Remark){kind, run->phase, name, .message = message}, run->fn, at);
}

static void keep_remark(void *user, const PhaseRun *run, const char *name, const Instr *at, const char *message)
{
    Runner *runner = user;
    KeptRemarks *kept = &runner->current.kept;
    u64 *known = fnvmap_at(&kept->by_origin, at->origin);
    if (*known && !message)
        kept->remark.v[*known - 1].message = NULL;
    if (*known || (message && !runner->first_round))
        return;
    if (message)
        message = arena_copy(&kept->arena, message, strlen(message));
    vec_push(&kept->remark, ((KeptRemark){run->phase, name, message, at->text}));
    *known = kept->remark.n;
}

void sink_report_kept(Runner *runner, const Function *fn)
{
    KeptRemarks *kept = &runner->current.kept;
    for (const KeptRemark *r = kept->remark.v; r < kept->remark.v + kept->remark.n; r++)
        if (r->message)
            remarks_write(&runner->remarks, (Remark){REMARK_MISSED, r->pass, r->name, .message = r->message}, fn, r->at);
    vec_free(&kept->remark);
    fnvmap_free(&kept->by_origin);
    arena_free(&kept->arena);
}

static void take_count(void *user, const PhaseRun *run, const char *what, u32 amount)
{
    Runner *runner = user;
    (void)run;
    stats_count(runner->stats, runner->phase, what, amount);
}

/* Counts the rewrite against the limits for the phase and function, and answers whether one of them has been reached. */
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

/* Takes the hash and the snapshot of the function before its first rewrite. False: it has to stay as it is. */
static bool takes_original(Runner *runner)
{
    Original *o = runner->current.original;
    code_remember(runner->current.an->fn);
    if (o && !o->is_taken)
        original_take(o, runner->current.an);
    return !o || !o->is_open;
}

static bool allow_rewrite(void *user, const PhaseRun *run)
{
    Runner *runner = user;
    if (!takes_original(runner) || reaches_limit(runner, run->fn))
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

bool sink_is_over(const Runner *runner)
{
    if (runner->current.original && runner->current.original->is_open)
        return true;
    i64 limit = runner->config->bisect_limit;
    return limit != BISECT_OFF && limit != BISECT_ALL && runner->rewrites >= limit;
}

PhaseSink sink_of(Runner *runner, bool wants_remarks)
{
    return (PhaseSink){runner,        take_remark, keep_remark,   take_count,
                       allow_rewrite, line_of,     wants_remarks, wants_remarks || !runner->stats->is_unread};
}
