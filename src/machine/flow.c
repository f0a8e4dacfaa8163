#include "machine/flow.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

typedef struct Edges {
    int *to;
    size_t count, room;
} Edges;

typedef struct Block {
    size_t first, last;      /* instructions, inclusive */
    Edges out, in;
    int order;               /* reverse post-order number, NONE when unreachable */
    int dominator;           /* immediate; itself for the entry */
    unsigned char *sites;    /* BSSY sites that may be open at its start, one byte each */
} Block;

typedef struct Graph {
    const CubinFunction *function;
    const SassInstr *instrs;
    size_t instr_count;
    int *block_of;           /* by instruction */
    Block *blocks;
    int count;
    int *by_order;           /* reachable blocks in reverse post-order */
    int reachable;
    size_t *sites;           /* instruction of each BSSY */
    size_t site_count;
    bool failed;             /* out of memory */
} Graph;

static void push(Graph *graph, Edges *edges, int to)
{
    for (size_t i = 0; i < edges->count; i++)
        if (edges->to[i] == to)
            return;
    if (edges->count == edges->room) {
        size_t room = edges->room ? edges->room * 2 : 2;
        int *grown = realloc(edges->to, room * sizeof *grown);
        if (!grown) {
            graph->failed = true;
            return;
        }
        edges->to = grown;
        edges->room = room;
    }
    edges->to[edges->count++] = to;
}

static int block_at(const Graph *graph, int64_t offset)
{
    int64_t index = (offset - graph->function->begin) / SASS_BYTES;
    if (offset < graph->function->begin || (size_t)index >= graph->instr_count)
        return NONE; /* another function, or the padding */
    return graph->block_of[index];
}

typedef struct TargetVisit {
    Graph *graph;
    int from;                /* NONE: mark the targets as block starts */
} TargetVisit;

static void visit_target(void *context, uint32_t target)
{
    TargetVisit *visit = context;
    Graph *graph = visit->graph;
    int64_t index = ((int64_t)target - graph->function->begin) / SASS_BYTES;
    if (target < graph->function->begin || (size_t)index >= graph->instr_count)
        return;
    if (visit->from == NONE)
        graph->block_of[index] = 1;
    else
        push(graph, &graph->blocks[visit->from].out, graph->block_of[index]);
}

static bool splits(const SassInstr *instr)
{
    return sass_ends_block(instr) || instr->class == SASS_BRA || instr->class == SASS_BRX || instr->class == SASS_BSYNC;
}

/* Marks block starts in block_of, then numbers the blocks. */
static void find_blocks(Graph *graph)
{
    TargetVisit marks = {graph, NONE};
    graph->block_of[0] = 1;
    for (size_t i = 0; i < graph->instr_count; i++) {
        const SassInstr *instr = &graph->instrs[i];
        if (instr->has_target && instr->target >= 0)
            visit_target(&marks, (uint32_t)instr->target);
        if (instr->class == SASS_BRX)
            cubin_branch_targets(graph->function, instr->offset, visit_target, &marks);
        if (splits(instr) && i + 1 < graph->instr_count)
            graph->block_of[i + 1] = 1;
        graph->site_count += instr->class == SASS_BSSY;
    }
    for (size_t i = 0; i < graph->instr_count; i++)
        graph->count += graph->block_of[i];

    graph->blocks = calloc((size_t)graph->count, sizeof *graph->blocks);
    graph->by_order = calloc((size_t)graph->count, sizeof *graph->by_order);
    graph->sites = calloc(graph->site_count + 1, sizeof *graph->sites);
    if (!graph->blocks || !graph->by_order || !graph->sites) {
        graph->failed = true;
        return;
    }
    int block = NONE;
    size_t site = 0;
    for (size_t i = 0; i < graph->instr_count; i++) {
        if (graph->block_of[i])
            graph->blocks[++block].first = i;
        graph->block_of[i] = block;
        graph->blocks[block].last = i;
        if (graph->instrs[i].class == SASS_BSSY)
            graph->sites[site++] = i;
    }
}

static void add_direct_edges(Graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        Block *block = &graph->blocks[i];
        const SassInstr *last = &graph->instrs[block->last];
        if (!sass_ends_block(last) && i + 1 < graph->count)
            push(graph, &block->out, i + 1);
        if (last->class == SASS_BRA && last->has_target && block_at(graph, last->target) != NONE)
            push(graph, &block->out, block_at(graph, last->target));
        if (last->class == SASS_BRX)
            cubin_branch_targets(graph->function, last->offset, visit_target, &(TargetVisit){graph, i});
    }
}

