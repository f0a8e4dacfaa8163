#define _GNU_SOURCE /* memmem */
#include "phase/tail/instr_match.h"

#include <string.h>

#include "ir/edit.h"
#include "ir/inspect.h"
#include "transform/condition.h"

/* ---- operands -------------------------------------------------------------------------------------------------- */

static bool slots_alike(const PairVisitor *visit, const Operand *a, const Operand *b)
{
    u8 written = (u8)~OPNDF_UNSIGNED; /* 1U is 1 */
    if (a->kind != b->kind || a->sub != b->sub || a->value != b->value || (a->flags & written) != (b->flags & written))
        return false;
    if (a->kind == OPND_REG || a->id == b->id)
        return true;
    return a->kind == OPND_SYM && visit->symbol && visit->symbol(visit->user, a->id, b->id);
}

/* The slot of the first of two sources that may be exchanged; 0: there are none. */
static u32 first_commuting_slot(const Instr *i)
{
    u32 first = i->slots ? operand_slots(i->opnd) : 0;
    if (!op_has(i->op, OPF_COMMUTES) || first + 1 >= i->slots)
        return 0;
    return operand_is_aggregate(&i->opnd[first]) || operand_is_aggregate(&i->opnd[first + 1]) ? 0 : first;
}

/* The operand of b that corresponds to slot k of a. */
static const Operand *counterpart(const Instr *a, const Instr *b, u32 k, bool exchanged)
{
    u32 first = exchanged ? first_commuting_slot(a) : 0;
    if (first && k == first)
        return &b->opnd[k + 1];
    if (first && k == first + 1)
        return &b->opnd[k - 1];
    return &b->opnd[k];
}

static u32 rate_slots(const PairVisitor *visit, const Instr *a, const Operand *a_slot, const Instr *b,
                      const Operand *b_slot)
{
    if (!slots_alike(visit, a_slot, b_slot))
        return 0;
    return a_slot->kind == OPND_REG ? visit->rate(visit->user, a, a_slot->id, b, b_slot->id) : 1;
}

static u32 rate_order(const PairVisitor *visit, const Instr *a, const Instr *b, u32 first, bool exchanged)
{
    u32 one = rate_slots(visit, a, &a->opnd[first], b, counterpart(a, b, first, exchanged));
    u32 two = rate_slots(visit, a, &a->opnd[first + 1], b, counterpart(a, b, first + 1, exchanged));
    return one && two ? one + two : 0;
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

bool match_instrs_alike(const PairVisitor *visit, const Instr *a, const Instr *b, bool *exchanged)
{
    *exchanged = false;
    if (a->op != b->op || a->slots != b->slots || !a->guard != !b->guard || a->guard_not != b->guard_not)
        return false;
    u32 first = first_commuting_slot(a);
    if (first && first_commuting_slot(b) == first)
        *exchanged = rate_order(visit, a, b, first, true) > rate_order(visit, a, b, first, false);
    for (u32 k = 0; k < a->slots; k++)
        if (!slots_alike(visit, &a->opnd[k], counterpart(a, b, k, *exchanged)))
            return false;
    return true;
}

bool match_visit_reads(const PairVisitor *visit, const Instr *a, const Instr *b, bool exchanged)
{
    if (a->guard && !visit->read(visit->user, a->guard, b->guard))
        return false;
    if (instr_is(a, OPF_CARRY_IN) && !visit->read(visit->user, CARRY_REG, CARRY_REG))
        return false;
    for (u32 k = 0; k < a->slots; k++)
        if (slot_is_use(&a->opnd[k]) && !visit->read(visit->user, a->opnd[k].id, counterpart(a, b, k, exchanged)->id))
            return false;
    return true;
}

bool match_visit_writes(const PairVisitor *visit, const Instr *a, const Instr *b)
{
    RegWalk of_b = reg_walk(b);
    for (RegWalk of_a = reg_walk(a); next_write(&of_a);)
        if (!next_write(&of_b) || !visit->write(visit->user, of_a.reg, of_b.reg, of_a.kills))
            return false;
    return true;
}

bool match_pragmas_alike(const Function *fn, const Instr *a, const Instr *b)
{
    Str text = span_str(fn->module, a->text);
    return memmem(text.p, text.len, "used_bytes_mask", 15) && str_equal(text, span_str(fn->module, b->text));
}

/* ---- operands that must stay what and where they are ------------------------------------------------------------- */

SymId match_call_argument(const Instr *i)
{
    const Function *fn = i->block->fn;
    for_each_slot(o, i) {
        const Sym *sym = o->kind == OPND_SYM ? &fn->module->syms.v[o->id] : NULL;
        if (sym && sym->kind == SYM_VAR && sym->space == SPACE_PARAM && sym->owner == fn)
            return o->id;
    }
    return 0;
}

void match_find_in_flight(const Function *fn, BitSet *registers)
{
    for_each_block(b, fn)
        for_each_instr(i, b) {
            if (!instr_is(i, OPF_ASYNC) || !op_has(i->op, OPF_CONVERGENT))
                continue;
            for_each_slot(o, i)
                if (o->kind == OPND_REG)
                    bitset_add(registers, o->id);
        }
}

/* ---- definitions ----------------------------------------------------------------------------------------------- */

static u32 distance(const Instr *from, const Instr *to)
{
    u32 steps = 0;
    for (; from != to; from = from->next)
        steps += from->kind == INSTR_OP;
    return steps;
}

DefinitionsAlike match_definitions_alike(const Instr *a, RegId a_reg, const Instr *b, RegId b_reg)
{
    const Instr *a_def = local_definition(a, a_reg), *b_def = local_definition(b, b_reg);
    if (!a_def || !b_def)
        return a_def == b_def ? DEFINED_ELSEWHERE : DEFINED_DIFFERENTLY;
    return a_def->op == b_def->op && distance(a_def, a) == distance(b_def, b) ? DEFINED_ALIKE : DEFINED_DIFFERENTLY;
}

bool match_loads_constant(const Instr *i)
{
    return i->kind == INSTR_OP && i->op->opcode == OPC_MOV && i->slots == 2 && i->opnd[0].kind == OPND_REG &&
           (i->opnd[1].kind == OPND_IMM || i->opnd[1].kind == OPND_FLOAT);
}

Instr *match_item_before(const Instr *i)
{
    Instr *before = i->prev;
    while (before && before->kind == INSTR_LOC)
        before = before->prev;
    return before;
}
