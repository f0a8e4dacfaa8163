/* Private to src/isa: the rows of the .def files as arrays. */
#ifndef PTXOPT_ISA_TABLES_H
#define PTXOPT_ISA_TABLES_H

#include "isa/isa.h"

/* Classes of modifiers. An opcode takes some classes, and a modifier may belong to several: `.lo` is half of a product, and
 * a comparison. The meaning of a modifier's value depends on the class that both have in common. */
enum ModClass {
    M_TYPE = 1u << 0,   /* value: Type; every opcode takes types */
    M_SPACE = 1u << 1,  /* value: Space */
    M_CMP = 1u << 2,    /* value: Cmp */
    M_BOOL = 1u << 3,   /* value: BoolOp */
    M_VECTOR = 1u << 4, /* value: elements */
    M_SEM = 1u << 5,    /* value: Strength */
    M_CACHE = 1u << 6,  /* value: Strength */
    M_SYNC = 1u << 7,   /* value: OpFlags */
    M_CARRY = 1u << 8,  /* value: OpFlags */
    M_UNI = 1u << 9,    /* value: OpFlags */
    /* the other classes mean nothing beyond their text */
    M_SCOPE = 1u << 10,     /* .cta .gpu */
    M_ROUND = 1u << 11,     /* .rn .rzi */
    M_FLOAT = 1u << 12,     /* .ftz .sat .relu .approx .NaN */
    M_PART = 1u << 13,      /* .hi .lo .wide */
    M_REDUCE = 1u << 14,    /* .add .min .popc .cas */
    M_FENCE = 1u << 15,     /* proxies and restrictions */
    M_SHAPE = 1u << 16,     /* .m16n8k16 .x4 .row .32x32b */
    M_MMA = 1u << 17,       /* .kind::f16 .block_scale .cta_group::1 */
    M_ASYNC = 1u << 18,     /* completion, multicast, load modes of bulk copies; details of mbarriers */
    M_GEOMETRY = 1u << 19,  /* .1d .a2d .cube */
    M_TEX = 1u << 20,       /* components, queries, clamping */
    M_TENSORMAP = 1u << 21, /* fields */
    M_MODE = 1u << 22,      /* words of one opcode: .up .ballot .wrap */

    M_FLAGS = M_SYNC | M_CARRY | M_UNI,
    M_ACCESS = M_SPACE | M_SEM | M_SCOPE | M_CACHE | M_VECTOR,
    M_BULK = M_SPACE | M_CACHE | M_ASYNC | M_SEM | M_SCOPE,
    M_MATRIX = M_SYNC | M_SHAPE | M_FLOAT | M_REDUCE | M_MMA,
};

/* OpRow.space: the space is taken from the text. */
enum { SPACE_MODIFIER = 255 };

/* How an opcode computes, which decides how its Sem is read from types and modifiers. */
typedef enum SemKind {
    SEM_NONE,
    SEM_ARITHMETIC,
    SEM_PRODUCT,
    SEM_COUNTING,
    SEM_CONVERSION,
    SEM_COMPARISON,
    SEM_COUNT
} SemKind;

/* Bits of OpRow.flags above those of OpFlag. They are for the decoder, and not in OpInfo.flags. */
enum RowFlag {
    ROW_SYNC_SHIFT = 20, /* Sync */
    ROW_SYNC = 15u << ROW_SYNC_SHIFT,
    ROW_FUSES_WIDE = 1u << 25,
    ROW_CHEAP32 = 1u << 26,
    ROW_CHEAP_INT = 1u << 27,
    ROW_COMMUTES_ONE = 1u << 28,
    ROW_COMPARES = 1u << 29,
    ROW_SIZED = 1u << 30,
    ROW_FLAGS = ROW_SYNC | ROW_FUSES_WIDE | ROW_CHEAP32 | ROW_CHEAP_INT | ROW_COMMUTES_ONE | ROW_COMPARES | ROW_SIZED,
    ROW_SEM_SHIFT = 32, /* SemKind */
    ROW_SEM = 7u,
    ROW_ASYNC_SHIFT = 35, /* Async */
    ROW_ASYNC = 7u
};

enum { ISA_ROWS_MAX = 1024 }; /* of either table */

typedef struct OpRow {
    const char *text;
    const char *shape;
    u32 takes; /* ModClass */
    u64 flags; /* OpFlag, RowFlag, SemKind, Async */
    u8 len;
    u8 mem, space, strength, uniformity;
} OpRow;

typedef struct ModRow {
    const char *text; /* with its dot */
    u32 classes;      /* ModClass */
    u32 value;
    u32 len;
} ModRow;

/* The Sem of an opcode whose other fields are decoded. */
Sem sem_of(const OpInfo *op, SemKind kind);

/* The row of a modifier, given with its dot; NULL: there is none. */
const ModRow *isa_find_modifier(const Isa *isa, const char *text, u32 len);

extern const OpRow isa_ops[OPC_COUNT]; /* by Opcode; [OPC_UNKNOWN]: the most conservative row */
extern const ModRow isa_mods[];        /* the types, from TYPE_NONE + 1 on, come first */
extern const u32 isa_mod_count;

#endif