/* Carries the open sites through `block`; returns true when a successor learned something. */
static bool carry_sites(Graph *graph, int index, unsigned char *open)
{
    Block *block = &graph->blocks[index];
    bool changed = false;
    memcpy(open, block->sites, graph->site_count);
    for (size_t i = block->first; i <= block->last; i++) {
        const SassInstr *instr = &graph->instrs[i];
        if (instr->class == SASS_BMOV) /* a barrier that was saved in a register comes back: any of them */
            memset(open, 1, graph->site_count);
        for (size_t s = 0; s < graph->site_count; s++) {
            const SassInstr *site = &graph->instrs[graph->sites[s]];
            if ((instr->class != SASS_BSSY && instr->class != SASS_BSYNC) || site->barrier != instr->barrier)
                continue;
            int target = block_at(graph, site->target);
            size_t before = block->out.count;
            if (instr->class == SASS_BSYNC && open[s] && target != NONE)
                push(graph, &block->out, target);
            changed |= block->out.count != before;
            open[s] = instr->class == SASS_BSSY && graph->sites[s] == i;
        }
    }
    for (size_t e = 0; e < block->out.count; e++) {
        unsigned char *into = graph->blocks[block->out.to[e]].sites;
        for (size_t s = 0; s < graph->site_count; s++) {
            changed |= open[s] && !into[s];
            into[s] |= open[s];
        }
    }
    return changed;
}

static void add_barrier_edges(Graph *graph)
{
    size_t sites = graph->site_count;
    if (!sites)
        return;
    unsigned char *all = calloc((size_t)graph->count + 1, sites);
    if (!all) {
        graph->failed = true;
        return;
    }
    for (int i = 0; i < graph->count; i++)
        graph->blocks[i].sites = all + (size_t)i * sites;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < graph->count; i++)
            changed |= carry_sites(graph, i, all + (size_t)graph->count * sites);
    }
    free(all);
}

static void order_blocks(Graph *graph)
{
    int *stack = calloc((size_t)graph->count, sizeof *stack);
    size_t *edge = calloc((size_t)graph->count, sizeof *edge);
    int depth = 0, post = 0;
    if (!stack || !edge) {
        graph->failed = true;
        goto done;
    }
    for (int i = 0; i < graph->count; i++)
        graph->blocks[i].order = graph->blocks[i].dominator = NONE;
    graph->blocks[0].order = 0; /* on the stack; the true number follows */
    stack[depth++] = 0;
    while (depth) {
        int block = stack[depth - 1];
        Edges *out = &graph->blocks[block].out;
        if (edge[block] == out->count) {
            graph->by_order[post++] = block;
            depth--;
            continue;
        }
        int next = out->to[edge[block]++];
        push(graph, &graph->blocks[next].in, block);
        if (graph->blocks[next].order == NONE) {
            graph->blocks[next].order = 0;
            stack[depth++] = next;
        }
    }
    graph->reachable = post;
    for (int i = 0; i < post / 2; i++) {
        int block = graph->by_order[i];
        graph->by_order[i] = graph->by_order[post - 1 - i];
        graph->by_order[post - 1 - i] = block;
    }
    for (int i = 0; i < post; i++)
        graph->blocks[graph->by_order[i]].order = i;
done:
    free(stack);
    free(edge);
}

static int common_dominator(const Graph *graph, int a, int b)
{
    while (a != b) {
        while (graph->blocks[a].order > graph->blocks[b].order)
            a = graph->blocks[a].dominator;
        while (graph->blocks[b].order > graph->blocks[a].order)
            b = graph->blocks[b].dominator;
    }
    return a;
}

/* Cooper, Harvey, Kennedy: A simple, fast dominance algorithm. */
static void find_dominators(Graph *graph)
{
    graph->blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 1; i < graph->reachable; i++) {
            Block *block = &graph->blocks[graph->by_order[i]];
            int dominator = NONE;
            for (size_t e = 0; e < block->in.count; e++) {
                int from = block->in.to[e];
                if (graph->blocks[from].dominator == NONE)
                    continue;
                dominator = dominator == NONE ? from : common_dominator(graph, dominator, from);
            }
            changed |= block->dominator != dominator;
            block->dominator = dominator;
        }
    }
}

static bool dominates(const Graph *graph, int above, int below)
{
    while (graph->blocks[below].order > graph->blocks[above].order)
        below = graph->blocks[below].dominator;
    return above == below;
}

/* Adds to `body` what reaches `latch` without passing the header, which is in `body` already. */
static void gather_body(const Graph *graph, int latch, unsigned char *body, int *stack)
{
    int depth = 0;
    if (!body[latch]) {
        body[latch] = 1;
        stack[depth++] = latch;
    }
    while (depth) {
        const Edges *in = &graph->blocks[stack[--depth]].in;
        for (size_t e = 0; e < in->count; e++)
            if (!body[in->to[e]]) {
                body[in->to[e]] = 1;
                stack[depth++] = in->to[e];
            }
    }
}

