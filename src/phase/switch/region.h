/* A region of compares and branches while it grows: shared by recover.c (which blocks belong to it),
 * selector.c (what registers hold) and leaves.c (where it leads). */
#ifndef PTXOPT_PHASE_SWITCH_REGION_H
#define PTXOPT_PHASE_SWITCH_REGION_H

#include "phase/switch/recover.h"
#include "analysis/selector_value.h"

enum { ENV_LIMIT = 2048 /* registers written on the path to a block: they are searched one by one */ };

/* A register written inside the region, and what was written before it on the path. */
typedef struct Env {
    const struct Env *before;
    u32 length;
    RegId reg;
    Instr *instr;
    Value value;
} Env;

/* The values that come to a block over one edge. */
typedef struct Arrival {
    struct Arrival *next;
    const Env *env;
    ValueSet values;
    u32 depth;
    bool several; /* threads may come over this edge in several groups: several edges lead to the block where it begins */
} Arrival;

/* What is known of a block that the region leads to. */
typedef struct Node {
    Block *b;
    Arrival *arrivals; /* latest first */
    u32 from;          /* blocks of the region with an edge to it */
    u32 last_from;     /* one more than the index of the last such block */
    bool member;
    bool tried; /* all edges to it are the region's: it is a member, or cannot be */
} Node;

struct Recovery {
    PhaseRun *run;
    Analyses *an;
    BlockKinds *kinds;
    const Facts *facts;
    const Ssa *ssa;
    const DomTree *postdom;
    u32 *node_of;  /* by Block.id: index + 1 into nodes; 0 */
    u32 *leaf_of;  /* by Block.id: index + 1 of the last leaf with that target; 0 */
    u8 *seen;      /* by Block.id: was in a region */
    u32 *in_edges; /* by Block.id: blocks that lead there, without those that nothing reaches */
    u32 blocks;
};

typedef struct LeafPart LeafPart; /* leaves.c */

/* One region as it grows. */
typedef struct SwitchRegion {
    Recovery *r;
    Arena *arena;  /* of the decision */
    Arena scratch; /* of everything else */
    Decision *d;
    ValueScope scope;
    const Env *env;   /* where values are looked up */
    u32 depth;        /* of the resolution that is under way */
    LeafPart **parts; /* by leaf, while they are collected */
    VEC(Node) nodes;
    VEC(u32) members; /* indices of nodes, in an order in which predecessors come first */
} SwitchRegion;

/* ---- selector.c ----------------------------------------------------------------------------------------- */

/* The register that the root's branch decides about, and its width; false: there is none. */
bool region_find_selector(SwitchRegion *g, Instr *branch);
/* The values that the selector can have at the end of the root. */
ValueSet region_domain(SwitchRegion *g);
/* What reg holds in the state g->env; ValueScope.of_register. */
Value region_value(void *region, RegId reg);
/* The state after i, which is pure, unguarded and of a member. */
const Env *region_write(SwitchRegion *g, const Env *env, Instr *i);
/* Takes i, of a member or the root's comparison, into account for what the decision costs. */
void region_count(Decision *d, const Instr *i);

/* The answer to a question about b, which is asked once for each block. */
static inline bool block_is(BlockKinds *kinds, const Block *b, u8 known, bool (*ask)(const Block *b))
{
    u8 none = 0, *bits = b->id < kinds->blocks ? &kinds->bits[b->id] : &none, yes = (u8)(known << 1);
    if (!(*bits & known))
        *bits |= ask(b) ? known | yes : known;
    return *bits & yes;
}

/* Bits of BlockKinds: that a question was asked; the next bit is its answer. */
enum { KNOWN_HELPERS = 1 << 0, KNOWN_COMPARE = 1 << 2 };

/* ---- leaves.c ------------------------------------------------------------------------------------------- */

/* Whether b holds nothing but pure, unguarded instructions, apart from its terminator. */
bool region_only_helpers(BlockKinds *kinds, const Block *b);
/* Fills in the decision's leaves, targets and depth; false: one needs more than CARRY_LIMIT instructions. */
bool region_collect_leaves(SwitchRegion *g);

#endif
