/* Verdicts about two texts as a whole: what they leave alone. Where they are remembered, the texts need not be taken apart. They follow
 * from the texts and from verdicts about groups, and go beside these. For --tuned they are comments. */
#define _GNU_SOURCE
#include <string.h>

#include "judge/guard/guard_inside.h"

static const char first[] = "# of a text, by its kernels:\n", alone[] = "# left alone: ", because[] = "# since: ";

Alone text_verdict_count(const Guard *guard)
{
    return (Alone){guard->options->pipeline.withheld.n, guard->result->held_back.n};
}

static void read_reason(Guard *guard, const char *line)
{
    char *text = arena_copy(guard->arena, line, strcspn(line, "\n")), *saved = NULL;
    const char *name = strtok_r(text, "\t", &saved), *how = strtok_r(NULL, "\t", &saved), *why = strtok_r(NULL, "", &saved);
    if (why)
        guard_hold_back(guard, name, how, why);
}

bool text_verdict_apply(Guard *guard, u64 key)
{
    const char *text = key ? cache_get(&guard->cache, guard->arena, key) : NULL;
    if (!text || strncmp(text, first, sizeof first - 1) != 0)
        return false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, alone, sizeof alone - 1) == 0)
            guard_withhold(guard, arena_copy(guard->arena, line + sizeof alone - 1, strcspn(line + sizeof alone - 1, "\n")));
        else if (strncmp(line, because, sizeof because - 1) == 0)
            read_reason(guard, line + sizeof because - 1);
    }
    return true;
}

void text_verdict_add(const Guard *guard, u64 key, Alone before)
{
    const VecWithheld *withheld = &guard->options->pipeline.withheld;
    const char *text = first;
    for (u32 i = before.withheld; i < withheld->n; i++)
        text = arena_printf(guard->arena, "%s%s%s\n", text, alone, withheld->v[i].function);
    for (u32 i = before.held_back; i < guard->result->held_back.n; i++) {
        const HeldBack *one = &guard->result->held_back.v[i];
        text = arena_printf(guard->arena, "%s%s%s\t%s\t%s\n", text, because, one->name, one->how, one->why);
    }
    if (key && !guard->unsure)
        cache_put(&guard->cache, key, text);
}
