#include "analysis/wait.h"

#include <string.h>

#include "analysis/loop_sums.h"
#include "base/bound.h"
#include "base/marks.h"
#include "ir/inspect.h"
#include "ir/reg_walk.h"

enum {
    STEPS = 8, /* for each block and each write of a register, in all loops together */
    PERIOD = 16
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

bool wait_polls(const Waits *w, const Loops *loops, const Instr *i, const Effects *e)
{
    const Block *b = i->block;
    bool calls = instr_is(i, OPF_CALL);
    if (calls && e->waits & WAIT_OTHERS)
        return true;
    if (!(calls ? e->reads : instr_reads_weakly(i)))
        return false;
    for (const Loop *loop = loop_of(loops, b); loop; loop = loop->parent)
        if (w->loop[loop->header->id])
            return true;
    return loop_is_irreducible(loops, b);
}

/* ---- what decides that a loop is left ---------------------------------------------------------------------------- */

/* An instruction of a loop that writes a register. */
typedef struct LoopWrite {
    Instr *i;
    u32 next; /* the place of the next one that writes the register; 0: none */
} LoopWrite;

typedef struct Finder {
    const Function *fn;
    const Order *order;
    const DomTree *dom;
    const Loops *loops;
    const Summaries *summaries;
    WaitsOf of;
    Waits *w;
    u32 *first;            /* by RegId: the place of its first write in a loop; 0: none; NULL: not asked for yet */
    VEC(LoopWrite) writes; /* [0] is unused */
    VecU32 slice;      /* registers that decide whether the loop that is looked at is left */
    Marks in_slice;    /* by RegId */
    bool every_branch; /* all branches of the loop are in the slice, and not only its exits */
    u32 steps;         /* that may still be taken */
    Arena arena;
} Finder;

static void find_writes(Finder *f)
{
    const Order *order = f->order;
    u32 regs = f->fn->regs.n;
    if (f->first)
        return;
    f->first = arena_array(&f->arena, u32, (size_t)regs + 1);
    vec_push(&f->writes, ((LoopWrite){0}));
    for (u32 p = order->count; p-- > 0;)
        for (Instr *i = loop_of(f->loops, order->rpo[p]) ? order->rpo[p]->last : NULL; i; i = i->prev)
            for (RegWalk w = reg_walk(i); i->kind == INSTR_OP && next_write(&w);) {
                vec_push(&f->writes, ((LoopWrite){i, f->first[w.reg]}));
                f->first[w.reg] = f->writes.n - 1;
            }
    f->in_slice = marks_new(&f->arena, regs + 1);
    f->steps = STEPS * (order->count + f->writes.n - 1);
}

/* Whether i may make a thread wait, or see who is there, as far as `of` asks. */
static bool counts(const Finder *f, const Instr *i) { return f->of == WAITS_ALL || instr_effects(i, f->summaries).known; }

/* Whether i is a call that reads what another thread may write. */
static bool calls_reader(const Finder *f, const Instr *i)
{
    return instr_is(i, OPF_CALL) && instr_effects(i, f->summaries).reads;
}

/* Whether i reads what another thread may write. */
static bool asks(const Finder *f, const Instr *i)
{
    if (i->kind != INSTR_OP || op_is_pure(i->op) || !counts(f, i))
        return false;
    return instr_polls(i, f->summaries) || instr_reads_weakly(i) || (f->of == WAITS_ALL && calls_reader(f, i));
}

/* Whether i reads memory of the thread's own, or what a callee returned. What the loop has read may have gone there. The
 * parameters of a kernel do not change. */
static bool reads_own_memory(const Finder *f, const Instr *i)
{
    if (i->op->mem != MEM_READ || i->op->space != SPACE_PARAM)
        return op_has(i->op, OPF_CALL) || (i->op->mem != MEM_NONE && i->op->space == SPACE_LOCAL);
    for_each_slot(o, i)
        if (o->kind == OPND_SYM && f->fn->module->syms.v[o->id].kind == SYM_VAR)
            return true;
    return !f->fn->is_entry;
}

static void add_reads(Finder *f, const Instr *i)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        if (marks_add(&f->in_slice, w.reg))
            vec_push(&f->slice, w.reg);
}

/* Adds all branches of the loop, once. */
static void add_every_branch(Finder *f, const Loop *loop)
{
    for (u32 k = 0; !f->every_branch && k < loop->block_count; k++) {
        const Instr *end = block_terminator(loop->blocks[k]);
        f->steps -= f->steps > 0;
        if (end)
            add_reads(f, end);
    }
    f->every_branch = true;
}

/* Whether what the loop does decides if b executes in an iteration, and how often. */
static bool is_decided(const Finder *f, const Loop *loop, const Block *b)
{
    return !loop_passes_once(f->loops, f->dom, loop, b);
}

/* ---- addresses that advance -------------------------------------------------------------------------------------- */

