/* Puts a planned dispatch in the place of a region. */
#ifndef PTXOPT_PHASE_SWITCH_EMIT_H
#define PTXOPT_PHASE_SWITCH_EMIT_H

#include "phase/switch/plan.h"

typedef VEC(Instr *) InstrVec;

/* The root ends in the new dispatch, the region's other blocks are gone. Every branch made stands for the root's. What the
 * root computed for the region alone is appended to `left_over`, for the caller to remove once it needs the facts about the
 * function no more: they know every instruction. live: as before the rewrite. */
void switch_emit(Function *fn, const Live *live, const Decision *d, const SwitchPlan *p, InstrVec *left_over);

#endif
