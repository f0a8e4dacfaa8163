/* The decision that a region of compares and branches takes. It is a map from the values of one register, the selector,
 * to the blocks that control goes to.
 *
 * A region starts at the end of a block, its root, and grows over blocks that nothing but the region leads to. They hold
 * only branches on the selector, the computation of their conditions, and copies. Each value has one path through the
 * region, which interval arithmetic on the sets of values that reach each block finds. So the map is exact, whatever the
 * shape of the code: a chain, a tree, ranges, bit tests, jump tables. */
#ifndef PTXOPT_PHASE_SWITCH_RECOVER_H
#define PTXOPT_PHASE_SWITCH_RECOVER_H

#include "phase/phase.h"
#include "analysis/value_set.h"

enum {
    REGION_LIMIT = 1024, /* the most blocks of a region */
    CARRY_LIMIT = 8      /* the most instructions on an edge out */
};

/* One edge out of the region, with the instructions of the region that it must execute again. */
typedef struct Leaf {
    Block *target;
    Instr **carry; /* instructions of the region, in order, that depend on nothing else the region writes */
    u32 carried;
    ValueSet values; /* the values of the selector that take it */
    u32 value_edges; /* edges over which these values come; one that threads may come over in several groups counts twice */
    u32 edges;       /* blocks of the region that lead to the target, counted in its last leaf only */
    u32 sibling;     /* 1 + the index of another leaf with this target; 0: none */
} Leaf;

typedef enum RecoverResult {
    RECOVER_NONE, /* the block's branch does not compare a register with constants */
    RECOVER_DONE,
    RECOVER_CARRY /* an edge out needs more than CARRY_LIMIT instructions of the region */
} RecoverResult;

typedef struct Decision {
    Block *root;
    Block **blocks; /* of the region, the root first */
    u32 count;
    RegId selector;
    u32 bits;       /* of the selector: 16, 32, 64 */
    u32 ordered;    /* comparisons besides eq and ne */
    bool is_signed; /* the first comparison that is neither eq nor ne is signed */
    bool uniform;   /* every branch is .uni; otherwise none is */
    Leaf *leaves;
    u32 leaf_count;
    Block **targets; /* the blocks that the region's edges lead to, including those that no value takes */
    u32 target_count;
    bool has_untaken; /* some target is taken by no value */
    u32 branches;     /* branches of the region, including tables */
    u32 tables;
    u32 entries; /* of these tables */
    u32 helpers; /* instructions besides comparisons and branches */
    u32 depth;   /* branches on the longest path */
} Decision;

/* Whether the decision compares for equality again and again, where ptxas finds the dense parts itself. */
static inline bool decision_is_chain(const Decision *d) { return d->ordered == 0 && d->tables == 0 && d->helpers == 0; }

/* Answers about blocks (block_is()) that were found before, since very many blocks may lead to one. A zeroed one holds none. */
typedef struct BlockKinds {
    u8 *bits;   /* by Block.id */
    u32 blocks; /* ids below this one have bits */
} BlockKinds;

typedef struct Recovery Recovery;

/* Makes the recovery that serves for all blocks of a function, in the arena. Each block is looked at as a root and as a
 * member at most once, unless recovery_forget() is called for it. Needs AN_LOOPS. */
Recovery *recovery_new(Analyses *an, PhaseRun *run, Arena *arena, BlockKinds *kinds);
/* Whether the root's region may have a jump table, or at least `branches` branches. Looks only at the code nearby, and asks
 * for no analysis. */
bool region_may_decide(BlockKinds *kinds, const Block *root, u32 branches);
/* Finds the decision of the region with this root, in the arena. RECOVER_NONE: also where the region has no jump table and
 * fewer than `branches` branches. Asks for AN_FACTS, AN_LIVE and AN_POSTDOM, which must be frozen: they stay true for other
 * regions when one is rewritten. */
RecoverResult recover_decision(Recovery *r, Arena *arena, Block *root, u32 branches, Decision *decision);
/* Lets the blocks of a decision, except its root, be the roots of other decisions. */
void recovery_forget(Recovery *r, const Decision *d);

#endif