/* Whether each iteration adds a constant to reg at i: then it has the same value again only after 2^PERIOD iterations at least. */
static bool advances(const Finder *f, const Loop *loop, const Instr *i, RegId reg)
{
    Arena arena = {0};
    LoopSums s;
    LoopSum sum;
    if (loop->height > LOOP_HEIGHT_WALKED)
        return false;
    loop_sums_init(&s, &arena, (AffineLoop){f->loops, f->dom, loop}, NULL);
    bool known = loop_sum_of_register(&s, i, reg, 32, &sum) && loop_sum_is_constant(&s, sum.step);
    u64 step = known ? loop_sum_constant(&s, sum.step) : 0;
    loop_sums_free(&s);
    arena_free(&arena);
    return step && __builtin_ctzll(step) <= 32 - PERIOD;
}

/* Whether the weak load i may read the same memory again in a later iteration, and find there what another thread has written. */
static bool rereads(const Finder *f, const Loop *loop, const Instr *i)
{
    for_each_slot(o, i)
        if (o->kind == OPND_REG && o->role != ROLE_DEF && advances(f, loop, i, o->id))
            return false;
    return true;
}

/* Adds what decides that a thread leaves the loop in b. Whether an instruction of b asks by itself, and may leave. */
static bool add_exit(Finder *f, const Loop *loop, const Block *b)
{
    const Instr *end = block_terminator(b);
    if (end)
        add_reads(f, end);
    if (is_decided(f, loop, b))
        add_every_branch(f, loop);
    for_each_instr(i, b) {
        if (i->kind != INSTR_OP || op_is_pure(i->op) || !instr_effects(i, f->summaries).may_not_return)
            continue;
        if (asks(f, i))
            return true;
        add_reads(f, i);
    }
    return false;
}

/* Adds what decides that a thread leaves the loop. Whether something asks by itself. A loop without an exit may also wait. */
static bool add_exits(Finder *f, const Loop *loop)
{
    bool leaves = false;
    vec_clear(&f->slice);
    marks_clear(&f->in_slice);
    f->every_branch = false;
    for (u32 k = 0; k < loop->block_count && f->steps > 0; k++, f->steps--) {
        const Block *b = loop->blocks[k];
        if (!loop_is_left_at(f->loops, loop, b) && !(f->w->ends[b->id] & END_LEAVE))
            continue;
        leaves = true;
        if (add_exit(f, loop, b))
            return true;
    }
    return !leaves;
}

/* Whether what is read of memory that other threads write may decide if a thread leaves the loop. It may do so by values, by branches
 * that decide which values there are, and by way of the thread's own memory or of callees. */
static bool exit_asks(Finder *f, const Loop *loop)
{
    if (add_exits(f, loop))
        return true;
    for (u32 done = 0; done < f->slice.n; done++)
        for (u32 k = f->first[f->slice.v[done]]; k && f->steps > 0; k = f->writes.v[k].next, f->steps--) {
            const Instr *i = f->writes.v[k].i;
            if (!loop_contains(f->loops, loop, i->block))
                continue;
            bool passes_by = instr_reads_weakly(i) && !rereads(f, loop, i);
            if ((asks(f, i) && !passes_by) || reads_own_memory(f, i))
                return true;
            add_reads(f, i);
            if (is_decided(f, loop, i->block))
                add_every_branch(f, loop);
        }
    return BEYOND(STEPS, f->steps == 0);
}

/* ---- loops that wait --------------------------------------------------------------------------------------------- */

static bool block_asks(const Finder *f, const Block *b)
{
    for_each_instr(i, b)
        if (asks(f, i))
            return true;
    return false;
}

/* Sets, by header, the loops in which something asks. */
static void find_asking(const Finder *f, bool *asking)
{
    for (u32 p = 0; f->loops->n && p < f->order->count; p++) {
        const Loop *loop = loop_of(f->loops, f->order->rpo[p]);
        if (loop && !asking[loop->header->id] && block_asks(f, f->order->rpo[p]))
            for (; loop && !asking[loop->header->id]; loop = loop->parent)
                asking[loop->header->id] = true;
    }
}

static void find_loops(Finder *f)
{
    const Loops *loops = f->loops;
    bool *asking = arena_array(&f->arena, bool, f->fn->blocks.n);
    find_asking(f, asking);
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        if (!asking[loop->header->id])
            continue;
        find_writes(f);
        if (!exit_asks(f, loop))
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
        if (i->kind != INSTR_OP || op_is_pure(i->op) || i->op->opcode == OPC_BRA)
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

Waits *waits_compute(Arena *arena, const Order *order, const DomTree *dom, const Loops *loops, const Summaries *summaries,
                     WaitsOf of)
{
    Waits *w = arena_new(arena, Waits);
    const Function *fn = order->rpo[0]->fn;
    allocate(w, arena, fn->blocks.n);
    Finder f = {.fn = fn, .order = order, .dom = dom, .loops = loops, .summaries = summaries, .of = of, .w = w};
    w->all_known = true;
    if (summaries && summaries->ungated)
        return w;
    for (u32 p = 0; p < order->count; p++)
        look_at_block(&f, p);
    find_loops(&f);
    for (u32 b = 0; b < w->blocks; b++)
        w->awaits_leaving |= w->waits[b] != 0;
    w->awaits_leaving |= !fn->is_entry;
    w->polls |= !fn->is_entry || (w->any_wait & WAIT_OTHERS);
    vec_free(&f.slice);
    vec_free(&f.writes);
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
