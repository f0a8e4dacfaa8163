/* The prover's questions about the graph of one function: order, joins, post-dominators, what a branch influences, liveness, and
 * which registers and branches may differ between the threads of a block. The graph is computed from the parsed text, and not
 * shared: the analyses of the phases are not used. */
#ifndef PTXOPT_CHECK_PROVE_GRAPH_H
#define PTXOPT_CHECK_PROVE_GRAPH_H

#include "base/bitset.h"
#include "base/graph.h"
#include "base/vec.h"
#include "ir/cfg.h"
#include "ir/reg_walk.h"

typedef struct ProveGraph {
    Arena *arena;
    Function *fn;
    bool believes;    /* promises of `.uni` are taken for true */
    bool exits_part;  /* a guarded exit leads to the end of the function, where nobody reconverges */
    u32 n;            /* blocks, by Block.id */
    u32 *order;       /* reverse postorder; UINT32_MAX: not reachable */
    Block **by_order; /* the reachable ones */
    u32 reachable;
    Graph succ, pred;         /* by Block.id, each edge as often as its multiplicity; pred: from reachable blocks */
    u8 *is_join;              /* JoinKind: two in-edges or more; the entry is one where an edge leads to it */
    u32 *postdom;             /* id of the immediate post-dominator; UINT32_MAX: only the end of the function is */
    BitSet *live_in;          /* by block: registers; NULL where there is no room for them */
    BitSet divergent;         /* registers that may differ between threads of the block */
    BitSet splits;            /* blocks whose terminator may divide a warp */
    const BitSet **influence; /* by block, on demand */
    u64 reached;              /* blocks that were looked at for it */
    BitSet loops;             /* blocks on a cycle */
    u32 *region; /* by block: of blocks on cycles, those that control can come back to from one another; 0: on none */
} ProveGraph;

enum { PROVE_NO_BLOCK = UINT32_MAX };

static inline u32 prove_preds(const ProveGraph *g, u32 id) { return g->pred.start[id + 1] - g->pred.start[id]; }

/* The places where a path stops. It may pass a lone join, which the other side lacks and which is on no cycle. */
typedef enum JoinKind { JOIN_NONE, JOIN_LONE, JOIN_SHARED, JOIN_LOOP } JoinKind;

/* False: the function is too large for the prover; `why` says in what. */
bool prove_graph_init(ProveGraph *g, Function *fn, bool believes, bool exits_part, Arena *arena, const char **why);
/* Into g->postdom. With `exit` that block alone counts as one that ends the function; PROVE_NO_BLOCK: all that do. */
void prove_find_postdoms(ProveGraph *g, u32 exit);

/* Into g->loops and g->region. only: by block the one that control goes on to from it, plus 1, where that is known; NULL: nothing is. */
void prove_find_regions(ProveGraph *g, const u32 *only, Arena *arena);

/* Registers live before instruction i of block b (NULL: after its last), added to `out`. */
void prove_live_at(const ProveGraph *g, const Block *b, const Instr *i, BitSet *out);
/* Blocks that control may reach from b's terminator before it comes to `stop`; PROVE_NO_BLOCK: nothing stops it. */
const BitSet *prove_reach(ProveGraph *g, const Block *b, u32 stop);
/* The blocks that b influences before its immediate post-dominator. */
const BitSet *prove_influence(ProveGraph *g, const Block *b);
bool prove_influences(ProveGraph *g, const Block *b, const Block *at);
/* The header, and the blocks from which edges back to it can be reached without it; those from `latches` alone, unless that is NULL.
 * False: there are no such edges. */
bool prove_loop_body(const ProveGraph *g, u32 header, const BitSet *latches, BitSet *body);

/* for (ProveReads r = prove_reads(i); prove_next_read(&r);) ... r.walk.reg: registers that the instruction reads, those of which a
 * guarded or partial write leaves something too. */
typedef struct ProveReads {
    RegWalk walk;
    bool writes; /* they are walked over */
} ProveReads;
static inline ProveReads prove_reads(const Instr *i) { return (ProveReads){reg_walk(i), i->kind != INSTR_OP}; }
static inline bool prove_next_read(ProveReads *r)
{
    if (!r->writes && next_read(&r->walk))
        return true;
    if (!r->writes)
        *r = (ProveReads){reg_walk(r->walk.i), true};
    while (next_write(&r->walk))
        if (!r->walk.kills)
            return true;
    return false;
}
/* Whether it reads a register of the set. */
bool prove_reads_any(const Instr *i, const BitSet *of);
/* Adds what it writes to the set; whether any is new. */
bool prove_add_writes(const Instr *i, BitSet *to);

#endif
