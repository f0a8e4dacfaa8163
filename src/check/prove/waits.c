/* Where a thread may wait for what another one does: warp operations and barriers, calls, sleeps, and loops that read memory
 * inside and end by what they read. A loop that counts ends by itself. */
#include "check/prove/waits.h"

typedef struct Loops {
    ProveGraph *g;
    const Callees *callees;
    bool on_strong;
    BitSet body;   /* of the loop that is looked at */
    BitSet read;   /* registers that depend on what is read in it */
    BitSet chosen; /* blocks to which control comes by what is read strongly in it */
    bool own_read; /* so may memory of the thread's own */
    VEC(WaitLoop) found;
} Loops;

/* ---- what is read in it -------------------------------------------------------------------------------------------------- */

/* By the texture unit or the read-only path: what is written while the kernel runs need not be seen. */
static bool is_read_only(const OpInfo *op)
{
    return op->opcode == OPC_TEX || op->opcode == OPC_TLD4 || op->opcode == OPC_TXQ || op_has_modifier(op, ".nc");
}

/* Reads something else than memory that no other thread writes, or that nothing can be learned from. */
static bool reads_others(const Loops *l, const Instr *i, bool on_strong)
{
    const OpInfo *op = i->op;
    bool is_weak_read = op->mem == MEM_READ && op->strength == STRENGTH_WEAK;
    if (op_has(op, OPF_CALL))
        return prove_callee(l->callees, i) & CALLEE_TOUCHES;
    if (is_weak_read && l->own_read && op->space != SPACE_CONST)
        return true;
    bool is_plain_write = op->mem == MEM_WRITE && prove_is_plain_access(op),
         is_plain_read = is_weak_read && !op_has(op, OPF_VOLATILE | OPF_CONVERGENT);
    if (is_plain_write || (on_strong && (op->mem == MEM_WRITE || is_plain_read)))
        return false;
    if (op_is_pure(op) || op_has(op, OPF_TERMINATOR))
        return false;
    return !(is_weak_read && (prove_is_private_access(op) || is_read_only(op))) &&
           !(op->mem == MEM_NONE && !op_has(op, OPF_VOLATILE | OPF_CONVERGENT));
}

/* Writes to memory that the thread may read again. */
static bool keeps_in_memory(const OpInfo *op)
{
    return op_has(op, OPF_CALL) || (op->mem != MEM_READ && op->mem != MEM_NONE);
}

/* Adds what depends on what is read. What is read weakly, which need not change, counts by values alone, and not by where control
 * goes. */
static void add_read(Loops *l, bool on_strong)
{
    bool changed;
    do {
        changed = false;
        for_each_bit(id, &l->body)
            for_each_instr(i, fn_block(l->g->fn, id)) {
                if (i->kind != INSTR_OP)
                    continue;
                bool found = reads_others(l, i, on_strong) || prove_reads_any(i, &l->read);
                if (found && on_strong && op_has(i->op, OPF_TERMINATOR))
                    changed |= bitset_or(&l->chosen, prove_influence(l->g, i->block));
                found |= bitset_has(&l->chosen, id);
                changed |= found && prove_add_writes(i, &l->read);
                if (found && keeps_in_memory(i->op)) {
                    changed |= !l->own_read;
                    l->own_read = true;
                }
            }
    } while (changed);
}

static void find_read(Loops *l)
{
    bitset_clear(&l->read);
    bitset_clear(&l->chosen);
    l->own_read = false;
    add_read(l, true);
    if (!l->on_strong)
        add_read(l, false);
}

/* ---- loops that count ---------------------------------------------------------------------------------------------------- */

/* The only instruction of the loop that writes the register; NULL: none or several. */
static const Instr *sole_write(const Loops *l, RegId reg, u32 *count)
{
    const Instr *found = NULL;
    *count = 0;
    for_each_bit(id, &l->body)
        for_each_instr(i, fn_block(l->g->fn, id)) {
            if (i->kind != INSTR_OP)
                continue;
            for_each_slot(o, i)
                if (slot_is_def(o) && o->id == reg) {
                    found = i;
                    ++*count;
                }
        }
    return *count == 1 ? found : NULL;
}

