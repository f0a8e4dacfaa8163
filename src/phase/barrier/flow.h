/* What can be accessed above and below each barrier of a function, without another barrier in between that all threads of
 * the CTA wait at.
 *
 * Blocks are cut into segments at the full barriers that always execute. A barrier between two segments is a gate: closed
 * while it stays, opened when it goes. Two sets of accesses flow through all edges and open gates, to the least fixed
 * point. `above`, what can lie above the segment's end, flows forwards; `below`, what can lie below its start, backwards.
 * Opening a gate only adds, so the fixed point is continued and not computed again. All removals of a function together
 * cost no more than the sets can grow.
 *
 * A kernel has nothing above its start and nothing below its end; a function that is called, everything. Where some
 * threads leave the kernel on a path without barriers, the others do not wait for them. Their accesses on that path come
 * before the next barrier of those that stay. */
#ifndef PTXOPT_PHASE_BARRIER_FLOW_H
#define PTXOPT_PHASE_BARRIER_FLOW_H

#include "phase/barrier/alias.h"
#include "phase/barrier/reach.h"

typedef struct AccessSet {
    u64 reads, writes; /* classes */
} AccessSet;

typedef struct Access {
    const Instr *i;
    u32 class_id;
    bool reads, writes;
} Access;

typedef struct Segment {
    AccessSet above, below;
    u32 block;  /* position in Order.rpo */
    u32 access; /* its accesses: Flow.accesses[access] up to the next segment's */
} Segment;

typedef struct Flow {
    Analyses *an;
    const Knobs *knobs;
    const BarrierReach *reach;
    AccessClasses *classes;
    Segment *segments; /* block by block */
    u32 count;
    u32 *first; /* by position: first segment; count + 1 entries */
    bool *open; /* by segment: its barrier stops no accesses, since it was removed or only some threads wait there */
    bool sees_clusters;   /* other blocks of the cluster may see the shared memory of this one */
    bool lists;           /* flow_find() will ask which accesses they are */
    VEC(Access) accesses; /* if so, all of them, segment by segment */
    VecU32 work;
    bool *queued;        /* by segment */
    u32 *seen, searches; /* by segment: the last search that visited it */
} Flow;

/* lists: flow_find() will be asked. */
Flow *flow_compute(const BarrierReach *reach, bool lists);
/* The segment that ends with the n-th barrier for all threads; n counts from 0 in the order of Order.rpo. position: the
 * place of the barrier's block in Order.rpo. */
static inline u32 flow_segment(u32 position, u32 n) { return position + n; }
void flow_free(Flow *flow); /* the scratch memory stays */

/* The accesses that can lie above, or below, the barrier that ends the segment. */
static inline AccessSet flow_above(const Flow *f, u32 segment) { return f->segments[segment].above; }
static inline AccessSet flow_below(const Flow *f, u32 segment) { return f->segments[segment + 1].below; }

/* Lets accesses flow through the barrier that ends the segment, because it was removed. */
void flow_open(Flow *flow, u32 segment);

/* The access of these classes that is nearest above (below) the barrier that ends the segment. NULL: no path to or from the
 * barrier has one, or *steps, which each segment and access looked at decreases, came to 0. */
const Access *flow_find(Flow *flow, u32 segment, bool below, AccessSet classes, u32 *steps);

#endif
