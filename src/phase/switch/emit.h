/* Puts a planned dispatch in the place of a region. */
#ifndef PTXOPT_PHASE_SWITCH_EMIT_H
#define PTXOPT_PHASE_SWITCH_EMIT_H

#include "phase/switch/plan.h"

typedef VEC(Instr *) InstrVec;

/* Ends the root in the new dispatch, and removes the region's other blocks. Every branch made stands for the root's.
 * Appends to `left_over` what the root computed for the region alone. The caller removes these when it needs the facts
 * about the function no more, which know every instruction. live: as before the rewrite. */
void switch_emit(Function *fn, const Live *live, const Decision *d, const SwitchPlan *p, InstrVec *left_over);

#endif