/* Whether every iteration passes the block: there is no way around it from the header to the header. */
static bool is_in_every_iteration(const Loops *l, u32 header, u32 block)
{
    Arena scratch = {0};
    VecU32 work = {0};
    BitSet seen = bitset_new(&scratch, l->body.bits); /* what is out of the loop is not looked at */
    bitset_fill(&seen);
    bitset_andnot(&seen, &l->body);
    bitset_add(&seen, block);
    vec_push(&work, header);
    if (header != block)
        graph_spread(&l->g->succ, &work, &seen);
    bool around = header != block && bitset_has(&seen, header);
    vec_free(&work);
    arena_free(&scratch);
    return !around;
}

/* By how much each iteration steps what the operand holds; 0: it is no such counter. */
static u64 step_of(const Loops *l, u32 header, const Operand *o)
{
    u32 writes;
    const Instr *i = o->kind == OPND_REG ? sole_write(l, o->id, &writes) : NULL;
    if (!i || i->guard || (i->op->sem.op != OPC_ADD && i->op->sem.op != OPC_SUB) || i->slots != 3)
        return 0;
    const Operand *a = &i->opnd[1], *b = &i->opnd[2];
    bool is_step =
        a->kind == OPND_REG && a->id == o->id && b->kind == OPND_IMM && is_in_every_iteration(l, header, i->block->id) &&
        is_in_every_iteration(l, i->block->id, header); /* and once only: no iteration around it is without the header */
    return is_step ? (u64)b->value : 0;
}

static bool stays(const Loops *l, const Operand *o)
{
    u32 writes = 0;
    if (o->kind == OPND_REG)
        sole_write(l, o->id, &writes);
    return writes == 0;
}

/* The comparison by which the loop goes on at the end of b, of the counter with its bound; CMP_NONE: another one. */
static Cmp compares_to_stay(const Loops *l, const Block *b, const Instr *test, bool swapped)
{
    const Instr *end = block_terminator(b);
    Cmp cmp = test->op->cmp;
    if (cmp < CMP_EQ || cmp > CMP_HS || end->op->opcode == OPC_BRX_IDX)
        return CMP_NONE;
    bool stays_if_taken = end->op->opcode == OPC_BRA && bitset_has(&l->body, branch_target(end)->id);
    bool holds = stays_if_taken != (bool)end->guard_not;
    cmp = swapped ? cmp_swapped(cmp) : cmp;
    return holds ? cmp : cmp_inverse(cmp, TC_SIGNED);
}

/* Whether a number that is stepped, modulo 2^bits, comes to one for which the comparison with the bound does not hold: there are
 * so many in a row, counted around, as the step leaves out. Of a bound in a register nothing is known. */
static bool comes_to_end(Cmp stay, const Operand *bound, u64 step, u32 bits)
{
    u64 most = UINT64_MAX >> (64 - bits), apart = step & (0 - step), beyond = 0;
    if (!(step & most))
        return false;
    if (stay == CMP_EQ)
        return true;
    if (stay == CMP_NE || bound->kind != OPND_IMM)
        return apart == 1 && (stay == CMP_NE || stay == CMP_LT || stay == CMP_GT || stay == CMP_LO || stay == CMP_HI);
    bool is_signed = stay >= CMP_LT && stay <= CMP_GE;
    u64 number = ((u64)bound->value ^ (is_signed ? most / 2 + 1 : 0)) & most;
    switch (stay) {
    case CMP_LT:
    case CMP_LO: beyond = most - number; break; /* and one more */
    case CMP_GT:
    case CMP_HI: beyond = number; break; /* likewise */
    case CMP_LE:
    case CMP_LS: return number < most && most - number >= apart;
    default: return number >= apart;
    }
    return beyond >= apart - 1;
}

/* An exit by a counter that comes to where its bound, which stays, is not compared as before. */
static bool counts(const Loops *l, u32 header, const Block *b)
{
    const Instr *end = block_terminator(b);
    u32 writes;
    const Instr *test = end && end->guard ? sole_write(l, end->guard, &writes) : NULL;
    if (!test || test->guard || test->op->opcode != OPC_SETP || test->slots != 3 || test->op->bool_op != BOOL_NONE)
        return false;
    Type type = test->op->type[0];
    if (!type_is_integer(type) || type_bits(type) > 64)
        return false;
    for (u32 swapped = 0; swapped < 2; swapped++) {
        const Operand *counter = &test->opnd[1 + swapped], *bound = &test->opnd[2 - swapped];
        u64 step = stays(l, bound) ? step_of(l, header, counter) : 0;
        Cmp stay = step ? compares_to_stay(l, b, test, swapped) : CMP_NONE;
        if (type_class(type) == TC_UNSIGNED || type_class(type) == TC_BITS)
            stay = stay == CMP_LT   ? CMP_LO
                   : stay == CMP_LE ? CMP_LS
                   : stay == CMP_GT ? CMP_HI
                   : stay == CMP_GE ? CMP_HS
                                    : stay;
        if (stay != CMP_NONE && comes_to_end(stay, bound, step, type_bits(type)))
            return is_in_every_iteration(l, header, b->id) && is_in_every_iteration(l, header, test->block->id);
    }
    return false;
}

