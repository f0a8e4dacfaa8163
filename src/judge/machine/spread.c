#include "judge/machine/spread.h"

#include <math.h>

enum { ENTRY = -1, PASSES = 2 };

#define SLOWEST \
    1.42 /* standard deviations from the mean to the largest of eight normal variables: a block of 256 threads */

/* The cycles of a warp since the last barrier, at the end of a block. */
typedef struct Arrival {
    double share; /* of the warps that come here */
    double mean, variance;
    int since; /* order of the block with that barrier; ENTRY: the function's begin */
} Arrival;

typedef struct Spread {
    const SassCode *code;
    const double *rounds; /* by loop; NULL: loops are not known yet, and count once */
    Arrival *end;         /* by block */
    Arrival *entry;       /* by loop: at the start of its header */
} Spread;

static bool has_barrier(const SassCode *code, const SassBlock *block)
{
    for (size_t i = block->first; i <= block->last; i++)
        if (sass_is_barrier(&code->instrs[i]))
            return true;
    return false;
}

/* A back edge counts where a barrier of the loop is passed before it: then warps come from that one, but for the first time. */
static bool comes_from_loop(const SassCode *code, const SassBlock *block, int from, const Arrival *end)
{
    return code->blocks[from].order >= block->order && end[from].since >= block->order;
}

/* On how many edges out of a block its warps part. Those back into a loop that ran its rounds do not count beside one
 * that leaves. */
static unsigned count_ways(const Spread *s, int from, const SassBlock *to)
{
    const SassBlock *block = &s->code->blocks[from];
    int loop = s->rounds ? block->loop : SASS_NONE;
    unsigned ways = block->out.n;
    if (loop == SASS_NONE || s->rounds[loop] == 1 || sass_is_inside(s->code, to->loop, loop))
        return ways;
    for (u32 e = 0; e < block->out.n; e++)
        ways -= sass_is_inside(s->code, s->code->blocks[block->out.v[e]].loop, loop);
    return ways;
}

/* The end of a block, on an edge to another one. A loop that the edge leaves ran as many rounds as are known, without a
 * barrier. */
static Arrival leave(const Spread *s, int from, const SassBlock *to)
{
    Arrival at = s->end[from];
    const SassLoop *loops = s->code->loops;
    int loop = s->rounds ? s->code->blocks[from].loop : SASS_NONE;
    for (; loop != SASS_NONE && !sass_is_inside(s->code, to->loop, loop); loop = loops[loop].parent) {
        const Arrival *entry = &s->entry[loop];
        bool counts = at.since == entry->since && at.since < s->code->blocks[loops[loop].block].order;
        double more = counts ? s->rounds[loop] - 1 : 0;
        at.mean += more * (at.mean - entry->mean);
        at.variance += more * (at.variance > entry->variance ? at.variance - entry->variance : 0);
    }
    at.share /= count_ways(s, from, to);
    return at;
}

/* The mixture of what arrives over the edges into the block. */
static Arrival mix(const Spread *s, const SassBlock *block, bool in_loop)
{
    Arrival sum = {.share = block->order == 0, .since = ENTRY};
    const SassCode *code = s->code;
    double square = 0;
    for (u32 e = 0; e < block->in.n; e++) {
        int from = block->in.v[e];
        Arrival one = leave(s, from, block);
        if (in_loop ? !comes_from_loop(code, block, from, s->end) : code->blocks[from].order >= block->order)
            continue;
        sum.share += one.share;
        sum.mean += one.share * one.mean;
        square += one.share * (one.variance + one.mean * one.mean);
        sum.since = one.since > sum.since ? one.since : sum.since;
    }
    if (sum.share > 0) {
        sum.mean /= sum.share;
        sum.variance = square / sum.share - sum.mean * sum.mean;
    }
    return sum;
}

void sass_barrier_waits(const SassCode *code, const double *rounds, unsigned *wait)
{
    Arena arena = {0};
    Spread s = {code, rounds, arena_array(&arena, Arrival, code->block_count),
                arena_array(&arena, Arrival, rounds ? code->loop_count : 0)};
    for (int step = 0; step < PASSES * code->reachable; step++) {
        int index = code->by_order[step % code->reachable];
        const SassBlock *block = &code->blocks[index];
        bool in_loop = false;
        for (u32 e = 0; e < block->in.n && step >= code->reachable; e++)
            in_loop |= comes_from_loop(code, block, block->in.v[e], s.end);
        Arrival at = mix(&s, block, in_loop);
        double share = in_loop ? s.end[index].share : at.share;
        unsigned cycles = block->cycles - block->wait;
        if (rounds && block->loop != SASS_NONE && code->loops[block->loop].block == index)
            s.entry[block->loop] = at;
        if (has_barrier(code, block)) {
            wait[index] = step >= code->reachable && at.variance > 0 ? (unsigned)(SLOWEST * sqrt(at.variance) + 0.5) : 0;
            at.mean = at.variance = 0;
            cycles = block->tail;
            at.since = block->order;
        }
        s.end[index] = (Arrival){share, at.mean + cycles, at.variance, at.since};
    }
    arena_free(&arena);
}

void sass_add_barrier_waits(SassCode *code)
{
    Arena arena = {0};
    unsigned *wait = arena_array(&arena, unsigned, code->block_count);
    sass_barrier_waits(code, NULL, wait);
    for (int b = 0; b < code->block_count; b++) {
        code->blocks[b].wait = wait[b];
        code->blocks[b].cycles += wait[b];
        code->blocks[b].once += wait[b];
    }
    arena_free(&arena);
}
