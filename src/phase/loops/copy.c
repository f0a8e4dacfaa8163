#include "phase/loops/copy.h"

#include "analysis/reconverge.h"
#include "base/fnvmap.h"
#include "ir/cfg.h"
#include "ir/inspect.h"
#include "target/ptxas.h"
#include "transform/miscounted.h"

enum {
    DEPENDENCES_MAX = 1 << 19, /* the most dependences of convergent instructions on branches */
    DROP_ROUNDS =
        3 /* over copies, from their end: chains of unread instructions go in one, unless blocks are out of order */
};

/* ---- dead instructions of the copy ------------------------------------------------------------------------------------- */

static bool is_among(Instr *const *v, u32 n, const Instr *i)
{
    for (u32 k = 0; k < n; k++)
        if (v[k] == i)
            return true;
    return false;
}

static bool lacks(const LoopDropped *d, const Instr *i)
{
    return is_among(d->dead, d->deads, i) || is_among(d->step, d->steps, i);
}

/* Whether i is the branch of a check, which is not copied. */
static bool is_check(const LoopChecks *checks, const Instr *i)
{
    for (u32 k = 0; k < checks->checks; k++)
        if (block_terminator(checks->check[k].block) == i)
            return true;
    return false;
}

/* The blocks to be copied, while instructions in them are found dead. */
typedef struct CopyPlan {
    Analyses *an;
    const Loop *loop;
    const LoopChecks *checks;
    LoopDropped *dropped;
    FnvMap reads; /* by register: how often the copied blocks read it */
} CopyPlan;

static void count_reads(CopyPlan *plan, const Instr *i, u64 by)
{
    for (RegWalk w = reg_walk(i); next_read(&w);)
        *fnvmap_at(&plan->reads, w.reg) += by;
}

/* Whether an instruction of the copy other than `but` reads reg. */
static bool is_read(const CopyPlan *plan, const Instr *but, RegId reg)
{
    const u64 *reads = fnvmap_find(&plan->reads, reg);
    u64 own = 0;
    for (RegWalk w = reg_walk(but); next_read(&w);)
        own += w.reg == reg;
    return reads && *reads > own;
}

/* Whether reg is read after the copy: in the remaining loop, or after its latch leaves it. */
static bool is_live_after(Analyses *an, const Loop *loop, RegId reg)
{
    const Live *live = an_live(an);
    const Block *latch = loop->latches[0];
    return live_in(live, loop->header, reg) || live_out(live, latch, reg);
}

/* Whether the late computation of the latch's predicate reads reg. */
static bool is_read_late(const LoopChecks *checks, const LoopDropped *d, RegId reg)
{
    for (u32 k = 0; d->late && k < checks->chained; k++)
        if (instr_reads(checks->chain[k], reg))
            return true;
    return false;
}

static bool is_dead(const CopyPlan *plan, const Instr *i)
{
    const LoopChecks *checks = plan->checks;
    if (i->kind != INSTR_OP || !op_is_pure(i->op) || op_has(i->op, OPF_CARRY_OUT) || instr_reads_volatile_register(i))
        return false;
    bool of_latch = is_among(checks->chain, checks->chained, i);
    if (of_latch && !plan->dropped->late)
        return false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (is_read(plan, i, w.reg) || (!of_latch && is_read_late(checks, plan->dropped, w.reg)) ||
            (!of_latch && is_live_after(plan->an, plan->loop, w.reg)))
            return false;
    return true;
}

/* Whether i adds plus or minus a power of two to a register that nothing else in the copy reads. */
static bool is_dead_step(const CopyPlan *plan, Instr *i)
{
    RegId of;
    i64 by;
    if (!affine_is_step(i, &of, &by) || affine_definition(plan->an, plan->loop, of) != i)
        return false;
    u64 size = by < 0 ? 0 - (u64)by : (u64)by;
    return size && !(size & (size - 1)) && !is_read(plan, i, of);
}

/* Whether the latch's predicate can be computed at the end of its block. */
static bool may_be_late(const Loop *loop, const LoopChecks *checks)
{
    for (u32 k = 0; k < checks->chained; k++)
        for (const Instr *i = checks->chain[k]->next; i; i = i->next)
            for (RegWalk w = reg_walk(checks->chain[k]); next_read(&w);)
                if (i->kind == INSTR_OP && instr_writes(i, w.reg))
                    return false;
    return block_terminator(loop->latches[0]) && checks->chained;
}

