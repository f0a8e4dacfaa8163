/* A loop runs without its range guards in an iteration in which one fails: in the one before they hold, in the one after, since a number
 * that is compared wraps, or since numbers have a sign. */
#include "made.h"

/* `sub way, at, start`, of a bound that was brought between two values, is one less or more. */
static void add_to_way(Instr *i, int more)
{
    if (!made_is(i, OPC_SUB) || !i->prev || (!made_is(i->prev, OPC_MIN) && !made_is(i->prev, OPC_MAX)))
        return;
    Operand way = *instr_operand(i, 0);
    u32 bits = type_bits(i->op->type[0]);
    Builder at = build_before(i->next);
    build(&at, OPC_ADD, (OpParts){.type = {signed_type(bits)}}, (Operand[]){way, way, build_integer((u64)more, bits, true)},
          3);
}

static void begin_early(Instr *i) { add_to_way(i, -1); }
static void end_late(Instr *i) { add_to_way(i, 1); }

static void set_cmp(Instr *i, Cmp cmp)
{
    OpParts parts = {.cmp = cmp, .bool_op = i->op->bool_op, .type = {i->op->type[0]}};
    instr_set_op(i, isa_op(i->block->fn->module->isa, OPC_SETP, parts));
}

/* The value after the last iteration may be on either side of the first one. */
static void allow_wrap(Instr *i)
{
    if (made_is(i, OPC_SETP) && (i->op->cmp == CMP_GT || i->op->cmp == CMP_LT) && i->prev &&
        (made_is(i->prev, OPC_ADD) || made_is(i->prev, OPC_SUB)))
        set_cmp(i, CMP_NE);
}

/* A bound of unsigned numbers may be negative as a signed one. */
static void allow_negative(Instr *i)
{
    if (!made_is(i, OPC_SETP) || i->op->cmp != CMP_GE || instr_operand(i, 2)->kind != OPND_IMM ||
        instr_operand(i, 2)->value)
        return;
    *instr_operand(i, 2) = build_integer((u64)1 << (type_bits(i->op->type[0]) - 1), type_bits(i->op->type[0]), true);
}

static PhaseResult range_wrongly(Analyses *an, const Knobs *knobs, PhaseRun *run, void (*spoil)(Instr *i))
{
    extern Phase phase_range_split;
    Knobs all = *knobs;
    all.range_split_always = true;
    return made_wrongly(phase_range_split, an, &all, run, spoil);
}

Phase fault_range_early, fault_range_late, fault_range_wrap, fault_range_sign;
PhaseResult fault_range_early(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return range_wrongly(an, knobs, run, begin_early);
}
PhaseResult fault_range_late(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return range_wrongly(an, knobs, run, end_late);
}
PhaseResult fault_range_wrap(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return range_wrongly(an, knobs, run, allow_wrap);
}
PhaseResult fault_range_sign(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    return range_wrongly(an, knobs, run, allow_negative);
}
