/* Compares two instructions up to the names of registers. A visitor decides for each pair of registers whether one may
 * stand for the other. */
#ifndef PTXOPT_PHASE_TAIL_INSTR_MATCH_H
#define PTXOPT_PHASE_TAIL_INSTR_MATCH_H

#include "phase/phase.h"

typedef struct PairVisitor {
    void *user;
    /* How well two registers that a and b read correspond; 0: not at all. The order of commuting operands is chosen by this. */
    u32 (*rate)(void *user, const Instr *a, RegId a_reg, const Instr *b, RegId b_reg);
    bool (*read)(void *user, RegId a, RegId b);
    bool (*write)(void *user, RegId a, RegId b, bool kills);
    bool (*symbol)(void *user, SymId a, SymId b); /* two different symbols; NULL: no two may correspond */
} PairVisitor;

/* Whether the instructions are the same except for registers. *exchanged becomes true where b has its first two sources in
 * the opposite order. */
bool match_instrs_alike(const PairVisitor *visit, const Instr *a, const Instr *b, bool *exchanged);
/* Visits the pairs of registers that two matching instructions read, or write, until the visitor answers false. CARRY_REG
 * is paired with itself. */
bool match_visit_reads(const PairVisitor *visit, const Instr *a, const Instr *b, bool exchanged);
bool match_visit_writes(const PairVisitor *visit, const Instr *a, const Instr *b);

/* Whether both are the same pragma, of the kind that belongs to the instruction after it. */
bool match_pragmas_alike(const Function *fn, const Instr *a, const Instr *b);

/* Whether two registers were written by the same opcode, at the same distance back in their blocks. */
typedef enum DefinitionsAlike {
    DEFINED_DIFFERENTLY,
    DEFINED_ELSEWHERE, /* neither in its own block */
    DEFINED_ALIKE
} DefinitionsAlike;

DefinitionsAlike match_definitions_alike(const Instr *a, RegId a_reg, const Instr *b, RegId b_reg);

/* The .param variable of the function that i writes, reads or hands to a call; 0: none. No edge may come between such an
 * instruction and the call. */
SymId match_call_argument(const Instr *i);
/* Adds the registers that asynchronous instructions (wgmma, tcgen05) may still read or write after they were issued. No
 * value that had another name may come into one of these. */
void match_find_in_flight(const Function *fn, BitSet *registers);
/* Whether i is a mov of an immediate. */
bool match_loads_constant(const Instr *i);
/* The item of the block's text in front of i, ignoring .loc; NULL at the block's start. */
Instr *match_item_before(const Instr *i);

#endif
