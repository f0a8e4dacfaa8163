/* Checks that a function is well-formed between phases: links in both directions, operands in range, names visible, control
 * flow stated in one way only. It answers the first fault. */
#include "base/fnvmap.h"
#include "ir/cfg.h"
#include "ir/scopes.h"

typedef struct Verify {
    const Function *fn;
    Arena *arena;
    u8 *laid_out; /* by block: it is in the layout */
    const Block *block;
    u32 index;         /* of the instruction in its block, from 1; 0: the block itself */
    const char *wrong; /* NULL so far */
} Verify;

static bool fail(Verify *v, const char *what)
{
    if (v->wrong)
        return false;
    const Block *b = v->block;
    const char *label = b && b->labels ? b->labels->name->text : "-";
    if (!b)
        v->wrong = what;
    else if (v->index)
        v->wrong = arena_printf(v->arena, "block %u (%s), item %u: %s", b->id, label, v->index, what);
    else
        v->wrong = arena_printf(v->arena, "block %u (%s): %s", b->id, label, what);
    return false;
}

static bool check(Verify *v, bool holds, const char *what) { return holds || fail(v, what); }

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* Checks that the members of an aggregate fill its slots exactly. */
static bool verify_members(Verify *v, const Operand *o)
{
    const Operand *end = o + operand_slots(o), *member = o + 1;
    u32 members = 0;
    for (; member < end; member += operand_slots(member)) {
        if (operand_is_aggregate(member) && (member->value < 0 || member + operand_slots(member) > end))
            return fail(v, "an operand is larger than the one it is in");
        members++;
    }
    return check(v, member == end && members == o->id, "an operand's members do not fill its slots");
}

static bool verify_label(Verify *v, const Instr *i, u32 id)
{
    const Function *fn = v->fn;
    if (id >= fn->blocks.n || !v->laid_out[id])
        return fail(v, "a branch to a block that is not in the layout");
    const Label *labels = fn->blocks.v[id]->labels;
    if (!labels)
        return fail(v, "a branch to a block without a label");
    for (const Label *l = labels; l; l = l->next)
        if (scope_encloses(fn, l->scope, i->scope))
            return true;
    return fail(v, "a branch into a scope");
}

static bool verify_table(Verify *v, const Instr *i, u32 id)
{
    const Function *fn = v->fn;
    if (id >= fn->tables.n)
        return fail(v, "a table out of range");
    const Table *t = &fn->tables.v[id];
    for (u32 k = 0; k < t->targets.n && t->kind == TABLE_BRANCH; k++)
        if (t->targets.v[k] >= fn->blocks.n || !v->laid_out[t->targets.v[k]])
            return fail(v, "a table entry for a block that is not in the layout");
    return check(v, scope_encloses(fn, t->scope, i->scope), "a table of a scope that the instruction is not in");
}

static bool verify_reg(Verify *v, const Instr *i, RegId id)
{
    if (id == 0 || id >= v->fn->regs.n)
        return fail(v, "a register out of range");
    return check(v, scope_encloses(v->fn, fn_reg(v->fn, id)->scope, i->scope),
                 "a register of a scope that the instruction is not in");
}

static bool verify_sym(Verify *v, const Instr *i, SymId id)
{
    if (id == 0 || id >= v->fn->module->syms.n)
        return fail(v, "a symbol out of range");
    const Sym *sym = &v->fn->module->syms.v[id];
    if (sym->owner && sym->owner != v->fn)
        return fail(v, "a symbol of another function");
    return check(v, !sym->owner || scope_encloses(v->fn, sym->scope, i->scope),
                 "a variable of a scope that the instruction is not in");
}

static bool verify_slot(Verify *v, const Instr *i, const Operand *o)
{
    const Module *m = v->fn->module;
    switch ((OperandKind)o->kind) {
    case OPND_REG: return verify_reg(v, i, o->id);
    case OPND_SREG: return check(v, o->id < sreg_count(), "a special register out of range");
    case OPND_SYM: return verify_sym(v, i, o->id);
    case OPND_LABEL: return verify_label(v, i, o->id);
    case OPND_TABLE: return verify_table(v, i, o->id);
    case OPND_NAME: return check(v, o->id < m->other_names.n, "a name out of range");
    case OPND_MEM:
    case OPND_VEC:
    case OPND_PAIR:
    case OPND_LIST:
    case OPND_INDEX: return verify_members(v, o);
    default: return true;
    }
}

