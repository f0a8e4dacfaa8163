/* Questions about a program that do not depend on which part of it is decoded. They are about its functions by name, and
 * where its instructions stand in the text. */
#include "check/exec/program.h"

#include <string.h>

const char *code_location(const Program *p, const Code *c)
{
    if (!c || !c->instr)
        return arena_printf(p->arena, "%s", p->file);
    Str text = span_str(p->module, c->instr->text);
    u32 line = 1, shown = 0;
    for (const char *q = p->module->text.p; q < text.p; q++)
        line += *q == '\n';
    while (shown < text.len && text.p[shown] != '\n' && shown < 100)
        shown++;
    return arena_printf(p->arena, "%s:%u: %.*s", p->file, line, (int)shown, text.p);
}

FnCode *program_function(const Program *p, const char *name)
{
    for (u32 i = 0; i < p->functions.n; i++)
        if (!strcmp(p->functions.v[i]->name, name))
            return p->functions.v[i];
    return NULL;
}
