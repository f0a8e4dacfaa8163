#include "phase/tail/splice.h"

#include "base/bound.h"
#include "ir/builder.h"

/* Instructions of a block among which the write of a value is searched for. */
#define RENAME_LIMIT 256

/* ---- values under other names ---------------------------------------------------------------------------------- */

static bool is_source(const RegPair *pairs, u32 n, RegId reg)
{
    for (u32 k = 0; k < n; k++)
        if (pairs[k].other == reg)
            return true;
    return false;
}

bool splice_copies_order(RegPair *renamed, u32 n)
{
    for (u32 done = 0; done < n; done++) {
        u32 next = done;
        while (next < n && is_source(renamed + done, n - done, renamed[next].kept))
            next++;
        if (next == n)
            return false;
        SWAP(renamed[next], renamed[done]);
    }
    return true;
}

/* The write of `from` in front of `end` if `from` can be renamed to `to` from there to `end`. It writes the whole register,
 * and `to` is not named in between. NULL: it cannot. */
static Instr *renamable_from(const Instr *end, RegId from, RegId to)
{
    u32 steps = 0;
    for (Instr *i = end->prev; i && WITHIN(RENAME_LIMIT, steps < RENAME_LIMIT); i = i->prev, steps++) {
        if (i->kind == INSTR_SCOPE_BEGIN || i->kind == INSTR_SCOPE_END)
            return NULL;
        if (i->kind != INSTR_OP)
            continue;
        if (instr_writes(i, to))
            return NULL;
        if (instr_kills(i, from))
            return i;
        if (instr_reads(i, to))
            return NULL;
    }
    return NULL;
}

static void rename_between(Instr *def, const Instr *end, RegId from, RegId to)
{
    instr_rename(def, from, to, false, true);
    for (Instr *i = def->next; i != end; i = i->next)
        if (i->kind == INSTR_OP)
            instr_rename(i, from, to, true, true);
}

static void copy_before(Instr *end, RegId from, RegId to)
{
    Builder at = build_before(end);
    build_copy(&at, to, from);
}

/* Brings the values that the tail reads under the kept block's names. It renames where the block itself computes the value;
 * otherwise it copies. */
static void bring_values(const DuplicateTail *duplicate)
{
    for (u32 k = 0; k < duplicate->n; k++) {
        RegPair pair = duplicate->renamed[k];
        bool still_read = is_source(duplicate->renamed, duplicate->n, pair.kept);
        Instr *def = still_read ? NULL : renamable_from(duplicate->begin, pair.other, pair.kept);
        if (def)
            rename_between(def, duplicate->begin, pair.other, pair.kept);
        else
            copy_before(duplicate->begin, pair.other, pair.kept);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

bool splice_begins_block(const Instr *i) { return !match_item_before(i); }

Block *tail_block(const Loops *loops, const Instr *begin)
{
    Block *b = begin->block;
    return splice_begins_block(begin) && b != b->fn->entry && !loop_headed_by(loops, b) ? b : block_new(b->fn, b->scope);
}

static void fill_tail(Instr *begin, Block *tail)
{
    if (tail == begin->block)
        return;
    while (begin->prev && begin->prev->kind == INSTR_LOC)
        begin = begin->prev;
    block_split_into(begin, tail);
}

static void remove_from(Instr *begin)
{
    while (begin) {
        Instr *next = begin->next;
        instr_remove(begin);
        begin = next;
    }
}

/* Lets the tail's branch stand for that of a block that gives its tail up. The branch loses `.uni`. Threads of both
 * blocks now execute it together, and those of one block may take another edge than those of the other. */
static void share_branch(Function *fn, Instr *branch, const Instr *other)
{
    if (!branch || !other || !(branch->guard || branch_table(branch)))
        return;
    if (branch->guard)
        instr_inherit_origin(fn, branch, branch, other);
    if (op_has(branch->op, OPF_UNIFORM_HINT))
        instr_set_op(branch, isa_without(fn->module->isa, branch->op, OPF_UNIFORM_HINT));
}

void splice_tails(Function *fn, Instr *begin, Block *tail, DuplicateTail *duplicates, u32 n)
{
    fill_tail(begin, tail);
    for (u32 k = 0; k < n; k++) {
        Block *b = duplicates[k].block;
        share_branch(fn, block_terminator(tail), block_terminator(b));
        bring_values(&duplicates[k]);
        remove_from(duplicates[k].begin);
        block_set_fall(b, tail);
    }
}
