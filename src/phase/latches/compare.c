#include "phase/latches/compare.h"

#include "analysis/loop_test.h"
#include "ir/inspect.h"
#include "transform/condition.h"

/* Whether i is an unguarded integer comparison of a register with a register or a constant, into one predicate. */
static bool is_counting_compare(Instr *i)
{
    if (!i || i->kind != INSTR_OP || i->op->sem.op != OPC_SETP || i->guard || i->op->bool_op != BOOL_NONE)
        return false;
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2);
    return instr_operand(i, 0)->kind == OPND_REG && type_is_integer(i->op->sem.compared) && operand_plain_register(a) &&
           (operand_plain_register(b) || b->kind == OPND_IMM);
}

/* Whether i is `add c, c, 1` or a similar step of the counter, as ptxas counts by. */
static bool is_step(const Instr *i, RegId counter)
{
    RegId of;
    i64 by;
    return operand_plain_register(instr_operand(i, 0)) == counter && affine_is_step(i, &of, &by) && of == counter;
}

/* Whether no instruction in the blocks of the loop reads the predicate before the comparison, or in another block than it. */
static bool is_read_after_only(const Loop *loop, const Instr *compare, RegId pred)
{
    for (u32 k = 0; k < loop->block_count; k++) {
        bool after = false;
        for_each_instr(i, loop->blocks[k]) {
            if (i->kind == INSTR_OP && !after && instr_reads(i, pred))
                return false;
            after |= i == compare;
        }
    }
    return true;
}

/* Whether the loop is innermost, and no edge but the latch's leads out of it. */
static bool leaves_at_latch_only(Analyses *an, const Loop *loop)
{
    const Loops *loops = an_loops(an);
    for (u32 k = 0; k < loop->block_count; k++) {
        Block *b = loop->blocks[k];
        if (loop_of(loops, b) != loop || (b != loop->latches[0] && loop_is_left_at(loops, loop, b)))
            return false;
    }
    return true;
}

bool latch_compare_find(Analyses *an, const Loop *loop, LoopCompare *found)
{
    if (loop->latch_count != 1 || an_loops(an)->irreducible)
        return false;
    Block *latch = loop->latches[0];
    Instr *branch = block_terminator(latch);
    Instr *compare = branch && branch->guard ? local_definition(branch, branch->guard) : NULL;
    if (latch == loop->header || !is_counting_compare(compare) || !leaves_at_latch_only(an, loop))
        return false;
    const Operand *a = instr_operand(compare, 1), *b = instr_operand(compare, 2);
    u32 a_writes, b_writes = 0, pred_writes;
    Instr *a_step = loop_last_write(loop, a->id, &a_writes);
    Instr *b_step = b->kind == OPND_REG ? loop_last_write(loop, b->id, &b_writes) : NULL;
    Instr *step = a_step ? a_step : b_step;
    loop_last_write(loop, branch->guard, &pred_writes);
    if (a_writes + b_writes != 1 || pred_writes != 1 || !is_step(step, a_step ? a->id : b->id))
        return false;
    if (step->block == latch || step->scope != compare->scope || !dominates(an_dom(an), step->block, latch))
        return false;
    *found = (LoopCompare){compare, step};
    return is_read_after_only(loop, compare, branch->guard);
}

bool latch_compare_counts(Analyses *an, const Loop *loop, Instr *compare)
{
    if (an->fn->blocks.n > an_loops(an)->blocks)
        return false; /* blocks made since then, which the analyses do not know */
    if (!loop->preheader || loop->latch_count != 1 || loop->height > LOOP_HEIGHT_WALKED || !is_counting_compare(compare) ||
        compare->block != loop->latches[0])
        return false;
    const Operand *counter = instr_operand(compare, 1), *bound = instr_operand(compare, 2);
    u32 writes, bound_writes = 0;
    Instr *step = loop_last_write(loop, counter->id, &writes);
    if (bound->kind == OPND_REG)
        loop_last_write(loop, bound->id, &bound_writes);
    if (writes != 1 || bound_writes || !is_step(step, counter->id) || local_definition(compare, counter->id) != step)
        return false;
    u64 start, end;
    return loop_entry_constant(an, loop, counter->id, &start) &&
           (bound->kind == OPND_IMM || loop_entry_constant(an, loop, bound->id, &end));
}
