#include "judge/machine/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = SASS_NONE, NEIGHBOUR_PASSES = 2, HALF = 2 };

typedef struct MatchSide {
    const SassCode *code;
    const int *twin;    /* by loop */
    const bool *remade; /* by loop */
    unsigned *size;     /* by block: instructions that do more than direct control */
    int *mate;          /* by block: its like in the other version, NONE */
} MatchSide;

/* A block by what it does. */
typedef struct Print {
    uint64_t key;
    int block;
} Print;

static bool may_match(const MatchSide *side, int block)
{
    int loop = side->code->blocks[block].loop;
    return side->mate[block] == NONE && side->code->blocks[block].order != NONE && (loop == NONE || !side->remade[loop]);
}

/* Whether both are outside of loops, or in one that is the same, or in loops of which one has no twin. For where ptxas splits a loop's
 * header into two, the other version does not have the inner loop. */
static bool go_together(const MatchSide *old, const MatchSide *new, int was, int is)
{
    int a = old->code->blocks[was].loop, b = new->code->blocks[is].loop;
    if (a == NONE || b == NONE)
        return a == b;
    return old->twin[a] == b || old->twin[a] == NONE || new->twin[b] == NONE;
}

static void pair(MatchSide *old, MatchSide *new, int was, int is)
{
    old->mate[was] = is;
    new->mate[is] = was;
}

/* ---- by content --------------------------------------------------------------------------------------------------- */

typedef enum Likeness { EXACT, ROUGH } Likeness;

/* A hash of all of the block's instructions together: their order does not matter. */
static uint64_t print_of(const SassCode *code, const SassBlock *block, Likeness likeness)
{
    static const uint64_t odd = 0xbf58476d1ce4e5b9;
    uint64_t key = 0;
    for (size_t i = block->first; i <= block->last; i++) {
        const SassInstr *instr = &code->instrs[i];
        uint64_t one = likeness == EXACT ? instr->key : (instr->operation + 1) * odd;
        key += sass_is_control(instr) ? 0 : one * odd;
    }
    return key;
}

