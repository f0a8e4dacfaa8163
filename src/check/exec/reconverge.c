#include "check/exec/reconverge.h"
#include "base/graph.h"
#include "check/exec/program.h"
#include "ir/cfg.h"

#include <stdlib.h>
#include <string.h>

typedef struct ReconvergeGraph {
    const Function *fn;
    u32 n;           /* blocks; node n is the end */
    VecU32 from, to; /* its edges: those to the end last */
    Arena arena;
    Graph succ, pred; /* without the end's edges */
    u32 *idom;        /* post-dominators; GRAPH_NONE: the end is not reached */
} ReconvergeGraph;

/* Nothing but ret or exit (unguarded), or the end of the text. */
static bool only_leaves(const Block *b)
{
    const Instr *first = b->first;
    while (first && first->kind != INSTR_OP)
        first = first->next;
    if (!first)
        return !b->fall;
    return !first->guard && op_has(first->op, OPF_NO_RETURN);
}

static bool leaves_itself(const Block *b)
{
    const Instr *t = block_terminator(b);
    return !b->fall && (!t || op_has(t->op, OPF_NO_RETURN));
}

static void add_edge(ReconvergeGraph *g, u32 from, u32 to)
{
    vec_push(&g->from, from);
    vec_push(&g->to, to);
}

/* Marks, by Block.id, the blocks that the entry reaches: ptxas removes the others. The caller frees the array. */
static u8 *find_reached(const Function *fn)
{
    u8 *reached = mem_zalloc(fn->blocks.n + 1);
    VecU32 work = {0};
    vec_push(&work, fn->entry->id);
    reached[fn->entry->id] = 1;
    for (u32 k = 0; k < work.n; k++) {
        const Block *b = fn_block(fn, work.v[k]);
        for (u32 e = 0; e < block_edge_count(b); e++) {
            u32 to = block_edge_target(b, e)->id;
            if (!reached[to])
                vec_push(&work, to);
            reached[to] = 1;
        }
    }
    vec_free(&work);
    return reached;
}

/* Adds the edge, or notes in `leaves` that it leads to a block that only leaves. */
static void add_edge_between(ReconvergeGraph *g, bool *leaves, const Block *from, const Block *to)
{
    if (only_leaves(to))
        leaves[from->id] = true;
    else
        add_edge(g, from->id, to->id);
}

/* Edges between blocks that are reached, but for those into a block that only leaves. A guarded return leaves too, where that counts
 * (`strict`). */
static void build(ReconvergeGraph *g, bool *leaves, bool strict)
{
    u8 *reached = find_reached(g->fn);
    for_each_block(b, g->fn) {
        if (!reached[b->id])
            continue;
        const Instr *t = block_terminator(b);
        bool branches = t && op_has(t->op, OPF_BRANCH);
        const Table *table = branches ? branch_table(t) : NULL;
        leaves[b->id] = leaves_itself(b) || (strict && t && op_has(t->op, OPF_NO_RETURN));
        if (branches && !table)
            add_edge_between(g, leaves, b, branch_target(t));
        for (u32 i = 0; table && i < table->targets.n; i++)
            add_edge_between(g, leaves, b, fn_block(g->fn, table->targets.v[i]));
        if (b->fall)
            add_edge_between(g, leaves, b, b->fall);
    }
    g->succ = graph_from_edges(&g->arena, g->n + 1, g->from.v, g->to.v, g->from.n);
    g->pred = graph_from_edges(&g->arena, g->n + 1, g->to.v, g->from.v, g->from.n);
    mem_free(reached);
}

/* The number of blocks that reach `end` and have no reconvergence point yet. */
static u32 reaches(const ReconvergeGraph *g, u32 end, const bool *done)
{
    Arena scratch = {0};
    VecU32 work = {0};
    BitSet found = bitset_new(&scratch, g->n + 1);
    u32 count = 0;
    bitset_add(&found, end);
    vec_push(&work, end);
    graph_spread(&g->pred, &work, &found);
    for_each_bit(b, &found)
        count += !done[b];
    arena_free(&scratch);
    return count;
}

#define EXIT_LIMIT 64u /* with more, the last one in the layout is taken */

