#include "judge/machine/loops.h"

#include <stdlib.h>

enum { NONE = SASS_NONE };

typedef struct Search {
    SassCode *code;
    SassEdges work; /* blocks of the loop that is gathered */
} Search;

static int outermost(const SassCode *code, int block)
{
    int loop = code->blocks[block].loop;
    while (loop != NONE && code->loops[loop].parent != NONE)
        loop = code->loops[loop].parent;
    return loop;
}

/* Puts the block, or the outermost loop around it, into the loop, and goes on from there. */
static void add_to_loop(Search *search, int loop, int block)
{
    SassCode *code = search->code;
    int inner = outermost(code, block), header = inner == NONE ? block : code->loops[inner].block;
    if (inner == loop)
        return;
    if (inner == NONE)
        code->blocks[block].loop = loop;
    else
        code->loops[inner].parent = loop;
    vec_push(&search->work, header);
}

static void gather_body(Search *search, int loop, int latch)
{
    add_to_loop(search, loop, latch);
    while (search->work.n) {
        const SassEdges *in = &search->code->blocks[vec_pop(&search->work)].in;
        for (u32 e = 0; e < in->n; e++)
            add_to_loop(search, loop, in->v[e]);
    }
}

static void find_loop(Search *search, int header)
{
    SassCode *code = search->code;
    const SassBlock *block = &code->blocks[header];
    int loop = NONE;
    for (u32 e = 0; e < block->in.n; e++) {
        int from = block->in.v[e];
        if (code->blocks[from].order < block->order)
            continue;
        if (!sass_is_dominated(code, from, header)) {
            code->irreducible++;
            continue;
        }
        if (loop == NONE) {
            loop = (int)code->loop_count++;
            code->loops[loop] =
                (SassLoop){.header = code->instrs[block->first].offset, .block = header, .parent = NONE, .innermost = true};
            code->blocks[header].loop = loop;
        }
        code->loops[loop].latches++;
        gather_body(search, loop, from);
    }
}

static void add_block(SassCode *code, const SassBlock *block)
{
    SassLoop *loop = &code->loops[block->loop];
    loop->cycles += block->cycles;
    for (size_t i = block->first; i <= block->last; i++) {
        loop->classes[code->instrs[i].class]++;
        loop->waits += code->instrs[i].schedule.waits != 0;
        loop->instructions++;
    }
}

/* Whether the loop gives way to other lanes and does nothing by which it could end but to ask who is there. */
static bool gathers(const SassLoop *loop)
{
    static const SassClass idle[] = {SASS_OTHER, SASS_NOP, SASS_BRA, SASS_PRED, SASS_SETP, SASS_YIELD};
    unsigned count = 0;
    for (size_t c = 0; c < sizeof idle / sizeof *idle; c++)
        count += loop->classes[idle[c]];
    return loop->innermost && loop->classes[SASS_YIELD] && count == loop->instructions;
}

/* Loops stand before those around them. */
static void sum_up(SassCode *code)
{
    for (int b = 0; b < code->block_count; b++)
        if (code->blocks[b].loop != NONE)
            add_block(code, &code->blocks[b]);
    for (size_t i = 0; i < code->loop_count; i++) {
        const SassLoop *loop = &code->loops[i];
        if (loop->parent == NONE)
            continue;
        SassLoop *parent = &code->loops[loop->parent];
        parent->innermost = false;
        parent->cycles += loop->cycles;
        parent->waits += loop->waits;
        parent->instructions += loop->instructions;
        for (int c = 0; c < SASS_CLASS_COUNT; c++)
            parent->classes[c] += loop->classes[c];
    }
    for (size_t i = code->loop_count; i-- > 0;) {
        int parent = code->loops[i].parent;
        code->loops[i].depth = parent == NONE ? 1 : code->loops[parent].depth + 1;
        code->loops[i].gathers = gathers(&code->loops[i]);
    }
}

static int by_header(const void *left, const void *right)
{
    const SassLoop *a = left, *b = right;
    return a->header < b->header ? -1 : a->header > b->header;
}

/* Sorts the loops by their headers, and renumbers them in blocks and parents. Until then a header's block holds its loop's old
 * number. */
static void sort_loops(SassCode *code)
{
    int *renumbered = mem_alloc((code->loop_count + 1) * sizeof *renumbered);
    qsort(code->loops, code->loop_count, sizeof *code->loops, by_header);
    for (size_t i = 0; i < code->loop_count; i++)
        renumbered[code->blocks[code->loops[i].block].loop] = (int)i;
    for (size_t i = 0; i < code->loop_count; i++)
        if (code->loops[i].parent != NONE)
            code->loops[i].parent = renumbered[code->loops[i].parent];
    for (int b = 0; b < code->block_count; b++)
        if (code->blocks[b].loop != NONE)
            code->blocks[b].loop = renumbered[code->blocks[b].loop];
    mem_free(renumbered);
}

/* Headers are visited against reverse post-order, so that loops come before those around them. */
void sass_find_loops(SassCode *code)
{
    Search search = {.code = code};
    code->loops = arena_array(&code->arena, SassLoop, code->block_count);
    for (int i = code->reachable - 1; i >= 0; i--)
        find_loop(&search, code->by_order[i]);
    sum_up(code);
    sort_loops(code);
    vec_free(&search.work);
}
