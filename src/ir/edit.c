/* Changes to instructions and blocks; edit_flow.c has the changes of control flow. One rule keeps the edges: whatever
 * changes the edges out of a block removes that block's edges, makes its change, and adds them again. */
#include "ir/edit.h"

#include <assert.h>
#include <string.h>

#include "base/limit.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "ir/scopes.h"

/* Marks what a change of item i changes. A terminator decides whether control leaves, and a pragma what becomes of a loop. */
static void touch_item(Block *b, const Instr *i)
{
    limit_poll();
    block_changed(b);
    if (i->kind == INSTR_PRAGMA || instr_is(i, OPF_TERMINATOR))
        fn_edges_changed(b->fn);
}

static void touch_instr(Instr *i)
{
    i->changed = true;
    if (i->block)
        touch_item(i->block, i);
}

/* Notes that i, or what it reads, is about to be removed. */
static void lose_readers(const Instr *i)
{
    VecU32 *lost = &i->block->fn->edits.lost_readers;
    if (i->guard)
        vec_push(lost, i->guard);
    for_each_slot(o, i)
        if (slot_is_use(o))
            vec_push(lost, o->id);
}

static void edges_off(Block *b)
{
    fn_edges_changed(b->fn);
    if (b->fn->cfg)
        cfg_remove_edges_of(b->fn->cfg, b);
}

