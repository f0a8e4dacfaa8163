#include "transform/unroll.h"

#include "ir/edit.h"
#include "ir/inspect.h"

bool unroll_may_repeat(Analyses *an, const Instr *i)
{
    if (instr_reads_volatile_register(i))
        return false;
    if (i->kind != INSTR_OP || op_is_pure(i->op))
        return true;
    if (op_has(i->op, OPF_TERMINATOR))
        return branch_target(i) != NULL;
    Effects e = instr_effects(i, an->summaries);
    return e.known && !e.active_set && !e.event && !e.may_not_return && !op_has(i->op, OPF_CALL);
}

void unroll_copy(const Loop *loop, Block *const *block, u32 n, Block *after, Block **copy)
{
    for (u32 k = 0; k < n; k++) {
        copy[k] = block_clone(block[k]);
        block_move_after(copy[k], after);
        after = copy[k];
        if (block[k] != loop->latches[0])
            continue;
        block_remove_terminator(copy[k]);
        block_set_fall(copy[k], loop->header);
    }
    for (u32 k = 0; k < n; k++)
        for (u32 t = 0; t < n; t++)
            if (block[k] != loop->latches[0])
                block_redirect(copy[k], block[t], copy[t]);
}

void unroll_last(const Loop *loop)
{
    Block *latch = loop->latches[0], *target = branch_target(block_terminator(latch));
    Block *exit = target == loop->header ? latch->fall : target;
    block_remove_terminator(latch);
    block_set_fall(latch, exit);
}
