/* Verdicts about groups of functions, from this run or remembered from another. A verdict depends on ptxas's input and on
 * the judge, and its key is a hash of both. The hash covers the functions before and after, the text outside of functions
 * (without global variables that they do not name), ptxas and its options, and this program. Remembered verdicts have the
 * form of decisions of --tune (pipeline/tuned.h). */
#define _GNU_SOURCE
#include "judge/guard/guard_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fnvmap.h"
#include "base/source.h"
#include "pipeline/tuned.h"
#include "version.h"

/* ---- keys --------------------------------------------------------------------------------------------------------- */

static u64 hash_word(u64 hash, const char *word) { return fnv_bytes(hash, word, strlen(word) + 1); }

static u64 hash_number(u64 hash, u64 number) { return fnv_bytes(hash, (const char *)&number, sizeof number); }

static u64 hash_stat(u64 hash, const struct stat *st)
{
    const u64 numbers[] = {(u64)st->st_dev,         (u64)st->st_ino,          (u64)st->st_size,
                           (u64)st->st_mtim.tv_sec, (u64)st->st_mtim.tv_nsec, (u64)st->st_ctim.tv_sec,
                           (u64)st->st_ctim.tv_nsec};
    for (u32 i = 0; i < COUNT_OF(numbers); i++)
        hash = hash_number(hash, numbers[i]);
    return hash;
}

enum { LANES = 4, LANE_SHIFT = 32, CHUNK_BYTES = 64 * 1024 };

/* Continues a hash. Words of eight bytes go to lanes that need not wait for each other: ptxas has forty megabytes. */
u64 verdict_hash(u64 hash, Str bytes)
{
    u64 lane[LANES], word[LANES];
    u32 at = 0;
    for (u32 k = 0; k < LANES; k++)
        lane[k] = hash + k;
    for (; bytes.len - at >= sizeof word; at += sizeof word) {
        memcpy(word, bytes.p + at, sizeof word);
        for (u32 k = 0; k < LANES; k++) {
            lane[k] = (lane[k] ^ word[k]) * FNV_PRIME;
            lane[k] ^= lane[k] >> LANE_SHIFT;
        }
    }
    for (u32 k = 0; k < LANES; k++)
        hash = hash_number(hash, lane[k]);
    return fnv_bytes(hash, bytes.p + at, bytes.len - at);
}

