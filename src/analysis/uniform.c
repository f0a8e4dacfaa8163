#include "analysis/uniform_solver.h"

#include <stdlib.h>

#include "base/bound.h"

enum { COPY_STEPS = 32 /* instructions looked at after a copy */ };

/* ---- one instruction ------------------------------------------------------------------------------------------- */

static bool is_kernel_param(const Function *fn, SymId sym)
{
    if (!fn->is_entry)
        return false;
    for (u32 k = 0; k < fn->params.n; k++)
        if (fn->params.v[k] == sym)
            return true;
    return false;
}

/* Memory that no thread writes while the kernel runs. */
static bool loads_constant_memory(const Function *fn, const Instr *i)
{
    if (i->op->strength != STRENGTH_WEAK || i->op->mem != MEM_READ)
        return false;
    if (i->op->space == SPACE_CONST)
        return true;
    if (i->op->space == SPACE_GLOBAL)
        return op_has_modifier(i->op, ".nc");
    if (i->op->space != SPACE_PARAM)
        return false;
    for_each_slot(o, i)
        if (o->kind == OPND_SYM)
            return is_kernel_param(fn, o->id);
    return false;
}

static bool is_warp_level(Solver *s)
{
    s->asks_level = true;
    return s->level == LEVEL_WARP;
}

static bool operand_is_uniform(Solver *s, const Operand *o)
{
    if (o->kind == OPND_REG)
        return o->role == ROLE_DEF || bitset_has(s->uniform, o->id);
    if (o->kind == OPND_SREG) {
        const SregInfo *sreg = sreg_info(o->id);
        bool same = sreg->uniformity == UNI_CTA || (sreg->uniformity == UNI_WARP && is_warp_level(s));
        return same && !sreg->is_volatile;
    }
    if (o->kind == OPND_SYM) {
        u8 space = s->fn->module->syms.v[o->id].space;
        return space != SPACE_LOCAL && (space != SPACE_PARAM || is_kernel_param(s->fn, o->id));
    }
    return o->kind != OPND_NAME;
}

static bool operands_are_uniform(Solver *s, const Instr *i)
{
    if ((i->guard && !bitset_has(s->uniform, i->guard)) ||
        (op_has(i->op, OPF_CARRY_IN) && !bitset_has(s->uniform, CARRY_REG)))
        return false;
    for_each_slot(o, i)
        if (!operand_is_uniform(s, o))
            return false;
    return true;
}

/* vote.sync and redux.sync: threads with the same mask name one another, so they agree. */
static bool mask_is_uniform(const BitSet *uniform, const Instr *i)
{
    const Operand *mask = NULL;
    for_each_operand(o, i)
        mask = o;
    return mask && (mask->kind == OPND_IMM || (mask->kind == OPND_REG && uniform_has(uniform, mask->id)));
}

bool uniform_names_lanes(const Uniform *u, const Instr *i)
{
    return mask_is_uniform(&u->warp, i) && (!i->guard || uniform_has(&u->warp, i->guard));
}

/* A copy of a register that got a constant right before. nvcc starts all registers of a loop with copies of one such
 * register, which the loop makes divergent. */
static bool copies_constant(const Instr *i)
{
    RegId reg = 0;
    for (u32 steps = 0; i && WITHIN(COPY_STEPS, steps < COPY_STEPS); i = i->prev, steps++) {
        if (i->kind != INSTR_OP || (reg && !instr_writes(i, reg)))
            continue;
        if (i->guard || i->op->opcode != OPC_MOV)
            return false;
        const Operand *to = i->opnd, *from = instr_operand(i, 1);
        if (to->kind != OPND_REG || to->sub != SUB_NONE)
            return false;
        if (from->kind != OPND_REG)
            return from->kind == OPND_IMM || from->kind == OPND_FLOAT;
        if (from->sub != SUB_NONE || from->value || from->flags)
            return false;
        reg = from->id;
    }
    return false;
}

static bool results_are_uniform(Solver *s, const Instr *i)
{
    if (!i->op->known || op_has(i->op, OPF_CALL) || (i->guard && !bitset_has(s->uniform, i->guard)))
        return false;
    switch (i->op->uniformity) {
    case UNI_OPERANDS:
        return (operands_are_uniform(s, i) && (i->op->mem == MEM_NONE || loads_constant_memory(s->fn, i))) ||
               (i->op->opcode == OPC_MOV && copies_constant(i));
    case UNI_WARP: return is_warp_level(s);
    case UNI_MEMBERS: return is_warp_level(s) && mask_is_uniform(s->uniform, i);
    case UNI_CTA: return true;
    case UNI_DIVERGENT: break;
    }
    return false;
}

/* ---- to the fixed point ---------------------------------------------------------------------------------------- */

static void visit(Solver *s, const Instr *i)
{
    if (instr_is(i, OPF_TERMINATOR)) {
        bool hinted = op_has(i->op, OPF_UNIFORM_HINT) && is_warp_level(s);
        if (!bitset_has(s->branch, i->block->id) || hinted || (i->op->known && operands_are_uniform(s, i)))
            return;
        bitset_del(s->branch, i->block->id);
        vec_push(&s->divided, i->block);
        return;
    }
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (bitset_has(s->uniform, w.reg) && !results_are_uniform(s, i))
            uniform_make_divergent(s, w.reg);
}

/* Counts what the instruction reads. Answers whether a register of that is divergent. */
static bool count_reads(Solver *s, const Instr *i)
{
    bool divergent = i->guard && !bitset_has(s->uniform, i->guard);
    if (i->guard)
        s->readers.reads[i->guard]++;
    if (op_has(i->op, OPF_CARRY_IN)) {
        s->readers.reads[CARRY_REG]++;
        divergent |= !bitset_has(s->uniform, CARRY_REG);
    }
    for_each_slot(o, i)
        if (slot_is_use(o)) {
            s->readers.reads[o->id]++;
            divergent |= !bitset_has(s->uniform, o->id);
        }
    return divergent;
}

