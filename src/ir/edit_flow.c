/* Changes of the control flow out of a block: its terminator, its table, and its fall. */
#include "ir/edit.h"

#include <assert.h>

#include "base/fnvmap.h"
#include "ir/cfg.h"
#include "ir/inspect.h"

void block_set_fall(Block *b, Block *to)
{
    Cfg *cfg = b->fn->cfg;
    assert(!b->dead && !(to && to->dead));
    if (b->fall == to)
        return;
    if (cfg && b->fall)
        cfg_remove_edge(cfg, b, b->fall);
    if (cfg && to)
        cfg_add_edge(cfg, b, to);
    b->fall = to;
    if (to)
        b->falls_off = false;
    else
        b->jump = NULL;
    if (b->jump) {
        b->jump->opnd[0].id = to->id;
        b->jump->changed = true;
    }
    block_changed(b);
    fn_edges_changed(b->fn);
}

static void set_label(Instr *branch, Block *to)
{
    for_each_operand(o, branch)
        if (o->kind == OPND_LABEL)
            *o = (Operand){.kind = OPND_LABEL, .role = o->role, .id = to->id};
    branch->changed = true;
}

void block_set_branch_target(Block *b, Block *to)
{
    Instr *branch = block_terminator(b);
    Block *old = branch ? branch_target(branch) : NULL;
    assert(old && !to->dead);
    if (old == to)
        return;
    if (b->fn->cfg) {
        cfg_remove_edge(b->fn->cfg, b, old);
        cfg_add_edge(b->fn->cfg, b, to);
    }
    set_label(branch, to);
    block_changed(b);
    fn_edges_changed(b->fn);
}

void block_swap_successors(Block *b)
{
    Block *taken = branch_target(block_terminator(b)), *fall = b->fall;
    block_set_branch_target(b, fall);
    block_set_fall(b, taken);
}

static bool uses_table(const Block *b, u32 index)
{
    const Instr *end = block_terminator(b);
    const Table *table = end ? branch_table(end) : NULL;
    return table == &b->fn->tables.v[index];
}

/* Whether another block uses the table. Each block that does is a predecessor of all of the table's targets. */
static bool table_is_shared(const Block *b, u32 index)
{
    Function *fn = b->fn;
    const Table *table = &fn->tables.v[index];
    if (!fn->cfg) {
        for_each_block(other, fn)
            if (other != b && uses_table(other, index))
                return true;
        return false;
    }
    for_each_cfg_edge(users, cfg_preds(fn, fn_block(fn, table->targets.v[0])))
        if (users.v->block != b && uses_table(users.v->block, index))
            return true;
    return false;
}

/* Gives b's branch a table of its own; answers its index. */
static u32 table_copy(Block *b, u32 index)
{
    Function *fn = b->fn;
    Instr *branch = block_terminator(b);
    u32 copy = fn->tables.n;
    Table made = {.kind = TABLE_BRANCH, .changed = true, .name = label_fresh_name(fn), .scope = branch->scope};
    for (u32 k = 0; k < fn->tables.v[index].targets.n; k++)
        vec_push(&made.targets, fn->tables.v[index].targets.v[k]);
    vec_push(&fn->tables, made);
    for_each_operand(o, branch)
        if (o->kind == OPND_TABLE)
            o->id = copy;
    branch->changed = true;
    return copy;
}

static void redirect_table(Block *b, u32 index, const Block *from, const Block *to)
{
    Table *table = &b->fn->tables.v[index];
    u32 hits = 0;
    for (u32 k = 0; k < table->targets.n; k++)
        hits += table->targets.v[k] == from->id;
    if (!hits)
        return;
    if (table_is_shared(b, index)) {
        index = table_copy(b, index); /* tables may move in memory */
        table = &b->fn->tables.v[index];
    }
    for (u32 k = 0; k < table->targets.n; k++)
        if (table->targets.v[k] == from->id)
            table->targets.v[k] = to->id;
    table->changed = true;
}

void block_redirect(Block *b, Block *from, Block *to)
{
    Instr *end = block_terminator(b);
    const Table *table = end ? branch_table(end) : NULL;
    if (from == to)
        return;
    if (table)
        redirect_table(b, (u32)(table - b->fn->tables.v), from, to); /* it asks for edges, so it comes before they change */
    if (b->fn->cfg)
        cfg_redirect(b->fn->cfg, b, from, to);
    if (end && branch_target(end) == from)
        set_label(end, to);
    if (b->fall == from) {
        b->fall = to;
        if (b->jump)
            set_label(b->jump, to);
    }
    block_changed(b);
    fn_edges_changed(b->fn);
}

/* Maps each Block.id to 1 + the id of the block that takes its place. */
static void map_targets(FnvMap *map, const Block *b, Block *const *to)
{
    CfgList succs = cfg_succs(b->fn, b);
    for (u32 k = 0; k < succs.n; k++)
        if (to[k])
            *fnvmap_at(map, succs.v[k].block->id) = (u64)to[k]->id + 1;
}

/* Replaces the entries of b's table that are mapped. */
static void map_table(Block *b, const FnvMap *map)
{
    Function *fn = b->fn;
    u32 index = (u32)(branch_table(block_terminator(b)) - fn->tables.v), first = 0, entries = fn->tables.v[index].targets.n;
    while (first < entries && !fnvmap_find(map, fn->tables.v[index].targets.v[first]))
        first++;
    if (first == entries)
        return;
    if (table_is_shared(b, index))
        index = table_copy(b, index);
    Table *table = &fn->tables.v[index];
    for (u32 k = first; k < entries; k++) {
        const u64 *other = fnvmap_find(map, table->targets.v[k]);
        table->targets.v[k] = other ? (u32)*other - 1 : table->targets.v[k];
    }
    table->changed = true;
}

void block_redirect_table(Block *b, Block *const *to)
{
    Function *fn = b->fn;
    FnvMap map = {0};
    assert(fn->cfg && branch_table(block_terminator(b)));
    map_targets(&map, b, to);
    map_table(b, &map);
    const u64 *other = b->fall ? fnvmap_find(&map, b->fall->id) : NULL;
    cfg_redirect_edges_of(fn->cfg, b, to);
    if (other) {
        b->fall = fn_block(fn, (u32)*other - 1);
        if (b->jump)
            set_label(b->jump, b->fall);
    }
    fnvmap_free(&map);
    block_changed(b);
    fn_edges_changed(fn);
}

void block_remove_terminator(Block *b)
{
    Instr *end = block_terminator(b);
    if (end)
        instr_remove(end);
}

void block_remove_jump(Block *b)
{
    if (b->jump)
        block_changed(b);
    b->jump = NULL;
}

void block_set_branch(Block *b, RegId guard, bool negated, Block *to, bool uniform)
{
    Function *fn = b->fn;
    Operand label = {.kind = OPND_LABEL, .id = to->id};
    assert(guard && !to->dead && !block_terminator(b));
    Instr *branch = instr_new(fn, isa_op(fn->module->isa, OPC_BRA, (OpParts){.uniform = uniform}), &label, 1);
    branch->guard = guard;
    branch->guard_not = negated;
    instr_append(b, branch);
}
