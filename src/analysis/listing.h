/* The values of some registers (analysis/ssa.h) with all their uses. Instructions, what they read, and what they write
 * are numbered along a walk over the dominator tree, parents first.
 *
 * A guarded write, or one of a part, makes a value of which nothing is known (`whole` is unset); it reads the old one. */
#ifndef PTXOPT_ANALYSIS_LISTING_H
#define PTXOPT_ANALYSIS_LISTING_H

#include "analysis/live.h"
#include "analysis/ssa.h"

#define LISTING_NONE UINT32_MAX

typedef struct ListedValue {
    RegId reg;
    u32 instr;  /* number of the instruction that writes it; LISTING_NONE: a phi, or what was there at the entry */
    Block *phi; /* the block at whose start it is made, NULL */
    u32 arg;    /* of a phi: Listing.args[arg .. arg + args - 1]; all phis of a block have their edges in one order */
    u32 args : 30;
    u32 whole : 1;   /* nothing of the old value is left */
    u32 is_read : 1; /* unset for phis that nobody reads: they say that the register's old value may be gone */
} ListedValue;

typedef struct ListedUse {
    u32 slot; /* index into Instr.opnd; LISTING_NONE: the guard, or the old value of what is written in part */
    u32 value;
} ListedUse;

typedef struct ListedInstr {
    Instr *i;
    u32 use, uses;     /* Listing.uses[use .. use + uses - 1], in the order of the slots */
    u32 value, values; /* written by it: consecutive */
} ListedInstr;

typedef struct Listing {
    const DomTree *dom;
    VEC(ListedInstr) instrs; /* of reachable blocks: calls, and those that read or write a wanted register */
    VEC(ListedUse) uses;
    VEC(ListedValue) values; /* [0]: unused */
    VEC(u32) args;
    u32 *first;            /* by Block.id, blocks + 1: number of its first instruction */
    u32 *end;              /* one after its last */
    u32 *first_phi, *phis; /* by Block.id: its phis are consecutive values */
    BitSet wanted;         /* registers whose uses are listed */
    BitSet unknown;        /* registers without values: not wanted, or they would take too many phis */
    u32 regs;
} Listing;

/* The values of the registers in `wanted`, whose words outlive the answer; `ssa` need not. To be freed with listing_free. */
Listing *listing_compute(Arena *arena, const Function *fn, const Order *order, const Ssa *ssa, const Live *live,
                         const BitSet *wanted);
void listing_free(Listing *listing);

/* The value that is read there; 0: none. */
u32 listing_use(const Listing *listing, u32 instr, u32 slot);

/* The values of all registers along a walk in the order of the numbers:
 *   ListingWalk w = listing_walk(listing); for each block in the order of dom->by_pre { listing_enter(&w, b); for each of its
 *   instructions { ...; listing_step(&w, number); } } listing_walk_free(&w); */
typedef struct ListingWalk {
    const Listing *listing;
    u32 *now; /* by RegId: the value that it holds; 0: what it held at the entry, which nobody wrote */
    VEC(u64) undo;
    VEC(u64) frames;
} ListingWalk;

ListingWalk listing_walk(const Listing *listing);
void listing_enter(ListingWalk *w, const Block *b);
void listing_step(ListingWalk *w, u32 instr);
void listing_walk_free(ListingWalk *w);

#endif
