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
    for (u32 k = 0; k < w->as.blocks; k++)
        for_each_instr(i, w->as.block[k])
            for (RegWalk r = reg_walk(i); next_write(&r);)
                if (r.reg != CARRY_REG && live_in(an_live(l->an), w->loop->header, r.reg))
                    *held_at(l->iteration, r.reg) = held_before(l, from, r.reg);
}

/* Begins an iteration of the loop that b heads: nothing is known any more of what only some paths through the last one write. */
static void begin(LocalVariables *l, const Block *b)
{
    LocalIteration *it = l->iteration;
    const Loop *loop = loop_headed_by(an_loops(l->an), b);
    for (u32 k = 0; loop && k < it->held.n; k++)
        if (it->held.v[k].at && !dominates(an_dom(l->an), it->held.v[k].at, loop->latches[0]))
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
    FactValue is = range_compare_numbers(i->op->cmp, i->op->type[0], a, b);
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
           instr_operands(i) == (sem->op == OPC_MAD                         ? 4u
                                 : sem->op == OPC_MOV || sem->op == OPC_CVT ? 2u
                                                                            : 3u);
}

/* Whether i computes a number that is known. */
static bool number_of(LocalVariables *l, const Instr *i, u64 *number)
{
    if (loop_test_is_compare(i))
        return compared(l, i, number);
    Sem sem = i->op->sem;
    u64 a, b, c = 0;
    if (!is_arithmetic(l->fn, i) || !number_in(l, i, instr_operand(i, 1), sem.from, &a))
        return false;
    if (sem.op == OPC_MOV || sem.op == OPC_CVT) {
        *number = extended(a, &sem);
        return true;
    }
    bool shifts = sem.op == OPC_SHL || sem.op == OPC_SHR, multiplies = sem.op == OPC_MUL || sem.op == OPC_MAD;
    if (!number_in(l, i, instr_operand(i, 2), shifts ? 32 : sem.from, &b) ||
        (sem.op == OPC_MAD && !number_in(l, i, instr_operand(i, 3), sem.bits, &c)))
        return false;
    if (!multiplies)
        return sem.from == sem.bits && sem_apply(sem, a, b, number);
    *number = (extended(a, &sem) * extended(b, &sem) + c) & sem_max(sem.bits);
    return true;
}

/* ---- iterations ---------------------------------------------------------------------------------------------------- */

/* The block behind whose beginning, within the iteration, all paths have passed b; NULL: that is so everywhere behind b. Whoever passes
 * a loop also passes the blocks that all its iterations execute. */
static const Block *known_behind(LocalVariables *l, const LocalLoop *w, const Block *b)
{
    const DomTree *dom = an_dom(l->an);
    for (const Loop *in = loop_of(an_loops(l->an), b); in != w->loop && dominates(dom, b, in->latches[0]); in = in->parent)
        b = in->header;
    return dominates(dom, b, w->loop->latches[0]) ? NULL : b;
}

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
    made.at = known_behind(l, w, i->block);
    for (RegWalk r = reg_walk(i); next_write(&r);)
        *held_at(l->iteration, r.reg) = (LocalHeld){0};
    if (made.is_known)
        *held_at(l->iteration, i->opnd[0].id) = made;
    *constant = made.number;
    return is_number;
}

/* Whether the loop's latch leads to the header again. False too if that is not known, which clears *known. */
static bool goes_on(LocalVariables *l, const Loop *loop, bool *known)
{
    const Instr *branch = block_terminator(loop->latches[0]);
    const LocalHeld *held = local_address_held(l, branch, branch->guard);
    *known = held != NULL;
    return held && ((branch_target(branch) == loop->header) == ((held->number != 0) != branch->guard_not));
}

static void free_iteration(LocalVariables *l)
{
    vec_free(&l->iteration->held);
    fnvmap_free(&l->iteration->of_reg);
    l->iteration = NULL;
}

void local_loop_walk(LocalVariables *l, const LocalLoop *w, void (*look_at)(LocalVariables *l, Instr *i))
{
    u64 constant;
    l->iteration = arena_new(l->an->scratch, LocalIteration);
    enter(l, w);
    for (u32 k = 0; k < w->as.step.n; k++) {
        Block *b = w->as.block[w->as.step.v[k].place];
        begin(l, b);
        for_each_instr(i, b)
            if (i->kind == INSTR_OP) {
                look_at(l, i);
                execute(l, w, i, &constant);
            }
    }
    free_iteration(l);
}

static void execute_block(LocalVariables *l, LocalLoop *w, const Block *b)
{
    u64 value;
    begin(l, b);
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && execute(l, w, i, &value) && !loop_test_is_compare(i))
            vec_push(&w->constants, ((LocalConstant){w->as.step.n, i, value}));
}

