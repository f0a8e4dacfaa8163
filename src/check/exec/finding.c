/* The kinds of findings of a run. One finding of a kernel counts all places where it is found. */
#include "check/exec/machine.h"

#include <string.h>

static const char *const finding_names[FIND_KINDS] = {
    "race",       "partial-sync",  "exited-lane", "barrier-divergence",
    "deadlock",   "out-of-bounds", "misaligned",  "uninitialized",
    "nonuniform", "trap",          "timeout",     "bad-call",
};
const char *finding_name(FindingKind kind) { return finding_names[kind]; }

void finding_add(Machine *m, FindingKind kind, const char *subject, const Code *c, const char *detail)
{
    const char *kernel = m->kernel->name;
    Finding *f = NULL;
    for (u32 i = 0; i < m->findings.n && !f; i++) {
        Finding *known = &m->findings.v[i];
        if (known->kind == kind && !strcmp(known->kernel, kernel) && !strcmp(known->subject, subject))
            f = known;
    }
    if (!f) {
        Finding fresh = {.kind = kind, .kernel = kernel, .subject = subject};
        vec_push(&m->findings, fresh);
        f = &vec_last(&m->findings);
    }
    f->count++;
    u32 n = 0;
    while (n < COUNT_OF(f->where) && f->where[n])
        n++;
    if (n == COUNT_OF(f->where) || f->count > 64)
        return;
    const char *at = code_location(m->program, c);
    for (u32 i = 0; i < n; i++)
        if (!strncmp(f->where[i], at, strlen(at)))
            return;
    f->where[n] = detail ? arena_printf(m->arena, "%s (%s)", at, detail) : at;
}
