/* Facts that branches establish: the value of predicates, and comparisons that hold, where a block begins or ends, or on
 * an edge.
 *
 *     @%p bra T;       on the edge to T: %p is true, and so is what computed it:
 *                      setp (with .and/.or and their third predicate, p|q pairs), and/or/not/mov.pred.
 *     brx.idx %r, t;   on the edge to t[3], if no other entry leads there: %r == 3.
 *
 * An edge's facts are about values (analysis/ssa.h). If other edges reach its target only from blocks that the target
 * dominates, they hold in all these blocks. There a register that still holds such a value has the fact. Computed in
 * linear time; a query costs a logarithm and the facts looked at. */
#ifndef PTXOPT_ANALYSIS_FACTS_H
#define PTXOPT_ANALYSIS_FACTS_H

#include "analysis/live.h"
#include "analysis/ssa.h"

typedef enum FactValue { FACT_UNKNOWN, FACT_FALSE, FACT_TRUE } FactValue;

/* `a cmp b` holds, compared as `type`. Operands are plain registers, special registers or constants. */
typedef struct Compare {
    Cmp cmp; /* not CMP_NONE */
    Type type;
    bool ftz; /* subnormal operands count as zero */
    Operand a, b;
    const Instr *by; /* the setp or brx that it comes from */
} Compare;

typedef struct Facts Facts;

Facts *facts_compute(Arena *arena, const Order *order, const Ssa *ssa);
void facts_free(Facts *f);            /* what is outside the arena */
const Ssa *facts_ssa(const Facts *f); /* the values that they are about */
/* Room for what values.c remembers as long as the facts are there; NULL at first. *arena: to allocate it from. */
void **facts_memo(const Facts *f, Arena **arena);

FactValue facts_at_entry(const Facts *f, const Block *b, RegId predicate);
FactValue facts_at_end(const Facts *f, const Block *b, RegId predicate);
/* The truth of a predicate that holds this value at the entry, or the end, of b. */
FactValue facts_of_value(const Facts *f, const Block *b, ValueId value);
FactValue facts_on_edge(const Facts *f, const Block *from, const Block *to, RegId predicate);

/* Lists up to `limit` comparisons with reg as an operand, of any edge or block, the nearest branch first. Answers their
 * number. */
u32 compares_at_entry(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit);
/* Lists those of a register that holds this value there. */
u32 compares_of_value(const Facts *f, const Block *b, ValueId value, Compare *out, u32 limit);
u32 compares_at_end(const Facts *f, const Block *b, RegId reg, Compare *out, u32 limit);
u32 compares_on_edge(const Facts *f, const Block *from, const Block *to, RegId reg, Compare *out, u32 limit);

#endif
