/* Makes blocks what the parser would make of the text that will be printed. A phase then sees the same blocks whether it
 * runs after another phase or reads that phase's output. */
#include "ir/cfg.h"
#include "ir/edit.h"

/* Whether at most b's labels separate it from the next block, so that both are one place with the labels of both. */
static bool is_at_place_of_next(const Block *b)
{
    return b != b->fn->entry && !b->first && !b->jump && b->fall && b->fall == b->next && b->scope == b->next->scope;
}

/* Adjusts the operands that say which label of `to` was written: `count` more now precede them. */
static void shift_label(Instr *branch, const Block *to, u32 count)
{
    if (!branch)
        return;
    for_each_operand(o, branch)
        if (o->kind == OPND_LABEL && o->id == to->id && o->value > 0)
            o->value += count;
}

static void aim_label(Instr *branch, const Block *from, const Block *to)
{
    if (!branch)
        return;
    for_each_operand(o, branch)
        if (o->kind == OPND_LABEL && o->id == from->id)
            o->id = to->id;
}

static void aim_table(Instr *branch, const Block *from, const Block *to)
{
    Table *table = branch ? branch_table(branch) : NULL;
    for (u32 k = 0; table && k < table->targets.n; k++)
        if (table->targets.v[k] == from->id)
            table->targets.v[k] = to->id;
}

static void add_labels_in_front(Block *b, Label *labels)
{
    u32 count = 1;
    Label *last = labels;
    for (; last->next; last = last->next)
        count++;
    last->next = b->labels;
    b->labels = labels;
    for_each_cfg_edge(pred, cfg_preds(b->fn, b)) {
        shift_label(block_terminator(pred.v->block), b, count);
        shift_label(pred.v->block->jump, b, count);
    }
}

/* Gives b's labels to the next block. No text changes, since what names them stays as it was written. */
static void give_to_next(Block *b)
{
    Block *to = b->next;
    if (b->labels)
        add_labels_in_front(to, b->labels);
    b->labels = NULL;
    for (CfgList preds = cfg_preds(b->fn, b); preds.n > 0; preds = cfg_preds(b->fn, b)) {
        Block *from = preds.v[0].block;
        Instr *end = block_terminator(from);
        aim_label(end, b, to);
        aim_label(from->jump, b, to);
        aim_table(end, b, to);
        if (from->fall == b)
            from->fall = to;
        cfg_redirect(b->fn->cfg, from, b, to);
    }
    block_remove(b);
}

/* Whether the next block is only the jump after a's branch, which the parser would make part of a. */
static bool is_followed_by_jump(const Block *a)
{
    const Block *b = a->next;
    if (!b || a->fall != b || a->jump || !block_terminator(a) || b->labels || b->first || !b->jump || b->fall == b ||
        a->scope != b->scope)
        return false;
    CfgList preds = cfg_preds(a->fn, b);
    return preds.n == 1 && preds.v[0].multiplicity == 1;
}

static void take_jump(Block *a)
{
    Block *b = a->next;
    cfg_redirect(a->fn->cfg, a, b, b->fall);
    a->fall = b->fall;
    a->jump = b->jump;
    a->jump->block = a;
    block_remove(b);
}

bool edit_places(Function *fn)
{
    bool any = false;
    if (!fn->cfg)
        return any;
    for (Block *b = fn->entry, *next; b; b = next) {
        while (b->next && b->fall == b->next && !b->jump && b->scope == b->next->scope && block_can_join(b, b->next)) {
            block_join(b, b->next);
            any = true;
        }
        if (is_followed_by_jump(b)) {
            take_jump(b);
            any = true;
        }
        next = b->next;
        if (is_at_place_of_next(b)) {
            give_to_next(b);
            any = true;
        }
    }
    return any;
}
