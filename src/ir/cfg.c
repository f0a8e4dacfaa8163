/* Edge maps. Lists of one function live in one arena; a list that grows leaves its old place unused. Every edge stands
 * in two lists and knows its place in the other one. */
#include "ir/cfg.h"

#include <stdlib.h>
#include <string.h>

/* ---- ways out of a block, from its instructions ---------------------------------------------------------------- */

u32 block_ways(const Block *b)
{
    const Instr *end = block_terminator(b);
    u32 ways = b->fall ? 1 : 0;
    if (!end || !op_has(end->op, OPF_BRANCH))
        return ways;
    const Table *table = branch_table(end);
    if (table)
        return ways + table->targets.n;
    return ways + (branch_target(end) ? 1 : 0);
}

Block *block_way(const Block *b, u32 way)
{
    const Instr *end = block_terminator(b);
    if (!end || !op_has(end->op, OPF_BRANCH))
        return b->fall;
    const Table *table = branch_table(end);
    if (table)
        return way < table->targets.n ? fn_block(b->fn, table->targets.v[way]) : b->fall;
    Block *taken = branch_target(end);
    return taken && way == 0 ? taken : b->fall;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static CfgList list_of(const Cfg *cfg, const FnvMap *map, const Block *b)
{
    const u64 *index = fnvmap_find(map, b->id);
    return index ? cfg->lists.v[*index] : (CfgList){0};
}

/* The block's list, made if it has none. Valid until the next list is made. */
static CfgList *list_at(Cfg *cfg, FnvMap *map, const Block *b)
{
    u64 *index = fnvmap_find(map, b->id);
    if (index)
        return &cfg->lists.v[*index];
    *fnvmap_at(map, b->id) = cfg->lists.n;
    vec_push(&cfg->lists, (CfgList){0});
    return &vec_last(&cfg->lists);
}

/* Makes the block's list, with room for so many edges. */
static void list_new(Cfg *cfg, FnvMap *map, const Block *b, u32 room)
{
    CfgList *list = list_at(cfg, map, b);
    *list = (CfgList){.v = arena_alloc_raw(&cfg->arena, room * sizeof *list->v), .cap = room};
}

static CfgEdge *list_find(const CfgList *list, const Block *b)
{
    for (u32 k = list->n; k-- > 0;)
        if (list->v[k].block == b)
            return &list->v[k];
    return NULL;
}

static void list_push(Cfg *cfg, CfgList *list, CfgEdge edge)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 1;
        CfgEdge *moved = arena_alloc_raw(&cfg->arena, list->cap * sizeof *moved);
        if (list->n)
            memcpy(moved, list->v, list->n * sizeof *moved);
        list->v = moved;
    }
    list->v[list->n++] = edge;
}

/* ---- edges: both ends at once ---------------------------------------------------------------------------------- */

/* One edge seen from both ends. `forth` is NULL when there is none. Valid until an edge of either block changes. */
typedef struct EdgePair {
    CfgList *succs, *preds;
    CfgEdge *forth, *back;
} EdgePair;

/* Looks in the shorter list and follows the twin, so that a block with very many predecessors costs nothing. */
static EdgePair edge_find(Cfg *cfg, Block *from, Block *to)
{
    EdgePair e = {0};
    list_at(cfg, &cfg->pred, to); /* making a list moves the others: both exist from here on */
    e.succs = list_at(cfg, &cfg->succ, from);
    e.preds = list_at(cfg, &cfg->pred, to);
    if (e.succs->n <= e.preds->n) {
        e.forth = list_find(e.succs, to);
        e.back = e.forth ? &e.preds->v[e.forth->twin] : NULL;
    } else {
        e.back = list_find(e.preds, from);
        e.forth = e.back ? &e.succs->v[e.back->twin] : NULL;
    }
    return e;
}

static void edge_add(Cfg *cfg, Block *from, Block *to, u32 ways)
{
    EdgePair e = edge_find(cfg, from, to);
    if (e.forth) {
        e.forth->ways += ways;
        e.back->ways += ways;
    } else {
        list_push(cfg, e.succs, (CfgEdge){to, ways, e.preds->n});
        list_push(cfg, e.preds, (CfgEdge){from, ways, e.succs->n - 1});
    }
}

/* Successors keep their order; the last predecessor takes the free place. */
static void edge_remove(Cfg *cfg, EdgePair e)
{
    u32 at = e.back->twin, hole = e.forth->twin;
    e.succs->n--;
    memmove(e.forth, e.forth + 1, (e.succs->n - at) * sizeof *e.forth);
    for (u32 k = at; k < e.succs->n; k++) {
        CfgEdge *moved = &e.succs->v[k];
        list_at(cfg, &cfg->pred, moved->block)->v[moved->twin].twin = k;
    }
    CfgEdge last = e.preds->v[--e.preds->n];
    if (hole < e.preds->n) {
        e.preds->v[hole] = last;
        list_at(cfg, &cfg->succ, last.block)->v[last.twin].twin = hole;
    }
}

