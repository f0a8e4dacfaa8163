/* Whether the threads of two blocks may reconverge where the blocks' common tail begins (analysis/reconverge.h). The tail
 * grows backwards, one pair of instructions at a time. */
#ifndef PTXOPT_PHASE_TAIL_LANES_H
#define PTXOPT_PHASE_TAIL_LANES_H

#include "analysis/reconverge.h"
#include "phase/phase.h"

typedef struct TailLanes TailLanes;

/* Answers for the function as it is at the first question; in scratch memory. */
TailLanes *tail_lanes_new(Analyses *an);
void tail_lanes_free(TailLanes *lanes);
/* False: no tail of the function can be refused. */
bool tail_lanes_matter(TailLanes *lanes);
/* Call it before blocks are compared whose end differs from that of the last ones. */
void tail_lanes_set_end(TailLanes *lanes);
/* Begins with a tail of these two blocks that holds only their ends. */
void tail_lanes_begin(TailLanes *lanes, Block *kept, Block *other);
/* Each pair stands right in front of the one added before it. */
void tail_lanes_add(TailLanes *lanes, const Instr *of_kept, const Instr *of_other);
/* The risk of a tail that begins with the pair added last. */
ReconvergeRisk tail_lanes_risk(TailLanes *lanes);
/* Does the same for a remark, which must not change what is decided: its walks are free. */
ReconvergeRisk tail_lanes_explain(TailLanes *lanes);

#endif
