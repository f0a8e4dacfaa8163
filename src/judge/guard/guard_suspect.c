/* Which kernels and functions got worse, and by which phases that can be. */
#define _GNU_SOURCE
#include "judge/guard/guard_suspect.h"

#include <stdlib.h>
#include <string.h>

int guard_group_of(const Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (strcmp(guard->parts.part.v[i].name, name) == 0)
            return (int)guard->parts.part.v[i].group;
    return -1;
}

void guard_find_changed(Guard *guard)
{
    Parts made = {0};
    Parts *old = &guard->parts;
    if (parts_read(old, guard->options->input) && parts_read(&made, guard->best.text.path) && made.part.n == old->part.n) {
        guard->changed = arena_array(guard->arena, bool, old->groups);
        for (u32 i = 0; i < old->part.n; i++) {
            Str a = old->part.v[i].body, b = made.part.v[i].body;
            guard->changed[old->part.v[i].group] |= !str_equal(a, b);
        }
    }
    parts_free(&made);
}

/* Takes what the optimizer said of its rewrites: lines "BISECT: running rewrite (N) PHASE on function (NAME)". */
void guard_find_rewrites(Guard *guard)
{
    size_t bytes = 0;
    char *said = scratch_read(&guard->best.said, &bytes), *saved = NULL;
    const PhaseTable *table = guard->options->pipeline.table;
    for (char *line = said ? strtok_r(said, "\n", &saved) : NULL; line; line = strtok_r(NULL, "\n", &saved)) {
        static const char ran[] = "BISECT: running rewrite (", on[] = " on function (";
        char *phase = strncmp(line, ran, sizeof ran - 1) == 0 ? strstr(line, ") ") : NULL;
        char *name = phase ? strstr(phase, on) : NULL, *end = name ? strrchr(name, ')') : NULL;
        if (!end)
            continue;
        *end = '\0';
        PhaseRange range = phase_find(table, phase + 2, (size_t)(name - phase - 2));
        Rewrite rewrite = {range.first, 1, guard_group_of(guard, name + sizeof on - 1)};
        Rewrite *last = guard->rewrites.n ? &vec_last(&guard->rewrites) : NULL;
        if (last && last->phase == rewrite.phase && last->group == rewrite.group)
            last->count++;
        else if (range.count == 1)
            vec_push(&guard->rewrites, rewrite);
    }
    free(said);
}

static bool may_have_changed(const Guard *guard, const char *name)
{
    int group = guard_group_of(guard, name);
    return !guard->changed || group < 0 || guard->changed[group];
}

const char *guard_path_of(const Guard *guard, const Trial *trial)
{
    return trial->text.fd >= 0 ? trial->text.path : guard->options->input;
}

void guard_trim(const Guard *guard, Trial *trial, const bool *wanted)
{
    Parts parts = {0};
    Scratch text = {.fd = -1};
    bool leaves_out = false;
    for (u32 i = 0; i < guard->parts.part.n && guard->changed && !guard->parts.whole; i++)
        leaves_out |= guard->parts.part.v[i].is_entry && !wanted[guard->parts.part.v[i].group];
    if (leaves_out && parts_read(&parts, guard_path_of(guard, trial)) && parts.part.n == guard->parts.part.n) {
        Str *bodies = mem_zalloc(sizeof *bodies * parts.part.n);
        for (u32 i = 0; i < parts.part.n; i++)
            if (!parts.part.v[i].is_entry || wanted[guard->parts.part.v[i].group])
                bodies[i] = parts.part.v[i].body;
        if (parts_write(&parts, bodies, &text)) {
            scratch_close(&trial->text);
            trial->text = text;
        } else {
            scratch_close(&text);
        }
        mem_free(bodies);
    }
    parts_free(&parts);
}

void guard_trim_to_suspects(const Guard *guard, Trial *trial)
{
    bool *wanted = arena_array(guard->arena, bool, guard->parts.groups);
    for (u32 i = 0; i < guard->suspects.n; i++) {
        int group = guard_group_of(guard, guard->suspects.v[i].name);
        if (group >= 0)
            wanted[group] = true;
    }
    guard_trim(guard, trial, wanted);
}

static Suspect *find_suspect(Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->suspects.n; i++)
        if (strcmp(guard->suspects.v[i].name, name) == 0)
            return &guard->suspects.v[i];
    return NULL;
}

/* What moved in the function where it is worse in `cubin`, and where that cannot be judged; NULL: it is not worse. */
static const char *worse_by(const Guard *guard, const char *name, const Cubin *cubin)
{
    Judgement judgement;
    if (!worse_judge_function(&judgement, &guard->original.cubin, cubin, name))
        return "it cannot be judged";
    return judgement.worse ? worse_describe(guard->arena, &judgement) : NULL;
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

static void do_without_all(const Guard *guard, Suspect *suspect)
{
    const PipelineConfig *config = &guard->options->pipeline;
    do_without(config, suspect);
    for (u32 i = 0; i < config->tuned.n; i++)
        do_without(config->tuned.v[i].config, suspect);
}

void suspect_do_without_those_that_rewrote(const Guard *guard, Suspect *suspect)
{
    u32 before = suspect_phases(suspect);
    int group = guard_group_of(guard, suspect->name);
    for (u32 i = 0; i < guard->rewrites.n; i++)
        if (guard->rewrites.v[i].group == group)
            suspect->without[guard->rewrites.v[i].phase] = true;
    if (suspect_phases(suspect) == before)
        do_without_all(guard, suspect);
}

bool guard_add_suspects(Guard *guard, const Cubin *cubin)
{
    bool any = false;
    for (size_t i = 0; i < guard->original.cubin.count; i++) {
        const CubinFunction *function = &guard->original.cubin.functions[i];
        const char *moved =
            function->inner || !may_have_changed(guard, function->name) ? NULL : worse_by(guard, function->name, cubin);
        if (!moved)
            continue;
        Suspect *suspect = find_suspect(guard, function->name);
        if (!suspect) {
            vec_push(&guard->suspects, ((Suspect){.name = function->name, .moved = moved}));
            suspect = &guard->suspects.v[guard->suspects.n - 1];
        }
        suspect->good = 0;
        u32 before = suspect_phases(suspect);
        suspect_do_without_those_that_rewrote(guard, suspect);
        any |= suspect_phases(suspect) > before;
    }
    return any;
}

bool suspect_is_worse(const Guard *guard, const Suspect *suspect, const Cubin *cubin)
{
    return worse_by(guard, suspect->name, cubin);
}
