/* A dotted opcode in its parts: `mad.lo.s32` is the name `mad` and the parts `lo`, `s32`. Decoders take the parts that
 * they understand; one that is left over makes the instruction unsupported, so that nothing is ever guessed.
 *
 * This does not use the optimizer's own opcode tables: what it judges must not decide what is right. */
#ifndef PTXRUN_OPCODE_H
#define PTXRUN_OPCODE_H

#include "base/types.h"

typedef enum ElemKind {
    EK_NONE,
    EK_PRED,
    EK_BITS,
    EK_UNSIGNED,
    EK_SIGNED,
    EK_FLOAT, /* f16, f32, f64 by their bits */
    EK_BF16,
    EK_TF32,
    EK_E4M3,
    EK_E5M2,
} ElemKind;

/* `count` elements of `bits` bits each, packed in one register (f16x2: 2 of 16). */
typedef struct ElemType {
    u8 kind; /* ElemKind */
    u8 bits;
    u8 count;
} ElemType;

#define OPCODE_PARTS 16

typedef struct Op {
    Str name;
    Str part[OPCODE_PARTS];
    u32 parts;
    u32 taken; /* bit per part */
} Op;

bool op_split(Op *op, const char *text); /* false: too many parts */
bool op_is(const Op *op, const char *name);
/* Takes the first part that is left if it is this one; whether it is. */
bool op_take_next(Op *op, const char *part);
/* Takes this part if it is left; whether it is. */
bool op_take(Op *op, const char *part);
/* Takes the first part of a NULL-terminated list; answers its index or -1. */
int op_take_any(Op *op, const char *const *list);
/* Takes the first part that is left if it is a type; whether it is. */
bool op_take_type(Op *op, ElemType *type);
/* Takes every type, in order; answers how many (at most `max`; more are left). */
u32 op_take_types(Op *op, ElemType *types, u32 max);
bool op_done(const Op *op); /* nothing is left */

bool elem_type_parse(Str text, ElemType *type);
static inline u32 elem_total_bits(ElemType t) { return (u32)t.bits * t.count; }
static inline bool elem_is_float(ElemType t) { return t.kind >= EK_FLOAT; }
static inline bool elem_is(ElemType t, ElemKind kind, u32 bits) { return t.kind == kind && t.bits == bits && t.count == 1; }
static inline u64 mask_bits(u32 bits) { return bits >= 64 ? ~(u64)0 : ((u64)1 << bits) - 1; }

#endif
