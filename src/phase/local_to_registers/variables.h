/* The local variables of a function, and everything that is done with their addresses. An address is followed through
 * mov, cvta, and the addition of constants and of indices with a range, by the values of registers (analysis/ssa.h). */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_VARIABLES_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_VARIABLES_H

#include "phase/phase.h"

typedef struct LocalVariable {
    SymId sym;
    u32 scope, decl;     /* of its declaration */
    const char *stays;   /* why it stays as a whole; NULL: it need not */
    bool stays_anyway;   /* whichever loops are written out */
    const Instr *at;     /* the instruction that says so; NULL: none */
    const Instr *access; /* the first one of it, or NULL */
} LocalVariable;

/* The address of a byte of a variable. */
typedef struct LocalAddress {
    u32 variable; /* its number, plus 1; 0: no address that is known */
    bool generic;
    bool converted; /* it has been a generic one on the way */
    i64 lo, hi;     /* the first and last byte that it may be of */
} LocalAddress;

/* An instruction that computes an address, and nothing else. */
typedef struct LocalMover {
    Instr *i;
    u32 variable; /* its number */
} LocalMover;

/* A plain load or store. */
typedef struct LocalAccess {
    Instr *i;
    u32 variable; /* its number */
    u32 bytes;    /* of one element; they follow each other */
    u32 elements;
    i64 lo, end; /* the bytes that it may touch */
    bool is_constant;
    bool converted; /* its address has been a generic one on the way */
    bool stays;
} LocalAccess;

/* What a register holds in one iteration of a loop. */
typedef struct LocalHeld {
    bool is_known;
    LocalAddress address; /* variable 0: it holds a number */
    u64 number;
    const Block
        *at; /* the block behind whose beginning it is known, as far as this one dominates; NULL: everywhere behind */
} LocalHeld;

/* The registers that an iteration has written, or that were written before it and are read in it. */
typedef struct LocalIteration {
    FnvMap of_reg; /* RegId -> place in held */
    VEC(LocalHeld) held;
} LocalIteration;

typedef struct LocalVariables {
    Analyses *an;
    Function *fn;
    VEC(LocalVariable) variables;
    u32 staying;            /* how many of them stay whichever loops are written out */
    FnvMap of_sym;          /* SymId -> number of the variable, plus 1 */
    LocalAddress *of_value; /* by ValueId */
    u32 *of_reg;            /* by RegId: the variable, plus 1, of which it holds an address at times; 0: none */
    VEC(LocalMover) movers;
    VEC(LocalAccess) accesses;
    const char *all_stay; /* why no variable of the function may go; NULL: some may */
    const Instr *all_stay_at;
    BitSet indexing;           /* by place in AN_LOOPS: the loops that variables stay for */
    BitSet walked;             /* by place in AN_LOOPS: loops that are to be written out */
    LocalIteration *iteration; /* that is looked at now; NULL: all iterations at once */
    BitSet of_iteration;       /* by RegId: it holds an address that some iteration computes */
} LocalVariables;

struct LocalLoops;
/* Finds the variables of an->fn and what is done with them, or would be if the iterations of some loops were written out. Without `all`
 * it ends where it knows that none may go. To be freed with local_variables_free(). */
LocalVariables *local_variables_find(Analyses *an, const struct LocalLoops *written_out, bool all);
void local_variables_free(LocalVariables *l);
/* Whether some variable may go, perhaps where loops are written out. */
static inline bool local_variables_may_go(const LocalVariables *l) { return l->staying < l->variables.n; }

#endif
