/* Whether the threads of two blocks may reconverge where the blocks' common tail begins (analysis/reconverge.h), for a tail
 * that grows backwards, one pair of instructions after the other. */
#ifndef PTXOPT_PHASE_TAIL_LANES_H
#define PTXOPT_PHASE_TAIL_LANES_H

#include "analysis/reconverge.h"
#include "phase/phase.h"

typedef struct TailLanes TailLanes;

/* Of the function as it is now, in scratch memory. */
TailLanes *tail_lanes_new(Analyses *an);
void tail_lanes_free(TailLanes *lanes);
/* Whether any two tails can be refused. */
bool tail_lanes_matter(const TailLanes *lanes);
/* To be called before blocks are compared that end otherwise than the last ones. */
void tail_lanes_set_end(TailLanes *lanes);
/* Begins with an empty tail of these two blocks, but for their ends. */
void tail_lanes_begin(TailLanes *lanes, Block *kept, Block *other);
void tail_lanes_add(TailLanes *lanes, const Instr *of_kept, const Instr *of_other);
/* The risk of a tail that begins with the pair that was added last. */
ReconvergeRisk tail_lanes_risk(TailLanes *lanes);

#endif
