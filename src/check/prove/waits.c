/* Finds where a thread may wait for another one: warp operations and barriers, calls, sleeps, and some loops. Such a loop reads
 * memory inside, and what it reads decides when it ends: by way of values, branches, the thread's own memory or callees. */
#include "check/prove/waits.h"

typedef struct Loops {
    ProveGraph *g;
    const Callees *callees;
    BitSet body;   /* of the loop that is looked at */
    BitSet read;   /* registers that depend on what is read in it */
    BitSet chosen; /* blocks to which control comes by what is read in it */
    bool own_read; /* so may memory of the thread's own */
    VEC(WaitLoop) found;
} Loops;

/* ---- what is read in it -------------------------------------------------------------------------------------------------- */

/* Whether the load goes through the texture unit or the read-only path: what is written while the kernel runs need not be
 * seen. */
static bool is_read_only(const OpInfo *op)
{
    return op->opcode == OPC_TEX || op->opcode == OPC_TLD4 || op->opcode == OPC_TXQ || op_has_modifier(op, ".nc");
}

/* Reads something else than memory that no other thread writes, or that nothing can be learned from. */
static bool reads_others(const Loops *l, const Instr *i)
{
    const OpInfo *op = i->op;
    bool is_weak_read = op->mem == MEM_READ && op->strength == STRENGTH_WEAK;
    if (op_has(op, OPF_CALL))
        return l->own_read || prove_callee(l->callees, i) & CALLEE_TOUCHES;
    if (is_weak_read && l->own_read && op->space != SPACE_CONST)
        return true;
    if (op_is_pure(op) || op_has(op, OPF_TERMINATOR) || (op->mem == MEM_WRITE && prove_is_plain_access(op)))
        return false;
    return !(is_weak_read && (prove_is_private_access(op) || is_read_only(op))) &&
           !(op->mem == MEM_NONE && !op_has(op, OPF_VOLATILE | OPF_CONVERGENT));
}

/* Writes to memory that the thread may read again. */
static bool keeps_in_memory(const OpInfo *op)
{
    return op_has(op, OPF_CALL) || (op->mem != MEM_READ && op->mem != MEM_NONE);
}

/* Adds what i makes depend on what is read; whether that is more than before. */
static bool add_from(Loops *l, const Instr *i)
{
    bool changed = false;
    if (!bitset_has(&l->chosen, i->block->id) && !reads_others(l, i) && !prove_reads_any(i, &l->read))
        return false;
    if (op_has(i->op, OPF_TERMINATOR))
        changed |= bitset_or(&l->chosen, prove_influence(l->g, i->block));
    changed |= prove_add_writes(i, &l->read);
    if (keeps_in_memory(i->op)) {
        changed |= !l->own_read;
        l->own_read = true;
    }
    return changed;
}

static void find_read(Loops *l)
{
    bitset_clear(&l->read);
    bitset_clear(&l->chosen);
    l->own_read = false;
    for (bool changed = true; changed;) {
        changed = false;
        for_each_bit(id, &l->body)
            for_each_instr(i, fn_block(l->g->fn, id))
                changed |= i->kind == INSTR_OP && add_from(l, i);
    }
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

/* A thread in a loop that it never leaves may wait for the end of the grid. */
static bool loop_waits(const Loops *l, u32 header)
{
    bool waits = false, ends = false;
    for_each_bit(id, &l->body) {
        const Block *b = fn_block(l->g->fn, id);
        const Instr *end = block_terminator(b);
        bool out = leaves(l, b);
        ends |= out;
        waits |= out && bitset_has(&l->chosen, id);
        waits |= (out || turns_back(b, header)) && end && prove_reads_any(end, &l->read);
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

Waits prove_waits(ProveGraph *g, const Callees *callees)
{
    Waits waits = {.blocks = bitset_new(g->arena, g->n)};
    Loops l = {.g = g, .callees = callees};
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
