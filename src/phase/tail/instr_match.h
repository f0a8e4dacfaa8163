/* Whether two instructions are the same up to the names of registers. A visitor decides of each pair of registers whether
 * they may stand for one another. */
#ifndef PTXOPT_PHASE_TAIL_INSTR_MATCH_H
#define PTXOPT_PHASE_TAIL_INSTR_MATCH_H

#include "phase/phase.h"

typedef struct PairVisitor {
    void *user;
    /* How well two registers that a and b read correspond, 0: not at all; by this the order of commuting operands is chosen. */
    u32 (*rate)(void *user, const Instr *a, RegId a_reg, const Instr *b, RegId b_reg);
    bool (*read)(void *user, RegId a, RegId b);
    bool (*write)(void *user, RegId a, RegId b, bool kills);
    bool (*symbol)(void *user, SymId a, SymId b); /* two different ones; NULL: never */
} PairVisitor;

/* Whether the instructions are the same but for registers; *exchanged: whether b has its first two sources in the opposite order. */
bool match_instrs_alike(const PairVisitor *visit, const Instr *a, const Instr *b, bool *exchanged);
/* Visits the pairs of registers that two alike instructions read, or write, until the visitor answers false. CARRY_REG is paired with
 * itself. */
bool match_visit_reads(const PairVisitor *visit, const Instr *a, const Instr *b, bool exchanged);
bool match_visit_writes(const PairVisitor *visit, const Instr *a, const Instr *b);

/* Whether both are the same pragma, and one that belongs to the instruction after it. */
bool match_pragmas_alike(const Function *fn, const Instr *a, const Instr *b);

/* Whether two registers hold what the same opcode, as far back in either block, gave them. */
typedef enum DefinitionsAlike {
    DEFINED_DIFFERENTLY,
    DEFINED_ELSEWHERE, /* both, not in their blocks */
    DEFINED_ALIKE
} DefinitionsAlike;

DefinitionsAlike match_definitions_alike(const Instr *a, RegId a_reg, const Instr *b, RegId b_reg);

/* A .param variable of the function that i writes, reads or hands to a call; 0: none. Control flow must not come between
 * such instructions and the call. */
SymId match_call_argument(const Instr *i);
/* Adds the registers that wgmma and tcgen05 may read or write behind the thread's back, until they are waited for: no value
 * that had another name may come into one of them. */
void match_find_in_flight(const Function *fn, BitSet *registers);
/* Whether i is a mov of an immediate. */
bool match_loads_constant(const Instr *i);
/* The item of the block's text in front of i, but for .loc; NULL at the block's start. */
Instr *match_item_before(const Instr *i);

#endif
