/* Makes instructions where phases want them. A new instruction has the scope of its place and no text of its own. The
 * caller must see to it that it means what was there before. */
#ifndef PTXOPT_IR_BUILDER_H
#define PTXOPT_IR_BUILDER_H

#include "ir/edit.h"

/* The place where instructions go: in front of `before`, or, if that is NULL, at the end of `block` before its terminator. */
typedef struct Builder {
    Function *fn;
    Block *block;
    Instr *before;
} Builder;

static inline Builder build_at_end(Block *b) { return (Builder){.fn = b->fn, .block = b}; }
static inline Builder build_before(Instr *at) { return (Builder){.fn = at->block->fn, .block = at->block, .before = at}; }

static inline Operand register_operand(RegId reg) { return (Operand){.kind = OPND_REG, .id = reg}; }
/* The integer types of 16, 32 or 64 bits. */
static inline Type signed_type(u32 bits) { return bits == 16 ? TYPE_S16 : bits == 32 ? TYPE_S32 : TYPE_S64; }
static inline Type unsigned_type(u32 bits) { return bits == 16 ? TYPE_U16 : bits == 32 ? TYPE_U32 : TYPE_U64; }
static inline Type bits_type(u32 bits) { return bits == 16 ? TYPE_B16 : bits == 32 ? TYPE_B32 : TYPE_B64; }

/* The low `bits` (1 .. 64) of a value, written as a signed or an unsigned number. */
Operand build_integer(u64 value, u32 bits, bool is_signed);

/* Makes an instruction with the opcode that isa_op() has for `opcode` and `parts`; answers the instruction. */
Instr *build(const Builder *at, Opcode opcode, OpParts parts, const Operand *slots, u32 count);
/* Makes an instruction whose first operand is a new register of this type, which is the answer. At most 7 sources follow. */
RegId build_value(const Builder *at, const OpInfo *op, Type type, const Operand *sources, u32 count);
RegId build_unary(const Builder *at, Opcode opcode, OpParts parts, Type type, Operand source);
RegId build_binary(const Builder *at, Opcode opcode, OpParts parts, Type type, Operand left, Operand right);
/* build_copy() makes a `mov` of `from` to `to`; build_can_copy() says whether registers of a type can be moved. */
bool build_can_copy(Type type);
Instr *build_copy(const Builder *at, RegId to, RegId from);
/* Makes a clone of i that writes a new register of this type instead of i's first operand; answers the register. */
RegId build_clone(const Builder *at, const Instr *i, Type type);

/* Puts `.pragma "nounroll"` in front of everything in b. */
void build_nounroll(Block *b);

/* Makes an empty table for the targets of a brx in b; answers its index, for OPND_TABLE. */
u32 table_new(Block *b);
void table_add(Function *fn, u32 table, const Block *to);

#endif
