#include "analysis/wait.h"

#include <string.h>

#include "analysis/live.h"
#include "analysis/ranges.h"
#include "analysis/value_set.h"
#include "ir/inspect.h"

enum {
    WRITES = 8,   /* of one register that are looked at */
    HOPS = 8,     /* from a loop's test to the step of its counter */
    TESTS = 32,   /* blocks on the dominator tree's path from a latch to its header that are looked at */
    PARENTS = 16, /* loops around a weak load that are looked at */
    SLICE = 32    /* registers that decide whether a loop is left */
};

/* ---- instructions ----------------------------------------------------------------------------------------------- */

static u8 ends_of(const Instr *i, Effects e)
{
    u8 ends = e.may_not_return ? END_LEAVE : 0;
    if (instr_is(i, OPF_CALL) || !e.known)
        return ends | (e.writes || e.strong ? END_ACCESS : 0) | (e.convergent ? END_LANES | END_BARRIER : 0);
    ends |= e.waits & WAIT_LANES ? END_LANES : 0;
    if (op_has(i->op, OPF_BARRIER))
        return ends | END_BARRIER;
    return ends | (e.writes && i->op->mem != MEM_READ ? END_ACCESS : 0);
}

u8 instr_ends(const Instr *i, const Summaries *summaries)
{
    return i->kind != INSTR_OP || op_is_pure(i->op) ? 0 : ends_of(i, instr_effects(i, summaries));
}

bool wait_may_end(const Waits *w, u8 waits, u8 ends)
{
    if (waits & WAIT_OTHERS && ends)
        return true;
    if (waits & WAIT_LANES && (ends & (END_LANES | END_LEAVE) || (ends && w->polls)))
        return true;
    return waits & WAIT_ALIGNED && ends & (END_BARRIER | END_LEAVE);
}

/* ---- what a loop writes ----------------------------------------------------------------------------------------- */

typedef struct Finder {
    const Function *fn;
    const Order *order;
    const DomTree *dom;
    const Loops *loops;
    const Summaries *summaries;
    WaitsOf of;
    Waits *w;
    u32 *first; /* by RegId: its writes are write[first[reg]] .. write[first[reg + 1] - 1]; NULL: not asked for yet */
    Instr **write;
    u32 budget; /* blocks of loops that may still be looked at */
    Arena arena;
} Finder;

static void find_writes(Finder *f)
{
    const Order *order = f->order;
    u32 regs = f->fn->regs.n;
    if (f->first)
        return;
    f->first = arena_array(&f->arena, u32, (size_t)regs + 2);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_write(&w);)
                f->first[w.reg + 2]++;
    for (u32 reg = 2; reg <= regs + 1; reg++)
        f->first[reg] += f->first[reg - 1];
    f->write = arena_array(&f->arena, Instr *, (size_t)f->first[regs + 1] + 1);
    for (u32 p = 0; p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_write(&w);)
                f->write[f->first[w.reg + 1]++] = i;
}

/* How often the loop writes reg: 0, 1 (*by is the instruction), or 2 for more or more than is looked at. */
static u32 writes_in(const Finder *f, const Loop *loop, RegId reg, Instr **by)
{
    u32 from = f->first[reg], to = f->first[reg + 1], n = 0;
    *by = NULL;
    if (to - from > WRITES)
        return 2;
    for (u32 k = from; k < to; k++)
        if (loop_contains(f->loops, loop, f->write[k]->block)) {
            *by = f->write[k];
            n++;
        }
    return n > 2 ? 2 : n;
}

static bool is_invariant(const Finder *f, const Loop *loop, const Operand *o)
{
    Instr *by;
    if (o->kind == OPND_SREG)
        return !sreg_info(o->id)->is_volatile;
    return o->kind == OPND_IMM || o->kind == OPND_FLOAT || o->kind == OPND_SYM ||
           (o->kind == OPND_REG && writes_in(f, loop, o->id, &by) == 0);
}

/* ---- loops that count -------------------------------------------------------------------------------------------- */

static bool in_every_iteration(const Finder *f, const Loop *loop, const Block *b)
{
    for (u32 k = 0; k < loop->latch_count; k++)
        if (!dominates(f->dom, b, loop->latches[k]))
            return false;
    return true;
}

