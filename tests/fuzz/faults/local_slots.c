/* What is wrong about slots of local variables in registers. */
#include "ir/builder.h"
#include "made.h"

/* `prmt word, word, part`: a part that is stored is forgotten. */
static void lose_part(Instr *i)
{
    if (made_is(i, OPC_PRMT) && i->opnd[0].id == i->opnd[1].id)
        made_copies(i);
}

/* `mov {low, high}, wide` and back. */
static void exchange_halves(Instr *i)
{
    for (u32 k = 0; made_is(i, OPC_MOV) && k + 2 < i->slots; k++)
        if (i->opnd[k].kind == OPND_VEC) {
            SWAP(i->opnd[k + 1], i->opnd[k + 2]);
            i->changed = true;
        }
}

/* A store that is not executed changes the slot all the same. */
static void drop_guard(Instr *i)
{
    if (i->guard && made_is(i, OPC_MOV))
        instr_set_guard(i, 0, false);
}

extern Phase phase_local_to_registers;
Phase fault_local_part, fault_local_halves, fault_local_guard, fault_local_escape, fault_local_overlap;
PhaseResult fault_local_part(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_local_to_registers, an, knobs, run, lose_part);
}
PhaseResult fault_local_halves(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_local_to_registers, an, knobs, run, exchange_halves);
}
PhaseResult fault_local_guard(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_local_to_registers, an, knobs, run, drop_guard);
}

/* ---- slots that others access, too ----------------------------------------------------------------------------- */

/* The place of an access by the name of a variable, of `bits`; NULL: it is another instruction. */
static const Operand *named_place(const Function *fn, const Instr *i, u32 bits)
{
    bool loads = i->kind == INSTR_OP && i->op->opcode == OPC_LD;
    if ((!loads && (i->kind != INSTR_OP || i->op->opcode != OPC_ST)) || i->op->space != SPACE_LOCAL || i->op->vector != 1)
        return NULL;
    const Operand *place = &i->opnd[loads ? 2 : 1], *data = instr_operand(i, loads ? 0 : 1);
    bool fits = data->kind == OPND_REG && type_bits(fn_reg(fn, data->id)->type) == bits;
    return fits && place->kind == OPND_SYM && type_bits(i->op->type[0]) == bits ? place : NULL;
}

/* Each place that is accessed by a name, with that many bits, gets a register of its own, whatever else accesses it. */
static PhaseResult forget_others(Analyses *an, PhaseRun *run, u32 bits)
{
    Function *fn = an->fn;
    FnvMap slot = {0};
    bool changed = false;
    for_each_block(b, fn)
        for (Instr *i = b->first, *next; i; i = next) {
            const Operand *place = named_place(fn, i, bits);
            next = i->next;
            if (!place || !phase_may_rewrite(run))
                continue;
            u64 *reg = fnvmap_at(&slot, (u64)place->id << 32 | (u32)place->value);
            *reg = *reg ? *reg : reg_new(fn, bits_type(bits));
            bool loads = i->op->opcode == OPC_LD;
            Operand data = *instr_operand(i, loads ? 0 : 1), to = register_operand((RegId)*reg);
            Builder at = build_before(i);
            Instr *made = build(&at, OPC_MOV, (OpParts){.type = {bits_type(bits)}},
                                (Operand[]){loads ? data : to, loads ? to : data}, 2);
            instr_set_guard(made, i->guard, i->guard_not);
            instr_remove(i);
            changed = true;
        }
    fnvmap_free(&slot);
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}

PhaseResult fault_local_escape(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    return forget_others(an, run, 32);
}
PhaseResult fault_local_overlap(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    return forget_others(an, run, 64);
}
