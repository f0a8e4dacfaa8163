#include "judge/machine/flow.h"

#include "base/bitset.h"
#include "base/graph.h"
#include "base/search.h"
#include "judge/machine/cycles.h"
#include "judge/machine/loops.h"
#include "judge/machine/spread.h"

enum { NONE = SASS_NONE, MOST_SET_BYTES = 256 << 20 };

typedef struct SassGraph {
    const CubinFunction *function;
    SassCode *code;
    int *block_of; /* by instruction */
    size_t *sites; /* instruction of each BSSY and BMOV */
    size_t site_count;
    bool is_saved[SASS_REGISTERS]; /* a barrier is saved in it */
    Arena scratch;
} SassGraph;

static void push(SassEdges *edges, int to)
{
    for (u32 i = 0; i < edges->n; i++)
        if (edges->v[i] == to)
            return;
    vec_push(edges, to);
}

static int instr_at(const SassCode *code, int64_t offset)
{
    int64_t index = code->count ? (offset - code->instrs[0].offset) / SASS_BYTES : 0;
    return index < 0 || (size_t)index >= code->count || offset < code->instrs[0].offset ? NONE : (int)index;
}

static int block_at(const SassGraph *graph, int64_t offset)
{
    int index = instr_at(graph->code, offset); /* NONE: another function, or the padding */
    return index == NONE ? NONE : graph->block_of[index];
}

