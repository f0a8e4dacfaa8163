/* Values of registers, as static single assignment would name them: each write makes one, and so does each place where paths
 * with different values of a register meet (a phi). The code is not changed: instructions, what they read
 * and what they write are numbered in the order of a walk over the dominator tree, parents first.
 *
 * A guarded write, or one of a part, makes a value too, of which nothing is known (`whole` is unset); it reads the old one
 * (which, where nobody reads the register after it, may be the wrong one: see below).
 * Phis stand at the iterated dominance frontiers of the writes (Cytron, Ferrante, Rosen, Wegman,
 * Zadeck, "Efficiently computing static single assignment form and the control dependence graph", 1991). Those frontiers can
 * be quadratic in size (a long ladder of loops in loops): then there is no numbering. A register that only one block writes,
 * and that is not live where this block stops dominating, needs no phis: what it held at the entry would take their place. */
#ifndef PTXOPT_ANALYSIS_SSA_H
#define PTXOPT_ANALYSIS_SSA_H

#include "analysis/dom.h"
#include "analysis/live.h"

#define SSA_NONE UINT32_MAX

typedef struct SsaValue {
    RegId reg;
    u32 instr;        /* number of the instruction that writes it; SSA_NONE: a phi, or what was there at the entry */
    Block *phi;       /* the block at whose start it is made, NULL */
    u32 arg, args;    /* of a phi: Ssa.args[arg .. arg + args - 1]; all phis of a block have their edges in one order */
    bool whole;       /* nothing of the old value is left */
    bool is_read;     /* unset for phis that nobody reads: they say that the register's old value may be gone */
} SsaValue;

typedef struct SsaUse {
    u32 slot;         /* index into Instr.opnd; SSA_NONE: the guard, or the old value of what is written in part */
    u32 value;
} SsaUse;

typedef struct SsaInstr {
    Instr *i;
    u32 use, uses;    /* Ssa.uses[use .. use + uses - 1], in the order of the slots */
    u32 value, values;/* written by it: consecutive */
} SsaInstr;

typedef struct Ssa {
    const DomTree *dom;
    VEC(SsaInstr) instrs;    /* of reachable blocks: calls, and those that read or write a wanted register */
    VEC(SsaUse) uses;
    VEC(SsaValue) values;    /* [0]: unused */
    VEC(u32) args;
    u32 *first;              /* by Block.id, blocks + 1: number of its first instruction */
    u32 *end;                /* one after its last */
    u32 *first_phi, *phis;   /* by Block.id: its phis are consecutive values */
    BitSet wanted;           /* registers whose uses are listed */
    BitSet unknown;          /* registers without values: not wanted, or they would take too many phis */
    u32 regs;
} Ssa;

/* The values of the registers in `wanted`, whose words outlive the answer. Answers NULL where it is too large. To be freed with
 * ssa_free. */
Ssa *ssa_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Live *live, const BitSet *wanted);
void ssa_free(Ssa *ssa);

/* The value that is read there; 0: none. */
u32 ssa_use(const Ssa *ssa, u32 instr, u32 slot);

/* The values of all registers along a walk in the order of the numbers:
 *   SsaWalk w = ssa_walk(ssa); for each block in the order of dom->by_pre { ssa_enter(&w, b); for each of its instructions
 *   { ...; ssa_step(&w, number); } } ssa_walk_free(&w); */
typedef struct SsaWalk {
    const Ssa *ssa;
    u32 *now; /* by RegId: the value that it holds; 0: what it held at the entry, which nobody wrote */
    VEC(u64) undo;
    VEC(u64) frames;
} SsaWalk;

SsaWalk ssa_walk(const Ssa *ssa);
void ssa_enter(SsaWalk *w, const Block *b);
void ssa_step(SsaWalk *w, u32 instr);
void ssa_walk_free(SsaWalk *w);

#endif
