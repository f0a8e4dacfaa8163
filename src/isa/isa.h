/* What a PTX instruction means, independent of any program: opcodes.def, modifiers.def and sregs.def decoded.
 *
 * A full dotted opcode (`ld.global.v4.f32`) is decoded once per module into an OpInfo and cached; all later questions
 * are field reads. The longest row of opcodes.def that is a dotted prefix of the text names the opcode
 * (`cp.async.bulk.tensor` before `cp.async`). The remaining parts must all be rows of modifiers.def. Otherwise, or if the
 * opcode does not take modifiers of that class, `known` is false, and every property has its most conservative value. An
 * opcode with a row keeps what says where control goes (terminator, branch, call).
 *
 * Reference: PTX ISA 9.5. */
#ifndef PTXOPT_ISA_ISA_H
#define PTXOPT_ISA_ISA_H

#define ISA_NEWEST "9.5" /* the newest PTX ISA whose words are in the tables */

#include "base/intern.h"
#include "isa/sem.h"

typedef enum Opcode {
    OPC_UNKNOWN,
#define OP(id, ...) OPC_##id,
#include "isa/opcodes.def"
    OPC_COUNT
} Opcode;

typedef enum ONE_BYTE Cmp {
    CMP_NONE,
    CMP_EQ,
    CMP_NE,
    CMP_LT,
    CMP_LE,
    CMP_GT,
    CMP_GE,
    CMP_LO,
    CMP_LS,
    CMP_HI,
    CMP_HS,
    CMP_EQU,
    CMP_NEU,
    CMP_LTU,
    CMP_LEU,
    CMP_GTU,
    CMP_GEU,
    CMP_NUM,
    CMP_NAN
} Cmp;

typedef enum ONE_BYTE BoolOp { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR } BoolOp;

typedef enum Space {
    SPACE_NONE,
    SPACE_GENERIC,
    SPACE_REG,
    SPACE_SREG,
    SPACE_CONST,
    SPACE_GLOBAL,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_SHARED,
    SPACE_SHARED_CLUSTER, /* includes SPACE_SHARED */
    SPACE_TEX,            /* textures and surfaces, which may be global memory */
    SPACE_TENSOR          /* tcgen05, whose operands and descriptors also name shared memory */
} Space;

typedef enum ONE_BYTE MemEffect { MEM_NONE, MEM_READ, MEM_WRITE, MEM_READ_WRITE } MemEffect;

/* How strongly a memory operation orders others. Everything above WEAK counts as a read and write of all memory. */
typedef enum ONE_BYTE Strength { STRENGTH_WEAK, STRENGTH_STRONG } Strength;

typedef enum ONE_BYTE
    Uniformity {                /* of the results, within a warp */
                 UNI_OPERANDS,  /* as uniform as its operands (and memory, for loads: see the analysis) */
                 UNI_DIVERGENT, /* may differ between threads whatever the operands are */
                 UNI_WARP,      /* the same in all threads that execute it together (bar.red) */
                 UNI_CTA,       /* the same in all threads of the CTA (special registers) */
                 UNI_MEMBERS /* vote.sync, redux.sync: UNI_WARP if the last operand, the mask, is warp-uniform; else divergent */
    } Uniformity;

/* Which threads an opcode synchronizes, and whether it waits for them. */
typedef enum ONE_BYTE Sync {
    SYNC_NONE,
    SYNC_LANES,          /* exchanges values with the lanes that it names: shfl.sync, redux.sync */
    SYNC_WARP,           /* bar.warp.sync */
    SYNC_BARRIER,        /* bar.sync and its other spellings */
    SYNC_REDUCE,         /* bar.red and its other spellings, which also exchange their operands */
    SYNC_ARRIVE,         /* bar.arrive and its other spellings, which do not wait */
    SYNC_CLUSTER,        /* barrier.cluster.wait */
    SYNC_CLUSTER_ARRIVE, /* barrier.cluster.arrive, which does not wait */
    SYNC_WARPGROUP,      /* setmaxnreg: all warps of a warpgroup, between two of them */
    SYNC_COUNT
} Sync;

/* What an opcode does with registers that asynchronous operations use: it begins an operation, waits for all earlier ones,
 * or hands registers over. */
typedef enum ONE_BYTE Async {
    ASYNC_NONE,
    ASYNC_MULTIPLIES, /* wgmma.mma_async */
    ASYNC_LOADS,      /* tcgen05.ld */
    ASYNC_STORES,     /* tcgen05.st */
    ASYNC_AWAITS_PRODUCTS,
    ASYNC_AWAITS_LOADS,
    ASYNC_AWAITS_STORES,
    ASYNC_HANDS_OVER, /* wgmma.fence */
    ASYNC_COUNT
} Async;

