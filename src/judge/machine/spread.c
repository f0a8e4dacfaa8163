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

static bool has_barrier(const SassCode *code, const SassBlock *block)
{
    for (size_t i = block->first; i <= block->last; i++)
        if (code->instrs[i].class == SASS_BAR || code->instrs[i].class == SASS_CLUSTER_BAR)
            return true;
    return false;
}

/* A back edge counts where a barrier of the loop is passed before it: then warps come from that one, but for the first time. */
static bool comes_from_loop(const SassCode *code, const SassBlock *block, int from, const Arrival *end)
{
    return code->blocks[from].order >= block->order && end[from].since >= block->order;
}

/* The mixture of what arrives over the edges into the block. */
static Arrival mix(const SassCode *code, const SassBlock *block, const Arrival *end, bool in_loop)
{
    Arrival sum = {.share = block->order == 0, .since = ENTRY};
    double square = 0;
    for (u32 e = 0; e < block->in.n; e++) {
        int from = block->in.v[e];
        const Arrival *one = &end[from];
        double share = one->share / code->blocks[from].out.n;
        if (in_loop ? !comes_from_loop(code, block, from, end) : code->blocks[from].order >= block->order)
            continue;
        sum.share += share;
        sum.mean += share * one->mean;
        square += share * (one->variance + one->mean * one->mean);
        sum.since = one->since > sum.since ? one->since : sum.since;
    }
    if (sum.share > 0) {
        sum.mean /= sum.share;
        sum.variance = square / sum.share - sum.mean * sum.mean;
    }
    return sum;
}

void sass_add_barrier_waits(SassCode *code)
{
    Arena arena = {0};
    Arrival *end = arena_array(&arena, Arrival, code->block_count);
    for (int step = 0; step < PASSES * code->reachable; step++) {
        int index = code->by_order[step % code->reachable];
        SassBlock *block = &code->blocks[index];
        bool in_loop = false;
        for (u32 e = 0; e < block->in.n && step >= code->reachable; e++)
            in_loop |= comes_from_loop(code, block, block->in.v[e], end);
        Arrival at = mix(code, block, end, in_loop);
        double share = in_loop ? end[index].share : at.share;
        unsigned cycles = block->cycles;
        if (has_barrier(code, block)) {
            unsigned wait = step >= code->reachable && at.variance > 0 ? (unsigned)(SLOWEST * sqrt(at.variance) + 0.5) : 0;
            block->cycles += wait;
            block->once += wait;
            at.mean = at.variance = cycles = 0;
            at.since = block->order;
        }
        end[index] = (Arrival){share, at.mean + cycles, at.variance, at.since};
    }
    arena_free(&arena);
}
