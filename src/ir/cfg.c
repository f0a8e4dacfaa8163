/* Edge maps. The lists of one function live in one arena. A list that grows or becomes empty leaves its place to the next
 * list of its size. Every edge stands in two lists, and knows its place in the other one. */
#include "ir/cfg.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnvmap.h"

/* ---- edges out of a block, from its instructions ---------------------------------------------------------------- */

/* The ids of the blocks that b's terminator names, in order. */
static const u32 *branch_targets(const Block *b, u32 *count)
{
    const Instr *end = block_terminator(b);
    *count = 0;
    if (!end || !op_has(end->op, OPF_BRANCH))
        return NULL;
    for_each_operand(o, end) {
        const Table *table = o->kind == OPND_TABLE ? &b->fn->tables.v[o->id] : NULL;
        if (o->kind != OPND_LABEL && !table)
            continue;
        *count = table ? table->targets.n : 1;
        return table ? table->targets.v : &o->id;
    }
    return NULL;
}

u32 block_edge_count(const Block *b)
{
    u32 named;
    branch_targets(b, &named);
    return named + (b->fall ? 1 : 0);
}

Block *block_edge_target(const Block *b, u32 edge)
{
    u32 named;
    const u32 *target = branch_targets(b, &named);
    return edge < named ? fn_block(b->fn, target[edge]) : b->fall;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

/* A list of edges. A block without edges has none. */
struct EdgeList {
    u32 block;            /* the id of the block that has the list */
    u32 n : 27, size : 5; /* edges; there is room for 1 << size of them */
    CfgEdge v[];
};

static EdgeList *list_of(const FnvTable *lists, const Block *b) { return fnvtable_find(lists, b->id); }

/* The link of an unused list to the next one of its size. */
static EdgeList **next_free(EdgeList *place) { return (EdgeList **)(void *)place->v; }

static void list_free(Cfg *cfg, EdgeList *list)
{
    *next_free(list) = cfg->free[list->size];
    cfg->free[list->size] = list;
}

static EdgeList *list_new(Cfg *cfg, const Block *b, u32 edges)
{
    u32 size = 0;
    while (size < CFG_LIST_SIZES && 1u << size < edges)
        size++;
    EdgeList *list = size < CFG_LIST_SIZES ? cfg->free[size] : NULL;
    if (list)
        cfg->free[size] = *next_free(list);
    else /* there is not enough memory for more edges than can be counted */
        list = arena_alloc_raw(&cfg->arena, size < CFG_LIST_SIZES ? sizeof *list + (sizeof *list->v << size) : SIZE_MAX);
    list->block = b->id;
    list->n = 0;
    list->size = size;
    return list;
}

/* The block's list, made with room for `edges` edges if it has none. */
static EdgeList *list_at(Cfg *cfg, FnvTable *lists, const Block *b, u32 edges)
{
    void **slot = fnvtable_at(lists, b->id);
    if (!*slot)
        *slot = list_new(cfg, b, edges);
    return *slot;
}

/* The block's list, with room for one more edge. */
static EdgeList *list_for_one_more(Cfg *cfg, FnvTable *lists, const Block *b)
{
    EdgeList *list = list_at(cfg, lists, b, 1);
    if (list->n < 1u << list->size)
        return list;
    EdgeList *larger = list_new(cfg, b, list->n + 1);
    larger->n = list->n;
    memcpy(larger->v, list->v, list->n * sizeof *list->v);
    *fnvtable_at(lists, b->id) = larger;
    list_free(cfg, list);
    return larger;
}

static void list_drop_if_empty(Cfg *cfg, FnvTable *lists, EdgeList *list)
{
    if (list->n)
        return;
    fnvtable_remove(lists, list->block);
    list_free(cfg, list);
}

/* ---- edges, at both ends at once -------------------------------------------------------------------------------- */

/* One edge seen from both ends; `forth` is NULL when there is none. Valid until an edge of either block changes. */
typedef struct EdgePair {
    EdgeList *succs, *preds;
    CfgEdge *forth, *back;
} EdgePair;

static CfgEdge *edge_to(EdgeList *list, const Block *b)
{
    for (u32 k = list->n; k-- > 0;)
        if (list->v[k].block == b)
            return &list->v[k];
    return NULL;
}

/* Searches the shorter list and follows the twin, so a block with very many predecessors costs nothing. */
static EdgePair edge_between(EdgeList *succs, EdgeList *preds, const Block *from, const Block *to)
{
    EdgePair e = {.succs = succs, .preds = preds};
    if (!succs || !preds)
        return e;
    if (succs->n <= preds->n) {
        e.forth = edge_to(succs, to);
        e.back = e.forth ? &preds->v[e.forth->twin] : NULL;
    } else {
        e.back = edge_to(preds, from);
        e.forth = e.back ? &succs->v[e.back->twin] : NULL;
    }
    return e;
}

static EdgePair edge_find(const Cfg *cfg, const Block *from, const Block *to)
{
    return edge_between(list_of(&cfg->succ, from), list_of(&cfg->pred, to), from, to);
}

static void edge_raise(EdgePair e, u32 edges)
{
    e.forth->multiplicity += edges;
    e.back->multiplicity += edges;
}

/* Adds an edge to both lists, which have room. */
static void edge_push(EdgeList *succs, EdgeList *preds, Block *from, Block *to, u32 edges)
{
    u32 place = succs->n++, twin = preds->n++;
    succs->v[place] = (CfgEdge){to, edges, twin};
    preds->v[twin] = (CfgEdge){from, edges, place};
}

static void edge_add(Cfg *cfg, Block *from, Block *to, u32 edges)
{
    EdgePair e = edge_find(cfg, from, to);
    if (e.forth)
        edge_raise(e, edges);
    else
        edge_push(list_for_one_more(cfg, &cfg->succ, from), list_for_one_more(cfg, &cfg->pred, to), from, to, edges);
}

/* Removes a predecessor; the last one takes its place. */
static void pred_remove(Cfg *cfg, EdgeList *preds, u32 hole)
{
    CfgEdge last = preds->v[--preds->n];
    if (hole < preds->n) {
        preds->v[hole] = last;
        list_of(&cfg->succ, last.block)->v[last.twin].twin = hole;
    }
    list_drop_if_empty(cfg, &cfg->pred, preds);
}

/* Removes an edge; the successors keep their order. */
static void edge_remove(Cfg *cfg, EdgePair e)
{
    u32 at = e.back->twin, hole = e.forth->twin;
    e.succs->n--;
    memmove(e.forth, e.forth + 1, (e.succs->n - at) * sizeof *e.forth);
    for (u32 k = at; k < e.succs->n; k++) {
        CfgEdge *moved = &e.succs->v[k];
        list_of(&cfg->pred, moved->block)->v[moved->twin].twin = k;
    }
    list_drop_if_empty(cfg, &cfg->succ, e.succs);
    pred_remove(cfg, e.preds, hole);
}

static void edge_lower(Cfg *cfg, EdgePair e, u32 edges)
{
    e.forth->multiplicity -= edges;
    e.back->multiplicity -= edges;
    if (e.forth->multiplicity == 0)
        edge_remove(cfg, e);
}

/* ---- all edges out of a block ---------------------------------------------------------------------------------- */

/* The places of successors in the list of a block that may have very many. */
typedef struct Places {
    FnvMap of; /* by Block.id: 1 + the place in the list */
    bool used; /* otherwise the list is short, and is searched */
} Places;

enum { MANY_EDGES = 16 };

static CfgEdge *find_succ(Places *places, EdgeList *succs, const Block *to)
{
    if (!places->used)
        return edge_to(succs, to);
    const u64 *place = fnvmap_find(&places->of, to->id);
    return place && *place ? &succs->v[*place - 1] : NULL;
}

/* Adds edges from `from`, whose list has room, to a block. If the block has no list, it gets one with room for `preds` edges. */
static void add_edges(Cfg *cfg, Places *places, EdgeList *succs, Block *from, CfgEdge edges, u32 preds)
{
    Block *to = edges.block;
    CfgEdge *known = find_succ(places, succs, to);
    if (known) {
        known->multiplicity += edges.multiplicity;
        list_of(&cfg->pred, to)->v[known->twin].multiplicity += edges.multiplicity;
        return;
    }
    if (places->used)
        *fnvmap_at(&places->of, to->id) = succs->n + 1;
    list_at(cfg, &cfg->pred, to, preds);
    edge_push(succs, list_for_one_more(cfg, &cfg->pred, to), from, to, edges.multiplicity);
}

/* The most blocks that the edges lead to. Where they are many, each block gets a place, which is 0 so far. */
static u32 count_succs(Places *places, const Block *from, u32 edges)
{
    for (u32 k = 0; places->used && k < edges; k++)
        *fnvmap_at(&places->of, block_edge_target(from, k)->id) = 0;
    return places->used ? places->of.count : edges;
}

/* Adds the edges of a block's instructions. preds: by Block.id, how many blocks will lead there; NULL: unknown. */
static void add_edges_of(Cfg *cfg, Block *from, const u32 *preds)
{
    u32 edges = block_edge_count(from);
    if (!edges)
        return;
    Places places = {.used = edges > MANY_EDGES};
    EdgeList *succs = list_at(cfg, &cfg->succ, from, count_succs(&places, from, edges));
    for (u32 k = 0; k < edges; k++) {
        Block *to = block_edge_target(from, k);
        add_edges(cfg, &places, succs, from, (CfgEdge){to, 1, 0}, preds ? preds[to->id] : 1);
    }
    fnvmap_free(&places.of);
}

void cfg_add_edges_of(Cfg *cfg, Block *from) { add_edges_of(cfg, from, NULL); }

void cfg_remove_edges_of(Cfg *cfg, Block *from)
{
    EdgeList *succs = list_of(&cfg->succ, from);
    for (u32 k = 0; succs && k < succs->n; k++)
        pred_remove(cfg, list_of(&cfg->pred, succs->v[k].block), succs->v[k].twin);
    if (succs) {
        succs->n = 0;
        list_drop_if_empty(cfg, &cfg->succ, succs);
    }
}

void cfg_redirect_edges_of(Cfg *cfg, Block *from, Block *const *to)
{
    EdgeList *succs = list_of(&cfg->succ, from);
    Places places = {.used = succs->n > MANY_EDGES};
    u32 before = succs->n, moved = 0;
    CfgEdge *move = mem_alloc(before * sizeof *move);
    succs->n = 0;
    for (u32 k = 0; k < before; k++) {
        CfgEdge edge = succs->v[k];
        EdgeList *preds = list_of(&cfg->pred, edge.block);
        if (to[k] && to[k] != edge.block) {
            move[moved++] = (CfgEdge){to[k], edge.multiplicity, 0};
            pred_remove(cfg, preds, edge.twin);
            continue;
        }
        if (places.used)
            *fnvmap_at(&places.of, edge.block->id) = succs->n + 1;
        preds->v[edge.twin].twin = succs->n;
        succs->v[succs->n++] = edge;
    }
    for (u32 k = 0; k < moved; k++)
        add_edges(cfg, &places, succs, from, move[k], 1);
    mem_free(move);
    fnvmap_free(&places.of);
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

/* The number of predecessors of each block, by its id. Makes room for a list of every block that will have one. */
static u32 *count_preds(Cfg *cfg, const Function *fn)
{
    u32 *preds = mem_zalloc(sizeof(u32) * (size_t)fn->blocks.n), with_succs = 0, with_preds = 0;
    u32 *last =
        mem_zalloc(sizeof(u32) * (size_t)fn->blocks.n); /* 1 + the id of the last block that was seen to lead there */
    for_each_block(b, fn) {
        u32 edges = block_edge_count(b);
        with_succs += edges > 0;
        for (u32 k = 0; k < edges; k++) {
            u32 to = block_edge_target(b, k)->id;
            with_preds += preds[to] == 0;
            preds[to] += last[to] != b->id + 1;
            last[to] = b->id + 1;
        }
    }
    mem_free(last);
    fnvtable_reserve(&cfg->succ, with_succs);
    fnvtable_reserve(&cfg->pred, with_preds);
    return preds;
}

void cfg_build(Function *fn)
{
    if (fn->cfg)
        return;
    Cfg *cfg = mem_zalloc(sizeof *cfg);
    u32 *preds = count_preds(cfg, fn);
    for_each_block(b, fn)
        add_edges_of(cfg, b, preds);
    mem_free(preds);
    fn->cfg = cfg;
}

void cfg_free(Function *fn)
{
    Cfg *cfg = fn->cfg;
    if (!cfg)
        return;
    fnvtable_free(&cfg->succ);
    fnvtable_free(&cfg->pred);
    arena_free(&cfg->arena);
    mem_free(cfg);
    fn->cfg = NULL;
}

void cfg_add_edge(Cfg *cfg, Block *from, Block *to) { edge_add(cfg, from, to, 1); }

void cfg_remove_edge(Cfg *cfg, Block *from, Block *to) { edge_lower(cfg, edge_find(cfg, from, to), 1); }

void cfg_redirect(Cfg *cfg, Block *from, Block *old_to, Block *new_to)
{
    EdgePair e = edge_find(cfg, from, old_to);
    if (!e.forth || old_to == new_to)
        return;
    u32 edges = e.forth->multiplicity;
    edge_lower(cfg, e, edges);
    edge_add(cfg, from, new_to, edges);
}

static CfgList list_read(EdgeList *list) { return list ? (CfgList){list->v, list->n} : (CfgList){0}; }

CfgList cfg_succs(const Function *fn, const Block *b) { return list_read(list_of(&fn->cfg->succ, b)); }
CfgList cfg_preds(const Function *fn, const Block *b) { return list_read(list_of(&fn->cfg->pred, b)); }
u32 cfg_pred_count(const Function *fn, const Block *b) { return cfg_preds(fn, b).n; }

bool cfg_table_leads_to(const Function *fn, const Block *b)
{
    for_each_cfg_edge(pred, cfg_preds(fn, b)) {
        const Instr *end = block_terminator(pred.v->block);
        if (end && branch_table(end))
            return true;
    }
    return false;
}

Block *cfg_single_pred(const Function *fn, const Block *b)
{
    CfgList preds = cfg_preds(fn, b);
    return preds.n == 1 ? preds.v[0].block : NULL;
}

/* ---- verifying ------------------------------------------------------------------------------------------------- */

static bool in_layout(const Block *b) { return !b->dead && (b->prev || b->fn->entry == b); }

/* Whether the edge at place `at` of b's list is in the other end's list, with the same multiplicity and place. */
static bool has_twin(const Block *b, const CfgEdge *edge, u32 at, const CfgList *other)
{
    if (edge->twin >= other->n)
        return false;
    const CfgEdge *twin = &other->v[edge->twin];
    return twin->block == b && twin->twin == at && twin->multiplicity == edge->multiplicity && edge->multiplicity > 0;
}

/* Compares the edges of b's instructions with those of the maps, and then both directions with each other. */
static const char *verify_block(const Function *fn, const Block *b, Arena *arena)
{
    CfgList succs = cfg_succs(fn, b), preds = cfg_preds(fn, b);
    u32 edges = block_edge_count(b), counted = 0;
    for (u32 k = 0; k < edges; k++)
        if (!edge_find(fn->cfg, b, block_edge_target(b, k)).forth)
            return arena_printf(arena, "block %u: the edge to block %u is missing", b->id, block_edge_target(b, k)->id);
    for (u32 k = 0; k < succs.n; k++) {
        CfgList back = cfg_preds(fn, succs.v[k].block);
        counted += succs.v[k].multiplicity;
        if (!has_twin(b, &succs.v[k], k, &back))
            return arena_printf(arena, "block %u: the edge to block %u differs from its opposite", b->id,
                                succs.v[k].block->id);
    }
    if (counted != edges)
        return arena_printf(arena, "block %u: %u successors in the edge map, %u in its instructions", b->id, counted,
                            edges);
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
