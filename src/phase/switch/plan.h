/* How a decision is best taken: a tree of tests and jump tables over the intervals of its map.
 *
 * Values are cut into clusters by dynamic programming over estimated machine code. A cluster is a single value, a range,
 * a table where the density allows one, or a bit test. Bit tests serve values of a word's width that share a leaf. A
 * balanced search finds the cluster. */
#ifndef PTXOPT_PHASE_SWITCH_PLAN_H
#define PTXOPT_PHASE_SWITCH_PLAN_H

#include "phase/switch/recover.h"

typedef enum PlanKind {
    PLAN_GO,    /* leads to `leaf` */
    PLAN_LESS,  /* key < lo leads to `yes`, as the conditions below do; otherwise to `no` */
    PLAN_EQUAL, /* key == lo */
    PLAN_RANGE, /* lo <= key <= hi */
    PLAN_BITS,  /* bit key - lo of the 32-bit mask is set; hi < lo + 32 */
    PLAN_TABLE, /* leads by `entry` where lo <= key <= hi; otherwise to `no`, which is NULL if there are no other keys */
} PlanKind;

typedef struct SearchPlan {
    PlanKind kind;
    u64 lo, hi, mask;
    u32 leaf;
    const struct SearchPlan *yes, *no;
    const u32 *entry; /* TABLE: leaf by key - lo */
} SearchPlan;

typedef struct PlanLimits {
    i64 density; /* the least percentage of a table's entries that lead elsewhere than to the default */
    i64 table;   /* the most entries */
    bool may_table;
} PlanLimits;

/* What a dispatch costs: code in estimated machine instructions, depth in branches on the longest path. */
typedef struct PlanCost {
    u32 code, depth, tables, entries;
} PlanCost;

typedef struct SwitchPlan {
    bool is_signed; /* keys are the values with the sign bit inverted; false: the values themselves */
    u32 cases;      /* intervals of keys that do not lead to the default */
    u32 fallback;   /* the leaf of the default */
    const SearchPlan *plan;
    bool dense_search; /* it is a search over values that would be dense enough for a table, which is not allowed */
    PlanCost cost;
    u32 *edges;         /* by leaf: the branches and tables that lead there */
    bool uniform;       /* none of its branches diverges, because none of the region's does */
    bool uniform_index; /* set by the caller: the lanes of a warp index its tables alike */
} SwitchPlan;

SwitchPlan switch_plan(Arena *arena, const Decision *d, const PlanLimits *limits);

/* The value that a key stands for, and the key of a value. */
static inline u64 plan_value(const SwitchPlan *p, const Decision *d, u64 key)
{
    return p->is_signed ? key ^ sem_sign(d->bits) : key;
}

#endif
