#include "exec/reconverge.h"
#include "base/graph.h"
#include "exec/program.h"
#include "ir/cfg.h"

#include <stdlib.h>
#include <string.h>

typedef struct ReconvergeGraph {
    const Function *fn;
    u32 n; /* blocks; node n is the end */
    VecU32 *succ, *pred;
    u32 *idom; /* post-dominators; GRAPH_NONE: the end is not reached */
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
    vec_push(&g->succ[from], to);
    vec_push(&g->pred[to], from);
}

/* By Block.id whether the entry reaches the block: ptxas removes the others. The caller frees it. */
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

/* Edges between blocks; those into a block that only leaves are left out, and noted in `leaves`. A guarded return leaves
 * too, where that counts (`strict`). */
static void build(ReconvergeGraph *g, bool *leaves, bool strict)
{
    u8 *reached = find_reached(g->fn);
    for_each_block(b, g->fn) {
        if (!reached[b->id])
            continue;
        const Instr *t = block_terminator(b);
        u32 begin = g->succ[b->id].n;
        Block *target = t && op_has(t->op, OPF_BRANCH) && !branch_table(t) ? branch_target(t) : NULL;
        if (target)
            add_edge(g, b->id, target->id);
        const Table *table = t && op_has(t->op, OPF_BRANCH) ? branch_table(t) : NULL;
        for (u32 i = 0; table && i < table->targets.n; i++)
            add_edge(g, b->id, table->targets.v[i]);
        if (b->fall)
            add_edge(g, b->id, b->fall->id);
        leaves[b->id] = leaves_itself(b) || (strict && t && op_has(t->op, OPF_NO_RETURN));
        u32 kept = begin;
        for (u32 i = begin; i < g->succ[b->id].n; i++) {
            u32 to = g->succ[b->id].v[i];
            if (only_leaves(fn_block(g->fn, to))) {
                leaves[b->id] = true;
                g->pred[to].n--;
            } else {
                g->succ[b->id].v[kept++] = to;
            }
        }
        g->succ[b->id].n = kept;
    }
    free(reached);
}

/* The number of blocks that reach `end` and have no reconvergence point yet. */
static u32 reaches(const ReconvergeGraph *g, u32 end, const bool *done, u8 *seen, u32 *stack)
{
    u32 count = 0, top = 0;
    memset(seen, 0, g->n);
    stack[top++] = end;
    seen[end] = 1;
    while (top) {
        u32 b = stack[--top];
        count += !done[b];
        for (u32 i = 0; i < g->pred[b].n; i++)
            if (!seen[g->pred[b].v[i]]) {
                seen[g->pred[b].v[i]] = 1;
                stack[top++] = g->pred[b].v[i];
            }
    }
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
    u8 *seen = mem_zalloc(g->n + 1);
    u32 *stack = mem_alloc(sizeof(u32) * (g->n + 1)), best = g->n, most = 0, longest = 0, exits = 0;
    for_each_block(b, g->fn)
        exits += leaves[b->id] && !done[b->id];
    for_each_block(b, g->fn) {
        if (!leaves[b->id] || done[b->id])
            continue;
        u32 count = exits > EXIT_LIMIT ? 1 : reaches(g, b->id, done, seen, stack);
        u32 size = block_size(b);
        if (count && (count > most || (count == most && size >= longest))) {
            most = count;
            longest = size;
            best = b->id;
        }
    }
    free(seen);
    free(stack);
    return best;
}

static void post_dominators(ReconvergeGraph *g)
{
    Arena scratch = {0};
    VecU32 from = {0}, to = {0};
    for (u32 b = 0; b < g->n; b++)
        for (u32 i = 0; i < g->succ[b].n; i++) {
            vec_push(&from, b);
            vec_push(&to, g->succ[b].v[i]);
        }
    Graph on = graph_from_edges(&scratch, g->n + 1, from.v, to.v, from.n),
          back = graph_from_edges(&scratch, g->n + 1, to.v, from.v, from.n);
    graph_dominators(&back, &on, g->n, g->idom, arena_array(&scratch, u32, g->n + 1));
    vec_free(&from);
    vec_free(&to);
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
    for (u32 i = 0; i < g->succ[b].n; i++) {
        u32 to = g->succ[b].v[i];
        if (to != g->n && g->idom[to] == GRAPH_NONE)
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
        g->succ[end].n--;
        g->pred[g->n].n--;
    }
    free(done);
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
    g.succ = mem_zalloc(sizeof *g.succ * (g.n + 1));
    g.pred = mem_zalloc(sizeof *g.pred * (g.n + 1));
    g.idom = mem_alloc(sizeof(u32) * (g.n + 1));
    bool *leaves = mem_zalloc(g.n + 1);
    for (u32 i = 0; i <= g.n; i++)
        point[i] = NO_PC;
    build(&g, leaves, model == RECONVERGE_STRICT);
    if (model == RECONVERGE_STRICT)
        solve_strict(&g, leaves, point);
    else
        solve(&g, leaves, point);
    for (u32 i = 0; i <= g.n; i++) {
        vec_free(&g.succ[i]);
        vec_free(&g.pred[i]);
    }
    free(g.succ);
    free(g.pred);
    free(g.idom);
    free(leaves);
    return point;
}
