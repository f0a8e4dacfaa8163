/* A loop runs without its bounds checks although one fails: in the last iteration, since a sum wraps, since numbers have a sign, since what is
 * divided or clamped is negative, or since another array is longer. */
#include "made.h"

static bool is_compare(const Instr *i)
{
    return made_is(i, OPC_SETP) && (i->op->sem.from == 32 || i->op->sem.from == 64) && i->op->cmp >= CMP_LT;
}

static void set_op(Instr *i, Cmp cmp, Type type)
{
    OpParts parts = {.cmp = cmp, .bool_op = i->op->bool_op, .type = {type}};
    instr_set_op(i, isa_op(i->block->fn->module->isa, OPC_SETP, parts));
}

static Operand *bound_of(Instr *i) { return instr_operand(i, 2); }

/* `less` of two registers becomes `less or equal`. */
static void allow_equal(Instr *i)
{
    if (is_compare(i) && i->op->cmp == CMP_LT && bound_of(i)->kind == OPND_REG)
        set_op(i, CMP_LE, i->op->type[0]);
}

/* What compares with a constant always holds. */
static void drop_limit(Instr *i)
{
    if (!is_compare(i) || bound_of(i)->kind != OPND_IMM || i->op->cmp == CMP_NE)
        return;
    Operand x = *instr_operand(i, 1);
    *bound_of(i) = x;
    set_op(i, CMP_LE, i->op->type[0]);
}

static void take_sign(Instr *i)
{
    if (is_compare(i) && type_class(i->op->type[0]) == TC_UNSIGNED)
        set_op(i, i->op->cmp, signed_type(type_bits(i->op->type[0])));
}

/* Two comparisons of one width that follow each other have the bound of the second one. */
static void take_other(Instr *i)
{
    Instr *next = i->next;
    while (next && !is_compare(next))
        next = next->next;
    if (is_compare(i) && next && type_bits(i->op->type[0]) == type_bits(next->op->type[0]) &&
        bound_of(i)->kind == OPND_REG && bound_of(next)->kind == OPND_REG)
        *bound_of(i) = *bound_of(next);
}

/* What has to be not negative may be negative. */
static void allow_negative(Instr *i)
{
    if (is_compare(i) && i->op->cmp == CMP_GE && type_class(i->op->type[0]) == TC_SIGNED && bound_of(i)->kind == OPND_IMM &&
        bound_of(i)->value == 0)
        drop_limit(i);
}

extern Phase phase_loop_version;
Phase fault_version_last, fault_version_wrap, fault_version_sign, fault_version_array, fault_version_negative;
PhaseResult fault_version_last(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_version, an, knobs, run, allow_equal);
}
PhaseResult fault_version_wrap(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_version, an, knobs, run, drop_limit);
}
PhaseResult fault_version_negative(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_version, an, knobs, run, allow_negative);
}
PhaseResult fault_version_sign(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_version, an, knobs, run, take_sign);
}
PhaseResult fault_version_array(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return made_wrongly(phase_loop_version, an, knobs, run, take_other);
}
