#include "phase/switch_emit.h"

#include "ir/cfg.h"
#include "ir/edit.h"

typedef struct Emitter {
    Function *fn;
    const Decision *d;
    const SwitchPlan *p;
    const Instr *branch; /* the root's: what the new ones stand for */
    const Instr *loc;
    Block **leaf;        /* by leaf: where to go for it */
    Block *last;         /* of the new blocks, in layout */
} Emitter;

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* Types of the selector's width, as opcodes and registers name them: index 0 for 16 bits, 1 for 32, 2 for 64. */
static u32 width_index(u32 bits) { return bits == 16 ? 0 : bits == 32 ? 1 : 2; }

static Operand reg_operand(RegId reg) { return (Operand){.kind = OPND_REG, .id = reg}; }

/* A constant of `bits` bits. */
static Operand constant_operand(u64 value, u32 bits, bool is_signed)
{
    u64 low = value & value_max(bits);
    bool negative = is_signed && (low & value_sign(bits));
    Operand o = {.kind = OPND_IMM, .value = (i64)(negative ? low | ~value_max(bits) : low)};
    if (!negative && o.value < 0)
        o.flags = OPNDF_UNSIGNED;
    return o;
}

static Instr *make(Emitter *e, const char *opcode, const Operand *slots, u32 count)
{
    return instr_new(e->fn, isa_decode(e->fn->module->isa, opcode, (u32)strlen(opcode)), slots, count);
}

static RegId make_binary(Emitter *e, Block *b, const char *opcode, Type type, Operand left, Operand right)
{
    RegId to = reg_new(e->fn, type);
    Operand slots[] = {reg_operand(to), left, right};
    instr_append(b, make(e, opcode, slots, 3));
    return to;
}

/* selector - value, of the selector's width. */
static RegId make_offset(Emitter *e, Block *b, u64 value)
{
    static const char *const add[] = {"add.s16", "add.s32", "add.s64"};
    static const Type type[] = {TYPE_B16, TYPE_B32, TYPE_B64};
    u32 width = width_index(e->d->bits);
    if (value == 0)
        return e->d->selector;
    return make_binary(e, b, add[width], type[width], reg_operand(e->d->selector), constant_operand(0 - value, e->d->bits, true));
}

/* reg, of the selector's width, as an unsigned number of 32 bits; what does not fit is cut off. */
static RegId make_word(Emitter *e, Block *b, RegId reg)
{
    if (e->d->bits == 32)
        return reg;
    RegId to = reg_new(e->fn, TYPE_B32);
    Operand slots[] = {reg_operand(to), reg_operand(reg)};
    instr_append(b, make(e, e->d->bits == 16 ? "cvt.u32.u16" : "cvt.u32.u64", slots, 2));
    return to;
}

typedef enum TestKind { TEST_LESS, TEST_GREATER_EQUAL, TEST_EQUAL, TEST_UP_TO, TEST_ABOVE } TestKind;

/* TEST_UP_TO and TEST_ABOVE compare as unsigned. */
static RegId make_test(Emitter *e, Block *b, TestKind kind, RegId reg, u32 bits, u64 constant)
{
    static const char *const signed_text[][3] = {
        [TEST_LESS] = {"setp.lt.s16", "setp.lt.s32", "setp.lt.s64"},
        [TEST_GREATER_EQUAL] = {"setp.ge.s16", "setp.ge.s32", "setp.ge.s64"},
        [TEST_EQUAL] = {"setp.eq.s16", "setp.eq.s32", "setp.eq.s64"},
    };
    static const char *const unsigned_text[][3] = {
        [TEST_LESS] = {"setp.lt.u16", "setp.lt.u32", "setp.lt.u64"},
        [TEST_GREATER_EQUAL] = {"setp.ge.u16", "setp.ge.u32", "setp.ge.u64"},
        [TEST_EQUAL] = {"setp.eq.s16", "setp.eq.s32", "setp.eq.s64"},
        [TEST_UP_TO] = {"setp.le.u16", "setp.le.u32", "setp.le.u64"},
        [TEST_ABOVE] = {"setp.gt.u16", "setp.gt.u32", "setp.gt.u64"},
    };
    bool is_signed = kind == TEST_EQUAL || (e->p->is_signed && kind < TEST_EQUAL);
    const char *opcode = (is_signed ? signed_text : unsigned_text)[kind][width_index(bits)];
    return make_binary(e, b, opcode, TYPE_PRED, reg_operand(reg), constant_operand(constant, bits, is_signed));
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static Block *make_block(Emitter *e)
{
    Block *b = block_new(e->fn, e->d->root->scope);
    b->loc = (Instr *)e->loc;
    block_move_after(b, e->last);
    e->last = b;
    return b;
}

/* The leaf's own block, or one in front of it for what the region computed on the way. */
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
    instr_stand_for(e->fn, block_terminator(b), e->branch, NULL);
    block_set_fall(b, fall);
}

static void end_with_table(Emitter *e, Block *b, const Plan *plan, RegId index)
{
    Function *fn = e->fn;
    Table table = {.kind = TABLE_BRANCH, .changed = true, .name = fresh_label_name(fn), .scope = b->scope};
    for (u64 k = 0; k <= plan->hi - plan->lo; k++)
        vec_push(&table.targets, leaf_block(e, plan->entry[k])->id);
    vec_push(&fn->tables, table);
    Operand slots[] = {reg_operand(index), {.kind = OPND_TABLE, .id = fn->tables.n - 1}};
    Instr *branch = make(e, e->p->uniform ? "brx.idx.uni" : "brx.idx", slots, 2);
    block_set_fall(b, NULL);
    instr_append(b, branch);
    instr_stand_for(fn, branch, e->branch, NULL);
}

