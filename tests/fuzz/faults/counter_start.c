/* A loop gets a counter of its own that is one step ahead. */
#include "analysis/loop_test.h"
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/phase.h"
#include "transform/condition.h"

static void add_counter(const Loop *loop, Instr *compare, RegId compared, const Affine *v)
{
    Builder before = build_at_end(loop->preheader), here = build_before(compare);
    OpParts add = {.type = {TYPE_S32}};
    RegId counter = build_binary(&before, OPC_ADD, add, TYPE_B32, register_operand(v->term[0].reg),
                                 build_integer(v->start & UINT32_MAX, 32, false));
    Operand slots[] = {register_operand(counter), register_operand(counter),
                       build_integer(v->step & UINT32_MAX, 32, false)};
    build(&here, OPC_ADD, add, slots, 3);
    instr_rename(compare, compared, counter, true, false);
}

Phase fault_counter_start;
PhaseResult fault_counter_start(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    an_freeze(an, AN_LOOPS | AN_DOM);
    const Loops *loops = an_loops(an);
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        Instr *branch = loop->latch_count == 1 ? block_conditional_branch(loop->latches[0]) : NULL;
        Instr *compare = branch && loop->preheader && loop->height == 1 ? local_definition(branch, branch->guard) : NULL;
        if (!compare || compare->op->opcode != OPC_SETP || type_bits((Type)compare->op->type[0]) != 32)
            continue;
        LoopTest test;
        if (!loop_test_read(an, loop, compare, false, &test) || test.value.terms != 1 || test.value.term[0].factor != 1)
            continue;
        const Affine *v = &test.value;
        if (type_bits((Type)fn_reg(an->fn, v->term[0].reg)->type) != 32 || !phase_may_rewrite(run))
            continue;
        add_counter(loop, compare, test.compared, v);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