/* Reads until the chunk is full or the file ends. Answers how many bytes; -1: it cannot be read. */
static ssize_t read_chunk(int fd, char *chunk)
{
    size_t done = 0;
    while (done < CHUNK_BYTES) {
        ssize_t got = read(fd, chunk + done, CHUNK_BYTES - done);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

/* Hashes a file, piece by piece: as a whole it would need new memory. False: it cannot be read. */
static bool hash_file(const char *path, u64 *hash, bool *is_program)
{
    char *chunk = mem_alloc(CHUNK_BYTES);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read_chunk(fd, chunk) : -1;
    *is_program = got > 4 && memcmp(chunk, "\177ELF", 4) == 0;
    *hash = FNV_BASIS;
    for (; got > 0; got = read_chunk(fd, chunk))
        *hash = verdict_hash(*hash, (Str){chunk, (u32)got});
    if (fd >= 0)
        close(fd);
    mem_free(chunk);
    return got == 0;
}

/* A program is its bytes, so that what is remembered holds on other machines; they are read once for each state of the file. A script
 * may run anything: it is what it is only where it is. */
static u64 hash_program(const Cache *cache, const char *path)
{
    static const char format[] = "# '%s' is %016" PRIx64 "\n";
    Arena arena = {0};
    struct stat st;
    u64 where = hash_word(FNV_BASIS, path), hash = where, bytes;
    bool is_program;
    if (!cache->folder)
        return hash;
    if (stat(path, &st) == 0)
        where = hash_stat(where, &st);
    char *known = cache_get(cache, &arena, where), *digits = known ? strrchr(known, ' ') : NULL;
    if (digits) {
        hash = strtoull(digits, NULL, 16);
    } else if (hash_file(path, &bytes, &is_program)) {
        hash = hash_number(is_program ? FNV_BASIS : where, bytes);
        if (is_program)
            cache_put(cache, where, arena_printf(&arena, format, path, hash));
    }
    arena_free(&arena);
    return hash;
}

/* The commit; of what no commit describes, the state of the file that runs. */
static u64 hash_self(u64 hash)
{
    struct stat st;
    hash = hash_word(hash, PTXOPT_VERSION " " PTXOPT_COMMIT);
    bool described = !strstr(PTXOPT_COMMIT, "dirty") && !strstr(PTXOPT_COMMIT, "unknown");
    return described || stat("/proc/self/exe", &st) != 0 ? hash : hash_stat(hash, &st);
}

/* Whether the level says all of what the command line says; else a decision says nothing. */
static bool says_level(const Options *options) { return !options->phases && !options->stop_after; }

void verdict_begin(Guard *guard)
{
    const AssembleCommand *command = guard->assembler.command;
    guard->cache = cache_open(guard->arena);
    guard->context = hash_number(hash_self(FNV_BASIS), hash_program(&guard->cache, command->ptxas));
    guard->context = hash_number(guard->context, says_level(guard->options) ? guard->options->pipeline.level : UINT32_MAX);
    if (command->meaning)
        guard->context = hash_number(guard->context, command->meaning);
    for (int i = 1; i < command->count && !command->meaning; i++)
        if (i != command->input && i != command->output)
            guard->context = hash_word(guard->context, command->argv[i]);
}

/* The options of --tuned that made the function, levers among them; NULL: the command line made it. */
static const char *tuned_words(Guard *guard, u32 part)
{
    const VecTuned *decisions = &guard->options->pipeline.tuned;
    const char *name = guard->parts.part.v[part].name;
    const Tuned *tuned = decisions->n ? tuned_by_hash(decisions, name, parts_hash(&guard->parts, part)) : NULL;
    return tuned ? tuned->words : NULL;
}

/* The hash of what the module says beside functions, as those of the group see it. */
static u64 hash_rest(Guard *guard, u32 group)
{
    bool *named = mem_zalloc(guard->parts.variables.n + 1);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (guard->parts.part.v[i].group == group) {
            parts_mark_named(&guard->parts, guard->parts.part.v[i].body, named);
            parts_mark_named(&guard->parts, guard->made.part.v[i].body, named);
        }
    u64 hash = parts_hash_rest(&guard->parts, named);
    mem_free(named);
    return hash;
}

static u64 key_of(Guard *guard, u32 group)
{
    u64 key = hash_number(guard->context, hash_rest(guard, group));
    for (u32 i = 0; i < guard->parts.part.n; i++) {
        const Part *old = &guard->parts.part.v[i], *new = &guard->made.part.v[i];
        if (old->group != group)
            continue;
        const u64 hashes[] = {parts_hash(&guard->parts, i), old->named, parts_hash(&guard->made, i), new->named};
        const char *words = tuned_words(guard, i);
        key = hash_word(key, old->name);
        if (words)
            key = hash_word(key, words);
        for (u32 k = 0; k < COUNT_OF(hashes); k++)
            key = hash_number(key, hashes[k]);
    }
    return key;
}

/* ---- what is remembered ------------------------------------------------------------------------------------------- */

static const char reverted[] = " # ptxas made it worse: ", called[] = " # called by what got worse", same[] = " # unchanged",
                  kept[] = " # not worse";

/* What a function that is not worse was made by, with a blank in front. A guard was there, and what only that allows is. */
static const char *words_of(Guard *guard, u32 part)
{
    const char *words = tuned_words(guard, part);
    bool level = says_level(guard->options);
    if (!words)
        return level ? arena_printf(guard->arena, " -O%u --guard", guard->options->pipeline.level) : " --guard";
    return arena_printf(guard->arena, " %s%s", words, strstr(words, " --guard") ? "" : " --guard");
}

/* By part: marks what kernels may call that did not get worse, and these. */
static void mark_of_others(const Guard *guard, const GuardVerdict *verdict, bool *marked)
{
    u32 last = guard->parts.part.n;
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (guard->parts.part.v[i].is_entry && !verdict->why[i])
            marked[last = i] = true;
    if (last < guard->parts.part.n)
        parts_mark_called(&guard->parts, last, marked); /* and what all others may call that are marked */
}

/* What got worse is left alone with what it may call. If it changed itself, and kernels that did not get worse may call the same, it is
 * left alone without that first: they may gain by it. */
static void mark_alone(const Guard *guard, u32 part, const bool *of_others, bool *alone)
{
    bool *marked = mem_zalloc(guard->parts.part.n + 1), shared = false;
    parts_mark_called(&guard->parts, part, marked);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        shared |= marked[i] && of_others[i] && guard_is_changed(guard, i);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        alone[i] |= shared && guard_is_changed(guard, part) ? i == part : marked[i];
    mem_free(marked);
}

void verdict_mark_alone(const Guard *guard, const GuardVerdict *verdict, bool *alone)
{
    if (!verdict->why)
        return;
    bool *of_others = mem_zalloc(guard->parts.part.n + 1);
    mark_of_others(guard, verdict, of_others);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (verdict->why[i])
            mark_alone(guard, i, of_others, alone);
    mem_free(of_others);
}

/* The line of a function: `--disable=all`, or what made it. Where something got worse, what is not left alone with it is judged again,
 * and another verdict has its line. */
static const char *line_of(Guard *guard, u32 part, const GuardVerdict *verdict, const bool *alone)
{
    const char *why = verdict->why ? verdict->why[part] : NULL, *words = " --disable=all", *remark = reverted;
    if (!why && alone[part])
        remark = called;
    else if (!why && !guard_is_changed(guard, part))
        remark = same;
    else if (!why && verdict->why)
        return "";
    else if (!why)
        words = words_of(guard, part), remark = kept;
    return arena_printf(guard->arena, "%s %016" PRIx64 ":%s%s%s\n", guard->parts.part.v[part].name,
                        parts_hash(&guard->parts, part), words, remark, why ? why : "");
}

static const char *write_verdict(Guard *guard, u32 group, const GuardVerdict *verdict)
{
    const char *text = "";
    bool *alone = mem_zalloc(guard->parts.part.n + 1);
    verdict_mark_alone(guard, verdict, alone);
    for (u32 i = 0; i < guard->parts.part.n; i++)
        if (guard->parts.part.v[i].group == group)
            text = arena_printf(guard->arena, "%s%s", text, line_of(guard, i, verdict, alone));
    mem_free(alone);
    return text;
}

/* Takes a line of what got worse. */
static void read_reason(Guard *guard, Str line, GuardVerdict *verdict)
{
    const char *why = memmem(line.p, line.len, reverted, sizeof reverted - 1), *blank = memchr(line.p, ' ', line.len);
    int part = why ? guard_part_of(guard, arena_copy(guard->arena, line.p, (size_t)(blank - line.p))) : -1;
    if (part < 0)
        return;
    if (!verdict->why)
        verdict->why = arena_array(guard->arena, const char *, guard->parts.part.n);
    why += sizeof reverted - 1;
    verdict->why[part] = arena_copy(guard->arena, why, (size_t)(line.p + line.len - why));
}

/* False: the text is no verdict of the group. What is read is what would be written. */
static bool read_verdict(Guard *guard, u32 group, const char *text, GuardVerdict *verdict)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        read_reason(guard, (Str){line, (u32)len}, verdict);
        line += len + (line[len] == '\n');
    }
    return strcmp(text, write_verdict(guard, group, verdict)) == 0;
}

const GuardVerdict *verdict_find(Guard *guard, u32 group)
{
    GuardVerdict verdict = {.key = key_of(guard, group)};
    for (u32 i = 0; i < guard->verdicts.n; i++)
        if (guard->verdicts.v[i].key == verdict.key)
            return &guard->verdicts.v[i];
    char *text = cache_get(&guard->cache, guard->arena, verdict.key);
    if (!text || !read_verdict(guard, group, text, &verdict))
        return NULL;
    vec_push(&guard->verdicts, verdict);
    return &vec_last(&guard->verdicts);
}

void verdict_add(Guard *guard, u32 group, const char **why, bool sure)
{
    GuardVerdict verdict = {key_of(guard, group), why};
    vec_push(&guard->verdicts, verdict);
    guard->unsure |= !sure;
    if (sure)
        cache_put(&guard->cache, verdict.key, write_verdict(guard, group, &verdict));
}
