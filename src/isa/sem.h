/* What integer and predicate arithmetic computes, and what comparisons compare. The decoder reads the modifiers of such
 * an opcode (.hi .lo .wide, .sat, .relu, .ftz) once, into a Sem. Nothing else in the optimizer reads them. The prover
 * (check/prove/compute.c) and the interpreter read some of them themselves. */
#ifndef PTXOPT_ISA_SEM_H
#define PTXOPT_ISA_SEM_H

#include "isa/type.h"

typedef struct Sem {
    u8 op; /* Opcode. Integers are computed modulo 2 to the power of `bits`; OPC_UNKNOWN: the opcode does something else */
    u8 bits;        /* of the result; 1: a predicate */
    u8 from;        /* of the operands, and of the factors of a product; the amount of SHL and SHR has 32 */
    bool is_signed; /* the operands are signed numbers */
    bool to_signed; /* the result is a signed number; may differ from is_signed for CVT only */
    bool ftz;       /* SETP, SET: subnormal operands count as zero */
    Type compared;  /* the type of number that SETP and SET compare, including floats */
} Sem;

/* The largest number of `bits` bits (1 to 64), and the number whose only bit is the highest of them. */
static inline u64 sem_max(u32 bits) { return bits >= 64 ? UINT64_MAX : ((u64)1 << bits) - 1; }
static inline u64 sem_sign(u32 bits) { return (u64)1 << (bits - 1); }
/* The low `bits` of v as a signed number. */
static inline i64 sem_signed(u64 v, u32 bits) { return (i64)(((v & sem_max(bits)) ^ sem_sign(bits)) - sem_sign(bits)); }

/* Computes a op b for ADD SUB MUL AND OR XOR SHL SHR on numbers of sem.bits; the amount of a shift has 32. False: another
 * operation. */
bool sem_apply(Sem sem, u64 a, u64 b, u64 *result);

#endif
