/* The values of registers as functions of one register, the selector: exactly, or not at all. */
#ifndef PTXOPT_ANALYSIS_SELECTOR_VALUE_H
#define PTXOPT_ANALYSIS_SELECTOR_VALUE_H

#include "ir/ir.h"
#include "analysis/value_set.h"

/* A table value has one entry for each amount that shifts a 64-bit constant, and one for all that are larger. */
enum { VALUE_ENTRIES = 65 };

typedef enum ValueKind {
    VALUE_UNKNOWN,
    VALUE_CONSTANT, /* constant */
    VALUE_LINEAR,   /* ((selector + inner) mod 2^bits + outer) mod 2^width, bits: the selector's */
    VALUE_TABLE,    /* entry[k] where the linear part is k < VALUE_ENTRIES - 1, else the last entry */
    VALUE_TRUTH,    /* a predicate: true for the selectors in `truth` */
} ValueKind;

typedef struct Value {
    u8 kind;         /* ValueKind */
    u8 width;        /* bits of the value itself */
    u8 linear_width; /* LINEAR, TABLE: width of the linear part */
    u64 inner, outer, constant;
    const u64 *entry;
    ValueSet truth;
} Value;

/* Says where the values of operands come from. */
typedef struct ValueScope {
    Arena *arena;
    const Function *fn;
    u32 bits; /* of the selector */
    Value (*of_register)(void *user, RegId reg);
    void *user;
} ValueScope;

static inline Value value_selector(u32 bits)
{
    return (Value){.kind = VALUE_LINEAR, .width = (u8)bits, .linear_width = (u8)bits};
}

/* The value that unguarded i gives to reg, which it writes. */
Value value_of_result(const ValueScope *scope, Instr *i, RegId reg);

/* The selectors for which a linear value is in `values`. */
ValueSet value_preimage(const ValueScope *scope, const Value *linear, ValueSet values);

/* Bits of a register that integer arithmetic takes: 16, 32 or 64; 0: it was declared as something else. */
u32 value_integer_register(const Function *fn, RegId reg);

/* The source register of a move, addition or subtraction of a constant, all of its result's width, and one for integers;
 * 0: i is none. */
RegId value_offset_source(const Function *fn, Instr *i);

#endif
