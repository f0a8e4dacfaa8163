/* The local variables of a function, and everything that is done with their addresses. An address is followed through
 * mov, cvta, and the addition of constants and of indices with a range, by the values of registers (analysis/ssa.h). */
#ifndef PTXOPT_PHASE_LOCAL_TO_REGISTERS_VARIABLES_H
#define PTXOPT_PHASE_LOCAL_TO_REGISTERS_VARIABLES_H

#include "phase/phase.h"

typedef struct LocalVariable {
    SymId sym;
    u32 scope, decl;     /* of its declaration */
    const char *stays;   /* why it stays as a whole; NULL: it need not */
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

typedef struct LocalVariables {
    Analyses *an;
    Function *fn;
    VEC(LocalVariable) variables;
    FnvMap of_sym;          /* SymId -> number of the variable, plus 1 */
    LocalAddress *of_value; /* by ValueId */
    u32 *of_reg;            /* by RegId: the variable, plus 1, of which it holds an address at times; 0: none */
    VEC(LocalMover) movers;
    VEC(LocalAccess) accesses;
    const char *all_stay; /* why no variable of the function may go; NULL: some may */
    const Instr *all_stay_at;
} LocalVariables;

/* Finds the variables of an->fn and what is done with them. To be freed with local_variables_free(). */
LocalVariables *local_variables_find(Analyses *an);
void local_variables_free(LocalVariables *l);

#endif