enum OpFlag {
    OPF_CONVERGENT = 1u << 0,    /* depends on which threads execute it together */
    OPF_NAMES_THREADS = 1u << 1, /* convergent, but its threads are named (mask, .aligned, barrier): two copies may merge */
    OPF_BARRIER = 1u << 2,       /* synchronises threads of a CTA or cluster */
    OPF_SIDE_EFFECT = 1u << 3,   /* must stay even when its results are dead; never duplicated */
    OPF_TERMINATOR = 1u << 4,    /* ends a basic block: bra brx ret exit */
    OPF_BRANCH = 1u << 5,        /* bra, brx */
    OPF_NO_RETURN = 1u << 6,     /* ret exit: if unguarded, control does not continue in this function */
    OPF_CALL = 1u << 7,
    OPF_COMMUTES = 1u << 8,      /* the first two sources may be exchanged */
    OPF_VOLATILE = 1u << 9,      /* two executions may differ with equal operands (atomics, clock reads, activemask) */
    OPF_FENCE = 1u << 10,        /* orders memory: fence, membar */
    OPF_ASYNC = 1u << 11,        /* starts or waits for asynchronous work */
    OPF_CARRY_IN = 1u << 12,     /* from addc/subc/madc */
    OPF_CARRY_OUT = 1u << 13,    /* from .cc */
    OPF_UNIFORM_HINT = 1u << 14, /* .uni */
    OPF_CHEAP = 1u << 15,        /* it takes at most one issue slot, so it may be speculated when pure */
    OPF_ALIGNED = 1u << 16,      /* all lanes of the warp that have not left execute it together */
    OPF_OFFSET = 1u << 17,       /* its address may be a register plus a constant */
    OPF_ENDS_THREAD = 1u << 18,  /* exit, trap: a caller may not get control back */
    OPF_FUSES = 1u << 19,        /* ptxas makes one instruction of it and a reader in its block, such as a shift and the
                                    sum after it */
    /* These follow from the others, and no row has them. */
    OPF_PURE = 1u << 20,        /* see op_is_pure */
    OPF_PLAIN_ACCESS = 1u << 21 /* accesses memory weakly, and does nothing else */
};

/* Roles of operands, by position; see the legend of opcodes.def. */
typedef enum Role { ROLE_NONE, ROLE_DEF, ROLE_USE, ROLE_DEF_USE, ROLE_ADDRESS, ROLE_LABEL, ROLE_TABLE, ROLE_FUNCTION } Role;

enum { SHAPE_MAX = 16 /* the most letters of a shape */ };

typedef struct OpInfo {
    const Name *text; /* full dotted opcode */
    Opcode opcode;
    bool known;        /* opcode and every modifier are in the tables */
    const char *shape; /* the roles of the operands: see op_role */
    Type type[3];      /* of each type modifier, in textual order; TYPE_NONE if there are fewer */
    u8 types;
    Cmp cmp;        /* of setp and set; slct has none */
    BoolOp bool_op; /* setp/set combining with a third predicate */
    u8 vector;      /* elements: 1, or from .v2 .v4 .v8 (ld, st, tex...) */
    u8 space;       /* the Space of the memory operand: from the modifier, or generic if it has none */
    u8 space2;      /* the second space of copies and cvta-like opcodes (cp.async.bulk .dst.src), or SPACE_NONE */
    MemEffect mem;
    Strength strength;
    Uniformity uniformity;
    Sync sync;
    Async async;
    Sem sem;            /* what arithmetic computes */
    u8 access_bytes;    /* bytes that ld ldu st atom red touch at their address; 0: another opcode, extent unknown */
    u8 role[SHAPE_MAX]; /* the Role of each letter of the shape ... */
    u8 roles;           /* ... and how many there are */
    u8 operands_min;    /* the least and ... */
    u8 operands_max;    /* ... the most top-level operands that its shape allows; OPERANDS_ANY: no limit */
    u32 flags;          /* OpFlag */
    u32 initials;       /* initial letters of the modifiers: see op_has_modifier */
} OpInfo;

enum { OPERANDS_ANY = 255 };

/* The decoder and its cache; one per module. */
typedef struct Isa Isa;
Isa *isa_new(Arena *arena, Intern *names);
void isa_free(Isa *isa); /* what is not in the arena */
/* Decodes an opcode; never NULL. The first call for a name decodes it into the name's cache; later calls only load that. */
const OpInfo *isa_decode(Isa *isa, const char *text, u32 len);

/* The parts after an opcode's name, in the order in which PTX writes them; zeroed parts are omitted. */
typedef struct OpParts {
    Cmp cmp;
    BoolOp bool_op;
    bool uniform; /* .uni */
    bool wide;    /* .wide */
    bool high;    /* .hi */
    bool low;     /* .lo */
    Type type[2];
} OpParts;

