/* The registers that one instruction reads and writes. The carry (add.cc ... addc) is one more register: CARRY_REG. */
#ifndef PTXOPT_IR_REG_WALK_H
#define PTXOPT_IR_REG_WALK_H

#include "base/arena.h"
#include "ir/ir.h"

#define CARRY_REG 0u /* RegId 0 names no register, so it is free for the carry */

/* for (RegWalk w = reg_walk(i); next_read(&w);) ... visits guard, carry and operands as w.reg; a register may come twice.
 * next_write() visits writes; w.kills: nothing of the old value is left. */
typedef struct RegWalk {
    const Instr *i;
    u32 at;
    RegId reg;
    bool kills;
} RegWalk;

/* Place 0 is the guard, 1 the carry; the operand slots follow. */
static inline RegWalk reg_walk(const Instr *i) { return (RegWalk){.i = i}; }

static inline bool next_read(RegWalk *walk)
{
    const Instr *i = walk->i;
    if (walk->at == 0) {
        walk->at = 1;
        if (i->guard) {
            walk->reg = i->guard;
            return true;
        }
    }
    if (walk->at == 1) {
        walk->at = 2;
        if (instr_is(i, OPF_CARRY_IN)) {
            walk->reg = CARRY_REG;
            return true;
        }
    }
    while (walk->at < i->slots + 2u) {
        const Operand *o = &i->opnd[walk->at++ - 2];
        if (slot_is_use(o)) {
            walk->reg = o->id;
            return true;
        }
    }
    return false;
}

/* Whether slot o, which i writes, leaves nothing of the register's old value. */
static inline bool slot_kills(const Instr *i, const Operand *o)
{
    return !i->guard && o->role == ROLE_DEF && o->sub == SUB_NONE;
}

static inline bool next_write(RegWalk *walk)
{
    const Instr *i = walk->i;
    if (walk->at < 2) {
        walk->at = 2;
        if (instr_is(i, OPF_CARRY_OUT)) {
            walk->reg = CARRY_REG;
            walk->kills = !i->guard;
            return true;
        }
    }
    while (walk->at < i->def_slots + 2u) {
        const Operand *o = &i->opnd[walk->at++ - 2];
        if (slot_is_def(o)) {
            walk->reg = o->id;
            walk->kills = slot_kills(i, o);
            return true;
        }
    }
    return false;
}

bool instr_reads(const Instr *i, RegId reg);
/* Whether i writes reg and leaves nothing of its old value. */
bool instr_kills(const Instr *i, RegId reg);
/* Whether an instruction after `from` and before `to` (NULL: the end of the block) writes reg. */
bool instr_writes_between(const Instr *from, const Instr *to, RegId reg);
/* The last write of reg before `at`, in its block as it is now; NULL: none of the 256 instructions before it writes reg.
 * analysis/ssa.h answers what reaches `at` from other blocks. */
Instr *instr_last_write(const Instr *at, RegId reg);
/* The write that gives `reg` its value at `at` within at's block, if it is unguarded and writes all of it; otherwise NULL. */
Instr *local_definition(const Instr *at, RegId reg);

/* By RegId: the only instruction of the function that writes the register; NULL: none or several do. In the arena. */
Instr **instr_only_writes(Arena *arena, const Function *fn);

/* Whether i writes reg, unconditionally or not. */
static inline bool instr_writes(const Instr *i, RegId reg)
{
    if (reg == CARRY_REG)
        return instr_is(i, OPF_CARRY_OUT);
    for (u32 k = 0; k < i->def_slots; k++)
        if (i->opnd[k].id == reg && slot_is_def(&i->opnd[k]))
            return true;
    return false;
}

#endif
