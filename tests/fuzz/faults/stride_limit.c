/* A loop whose step is in a register runs four iterations at a time while one remains, or without asking whether its step may wrap;
 * or it loads twice in a copy, or loads before a store of the copy before that may write there. */
#include "made.h"
#include "ir/edit.h"

/* `sub limit, bound, three`: nothing is taken off. */
static void raise_limit(Instr *i)
{
    if (made_is(i, OPC_SUB))
        made_copies(i);
}

/* `and fits, positive, reaches`: whatever the step is. */
static void drop_guard(Instr *i)
{
    if (made_is(i, OPC_SETP) && i->op->type[0] == TYPE_U64 && instr_operand(i, 2)->kind == OPND_IMM)
        *instr_operand(i, 2) = build_integer(UINT64_MAX, 64, false);
    if (made_is(i, OPC_SETP) && i->op->cmp == CMP_GE && i->op->type[0] == TYPE_S64)
        *instr_operand(i, 2) = *instr_operand(i, 1);
}

/* A copy of a load stands behind it. Memory is left as it was. */
static void load_twice(Instr *i)
{
    if (i->kind == INSTR_OP && i->op->opcode == OPC_LD && i->op->space == SPACE_GLOBAL && i->next)
        instr_insert_before(i->next, instr_clone(i->block->fn, i));
}

static bool is_global(const Instr *i, Opcode opcode)
{
    return i->kind == INSTR_OP && i->op->opcode == opcode && i->op->space == SPACE_GLOBAL && !i->guard;
}

/* The load that follows in the block, with no other store in between. */
static Instr *next_load(const Instr *store)
{
    for (Instr *i = store->next; i && !is_global(i, OPC_ST); i = i->next)
        if (is_global(i, OPC_LD))
            return i;
    return NULL;
}

/* The store stands behind the next load, with what it reads kept for it. */
static void store_late(Instr *i)
{
    Instr *load = is_global(i, OPC_ST) ? next_load(i) : NULL;
    if (!load || !load->next)
        return;
    Builder at = build_before(i);
    for (RegWalk w = reg_walk(i); next_read(&w);) {
        Type type = fn_reg(i->block->fn, w.reg)->type;
        OpParts move = {.type = {bits_type(type_bits(type))}};
        instr_rename(i, w.reg, build_unary(&at, OPC_MOV, move, type, register_operand(w.reg)), true, false);
    }
    instr_remove(i);
    instr_insert_before(load->next, i);
}

extern Phase phase_stride_unroll;

/* Runs it wherever that is sound, and not only where it pays. */
static PhaseResult unrolled_wrongly(Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i))
{
    Knobs all = *knobs;
    all.enable_stride_unroll = true;
    return made_wrongly(phase_stride_unroll, an, &all, run, spoil);
}

Phase fault_stride_limit, fault_stride_guard, fault_stride_twice, fault_stride_alias;
PhaseResult fault_stride_limit(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, raise_limit);
}
PhaseResult fault_stride_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, drop_guard);
}
PhaseResult fault_stride_twice(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, load_twice);
}
PhaseResult fault_stride_alias(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return unrolled_wrongly(an, knobs, run, store_late);
}
