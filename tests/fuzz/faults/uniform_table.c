/* `value < n` decides a bra.uni: a table of n equal entries takes its place, and keeps .uni. Equal predicates are not an
 * equal index. */
#include <string.h>

#include "ir/edit.h"
#include "phase/phase.h"

/* `setp.lt.u32 guard, value, small` right in front of `@guard bra.uni`. */
static const Instr *small_range(const Instr *branch)
{
    const Instr *test = branch ? branch->prev : NULL;
    bool fits = test && branch->op->opcode == OPC_BRA && op_has(branch->op, OPF_UNIFORM_HINT) && branch->guard &&
                !branch->guard_not && test->kind == INSTR_OP && !test->guard &&
                strcmp(test->op->text->text, "setp.lt.u32") == 0 && test->opnd[0].kind == OPND_REG &&
                test->opnd[0].id == branch->guard && test->slots == 3 && test->opnd[1].kind == OPND_REG &&
                test->opnd[2].kind == OPND_IMM;
    return fits && test->opnd[2].value > 1 && test->opnd[2].value <= 64 ? test : NULL;
}

static void make_table(Block *b, Instr *branch, const Instr *test)
{
    Function *fn = b->fn;
    Table table = {.kind = TABLE_BRANCH, .changed = true, .name = label_fresh_name(fn), .scope = b->scope};
    Block *to = branch_target(branch);
    for (i64 k = 0; k < test->opnd[2].value; k++)
        vec_push(&table.targets, to->id);
    vec_push(&fn->tables, table);
    Operand slots[] = {{.kind = OPND_REG, .id = test->opnd[1].id}, {.kind = OPND_TABLE, .id = fn->tables.n - 1}};
    Instr *jump = instr_new(fn, isa_decode(fn->module->isa, "brx.idx.uni", 11), slots, 2);
    jump->guard = branch->guard;
    instr_remove(branch);
    instr_append(b, jump);
}

Phase fault_uniform_table;
PhaseResult fault_uniform_table(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool changed = false;
    for_each_block(b, an->fn) {
        Instr *branch = block_terminator(b);
        const Instr *test = small_range(branch);
        if (!test || !phase_may_rewrite(run))
            continue;
        make_table(b, branch, test);
        changed = true;
    }
    return changed ? PHASE_CHANGED : PHASE_UNCHANGED;
}
