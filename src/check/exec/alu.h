/* The arithmetic of PTX on scalar values. A value is 64 bits, zero-extended; a predicate is 0 or 1. A function
 * takes its sources in `v` and answers at least the bits of the destination's type. The caller cuts off the rest.
 *
 * alu_pick() finds the function for an opcode. What it does not know exactly it refuses. */
#ifndef PTXRUN_ALU_H
#define PTXRUN_ALU_H

#include "check/exec/format.h"

typedef enum Compare {
    CC_EQ,
    CC_NE,
    CC_LT,
    CC_LE,
    CC_GT,
    CC_GE, /* for floats: ordered */
    CC_EQU,
    CC_NEU,
    CC_LTU,
    CC_LEU,
    CC_GTU,
    CC_GEU, /* holds for unordered floats too */
    CC_NUM,
    CC_NAN,
    CC_LO,
    CC_LS,
    CC_HI,
    CC_HS, /* unsigned whatever the type */
} Compare;

typedef enum Combine { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR } Combine;

typedef struct AluMode {
    ElemType type;   /* what is computed in */
    ElemType source; /* cvt, set, slct: the other type */
    u8 round;        /* Round: rounding mode */
    bool to_integer; /* cvt: the rounding was .rni .rzi .rmi .rpi */
    bool ftz, sat, relu, nan, abs, xorsign;
    bool high, wide; /* mul, mad, dp2a */
    bool option;     /* .clamp, .shiftamt, .approx: per opcode */
    u8 compare, combine;
    u8 variant; /* prmt mode, testp property: per opcode */
} AluMode;

typedef u64 AluFn(const AluMode *mode, const u64 *v);

#define ALU_ARGS 5

typedef struct AluOp {
    AluFn *fn;
    AluMode mode;
    ElemType result;
    ElemType arg[ALU_ARGS];
    u8 args; /* sources; setp and set: without the predicate that combines */
} AluOp;

typedef enum AluPick { ALU_PICKED, ALU_UNSUPPORTED, ALU_NOT_MINE } AluPick;

/* NOT_MINE: no arithmetic opcode (memory, control, ...). Opcodes with two results, and carry chains, are not arithmetic in
 * this sense: see decode.c. */
AluPick alu_pick(Op *op, AluOp *alu);
AluPick alu_pick_integer(Op *op, AluOp *alu);
AluPick alu_pick_float(Op *op, AluOp *alu);
/* The function computes in `to`, which is the type of its result, from sources of type `from`. */
static inline void alu_set_types(AluOp *alu, ElemType to, ElemType from, u32 args)
{
    alu->mode.type = alu->result = to;
    alu->mode.source = from;
    alu->args = (u8)args;
    for (u32 i = 0; i < args; i++)
        alu->arg[i] = from;
}

/* Whether `a cmp b` holds for values of this type. */
bool alu_compare(Compare cmp, ElemType type, bool ftz, u64 a, u64 b);
bool alu_combine(Combine how, bool a, bool b);
/* Takes `.CmpOp{.BoolOp}` of set and setp into the mode. */
bool alu_take_compare(Op *op, AluMode *mode);

/* The value as a signed 64-bit number, or zero-extended, as its type says; `bits` from 1 to 64. */
static inline i64 sign_extend(u64 value, u32 bits) { return (i64)(value << (64 - bits)) >> (64 - bits); }
static inline u64 extend(ElemType t, u64 value)
{
    return t.kind == EK_SIGNED ? (u64)sign_extend(value, t.bits) : value & mask_bits(t.bits);
}

float flush_float(float x);

/* `.sat`: a NaN and -0 become 0. */
static inline double clamp_to_unit(double x) { return x > 1 ? 1 : x > 0 ? x : 0; }

#define ALU_FN(name) static u64 name(__attribute__((unused)) const AluMode *m, const u64 *v)

#endif
