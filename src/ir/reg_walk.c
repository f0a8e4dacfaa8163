#include "ir/reg_walk.h"

#include "base/bitset.h"
#include "base/bound.h"

bool instr_kills(const Instr *i, RegId reg)
{
    if (i->def_slots == 1 && i->opnd[0].kind == OPND_REG && i->opnd[0].id == reg) /* as nearly always */
        return slot_kills(i, &i->opnd[0]);
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (w.reg == reg && w.kills)
            return true;
    return false;
}

bool instr_writes_between(const Instr *from, const Instr *to, RegId reg)
{
    for (const Instr *i = from->next; i != to; i = i->next)
        if (i->kind == INSTR_OP && instr_writes(i, reg))
            return true;
    return false;
}

Instr *instr_last_write(const Instr *at, RegId reg)
{
    enum { LAST_WRITE_STEPS = 256 }; /* keeps the phases linear */
    u32 steps = 0;
    for (Instr *i = at->prev; i && WITHIN(LAST_WRITE_STEPS, steps < LAST_WRITE_STEPS); i = i->prev) {
        if (i->kind == INSTR_OP && instr_writes(i, reg))
            return i;
        steps += i->kind == INSTR_OP;
    }
    return NULL;
}

Instr *local_definition(const Instr *at, RegId reg)
{
    Instr *i = instr_last_write(at, reg);
    return i && instr_kills(i, reg) ? i : NULL;
}

bool instr_reads(const Instr *i, RegId reg)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (w.reg == reg)
            return true;
    return false;
}

Instr **instr_only_writes(Arena *arena, const Function *fn)
{
    Instr **only = arena_array(arena, Instr *, fn->regs.n);
    BitSet again = bitset_new(arena, fn->regs.n);
    for_each_block(b, fn)
        for_each_instr(i, b)
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_write(&w);) {
                if (only[w.reg])
                    bitset_add(&again, w.reg);
                only[w.reg] = bitset_has(&again, w.reg) ? NULL : i;
            }
    return only;
}