static bool verify_operands(Verify *v, const Instr *i)
{
    const Operand *end = i->opnd + i->slots, *o = i->opnd;
    for (; o < end; o += operand_slots(o))
        if (operand_is_aggregate(o) && (o->value < 0 || o->value > i->slots || o + operand_slots(o) > end))
            return fail(v, "an operand has more slots than the instruction");
    if (o != end)
        return fail(v, "operands do not fill the instruction's slots");
    for_each_slot(slot, i)
        if (!verify_slot(v, i, slot))
            return false;
    if (!i->guard)
        return true;
    return verify_reg(v, i, i->guard) &&
           check(v, fn_reg(v->fn, i->guard)->type == TYPE_PRED, "a guard that is no predicate register");
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* The scope that is open after i, given the one open before it. */
static ScopeId scope_after(Verify *v, const Instr *i, ScopeId open)
{
    const Function *fn = v->fn;
    if (i->scope >= fn->scopes.n) {
        fail(v, "a scope out of range");
        return open;
    }
    if (i->kind == INSTR_SCOPE_BEGIN) {
        check(v, fn->scopes.v[i->scope].parent == open && !fn->scopes.v[i->scope].flattened, "a brace opens a wrong scope");
        return i->scope;
    }
    check(v, i->scope == open, "an instruction's scope is not the open one");
    return i->kind == INSTR_SCOPE_END ? fn->scopes.v[open].parent : open;
}

static void verify_instrs(Verify *v, const Block *b)
{
    const Instr *before = NULL;
    ScopeId open = b->scope;
    v->index = 0;
    for_each_instr(i, b) {
        v->index++;
        check(v, i->prev == before, "the list of instructions is not linked in both directions");
        check(v, i->block == b, "an instruction names another block");
        open = scope_after(v, i, open);
        check(v, i->kind != INSTR_OP || i->op, "an instruction without an opcode");
        if (v->wrong)
            return;
        check(v, i->lead <= i->text.beg && i->text.beg <= i->text.end, "an instruction's text is out of order");
        check(v, !instr_is(i, OPF_TERMINATOR) || i == b->last, "a terminator that is not last");
        check(v, i->kind == INSTR_OP || i->kind == INSTR_PRAGMA || i->text.end > i->text.beg, "a directive without text");
        verify_operands(v, i);
        if (v->wrong)
            return;
        before = i;
    }
    check(v, b->last == before, "the block's last instruction is not the last of its list");
    v->index = 0;
    check(v, open == b->scope, "a scope inside the block does not end in it");
}

/* ---- control flow ---------------------------------------------------------------------------------------------- */

static void verify_exit(Verify *v, const Block *b)
{
    const Instr *end = block_terminator(b);
    bool always_leaves = end && !end->guard;
    check(v, !b->fall || v->laid_out[b->fall->id], "control goes on to a block that is not in the layout");
    check(v, !b->fall || !b->falls_off, "control goes on and off the end");
    check(v, b->fall || b->falls_off || always_leaves, "control does not go on, and nothing ends the block");
    check(v, !always_leaves || (!b->fall && !b->falls_off), "control goes on after an unconditional terminator");
    check(v, !b->falls_off || !b->next, "control runs off the end, but another block follows");
    check(v, !b->jump || b->fall, "a jump to nowhere");
    check(v, !b->fall || b->fall == b->next || b->jump, "a block without a jump does not stand before where it goes on");
    if (v->wrong || !b->jump)
        return;
    const Instr *jump = b->jump;
    check(v, jump->block == b && jump->scope == b->scope, "the jump is another block's");
    check(v, !jump->guard && jump->slots == 1 && jump->opnd[0].kind == OPND_LABEL && jump->opnd[0].id == b->fall->id,
          "the jump does not go where control goes on");
    verify_operands(v, jump);
}

static void verify_branch(Verify *v, const Block *b)
{
    const Instr *end = block_terminator(b);
    if (!end || !op_has(end->op, OPF_BRANCH) || !end->op->known)
        return;
    check(v, branch_target(end) || branch_table(end), "a branch without a target");
}

/* ---- layout and names ------------------------------------------------------------------------------------------ */

static void verify_layout(Verify *v)
{
    const Function *fn = v->fn;
    const Block *before = NULL;
    for (const Block *b = fn->entry; b && !v->wrong; before = b, b = b->next) {
        v->block = b;
        if (b->id >= fn->blocks.n || fn->blocks.v[b->id] != b || b->fn != fn) {
            fail(v, "a block that the function does not list");
            return;
        }
        check(v, b->prev == before, "the layout is not linked in both directions");
        check(v, !b->dead, "a removed block in the layout");
        check(v, !v->laid_out[b->id], "a block is twice in the layout");
        check(v, b->scope < fn->scopes.n && !fn->scopes.v[b->scope].flattened && !fn->scopes.v[b->scope].in_block,
              "a block in a scope that cannot contain it");
        v->laid_out[b->id] = 1;
    }
    v->block = NULL;
    check(v, fn->layout_last == before, "the last block of the layout is not the last");
}

static void verify_labels(Verify *v)
{
    FnvMap seen = {0};
    for_each_block(b, v->fn) {
        v->block = b;
        v->index = 0;
        for (const Label *l = b->labels; l && !v->wrong; l = l->next) {
            u64 *count = fnvmap_at(&seen, (u64)(uintptr_t)l->name << 16 ^ l->scope);
            check(v, !(*count)++, "a label that its scope has twice");
            check(v, scope_encloses(v->fn, l->scope, b->scope), "a label of a scope that the block is not in");
        }
    }
    fnvmap_free(&seen);
}

const char *verify_function(const Function *fn, Arena *arena)
{
    Verify v = {.fn = fn, .arena = arena};
    if (!fn->is_definition)
        return NULL;
    v.laid_out = arena_alloc(arena, fn->blocks.n + 1);
    verify_layout(&v);
    if (!v.wrong)
        verify_labels(&v);
    for (const Block *b = fn->entry; b && !v.wrong; b = b->next) {
        v.block = b;
        verify_instrs(&v, b);
        verify_exit(&v, b);
        verify_branch(&v, b);
    }
    if (!v.wrong && fn->cfg)
        v.wrong = cfg_verify(fn, arena);
    return v.wrong;
}
