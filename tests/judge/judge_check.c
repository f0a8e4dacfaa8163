/* Is the judge steady? Code that differs by next to nothing has to take as long, and what is worse must not turn on what nobody knows
 * about latencies, nor on which of two versions comes first.
 *   judge_check metamorph EVERY FILE.cubin...        a line a failure, then `metamorph TRIED FAILED FUNCTIONS`
 *   judge_check both FILE.cubin...                    a line a kernel of two versions that are judged differently from both sides
 *   judge_check same BEFORE.cubin AFTER.cubin        a line a kernel that is judged to be another, of texts that mean the same
 *   judge_check latencies BEFORE.cubin AFTER.cubin   a line a verdict: `FUNCTION KIND=END WAS IS`, of those that move too
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/machine/match.h"
#include "judge/machine/worse.h"
#include "rewrite.h"

#define STEADY 0.01   /* what a ratio may differ by from 1 */
#define SAME_WORK 2.5 /* what phases and ptxas save or copy of accesses, at most, except in state machines */
#define BARRIERS 1.71 /* a barrier waits for a longer arm, too: spread.h */

typedef struct Counts {
    unsigned long tried[REWRITES], failed, functions;
} Counts;

/* So much of a warp's cycles an instruction stands for, at most: its own, those until its result is there, and what it waits for,
 * which nobody may wait for without it. */
static double share_of(const Unit *unit, const Frequencies *frequencies, Rewrite kind, size_t at, double cycles)
{
    enum { STALL = 15 };
    const SassCode *code = &unit->code[0];
    Latencies latencies = latency_table(unit->sm);
    double cost = STALL;
    int block = 0;
    while (code->blocks[block].last < at)
        block++;
    for (size_t i = at; i < at + (kind == SWAP ? 2 : 1) && i < code->count; i++)
        cost += sass_issue_cycles(&code->instrs[i], &latencies) + latencies.cycles[code->instrs[i].latency] +
                (code->instrs[i].schedule.waits ? latencies.cycles[LATENCY_GLOBAL_ATOMIC] : 0);
    return cycles > 0 ? BARRIERS * frequencies->of[0][block] * cost / cycles : 0;
}

/* Whether more than where code stands, and what things are called, changes. */
static bool changes_cost(Rewrite kind) { return kind < SPLIT; }

static void check_rewrite(Counts *counts, const char *file, const Unit *unit, const Frequencies *frequencies, Rewrite kind,
                          size_t at)
{
    Arena arena = {0};
    Cubin cubin = {.sm = unit->sm, .count = unit->count, .latencies = latency_table(unit->sm)};
    Unit after;
    cubin.functions = rewrite(&arena, unit, kind, at);
    if (cubin.functions && unit_read(&after, &cubin, 0)) {
        Judgement forth, back;
        worse_judge(&forth, unit, &after);
        worse_judge(&back, &after, unit);
        double ratio = forth.moved.cycles[1] / forth.moved.cycles[0], other = back.moved.cycles[0] / back.moved.cycles[1];
        double share = changes_cost(kind) ? share_of(unit, frequencies, kind, at, forth.moved.cycles[0]) : 0;
        double most = share > STEADY ? share : STEADY;
        counts->tried[kind]++;
        if (ratio > 1 + most || ratio < 1 - most || other > 1 + most || other < 1 - most) {
            counts->failed++;
            printf("fail %s: %s: %s at %x: cycles times %.3f and %.3f, for at most %.3f\n", file, unit->function->name,
                   rewrite_names[kind], unit->code[0].instrs[at].offset, ratio, other, 1 + most);
        }
        unit_free(&after);
    }
    arena_free(&arena);
}

/* One of `every`, whatever the distance of what stands in a row. */
static bool is_drawn(size_t at, size_t every) { return at * 2654435761u / 65536 % every == 0; }