/* `nesting` counts, for every block, the loops that hold it. */
static void add_loop(SassCode *code, const Graph *graph, int header, const unsigned char *body, unsigned latches,
                     unsigned *nesting)
{
    SassLoop *loop = &code->loops[code->loop_count++];
    *loop = (SassLoop){.header = graph->instrs[graph->blocks[header].first].offset, .latches = latches};
    for (int i = 0; i < graph->count; i++) {
        if (!body[i])
            continue;
        nesting[i]++;
        for (size_t k = graph->blocks[i].first; k <= graph->blocks[i].last; k++) {
            loop->classes[graph->instrs[k].class]++;
            loop->instructions++;
        }
    }
}

static int by_header(const void *left, const void *right)
{
    const SassLoop *a = left, *b = right;
    return a->header < b->header ? -1 : a->header > b->header;
}

/* Headers are visited in reverse post-order, so that outer loops come before the loops inside them. */
static void find_loops(SassCode *code, Graph *graph)
{
    size_t count = (size_t)graph->count;
    unsigned char *body = calloc(count, 1);
    int *stack = calloc(count, sizeof *stack);
    unsigned *nesting = calloc(count, sizeof *nesting);
    int *loop_of = calloc(count, sizeof *loop_of); /* innermost loop so far, plus 1 */
    code->loops = calloc(count, sizeof *code->loops);
    if (!body || !stack || !nesting || !loop_of || !code->loops) {
        graph->failed = true;
        goto done;
    }
    for (int i = 0; i < graph->reachable; i++) {
        int header = graph->by_order[i];
        const Block *block = &graph->blocks[header];
        unsigned latches = 0;
        for (size_t e = 0; e < block->in.count; e++) {
            int from = block->in.to[e];
            if (graph->blocks[from].order < block->order)
                continue;
            if (!dominates(graph, header, from)) {
                code->irreducible++;
                continue;
            }
            if (!latches++) {
                memset(body, 0, count);
                body[header] = 1;
            }
            gather_body(graph, from, body, stack);
        }
        if (!latches)
            continue;
        if (loop_of[header])
            code->loops[loop_of[header] - 1].innermost = false;
        add_loop(code, graph, header, body, latches, nesting);
        SassLoop *loop = &code->loops[code->loop_count - 1];
        loop->depth = nesting[header];
        loop->innermost = true;
        for (size_t b = 0; b < count; b++)
            if (body[b])
                loop_of[b] = (int)code->loop_count;
    }
    qsort(code->loops, code->loop_count, sizeof *code->loops, by_header);
done:
    free(body);
    free(stack);
    free(nesting);
    free(loop_of);
}

static void free_graph(Graph *graph)
{
    for (int i = 0; graph->blocks && i < graph->count; i++) {
        free(graph->blocks[i].out.to);
        free(graph->blocks[i].in.to);
    }
    free(graph->block_of);
    free(graph->blocks);
    free(graph->by_order);
    free(graph->sites);
}

static void drop_padding(SassCode *code)
{
    size_t total = code->count;
    while (code->count && code->instrs[code->count - 1].class == SASS_NOP)
        code->count--;
    if (code->count && sass_is_self_branch(&code->instrs[code->count - 1]))
        code->count--;
    code->padding = total - code->count;
}

bool sass_read(SassCode *code, const CubinFunction *function, unsigned sm)
{
    size_t count = (function->end - function->begin) / SASS_BYTES;
    *code = (SassCode){.instrs = calloc(count + 1, sizeof *code->instrs), .count = count};
    if (!code->instrs)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t offset = function->begin + (uint32_t)(i * SASS_BYTES);
        code->instrs[i] = sass_decode(function->code + offset, offset, sm);
    }
    drop_padding(code);
    if (!code->count)
        return true;

    Graph graph = {.function = function, .instrs = code->instrs, .instr_count = code->count};
    graph.block_of = calloc(code->count, sizeof *graph.block_of);
    graph.failed = !graph.block_of;
    static void (*const steps[])(Graph *) = {find_blocks, add_direct_edges, add_barrier_edges, order_blocks,
                                             find_dominators};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !graph.failed; i++)
        steps[i](&graph);
    if (!graph.failed)
        find_loops(code, &graph);
    free_graph(&graph);
    if (graph.failed)
        sass_free(code);
    return !graph.failed;
}

void sass_free(SassCode *code)
{
    free(code->instrs);
    free(code->loops);
    *code = (SassCode){0};
}
