#include "phase/switch/emit.h"

#include <assert.h>

#include "ir/builder.h"

typedef struct Emitter {
    Function *fn;
    const Decision *d;
    const SwitchPlan *p;
    const Instr *branch; /* the root's, for which all new branches stand */
    const Instr *loc;
    Block **leaf; /* by leaf: the block to branch to */
    Block *last;  /* the last new block in the layout */
} Emitter;

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* Computes selector - value, in the selector's width. */
static RegId make_offset(Emitter *e, Block *b, u64 value)
{
    u32 bits = e->d->bits;
    Builder at = build_at_end(b);
    if (value == 0)
        return e->d->selector;
    return build_binary(&at, OPC_ADD, (OpParts){.type = {signed_type(bits)}}, bits_type(bits),
                        register_operand(e->d->selector), build_integer(0 - value, bits, true));
}

/* Converts reg, of the selector's width, to an unsigned number of 32 bits; higher bits are cut off. */
static RegId make_word(Emitter *e, Block *b, RegId reg)
{
    Builder at = build_at_end(b);
    if (e->d->bits == 32)
        return reg;
    return build_unary(&at, OPC_CVT, (OpParts){.type = {TYPE_U32, unsigned_type(e->d->bits)}}, TYPE_B32,
                       register_operand(reg));
}

/* A predicate that compares reg with the constant. For equality the sign does not matter. */
static RegId make_test(Block *b, Cmp cmp, bool is_signed, RegId reg, u32 bits, u64 constant)
{
    Builder at = build_at_end(b);
    Type type = is_signed ? signed_type(bits) : unsigned_type(bits);
    return build_binary(&at, OPC_SETP, (OpParts){.cmp = cmp, .type = {type}}, TYPE_PRED, register_operand(reg),
                        build_integer(constant, bits, is_signed));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static Block *make_block(Emitter *e)
{
    Block *b = block_new_like(e->d->root, e->loc);
    block_move_after(b, e->last);
    e->last = b;
    return b;
}

/* The leaf's target, or a new block in front of it that repeats the computations of the region on that path. */
static Block *leaf_block(Emitter *e, u32 index)
{
    const Leaf *leaf = &e->d->leaves[index];
    if (e->leaf[index])
        return e->leaf[index];
    Block *b = leaf->target;
    if (leaf->carried) {
        b = make_block(e);
        for (u32 k = 0; k < leaf->carried; k++)
            instr_append(b, instr_clone(e->fn, leaf->carry[k]));
        block_set_fall(b, leaf->target);
    }
    e->leaf[index] = b;
    return b;
}

static void end_with_branch(Emitter *e, Block *b, RegId predicate, Block *to, Block *fall)
{
    block_set_branch(b, predicate, false, to, e->p->uniform);
    instr_inherit_origin(e->fn, block_terminator(b), e->branch, NULL);
    block_set_fall(b, fall);
}

static void end_with_table(Emitter *e, Block *b, const SearchPlan *plan, RegId index)
{
    Builder at = build_at_end(b);
    u32 table = table_new(b);
    for (u64 k = 0; k <= plan->hi - plan->lo; k++)
        table_add(e->fn, table, leaf_block(e, plan->entry[k]));
    Operand slots[] = {register_operand(index), {.kind = OPND_TABLE, .id = table}};
    block_set_fall(b, NULL);
    Instr *branch = build(&at, OPC_BRX_IDX, (OpParts){.uniform = e->p->uniform && e->p->uniform_index}, slots, 2);
    instr_inherit_origin(e->fn, branch, e->branch, NULL);
}

static Block *emit_at(Emitter *e, const SearchPlan *plan);
static void emit(Emitter *e, const SearchPlan *plan, Block *b);

static void emit_table(Emitter *e, const SearchPlan *plan, Block *b)
{
    u64 span = plan->hi - plan->lo;
    assert(plan->lo <= plan->hi && span < UINT32_MAX);
    RegId index = make_offset(e, b, plan_value(e->p, e->d, plan->lo));
    if (e->d->bits == 16)
        index = make_word(e, b, index);
    if (plan->no) {
        u32 bits = e->d->bits == 64 ? 64 : 32;
        RegId outside = make_test(b, CMP_GT, false, index, bits, span);
        Block *jump = make_block(e);
        end_with_branch(e, b, outside, emit_at(e, plan->no), jump);
        b = jump;
    }
    if (e->d->bits == 64)
        index = make_word(e, b, index);
    end_with_table(e, b, plan, index);
}

/* The predicate that is true where the plan leads to `yes`. inverse: where it leads to `no`, for PLAN_LESS only. */
static RegId emit_condition(Emitter *e, const SearchPlan *plan, Block *b, bool inverse)
{
    u64 value = plan_value(e->p, e->d, plan->lo);
    u32 bits = e->d->bits;
    if (plan->kind == PLAN_LESS)
        return make_test(b, inverse ? CMP_GE : CMP_LT, e->p->is_signed, e->d->selector, bits, value);
    if (plan->kind == PLAN_EQUAL)
        return make_test(b, CMP_EQ, true, e->d->selector, bits, value);
    RegId offset = make_offset(e, b, value);
    if (plan->kind == PLAN_RANGE)
        return make_test(b, CMP_LE, false, offset, bits, plan->hi - plan->lo);
    RegId word = make_word(e, b, offset); /* shifts by 32 and more give 0 */
    Builder at = build_at_end(b);
    RegId shifted = build_binary(&at, OPC_SHR, (OpParts){.type = {TYPE_U32}}, TYPE_B32,
                                 build_integer(plan->mask, 32, false), register_operand(word));
    RegId bit = build_binary(&at, OPC_AND, (OpParts){.type = {TYPE_B32}}, TYPE_B32, register_operand(shifted),
                             build_integer(1, 32, false));
    return make_test(b, CMP_EQ, true, bit, 32, 1);
}

static void emit(Emitter *e, const SearchPlan *plan, Block *b)
{
    if (plan->kind == PLAN_GO) {
        block_set_fall(b, leaf_block(e, plan->leaf));
        return;
    }
    if (plan->kind == PLAN_TABLE) {
        emit_table(e, plan, b);
        return;
    }
    /* The branch leads to a leaf, and the search continues in the block after it. */
    bool inverse = plan->kind == PLAN_LESS && plan->yes->kind != PLAN_GO && plan->no->kind == PLAN_GO;
    RegId predicate = emit_condition(e, plan, b, inverse);
    Block *fall = emit_at(e, inverse ? plan->yes : plan->no);
    Block *to = emit_at(e, inverse ? plan->no : plan->yes);
    end_with_branch(e, b, predicate, to, fall);
}

static Block *emit_at(Emitter *e, const SearchPlan *plan)
{
    if (plan->kind == PLAN_GO)
        return leaf_block(e, plan->leaf);
    Block *b = make_block(e);
    emit(e, plan, b);
    return b;
}

/* ---- instructions that are left over ---------------------------------------------------------------------------- */

/* Whether an instruction of the block after i reads reg, not counting the last `removed` of left_over, which belong to this
 * root. */
static bool reads_after(const Instr *i, RegId reg, const InstrVec *left_over, u32 removed)
{
    for (const Instr *k = i->next; k; k = k->next) {
        bool is_removed = false;
        for (u32 n = left_over->n - removed; n < left_over->n; n++)
            is_removed |= left_over->v[n] == k;
        if (!is_removed && k->kind == INSTR_OP && instr_reads(k, reg))
            return true;
    }
    return false;
}

/* Whether nobody reads the results of i, a pure instruction of the root. */
static bool is_left_over(const Emitter *e, const Live *live, const Instr *i, const InstrVec *left_over, u32 removed)
{
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        if (w.reg == e->d->selector || reads_after(i, w.reg, left_over, removed))
            return false;
        for (u32 t = 0; t < e->d->target_count; t++)
            if (live_in(live, e->d->targets[t], w.reg))
                return false;
        for (u32 l = 0; l < e->d->leaf_count; l++)
            for (u32 k = 0; k < e->d->leaves[l].carried; k++)
                if (instr_reads(e->d->leaves[l].carry[k], w.reg))
                    return false;
    }
    return true;
}

