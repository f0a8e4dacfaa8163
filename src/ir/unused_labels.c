/* Labels that nothing names ($L__tmp0 of LLVM's line tables) do not divide blocks. The code after one continues the block
 * before it, and the label's text leads the next item from then on, like a comment. A function that has nothing else to
 * clean up is then not changed because of them, and a changed function keeps them. */

#include "ir/edit.h"

#include "base/bitset.h"

/* Finds the blocks that branches, jumps and their tables name. */
static void find_named(Function *fn, BitSet *named)
{
    for_each_block(b, fn) {
        const Block *target = block_terminator(b) ? branch_target(b->last) : NULL;
        if (target)
            bitset_add(named, target->id);
        if (b->jump)
            bitset_add(named, b->fall->id);
    }
    for (u32 t = 0; t < fn->tables.n; t++)
        for (u32 k = 0; fn->tables.v[t].kind == TABLE_BRANCH && k < fn->tables.v[t].targets.n; k++)
            bitset_add(named, fn->tables.v[t].targets.v[k]);
}

/* Whether the function has one scope. No two labels of a scope have the same name, so their text may stay as long as no
 * scope is flattened into it. */
static bool has_one_scope(const Function *fn)
{
    for (u32 s = 1; s < fn->scopes.n; s++)
        if (!fn->scopes.v[s].in_block)
            return false;
    return true;
}

/* Whether b's labels are named nowhere, and no declaration stands between them and the item with this lead. */
static bool is_unused(const Module *m, const Block *b, const BitSet *named, u32 lead)
{
    if (!b->labels || bitset_has(named, b->id))
        return false;
    u32 end = 0;
    for (const Label *l = b->labels; l; l = l->next) {
        if (l->pinned || (end && l->lead != end && l->lead != text_item_end(m->text, end)))
            return false;
        end = l->text.end;
    }
    return lead == end || lead == text_item_end(m->text, end);
}

static void unlink_next(Block *a)
{
    Block *b = a->next;
    a->next = b->next;
    if (b->next)
        b->next->prev = a;
    else
        a->fn->layout_last = a;
    b->dead = true;
}

static void absorb(Block *a, Block *b)
{
    b->first->lead = b->labels->lead;
    for_each_instr(i, b)
        i->block = a;
    b->first->prev = a->last;
    if (a->last)
        a->last->next = b->first;
    else
        a->first = b->first;
    a->last = b->last;
    a->ordered = false;
    a->fall = b->fall;
    a->jump = b->jump;
    if (a->jump)
        a->jump->block = a;
    a->falls_off = b->falls_off;
    unlink_next(a);
}

/* Lets labels that only the closing brace follows lead that brace. */
static void absorb_end(Function *fn, const BitSet *named)
{
    Block *b = fn->layout_last, *a = b->prev;
    u32 *lead = &fn->scopes.v[0].lead_close;
    if (!a || b->first || (a->fall == b && block_terminator(a)) || !is_unused(fn->module, b, named, *lead))
        return;
    *lead = b->labels->lead;
    if (a->fall == b) {
        a->fall = NULL;
        a->falls_off = true;
    }
    unlink_next(a);
}

static void absorb_unused(Function *fn, BitSet *named)
{
    for (Block *a = fn->entry; a; a = a->next) {
        Block *b = a->next;
        while (b && a->fall == b && !a->jump && !block_terminator(a) && b->first &&
               is_unused(fn->module, b, named, b->first->lead)) {
            absorb(a, b);
            b = a->next;
        }
    }
    absorb_end(fn, named);
}

void edit_absorb_unused_labels(Function *fn)
{
    if (!fn->entry || !has_one_scope(fn))
        return;
    Arena arena = {0};
    BitSet named = bitset_new(&arena, fn->blocks.n);
    find_named(fn, &named);
    absorb_unused(fn, &named);
    arena_free(&arena);
}