static bool once_in_every_iteration(const Finder *f, const Loop *loop, const Block *b)
{
    const Loops *loops = f->loops;
    return loop_of(loops, b) == loop && !loop_is_irreducible(loops, b) && in_every_iteration(f, loop, b);
}

typedef enum StepKind {
    STEP_NONE,
    STEP_COPY,
    STEP_OTHER, /* another function of the register, which makes no counter */
    STEP_ADD,   /* *by is added; 0: a number that is not known */
    STEP_SHIFT
} StepKind;

/* The kind of step that i is, and by how much. first: the register that varies is its first operand, else its second one. */
static StepKind step_of(const Instr *i, bool first, i64 *by)
{
    const Operand *a = instr_operand(i, 1), *b = instr_operand(i, 2), *step = first ? b : a;
    Sem sem = i->op->sem;
    *by = step && step->kind == OPND_IMM ? step->value : 0;
    if (i->op->opcode == OPC_MOV && !a->value)
        return STEP_COPY;
    if (sem.op != i->op->opcode)
        return STEP_NONE;
    switch (sem.op) {
    case OPC_MOV: return STEP_OTHER;
    case OPC_CVT: return sem.bits == sem.from ? STEP_COPY : STEP_OTHER;
    case OPC_ADD: return *by || step->kind != OPND_IMM ? STEP_ADD : STEP_COPY;
    case OPC_SUB: return !first ? STEP_OTHER : *by || step->kind != OPND_IMM ? STEP_ADD : STEP_COPY;
    case OPC_SHL:
    case OPC_SHR: return first && (*by || step->kind != OPND_IMM) ? STEP_SHIFT : STEP_OTHER;
    default: return STEP_NONE;
    }
}

/* How i computes a register of the loop from one other, *from, and invariant operands, once in every iteration. */
static StepKind step_kind(const Finder *f, const Loop *loop, Instr *i, RegId *from, i64 *by)
{
    const Operand *varying = NULL;
    for (Operand *o = instr_operand(i, 1); o && o < i->opnd + i->slots; o += operand_slots(o)) {
        if (is_invariant(f, loop, o))
            continue;
        if (varying || o->kind != OPND_REG)
            return STEP_NONE;
        varying = o;
    }
    if (!varying || i->guard || !once_in_every_iteration(f, loop, i->block))
        return STEP_NONE;
    *from = varying->id;
    return step_of(i, varying == instr_operand(i, 1), by);
}

typedef struct LoopCounter {
    StepKind kind; /* STEP_ADD, STEP_SHIFT; or STEP_NONE: it is none */
    u64 by;        /* 0: not known, or the register is not the counter itself, or one plus an invariant number */
    u32 bits;      /* 0: of several widths */
    bool is_signed;
} LoopCounter;

/* The counter that n registers are, through which one value passes in each iteration. */
static LoopCounter cycle_of(const StepKind *step, const i64 *by, const Sem *sem, u32 n)
{
    LoopCounter c = {0};
    u32 steps = 0;
    for (u32 k = 0; k < n; k++) {
        if (step[k] == STEP_OTHER)
            return (LoopCounter){0};
        if (step[k] == STEP_COPY)
            continue;
        steps++;
        c = (LoopCounter){step[k], (u64)by[k], sem[k].bits, sem[k].is_signed};
    }
    return steps == 1 ? c : (LoopCounter){0};
}

/* The counter that reg is: its value passes the same registers in each iteration, and is stepped there. */
static LoopCounter counter_of(const Finder *f, const Loop *loop, RegId reg)
{
    RegId seen[HOPS] = {0};
    StepKind step[HOPS];
    Sem sem[HOPS];
    i64 by[HOPS];
    Instr *write;
    for (u32 n = 0; n < HOPS; n++) {
        for (u32 k = 0; k < n; k++) {
            if (seen[k] != reg)
                continue;
            LoopCounter c = cycle_of(step + k, by + k, sem + k, n - k);
            for (u32 h = 0; h < n; h++) {
                c.bits = sem[h].bits == c.bits ? c.bits : 0;
                c.by = h >= k || step[h] == STEP_COPY || (step[h] == STEP_ADD && c.kind == STEP_ADD) ? c.by : 0;
            }
            return c;
        }
        seen[n] = reg;
        by[n] = 0;
        step[n] = writes_in(f, loop, reg, &write) == 1 ? step_kind(f, loop, write, &reg, &by[n]) : STEP_NONE;
        if (step[n] == STEP_NONE)
            break;
        sem[n] = write->op->sem;
    }
    return (LoopCounter){0};
}

