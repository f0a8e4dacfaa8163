/* How a decision is best taken: a tree of tests and jump tables over the intervals of its map.
 *
 * Values are cut into clusters by dynamic programming over estimated machine code: single values, ranges, tables where the
 * density allows one, bit tests where values of a word's width share a leaf. A balanced search finds the cluster. */
#ifndef PTXOPT_PHASE_SWITCH_PLAN_H
#define PTXOPT_PHASE_SWITCH_PLAN_H

#include "phase/switch/recover.h"

typedef enum PlanKind {
    PLAN_GO,    /* to `leaf` */
    PLAN_LESS,  /* key < lo: yes, else no */
    PLAN_EQUAL, /* key == lo */
    PLAN_RANGE, /* lo <= key <= hi */
    PLAN_BITS,  /* bit key - lo of the 32 of mask is set; hi < lo + 32 */
    PLAN_TABLE, /* by entries, lo <= key <= hi; `no` for other keys, NULL if there are none */
} PlanKind;

typedef struct SearchPlan {
    PlanKind kind;
    u64 lo, hi, mask;
    u32 leaf;
    const struct SearchPlan *yes, *no;
    const u32 *entry; /* TABLE: leaf by key - lo */
} SearchPlan;

typedef struct PlanLimits {
    i64 density; /* per cent of a table that leads elsewhere than to the default */
    i64 table;   /* entries */
    bool may_table;
} PlanLimits;

/* What a dispatch costs: estimated machine instructions, branches on the longest path. */
typedef struct PlanCost {
    u32 code, depth, tables, entries;
} PlanCost;

typedef struct SwitchPlan {
    bool is_signed; /* the search is in the order of keys: values with the sign bit inverted, or, if not set, the values */
    u32 cases;      /* intervals of keys that do not lead to the default */
    u32 fallback;   /* leaf of the default */
    const SearchPlan *plan;
    bool dense_search; /* a search over values that are dense enough for a table, had there been one */
    PlanCost cost;
    u32 *edges;         /* by leaf: branches and tables that lead there */
    bool uniform;       /* none of its branches diverges, as none of the region's does */
    bool uniform_index; /* set by the caller: the lanes of a warp index its tables alike */
} SwitchPlan;

SwitchPlan switch_plan(Arena *arena, const Decision *d, const PlanLimits *limits);

/* The value that a key stands for, and the key of a value. */
static inline u64 plan_value(const SwitchPlan *p, const Decision *d, u64 key)
{
    return p->is_signed ? key ^ sem_sign(d->bits) : key;
}

#endif
