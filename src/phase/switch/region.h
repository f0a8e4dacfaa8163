/* A region of compares and branches while it grows. It is shared by recover.c (the blocks that belong to it), selector.c
 * (the values of registers) and leaves.c (the edges out). */
#ifndef PTXOPT_PHASE_SWITCH_REGION_H
#define PTXOPT_PHASE_SWITCH_REGION_H

#include "base/marks.h"
#include "phase/switch/recover.h"
#include "analysis/selector_value.h"

enum { ENV_LIMIT = 2048 /* the most registers written on the path to a block, which are searched one by one */ };

/* A register written inside the region, and those written before it on the path. */
typedef struct Env {
    const struct Env *before;
    u32 length;
    RegId reg;
    Instr *instr;
    Value value;
} Env;

/* The values that come to a block over one edge, or over all edges of one table. */
typedef struct Arrival {
    struct Arrival *next; /* of the same block; later, of the same leaf */
    const Env *env;
    ValueSet values;
    Interval *sent; /* of a table: its values as they are collected */
    u32 depth;
    u32 edges;  /* entries of a table in a row are one */
    u32 valued; /* edges that some value takes */
    bool
        several; /* threads may come over this edge in several groups, since several edges lead to the block where it begins */
} Arrival;

/* A block that the region leads to. */
typedef struct Node {
    Block *b;
    Arrival *arrivals; /* the latest first */
    u32 from;          /* blocks of the region with an edge to it */
    u32 last_from;     /* 1 + the index of the last such block */
    bool member;
    bool tried; /* all edges to it are the region's, so it is a member or cannot be one */
} Node;

struct Recovery {
    PhaseRun *run;
    Analyses *an;
    Arena *arena; /* holds all of it */
    BlockKinds *kinds;
    const Facts *facts;
    const Ssa *ssa;
    const DomTree *postdom;
    u32 *node_of;  /* by Block.id: 1 + the index into nodes; 0: none */
    u32 *leaf_of;  /* by Block.id: 1 + the index of the last leaf with that target; 0: none */
    u8 *seen;      /* by Block.id: the block was in a region */
    u32 *in_edges; /* by Block.id: the reachable blocks that lead there */
    u32 blocks;
    Marks written; /* by RegId, below `registers`: an instruction of the region writes it; later registers count as written */
    u32 registers; /* of the function when `facts` was set */
};

/* One region as it grows. */
typedef struct SwitchRegion {
    Recovery *r;
    Arena *arena;  /* holds the decision */
    Arena scratch; /* holds everything else */
    Decision *d;
    ValueScope scope;
    const Env *env;  /* the state in which values are looked up */
    u32 depth;       /* of the resolution under way */
    Arrival **parts; /* by leaf: the edges that lead there */
    VEC(Node) nodes;
    VEC(u32) members; /* indices of nodes, predecessors first */
} SwitchRegion;

/* ---- selector.c ----------------------------------------------------------------------------------------- */

/* Finds the register that the root's branch decides by, and its width. False: there is none. */
bool region_find_selector(SwitchRegion *g, Instr *branch);
/* The values that the selector can have at the end of the root. */
ValueSet region_domain(SwitchRegion *g);
/* The value of reg in the state g->env; it serves as ValueScope.of_register. */
Value region_value(void *region, RegId reg);
/* The state after i, a pure, unguarded instruction of a member. */
const Env *region_write(SwitchRegion *g, const Env *env, Instr *i);
/* Counts i, an instruction of a member or the root's comparison, in the cost of the decision. */
void region_count(Decision *d, const Instr *i);

/* The answer to a question about b. Each question is asked once for each block. */
static inline bool block_is(BlockKinds *kinds, const Block *b, u8 known, bool (*ask)(const Block *b))
{
    u8 none = 0, *bits = b->id < kinds->blocks ? &kinds->bits[b->id] : &none, yes = (u8)(known << 1);
    if (!(*bits & known))
        *bits |= ask(b) ? known | yes : known;
    return *bits & yes;
}

/* Bits of BlockKinds: the question was asked. The next higher bit is its answer. */
enum { KNOWN_HELPERS = 1 << 0, KNOWN_COMPARE = 1 << 2 };

/* ---- leaves.c ------------------------------------------------------------------------------------------- */

/* Whether b holds nothing but pure, unguarded instructions, apart from its terminator. */
bool region_only_helpers(BlockKinds *kinds, const Block *b);
/* Fills in the decision's leaves, targets and depth. False: a leaf needs more than CARRY_LIMIT instructions. */
bool region_collect_leaves(SwitchRegion *g);

#endif