static void edges_on(Block *b)
{
    fn_edges_changed(b->fn);
    if (b->fn->cfg)
        cfg_add_edges_of(b->fn->cfg, b);
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

/* The scope of an item that follows `before`; NULL: the first item of b. */
static ScopeId scope_after(const Block *b, const Instr *before)
{
    if (!before)
        return b->scope;
    return before->kind == INSTR_SCOPE_END ? b->fn->scopes.v[before->scope].parent : before->scope;
}

/* Moves i to a scope. There its text may mean something else, so it prints from its operands. */
static void enter_scope(Instr *i, ScopeId scope)
{
    if (i->kind == INSTR_SCOPE_BEGIN || i->kind == INSTR_SCOPE_END || i->scope == scope)
        return;
    i->scope = scope;
    i->changed |= i->kind == INSTR_OP;
}

static void link_after(Block *b, Instr *before, Instr *i)
{
    i->block = b;
    b->ordered = false;
    i->prev = before;
    i->next = before ? before->next : b->first;
    *(i->prev ? &i->prev->next : &b->first) = i;
    *(i->next ? &i->next->prev : &b->last) = i;
}

static void unlink_instr(Instr *i)
{
    Block *b = i->block;
    *(i->prev ? &i->prev->next : &b->first) = i->next;
    *(i->next ? &i->next->prev : &b->last) = i->prev;
    i->prev = i->next = NULL;
    i->block = NULL;
}

static void insert_after(Block *b, Instr *before, Instr *i)
{
    bool ends_block = instr_is(i, OPF_TERMINATOR);
    assert(!i->block && !(before && before == block_terminator(b)));
    enter_scope(i, scope_after(b, before));
    if (ends_block)
        edges_off(b);
    link_after(b, before, i);
    if (ends_block)
        edges_on(b);
    touch_item(b, i);
}

void instr_remove(Instr *i)
{
    Block *b = i->block;
    bool ends_block = i == block_terminator(b);
    assert(!b->dead);
    lose_readers(i);
    if (ends_block)
        edges_off(b);
    unlink_instr(i);
    if (ends_block)
        edges_on(b);
    touch_item(b, i);
}

void instr_insert_before(Instr *at, Instr *i) { insert_after(at->block, at->prev, i); }
void instr_insert_after(Instr *at, Instr *i) { insert_after(at->block, at, i); }

void instr_append(Block *b, Instr *i)
{
    Instr *end = block_terminator(b);
    insert_after(b, end ? end->prev : b->last, i);
}

void instr_set_op(Instr *i, const OpInfo *op)
{
    assert(op);
    i->op = op;
    instr_fill_roles(i);
    touch_instr(i);
}

void instr_set_guard(Instr *i, RegId guard, bool negated)
{
    if (i->block && i->guard)
        vec_push(&i->block->fn->edits.lost_readers, i->guard);
    i->guard = guard;
    i->guard_not = guard && negated;
    touch_instr(i);
}

Instr *instr_set_operands(Instr *i, const Operand *slots, u32 count)
{
    Block *b = i->block;
    bool ends_block = b && i == block_terminator(b);
    Instr *to = i;
    assert(count <= UINT16_MAX);
    if (b)
        lose_readers(i);
    if (ends_block)
        edges_off(b);
    if (count > i->slots) {
        assert(b); /* an instruction that is in no block cannot grow */
        to = arena_alloc(b->fn->module->arena, sizeof(Instr) + count * sizeof(Operand));
        memcpy(to, i, sizeof(Instr));
        *(i->prev ? &i->prev->next : &b->first) = to;
        *(i->next ? &i->next->prev : &b->last) = to;
        i->prev = i->next = NULL;
        i->block = NULL;
    }
    to->slots = (u16)count;
    if (count)
        memmove(to->opnd, slots, count * sizeof(Operand)); /* the slots may be i's own */
    instr_fill_roles(to);
    if (ends_block)
        edges_on(b);
    touch_instr(to);
    return to;
}

void instr_rename(Instr *i, RegId from, RegId to, bool reads, bool writes)
{
    bool any = false;
    if (i->block)
        lose_readers(i);
    for_each_slot(o, i)
        if (o->kind == OPND_REG && o->id == from && ((reads && slot_is_use(o)) || (writes && slot_is_def(o)))) {
            o->id = to;
            any = true;
        }
    if (any)
        touch_instr(i);
    if (reads && i->guard == from)
        instr_set_guard(i, to, i->guard_not);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static void layout_unlink(Block *b)
{
    Function *fn = b->fn;
    *(b->prev ? &b->prev->next : &fn->entry) = b->next;
    *(b->next ? &b->next->prev : &fn->layout_last) = b->prev;
    b->prev = b->next = NULL;
}

static void layout_link_after(Block *b, Block *after)
{
    b->prev = after;
    b->next = after->next;
    after->next = b;
    *(b->next ? &b->next->prev : &b->fn->layout_last) = b;
}

Block *block_new_like(const Block *b, const Instr *loc)
{
    Block *made = block_new(b->fn, b->scope);
    made->loc = loc;
    return made;
}

static bool in_layout(const Block *b) { return b->prev || b->fn->entry == b; }

void block_move_after(Block *b, Block *after)
{
    assert(!b->dead && in_layout(after));
    if (b == after || after->next == b)
        return;
    if (in_layout(b))
        layout_unlink(b);
    layout_link_after(b, after);
    block_changed(b);
}

void block_move_to_end(Block *b) { block_move_after(b, b->fn->layout_last); }

/* Moves the items from `first` on to the end of `to`. */
static void move_items(Instr *first, Block *to)
{
    Block *from = first->block;
    Instr *last = from->last;
    from->last = first->prev;
    *(first->prev ? &first->prev->next : &from->first) = NULL;
    first->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = first;
    to->last = last;
    to->ordered = false;
    for (Instr *i = first; i; i = i->next)
        i->block = to;
}

/* Moves the exit of b, its fall-through edge, jump and running off the end, to `to`. */
static void move_exit(Block *b, Block *to)
{
    to->fall = b->fall;
    to->jump = b->jump;
    to->falls_off = b->falls_off;
    if (to->jump)
        to->jump->block = to;
    b->fall = NULL;
    b->jump = NULL;
    b->falls_off = false;
}

void block_split_into(Instr *at, Block *rest)
{
    Block *b = at->block;
    assert(!rest->first && !rest->fall && !in_layout(rest));
    edges_off(b);
    rest->loc = instr_loc(at);
    move_items(at, rest);
    move_exit(b, rest);
    b->fall = rest;
    edges_on(b);
    edges_on(rest);
    if (in_layout(b))
        layout_link_after(rest, b);
    block_changed(b);
}

Block *block_split_before(Instr *at)
{
    Block *rest = block_new(at->block->fn, at->block->scope);
    block_split_into(at, rest);
    return rest;
}

bool block_can_join(const Block *a, const Block *b)
{
    if (a == b || a->fall != b || block_terminator(a) || b->fn->entry == b)
        return false;
    if (block_is_pinned(b))
        return false;
    CfgList preds = cfg_preds(b->fn, b);
    return preds.n == 1 && preds.v[0].multiplicity == 1;
}

/* Repeats the .loc that b starts with at the seam, where another one is in force. */
static void join_locs(Block *a, Block *b)
{
    const Instr *loc = b->loc, *last = a->last;
    if (!loc || (b->first && b->first->kind == INSTR_LOC))
        return;
    const Instr *before = !last ? a->loc : last->kind == INSTR_LOC ? last : instr_loc(last);
    if (!before || before->text.beg != loc->text.beg)
        insert_after(a, a->last, instr_clone(a->fn, loc));
}

/* Moves b's items to a's scope, and makes that the parent of scopes inside b. */
static void join_scopes(Block *a, Block *b)
{
    Function *fn = a->fn;
    if (a->scope == b->scope)
        return;
    for_each_instr(i, b) {
        Scope *inner = &fn->scopes.v[i->scope];
        if (i->kind == INSTR_SCOPE_BEGIN) {
            scope_set_parent(fn, i->scope, inner->parent == b->scope ? a->scope : inner->parent);
        } else if (i->scope == b->scope) {
            enter_scope(i, a->scope);
        }
    }
}

void block_join(Block *a, Block *b)
{
    assert(a != b && a->fall == b && !block_terminator(a) && !block_is_pinned(b));
    edges_off(b);
    edges_off(a);
    join_locs(a, b);
    join_scopes(a, b);
    if (b->first)
        move_items(b->first, a);
    move_exit(b, a);
    if (a->jump && a->scope != b->scope)
        enter_scope(a->jump, a->scope);
    edges_on(a);
    layout_unlink(b);
    b->dead = true;
    block_changed(a);
}

void block_remove(Block *b)
{
    assert(!b->dead && b != b->fn->entry && !block_is_pinned(b));
    for_each_instr(i, b)
        lose_readers(i);
    edges_off(b);
    b->fall = NULL;
    b->jump = NULL;
    if (in_layout(b))
        layout_unlink(b);
    b->dead = true;
    block_changed(b);
}

void block_append_clones(Block *b, Instr *const *v, u32 count)
{
    const Instr *loc = b->last && b->last->kind == INSTR_LOC ? b->last : b->last ? instr_loc(b->last) : b->loc;
    for (u32 k = 0; k < count; k++) {
        const Instr *own = instr_loc(v[k]);
        if (own && own != loc)
            instr_append(b, instr_clone(b->fn, own));
        loc = own;
        instr_append(b, instr_clone(b->fn, v[k]));
    }
}

Block *block_clone(Block *b)
{
    Function *fn = b->fn;
    assert(!b->dead);
    Block *copy = block_new(fn, b->scope);
    copy->loc = b->loc;
    copy->fall = b->fall;
    copy->falls_off = b->falls_off;
    for_each_instr(i, b)
        link_after(copy, copy->last, instr_clone(fn, i));
    edges_on(copy);
    block_changed(b);
    return copy;
}

void edit_set_directive(Function *fn, Directive *d, u32 value)
{
    assert(fn->is_entry && value);
    d->value = value;
    d->made = fn->changed = true;
    fn_code_changed(fn);
}

void edit_spill_to_shared(Function *fn)
{
    fn->tuning.spills_to_shared = fn->changed = true;
    fn_code_changed(fn);
}

void edit_revert(Function *fn)
{
    fn->changed = false;
    fn->verbatim = true;
}

/* ---- variables ------------------------------------------------------------------------------------------------- */

void edit_remove_variable(Function *fn, ScopeId scope, u32 decl, SymId sym)
{
    Decl *d = &fn->scopes.v[scope].decls.v[decl];
    assert(d->kind == DECL_VAR && sym >= d->sym && sym < d->sym + d->syms && d->removed < d->syms);
    (void)sym;
    d->removed++;
    fn->changed = true;
    fn_code_changed(fn);
}