/* ---- loops that wait ------------------------------------------------------------------------------------------------------ */

static bool leaves(const Loops *l, const Block *b)
{
    for (u32 edge = 0; edge < block_edge_count(b); edge++)
        if (!bitset_has(&l->body, block_edge_target(b, edge)->id))
            return true;
    const Instr *end = block_terminator(b);
    return end && op_has(end->op, OPF_NO_RETURN);
}

/* Whether b may go back to the header, or on in the loop. */
static bool turns_back(const Block *b, u32 header)
{
    bool back = false;
    for (u32 edge = 0; edge < block_edge_count(b); edge++)
        back |= block_edge_target(b, edge)->id == header;
    return back && block_edge_count(b) > 1;
}

static bool loop_waits(Loops *l, u32 header)
{
    bool waits = false, ends = false, is_chosen = bitset_next(&l->chosen, 0) < l->chosen.bits;
    for_each_bit(id, &l->body) {
        const Block *b = fn_block(l->g->fn, id);
        bool out = leaves(l, b);
        if (!out && !turns_back(b, header))
            continue;
        ends |= out;
        const Instr *end = block_terminator(b);
        if (out && counts(l, header, b))
            return false;
        waits |= (end && prove_reads_any(end, &l->read)) || (out && is_chosen && !is_in_every_iteration(l, header, id));
    }
    return waits || !ends;
}

bool prove_waits_at(const Callees *callees, const Instr *i)
{
    if (i->kind == INSTR_OP && op_has(i->op, OPF_CALL))
        return prove_callee(callees, i) & CALLEE_TOGETHER;
    return i->kind == INSTR_OP &&
           (op_has(i->op, OPF_CONVERGENT | OPF_BARRIER | OPF_ASYNC) || i->op->opcode == OPC_NANOSLEEP || !i->op->known);
}

/* The loop's edges back. */
static void add_loop(Loops *l, u32 header)
{
    const ProveGraph *g = l->g;
    for_each_edge(e, &g->pred, header) {
        u32 latch = g->pred.to[e];
        if (g->order[latch] >= g->order[header])
            vec_push(&l->found, ((WaitLoop){header, latch}));
    }
}

Waits prove_waits(ProveGraph *g, const Callees *callees, bool on_strong)
{
    Waits waits = {.blocks = bitset_new(g->arena, g->n)};
    Loops l = {.g = g, .callees = callees, .on_strong = on_strong};
    l.body = bitset_new(g->arena, g->n);
    l.read = bitset_new(g->arena, g->fn->regs.n);
    l.chosen = bitset_new(g->arena, g->n);
    for (u32 k = 0; k < g->reachable; k++) {
        const Block *b = g->by_order[k];
        for_each_instr(i, b)
            if (prove_waits_at(callees, i))
                bitset_add(&waits.blocks, b->id);
        if (!prove_loop_body(g, b->id, NULL, &l.body))
            continue;
        find_read(&l);
        if (loop_waits(&l, b->id))
            add_loop(&l, b->id);
    }
    WaitLoop *loop = arena_array(g->arena, WaitLoop, l.found.n);
    for (; waits.loops < l.found.n; waits.loops++)
        loop[waits.loops] = l.found.v[waits.loops];
    waits.loop = loop;
    vec_free(&l.found);
    return waits;
}

bool prove_waits_in(const Waits *w, const BitSet *blocks)
{
    for_each_bit(id, blocks)
        if (bitset_has(&w->blocks, id))
            return true;
    for (u32 k = 0; k < w->loops; k++)
        if (bitset_has(blocks, w->loop[k].header) && bitset_has(blocks, w->loop[k].latch))
            return true;
    return false;
}
