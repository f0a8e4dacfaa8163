/* The decision that a region of compares and branches takes: a map from the values of one register, the selector, to where
 * control goes.
 *
 * A region starts at the end of a block, its root, and grows over blocks that nothing but the region leads to and that hold
 * only branches on what the selector says, what computes their conditions, and copies. Each value has one path through the
 * region, found by interval arithmetic on the sets of values that reach each block: whatever the shape of the code (chain,
 * tree, ranges, bit tests, jump tables), the map is exact. */
#ifndef PTXOPT_PHASE_SWITCH_RECOVER_H
#define PTXOPT_PHASE_SWITCH_RECOVER_H

#include "phase/phase.h"
#include "analysis/value_set.h"

enum {
    REGION_LIMIT = 1024, /* blocks of a region */
    CARRY_LIMIT = 8      /* instructions on an edge out */
};

/* One edge out of the region: instructions of the region that it carries to its target. */
typedef struct Leaf {
    Block *target;
    Instr **carry; /* of the region, in order; they depend on nothing else that the region writes */
    u32 carried;
    ValueSet values; /* the selectors that take it */
    u32 value_edges; /* edges of the region over which they do; one over which threads may come in several groups counts twice */
    u32 edges;       /* of the region to the target, also those that no value takes */
    u32 sibling; /* one more than the index of another leaf with this target; 0 */
} Leaf;

typedef enum RecoverResult {
    RECOVER_NONE, /* the block decides nothing about a register and constants */
    RECOVER_DONE,
    RECOVER_CARRY /* an edge out needs more than CARRY_LIMIT instructions of the region */
} RecoverResult;

typedef struct Decision {
    Block *root;
    Block **blocks; /* of the region, root first */
    u32 count;
    RegId selector;
    u32 bits;       /* of the selector: 16, 32, 64 */
    u32 ordered;    /* comparisons besides eq and ne */
    bool is_signed; /* the first of them is */
    bool uniform;   /* every branch is .uni; else none is */
    Leaf *leaves;
    u32 leaf_count;
    Block **targets; /* blocks that the region's edges lead to, also those that no value takes */
    u32 target_count;
    bool has_untaken; /* there is one that no value takes */
    u32 branches;     /* of the region, tables among them */
    u32 tables;
    u32 entries; /* of those tables */
    u32 helpers; /* instructions besides comparisons and branches */
    u32 depth;   /* branches on the longest path */
} Decision;

/* One comparison for equality after the other: ptxas finds the dense ones. */
static inline bool decision_is_chain(const Decision *d) { return d->ordered == 0 && d->tables == 0 && d->helpers == 0; }

/* What was found out about blocks (block_is()), as very many blocks may lead to one. Zeroed: nothing yet. */
typedef struct BlockKinds {
    u8 *bits;   /* by Block.id */
    u32 blocks; /* ids below this one have bits */
} BlockKinds;

typedef struct Recovery Recovery;

/* One recovery serves for all blocks of a function; each is looked at as a root and as a member at most once. In the arena.
 * Needs AN_LOOPS. */
Recovery *recovery_new(Analyses *an, PhaseRun *run, Arena *arena, BlockKinds *kinds);
/* Whether the root's region may have a jump table or at least `branches` branches: a look at what is near, for which nothing
 * need be known of the function. */
bool region_may_decide(BlockKinds *kinds, const Block *root, u32 branches);
/* The decision of the region with this root, in the arena; RECOVER_NONE too where the region has no jump table and fewer than `branches`
 * branches. Asks for AN_FACTS, AN_LIVE and AN_POSTDOM, to be frozen: they stay true for other regions when one is rewritten. */
RecoverResult recover_decision(Recovery *r, Arena *arena, Block *root, u32 branches, Decision *decision);
/* Its blocks but the root may be the roots of other decisions. */
void recovery_forget(Recovery *r, const Decision *d);

#endif
