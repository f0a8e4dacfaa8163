#include "phase/local_to_registers/iterations.h"

#include <stdlib.h>

#include "analysis/loop_test.h"
#include "base/bound.h"
#include "ir/inspect.h"
#include "phase/local_to_registers/addresses.h"
#include "target/ptxas.h"
#include "transform/loop_entry.h"

enum { WALKED = 8192 /* the most machine instructions of a loop that is looked at */ };

/* ---- registers ------------------------------------------------------------------------------------------------- */

/* What is known of the register; nothing yet if that was asked for the first time. */
static LocalHeld *held_at(LocalIteration *it, RegId reg)
{
    u32 n = it->of_reg.count;
    u64 *place = fnvmap_at(&it->of_reg, reg);
    if (it->of_reg.count > n) {
        *place = it->held.n;
        vec_push(&it->held, ((LocalHeld){0}));
    }
    return &it->held.v[*place];
}

/* What the register holds where the loop is entered from. */
static LocalHeld held_before(LocalVariables *l, const Block *from, RegId reg)
{
    LocalHeld held = {0};
    u32 bits = type_bits(fn_reg(l->fn, reg)->type);
    if (l->of_reg[reg])
        held.address = l->of_value[ssa_at_end(an_ssa(l->an), from, reg)];
    held.is_known = held.address.variable;
    if (held.is_known || (bits != 32 && bits != 64))
        return held;
    Range r = value_of_register(an_facts(l->an), (ProgramPoint){NULL, from, NULL}, reg, bits);
    held.is_known = range_is_constant(&r);
    held.number = r.lo;
    return held;
}

/* Enters the loop: notes what the registers hold that it changes, and that are read before. */
static void enter(LocalVariables *l, const LocalLoop *w)
{
    const Block *from = loop_only_entry(l->fn, w->loop);
    for (u32 k = 0; k < w->blocks; k++)
        for_each_instr(i, w->block[k])
            for (RegWalk r = reg_walk(i); next_write(&r);)
                if (r.reg != CARRY_REG && live_in(an_live(l->an), w->loop->header, r.reg))
                    *held_at(l->iteration, r.reg) = held_before(l, from, r.reg);
}

/* Begins an iteration: nothing is known any more of what only some paths write. */
static void begin(LocalIteration *it)
{
    for (u32 k = 0; k < it->held.n; k++)
        if (it->held.v[k].at)
            it->held.v[k] = (LocalHeld){0};
}

/* ---- what an instruction computes ---------------------------------------------------------------------------------- */

static bool number_in(LocalVariables *l, const Instr *i, const Operand *o, u32 bits, u64 *number)
{
    if (o->kind == OPND_IMM) {
        *number = (u64)o->value & sem_max(bits);
        return true;
    }
    if (!operand_plain_register(o))
        return false;
    Range r = local_address_range(l, i, o, bits);
    *number = r.lo;
    return range_is_constant(&r);
}

static bool compared(LocalVariables *l, const Instr *i, u64 *holds)
{
    u64 a, b;
    u32 bits = type_bits(i->op->type[0]);
    if (!number_in(l, i, instr_operand(i, 1), bits, &a) || !number_in(l, i, instr_operand(i, 2), bits, &b))
        return false;
    FactValue is = range_compare(i->op->cmp, compare_is_signed(i->op->cmp, i->op->type[0]), range_constant(bits, a),
                                 range_constant(bits, b));
    *holds = is == FACT_TRUE;
    return is != FACT_UNKNOWN;
}

static u64 extended(u64 x, const Sem *sem)
{
    u64 whole = sem->is_signed ? (u64)sem_signed(x, sem->from) : x;
    return whole & sem_max(sem->bits);
}

/* Whether i writes an integer of 32 or 64 bits that its operands decide. */
static bool is_arithmetic(const Function *fn, const Instr *i)
{
    const Sem *sem = &i->op->sem;
    RegId to = operand_plain_register(instr_operand(i, 0));
    return sem->op == i->op->opcode && (sem->bits == 32 || sem->bits == 64) && to && !i->guard &&
           type_bits(fn_reg(fn, to)->type) == sem->bits && !op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) &&
           (instr_operands(i) == 2 || instr_operands(i) == 3);
}

