/* Values of registers, as static single assignment would name them. Each write makes one, and so does each block where
 * paths with different values of a register join (a phi). The code is not changed. What a register holds at a program point
 * is looked up. If it holds one value at two points, nothing wrote it on any path between them. A write that is guarded, or
 * gives a part, makes a value too (`whole` is unset).
 * Phis stand at the iterated dominance frontiers of the writes. (Cytron, Ferrante, Rosen, Wegman, Zadeck, "Efficiently
 * computing static single assignment form and the control dependence graph", 1991.) A register that one block writes before
 * all that read it needs none. What it holds where that block does not dominate has no name. Nothing is known of registers
 * whose phis would be too many, since frontiers can be quadratic in size. Time and memory are linear; a look-up takes a
 * logarithm of the register's values. */
#ifndef PTXOPT_ANALYSIS_SSA_H
#define PTXOPT_ANALYSIS_SSA_H

#include "analysis/dom.h"

typedef u32 ValueId; /* 0: none that has a name */

typedef struct SsaValue {
    Instr *instr;   /* that writes it; NULL: a phi, or what the register held when the function began */
    u32 pre;        /* pre-number of the block that makes it */
    u32 outer : 30; /* the value of the register that holds at the nearest dominating point, or 0 */
    u32 phi : 1;
    u32 whole : 1; /* nothing of the old value is left */
} SsaValue;

typedef struct Ssa {
    const DomTree *dom;
    SsaValue *values; /* [0]: unused; those of a register stand together, by the pre-numbers of their blocks in `dom` */
    u32 *start;       /* by register: its values are start[reg] .. start[reg + 1] - 1 */
    u32 count, regs;
} Ssa;

/* Right before `at` in block b, or at its end (NULL). from: the predecessor of b over whose edge control came, or NULL: any. */
typedef struct ProgramPoint {
    const Block *from, *b;
    const Instr *at;
} ProgramPoint;

Ssa *ssa_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom);

/* The value that reg holds right before `before`, an instruction of b (NULL: at the end of b). It is 0 in blocks made
 * since, and if an instruction that wrote it is gone. */
ValueId ssa_at(const Ssa *ssa, const Block *b, const Instr *before, RegId reg);

static inline ValueId ssa_at_entry(const Ssa *ssa, const Block *b, RegId reg) { return ssa_at(ssa, b, b->first, reg); }
static inline ValueId ssa_at_end(const Ssa *ssa, const Block *b, RegId reg) { return ssa_at(ssa, b, NULL, reg); }

/* The instruction that gives all of a value of reg; NULL: there is none, or it is gone. */
Instr *ssa_definition(const Ssa *ssa, ValueId value, RegId reg);
/* Whether all registers that i reads hold at the end of b what i read. */
bool ssa_sources_hold(const Ssa *ssa, const Instr *i, const Block *b);

#endif
