/* One thing in the function becomes another: a constant, an operand, a guard, a branch, an instruction that goes, a promise. Which
 * one, the name and the size of the function say. What becomes of it may be right by chance. */
#include "ir/edit.h"
#include "ir/inspect.h"
#include "base/random.h"
#include "phase/phase.h"

enum { TRIES = 200 };

static u64 seed_of(const Function *fn)
{
    u64 hash = 0xcbf29ce484222325u ^ fn->module->text.len;
    for (u32 k = 0; k < fn->name->len; k++)
        hash = (hash ^ (u8)fn->name->text[k]) * 0x100000001b3u;
    return hash;
}

static Instr *pick(Function *fn, u64 *random)
{
    u32 n = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            n += i->kind == INSTR_OP;
    u32 at = n ? (u32)(splitmix64(random) % n) : 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            if (i->kind == INSTR_OP && at-- == 0)
                return i;
    return NULL;
}

static bool change_operand(Instr *i, u64 *random)
{
    Operand slots[16];
    if (i->slots == 0 || i->slots > COUNT_OF(slots) || op_has(i->op, OPF_CALL | OPF_TERMINATOR))
        return false;
    for (u32 k = 0; k < i->slots; k++)
        slots[k] = i->opnd[k];
    Operand *o = &slots[splitmix64(random) % i->slots];
    const Operand *other = &slots[splitmix64(random) % i->slots];
    if (o->kind == OPND_IMM)
        o->value += 1 + (i64)(splitmix64(random) % 4);
    else if (o->kind == OPND_REG && other->kind == OPND_REG && other->id != o->id && o->role != ROLE_DEF &&
             other->role != ROLE_DEF && fn_reg(i->block->fn, o->id)->type == fn_reg(i->block->fn, other->id)->type)
        o->id = other->id;
    else
        return false;
    instr_set_operands(i, slots, i->slots);
    return true;
}

static bool change_branch(Instr *i, u64 *random)
{
    if (block_two_way_branch(i->block) != i)
        return false;
    if (splitmix64(random) % 2)
        block_swap_successors(i->block);
    else
        instr_set_guard(i, i->guard, !i->guard_not);
    return true;
}

static bool change(Instr *i, u64 *random)
{
    switch (splitmix64(random) % 5) {
    case 0:
    case 1: return change_operand(i, random);
    case 2:
        if (!i->guard || op_has(i->op, OPF_TERMINATOR))
            return false;
        instr_set_guard(i, splitmix64(random) % 2 ? i->guard : 0, !i->guard_not);
        return true;
    case 3: return change_branch(i, random);
    default:
        if (op_has(i->op, OPF_TERMINATOR | OPF_CALL))
            return false;
        instr_remove(i);
        return true;
    }
}

Phase fault_random_change;
PhaseResult fault_random_change(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    u64 random = seed_of(an->fn);
    if (!run->first_round || run->iteration > 0)
        return PHASE_UNCHANGED;
    for (u32 k = 0; k < TRIES; k++) {
        Instr *i = pick(an->fn, &random);
        if (i && phase_may_rewrite(run) && change(i, &random))
            return PHASE_CHANGED;
    }
    return PHASE_UNCHANGED;
}