int sass_target_block(const SassCode *code, const SassInstr *instr)
{
    int index = instr->has_target ? instr_at(code, instr->target) : NONE;
    if (index == NONE)
        return NONE;
    return (int)partition_point(k, 1, (u32)code->block_count, code->blocks[k].first <= (size_t)index) - 1;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

typedef struct TargetVisit {
    SassGraph *graph;
    int from; /* NONE: mark the targets as block starts */
} TargetVisit;

static void visit_target(void *context, uint32_t target)
{
    TargetVisit *visit = context;
    SassGraph *graph = visit->graph;
    int index = instr_at(graph->code, target);
    if (index == NONE)
        return;
    if (visit->from == NONE)
        graph->block_of[index] = 1;
    else
        push(&graph->code->blocks[visit->from].out, graph->block_of[index]);
}

static bool splits(const SassInstr *instr)
{
    bool leaves = instr->class == SASS_EXIT || instr->class == SASS_RET || instr->class == SASS_KILL;
    return leaves || sass_ends_block(instr) || instr->class == SASS_BRA || instr->class == SASS_BRX ||
           instr->class == SASS_BSYNC || instr->class == SASS_CALL;
}

static void mark_starts(SassGraph *graph)
{
    SassCode *code = graph->code;
    TargetVisit marks = {graph, NONE};
    graph->block_of[0] = 1;
    for (size_t i = 0; i < code->count; i++) {
        const SassInstr *instr = &code->instrs[i];
        if (instr->has_target && instr->target >= 0 && instr->target <= UINT32_MAX)
            visit_target(&marks, (uint32_t)instr->target);
        if (instr->class == SASS_BRX)
            cubin_branch_targets(graph->function, instr->offset, visit_target, &marks);
        if (splits(instr) && i + 1 < code->count)
            graph->block_of[i + 1] = 1;
        graph->site_count += instr->class == SASS_BSSY || instr->class == SASS_BMOV;
        graph->is_saved[instr->saved] |= instr->class == SASS_BSAVE;
    }
}

/* Marks block starts in block_of, then numbers the blocks. */
static void find_blocks(SassGraph *graph)
{
    SassCode *code = graph->code;
    mark_starts(graph);
    for (size_t i = 0; i < code->count; i++)
        code->block_count += graph->block_of[i];
    code->blocks = arena_array(&code->arena, SassBlock, code->block_count);
    code->by_order = arena_array(&code->arena, int, code->block_count);
    graph->sites = arena_array(&graph->scratch, size_t, graph->site_count + 1);
    int block = NONE;
    size_t site = 0;
    for (size_t i = 0; i < code->count; i++) {
        if (graph->block_of[i])
            code->blocks[++block].first = i;
        graph->block_of[i] = block;
        code->blocks[block].last = i;
        code->blocks[block].loop = NONE;
        if (code->instrs[i].class == SASS_BSSY || code->instrs[i].class == SASS_BMOV)
            graph->sites[site++] = i;
    }
}

static void add_direct_edges(SassGraph *graph)
{
    SassCode *code = graph->code;
    for (int i = 0; i < code->block_count; i++) {
        SassBlock *block = &code->blocks[i];
        const SassInstr *last = &code->instrs[block->last];
        if (!sass_ends_block(last) && i + 1 < code->block_count)
            push(&block->out, i + 1);
        bool branches = last->class == SASS_BRA || last->class == SASS_CALL;
        if (branches && last->has_target && block_at(graph, last->target) != NONE)
            push(&block->out, block_at(graph, last->target));
        if (last->class == SASS_BRX)
            cubin_branch_targets(graph->function, last->offset, visit_target, &(TargetVisit){graph, i});
    }
}

/* ---- where BSYNC continues ---------------------------------------------------------------------------------------- */

enum { BARRIERS = 16 };

/* Sets of sites: BSSY, and BMOV, which sets a barrier from a register that another one was saved in. */
typedef struct Sites {
    BitSet *open;                 /* by block: those that may be open at its start */
    BitSet barrier[BARRIERS];     /* the sites that set it */
    BitSet saved[SASS_REGISTERS]; /* those of barriers that were saved in it; in the last one: in any */
    BitSet now;
} Sites;

/* The values that BMOV may find in its register; NULL for a BSSY. */
static const BitSet *restored(const SassGraph *graph, const Sites *sites, const SassInstr *site)
{
    if (site->class != SASS_BMOV)
        return NULL;
    return &sites->saved[graph->is_saved[site->saved] ? site->saved : SASS_NO_REGISTER];
}

/* BSYNC, at the end of `block`, continues at the target of every site in the set that sets its barrier. `of`: only these
 * sites count; NULL: all do. */
static void continue_at(SassGraph *graph, const Sites *sites, SassBlock *block, const BitSet *set, const BitSet *of)
{
    for_each_bit(s, set) {
        const SassInstr *site = &graph->code->instrs[graph->sites[s]];
        const BitSet *from = restored(graph, sites, site);
        int target = site->class == SASS_BSSY ? block_at(graph, site->target) : NONE;
        if (of && !bitset_has(of, s))
            continue;
        if (from && of)
            continue_at(graph, sites, block, from, NULL);
        if (target != NONE)
            push(&block->out, target);
    }
}

/* BSAVE puts the open sites of its barrier into a register; what such a site restored is in there, too. */
static bool save_sites(const SassGraph *graph, Sites *sites, const SassInstr *instr)
{
    BitSet *into = &sites->saved[instr->saved];
    bool changed = false;
    for_each_bit(s, &sites->now) {
        if (instr->saved == SASS_NO_REGISTER || !bitset_has(&sites->barrier[instr->barrier], s))
            continue;
        const BitSet *from = restored(graph, sites, &graph->code->instrs[graph->sites[s]]);
        changed |= bitset_add(into, s);
        if (from)
            changed |= bitset_or(into, from);
    }
    bitset_or(&sites->saved[SASS_NO_REGISTER], into);
    return changed;
}

/* Carries the open sites through a block; true when a successor learned something. */
static bool carry_sites(SassGraph *graph, Sites *sites, int index, u32 *site)
{
    SassBlock *block = &graph->code->blocks[index];
    u32 edges = block->out.n;
    bool changed = false;
    bitset_copy(&sites->now, &sites->open[index]);
    for (size_t i = block->first; i <= block->last; i++) {
        const SassInstr *instr = &graph->code->instrs[i];
        const BitSet *own = &sites->barrier[instr->barrier];
        bool sets = instr->class == SASS_BSSY || instr->class == SASS_BMOV;
        if (instr->class == SASS_BSAVE)
            changed |= save_sites(graph, sites, instr);
        if (instr->class == SASS_BSYNC)
            continue_at(graph, sites, block, &sites->now, own);
        if (sets || instr->class == SASS_BSYNC)
            bitset_andnot(&sites->now, own);
        if (sets)
            bitset_add(&sites->now, (*site)++);
    }
    for (u32 e = 0; e < block->out.n; e++)
        changed |= bitset_or(&sites->open[block->out.v[e]], &sites->now);
    return changed || block->out.n != edges;
}

/* False: it would take too much memory. */
static bool add_barrier_edges(SassGraph *graph)
{
    u32 count = (u32)graph->code->block_count, bits = (u32)graph->site_count;
    Sites sites = {.open = arena_array(&graph->scratch, BitSet, count)};
    if (bitset_words(bits) * sizeof(u64) > MOST_SET_BYTES / ((size_t)count + BARRIERS + SASS_REGISTERS + 1))
        return false;
    if (!bits)
        return true;
    for (u32 b = 0; b < count; b++)
        sites.open[b] = bitset_new(&graph->scratch, bits);
    for (u32 b = 0; b < BARRIERS; b++)
        sites.barrier[b] = bitset_new(&graph->scratch, bits);
    for (u32 r = 0; r < SASS_REGISTERS; r++)
        sites.saved[r] = bitset_new(&graph->scratch, bits);
    sites.now = bitset_new(&graph->scratch, bits);
    for (u32 s = 0; s < bits; s++)
        bitset_add(&sites.barrier[graph->code->instrs[graph->sites[s]].barrier], s);
    for (bool changed = true; changed;) {
        u32 site = 0;
        changed = false;
        for (int i = 0; i < graph->code->block_count; i++)
            changed |= carry_sites(graph, &sites, i, &site);
    }
    return true;
}

/* ---- order and dominators ----------------------------------------------------------------------------------------- */

static void order_blocks(SassGraph *graph)
{
    SassCode *code = graph->code;
    VecU32 from = {0}, to = {0};
    u32 count = (u32)code->block_count;
    for (u32 b = 0; b < count; b++)
        for (u32 e = 0; e < code->blocks[b].out.n; e++) {
            vec_push(&from, b);
            vec_push(&to, (u32)code->blocks[b].out.v[e]);
        }
    Graph succ = graph_from_edges(&graph->scratch, count, from.v, to.v, from.n),
          pred = graph_from_edges(&graph->scratch, count, to.v, from.v, from.n);
    u32 *order = arena_array(&graph->scratch, u32, count), *above = arena_array(&graph->scratch, u32, count);
    graph_dominators(&succ, &pred, 0, above, order);
    code->reachable = (int)graph_reverse_postorder(&succ, 0, order);
    for (u32 b = 0; b < count; b++) {
        code->blocks[b].order = NONE;
        code->blocks[b].dominator = above[b] == GRAPH_NONE ? NONE : (int)above[b];
    }
    code->blocks[0].dominator = 0;
    for (int i = 0; i < code->reachable; i++) {
        code->by_order[i] = (int)order[i];
        code->blocks[order[i]].order = i;
    }
    for (int i = 0; i < code->reachable; i++)
        for_each_edge(e, &succ, order[i])
            vec_push(&code->blocks[succ.to[e]].in, (int)order[i]);
    vec_free(&from);
    vec_free(&to);
}

/* Nobody branches into a straight line or out of it: its blocks run equally often, wherever labels divide it. */
static int line_end(const SassCode *code, int index)
{
    const SassBlock *block = &code->blocks[index];
    int next = block->out.n == 1 ? block->out.v[0] : NONE;
    if (next == NONE || code->instrs[block->last].class == SASS_CALL || code->blocks[next].in.n > 1 ||
        code->blocks[next].order <= block->order)
        return index;
    return code->blocks[next].line_end;
}

static void find_lines(SassCode *code)
{
    for (int b = 0; b < code->block_count; b++)
        code->blocks[b].line_end = b;
    for (int i = code->reachable; i-- > 0;)
        code->blocks[code->by_order[i]].line_end = line_end(code, code->by_order[i]);
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

static void drop_padding(SassCode *code)
{
    size_t total = code->count;
    while (code->count && code->instrs[code->count - 1].class == SASS_NOP)
        code->count--;
    if (code->count && sass_is_self_branch(&code->instrs[code->count - 1]))
        code->count--;
    code->padding = total - code->count;
}

static bool read_flow(SassCode *code, const CubinFunction *function, const Latencies *latencies)
{
    SassGraph graph = {.function = function, .code = code};
    graph.block_of = arena_array(&graph.scratch, int, code->count);
    find_blocks(&graph);
    add_direct_edges(&graph);
    bool good = add_barrier_edges(&graph);
    if (good) {
        order_blocks(&graph);
        find_lines(code);
        sass_count_cycles(code, latencies);
        sass_add_barrier_waits(code);
        sass_find_loops(code);
    }
    arena_free(&graph.scratch);
    return good;
}

bool sass_read_with(SassCode *code, const CubinFunction *function, unsigned sm, const Latencies *latencies)
{
    *code = (SassCode){.count = (function->end - function->begin) / SASS_BYTES};
    code->instrs = arena_array(&code->arena, SassInstr, code->count);
    for (size_t i = 0; i < code->count; i++) {
        uint32_t offset = function->begin + (uint32_t)(i * SASS_BYTES);
        code->instrs[i] = sass_decode(function->code + offset, offset, sm);
    }
    drop_padding(code);
    if (!code->count || read_flow(code, function, latencies))
        return true;
    sass_free(code);
    return false;
}

bool sass_read(SassCode *code, const CubinFunction *function, unsigned sm)
{
    Latencies latencies = latency_table(sm);
    return sass_read_with(code, function, sm, &latencies);
}

void sass_free(SassCode *code)
{
    for (int i = 0; i < code->block_count; i++) {
        vec_free(&code->blocks[i].out);
        vec_free(&code->blocks[i].in);
    }
    arena_free(&code->arena);
    *code = (SassCode){.count = 0};
}