static void check_unit(Counts *counts, const char *file, const Unit *unit, size_t every)
{
    Arena arena = {0};
    Iterations iterations = iterations_make(&arena, unit);
    Frequencies frequencies = unit_frequencies(&arena, unit, &iterations);
    size_t count = unit->code[0].count;
    counts->functions++;
    check_rewrite(counts, file, unit, &frequencies, RENAME, 0);
    check_rewrite(counts, file, unit, &frequencies, BOARDS, 0);
    for (size_t at = 0; at < count; at++) {
        bool branches = unit->code[0].instrs[at].class == SASS_BRA;
        bool starts = at && sass_ends_block(&unit->code[0].instrs[at - 1]);
        for (Rewrite kind = INVERT; branches && kind <= ARMS && is_drawn(at, every / 8 + 1); kind++)
            check_rewrite(counts, file, unit, &frequencies, kind, at);
        if (starts && is_drawn(at, every / 8 + 1))
            check_rewrite(counts, file, unit, &frequencies, MOVE, at);
        bool waits_for_all = unit->code[0].instrs[at].class == SASS_BAR; /* how long, it alone says */
        for (Rewrite kind = waits_for_all ? SWAP : DROP; kind <= SWAP && at % every == every / 2; kind++)
            check_rewrite(counts, file, unit, &frequencies, kind, at);
        if (at % every == 0)
            check_rewrite(counts, file, unit, &frequencies, SPLIT, at);
    }
    arena_free(&arena);
}

static int metamorph(size_t every, int count, char **files)
{
    enum { MOST_INSTRUCTIONS = 6000 };
    Counts counts = {{0}, 0, 0};
    for (int f = 0; f < count; f++) {
        Cubin cubin;
        if (cubin_open(&cubin, files[f]))
            continue;
        for (size_t i = 0; i < cubin.count; i++) {
            Unit unit;
            if (cubin.functions[i].inner || !unit_read(&unit, &cubin, i))
                continue;
            if (can_rewrite(&unit) && unit.instructions <= MOST_INSTRUCTIONS)
                check_unit(&counts, files[f], &unit, every);
            unit_free(&unit);
        }
        cubin_close(&cubin);
    }
    printf("metamorph: %lu functions", counts.functions);
    for (Rewrite kind = DROP; kind < REWRITES; kind++)
        printf(", %lu %s", counts.tried[kind], rewrite_names[kind]);
    printf("; %lu failed\n", counts.failed);
    return counts.failed || !counts.functions;
}

/* ---- latencies ---------------------------------------------------------------------------------------------------- */

static const char *verdict_of(const Judgement *j) { return j->worse ? "worse" : "fine"; }

/* The verdict with that latency in both, or that of the table for `cycles` 0. */
static const char *judge_with(Cubin *before, Cubin *after, const char *name, LatencyKind kind, unsigned cycles)
{
    Judgement j;
    Latencies usual = before->latencies;
    if (cycles)
        before->latencies.cycles[kind] = after->latencies.cycles[kind] = cycles;
    bool known = worse_judge_function(&j, before, after, name);
    before->latencies = after->latencies = usual;
    return known && j.changed ? verdict_of(&j) : NULL;
}

static void move_latencies(Cubin *before, Cubin *after, const char *name)
{
    static const unsigned global[] = {33, 120, 200, 290};
    const char *usual = judge_with(before, after, name, LATENCY_NONE, 0);
    if (!usual)
        return;
    for (unsigned k = LATENCY_NONE + 1; k < LATENCY_KINDS; k++)
        for (unsigned end = 0; end < 4; end++) {
            Latencies moved = before->latencies;
            latency_move(&moved, (LatencyKind)k, before->sm, end == 1 ? LATENCY_MOST : LATENCY_LEAST);
            unsigned cycles = k == LATENCY_GLOBAL ? global[end] : end < 2 ? moved.cycles[k] : 0;
            if (cycles)
                printf("%s %s=%u %s %s\n", name, latency_name((LatencyKind)k), cycles, usual,
                       judge_with(before, after, name, (LatencyKind)k, cycles));
        }
}

static int latencies(const char *old, const char *new)
{
    Cubin before, after;
    if (cubin_open(&before, old))
        return 2;
    if (cubin_open(&after, new)) {
        cubin_close(&before);
        return 2;
    }
    for (size_t i = 0; i < before.count; i++)
        if (!before.functions[i].inner)
            move_latencies(&before, &after, before.functions[i].name);
    cubin_close(&before);
    cubin_close(&after);
    return 0;
}

/* ---- both directions ---------------------------------------------------------------------------------------------- */

/* The verdict as a number: 1: better, -1: worse. */
static int sign_of(const Judgement *j) { return j->worse ? -1 : j->better; }

/* How often a warp accesses global memory, by the frequencies of two versions together. */
static double count_accesses(const Unit *unit, const Frequencies *frequencies)
{
    const SassCode *code = &unit->code[0];
    double accesses = 0;
    for (int b = 0; b < code->block_count; b++)
        for (size_t i = code->blocks[b].first; i <= code->blocks[b].last; i++)
            if (code->instrs[i].class == SASS_LDG || code->instrs[i].class == SASS_STG ||
                code->instrs[i].class == SASS_ATOM)
                accesses += frequencies->of[0][b];
    return accesses;
}

