/* The end of a proof, and what its messages say of places in the texts. */
#include "check/prove/prover.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *prove_answer_name(ProveAnswer answer)
{
    static const char *const name[] = {[PROVE_PROVED] = "proved", [PROVE_UNKNOWN] = "unknown", [PROVE_REFUTED] = "refuted"};
    return name[answer];
}

void prove_fail(Prover *p, ProveAnswer answer, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    if (p->outcome.failed)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->outcome.failed = true;
    p->outcome.verdict->answer = answer;
    p->outcome.verdict->is_suspect = answer == PROVE_UNKNOWN;
    p->outcome.verdict->why = arena_copy(p->outcome.arena, text, strlen(text));
}

void prove_blame_threads(Prover *p) { p->outcome.only_threads = true; }

u32 prove_line(const Function *fn, const Instr *i)
{
    u32 line = 1, at = i && i->text.beg < i->text.end ? i->text.beg : fn->text.end;
    for (u32 k = 0; k < at && k < fn->module->text.len; k++)
        line += fn->module->text.p[k] == '\n';
    return line;
}

u32 prove_branch_line(const Prover *p, ProveSide side, u32 block)
{
    const Function *fn = p->side[side].fn;
    return prove_line(fn, block_terminator(fn_block(fn, block)));
}

const char *prove_describe(const Prover *p, ProveSide side)
{
    const Instr *i = p->path.place[side].at;
    const Function *fn = p->side[side].fn;
    return arena_printf(p->arena, "%s:%u: `%.80s`", fn->module->file, prove_line(fn, i),
                        i && i->kind == INSTR_OP ? i->op->text->text : "end");
}
