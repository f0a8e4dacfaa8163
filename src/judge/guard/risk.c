/* Which kernels ptxas is not asked about: those in which only phases rewrote something whose record is good. The record says how many
 * kernels of the corpora each phase changed, and how many it made worse; `make corpus RECORD=1` writes it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "judge/guard/guard_inside.h"
#include "pipeline/knobs.h"

static const struct {
    const char *phase;
    u32 changed, worse;
} record[] = {
#define RECORD(phase, changed, better, worse) {phase, changed, worse},
#include "judge/guard/record.def"
};

enum { HUNDRED = 100 };

/* Below 1 %, even if the next kernel were worse. */
static bool has_good_record(const char *phase)
{
    for (u32 i = 0; i < COUNT_OF(record); i++)
        if (strcmp(record[i].phase, phase) == 0)
            return (record[i].worse + 1) * HUNDRED < record[i].changed;
    return false;
}

/* The record is of the phases as they are called by default. */
bool risk_is_of_record(const Options *options)
{
    const PipelineConfig *config = &options->pipeline;
    return config->level == 2 && !options->phases && !config->tuned.n && !config->ignore_exits &&
           knobs_are_initial(&config->knobs) && !options->guard_all;
}

/* Takes a line PHASE NAME. */
static void take_rewrite(Guard *guard, const char *phase, const char *name, bool *known)
{
    bool good = has_good_record(phase);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (strcmp(guard->parts.part.v[i].name, name) == 0) {
            known[i] = true;
            guard->risky[guard->parts.part.v[i].group] |= !good;
        }
}

void risk_find(Guard *guard)
{
    const Parts *parts = &guard->parts;
    bool *known = arena_array(guard->arena, bool, parts->part.n), of_record = risk_is_of_record(guard->options);
    size_t bytes = 0;
    char *lines = of_record && guard->rewrites.fd >= 0 ? scratch_read(&guard->rewrites, &bytes) : NULL, *saved = NULL;
    guard->risky = arena_array(guard->arena, bool, parts->groups);
    for (char *line = lines ? strtok_r(lines, "\n", &saved) : NULL; line; line = strtok_r(NULL, "\n", &saved)) {
        char *blank = strchr(line, ' ');
        if (!blank)
            continue;
        *blank = '\0';
        take_rewrite(guard, line, blank + 1, known);
    }
    for (u32 i = 0; i < parts->part.n; i++)
        guard->risky[parts->part.v[i].group] |= !known[i] && guard_is_changed(guard, i);
    free(lines);
}
