/* Uniformity: which registers and branches are the same in all threads of the warp, or of the CTA.
 *
 * It is defined by dynamic instances. Take two threads of the warp (or of the CTA) that execute an instruction in the same
 * iteration of every loop around it. A register is uniform if any two such threads that read it read the same value. A
 * branch is uniform if any two such threads take the same edge. They need not execute it at the same time, and not all
 * threads need to get there. `.uni` is believed for the warp.
 *
 * All registers start uniform, and divergence spreads to a fixed point. It spreads through operands and guards: under a
 * divergent guard some threads keep the old value. It also spreads through control. Where the edges out of a divergent
 * branch join, what was written on the path and is still live differs. So does what a loop wrote, after threads have left
 * it in different iterations. Joins are found by labels, after Rosemann, Moll, Hack, "An Abstract Interpretation for SPMD
 * Divergence on Reducible Control Flow Graphs", POPL 2021.
 *
 * Some registers are divergent from the start: those that may be read before they are written, results of calls, parameters
 * of functions, and loads. A load at a uniform address is none of them if it reads kernel parameters or constants, or is
 * .nc. In irreducible functions everything is divergent. Each fact is per register, not per definition: one divergent
 * definition spoils the register. */
#ifndef PTXOPT_ANALYSIS_UNIFORM_H
#define PTXOPT_ANALYSIS_UNIFORM_H

#include "analysis/live.h"
#include "analysis/loop.h"

typedef struct Uniform {
    BitSet warp, cta;               /* registers that are uniform, by RegId */
    BitSet branch_warp, branch_cta; /* blocks whose terminator, if any, does not diverge, by Block.id */
} Uniform;

/* What uniformity is computed from. */
typedef struct UniformBases {
    const Function *fn;
    const Order *order;
    const DomTree *dom, *postdom;
    const Loops *loops;
    const Live *live;
} UniformBases;

Uniform *uniform_compute(Arena *arena, const UniformBases *of);

/* Whether the threads of a warp that come to i, an operation of lanes with a mask, all execute it, and name the same lanes. */
bool uniform_names_lanes(const Uniform *u, const Instr *i);

/* False too for what was made since. */
static inline bool uniform_has(const BitSet *set, u32 id) { return id < set->bits && bitset_has(set, id); }

#endif
