/* The end of a phase: makes the jumps, labels and `ret` that the layout needs. */
#include <string.h>

#include "ir/cfg.h"
#include "ir/edit.h"
#include "ir/scopes.h"

static void need_label(Block *b)
{
    if (!b->labels)
        label_new(b);
}

/* Ends b with a `ret`, since control must leave the function here and not run into the next block. */
static void end_with_ret(Block *b)
{
    Function *fn = b->fn;
    Instr *ret = instr_new(fn, isa_op(fn->module->isa, OPC_RET, (OpParts){0}), NULL, 0);
    Block *last = b;
    if (block_terminator(b)) {
        last = block_new(fn, b->scope);
        last->loc = b->loc;
        block_move_after(last, b);
        block_set_fall(b, last);
    }
    b->falls_off = false;
    instr_append(last, ret);
}

/* Whether b must end with a jump. Without a jump, the labels of an empty block would be those of the next one. Threads that
 * a table sends to the two would then be one group (transform/groups.h). */
static bool needs_jump(const Block *b)
{
    return b->fall && (b->fall != b->next || (b->fn->cfg && block_is_empty(b) && cfg_table_leads_to(b->fn, b)));
}

static void make_jump(Block *b)
{
    Function *fn = b->fn;
    bool made = b->jump && b->jump->text.end == b->jump->text.beg;
    bool needed = needs_jump(b);
    if (!needed && made)
        b->jump = NULL;
    if (!needed || b->jump)
        return;
    Operand label = {.kind = OPND_LABEL, .id = b->fall->id};
    b->jump = instr_new(fn, isa_op(fn->module->isa, OPC_BRA, (OpParts){.uniform = true}), &label, 1);
    b->jump->block = b;
    fn->changed = true;
}

static void label_targets(Block *b)
{
    const Instr *end = block_terminator(b);
    bool branches = end && op_has(end->op, OPF_BRANCH);
    u32 edges = branches ? block_edge_count(b) - (b->fall ? 1 : 0) : 0;
    for (u32 k = 0; k < edges; k++)
        need_label(block_edge_target(b, k));
    if (b->jump) {
        b->jump->scope = b->scope;
        need_label(b->fall);
    }
}

void edit_layout(Function *fn)
{
    for_each_block(b, fn) {
        if (b->falls_off && (b->next || block_terminator(b)))
            end_with_ret(b);
        make_jump(b);
    }
    for_each_block(b, fn)
        label_targets(b);
    scopes_flatten(fn);
}