static void edge_drop_ways(Cfg *cfg, EdgePair e, u32 ways)
{
    e.forth->ways -= ways;
    e.back->ways -= ways;
    if (e.forth->ways == 0)
        edge_remove(cfg, e);
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

/* Room for the edges that there will be: most blocks have one or two, and lists that grow would leave their old places. */
static void make_lists(Cfg *cfg, const Function *fn)
{
    u32 *ways_in = mem_zalloc(sizeof(u32) * (size_t)fn->blocks.n);
    for_each_block(b, fn)
        for (u32 k = 0, ways = block_ways(b); k < ways; k++)
            ways_in[block_way(b, k)->id]++;
    vec_reserve(&cfg->lists, 2 * fn->blocks.n);
    for_each_block(b, fn) {
        u32 ways_out = block_ways(b);
        if (ways_out)
            list_new(cfg, &cfg->succ, b, ways_out);
        if (ways_in[b->id])
            list_new(cfg, &cfg->pred, b, ways_in[b->id]);
    }
    free(ways_in);
}

void cfg_build(Function *fn)
{
    if (fn->cfg)
        return;
    Cfg *cfg = mem_zalloc(sizeof *cfg);
    make_lists(cfg, fn);
    for_each_block(b, fn) {
        u32 ways = block_ways(b);
        for (u32 k = 0; k < ways; k++)
            edge_add(cfg, b, block_way(b, k), 1);
    }
    fn->cfg = cfg;
}

void cfg_free(Function *fn)
{
    Cfg *cfg = fn->cfg;
    if (!cfg)
        return;
    fnvmap_free(&cfg->succ);
    fnvmap_free(&cfg->pred);
    vec_free(&cfg->lists);
    arena_free(&cfg->arena);
    free(cfg);
    fn->cfg = NULL;
}

void cfg_add_edge(Cfg *cfg, Block *from, Block *to) { edge_add(cfg, from, to, 1); }

void cfg_remove_edge(Cfg *cfg, Block *from, Block *to) { edge_drop_ways(cfg, edge_find(cfg, from, to), 1); }

void cfg_redirect(Cfg *cfg, Block *from, Block *old_to, Block *new_to)
{
    EdgePair e = edge_find(cfg, from, old_to);
    if (!e.forth || old_to == new_to)
        return;
    u32 ways = e.forth->ways;
    edge_drop_ways(cfg, e, ways);
    edge_add(cfg, from, new_to, ways);
}

CfgList cfg_succs(const Function *fn, const Block *b) { return list_of(fn->cfg, &fn->cfg->succ, b); }
CfgList cfg_preds(const Function *fn, const Block *b) { return list_of(fn->cfg, &fn->cfg->pred, b); }
u32 cfg_pred_count(const Function *fn, const Block *b) { return cfg_preds(fn, b).n; }

Block *cfg_single_pred(const Function *fn, const Block *b)
{
    CfgList preds = cfg_preds(fn, b);
    return preds.n == 1 ? preds.v[0].block : NULL;
}

Block *cfg_single_succ(const Function *fn, const Block *b)
{
    CfgList succs = cfg_succs(fn, b);
    return succs.n == 1 ? succs.v[0].block : NULL;
}

/* ---- verifying ------------------------------------------------------------------------------------------------- */

static bool in_layout(const Block *b) { return !b->dead && (b->prev || b->fn->entry == b); }

/* Whether the edge at place `at` of b's list is known at the other end, with the same ways and place. */
static bool has_twin(const Block *b, const CfgEdge *edge, u32 at, const CfgList *other)
{
    if (edge->twin >= other->n)
        return false;
    const CfgEdge *twin = &other->v[edge->twin];
    return twin->block == b && twin->twin == at && twin->ways == edge->ways && edge->ways > 0;
}

/* The ways that b's instructions have, against those of the maps; then both directions against each other. */
static const char *verify_block(const Function *fn, const Block *b, Arena *arena)
{
    CfgList succs = cfg_succs(fn, b), preds = cfg_preds(fn, b);
    u32 ways = block_ways(b), counted = 0;
    for (u32 k = 0; k < ways; k++)
        if (!list_find(&succs, block_way(b, k)))
            return arena_printf(arena, "block %u: the edge to block %u is missing", b->id, block_way(b, k)->id);
    for (u32 k = 0; k < succs.n; k++) {
        CfgList back = cfg_preds(fn, succs.v[k].block);
        counted += succs.v[k].ways;
        if (!has_twin(b, &succs.v[k], k, &back))
            return arena_printf(arena, "block %u: the edge to block %u differs from its opposite", b->id,
                succs.v[k].block->id);
    }
    if (counted != ways)
        return arena_printf(arena, "block %u: %u ways in the edge map, %u in its instructions", b->id, counted, ways);
    for (u32 k = 0; k < preds.n; k++) {
        CfgList forth = cfg_succs(fn, preds.v[k].block);
        if (!in_layout(preds.v[k].block) || !has_twin(b, &preds.v[k], k, &forth))
            return arena_printf(arena, "block %u: the edge from block %u is not one", b->id, preds.v[k].block->id);
    }
    return NULL;
}

const char *cfg_verify(const Function *fn, Arena *arena)
{
    for_each_block(b, fn) {
        const char *wrong = verify_block(fn, b, arena);
        if (wrong)
            return wrong;
    }
    return NULL;
}
