/* Facts that branches establish: the value of predicates, and comparisons that hold, where a block begins or ends, or on
 * an edge.
 *
 *     @%p bra T;       on the edge to T: %p is true, and so is what computed it, as long as nothing it is made of has been
 *                      written since: setp (with .and/.or and their third predicate, p|q pairs), and/or/not/mov.pred.
 *     brx.idx %r, t;   on the edge to t[3], if no other entry leads there: %r == 3.
 *
 * An edge's facts hold in all blocks that are dominated by its target (which other edges reach only from below itself), up
 * to where a write to one of the registers can lie on a path in between: registers are not SSA, so every write of the
 * register is looked at. Nothing is known in irreducible functions, nor of registers written in more than WRITES_LOOKED_AT
 * places. Computed in linear time, each query costs a logarithm and the writes looked at. */
#ifndef PTXOPT_ANALYSIS_FACTS_H
#define PTXOPT_ANALYSIS_FACTS_H

#include "analysis/live.h"
#include "analysis/loop.h"

enum { WRITES_LOOKED_AT = 32 };

typedef enum FactValue { FACT_UNKNOWN, FACT_FALSE, FACT_TRUE } FactValue;

/* `a cmp b` holds, compared as `type`. Operands are plain registers, special registers or constants. */
typedef struct Compare {
    u8 cmp;         /* Cmp: not CMP_NONE */
    u8 type;        /* Type */
    bool ftz;       /* subnormal operands count as zero */
    Operand a, b;
    const Instr *by; /* the setp or brx that it comes from */
} Compare;

typedef struct Facts Facts;

Facts *facts_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Loops *loops);
void facts_free(Facts *f); /* what is outside the arena */

FactValue facts_at_entry(const Facts *f, const Block *b, RegId predicate);
FactValue facts_at_end(const Facts *f, const Block *b, RegId predicate);
FactValue facts_on_edge(const Facts *f, const Block *from, const Block *to, RegId predicate);

/* Up to `limit` comparisons with reg as an operand (of any edge or block, the nearest branch first); their number. */
u32 compares_at_entry(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit);
u32 compares_at_end(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit);
u32 compares_on_edge(const Facts *f, const Block *from, const Block *to, RegId reg, Compare *out, u32 limit);

/* The one instruction whose result reg holds right before `at` (at the end of b if NULL), on every path; or NULL. Looks
 * back through blocks with one predecessor, else needs a single write in the function. */
Instr *facts_definition(const Facts *f, const Block *b, const Instr *at, RegId reg);
/* Whether reg still holds at the end of b what it held right after i, whose block dominates b. */
bool facts_unwritten(const Facts *f, const Instr *i, const Block *b, RegId reg);

#endif