/* Leaves the instruction out of the copy if nobody reads its result there; answers whether it did. */
static bool drop(CopyPlan *plan, Instr *i, bool steps)
{
    LoopDropped *d = plan->dropped;
    if (lacks(d, i) || d->deads == LOOP_DROPPED || d->steps == LOOP_DROPPED)
        return false;
    if (is_dead(plan, i))
        d->dead[d->deads++] = i;
    else if (steps && is_dead_step(plan, i))
        d->step[d->steps++] = i;
    else
        return false;
    count_reads(plan, i, (u64)-1);
    return true;
}

/* Whether i, of copies in which registers are read so often, computes what nobody reads. */
static bool is_unread(Analyses *an, const Loop *loop, FnvMap *reads, const Instr *i)
{
    if (i->kind != INSTR_OP || !op_is_pure(i->op) || op_has(i->op, OPF_CARRY_IN | OPF_CARRY_OUT) ||
        instr_reads_volatile_register(i))
        return false;
    for (RegWalk w = reg_walk(i); next_write(&w);)
        if (*fnvmap_at(reads, w.reg) || is_live_after(an, loop, w.reg))
            return false;
    return true;
}

void loop_copy_drop_unread(Analyses *an, const Loop *loop, Block *const *copy, u32 n)
{
    FnvMap reads = {0};
    for (u32 k = 0; k < n; k++)
        for_each_instr(i, copy[k])
            for (RegWalk w = reg_walk(i); next_read(&w);)
                ++*fnvmap_at(&reads, w.reg);
    for (u32 round = 0; round < DROP_ROUNDS; round++)
        for (u32 k = n; k-- > 0;)
            for (Instr *i = copy[k]->last, *before; i; i = before) {
                before = i->prev;
                if (!is_unread(an, loop, &reads, i))
                    continue;
                for (RegWalk w = reg_walk(i); next_read(&w);)
                    --*fnvmap_at(&reads, w.reg);
                instr_remove(i);
            }
    fnvmap_free(&reads);
}

void loop_copy_plan(Analyses *an, const Loop *loop, const LoopChecks *checks, bool steps, LoopDropped *d)
{
    CopyPlan plan = {.an = an, .loop = loop, .checks = checks, .dropped = d};
    *d = (LoopDropped){.late = may_be_late(loop, checks)};
    for (u32 k = 0; k < checks->blocks; k++)
        for_each_instr(i, checks->block[k])
            if (i->kind == INSTR_OP && !is_check(checks, i))
                count_reads(&plan, i, 1);
    for (bool more = true; more;) {
        more = false;
        for (u32 k = 0; k < checks->blocks; k++)
            for_each_instr(i, checks->block[k])
                more |= drop(&plan, i, steps);
    }
    fnvmap_free(&plan.reads);
}

/* ---- whether a copy may be made ---------------------------------------------------------------------------------------- */

bool loop_is_short(const Loop *loop, u32 most)
{
    u32 n = 0;
    for (u32 k = 0; k < loop->block_count && k + n <= most; k++)
        for (const Instr *i = loop->blocks[k]->first; i && k + n <= most; i = i->next)
            n++;
    return loop->block_count + n <= most;
}

bool loop_may_hold_twice(const Analyses *an, const Instr *i)
{
    if (op_has(i->op, OPF_TERMINATOR))
        return branch_target(i) != NULL;
    if (instr_may_be_copied(i, an->summaries))
        return true;
    Effects e = instr_effects(i, an->summaries);
    Opcode opcode = i->op->opcode;
    bool access = opcode == OPC_LD || opcode == OPC_ST || opcode == OPC_ATOM || opcode == OPC_RED;
    return (access || opcode == OPC_TRAP || opcode == OPC_BRKPT) && e.known && !e.convergent && !e.waits &&
           e.barrier == BARRIER_NONE && !instr_reads_volatile_register(i);
}