/* How control leaves a loop by a counter. */
typedef struct CountedExit {
    LoopCounter counter;
    Cmp leave; /* of the counter with the bound */
    Type type;
    const Operand *bound;
} CountedExit;

/* Whether a counter alone decides if control leaves the loop at the end of b, which is in every iteration. */
static bool exit_of(const Finder *f, const Loop *loop, const Block *b, CountedExit *exit)
{
    const Instr *end = block_terminator(b);
    Instr *compare;
    if (!in_every_iteration(f, loop, b) || !loop_is_left_at(f->loops, loop, b) || !end || !end->guard ||
        branch_table(end) || writes_in(f, loop, end->guard, &compare) != 1)
        return false;
    if (compare->op->opcode != OPC_SETP || compare->guard || compare->op->bool_op != BOOL_NONE || compare->slots != 3 ||
        !in_every_iteration(f, loop, compare->block))
        return false;
    const Operand *a = instr_operand(compare, 1), *c = instr_operand(compare, 2);
    const Operand *value = is_invariant(f, loop, a) ? c : a, *bound = value == a ? c : a;
    if (value->kind != OPND_REG || !is_invariant(f, loop, bound))
        return false;
    const Block *target = branch_target(end);
    bool leaves_if_taken = !target || !loop_contains(f->loops, loop, target);
    Type type = compare->op->type[0];
    Cmp cmp = compare->op->cmp;
    cmp = value == a ? cmp : cmp_swapped(cmp);
    cmp = leaves_if_taken != (bool)end->guard_not ? cmp : cmp_inverse(cmp, type_class(type));
    *exit = (CountedExit){counter_of(f, loop, value->id), cmp, type, bound};
    return exit->counter.kind != STEP_NONE;
}

/* Whether the counter is sure to come to a number for which the comparison holds. One that is stepped passes one of any `apart` numbers
 * in a row, modulo 2^bits, whatever the bound is; one that is shifted ends at 0 or -1. */
static bool exit_is_sure(Finder *f, const CountedExit *exit)
{
    const LoopCounter *c = &exit->counter;
    u32 bits = type_bits(exit->type);
    Cmp leave = exit->leave;
    if (!type_is_integer(exit->type) || bits != c->bits || !(c->by & sem_max(bits)))
        return false;
    u64 apart = c->by & (0 - c->by);
    bool holds_for_equal = leave == CMP_EQ || leave == CMP_LE || leave == CMP_GE || leave == CMP_LS || leave == CMP_HS;
    if (exit->bound->kind != OPND_IMM)
        return c->kind == STEP_ADD && (leave == CMP_NE || (holds_for_equal && apart == 1));
    ValueSet leaving = value_set_compare(&f->arena, leave, exit->type, (u64)exit->bound->value, bits);
    if (c->kind == STEP_SHIFT)
        return value_set_has(leaving, 0) && (!c->is_signed || value_set_has(leaving, sem_max(bits)));
    return value_set_size(leaving) >= apart;
}

/* Whether nothing but counters decides when control leaves the loop. */
static bool leaves_by_counters(Finder *f, const Loop *loop)
{
    bool leaves = false;
    CountedExit exit;
    for (u32 k = 0; k < loop->block_count; k++) {
        const Block *b = loop->blocks[k];
        if (f->budget == 0 || f->w->ends[b->id] & END_LEAVE)
            return false;
        f->budget--;
        if (!loop_is_left_at(f->loops, loop, b))
            continue;
        if (!exit_of(f, loop, b, &exit))
            return false;
        leaves = true;
    }
    return leaves;
}

/* Whether control leaves the loop sooner or later, whatever other threads do, or never, whatever they do. */
static bool loop_counts(Finder *f, const Loop *loop)
{
    const Block *b = loop->latches[0];
    CountedExit exit;
    for (u32 steps = 0; b && steps < TESTS; steps++, b = f->dom->idom[b->id]) {
        if (exit_of(f, loop, b, &exit) && exit_is_sure(f, &exit))
            return true;
        if (b == loop->header)
            break;
    }
    return leaves_by_counters(f, loop);
}

