#include "phase/barrier/of_warp.h"

#include "base/bound.h"
#include "ir/inspect.h"
#include "target/ptxas.h"

static bool is_of_warp(const Instr *i)
{
    return i->kind == INSTR_OP && (i->op->sync == SYNC_WARP || i->op->sync == SYNC_LANES);
}

/* Whether i is an addition or subtraction of a constant, of integers or floats. */
static bool steps_by_constant(const Instr *i)
{
    if (i->kind != INSTR_OP || (i->op->opcode != OPC_ADD && i->op->opcode != OPC_SUB))
        return false;
    const Operand *by = instr_operand(i, 2);
    return by && (by->kind == OPND_IMM || by->kind == OPND_FLOAT);
}

/* The registers that a setp in the loop reads. */
static BitSet compared_in(Analyses *an, const Loop *loop)
{
    BitSet compared = bitset_new(an->scratch, an->fn->regs.n);
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (i->kind == INSTR_OP && i->op->opcode == OPC_SETP)
                for (RegWalk w = reg_walk(i); next_read(&w);)
                    bitset_add(&compared, w.reg);
    return compared;
}

/* Whether the loop may have a counter: a register stepped by a constant, where a setp reads the register before or after
 * the step. */
static bool may_count(Analyses *an, const Loop *loop)
{
    BitSet compared = compared_in(an, loop);
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k]) {
            if (!steps_by_constant(i))
                continue;
            for (RegWalk w = reg_walk(i); next_read(&w);)
                if (bitset_has(&compared, w.reg))
                    return true;
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (bitset_has(&compared, w.reg))
                    return true;
        }
    return false;
}

static bool holds_of_warp(const Loop *loop)
{
    for (u32 k = 0; k < loop->block_count; k++)
        for_each_instr(i, loop->blocks[k])
            if (is_of_warp(i))
                return true;
    return false;
}

typedef enum LoopKind { LOOP_NOT_ASKED, LOOP_STAYS, LOOP_UNROLLS, LOOP_PASSES } LoopKind;

/* LOOP_STAYS: ptxas unrolls neither this loop nor one around it. */
static LoopKind kind_of(Analyses *an, PhaseRun *run, const Loop *loop, const Instr *barrier)
{
    bool walked = WITHIN(LOOP_HEIGHT_WALKED, loop->height <= LOOP_HEIGHT_WALKED);
    if (!walked)
        phase_missed_once(run, "LoopNotSearched", barrier,
                          "a loop with more than %u loops in one another is taken for one that ptxas does not unroll",
                          (u32)LOOP_HEIGHT_WALKED);
    if (!walked || holds_of_warp(loop))
        return LOOP_STAYS;
    return !loop->nounroll && may_count(an, loop) ? LOOP_UNROLLS : LOOP_PASSES;
}

OfWarp of_warp_new(Analyses *an, PhaseRun *run) { return (OfWarp){run, an, arena_array(an->scratch, u8, an_loops(an)->n)}; }

bool of_warp_stops_unrolling(OfWarp *w, const Instr *barrier)
{
    const Loops *loops = an_loops(w->an);
    const Loop *loop = loop_of(loops, barrier->block);
    if (w->an->fn->module->target_sm >= PTXAS_UNROLLS_LANES_FROM)
        return false;
    for (; loop; loop = loop->parent) {
        u8 *kind = &w->loop[loops->of[loop->header->id] - 1];
        if (*kind == LOOP_NOT_ASKED)
            *kind = (u8)kind_of(w->an, w->run, loop, barrier);
        if (*kind != LOOP_PASSES)
            return *kind == LOOP_UNROLLS;
    }
    return false;
}
