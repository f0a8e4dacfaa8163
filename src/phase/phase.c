#include "phase/phase.h"

bool phase_may_rewrite(PhaseRun *run) { return run->sink->may_rewrite(run->sink->user, run); }

bool phase_waits(const PhaseRun *run, RewriteKind kind)
{
    static const enum { JUDGED, NAMED } until[] = {
#define KIND(id, phase, until, ...) [id] = until,
#include "phase/kinds.def"
    };
    return until[kind] == NAMED ? !run->risky : !run->aggressive;
}

void phase_count(PhaseRun *run, const char *what, u32 amount) { run->sink->count(run->sink->user, run, what, amount); }

u32 phase_line(PhaseRun *run, const Instr *i)
{
    return i->text.beg == i->text.end || !run->sink->wants_remarks ? 0 : run->sink->line_of(run->sink->user, i->text.beg);
}

/* The place of an instruction. One that a phase made has no text: the remark is then about the function. */
static Span place_of(const Instr *at) { return at ? at->text : (Span){0, 0}; }

static void remark(PhaseRun *run, RemarkKind kind, const char *name, const Instr *at, const char *format, va_list arguments)
{
    if (run->sink->wants_remarks)
        run->sink->remark(run->sink->user, run, kind, name, place_of(at), arena_vprintf(run->arena, format, arguments));
}

void phase_passed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_PASSED, name, at, format, arguments);
    va_end(arguments);
}

bool phase_rewrite_at(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    if (!phase_may_rewrite(run))
        return false;
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_PASSED, name, at, format, arguments);
    va_end(arguments);
    phase_count(run, name, 1);
    return true;
}

bool phase_rewrite(PhaseRun *run, const char *name, const Block *at, const char *what)
{
    return phase_rewrite_at(run, name, at->jump ? at->jump : at->last, "%s", what);
}

void phase_missed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_MISSED, name, at, format, arguments);
    va_end(arguments);
}

void phase_missed_once(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    u64 *said = NULL;
    if (run->sink->wants_remarks && at->origin <= run->origins)
        said = fnvmap_at(&run->said, (u64)at->origin << 32 | fnv1a(name, (u32)strlen(name)));
    if (!said || (*said)++)
        return;
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_MISSED, name, at, format, arguments);
    va_end(arguments);
}

void phase_stays(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    if (!run->sink->wants_remarks || at->origin > run->origins)
        return;
    va_list arguments;
    va_start(arguments, format);
    run->sink->keep(run->sink->user, run, name, at, arena_vprintf(run->arena, format, arguments));
    va_end(arguments);
}

void phase_removed(PhaseRun *run, const Instr *at)
{
    if (run->sink->wants_remarks)
        run->sink->keep(run->sink->user, run, NULL, at, NULL);
}

void phase_declined(PhaseRun *run, const char *counter, const char *name, const Instr *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *message = run->sink->wants_remarks ? arena_vprintf(run->arena, format, arguments) : NULL;
    va_end(arguments);
    vec_push(&run->declined, ((Declined){counter, name, place_of(at), message}));
}

void phase_report_declined(PhaseRun *run, bool report)
{
    for (const Declined *d = run->declined.v; report && d < run->declined.v + run->declined.n; d++) {
        if (d->counter && run->first_round)
            phase_count(run, d->counter, 1);
        if (d->message)
            run->sink->remark(run->sink->user, run, REMARK_MISSED, d->name, d->at, d->message);
    }
    vec_clear(&run->declined);
}