static int by_key(const void *left, const void *right)
{
    const Print *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

/* The blocks that may be matched, by key. A loop's number in the old version tells blocks of different loops apart. */
static Print *list_prints(Arena *arena, const MatchSide *side, Likeness likeness, bool by_loop, bool is_new, size_t *count)
{
    static const uint64_t odd = 0x94d049bb133111eb;
    Print *prints = arena_array(arena, Print, side->code->block_count);
    *count = 0;
    for (int b = 0; b < side->code->block_count; b++) {
        int loop = side->code->blocks[b].loop, number = loop == NONE ? NONE : is_new ? side->twin[loop] : loop;
        if (!side->size[b] || !may_match(side, b) || (by_loop && loop != NONE && side->twin[loop] == NONE))
            continue;
        uint64_t key = print_of(side->code, &side->code->blocks[b], likeness);
        prints[(*count)++] = (Print){by_loop ? key + (uint64_t)(number + 1) * odd : key, b};
    }
    qsort(prints, *count, sizeof *prints, by_key);
    return prints;
}

static size_t run_length(const Print *prints, size_t count, size_t from)
{
    size_t end = from;
    while (end < count && prints[end].key == prints[from].key)
        end++;
    return end - from;
}

/* Blocks of one key go together in order where both versions have as many of them. */
static void pair_alike(Arena *arena, MatchSide *old, MatchSide *new, Likeness likeness, bool by_loop)
{
    size_t counts[2];
    Print *was = list_prints(arena, old, likeness, by_loop, false, &counts[0]);
    Print *is = list_prints(arena, new, likeness, by_loop, true, &counts[1]);
    for (size_t i = 0, k = 0; i < counts[0] && k < counts[1];) {
        size_t a = run_length(was, counts[0], i), b = run_length(is, counts[1], k);
        if (was[i].key != is[k].key) {
            *(was[i].key < is[k].key ? &i : &k) += was[i].key < is[k].key ? a : b;
            continue;
        }
        for (size_t n = 0; a == b && n < a; n++)
            if (go_together(old, new, was[i + n].block, is[k + n].block))
                pair(old, new, was[i + n].block, is[k + n].block);
        i += a;
        k += b;
    }
}

/* ---- by neighbours ------------------------------------------------------------------------------------------------ */

/* How many operations two blocks have in common. */
static unsigned shared_operations(const SassCode *old, const SassBlock *was, const SassCode *new, const SassBlock *is)
{
    unsigned short count[SASS_OPERATIONS] = {0};
    unsigned shared = 0;
    for (size_t i = was->first; i <= was->last; i++)
        count[old->instrs[i].operation] +=
            !sass_is_control(&old->instrs[i]) && count[old->instrs[i].operation] < UINT16_MAX;
    for (size_t i = is->first; i <= is->last; i++)
        if (!sass_is_control(&new->instrs[i]) && count[new->instrs[i].operation]) {
            count[new->instrs[i].operation]--;
            shared++;
        }
    return shared;
}

/* The old block that has most in common with `is`, at least half of the larger one; `best` so far. */
static int most_alike(const MatchSide *old, const MatchSide *new, const SassEdges *among, int is, int best, unsigned *most)
{
    for (u32 e = 0; e < among->n; e++) {
        int was = among->v[e];
        unsigned larger = old->size[was] > new->size[is] ? old->size[was] : new->size[is];
        if (!may_match(old, was) || !go_together(old, new, was, is))
            continue;
        unsigned shared =
            larger ? shared_operations(old->code, &old->code->blocks[was], new->code, &new->code->blocks[is]) : 1;
        if (HALF * shared >= larger && shared > *most) {
            *most = shared;
            best = was;
        }
    }
    return best;
}

/* A block beside those that are matched goes with the one that stands there in the old version. */
static void pair_neighbours(MatchSide *old, MatchSide *new)
{
    for (int step = 0; step < NEIGHBOUR_PASSES * new->code->reachable; step++) {
        int is = new->code->by_order[step % new->code->reachable], best = NONE;
        const SassBlock *block = &new->code->blocks[is];
        unsigned most = 0;
        if (!may_match(new, is))
            continue;
        for (u32 e = 0; e < block->in.n; e++)
            if (new->mate[block->in.v[e]] != NONE)
                best = most_alike(old, new, &old->code->blocks[new->mate[block->in.v[e]]].out, is, best, &most);
        for (u32 e = 0; e < block->out.n; e++)
            if (new->mate[block->out.v[e]] != NONE)
                best = most_alike(old, new, &old->code->blocks[new->mate[block->out.v[e]]].in, is, best, &most);
        if (best != NONE)
            pair(old, new, best, is);
    }
}

static int *copy_mates(Arena *arena, const MatchSide *side)
{
    int *mate = arena_array(arena, int, side->code->block_count);
    memcpy(mate, side->mate, side->code->block_count * sizeof *mate);
    return mate;
}

/* Pairs the neighbours that go together whichever version is asked first. */
static void pair_agreed_neighbours(Arena *arena, MatchSide *old, MatchSide *new)
{
    int *old_mates = copy_mates(arena, old), *new_mates = copy_mates(arena, new);
    pair_neighbours(old, new);
    int *found = old->mate;
    old->mate = old_mates;
    new->mate = new_mates;
    pair_neighbours(new, old);
    for (int b = 0; b < old->code->block_count; b++)
        if (old->mate[b] != NONE && old->mate[b] != found[b]) {
            new->mate[old->mate[b]] = NONE;
            old->mate[b] = NONE;
        }
}

/* The headers of twins run as often, whatever has become of them. */
static void pair_headers(MatchSide *old, MatchSide *new)
{
    for (size_t l = 0; l < old->code->loop_count; l++) {
        int twin = old->twin[l];
        if (twin != NONE && may_match(old, old->code->loops[l].block) && may_match(new, new->code->loops[twin].block))
            pair(old, new, old->code->loops[l].block, new->code->loops[twin].block);
    }
}

/* ---- frequencies -------------------------------------------------------------------------------------------------- */

static MatchSide make_side(Arena *arena, const SassCode *code, const Iterations *iterations, size_t part)
{
    MatchSide side = {code, iterations->twin[part], iterations->remade[part],
                      arena_array(arena, unsigned, code->block_count), arena_array(arena, int, code->block_count)};
    for (int b = 0; b < code->block_count; b++) {
        side.mate[b] = NONE;
        for (size_t i = code->blocks[b].first; i <= code->blocks[b].last; i++)
            side.size[b] += !sass_is_control(&code->instrs[i]);
    }
    return side;
}

static bool is_header(const SassCode *code, int block)
{
    int loop = code->blocks[block].loop;
    return loop != NONE && code->loops[loop].block == block;
}

/* How much more often than estimated the matched blocks of a loop run. Those in no loop inside it count, or else all; 0
 * where it has none. */
static double loop_scale(const MatchSide *side, int loop, const double *estimate, const double *runs)
{
    const SassCode *code = side->code;
    double sum[2] = {0}, estimated[2] = {0}; /* of the blocks in no loop inside it, and of all */
    for (int b = 0; b < code->block_count; b++)
        if (side->mate[b] != NONE && estimate[b] > 0 && sass_is_inside(code, code->blocks[b].loop, loop))
            for (int all = code->blocks[b].loop != loop; all < 2; all++) {
                sum[all] += runs[b];
                estimated[all] += estimate[b];
            }
    int all = !estimated[0];
    return estimated[all] > 0 ? sum[all] / estimated[all] : 0;
}

/* Visits blocks in an order in which dominators come first. The header of a loop that only one version has runs as often as
 * what the loop has from the other one. Its dominator, which is outside, does not tell. */
static void carry_over(const MatchSide *side, const double *estimate, double *runs)
{
    const SassCode *code = side->code;
    for (int i = 0; i < code->reachable; i++) {
        int block = code->by_order[i], above = code->blocks[block].dominator;
        double scale = 0;
        if (side->mate[block] != NONE)
            continue;
        if (is_header(code, block))
            scale = loop_scale(side, code->blocks[block].loop, estimate, runs);
        if (scale > 0)
            runs[block] = estimate[block] * scale;
        else if (above != block && estimate[above] > 0)
            runs[block] = estimate[block] / estimate[above] * runs[above];
    }
}

/* Blocks that are the same run as often in both versions: the geometric mean of both estimates, so that it does not matter which
 * version is the first one. */
static void agree(const MatchSide *old, const MatchSide *new, double *was, double *is)
{
    Arena arena = {0};
    size_t blocks[2] = {old->code->block_count, new->code->block_count};
    double *old_estimate = arena_array(&arena, double, blocks[0]), *new_estimate = arena_array(&arena, double, blocks[1]);
    memcpy(old_estimate, was, blocks[0] * sizeof *was);
    memcpy(new_estimate, is, blocks[1] * sizeof *is);
    for (size_t b = 0; b < blocks[0]; b++)
        if (old->mate[b] != NONE)
            was[b] = is[old->mate[b]] = sqrt(was[b] * is[old->mate[b]]);
    carry_over(old, old_estimate, was);
    carry_over(new, new_estimate, is);
    arena_free(&arena);
}

static void match_part(MatchSide *old, MatchSide *new, Arena *arena, double *was, double *is)
{
    pair_alike(arena, old, new, EXACT, true);
    pair_alike(arena, old, new, ROUGH, true);
    pair_alike(arena, old, new, EXACT, false);
    pair_alike(arena, old, new, ROUGH, false);
    pair_agreed_neighbours(arena, old, new);
    pair_headers(old, new);
    agree(old, new, was, is);
}

void match_frequencies(const Unit *before, const Unit *after, const Iterations *old, const Iterations *new,
                       Frequencies *was, Frequencies *is)
{
    for (size_t p = 0; p < before->count; p++) {
        Arena arena = {0};
        size_t k = unit_same_part(before, after, p);
        if (k < after->count && before->code[p].reachable && after->code[k].reachable) {
            MatchSide sides[2] = {make_side(&arena, &before->code[p], old, p), make_side(&arena, &after->code[k], new, k)};
            match_part(&sides[0], &sides[1], &arena, was->of[p], is->of[k]);
        }
        arena_free(&arena);
    }
}