/* ---- loops that wait --------------------------------------------------------------------------------------------- */

/* Whether the weak load i reads the same memory, which another thread may write, in each iteration. */
static bool rereads(const Finder *f, const Loop *loop, Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_REG && o->role != ROLE_DEF && !is_invariant(f, loop, o))
            return false;
    return true;
}

/* Whether i is a call that reads what another thread may write, ... */
static bool calls_reader(const Finder *f, const Instr *i)
{
    return instr_is(i, OPF_CALL) && instr_effects(i, f->summaries).reads;
}

/* ... or loads what a call returns. */
static bool loads_result(const Finder *f, const Instr *i)
{
    bool param = i->op->opcode == OPC_LD && i->op->space == SPACE_PARAM;
    for_each_slot(o, i)
        if (param && o->kind == OPND_SYM && f->fn->module->syms.v[o->id].kind == SYM_VAR)
            return true;
    return false;
}

/* Adds the registers that decide whether control leaves the loop at the end of b. */
static u32 add_test(const Finder *f, const Loop *loop, const Block *b, RegId *slice, u32 n)
{
    const Instr *end = block_terminator(b);
    if (loop_is_left_at(f->loops, loop, b) && end)
        for (RegWalk w = reg_walk(end); next_read(&w) && n < SLICE;)
            slice[n++] = w.reg;
    return n;
}

/* Whether i reads what another thread may write: with `polls` as one that waits does, else weakly, and the same memory in each iteration, or
 * as what a callee read. */
static bool is_asked(const Finder *f, const Loop *loop, Instr *i, bool polls)
{
    if (polls)
        return instr_polls(i, f->summaries);
    return (instr_reads_weakly(i) && rereads(f, loop, i)) || calls_reader(f, i) || loads_result(f, i);
}

/* Whether what is read so may decide, without a branch in between, that the loop is left. A program that waits for a weak load has a
 * data race, which compilers do not keep. */
static bool test_asks(Finder *f, const Loop *loop, bool polls)
{
    RegId slice[SLICE];
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count; k++) {
        if (n == SLICE || f->budget == 0)
            return true;
        f->budget--;
        n = add_test(f, loop, loop->blocks[k], slice, n);
    }
    for (u32 done = 0; done < n; done++) {
        u32 from = f->first[slice[done]], to = f->first[slice[done] + 1];
        if (n == SLICE || to - from > WRITES)
            return true;
        for (u32 k = from; k < to; k++) {
            Instr *i = f->write[k];
            if (!loop_contains(f->loops, loop, i->block))
                continue;
            if (is_asked(f, loop, i, polls))
                return true;
            for (RegWalk w = reg_walk(i); next_read(&w) && n < SLICE;)
                if (!regs_have(slice, n, w.reg))
                    slice[n++] = w.reg;
        }
    }
    return false;
}

enum { READS_WEAKLY = 1, READS_STRONGLY = 2 };

/* Whether i may make a thread wait, or see who is there, as far as `of` asks. */
static bool counts(const Finder *f, const Instr *i) { return f->of == WAITS_ALL || instr_effects(i, f->summaries).known; }

/* Notes the loops around i that read what another thread may write. */
static void note_loops(Finder *f, u8 *reads, const Block *b, Instr *i)
{
    const Loop *loop = loop_of(f->loops, b);
    if (loop && instr_polls(i, f->summaries)) {
        for (; loop && !(reads[loop->header->id] & READS_STRONGLY); loop = loop->parent)
            reads[loop->header->id] |= READS_STRONGLY;
        return;
    }
    bool by_call = f->of == WAITS_ALL && loop && calls_reader(f, i);
    if (!loop || reads[loop->header->id] || (!by_call && !instr_reads_weakly(i)))
        return;
    find_writes(f);
    for (u32 k = 0; loop && k < PARENTS && (by_call || rereads(f, loop, i)); k++, loop = loop->parent)
        reads[loop->header->id] |= READS_WEAKLY;
}

