/* The texts that are compared, function by function. */
#include "judge/guard/guard_inside.h"

#include <string.h>

const char guard_no_text[] = "the text could not be optimized", guard_no_parts[] = "the text could not be taken apart";

int guard_part_of(const Guard *guard, const char *name)
{
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (strcmp(guard->parts.part.v[i].name, name) == 0)
            return (int)i;
    return -1;
}

int guard_group_of(const Guard *guard, const char *name)
{
    int part = guard_part_of(guard, name);
    return part < 0 ? -1 : (int)guard->parts.part.v[part].group;
}

bool guard_is_changed(const Guard *guard, u32 part)
{
    return !str_equal(guard->parts.part.v[part].body, guard->made.part.v[part].body);
}

const char *guard_path_of(const Guard *guard, const Trial *trial)
{
    return trial->text.fd >= 0 ? trial->text.path : guard->options->input;
}

bool guard_compare(Guard *guard, const char *path)
{
    Parts *old = &guard->parts, *new = &guard->made;
    parts_free(new);
    if ((!old->part.n && !parts_read(old, guard->options->input)) || !parts_read(new, path) || new->part.n != old->part.n)
        return false;
    guard->changed = arena_array(guard->arena, bool, old->groups);
    guard->asked = arena_array(guard->arena, bool, old->groups);
    for (u32 i = 0; i < old->part.n; i++)
        guard->changed[old->part.v[i].group] |= guard_is_changed(guard, i);
    return true;
}

Scratch guard_cut(const Guard *guard, const Parts *parts, const bool *wanted)
{
    Scratch text = {.fd = -1};
    Str *bodies = mem_zalloc(sizeof *bodies * parts->part.n);
    for (u32 i = 0; i < parts->part.n; i++)
        if (!parts->part.v[i].is_entry || wanted[guard->parts.part.v[i].group])
            bodies[i] = parts->part.v[i].body;
    if (!parts_write(parts, bodies, &text))
        scratch_close(&text);
    mem_free(bodies);
    return text;
}

void guard_trim(const Guard *guard, Trial *trial, const bool *wanted)
{
    Parts read = {0};
    bool leaves_out = false, is_input = trial->text.fd < 0;
    const Parts *parts = is_input ? &guard->parts : &read;
    for (u32 i = 0; i < guard->parts.part.n && guard->changed; i++)
        leaves_out |= guard->parts.part.v[i].is_entry && !wanted[guard->parts.part.v[i].group];
    if (leaves_out && !parts_are_whole(&guard->parts) && (is_input || parts_read(&read, trial->text.path)) && parts->part.n == guard->parts.part.n) {
        Scratch text = guard_cut(guard, parts, wanted);
        if (text.fd >= 0) {
            scratch_close(&trial->text);
            trial->text = text;
        }
    }
    parts_free(&read);
}

const char *guard_worse_by(const Guard *guard, const char *name, const Cubin *cubin)
{
    Judgement judgement;
    if (!worse_judge_function(&judgement, &guard->original.cubin, cubin, name))
        return "it cannot be judged";
    return judgement.worse ? worse_describe(guard->arena, &judgement) : NULL;
}

void guard_withhold(const Guard *guard, const char *name)
{
    Withheld one = {.function = name, .itself = true};
    memset(one.phase, true, sizeof one.phase);
    vec_push(&guard->options->pipeline.withheld, one);
}

void guard_hold_back(Guard *guard, const char *name, const char *how, const char *why)
{
    HeldBack one = {arena_copy(guard->arena, name, strlen(name)), how, why};
    vec_push(&guard->result->held_back, one);
}
