/* A module made ready to run: every function's blocks in one array of Codes, operands resolved to slots, constants and
 * addresses. Decoded before the first run; running changes nothing but the
 * marks of what was reached. */
#ifndef PTXRUN_PROGRAM_H
#define PTXRUN_PROGRAM_H

#include "check/exec/alu.h"
#include "base/fnvmap.h"
#include "ir/ir.h"
#include "check/exec/reconverge.h"

#define LANES 32
#define NO_PC UINT32_MAX

typedef struct Code Code;
typedef struct FnCode FnCode;
typedef struct Program Program;
struct Warp;
struct Split;

/* Executes one instruction for the lanes of `mask` (those of the split whose guard holds; none only of a branch). The split's pc
 * already stands at the next instruction. */
typedef void Handler(struct Warp *w, struct Split *s, const Code *c, u32 mask);

/* ---- operands ------------------------------------------------------------------------------------------------- */

typedef enum ArgKind {
    ARG_NONE,  /* absent, or the sink `_` */
    ARG_SLOT,  /* index: register slot of the frame */
    ARG_PRED,  /* index: predicate of the frame */
    ARG_CONST, /* index: into Program.constants */
    ARG_FRAME, /* address in local memory: add + the frame's base */
    ARG_SREG,  /* index: SregId */
} ArgKind;

typedef struct Arg {
    u8 kind;     /* ArgKind */
    u8 bits;     /* of the register; 1 for predicates */
    bool cooked; /* one of the fields below applies */
    bool invert; /* of a predicate */
    bool negate;
    u8 field_at, field_bits; /* .b1, .h0: part of the register; 0 bits: all of it */
    u32 index;
    i64 add;
} Arg;

typedef enum SregId {
    SREG_TID = 0, /* followed by .y, .z: index + 1, + 2 */
    SREG_NTID = 3,
    SREG_CTAID = 6,
    SREG_NCTAID = 9,
    SREG_VECTORS_END = 12,
    SREG_LANEID = SREG_VECTORS_END,
    SREG_WARPID,
    SREG_NWARPID,
    SREG_WARP_SIZE,
    SREG_SMID,
    SREG_NSMID,
    SREG_GRIDID,
    SREG_CLOCK,
    SREG_LANEMASK_EQ,
    SREG_LANEMASK_LT,
    SREG_LANEMASK_LE,
    SREG_LANEMASK_GT,
    SREG_LANEMASK_GE,
    SREG_DYNAMIC_SHARED,
    SREG_TOTAL_SHARED,
    SREG_ZERO,
    SREG_ONE,
} SregId;

/* ---- memory --------------------------------------------------------------------------------------------------- */

typedef enum MemSpace { MS_GLOBAL, MS_SHARED, MS_LOCAL, MS_CONST, MS_PARAM, MS_GENERIC, MS_COUNT } MemSpace;

/* The places of all variables of a space: an owner for every byte; 0: there is none. Gaps find stray accesses. */
typedef struct Layout {
    VEC(u16) owner;          /* by byte address */
    VEC(const char *) names; /* by owner; [0] unused */
} Layout;
u32 layout_add(Layout *l, const char *name, u64 bytes, u32 align); /* answers its address; 0: there is no room */
void layout_free(Layout *l);

/* A variable in .global, or a buffer of a launch. */
typedef struct GlobalVar {
    const char *name;
    u64 address, bytes;
    u8 *initial; /* NULL: zero */
    SymId sym;   /* 0: a buffer */
} GlobalVar;

/* ---- code ----------------------------------------------------------------------------------------------------- */

/* The places that control goes to from an instruction. */
typedef struct CodeFlow {
    u32 target, fall; /* pcs; NO_PC: none */
    u32 join[RECONVERGE_MODELS];
    u32 *table; /* brx: pcs */
    u32 entries;
    bool branches;     /* goes somewhere also where no lane takes it */
    bool fall_counted; /* going to `fall` takes a jump */
    bool ends;         /* returns or exits: in the kernel itself its lanes do nothing else */
} CodeFlow;

struct Code {
    Handler *run;
    const Instr *instr; /* what it was made of; NULL: a transfer without text */
    const AluOp *alu;
    Arg *result, *arg;
    u8 results, args;
    bool guarded, guard_not, counted; /* counted: costs an issue slot */
    u32 guard;                        /* predicate index */
    /* memory: arg[0] is the address, `offset` is added to it */
    i64 offset;
    ElemType type;
    u8 space;    /* MemSpace */
    u8 vector;   /* elements per access */
    bool strong; /* atomic, volatile, relaxed, ... */
    bool release, acquire;
    bool aligned; /* must be executed by the whole warp */
    u8 action;    /* which one of its family: per handler */
    u8 action2;
    CodeFlow flow;
    FnCode *callee; /* direct call */
    struct CallShape *call;
    const void *data; /* per handler */
};

/* How a call passes its parameters: bytes of the caller's local memory or a register on one side, the same on the other. */
typedef struct CallShape {
    Arg *in, *out; /* the caller's; ARG_FRAME: a .param variable */
    u32 ins, outs;
} CallShape;

typedef struct FnParam {
    Arg place; /* the callee's register; ARG_FRAME: in its local memory, or in the bank of an entry */
    u32 bytes; /* there */
} FnParam;

#define RETURNS_AS_CALLED UINT32_MAX

struct FnCode {
    Function *fn; /* its graph is built when it is decoded */
    const char *name;
    u32 index;
    bool decoded;
    VEC(Code) code;
    u8 *reached; /* by pc: set once it was executed */
    u32 slots, preds;
    Arg *reg;            /* by RegId */
    Layout local;        /* .local variables, parameters and .param variables of calls */
    FnParam *param;      /* returns first, like Function.params */
    u32 params, returns; /* returns of a function with register parameters: RETURNS_AS_CALLED */
    Layout bank;         /* entry: its parameters */
};

struct Program {
    Arena *arena;
    Module *module;
    const char *file;
    bool wide_addresses;     /* .address_size 64 */
    VEC(FnCode *) functions; /* definitions; a function's address names its index */
    VEC(u64) constants;      /* LANES copies of each */
    FnvMap constant_index;   /* value -> its number + 1 */
    bool takes_addresses;    /* of functions */
    VEC(GlobalVar) globals;
    Layout shared, constant_bank;
    u8 *constant_data;
    u32 dynamic_shared;            /* where extern shared arrays begin */
    i64 *sym_address;              /* by SymId */
    VEC(const char *) unsupported; /* "file:line: text" of each distinct thing that cannot run */
    const char *no_room;           /* "file: text" of a variable for which there is no room, so that nothing runs; NULL: none */
};

/* Places the variables; nothing is decoded yet. */
Program *program_new(Arena *arena, Module *module, const char *file);
/* Decodes a function and what it may call, unless that is done. Unsupported instructions are collected; running one ends
 * the run. */
void program_decode(Program *p, FnCode *entry);
void program_free(Program *p);
/* Places a variable or parameter in `l`, and answers its address. 0: there is no room, and Program.no_room says so. */
u32 program_place(Program *p, Layout *l, SymId id, u64 bytes, u32 align);
FnCode *program_function(const Program *p, const char *name); /* a definition, or NULL */

Handler run_return, run_barrier;

#define FUNCTION_ADDRESS(index) (0x5000000000u + 16 * (u64)(index))
/* "file:line: text" of an instruction, in the program's arena. */
const char *code_location(const Program *p, const Code *c);

#endif