/* Visits an instruction for the first time. Most results are divergent since an operand is. */
static void visit_first(Solver *s, const Instr *i)
{
    bool divergent = count_reads(s, i);
    s->asks_level = false;
    if (!divergent || i->op->uniformity != UNI_OPERANDS || i->op->opcode == OPC_MOV || op_has(i->op, OPF_TERMINATOR)) {
        visit(s, i);
        if (s->asks_level)
            vec_push(&s->within_warp, i);
        return;
    }
    for (RegWalk w = reg_walk(i); next_write(&w);)
        uniform_make_divergent(s, w.reg);
}

static void collect_readers(Solver *s)
{
    u32 *next = arena_alloc_raw(s->scratch, sizeof *next * ((size_t)s->fn->regs.n + 2));
    s->readers.first_reader =
        next++; /* filling moves next[reg] from where the register's readers begin to where they end */
    next[-1] = next[0] = 0;
    for (RegId reg = 0; reg < s->fn->regs.n; reg++)
        next[reg + 1] = next[reg] + s->readers.reads[reg];
    s->readers.reader = arena_alloc_raw(s->scratch, sizeof *s->readers.reader * (size_t)next[s->fn->regs.n]);
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p])
            for (RegWalk w = reg_walk(i); next_read(&w);)
                s->readers.reader[next[w.reg]++] = i;
}

static void start_level(Solver *s, Level level, BitSet *uniform, BitSet *branch)
{
    s->level = level;
    vec_clear(&s->divided);
    s->uniform = uniform;
    s->branch = branch;
    s->steps = 0;
}

/* Visits all instructions. What becomes divergent has to be spread only to what reads it and was visited before. */
static void visit_all(Solver *s)
{
    for (u32 p = 0; p < s->order->count; p++)
        for_each_instr(i, s->order->rpo[p])
            if (i->kind == INSTR_OP)
                visit_first(s, i);
    s->readers.visited_all = true;
}

/* Takes registers and branches out of the sets until only what is uniform at this level is left. The paths of a branch are followed when
 * nothing else is to be done: then less is left that may differ where they join. */
static void spread(Solver *s)
{
    for (u32 done = 0; s->work.n || done < s->divided.n;) {
        if (!s->work.n) {
            uniform_diverge_branch(s, s->divided.v[done++]);
            continue;
        }
        if (!s->readers.reader)
            collect_readers(s);
        RegId next = vec_pop(&s->work);
        for (u32 k = s->readers.first_reader[next]; k < s->readers.first_reader[next + 1]; k++)
            visit(s, s->readers.reader[k]);
    }
}

/* Begins with all registers uniform except those that are live at the entry. These are garbage, parameters of a function,
 * or live only for lack of a precise answer. */
static void start_solving(Solver *s, Uniform *u)
{
    RegId reg;
    s->readers.reads = arena_array(s->scratch, u32, s->fn->regs.n);
    bitset_fill(&u->warp);
    bitset_fill(&u->branch_warp);
    bitset_fill(&s->listed);
    for (u32 c = 0; live_in_next(s->live, s->fn->entry, &c, &reg);)
        uniform_make_divergent(s, reg);
    for (reg = 1; reg < s->fn->regs.n && s->fn->regs.v[reg].is_param; reg++)
        uniform_make_divergent(s, reg);
}

/* Fills in the result for an irreducible function: nothing is uniform except what branches promise. */
static void solve_irreducible(const Function *fn, Uniform *u)
{
    for_each_block(b, fn) {
        const Instr *end = block_terminator(b);
        bool decides = end && (end->guard || op_has(end->op, OPF_BRANCH));
        if (!decides || op_has(end->op, OPF_UNIFORM_HINT))
            bitset_add(&u->branch_warp, b->id);
        if (!decides)
            bitset_add(&u->branch_cta, b->id);
    }
}

Uniform *uniform_compute(Arena *arena, const UniformBases *of)
{
    const Function *fn = of->fn;
    Uniform *u = arena_new(arena, Uniform);
    u->warp = bitset_new(arena, fn->regs.n);
    u->cta = bitset_new(arena, fn->regs.n);
    u->branch_warp = bitset_new(arena, fn->blocks.n);
    u->branch_cta = bitset_new(arena, fn->blocks.n);
    if (of->loops->irreducible) {
        solve_irreducible(fn, u);
        return u;
    }
    Arena scratch = {0};
    Solver s = {.fn = fn,
                .order = of->order,
                .dom = of->dom,
                .postdom = of->postdom,
                .loops = of->loops,
                .live = of->live,
                .listed = bitset_new(&scratch, of->live->listed_count),
                .scratch = &scratch};
    uniform_find_joins(&s);
    start_level(&s, LEVEL_WARP, &u->warp, &u->branch_warp);
    start_solving(&s, u);
    visit_all(&s);
    spread(&s);
    bitset_copy(&u->cta, &u->warp); /* what differs within a warp differs within the CTA, and has spread already */
    bitset_copy(&u->branch_cta, &u->branch_warp);
    start_level(&s, LEVEL_CTA, &u->cta, &u->branch_cta);
    for (u32 k = 0; k < s.within_warp.n; k++)
        visit(&s, s.within_warp.v[k]);
    spread(&s);
    vec_free(&s.within_warp);
    vec_free(&s.work);
    vec_free(&s.divided);
    vec_free(&s.walk.joins);
    vec_free(&s.walk.writes);
    vec_free(&s.places.listed);
    arena_free(&scratch);
    return u;
}
