#include "phase/phase.h"

#include <stdarg.h>

bool phase_may_rewrite(PhaseRun *run)
{
    return run->sink->may_rewrite(run->sink->user, run);
}

void phase_count(PhaseRun *run, const char *what, u32 amount)
{
    run->sink->count(run->sink->user, run, what, amount);
}

u32 phase_line(PhaseRun *run, const Instr *i)
{
    return i->text.beg == i->text.end ? 0 : run->sink->line_of(run->sink->user, i->text.beg);
}

static const char *format_message(Arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *message = arena_alloc_raw(arena, (size_t)length + 1);
    vsnprintf(message, (size_t)length + 1, format, arguments);
    return message;
}

static void remark(PhaseRun *run, RemarkKind kind, const char *name, const Instr *at, const char *format, va_list arguments)
{
    if (!run->sink->wants_remarks)
        return;
    /* An instruction made by a phase has no text: the remark is about the function then. */
    Span where = at ? at->text : (Span){0, 0};
    run->sink->remark(run->sink->user, run, kind, name, where, format_message(run->arena, format, arguments));
}

void phase_passed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_PASSED, name, at, format, arguments);
    va_end(arguments);
}

void phase_missed(PhaseRun *run, const char *name, const Instr *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remark(run, REMARK_MISSED, name, at, format, arguments);
    va_end(arguments);
}
