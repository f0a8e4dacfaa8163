/* What integer and predicate arithmetic computes, and what comparisons compare. The decoder reads the modifiers of such an
 * opcode (types, .hi .lo .wide, .sat, .relu, .ftz) once, into a Sem; nobody else does. */
#ifndef PTXOPT_ISA_SEM_H
#define PTXOPT_ISA_SEM_H

#include "isa/type.h"

typedef struct Sem {
    u8 op; /* Opcode. Integers are computed modulo 2 to the power of `bits`; OPC_UNKNOWN: the opcode does something else */
    u8 bits;        /* of the result; 1: a predicate */
    u8 from;        /* of the operands, and of the factors of a product; an amount of SHL and SHR has 32 */
    bool is_signed; /* the operands are signed numbers */
    bool to_signed; /* so is the result: may differ from is_signed for CVT only */
    bool ftz;       /* SETP, SET: subnormal operands count as zero */
    Type compared;  /* of what SETP and SET compare: a number, floats included */
} Sem;

/* The largest number of `bits` bits (1 to 64), and the one that has their highest bit alone. */
static inline u64 sem_max(u32 bits) { return bits >= 64 ? UINT64_MAX : ((u64)1 << bits) - 1; }
static inline u64 sem_sign(u32 bits) { return (u64)1 << (bits - 1); }
/* The low `bits` of v, as a signed number. */
static inline i64 sem_signed(u64 v, u32 bits) { return (i64)(((v & sem_max(bits)) ^ sem_sign(bits)) - sem_sign(bits)); }

/* a op b for ADD SUB MUL AND OR XOR SHL SHR, of numbers of sem.bits (the amount of a shift: of 32); false: another operation. */
bool sem_apply(Sem sem, u64 a, u64 b, u64 *result);

#endif