/* Whatever becomes of a loop, its parts together do its work: no version has far more accesses. */
static bool does_same_work(const Unit *a, const Unit *b)
{
    Arena arena = {0};
    Iterations old = iterations_make(&arena, a), new = iterations_make(&arena, b);
    unroll_match(a, b, &old, &new);
    Frequencies was = unit_frequencies(&arena, a, &old), is = unit_frequencies(&arena, b, &new);
    match_frequencies(a, b, &old, &new, &was, &is);
    double accesses[2] = {count_accesses(a, &was), count_accesses(b, &is)};
    arena_free(&arena);
    return accesses[0] <= SAME_WORK * accesses[1] && accesses[1] <= SAME_WORK * accesses[0];
}

static void check_both(Counts *counts, const char *files, const Unit *a, const Unit *b)
{
    Judgement forth, back;
    worse_judge(&forth, a, b);
    worse_judge(&back, b, a);
    double ratio = forth.moved.cycles[1] / forth.moved.cycles[0], other = back.moved.cycles[0] / back.moved.cycles[1];
    bool same_sign = sign_of(&forth) == sign_of(&back) && sign_of(&forth);
    bool apart = ratio > other * (1 + STEADY) || other > ratio * (1 + STEADY);
    bool same_work = does_same_work(a, b);
    counts->functions++;
    if (!same_sign && !apart && same_work)
        return;
    counts->failed++;
    printf("fail %s: %s: %s: cycles times %.4f, and from the other side %.4f\n", files, a->function->name,
           !same_work    ? "does more accesses"
           : !same_sign  ? "differs"
           : forth.worse ? "each is worse"
                         : "each is better",
           ratio, other);
}

/* The code of two texts that mean the same. */
static void check_same(Counts *counts, const char *files, const Unit *a, const Unit *b)
{
    Judgement forth;
    worse_judge(&forth, a, b);
    double ratio = forth.moved.cycles[1] / forth.moved.cycles[0];
    counts->functions++;
    if (!forth.worse && ratio <= 1 + STEADY && ratio >= 1 - STEADY)
        return;
    Arena arena = {0};
    counts->failed++;
    printf("fail %s: %s: %s%s\n", files, a->function->name, forth.worse ? "worse: " : "", worse_describe(&arena, &forth));
    arena_free(&arena);
}

typedef void PairCheck(Counts *counts, const char *files, const Unit *a, const Unit *b);

static void check_file_pair(Counts *counts, const char *old, const char *new, PairCheck *check)
{
    Cubin before, after;
    char files[4096];
    snprintf(files, sizeof files, "%s %s", old, new);
    if (cubin_open(&before, old))
        return;
    if (cubin_open(&after, new)) {
        cubin_close(&before);
        return;
    }
    for (size_t i = 0; i < before.count; i++)
        for (size_t k = 0; k < after.count && !before.functions[i].inner; k++) {
            Unit a, b;
            if (after.functions[k].inner || strcmp(before.functions[i].name, after.functions[k].name) != 0 ||
                !unit_read(&a, &before, i))
                continue;
            if (unit_read(&b, &after, k)) {
                if (!unit_same_code(&a, &b))
                    check(counts, files, &a, &b);
                unit_free(&b);
            }
            unit_free(&a);
        }
    cubin_close(&before);
    cubin_close(&after);
}

static int same(const char *old, const char *new)
{
    Counts counts = {{0}, 0, 0};
    check_file_pair(&counts, old, new, check_same);
    printf("same: %lu functions with other code, %lu failed\n", counts.functions, counts.failed);
    return counts.failed > 0;
}

static int both_ways(int count, char **files)
{
    Counts counts = {{0}, 0, 0};
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            check_file_pair(&counts, files[i], files[k], check_both);
    printf("both: %lu functions, %lu failed\n", counts.functions, counts.failed);
    return counts.failed > 0;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "metamorph") == 0)
        return metamorph(strtoul(argv[2], NULL, 10), argc - 3, argv + 3);
    if (argc > 2 && strcmp(argv[1], "both") == 0)
        return both_ways(argc - 2, argv + 2);
    if (argc == 4 && strcmp(argv[1], "same") == 0)
        return same(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "latencies") == 0)
        return latencies(argv[2], argv[3]);
    fputs("usage: judge_check metamorph EVERY FILE.cubin... | both FILE.cubin... | same BEFORE.cubin AFTER.cubin | "
          "latencies BEFORE.cubin AFTER.cubin\n",
          stderr);
    return 2;
}