/* Executes a block. *place becomes that of the next one. False: there is none, or it is not known, which clears *known. */
static bool execute_step(LocalVariables *l, LocalLoop *w, u32 *place, bool *known)
{
    Block *b = w->as.block[*place];
    const Loop *loop = loop_of(an_loops(l->an), b);
    UnrollStep step = {.place = (*place)++};
    bool is_latch = b == loop->latches[0], again = false;
    execute_block(l, w, b);
    if (is_latch) {
        again = goes_on(l, loop, known);
        step.to = again ? loop->header : loop_exit_of_latch(loop);
        *place = again ? unroll_place(&w->as, loop->header) : *place;
        w->trips += loop == w->loop;
    }
    vec_push(&w->as.step, step);
    return *known && (again || b != w->loop->latches[0]);
}

/* ---- whether it may be written out ----------------------------------------------------------------------------------- */

static int compare_order(const void *a, const void *b)
{
    const u64 *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Lists the blocks in reverse post-order. False: there are too many. */
static bool list_blocks(Analyses *an, const Loop *loop, Unroll *as)
{
    const Order *order = an_order(an);
    u64 place[UNROLL_BLOCKS];
    if (BEYOND(UNROLL_BLOCKS, loop->block_count > UNROLL_BLOCKS))
        return false;
    for (u32 k = 0; k < loop->block_count; k++)
        place[k] = order->index[loop->blocks[k]->id];
    qsort(place, loop->block_count, sizeof *place, compare_order);
    for (u32 k = 0; k < loop->block_count; k++)
        as->block[k] = order->rpo[place[k]];
    as->blocks = loop->block_count;
    return true;
}

/* Whether the loop is left at its latch only, which is the last of its blocks, from `place` on. */
static bool may_end(Analyses *an, const LocalLoop *w, const Loop *loop, u32 place)
{
    const Loops *loops = an_loops(an);
    if (loop->nounroll || loop->latch_count > 1 || !block_two_way_branch(loop->latches[0]))
        return false;
    u32 end = place + loop->block_count, on = unroll_place(&w->as, loop_exit_of_latch(loop));
    for (u32 k = place; k < end; k++) {
        const Block *b = k < w->as.blocks ? w->as.block[k] : NULL;
        bool is_latch = b == loop->latches[0];
        if (!b || !loop_contains(loops, loop, b) || is_latch != (k + 1 == end) ||
            (!is_latch && loop_is_left_at(loops, loop, b)))
            return false;
    }
    return on >= end;
}

/* Whether the block may be copied. Notes its size, and adds it to *size. */
static bool may_copy(Analyses *an, LocalLoop *w, u32 place, u32 *size)
{
    const Block *b = w->as.block[place];
    const Loop *loop = loop_headed_by(an_loops(an), b);
    if (block_is_pinned(b) || (loop && !may_end(an, w, loop, place)))
        return false;
    for_each_instr(i, b) {
        if (!unroll_may_repeat(an, i) || BEYOND(WALKED, *size > WALKED))
            return false;
        u32 cost = i->kind == INSTR_OP && !op_has(i->op, OPF_TERMINATOR) ? ptxas_cost(i) : 0;
        w->size[place] += cost;
        *size += cost;
    }
    return true;
}

static bool may_write_out(Analyses *an, const Loop *loop, LocalLoop *w)
{
    u32 size = 0;
    if (an_loops(an)->irreducible || loop->header == an->fn->entry || !loop_only_entry(an->fn, loop) ||
        !list_blocks(an, loop, &w->as))
        return false;
    for (u32 k = 0; k < w->as.blocks; k++)
        if (!may_copy(an, w, k, &size))
            return false;
    return size > 0;
}

bool local_loop_find(LocalVariables *l, const Loop *loop, u32 most, LocalLoop *found, const char **why)
{
    u32 place = 0, size = 0;
    bool known = true, more = true;
    *why = NULL;
    *found = (LocalLoop){.loop = loop};
    if (!may_write_out(l->an, loop, found))
        return false;
    l->iteration = arena_new(l->an->scratch, LocalIteration);
    enter(l, found);
    while (more && (size += found->size[place]) <= most && WITHIN(WALKED, found->as.step.n < WALKED))
        more = execute_step(l, found, &place, &known);
    free_iteration(l);
    if (more && found->trips)
        *why = "together they are large";
    return known && !more;
}

void local_loop_free(LocalLoop *w)
{
    vec_free(&w->as.step);
    vec_free(&w->constants);
}

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

/* Moves the constants of a step in the block that stands for it. Returns the place behind the last one. */
static u32 make_constants(Function *fn, const LocalLoop *w, u32 step, Block *of, u32 first)
{
    Instr *made = of->first, *after;
    for (const Instr *i = w->as.block[w->as.step.v[step].place]->first; i && made; i = i->next, made = after) {
        const LocalConstant *c = first < w->constants.n ? &w->constants.v[first] : NULL;
        after = made->next;
        if (!c || c->step != step || c->i != i)
            continue;
        make_constant(fn, made, c->value);
        first++;
    }
    return first;
}

void local_loop_write_out(Analyses *an, const LocalLoop *w)
{
    Block **of = arena_array(an->scratch, Block *, w->as.step.n);
    u32 next = 0;
    unroll_write_out(&w->as, loop_entry_block(an->fn, w->loop), of);
    for (u32 k = 0; k < w->as.step.n; k++)
        next = make_constants(an->fn, w, k, of[k], next);
}
