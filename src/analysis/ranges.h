/* Ranges of integers: what values of a given width a register can have, as an unsigned and a signed interval at once. Both
 * bound the same bit patterns, so that each tightens the other. PTX arithmetic wraps: an operation that may overflow gives
 * the full range in the reading in which it may. */
#ifndef PTXOPT_ANALYSIS_RANGES_H
#define PTXOPT_ANALYSIS_RANGES_H

#include "analysis/facts.h"

typedef struct Range {
    u32 bits;   /* 1 .. 64 */
    u64 lo, hi; /* unsigned */
    i64 least, most;
} Range;

Range range_full(u32 bits);
Range range_constant(u32 bits, u64 value); /* the low bits of value */
Range range_unsigned(u32 bits, u64 lo, u64 hi);
Range range_signed(u32 bits, i64 least, i64 most);
bool range_is_constant(const Range *r); /* its value is r->lo */
Range range_union(Range a, Range b);
/* The range of the same value in another width. */
Range range_extend(Range a, u32 bits, bool is_signed);
Range range_truncate(Range a, u32 bits);

/* The result of add sub mul(.lo) min max and or shl shr rem div on operands of one width. For shifts b is the amount;
 * other opcodes have the full range. */
/* Whether the result may be less than the full range if the second operand has this one (NULL: any). */
bool range_binary_says(Opcode opcode, const Range *b);
Range range_binary(Opcode opcode, bool is_signed, Range a, Range b);

/* Whether `a cmp b` holds for all values of the ranges, or for none. */
FactValue range_compare(Cmp cmp, bool is_signed, Range a, Range b);
FactValue range_compare_numbers(Cmp cmp, Type type, u64 a, u64 b); /* of the low bits of two constants */
/* a, given that `a cmp b` holds. */
Range range_assume(Range a, Cmp cmp, bool is_signed, Range b);

/* Whether the comparison `known`, which holds, decides `asked` about the same operands in the same order. */
FactValue compare_implies(Cmp known, Type known_type, Cmp asked, Type asked_type);
bool compare_is_signed(Cmp cmp, Type type);

#endif
