#include "judge/machine/cycles.h"

enum { SCOREBOARDS = 6, PASSES = 4, NEAR = 64 };

/* Cycles until each scoreboard is free, from the end of a block on. */
typedef struct Pending {
    unsigned cycles[SCOREBOARDS];
} Pending;

static void begin_wait(Pending *ready, unsigned board, unsigned until)
{
    if (board < SCOREBOARDS && ready->cycles[board] < until)
        ready->cycles[board] = until;
}

/* Runs a block: from what is pending at its start to what is at its end. */
static void run_block(const SassCode *code, const Latencies *latencies, SassBlock *block, Pending *ready)
{
    const unsigned *cycles = latencies->cycles;
    unsigned clock = 0, barrier = 0;
    for (size_t i = block->first; i <= block->last; i++) {
        const SassInstr *instr = &code->instrs[i];
        for (unsigned b = 0; b < SCOREBOARDS; b++)
            if (instr->schedule.waits >> b & 1 && ready->cycles[b] > clock)
                clock = ready->cycles[b];
        if (instr->class != SASS_NOP) {
            begin_wait(ready, instr->schedule.result, clock + cycles[instr->latency]);
            begin_wait(ready, instr->schedule.operands, clock + cycles[LATENCY_OPERANDS]);
        }
        clock += sass_issue_cycles(instr, latencies);
        if (sass_is_barrier(instr))
            barrier = clock;
    }
    for (unsigned b = 0; b < SCOREBOARDS; b++)
        ready->cycles[b] = ready->cycles[b] > clock ? ready->cycles[b] - clock : 0;
    block->cycles = clock;
    block->tail = clock - barrier;
}

/* ---- what runs between two blocks --------------------------------------------------------------------------------- */

/* Blocks around the end of an edge, by their orders from `first` to `last`, less one. They are those on paths to its
 * start or its end, and on paths from them. Back edges count for none. */
typedef struct Around {
    int first, last;
    bool to_start[2 * NEAR], to_end[2 * NEAR], from_start[2 * NEAR], from_end[2 * NEAR];
} Around;

static void mark_paths_to(const SassCode *code, const Around *around, int order, bool *mark)
{
    for (int i = order; i >= around->first; i--) {
        const SassEdges *in = &code->blocks[code->by_order[i]].in;
        for (u32 e = 0; e < in->n && (i == order || mark[i - around->first]); e++) {
            int above = code->blocks[in->v[e]].order;
            if (above >= around->first && above < i)
                mark[above - around->first] = true;
        }
    }
}

static void mark_paths_from(const SassCode *code, const Around *around, int order, bool *mark)
{
    for (int i = order + 1 > around->first ? order + 1 : around->first; i < around->last; i++) {
        const SassEdges *in = &code->blocks[code->by_order[i]].in;
        for (u32 e = 0; e < in->n; e++) {
            int above = code->blocks[in->v[e]].order;
            mark[i - around->first] |=
                above == order || (above >= around->first && above < i && mark[above - around->first]);
        }
    }
}

/* Whether the block of that order runs from the end of the edge's start to its end. Both sides of a branch are executed one after
 * the other: the one that stands first, or, reversed, the other one. */
static bool runs_between(const Around *around, int order, int start, int end, bool reversed)
{
    int at = order - around->first;
    if (order == start || order == end || around->to_start[at] || around->from_end[at])
        return false;
    if (around->to_end[at])
        return around->from_start[at] || (order > start) != reversed;
    return around->from_start[at] && (order < end) != reversed;
}

/* Cycles from the end of `from` to the start of `to`. A warp that divides executes both sides of a branch, one after the
 * other. One that does not comes to `to` over one of them. So nobody waits in `to` for what was waited for on another path
 * there. */
static unsigned cycles_between(const SassCode *code, int from, int to, bool reversed)
{
    const SassBlock *end = &code->blocks[to];
    Around around = {.first = code->blocks[end->dominator].order + 1};
    int start = code->blocks[from].order;
    unsigned cycles = 0;
    around.first = end->order - around.first > NEAR ? end->order - NEAR : around.first;
    around.last = code->reachable - end->order > NEAR ? end->order + NEAR : code->reachable;
    if (start >= end->order || start < around.first - 1)
        return 0;
    mark_paths_to(code, &around, start, around.to_start);
    mark_paths_to(code, &around, end->order, around.to_end);
    mark_paths_from(code, &around, start, around.from_start);
    mark_paths_from(code, &around, end->order, around.from_end);
    for (int i = around.first; i < around.last; i++) {
        const SassBlock *block = &code->blocks[code->by_order[i]];
        bool calls = code->instrs[code->blocks[block->line_end].last].class == SASS_CALL;
        if (!calls && runs_between(&around, i, start, end->order, reversed) &&
            sass_is_dominated(code, code->by_order[i], end->dominator))
            cycles += block->cycles;
    }
    return cycles;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

static bool is_back_edge(const SassCode *code, int from, const SassBlock *to)
{
    return code->blocks[from].order >= to->order;
}

/* The pending results at a block's start: the most that any predecessor leaves. At the header of a loop it is what the
 * iteration before leaves, except in the first iteration. */
static Pending pending_at(const SassCode *code, int index, const Pending *end, bool is_first, bool reversed)
{
    const SassBlock *block = &code->blocks[index];
    Pending ready = {{0}};
    bool repeats = false;
    for (u32 e = 0; e < block->in.n && !is_first; e++)
        repeats |= is_back_edge(code, block->in.v[e], block);
    for (u32 e = 0; e < block->in.n; e++) {
        int from = block->in.v[e];
        if (is_back_edge(code, from, block) != repeats)
            continue;
        unsigned passed = cycles_between(code, from, index, reversed);
        for (unsigned b = 0; b < SCOREBOARDS; b++)
            if (end[from].cycles[b] > passed)
                begin_wait(&ready, b, end[from].cycles[b] - passed);
    }
    return ready;
}

/* Half of the passes come to every loop from before it, the others know what an iteration leaves to the next. Two of each, for what
 * the last of several arms leaves to the first. */
static void run_all(SassCode *code, const Latencies *latencies, bool reversed)
{
    Arena arena = {0};
    Pending *end = arena_array(&arena, Pending, code->block_count);
    for (int step = 0; step < PASSES * code->reachable; step++) {
        int index = code->by_order[step % code->reachable];
        bool is_first = step < PASSES / 2 * code->reachable;
        Pending ready = pending_at(code, index, end, is_first, reversed);
        run_block(code, latencies, &code->blocks[index], &ready);
        if (is_first)
            code->blocks[index].once = code->blocks[index].cycles;
        end[index] = ready;
    }
    arena_free(&arena);
}

/* The mean of both orders, so that it does not matter which arm of a branch stands first. */
void sass_count_cycles(SassCode *code, const Latencies *latencies)
{
    Arena arena = {0};
    SassBlock *forth = arena_array(&arena, SassBlock, code->block_count);
    run_all(code, latencies, false);
    for (int b = 0; b < code->block_count; b++) {
        forth[b] = code->blocks[b];
        code->blocks[b].cycles = 0;
    }
    run_all(code, latencies, true);
    for (int b = 0; b < code->block_count; b++) {
        code->blocks[b].cycles = (code->blocks[b].cycles + forth[b].cycles + 1) / 2;
        code->blocks[b].tail = (code->blocks[b].tail + forth[b].tail + 1) / 2;
        code->blocks[b].once = (code->blocks[b].once + forth[b].once + 1) / 2;
    }
    arena_free(&arena);
}
