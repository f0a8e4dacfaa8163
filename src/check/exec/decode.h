/* Between decode.c, which walks a function, and the ops_*.c files, each of which decodes and runs one family of opcodes. */
#ifndef PTXRUN_DECODE_H
#define PTXRUN_DECODE_H

#include "check/exec/machine.h"
#include "check/exec/variables.h"

typedef struct Decoder {
    Program *p;
    FnCode *f;
    const Instr *i;
    Op op;
    Code *c;
    const Operand *opnd[16]; /* top-level operands */
    u32 opnds;
    bool bad; /* some operand is not understood */
} Decoder;

/* Fills in d->c. False: unsupported; also when parts of d->op are left or d->bad is set. */
typedef bool DecodeFn(Decoder *d);

typedef struct DecodeRow {
    const char *name;
    DecodeFn *decode;
} DecodeRow;

extern const DecodeRow rows_alu[], rows_memory[], rows_lanes[], rows_control[],
    rows_matrix[];          /* each ends with a NULL name */
DecodeFn decode_warp_sync;  /* bar.warp.sync */
DecodeFn decode_arithmetic; /* whatever alu_pick() knows */
/* The handler that runs a call of a function of the run-time system; NULL: there is none. */
Handler *builtin_find(const Module *m, SymId callee);

/* A source of that type: register, constant, address, special register. Floating-point literals become its bits. */
Arg decode_source(Decoder *d, const Operand *o, ElemType type);
Arg decode_result(Decoder *d, const Operand *o);
/* Reserves two results and so many sources, and takes one result or two: `d`, `d|p`, `{d, p}`. Answers how many there are. */
u32 decode_results(Decoder *d, const Operand *o, u32 args);
/* Room for the Code's operands. */
void decode_reserve(Decoder *d, u32 results, u32 args);
/* The members of an aggregate, or the operand itself when it is none; answers how many. */
u32 decode_members(const Operand *o, const Operand **member, u32 max);
/* The registers or constants of an operand of so many bits, least significant first. They are the members of a vector,
 * the slots of a register that has several, or itself. Answers how many, at most DECODE_PIECES; 0: they do not divide
 * it. */
enum { DECODE_PIECES = 8 };
u32 decode_pieces(Decoder *d, const Operand *o, Arg *args, bool is_result, ElemKind kind, u32 total);
/* `[base+offset]` into arg[0] and offset; the symbol's space, where it has one that the opcode's `space` leaves open. */
bool decode_address(Decoder *d, const Operand *o, Arg *base, i64 *offset, MemSpace *space);
/* .shared, .shared::cta ...: MS_GENERIC when there is none. */
MemSpace decode_take_space(Decoder *d);

static const ElemType elem_u32 = {EK_UNSIGNED, 32, 1}, elem_b32 = {EK_BITS, 32, 1}, elem_b64 = {EK_BITS, 64, 1},
                      elem_pred = {EK_PRED, 1, 1}, elem_f32 = {EK_FLOAT, 32, 1};

#endif
