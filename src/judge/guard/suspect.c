/* Which kernels and functions got worse, and which phases may be to blame. */
#define _GNU_SOURCE
#include "judge/guard/suspect.h"

#include <stdlib.h>
#include <string.h>

/* Takes what the optimizer said of its rewrites: lines "BISECT: running rewrite (N) PHASE on function (NAME)". */
void suspects_find_rewrites(Search *search)
{
    size_t bytes = 0;
    char *said = scratch_read(&search->best.said, &bytes), *saved = NULL;
    const PhaseTable *table = search->guard->options->pipeline.table;
    for (char *line = said ? strtok_r(said, "\n", &saved) : NULL; line; line = strtok_r(NULL, "\n", &saved)) {
        static const char ran[] = "BISECT: running rewrite (", on[] = " on function (";
        char *phase = strncmp(line, ran, sizeof ran - 1) == 0 ? strstr(line, ") ") : NULL;
        char *name = phase ? strstr(phase, on) : NULL, *end = name ? strrchr(name, ')') : NULL;
        if (!end)
            continue;
        *end = '\0';
        PhaseRange range = phase_find(table, phase + 2, (size_t)(name - phase - 2));
        Rewrite rewrite = {range.first, 1, guard_group_of(search->guard, name + sizeof on - 1)};
        Rewrite *last = search->rewrites.n ? &vec_last(&search->rewrites) : NULL;
        if (last && last->phase == rewrite.phase && last->group == rewrite.group)
            last->count++;
        else if (range.count == 1)
            vec_push(&search->rewrites, rewrite);
    }
    free(said);
}

static bool may_have_changed(const Search *search, const char *name)
{
    int group = guard_group_of(search->guard, name);
    return group < 0 || search->guard->changed[group];
}

void suspects_trim(const Search *search, Trial *trial)
{
    bool *wanted = arena_array(search->guard->arena, bool, search->guard->parts.groups);
    for (u32 i = 0; i < search->suspects.n; i++) {
        int group = guard_group_of(search->guard, search->suspects.v[i].name);
        if (group >= 0)
            wanted[group] = true;
    }
    guard_trim(search->guard, trial, wanted);
}

static Suspect *find_suspect(Search *search, const char *name)
{
    for (u32 i = 0; i < search->suspects.n; i++)
        if (strcmp(search->suspects.v[i].name, name) == 0)
            return &search->suspects.v[i];
    return NULL;
}

u32 suspect_phases(const Suspect *suspect)
{
    u32 count = 0;
    for (u32 phase = 0; phase < PHASE_COUNT; phase++)
        count += suspect->without[phase];
    return count;
}

/* All phases that run: those of the sequence, and the clean-up's parts where one of them asks for it. */
static void do_without(const PipelineConfig *config, Suspect *suspect)
{
    bool cleans_up = false;
    for (u32 i = 0; i < config->sequence.n; i++) {
        suspect->without[config->sequence.v[i]] = true;
        cleans_up |= config->table->phase[config->sequence.v[i]].after == CLEANUP;
    }
    for (u32 phase = 0; phase < config->table->phases && cleans_up; phase++)
        suspect->without[phase] |= config->table->phase[phase].after == OF_CLEANUP && !config->disabled[phase];
}

static void do_without_all(const Search *search, Suspect *suspect)
{
    const PipelineConfig *config = &search->guard->options->pipeline;
    do_without(config, suspect);
    for (u32 i = 0; i < config->tuned.n; i++)
        do_without(config->tuned.v[i].config, suspect);
}

void suspect_do_without_those_that_rewrote(const Search *search, Suspect *suspect)
{
    u32 before = suspect_phases(suspect);
    int group = guard_group_of(search->guard, suspect->name);
    for (u32 i = 0; i < search->rewrites.n; i++)
        if (search->rewrites.v[i].group == group)
            suspect->without[search->rewrites.v[i].phase] = true;
    if (suspect_phases(suspect) == before)
        do_without_all(search, suspect);
}

bool suspects_add(Search *search, const Cubin *cubin)
{
    bool any = false;
    for (size_t i = 0; i < search->guard->original.cubin.count; i++) {
        const CubinFunction *function = &search->guard->original.cubin.functions[i];
        const char *moved = function->inner || !may_have_changed(search, function->name)
                                ? NULL
                                : guard_worse_by(search->guard, function->name, cubin);
        if (!moved)
            continue;
        Suspect *suspect = find_suspect(search, function->name);
        if (!suspect) {
            vec_push(&search->suspects, ((Suspect){.name = function->name, .moved = moved}));
            suspect = &search->suspects.v[search->suspects.n - 1];
        }
        suspect->good = 0;
        u32 before = suspect_phases(suspect);
        suspect_do_without_those_that_rewrote(search, suspect);
        any |= suspect_phases(suspect) > before;
    }
    return any;
}

bool suspect_is_worse(const Search *search, const Suspect *suspect, const Cubin *cubin)
{
    return guard_worse_by(search->guard, suspect->name, cubin);
}