/* Whether i computes a number that is known. */
static bool number_of(LocalVariables *l, const Instr *i, u64 *number)
{
    if (loop_test_is_compare(i))
        return compared(l, i, number);
    Sem sem = i->op->sem;
    u64 a, b;
    if (!is_arithmetic(l->fn, i) || !number_in(l, i, instr_operand(i, 1), sem.from, &a))
        return false;
    bool is_moved = sem.op == OPC_MOV || sem.op == OPC_CVT, shifts = sem.op == OPC_SHL || sem.op == OPC_SHR;
    if (instr_operands(i) == 2) {
        *number = extended(a, &sem);
        return is_moved;
    }
    if (is_moved || !number_in(l, i, instr_operand(i, 2), shifts ? 32 : sem.from, &b))
        return false;
    if (sem.from == sem.bits)
        return sem_apply(sem, a, b, number);
    *number = extended(a, &sem) * extended(b, &sem) & sem_max(sem.bits);
    return sem.op == OPC_MUL;
}

/* ---- iterations ---------------------------------------------------------------------------------------------------- */

/* Notes what i writes. *constant becomes the number that it computes; false: it computes none that is known. */
static bool execute(LocalVariables *l, const LocalLoop *w, const Instr *i, u64 *constant)
{
    LocalHeld made = {0};
    if (local_address_is_moved(l->fn, i))
        made.address = local_address_of_result(l, i);
    if (made.address.variable) {
        local_address_note(l, i->opnd[0].id, made.address.variable);
        bitset_add(&l->of_iteration, i->opnd[0].id);
    }
    bool is_number = !made.address.variable && number_of(l, i, &made.number);
    made.is_known = is_number || (made.address.variable && !i->guard);
    made.at = dominates(an_dom(l->an), i->block, w->loop->latches[0]) ? NULL : i->block;
    for (RegWalk r = reg_walk(i); next_write(&r);)
        *held_at(l->iteration, r.reg) = (LocalHeld){0};
    if (made.is_known)
        *held_at(l->iteration, i->opnd[0].id) = made;
    *constant = made.number;
    return is_number;
}

/* Whether the latch leads to the header again. False too if that is not known, which clears *known. */
static bool goes_on(LocalVariables *l, const LocalLoop *w, bool *known)
{
    const Instr *branch = block_terminator(w->loop->latches[0]);
    const LocalHeld *held = local_address_held(l, branch, branch->guard);
    *known = held != NULL;
    return held && ((branch_target(branch) == w->loop->header) == ((held->number != 0) != branch->guard_not));
}

static void free_iteration(LocalVariables *l)
{
    vec_free(&l->iteration->held);
    fnvmap_free(&l->iteration->of_reg);
    l->iteration = NULL;
}

void local_loop_walk(LocalVariables *l, const LocalLoop *w, void (*look_at)(LocalVariables *l, Instr *i))
{
    LocalIteration *it = arena_new(l->an->scratch, LocalIteration);
    u64 constant;
    l->iteration = it;
    enter(l, w);
    for (u32 t = 0; t < w->trips; t++) {
        begin(it);
        for (u32 k = 0; k < w->blocks; k++)
            for_each_instr(i, w->block[k])
                if (i->kind == INSTR_OP) {
                    look_at(l, i);
                    execute(l, w, i, &constant);
                }
    }
    free_iteration(l);
}

static void execute_all(LocalVariables *l, LocalLoop *w)
{
    u64 value;
    begin(l->iteration);
    for (u32 k = 0; k < w->blocks; k++)
        for_each_instr(i, w->block[k])
            if (i->kind == INSTR_OP && execute(l, w, i, &value) && !loop_test_is_compare(i))
                vec_push(&w->constants, ((LocalConstant){w->trips, i, value}));
    w->trips++;
}

/* ---- whether it may be written out ----------------------------------------------------------------------------------- */

