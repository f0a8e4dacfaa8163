/* The control-flow graph. Successors and predecessors live in two FNV-1a hash maps keyed by block id. Only cfg_add_edge,
 * cfg_remove_edge and cfg_redirect change them, so that both directions always agree. An edge is counted: two edges from a
 * to b (both arms of a branch, repeated table entries) are one CfgEdge of multiplicity two.
 *
 * The maps stand here and not among the analyses because ir/edit.h keeps them in step with every change. Orders,
 * dominators and loops are computed from them in analysis/. */
#ifndef PTXOPT_IR_CFG_H
#define PTXOPT_IR_CFG_H

#include "base/fnvtable.h"
#include "ir/ir.h"

typedef struct CfgEdge {
    Block *block; /* the other end */
    u32 multiplicity;
    u32 twin; /* the place of the same edge in the other end's list */
} CfgEdge;

typedef struct CfgList {
    CfgEdge *v;
    u32 n;
} CfgList;

typedef struct EdgeList EdgeList; /* a CfgList and its memory */
enum { CFG_LIST_SIZES = 27 };     /* room for one edge, two, four, ... */

struct Cfg {
    FnvTable succ, pred;            /* the EdgeList of each block that has edges */
    Arena arena;                    /* memory of the lists */
    EdgeList *free[CFG_LIST_SIZES]; /* unused lists, by size */
};

/* The edges out of a block in the order of its instructions: branch target or table entries in order, then `fall`. */
u32 block_edge_count(const Block *b);
Block *block_edge_target(const Block *b, u32 edge); /* edge < block_edge_count(b) */

/* Builds the edges of all blocks in the layout from terminators and fall-throughs, as fn->cfg. A second call does nothing. */
void cfg_build(Function *fn);
void cfg_free(Function *fn);

void cfg_add_edge(Cfg *cfg, Block *from, Block *to);                    /* one edge more */
void cfg_remove_edge(Cfg *cfg, Block *from, Block *to);                 /* one edge less */
void cfg_redirect(Cfg *cfg, Block *from, Block *old_to, Block *new_to); /* all edges between the two */
/* Functions for blocks that may have very many edges; they take time linear in the edges. */
void cfg_add_edges_of(Cfg *cfg, Block *from);    /* those of its instructions; the block has none yet */
void cfg_remove_edges_of(Cfg *cfg, Block *from); /* all edges out of the block */
void cfg_redirect_edges_of(Cfg *cfg, Block *from,
                           Block *const *to); /* to: by place in its successors; NULL: the edge stays */

/* The answers are valid until the next change of that block's edges. */
CfgList cfg_succs(const Function *fn, const Block *b);
CfgList cfg_preds(const Function *fn, const Block *b);
/* for_each_cfg_edge(e, cfg_succs(fn, b)) ... e.v->block */
#define for_each_cfg_edge(e, list) for (CfgList e = (list); e.n > 0; e.n--, e.v++)
u32 cfg_pred_count(const Function *fn, const Block *b);      /* distinct blocks */
bool cfg_table_leads_to(const Function *fn, const Block *b); /* the block of some in-edge ends in a table */
Block *cfg_single_pred(const Function *fn,
                       const Block *b); /* NULL unless there is exactly one, whatever the multiplicity */

/* NULL, or what is wrong: an edge that a terminator lacks, or that a map lacks, or two directions that disagree. */
const char *cfg_verify(const Function *fn, Arena *arena);

#endif