/* The opcode with these parts; never NULL, like isa_decode(). */
const OpInfo *isa_op(Isa *isa, Opcode opcode, OpParts parts);
/* op with another comparison; NULL: op has none, or cannot have this one. */
const OpInfo *isa_with_cmp(Isa *isa, const OpInfo *op, Cmp cmp);
/* A comparison that also takes a third predicate, and combines it by bool_op. NULL: op is no comparison, or takes one already. */
const OpInfo *isa_with_bool_op(Isa *isa, const OpInfo *op, BoolOp bool_op);
/* op without the modifiers that stand for one of these OpFlags (OPF_UNIFORM_HINT: .uni); op itself if there are none. */
const OpInfo *isa_without(Isa *isa, const OpInfo *op, u32 flags);

/* The role of top-level operand `index` of `count`. is_address: the operand is written `[...]`. Shapes do not describe the
 * operands of calls: see ir/ir.h. Extra operands are uses. */
static inline Role op_role(const OpInfo *op, u32 index, u32 count, bool is_address)
{
    if (is_address)
        return ROLE_ADDRESS;
    if (count < op->operands_min || count > op->operands_max || !op->roles)
        return ROLE_DEF_USE;
    return (Role)op->role[index < op->roles ? index : op->roles - 1u];
}

static inline bool op_has(const OpInfo *op, u32 flag) { return (op->flags & flag) != 0; }
/* Whether an instruction of op may be deleted when dead, and repeated or moved to where its operands hold the same values.
 * It has no memory access, side effect or carry, and is not convergent, volatile or a terminator. The caller must check
 * whether an operand is a volatile special register. */
static inline bool op_is_pure(const OpInfo *op) { return op_has(op, OPF_PURE); }
/* Whether the dotted part (with its dot: ".relaxed") occurs in the opcode. Mostly it does not, and its first letter shows
 * that. */
static inline u32 modifier_initial(char c) { return 1u << ((u32)c & 31); }
bool op_text_has_modifier(const OpInfo *op, const char *part);
static inline bool op_has_modifier(const OpInfo *op, const char *part)
{
    return (op->initials & modifier_initial(part[1])) && op_text_has_modifier(op, part);
}

/* The comparison that holds exactly when `cmp` does not, on values of this class (floats: the unordered twin). CMP_NONE:
 * the class has none. */
Cmp cmp_inverse(Cmp cmp, TypeClass type);
/* The comparison that holds for (b, a) exactly when `cmp` holds for (a, b). */
Cmp cmp_swapped(Cmp cmp);
/* The outcomes for which a comparison holds; integers have the first three, as signed or unsigned numbers. */
enum { CMP_IF_LESS = 1, CMP_IF_EQUAL = 2, CMP_IF_GREATER = 4, CMP_IF_UNORDERED = 8 };
u32 cmp_outcomes(Cmp cmp);
const char *cmp_name(Cmp cmp);            /* "eq" */
const char *bool_op_name(BoolOp bool_op); /* "and" */

/* Special registers: sregs.def. */
typedef struct SregInfo {
    const char *name; /* "%tid" */
    u8 components;    /* 0: scalar; 4: .x .y .z .w, and it can be used as a vector */
    Type type;
    Uniformity uniformity; /* UNI_DIVERGENT, UNI_WARP or UNI_CTA (grid-wide values are UNI_CTA) */
    bool is_volatile;      /* two reads may differ: clocks, timers, %warpid, %smid, perf counters */
    u64 min, max;          /* bounds that always hold (of .x .y .z; .w is not used) */
} SregInfo;

/* Whether the register counts time, or events in the machine. */
bool sreg_measures(const SregInfo *sreg);

u32 sreg_count(void);
const SregInfo *sreg_info(u32 sreg); /* sreg in 0 .. sreg_count()-1 */
/* The index of the special register "%tid" or "%tid.x"; -1: there is none. *component becomes 0 for x, and so on; -1: whole
 * or scalar. Names with a number (%pm0, %envreg31) have one row each. */
int sreg_find(const char *text, u32 len, int *component);

/* ---- functions of the CUDA run-time system ----------------------------------------------------------------------- */

/* What such a function does besides reading and writing all memory (isa/runtime.def). */
enum RuntimeDoes { RUNTIME_ENDS = 1 << 0, RUNTIME_ANSWERS = 1 << 1, RUNTIME_WAITS = 1 << 2 };

typedef struct RuntimeInfo {
    const char *name, *shape;
    u8 does; /* RuntimeDoes */
} RuntimeInfo;

/* The function of this name, or NULL. */
const RuntimeInfo *runtime_find(const char *name);
/* The size in bytes of a result or parameter that a shape describes by the character `of`. */
u32 runtime_bytes(char of, u32 address_bytes);

#endif
