/* Questions about operands, instructions and blocks that several analyses or phases ask. */
#ifndef PTXOPT_IR_INSPECT_H
#define PTXOPT_IR_INSPECT_H

#include "ir/ir.h"

/* The register that o is as a whole, negated or not. 0: o is a component, a register plus a constant, anything else, or NULL. */
static inline RegId operand_register(const Operand *o)
{
    return o && o->kind == OPND_REG && o->sub == SUB_NONE && o->value == 0 ? o->id : 0;
}

/* The register whose value o has. It is 0 where operand_register() is, and for `!p` and `-r`. */
static inline RegId operand_plain_register(const Operand *o) { return o && !o->flags ? operand_register(o) : 0; }

/* Whether o is a clock, a timer or another special register for which two reads may differ. */
static inline bool operand_is_volatile(const Operand *o) { return o->kind == OPND_SREG && sreg_info(o->id)->is_volatile; }

static inline bool instr_reads_volatile_register(const Instr *i)
{
    for_each_slot(o, i)
        if (operand_is_volatile(o))
            return true;
    return false;
}

/* The function of the CUDA run-time system that the module declares by this symbol, or NULL. The declaration is .extern,
 * has the shape of that function, and has no body. */
const RuntimeInfo *call_runtime(const Module *m, SymId id);

/* Whether i does nothing but load one number from a parameter of its kernel, at a constant place inside it. Parameters are
 * never written, so the load cannot fault, nobody observes it, and it reads the same everywhere. */
bool instr_loads_parameter(const Instr *i);

/* The most threads that a block of the kernel has in dimension d; 0: unknown. .maxntid bounds their number in all
 * dimensions together, which none exceeds by itself. */
static inline u64 block_extent(const Function *fn, u32 d)
{
    if (!fn->is_entry || fn->tuning.block_shape[0] <= 0)
        return 0;
    if (fn->tuning.shape_exact)
        return (u64)fn->tuning.block_shape[d];
    return (u64)fn->tuning.block_shape[0] * (u64)fn->tuning.block_shape[1] * (u64)fn->tuning.block_shape[2];
}

/* The values that the special register o, a scalar or one component, may have on any GPU, as far as .reqntid and .maxntid
 * bound them. */
void fn_sreg_bounds(const Function *fn, const Operand *o, u64 *least, u64 *most);

static inline bool regs_have(const RegId *v, u32 n, RegId reg)
{
    u32 k = 0;
    while (k < n && v[k] != reg)
        k++;
    return k < n;
}

/* Whether b holds a pragma. It has an effect only in the block that a back edge enters, so b must not be joined with the one before. */
static inline bool block_has_pragma(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_PRAGMA)
            return true;
    return false;
}

/* Whether something that the IR does not know names one of b's labels, so that the block must stay where it is. */
static inline bool block_is_pinned(const Block *b)
{
    for (const Label *l = b->labels; l; l = l->next)
        if (l->pinned)
            return true;
    return false;
}

/* The first instruction of b that executes, or NULL. */
static inline const Instr *block_first_op(const Block *b)
{
    const Instr *i = b->first;
    while (i && i->kind != INSTR_OP)
        i = i->next;
    return i;
}

/* The guarded bra at the end of b, or NULL. Both of its successors may be one block. */
static inline Instr *block_conditional_branch(const Block *b)
{
    Instr *end = block_terminator(b);
    return end && end->guard && branch_target(end) ? end : NULL;
}

/* The guarded bra at the end of b if it has two different successors, or NULL. */
static inline Instr *block_two_way_branch(const Block *b)
{
    Instr *branch = block_conditional_branch(b);
    return branch && b->fall && branch_target(branch) != b->fall ? branch : NULL;
}

#endif