static Block *emit_at(Emitter *e, const Plan *plan);
static void emit(Emitter *e, const Plan *plan, Block *b);

static void emit_table(Emitter *e, const Plan *plan, Block *b)
{
    u64 span = plan->hi - plan->lo;
    RegId index = make_offset(e, b, plan_value(e->p, e->d, plan->lo));
    if (e->d->bits == 16)
        index = make_word(e, b, index);
    if (plan->no) {
        u32 bits = e->d->bits == 64 ? 64 : 32;
        RegId outside = make_test(e, b, TEST_ABOVE, index, bits, span);
        Block *jump = make_block(e);
        end_with_branch(e, b, outside, emit_at(e, plan->no), jump);
        b = jump;
    }
    if (e->d->bits == 64)
        index = make_word(e, b, index);
    end_with_table(e, b, plan, index);
}

/* The predicate that is true on plan's `yes`. */
static RegId emit_condition(Emitter *e, const Plan *plan, Block *b, bool inverse)
{
    u64 value = plan_value(e->p, e->d, plan->lo);
    u32 bits = e->d->bits;
    if (plan->kind == PLAN_LESS)
        return make_test(e, b, inverse ? TEST_GREATER_EQUAL : TEST_LESS, e->d->selector, bits, value);
    if (plan->kind == PLAN_EQUAL)
        return make_test(e, b, TEST_EQUAL, e->d->selector, bits, value);
    RegId offset = make_offset(e, b, value);
    if (plan->kind == PLAN_RANGE)
        return make_test(e, b, TEST_UP_TO, offset, bits, plan->hi - plan->lo);
    RegId word = make_word(e, b, offset); /* shifts by 32 and more give 0 */
    RegId shifted = make_binary(e, b, "shr.u32", TYPE_B32, constant_operand(plan->mask, 32, false), reg_operand(word));
    RegId bit = make_binary(e, b, "and.b32", TYPE_B32, reg_operand(shifted), constant_operand(1, 32, false));
    return make_test(e, b, TEST_EQUAL, bit, 32, 1);
}

static void emit(Emitter *e, const Plan *plan, Block *b)
{
    if (plan->kind == PLAN_GO) {
        block_set_fall(b, leaf_block(e, plan->leaf));
        return;
    }
    if (plan->kind == PLAN_TABLE) {
        emit_table(e, plan, b);
        return;
    }
    /* The branch goes to a leaf, the search goes on behind it. */
    bool inverse = plan->kind == PLAN_LESS && plan->yes->kind != PLAN_GO && plan->no->kind == PLAN_GO;
    RegId predicate = emit_condition(e, plan, b, inverse);
    Block *fall = emit_at(e, inverse ? plan->yes : plan->no);
    Block *to = emit_at(e, inverse ? plan->no : plan->yes);
    end_with_branch(e, b, predicate, to, fall);
}

static Block *emit_at(Emitter *e, const Plan *plan)
{
    if (plan->kind == PLAN_GO)
        return leaf_block(e, plan->leaf);
    Block *b = make_block(e);
    emit(e, plan, b);
    return b;
}

/* ---- what is left over ----------------------------------------------------------------------------------------- */

/* Apart from the last `doomed` of left_over, which are of this root. */
static bool reads_behind(const Instr *i, RegId reg, const InstrVec *left_over, u32 doomed)
{
    for (const Instr *k = i->next; k; k = k->next) {
        bool is_doomed = false;
        for (u32 n = left_over->n - doomed; n < left_over->n; n++)
            is_doomed |= left_over->v[n] == k;
        if (!is_doomed && k->kind == INSTR_OP && instr_reads(k, reg))
            return true;
    }
    return false;
}

/* Whether what pure i of the root writes is read nowhere any more. */
static bool is_left_over(const Emitter *e, const Live *live, const Instr *i, const InstrVec *left_over, u32 doomed)
{
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        if (w.reg == e->d->selector || reads_behind(i, w.reg, left_over, doomed))
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

/* The root's instructions that computed the condition and nothing else, from the branch backwards. */
static void sweep_root(Emitter *e, const Live *live, Instr *last, InstrVec *left_over)
{
    RegId wanted[8];
    u32 n = 0, doomed = 0;
    wanted[n++] = e->branch->guard ? e->branch->guard : e->branch->opnd[0].id;
    for (Instr *i = last; i && n < COUNT_OF(wanted); i = i->prev) {
        bool feeds = false;
        for (u32 k = 0; k < n; k++)
            feeds |= i->kind == INSTR_OP && instr_writes(i, wanted[k]);
        if (!feeds)
            continue;
        if (!op_is_pure(i->op) || i->guard || !is_left_over(e, live, i, left_over, doomed))
            return;
        for (RegWalk w = reg_walk(i); next_read(&w) && n < COUNT_OF(wanted);)
            wanted[n++] = w.reg;
        vec_push(left_over, i);
        doomed++;
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
        if (cfg_pred_count(fn, d->blocks[k]) == 0) /* else code that nothing reaches leads there */
            block_remove(d->blocks[k]);
    free(e.leaf);
}