/* Appends to left_over the root's instructions that only computed the condition, from the branch backwards. */
static void sweep_root(Emitter *e, const Live *live, Instr *last, InstrVec *left_over)
{
    RegId wanted[8];
    u32 n = 0, removed = 0;
    wanted[n++] = e->branch->guard ? e->branch->guard : e->branch->opnd[0].id;
    for (Instr *i = last; i && n < COUNT_OF(wanted); i = i->prev) {
        bool feeds = false;
        for (u32 k = 0; k < n; k++)
            feeds |= i->kind == INSTR_OP && instr_writes(i, wanted[k]);
        if (!feeds)
            continue;
        if (!op_is_pure(i->op) || i->guard || !is_left_over(e, live, i, left_over, removed))
            return;
        for (RegWalk w = reg_walk(i); next_read(&w) && n < COUNT_OF(wanted);)
            wanted[n++] = w.reg;
        vec_push(left_over, i);
        removed++;
    }
}

void switch_emit(Function *fn, const Live *live, const Decision *d, const SwitchPlan *p, InstrVec *left_over)
{
    Instr *branch = block_terminator(d->root), *last = branch->prev;
    Emitter e = {.fn = fn, .d = d, .p = p, .branch = branch, .loc = instr_loc(branch), .last = d->root};
    e.leaf = mem_zalloc(d->leaf_count * sizeof *e.leaf);
    block_remove_terminator(d->root);
    emit(&e, p->plan, d->root);
    sweep_root(&e, live, last, left_over);
    for (u32 k = 1; k < d->count; k++)
        block_remove(d->blocks[k]);
    mem_free(e.leaf);
}