static int compare_order(const void *a, const void *b)
{
    const u64 *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Lists the blocks in reverse post-order. False: there are too many. */
static bool list_blocks(Analyses *an, const Loop *loop, LocalLoop *w)
{
    const Order *order = an_order(an);
    u64 place[UNROLL_BLOCKS];
    if (BEYOND(UNROLL_BLOCKS, loop->block_count > UNROLL_BLOCKS))
        return false;
    for (u32 k = 0; k < loop->block_count; k++)
        place[k] = order->index[loop->blocks[k]->id];
    qsort(place, loop->block_count, sizeof *place, compare_order);
    for (u32 k = 0; k < loop->block_count; k++)
        w->block[k] = order->rpo[place[k]];
    w->blocks = loop->block_count;
    return true;
}

/* Whether b may be copied, and control leaves the loop at its latch only. *size: the machine instructions of b are added to it. */
static bool may_copy(Analyses *an, const Loop *loop, const Block *b, u32 *size)
{
    if (block_is_pinned(b) || (b != loop->latches[0] && loop_is_left_at(an_loops(an), loop, b)))
        return false;
    for_each_instr(i, b) {
        if (!unroll_may_repeat(an, i) || BEYOND(WALKED, *size > WALKED))
            return false;
        *size += i->kind == INSTR_OP && !op_has(i->op, OPF_TERMINATOR) ? ptxas_cost(i) : 0;
    }
    return true;
}

static bool may_write_out(Analyses *an, const Loop *loop, LocalLoop *w, u32 *size)
{
    if (loop->nounroll || loop->latch_count > 1 || loop->height > 1 || an_loops(an)->irreducible ||
        loop->header == an->fn->entry || !loop_only_entry(an->fn, loop) || !block_two_way_branch(loop->latches[0]) ||
        !list_blocks(an, loop, w))
        return false;
    *size = 0;
    for (u32 k = 0; k < w->blocks; k++)
        if (!may_copy(an, loop, w->block[k], size))
            return false;
    return *size > 0;
}

bool local_loop_find(LocalVariables *l, const Loop *loop, u32 most, LocalLoop *found, const char **why)
{
    u32 size;
    bool known = true, more = true;
    *why = NULL;
    *found = (LocalLoop){.loop = loop};
    if (!may_write_out(l->an, loop, found, &size))
        return false;
    l->iteration = arena_new(l->an->scratch, LocalIteration);
    enter(l, found);
    while (more && (found->trips + 1) * size <= most) {
        execute_all(l, found);
        more = goes_on(l, found, &known);
    }
    free_iteration(l);
    if (more && known && found->trips)
        *why = "together they are large";
    return known && !more;
}

void local_loop_free(LocalLoop *w) { vec_free(&w->constants); }

/* ---- the rewrite ------------------------------------------------------------------------------------------------------- */

static void make_constant(Function *fn, Instr *i, u64 value)
{
    u32 bits = i->op->sem.bits;
    Operand slots[] = {i->opnd[0], build_integer(value, bits, false)};
    if (i->op->opcode == OPC_MOV && instr_operand(i, 1)->kind == OPND_IMM)
        return;
    instr_set_op(i, isa_op(fn->module->isa, OPC_MOV, (OpParts){.type = {bits_type(bits)}}));
    instr_set_operands(i, slots, 2);
}

/* Moves the constants of an iteration, in the blocks `of` that stand for the loop's. *next: its first one, and then the one after. */
static void make_constants(Function *fn, const LocalLoop *w, u32 iteration, Block *const *of, u32 *next)
{
    for (u32 k = 0; k < w->blocks; k++) {
        Instr *made = of[k]->first, *after;
        for (const Instr *i = w->block[k]->first; i && made; i = i->next, made = after) {
            const LocalConstant *c = *next < w->constants.n ? &w->constants.v[*next] : NULL;
            after = made->next;
            if (!c || c->iteration != iteration || c->i != i)
                continue;
            make_constant(fn, made, c->value);
            ++*next;
        }
    }
}

void local_loop_write_out(Function *fn, const LocalLoop *w)
{
    Block *after = loop_entry_block(fn, w->loop), *last = after, *copy[UNROLL_BLOCKS];
    u32 next = 0;
    for (u32 t = 0; t + 1 < w->trips; t++) {
        unroll_copy(w->loop, w->block, w->blocks, after, copy);
        make_constants(fn, w, t, copy, &next);
        block_set_fall(last, copy[0]);
        for (u32 k = 0; k < w->blocks; k++)
            last = w->block[k] == w->loop->latches[0] ? copy[k] : last;
        after = copy[w->blocks - 1];
    }
    unroll_last(w->loop);
    make_constants(fn, w, w->trips - 1, w->block, &next);
}