static void find_loops(Finder *f)
{
    const Loops *loops = f->loops;
    const Order *order = f->order;
    u8 *reads = arena_array(&f->arena, u8, f->fn->blocks.n);
    for (u32 p = 0; loops->n && p < order->count; p++)
        for_each_instr(i, order->rpo[p])
            if (i->kind == INSTR_OP && !op_is_pure(i->op) && counts(f, i))
                note_loops(f, reads, order->rpo[p], i);
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        if (!reads[loop->header->id])
            continue;
        find_writes(f);
        bool polls = reads[loop->header->id] & READS_STRONGLY;
        if (loop_counts(f, loop) ? !(polls && test_asks(f, loop, true)) : !polls && !test_asks(f, loop, false))
            continue;
        f->w->loop[loop->header->id] = f->w->polls = true;
        f->w->any_wait |= WAIT_OTHERS;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* A promise to go one way is kept among the threads that come to the branch together, and need not hold among more. */
static bool promises_uniformity(const Instr *end)
{
    return end && op_has(end->op, OPF_UNIFORM_HINT) && (end->guard || end->op->opcode == OPC_BRX_IDX);
}

static void look_at_block(Finder *f, u32 position)
{
    const Block *b = f->order->rpo[position];
    const Loops *loops = f->loops;
    const Summaries *summaries = f->summaries;
    bool irreducible = loop_is_irreducible(loops, b);
    u8 waits = 0, ends = order_leaves_function(f->order, position) ? END_LEAVE : 0;
    for_each_instr(i, b) {
        if (i->kind != INSTR_OP || op_is_pure(i->op))
            continue;
        if (op_has(i->op, OPF_PLAIN_ACCESS) && !irreducible) {
            ends |= effects_op_writes(i->op) ? END_ACCESS : 0;
            continue;
        }
        Effects e = instr_effects(i, summaries);
        ends |= ends_of(i, e);
        f->w->convergent[b->id] |= e.convergent;
        f->w->all_known &= e.known && !op_has(i->op, OPF_CALL);
        if (!counts(f, i))
            continue;
        waits |=
            e.waits |
            (irreducible && (instr_polls(i, summaries) || instr_reads_weakly(i) || calls_reader(f, i)) ? WAIT_OTHERS : 0);
        f->w->active_set[b->id] |= e.active_set;
    }
    f->w->waits[b->id] = waits;
    f->w->ends[b->id] = ends;
    f->w->any_wait |= waits;
    f->w->any_end |= ends;
    f->w->any_convergent |= f->w->convergent[b->id];
    f->w->any_active_set |= f->w->active_set[b->id];
    if (promises_uniformity(block_terminator(b)))
        f->w->active_set[b->id] = f->w->any_promise = true;
}

/* Allocates the tables one after the other, so that one copy copies all. */
static void allocate(Waits *w, Arena *arena, u32 blocks)
{
    u8 *bytes = arena_array(arena, u8, 5 * (size_t)blocks);
    w->blocks = blocks;
    w->waits = bytes;
    w->ends = bytes + blocks;
    w->convergent = (bool *)(bytes + 2 * (size_t)blocks);
    w->active_set = (bool *)(bytes + 3 * (size_t)blocks);
    w->loop = (bool *)(bytes + 4 * (size_t)blocks);
}

Waits *waits_compute(Arena *arena, const Function *fn, const Order *order, const DomTree *dom, const Loops *loops,
                     const Summaries *summaries, WaitsOf of)
{
    Waits *w = arena_new(arena, Waits);
    allocate(w, arena, fn->blocks.n);
    Finder f = {.fn = fn, .order = order, .dom = dom, .loops = loops, .summaries = summaries, .of = of, .w = w};
    f.budget = 8 * order->count;
    w->all_known = true;
    for (u32 p = 0; p < order->count; p++)
        look_at_block(&f, p);
    find_loops(&f);
    for (u32 b = 0; b < w->blocks; b++)
        w->awaits_leaving |= w->waits[b] != 0;
    w->awaits_leaving |= !fn->is_entry;
    w->polls |= !fn->is_entry || (w->any_wait & WAIT_OTHERS);
    arena_free(&f.arena);
    return w;
}

Waits *waits_copy(Arena *arena, const Waits *of)
{
    Waits *w = arena_new(arena, Waits);
    *w = *of;
    allocate(w, arena, of->blocks);
    memcpy(w->waits, of->waits, 5 * (size_t)of->blocks);
    return w;
}