bool loop_copy_may(Analyses *an, const Loop *loop)
{
    return !loop->nounroll && loop->latch_count == 1 && loop->height == 1 && !an_loops(an)->irreducible &&
           loop_is_short(loop, LOOP_WALKED);
}

LoopSize loop_copy_size(Analyses *an, const LoopChecks *c, const LoopDropped *d)
{
    LoopSize size = {.branches = 0};
    for (u32 k = 0; k < c->blocks; k++)
        for_each_instr(i, c->block[k]) {
            if (i->kind != INSTR_OP || lacks(d, i))
                continue;
            bool ends = op_has(i->op, OPF_TERMINATOR);
            size.branches += ends && i->guard;
            size.body += ends ? 0 : ptxas_cost(i);
            size.accesses += i->op->mem != MEM_NONE;
            size.fixed |= ends ? !branch_target(i) : !instr_may_be_copied(i, an->summaries);
        }
    size.branches -= c->checks;
    return size;
}

/* Whether the function may come to an instruction that sees which lanes execute it, or to a branch that promises something
 * about them. */
static bool shows_lanes(Analyses *an)
{
    const Waits *waits = waits_now(an->scratch, an);
    return waits->any_active_set || waits->any_promise || effects_callers_see_lanes(an->summaries, an->fn);
}

static void find_lanes(Analyses *an, LoopLanes *lanes)
{
    Control *control = an_control(an);
    BlockVec on = {0};
    VecU32 branch = {0}, dependent = {0};
    *lanes = (LoopLanes){.asked = true, .shown = shows_lanes(an), .waited = waits_now(an->scratch, an)->any_wait};
    for (const Block *b = an->fn->entry; b && !lanes->many; b = b->next) {
        if (!block_is_convergent(b, an->summaries))
            continue;
        vec_clear(&on);
        lanes->many = !control_closure_within(control, b, DEPENDENCES_MAX - branch.n, &on);
        for (u32 k = 0; k < on.n; k++) {
            vec_push(&branch, on.v[k]->id);
            vec_push(&dependent, b->id);
        }
    }
    lanes->dependent = graph_from_edges(an->scratch, an->fn->blocks.n, branch.v, dependent.v, branch.n);
    lanes->seen = marks_new(an->scratch, an->fn->blocks.n);
    vec_free(&on);
    vec_free(&branch);
    vec_free(&dependent);
}

/* The promise .uni does not count. The test in front of the copy reads what the predicate is computed from. That may differ
 * where the predicate does not. */
static bool divides(Analyses *an, const Block *check)
{
    const Uniform *u = an_uniform(an);
    const Instr *end = block_terminator(check);
    return !uniform_has(&u->branch_warp, check->id) || (end && end->guard && !uniform_has(&u->warp, end->guard));
}

static bool may_divide(Analyses *an, Block *const *check, u32 n)
{
    for (u32 k = 0; k < n; k++)
        if (divides(an, check[k]))
            return true;
    return false;
}

/* Whether a convergent instruction depends on some of the blocks, but not on all checks that may divide a warp. It would then
 * depend on more branches than before, since the branch in front of the copy stands for all checks. */
static bool depends_on_some(Analyses *an, const LoopBranches *b, LoopLanes *lanes)
{
    const Graph *g = &lanes->dependent;
    u32 all = 0;
    marks_clear(&lanes->seen);
    for (u32 k = 0; k < b->blocks; k++)
        for_each_edge(e, g, b->block[k]->id)
            all += marks_add(&lanes->seen, g->to[e]);
    for (u32 k = 0; k < b->checks; k++) {
        u32 id = b->check[k]->id;
        if (divides(an, b->check[k]) && g->start[id + 1] - g->start[id] < all)
            return true;
    }
    return false;
}

const char *loop_lanes_forbid_branches(Analyses *an, const LoopBranches *b, LoopLanes *lanes)
{
    if (!lanes->asked)
        find_lanes(an, lanes);
    bool checks_divide = may_divide(an, b->check, b->checks);
    bool divide = checks_divide || may_divide(an, b->block, b->blocks);
    if (lanes->shown && divide)
        return "threads could come in other groups to an instruction that sees which lanes execute it";
    if (lanes->waited && divide && b->leave)
        return "threads could wait for others earlier than before";
    if (checks_divide && (lanes->many || depends_on_some(an, b, lanes)))
        return "threads could come in other groups to an instruction that they execute together";
    return NULL;
}

