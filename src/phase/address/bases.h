/* What a function's addresses are made of, for the phase that lets them share base registers. This is values, their
 * expressions and readers, and the code between two instructions. Instructions and uses are named by their numbers in
 * `listing`. */
#ifndef PTXOPT_PHASE_ADDRESS_BASES_H
#define PTXOPT_PHASE_ADDRESS_BASES_H

#include "analysis/linear_value.h"
#include "phase/phase.h"

typedef struct Bases {
    Analyses *an;
    Function *fn;
    u32 max_depth; /* of an address: --common-base-elim-max-depth */
    Arena arena;   /* holds what follows */
    Listing *listing;
    LinearValues *a;
    FnvMap phis; /* block << 32 | register -> index into phi_facts */
    VEC(PhiFact) phi_facts;
    BitSet in_address; /* by value: an address is made of it */
    BitSet shared;     /* by value: it is in_address, and another such value has the same base */
    BitSet computes;   /* by instruction: computes a part of an address and nothing else */
    BitSet removable;  /* by instruction: see may_go */
    BitSet stuck;      /* by value: it is shared, and some reader cannot read another register */
    Graph uses;        /* from a shared value to its uses, in their order */
    u32 *use_instr;    /* by use */
    u32 *readers;      /* by base: the number of uses of its shared values */
    u32 *calls;        /* by instruction: the number of calls before it */
    u32 *walk_place;   /* by instruction: how many of the function come up to it in the order of the walk ... */
    u32 *order_place;  /* ... and in reverse post-order */
    u32 *barriers;     /* by instruction: how many barriers come up to it in the order of the walk */
    u32 *headers;      /* by pre-order number of a block: the number of loops that begin there or before */
    VecU32 work;
} Bases;

/* Computes everything if two values share a base, and answers whether they do. Before it, `an`, `fn` and `max_depth` are
 * set and everything else is 0. bases_drop() restores that. */
bool bases_compute(Bases *s);
void bases_drop(Bases *s);

/* Whether slot k is the register of an address `[reg+offset]` whose offset may change. */
bool bases_is_slot(const Instr *i, u32 k);
/* Whether use `use` of instruction n may read another register with the same value. */
bool bases_is_swappable(const Bases *s, u32 n, u32 use);
/* The instruction that computes the value, which is part of an address, and nothing else; NULL: there is none. */
Instr *bases_computation(const Bases *s, u32 value);
/* Whether instruction n is removed when nobody reads its result. */
static inline bool may_go(const Bases *s, u32 n) { return bitset_has(&s->removable, n); }
u32 bases_value_bits(const Bases *s, u32 value);
const Block *bases_block_of(const Bases *s, u32 value);
LinearId base_of(const Bases *s, u32 value);
/* Whether the value costs nothing, since it is a product that only additions read, each of which ptxas makes one
 * instruction with it. needed: the values that remaining instructions read. most: how many additions may read a product of
 * 64 bits; one of 32 bits may have one reader. */
bool bases_is_fused(const Bases *s, u32 value, const BitSet *needed, u32 most);
/* Whether a name declared in `outer` is visible in `inner`. */
bool bases_scope_reaches(const Function *fn, ScopeId outer, ScopeId inner);

/* Adds the value to the set, and to the work list if it is new. */
static inline void bases_mark(Bases *s, BitSet *set, u32 value)
{
    if (value && bitset_add(set, value))
        vec_push(&s->work, value);
}

void bases_mark_phi_args(Bases *s, BitSet *set, u32 value);

/* What the value would have to stay live through to be read in instruction n. REACH_LIVE: it is live there anyway. */
typedef enum BaseReach { REACH_LIVE, REACH_NEAR, REACH_THROUGH_LOOP, REACH_THROUGH_CALL } BaseReach;
BaseReach bases_reach(const Bases *s, u32 value, u32 n);
/* Whether more than PTXAS_BASE_NEAR instructions stand between the two, of which `from` comes first in the walk.
 * Instructions of blocks beside the path also count, since one order or the other puts them in between. */
bool bases_are_distant(const Bases *s, u32 from, u32 to);
/* Whether a barrier stands between them in the order of the walk. */
bool bases_are_parted(const Bases *s, u32 from, u32 to);

/* The operand in `slot` becomes reg, and its offset grows by plus. */
void bases_set_reg(Bases *s, Instr *i, u32 slot, RegId reg, i64 plus);

#endif
