#include "exec/reconverge.h"
#include "exec/program.h"
#include "ir/cfg.h"

#include <stdlib.h>
#include <string.h>

typedef struct Graph {
    const Function *fn;
    u32 n; /* blocks; node n is the end */
    VecU32 *succ, *pred;
    u32 *order, *number; /* reverse post-order of the reversed graph, from the end */
    u32 ordered;
    u32 *idom;
} Graph;

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

static void add_edge(Graph *g, u32 from, u32 to)
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
static void build(Graph *g, bool *leaves, bool strict)
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
static u32 reaches(const Graph *g, u32 end, const bool *done, u8 *seen, u32 *stack)
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
static u32 choose_end(const Graph *g, const bool *leaves, const bool *done)
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

static void visit(Graph *g, u32 root)
{
    u32 *stack = mem_alloc(sizeof(u32) * (g->n + 2)), *next = mem_zalloc(sizeof(u32) * (g->n + 2)), top = 0, post = 0;
    u8 *seen = mem_zalloc(g->n + 2);
    u32 *postorder = mem_alloc(sizeof(u32) * (g->n + 2));
    stack[top++] = root;
    seen[root] = 1;
    while (top) {
        u32 b = stack[top - 1];
        if (next[b] < g->pred[b].n) {
            u32 p = g->pred[b].v[next[b]++];
            if (!seen[p]) {
                seen[p] = 1;
                stack[top++] = p;
            }
        } else {
            postorder[post++] = b;
            top--;
        }
    }
    for (u32 i = 0; i < post; i++) {
        g->order[i] = postorder[post - 1 - i];
        g->number[g->order[i]] = i;
    }
    g->ordered = post;
    free(stack);
    free(next);
    free(seen);
    free(postorder);
}

static u32 nearest_common(const Graph *g, u32 a, u32 b)
{
    while (a != b) {
        while (g->number[a] > g->number[b])
            a = g->idom[a];
        while (g->number[b] > g->number[a])
            b = g->idom[b];
    }
    return a;
}

/* Cooper, Harvey, Kennedy, on the reversed graph. */
static void post_dominators(Graph *g)
{
    for (u32 i = 0; i <= g->n; i++)
        g->number[i] = g->idom[i] = NO_PC;
    visit(g, g->n);
    g->idom[g->n] = g->n;
    for (bool changed = true; changed;) {
        changed = false;
        for (u32 i = 1; i < g->ordered; i++) {
            u32 b = g->order[i], best = NO_PC;
            for (u32 k = 0; k < g->succ[b].n; k++) {
                u32 s = g->succ[b].v[k];
                if (g->number[s] != NO_PC && g->idom[s] != NO_PC)
                    best = best == NO_PC ? s : nearest_common(g, best, s);
            }
            changed |= best != g->idom[b];
            g->idom[b] = best;
        }
    }
}

/* A jump table sends all lanes of a target there at once, whatever their entries. */
static bool only_jumps_by_table(const Block *b)
{
    const Instr *t = block_terminator(b);
    return t && op_has(t->op, OPF_BRANCH) && branch_table(t) && !b->fall;
}

/* Whether two paths lead from b to its reconvergence point. Where all paths but one leave the function, no lane need wait. */
static bool paths_join(const Graph *g, u32 b)
{
    u32 first = NO_PC;
    bool by_target = only_jumps_by_table(fn_block(g->fn, b));
    for (u32 i = 0; i < g->succ[b].n; i++) {
        u32 to = g->succ[b].v[i];
        if (g->number[to] == NO_PC)
            continue;
        if (first != NO_PC && !(by_target && to == first))
            return true;
        first = to;
    }
    return false;
}

/* Takes one exit after the other for the end, each for the blocks that reach it and no earlier one. */
static void solve(Graph *g, const bool *leaves, u32 *point)
{
    bool *done = mem_zalloc(g->n + 1);
    for (u32 end; (end = choose_end(g, leaves, done)) < g->n;) {
        add_edge(g, end, g->n);
        post_dominators(g);
        for (u32 b = 0; b < g->n; b++)
            if (!done[b] && g->number[b] != NO_PC) {
                point[b] = g->idom[b] == g->n || !paths_join(g, b) ? NO_PC : g->idom[b];
                done[b] = true;
            }
        g->succ[end].n--;
        g->pred[g->n].n--;
    }
    free(done);
}

/* Takes all exits for one end, at which nobody waits. */
static void solve_strict(Graph *g, const bool *leaves, u32 *point)
{
    for (u32 b = 0; b < g->n; b++)
        if (leaves[b])
            add_edge(g, b, g->n);
    post_dominators(g);
    for (u32 b = 0; b < g->n; b++)
        if (g->number[b] != NO_PC && g->idom[b] != g->n)
            point[b] = g->idom[b];
}

u32 *reconvergence_points(const Function *fn, ReconvergeModel model)
{
    Graph g = {.fn = fn, .n = fn->blocks.n};
    u32 *point = mem_alloc(sizeof(u32) * (g.n + 1));
    g.succ = mem_zalloc(sizeof *g.succ * (g.n + 1));
    g.pred = mem_zalloc(sizeof *g.pred * (g.n + 1));
    g.order = mem_alloc(sizeof(u32) * (g.n + 1));
    g.number = mem_alloc(sizeof(u32) * (g.n + 1));
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
    free(g.order);
    free(g.number);
    free(g.idom);
    free(leaves);
    return point;
}
