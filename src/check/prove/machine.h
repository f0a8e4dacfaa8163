/* Symbolic execution of one side: registers as terms, and what each instruction does to them. */
#ifndef PTXOPT_CHECK_PROVE_MACHINE_H
#define PTXOPT_CHECK_PROVE_MACHINE_H

#include "check/prove/graph.h"
#include "check/prove/term.h"

typedef enum ProveSide { PROVE_BEFORE, PROVE_AFTER } ProveSide;

/* An assignment to a register, or another place, that can be taken back. */
typedef struct Undo {
    u32 *place, old;
} Undo;

/* A part of a parameter variable of a call that was written, or, without bits, all that a call returned in it. */
typedef struct Cell {
    u32 older; /* of the same variable; 0: none on this path */
    u32 offset, bits;
    Term term;
    u32 owner, call, result; /* of what was returned: node, number of the call, and which of its results */
} Cell;

enum { PROVE_WHOLE = 1 << 30 };

typedef struct ArgumentVariable {
    u32 newest;  /* its cell */
    u32 written; /* how many bytes of it instructions write, or more; PROVE_WHOLE: any */
} ArgumentVariable;

/* What parameter variables of calls hold. Where a path begins in a product node it has no cells. Changed by arguments.c alone. */
typedef struct Arguments {
    SymId first; /* of the function's variables */
    ArgumentVariable *variable;
    VEC(Cell) cells; /* of all paths; [0] unused */
} Arguments;

typedef struct Machine {
    Terms *t;
    ProveGraph g;
    Function *fn;
    ProveSide side;
    Term *reg;    /* by RegId; CARRY_REG: the carry; 0: not known here */
    FnvMap names; /* by SymId: a name that both texts share, made on demand */
    FnvMap named; /* by such a name: the first SymId that was given it */
    VEC(Undo) undo;
    Arguments arguments;
    const char *fault;   /* what cannot be modelled, or was used without a value */
    BitSet in_use;       /* registers that an asynchronous operation may use until a wait; no word: there are none */
    BitSet early_writes; /* by origin: instructions that write one of them where such an operation may be under way */
    Term written;        /* what they wrote since the last such operation, wait, or node, in order; 0: nothing */
} Machine;

/* Machines of one function may share a graph, one after the other. */
void prove_machine_init(Machine *m, const ProveGraph *g, ProveSide side, Terms *t);
void prove_machine_free(Machine *m);

/* Gives a place, or a register, a value; prove_undo takes everything back that came after `undo.n` was `mark`. */
void prove_set_place(Machine *m, u32 *place, u32 value);
void prove_set_reg(Machine *m, RegId reg, Term value);
void prove_undo(Machine *m, u32 mark);
/* Gives all of these places the values they had then. That can be undone. */
void prove_rewind(Machine *m, u32 mark);
/* The term for what a register holds that was never written. */
Term prove_garbage(Machine *m, RegId reg);
u32 prove_reg_bits(const Machine *m, RegId reg);

/* Whether the instruction only computes: no event, no terminator. */
bool prove_computes(const Machine *m, const Instr *i);
/* A load of a kernel's parameter, or of constant memory, at an address that every execution has: it only computes. */
bool prove_loads_constant(const Machine *m, const Instr *i);
/* Whether it loads from a parameter of the kernel, at an address that is known here: then it only computes. */
bool prove_loads_parameter(Machine *m, const Instr *i);
/* Executes either. */
void prove_load_constant(Machine *m, const Instr *i, Term guard);
/* Executes an instruction that only computes. */
void prove_execute(Machine *m, const Instr *i);

/* The instruction was executed: if it is an early write, so that is known of it. */
void prove_note_written(Machine *m, const Instr *i);
/* Handles an instruction that waits for what uses registers, or hands them over: they hold other values after it than
 * before. */
void prove_await_registers(Machine *m, const Instr *i);

/* 1-bit terms: whether the instruction is executed. */
Term prove_guard(Machine *m, const Instr *i);
/* The value of a scalar operand, `bits` wide (0: as wide as it is). */
Term prove_operand(Machine *m, const Operand *o, u32 bits);
/* The address of an OPND_MEM, as wide as the state space. */
Term prove_address(Machine *m, const OpInfo *op, const Operand *mem);
/* A name for the symbol that is the same in both texts. */
const Name *prove_sym_name(Machine *m, SymId id);
/* Writes what slot `o` defines, under the guard. That is what it was before the instruction, which may also write its register. */
void prove_define(Machine *m, Term guard, const Operand *o, Term value);

#endif