static u32 block_size(const Block *b)
{
    u32 n = 0;
    for_each_instr(i, b)
        n += i->kind == INSTR_OP;
    return n;
}

/* The exit that most blocks without a reconvergence point reach, of equals the longest and last one; g->n: none reaches any. */
static u32 choose_end(const ReconvergeGraph *g, const bool *leaves, const bool *done)
{
    u32 best = g->n, most = 0, longest = 0, exits = 0;
    for_each_block(b, g->fn)
        exits += leaves[b->id] && !done[b->id];
    for_each_block(b, g->fn) {
        if (!leaves[b->id] || done[b->id])
            continue;
        u32 count = exits > EXIT_LIMIT ? 1 : reaches(g, b->id, done);
        u32 size = block_size(b);
        if (count && (count > most || (count == most && size >= longest))) {
            most = count;
            longest = size;
            best = b->id;
        }
    }
    return best;
}

static void post_dominators(ReconvergeGraph *g)
{
    Arena scratch = {0};
    Graph on = graph_from_edges(&scratch, g->n + 1, g->from.v, g->to.v, g->from.n),
          back = graph_from_edges(&scratch, g->n + 1, g->to.v, g->from.v, g->from.n);
    graph_dominators(&back, &on, g->n, g->idom, arena_array(&scratch, u32, g->n + 1));
    arena_free(&scratch);
}

/* A jump table sends all lanes of a target there at once, whatever their entries. */
static bool only_jumps_by_table(const Block *b)
{
    const Instr *t = block_terminator(b);
    return t && op_has(t->op, OPF_BRANCH) && branch_table(t) && !b->fall;
}

/* Whether two paths lead from b to its reconvergence point. Where all paths but one leave the function, no lane need wait. */
static bool paths_join(const ReconvergeGraph *g, u32 b)
{
    u32 first = NO_PC;
    bool by_target = only_jumps_by_table(fn_block(g->fn, b));
    for_each_edge(e, &g->succ, b) {
        u32 to = g->succ.to[e];
        if (g->idom[to] == GRAPH_NONE)
            continue;
        if (first != NO_PC && !(by_target && to == first))
            return true;
        first = to;
    }
    return false;
}

/* Takes one exit after the other for the end, each for the blocks that reach it and no earlier one. */
static void solve(ReconvergeGraph *g, const bool *leaves, u32 *point)
{
    bool *done = mem_zalloc(g->n + 1);
    for (u32 end; (end = choose_end(g, leaves, done)) < g->n;) {
        add_edge(g, end, g->n);
        post_dominators(g);
        for (u32 b = 0; b < g->n; b++)
            if (!done[b] && g->idom[b] != GRAPH_NONE) {
                point[b] = g->idom[b] == g->n || !paths_join(g, b) ? NO_PC : g->idom[b];
                done[b] = true;
            }
        g->from.n--;
        g->to.n--;
    }
    mem_free(done);
}

/* Takes all exits for one end, at which nobody waits. */
static void solve_strict(ReconvergeGraph *g, const bool *leaves, u32 *point)
{
    for (u32 b = 0; b < g->n; b++)
        if (leaves[b])
            add_edge(g, b, g->n);
    post_dominators(g);
    for (u32 b = 0; b < g->n; b++)
        if (g->idom[b] != GRAPH_NONE && g->idom[b] != g->n)
            point[b] = g->idom[b];
}

u32 *reconvergence_points(const Function *fn, ReconvergeModel model)
{
    ReconvergeGraph g = {.fn = fn, .n = fn->blocks.n};
    u32 *point = mem_alloc(sizeof(u32) * (g.n + 1));
    g.idom = arena_array(&g.arena, u32, g.n + 1);
    bool *leaves = arena_array(&g.arena, bool, g.n + 1);
    for (u32 i = 0; i <= g.n; i++)
        point[i] = NO_PC;
    build(&g, leaves, model == RECONVERGE_STRICT);
    if (model == RECONVERGE_STRICT)
        solve_strict(&g, leaves, point);
    else
        solve(&g, leaves, point);
    vec_free(&g.from);
    vec_free(&g.to);
    arena_free(&g.arena);
    return point;
}