const char *loop_lanes_forbid(Analyses *an, const LoopChecks *c, LoopLanes *lanes)
{
    Block *check[LOOP_CHECKS];
    for (u32 k = 0; k < c->checks; k++)
        check[k] = c->check[k].block;
    return loop_lanes_forbid_branches(an, &(LoopBranches){check, check, c->checks, c->checks, false}, lanes);
}

/* ---- the copy ------------------------------------------------------------------------------------------------------------- */

Block *loop_copy_of(const LoopChecks *checks, Block *const *copy, const Block *b)
{
    for (u32 k = 0; k < checks->blocks; k++)
        if (checks->block[k] == b)
            return copy[k];
    return NULL;
}

static Block *copy_block(Block *b, const LoopDropped *d)
{
    Block *copy = block_clone(b);
    Instr *made = copy->first;
    for_each_instr(i, b) {
        Instr *next = made->next;
        if (lacks(d, i))
            instr_remove(made);
        made = next;
    }
    return copy;
}

void loop_copy_blocks(const Loop *loop, const LoopChecks *checks, const LoopDropped *d, Block *after, Block *rest,
                      Block *copy[LOOP_BLOCKS])
{
    for (u32 k = 0; k < checks->blocks; k++) {
        copy[k] = copy_block(checks->block[k], d);
        block_move_after(copy[k], after);
        after = copy[k];
    }
    for (u32 k = 0; k < checks->checks; k++) {
        Block *b = loop_copy_of(checks, copy, checks->check[k].block);
        block_remove_terminator(b);
        block_set_fall(b, loop_copy_of(checks, copy, checks->check[k].pass));
    }
    Block *latch = loop_copy_of(checks, copy, loop->latches[0]);
    block_set_fall(latch, rest);
    for (u32 k = 0; k < checks->blocks; k++)
        for (u32 t = 0; t < checks->blocks; t++)
            if (copy[k] != latch)
                block_redirect(copy[k], checks->block[t], copy[t]);
}

void loop_copy_branch(Analyses *an, const LoopChecks *c, Block *b, RegId guard, bool inverted, Block *to)
{
    block_set_branch(b, guard, inverted, to, false);
    Instr *branch = block_terminator(b);
    instr_inherit_origin(an->fn, branch, block_terminator(c->check[0].block), NULL);
    for (u32 k = 1; k < c->checks; k++)
        instr_inherit_origin(an->fn, branch, branch, block_terminator(c->check[k].block));
}

void loop_copy_end(Analyses *an, const Loop *loop, const LoopChecks *c, const LoopDropped *d, Block *after, Block *rest)
{
    Block *latch = loop->latches[0];
    block_move_after(rest, after);
    build_nounroll(loop->header);
    for (Instr *i = latch->first; i && d->late; i = i->next)
        if (is_among(c->chain, c->chained, i))
            instr_append(rest, instr_clone(an->fn, i));
    const Instr *end = block_terminator(latch);
    block_set_fall(rest, latch->fall);
    if (!end)
        return;
    block_set_branch(rest, end->guard, end->guard_not, branch_target(end), false);
    instr_inherit_origin(an->fn, block_terminator(rest), end, NULL);
}

/* ---- all loops of a function ------------------------------------------------------------------------------------- */

enum { LOOP_ANALYSES = AN_LOOPS | AN_DOM | AN_LIVE | AN_SSA | AN_UNIFORM | AN_CONTROL | AN_FACTS };

void loop_copy_begin(Analyses *an) { an_compute(an, LOOP_ANALYSES); }

PhaseResult loop_copy_each(Analyses *an, PhaseRun *run, LoopRewrite *rewrite)
{
    an_freeze(an, LOOP_ANALYSES);
    const Loops *loops = an_loops(an);
    BitSet miscounted = miscounted_loops(an);
    LoopLanes lanes = {0};
    bool any = false;
    for (u32 l = 0; l < loops->n; l++)
        any |= !bitset_has(&miscounted, l) && rewrite(an, run, loops->v[l], &lanes);
    return any ? PHASE_AGAIN : PHASE_UNCHANGED;
}
