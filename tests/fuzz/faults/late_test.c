/* In front of a chain of equality tests a range test leads some values to a leaf of their own; they match none of the
 * constants, so the test moves after the chain. Its lanes now come to what both leaves lead to together with the others. */
#include <string.h>

#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/phase.h"

/* `setp.CMP.s32 guard, value, constant` right in front of the branch that ends b, which has nothing else if `alone`. */
static const Instr *test_of(const Block *b, const char *op, bool alone)
{
    const Instr *branch = block_terminator(b), *test = branch ? branch->prev : NULL;
    bool fits = test && branch->op->opcode == OPC_BRA && branch->guard && test->kind == INSTR_OP && !test->guard &&
                b->fall && strcmp(test->op->text->text, op) == 0 && test->opnd[0].kind == OPND_REG &&
                test->opnd[0].id == branch->guard && test->slots == 3 && test->opnd[1].kind == OPND_REG &&
                test->opnd[2].kind == OPND_IMM;
    return fits && (!alone || b->first == test) ? test : NULL;
}

/* The last block of the chain that begins at b: each tests the value for a constant up to `bound`. */
static Block *chain_end(Block *b, RegId value, i64 bound, RegId kept)
{
    Block *last = NULL;
    for (u32 n = 0; n < 64; n++, b = b->fall) {
        const Instr *test = test_of(b, "setp.eq.s32", true);
        if (!test || test->opnd[1].id != value || test->opnd[2].value > bound || test->opnd[0].id == kept ||
            !cfg_single_pred(b->fn, b))
            return last;
        last = b;
    }
    return NULL;
}

/* Answers whether root's branch was moved to the end of the chain that it falls or branches to. */
static bool move_test(Analyses *an, PhaseRun *run, Block *root)
{
    const Instr *test = test_of(root, "setp.gt.s32", false), *branch = block_terminator(root);
    if (!test)
        return false;
    Block *to = branch_target(branch), *beyond = branch->guard_not ? root->fall : to,
          *first = branch->guard_not ? to : root->fall;
    Block *last = beyond == first ? NULL : chain_end(first, test->opnd[1].id, test->opnd[2].value, branch->guard);
    if (!last || last->scope != root->scope || !phase_may_rewrite(run))
        return false;
    RegId guard = branch->guard;
    Block *late = block_new(an->fn, root->scope);
    block_append_layout(an->fn, late);
    block_set_fall(late, last->fall);
    block_set_branch(late, guard, false, beyond, false);
    block_set_fall(last, late);
    block_remove_terminator(root);
    block_set_fall(root, first);
    return true;
}

Phase fault_late_test;
PhaseResult fault_late_test(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    cfg_build(an->fn);
    Block *last = an->fn->layout_last;
    for (Block *b = an->fn->entry; b; b = b == last ? NULL : b->next)
        changed |= move_test(an, run, b);
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
