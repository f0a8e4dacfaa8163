/* Whole inputs: which functions are left alone, and which text results. If that is remembered, the text is made at once. It follows
 * from verdicts about groups, and is stored beside these. For --tuned it is comments. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "judge/guard/guard_inside.h"

static const char first[] = "# of an input, whose text is then ", alone[] = "# left alone: ", because[] = "# since: ";
enum { HEX = 16 };

/* A hash of the file. False: it cannot be read. */
static bool hash_text(const char *path, u64 *hash)
{
    Str text = {NULL, 0};
    bool read = source_read(path, &text);
    *hash = read ? verdict_hash(FNV_BASIS, text) : 0;
    source_free(&text);
    return read;
}

/* 0: nothing is to be remembered. Decisions of --tuned would have to be in it, too. */
static u64 key_of(const Guard *guard)
{
    const Options *options = guard->options;
    u64 text = 0, key = guard->context;
    if (!guard->cache.folder || options->pipeline.tuned.n || options->guard_search || !hash_text(options->input, &text))
        return 0;
    const u64 numbers[] = {options->said, options->pipeline.file_time, text};
    return verdict_hash(key, (Str){(const char *)numbers, sizeof numbers});
}

static void read_reason(Guard *guard, const char *line)
{
    char *text = arena_copy(guard->arena, line, strcspn(line, "\n")), *saved = NULL;
    const char *name = strtok_r(text, "\t", &saved), *how = strtok_r(NULL, "\t", &saved), *why = strtok_r(NULL, "", &saved);
    if (why)
        guard_hold_back(guard, name, how, why);
}

bool recall_find(Guard *guard, u64 *made)
{
    u64 key = key_of(guard);
    const char *text = key ? cache_get(&guard->cache, guard->arena, key) : NULL;
    if (!text || strncmp(text, first, sizeof first - 1) != 0)
        return false;
    *made = strtoull(text + sizeof first - 1, NULL, HEX);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, alone, sizeof alone - 1) == 0)
            guard_withhold(guard, arena_copy(guard->arena, line + sizeof alone - 1, strcspn(line + sizeof alone - 1, "\n")));
        else if (strncmp(line, because, sizeof because - 1) == 0)
            read_reason(guard, line + sizeof because - 1);
    }
    return true;
}

bool recall_is_made(const Scratch *text, u64 made)
{
    u64 hash;
    return hash_text(text->path, &hash) && hash == made;
}

void recall_forget(const Guard *guard)
{
    vec_clear(&guard->options->pipeline.withheld);
    vec_clear(&guard->result->held_back);
}

void recall_add(const Guard *guard)
{
    const VecWithheld *withheld = &guard->options->pipeline.withheld;
    u64 made, key = guard->unsure ? 0 : key_of(guard);
    if (!key || !hash_text(guard->best.text.path, &made))
        return;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    fprintf(out, "%s%016" PRIx64 ":\n", first, made);
    for (u32 i = 0; i < withheld->n; i++)
        fprintf(out, "%s%s\n", alone, withheld->v[i].function);
    for (u32 i = 0; i < guard->result->held_back.n; i++) {
        const HeldBack *one = &guard->result->held_back.v[i];
        fprintf(out, "%s%s\t%s\t%s\n", because, one->name, one->how, one->why);
    }
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole)
        cache_put(&guard->cache, key, text);
    free(text);
}
