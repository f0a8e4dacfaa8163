/* branch-folding: simplifies branches to a fixed point, and puts the tests of loops into the form that ptxas unrolls.
 *
 *     setp.ge p; @!p bra LOOP;            setp.lt p; @p bra LOOP;
 *     setp.eq p; @p bra EXIT; bra LOOP;   setp.ne p; @p bra LOOP; EXIT:
 *     bra A; ... A: bra B;                bra B;
 *     @p bra NEXT; NEXT:                  NEXT:
 *
 * Follows OriBranchOpt of ptxas (unconditional folding, unreachable blocks, constant and equal-target conditions, chains,
 * by worklist to a fixed point) and LLVM's BranchFolder::OptimizeBranches (empty blocks, single-predecessor merge,
 * condition reversal, relocation of blocks without successors); for loops, what tests/ptxas/LOOPS.md measured.
 *
 * The comparison of a latch moves up to the step of its counter where it stands apart from it (phase/branch/loop_compare.h).
 * Where a latch tests two comparisons and one of them counts to a constant, De Morgan makes it an and.pred.
 *
 * Sound: every thread executes the same instructions with the same operands in the same order; only branches, and the
 * comparisons that decide them, change or move. No block is duplicated. An empty block that is bypassed controls nothing, so no
 * instruction's control dependence grows, and no cycle gets a second entry. A comparison is inverted only with its
 * unordered twin on floats, and so that every other reader still finds its value. `.uni` stays on a branch whose guard
 * stays, and is never added.
 *
 * A branch that is decided goes only where no other one comes to reconverge sooner for it (analysis/reconverge.h): the paths
 * that no thread takes are paths for ptxas.
 *
 * Declines: blocks that debug data names; blocks with a pragma (it works in the block that a back edge enters, and only
 * there); conditions whose comparison is guarded, combined, or in another block; bypassing an empty block that several
 * blocks take to a loop's header. */
#include <stdlib.h>

#include "analysis/reconverge.h"
#include "ir/cfg.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "transform/condition.h"
#include "phase/branch/fold.h"
#include "phase/branch/loop_compare.h"

/* More edges out of a block are followed at once, not one after the other. */
enum { MANY_EDGES = 16 };

typedef struct Fold {
    PhaseRun *run;
    Function *fn;
    VEC(Block *) work;
    u8 *queued;   /* by Block.id */
    u32 *seen;    /* by Block.id: number of the chase that passed there last */
    Block **end;  /* by Block.id: where a chase that came by ended, NULL; true while that block is not dead */
    u32 chase;
    BitSet decided; /* by Instr.origin: branches that always go one way, and may be taken away in this round */
    bool asks_gate; /* only those */
    bool changed;
} Fold;

/* ---- the worklist ---------------------------------------------------------------------------------------------- */

static void enqueue(Fold *f, Block *b)
{
    if (b->dead || f->queued[b->id])
        return;
    f->queued[b->id] = 1;
    vec_push(&f->work, b);
}

static void enqueue_neighbours(Fold *f, const Block *b)
{
    CfgList succs = cfg_succs(f->fn, b), preds = cfg_preds(f->fn, b);
    for (u32 k = 0; k < succs.n; k++)
        enqueue(f, succs.v[k].block);
    for (u32 k = 0; k < preds.n; k++)
        enqueue(f, preds.v[k].block);
}

static const Instr *place_of(const Block *b)
{
    return b->jump ? b->jump : b->last ? b->last : NULL;
}

/* Every rewrite asks here, once, before it changes anything. */
static bool may_rewrite(Fold *f, const char *name, const Block *at, const char *what)
{
    if (!phase_may_rewrite(f->run))
        return false;
    phase_passed(f->run, name, place_of(at), "%s", what);
    phase_count(f->run, name, 1);
    f->changed = true;
    return true;
}

/* The test of a loop stays as it is. */
static void test_kept(Fold *f, const char *name, const Instr *branch, const char *why)
{
    phase_missed_once(f->run, name, branch, "ptxas will not unroll this loop: %s, and no comparison in its block can be inverted", why);
}

/* ---- blocks that do nothing ------------------------------------------------------------------------------------ */

static bool only_jumps(const Block *b)
{
    return block_is_empty(b) && b->fall && b->fall != b && !block_is_pinned(b);
}

/* Where control that enters b ends up, past blocks that do nothing. A cycle of such blocks is left at the block where it
 * closes: an endless loop stays one. */
static Block *destination(Fold *f, Block *from)
{
    Block *b = from;
    f->chase++;
    while (only_jumps(b) && f->seen[b->id] != f->chase) {
        Block *known = f->end[b->id];
        f->seen[b->id] = f->chase;
        b = known && !known->dead ? known : b->fall;
    }
    if (only_jumps(b))
        return b;
    for (Block *next; from != b; from = next) { /* the way back is as long as the way there */
        Block *known = f->end[from->id];
        next = known && !known->dead ? known : from->fall;
        f->end[from->id] = b;
    }
    return b;
}

static bool remove_unreachable(Fold *f, Block *b)
{
    if (b == f->fn->entry || cfg_preds(f->fn, b).n || block_is_pinned(b))
        return false;
    if (!may_rewrite(f, "UnreachableBlockRemoved", b, "nothing leads to this block"))
        return false;
    enqueue_neighbours(f, b);
    block_remove(b);
    return true;
}

static void mark_reached(Fold *f, Block *b)
{
    if (f->seen[b->id] == f->chase)
        return;
    f->seen[b->id] = f->chase;
    vec_push(&f->work, b);
}

/* Blocks that only lead to one another, and that nothing outside leads to, go together: one rewrite. */
static void remove_unreachable_cycles(Fold *f)
{
    f->chase++;
    mark_reached(f, f->fn->entry);
    for_each_block(b, f->fn)
        if (block_is_pinned(b))
            mark_reached(f, b);
    while (f->work.n) {
        CfgList succs = cfg_succs(f->fn, vec_pop(&f->work));
        for (u32 k = 0; k < succs.n; k++)
            mark_reached(f, succs.v[k].block);
    }
    Block *next;
    bool allowed = false;
    for (Block *b = f->fn->entry; b; b = next) {
        next = b->next;
        if (f->seen[b->id] == f->chase)
            continue;
        if (!allowed && !may_rewrite(f, "UnreachableCodeRemoved", b, "nothing leads to this block, or to others that go to it"))
            return;
        allowed = true;
        block_remove(b);
    }
}

/* Whether `from` may go to `end` without passing `hop`. Where several blocks go to the header of a loop through one latch
 * (or one preheader), each of them would become a latch (an entry) of its own. */
static bool bypass_keeps_loops(const Fold *f, const Block *hop, const Block *end)
{
    if (cfg_pred_count(f->fn, hop) < 2)
        return true;
    return !loop_headed_by(an_loops(f->run->an), end);
}

/* The last block that does nothing on the way from b to end. */
static Block *last_hop(Block *b, const Block *end)
{
    while (b->fall != end)
        b = b->fall;
    return b;
}

/* Where an edge from b to `to` may go instead, past blocks that do nothing; `to` itself if nowhere. */
static Block *threaded(Fold *f, Block *to)
{
    Block *end = only_jumps(to) ? destination(f, to) : to;
    if (end != to && !bypass_keeps_loops(f, to, end))
        end = last_hop(to, end);
    return end != to && bypass_keeps_loops(f, to, end) ? end : to;
}

static bool may_thread(Fold *f, Block *b, Block *to, Block *end)
{
    if (end == to || !may_rewrite(f, "JumpThreaded", b, "goes straight to where a chain of jumps ends"))
        return false;
    enqueue(f, to);
    enqueue(f, end);
    return true;
}

/* All edges of a table at once. */
static bool thread_table(Fold *f, Block *b)
{
    CfgList succs = cfg_succs(f->fn, b);
    Block **ends = mem_alloc(succs.n * sizeof *ends);
    bool any = false;
    for (u32 k = 0; k < succs.n; k++) {
        Block *end = threaded(f, succs.v[k].block);
        bool goes = may_thread(f, b, succs.v[k].block, end);
        ends[k] = goes ? end : NULL;
        any |= goes;
    }
    if (any)
        block_redirect_table(b, ends);
    mem_free(ends);
    return any;
}

static bool thread_edges(Fold *f, Block *b)
{
    bool any = false, again = true;
    while (cfg_succs(f->fn, b).n > MANY_EDGES && thread_table(f, b))
        any = true;
    while (again) {
        again = false;
        CfgList succs = cfg_succs(f->fn, b);
        for (u32 k = 0; k < succs.n && !again; k++) {
            Block *to = succs.v[k].block, *end = threaded(f, to);
            if (!may_thread(f, b, to, end))
                continue;
            block_redirect(b, to, end);
            any = again = true;
        }
    }
    return any;
}

/* The pragma works in the block that a back edge enters, and only there: it must not come into another one. */
static bool has_pragma(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_PRAGMA)
            return true;
    return false;
}

static bool join_with_successor(Fold *f, Block *b)
{
    Block *next = b->fall;
    if (!next || !block_can_join(b, next) || has_pragma(next))
        return false;
    if (!may_rewrite(f, "BlocksJoined", b, "the block that follows has no other in-edge"))
        return false;
    f->queued[next->id] = 0;
    block_join(b, next);
    enqueue_neighbours(f, b);
    return true;
}

/* ---- branches that decide nothing ------------------------------------------------------------------------------ */

static bool fold_equal_targets(Fold *f, Block *b)
{
    Instr *branch = block_conditional_branch(b);
    if (!branch || branch_target(branch) != b->fall)
        return false;
    if (!may_rewrite(f, "BranchRemoved", b, "both edges lead to the same block"))
        return false;
    block_remove_terminator(b);
    return true;
}

static FactValue known_guard(const Block *b)
{
    Instr *end = block_terminator(b);
    return end && end->guard ? predicate_value(end, end->guard) : FACT_UNKNOWN;
}

/* Where control goes behind b's guarded terminator, if `truth` is what its guard is; NULL: it leaves the function. */
static Block *decided_way(const Block *b, FactValue truth)
{
    const Instr *end = block_terminator(b);
    return (truth == FACT_TRUE) != end->guard_not ? branch_target(end) : b->fall;
}

/* Before the first rewrite of a round: finds the branches that must stay although they are decided. The paths that no thread
 * takes hold the points apart where the others reconverge (analysis/reconverge.h). A branch that comes to be decided later in
 * the round is looked at in the next one. */
static void find_decided(Fold *f)
{
    VEC(Block *) decided = {0};
    const Order *order = an_order(f->run->an);
    f->decided = (BitSet){0};
    for (u32 p = 0; p < order->count; p++)
        if (known_guard(order->rpo[p]) != FACT_UNKNOWN)
            vec_push(&decided, order->rpo[p]);
    ReconvergeGate *gate = decided.n ? reconverge_new(f->run->arena, f->run->an) : NULL;
    f->asks_gate = !gate || reconverge_matters(gate);
    for (u32 k = 0; gate && f->asks_gate && k < decided.n; k++) {
        Block *b = decided.v[k], *to = decided_way(b, known_guard(b));
        const Block *old = decided.n > 1 ? NULL : reconvergence_point(gate, b);
        if (!f->decided.bits)
            f->decided = bitset_new(f->run->arena, f->fn->origins + 1);
        if (!to || branch_target(block_terminator(b)) == b->fall || reconverge_decided(gate, b, to, old, false) == RECONVERGE_SAFE)
            bitset_add(&f->decided, block_terminator(b)->origin);
    }
    if (gate)
        reconverge_free(gate);
    vec_free(&decided);
}

/* The gate is made where a branch is decided when a round begins; one that comes to be decided meanwhile waits for the next. */
static bool may_decide(const Fold *f, const Instr *end)
{
    return !f->asks_gate || (end->origin < f->decided.bits && bitset_has(&f->decided, end->origin));
}

/* A guarded terminator whose guard the block itself tells: it always acts, or never. */
static bool fold_constant_condition(Fold *f, Block *b)
{
    Instr *end = block_terminator(b);
    FactValue truth = known_guard(b);
    if (truth == FACT_UNKNOWN || !may_decide(f, end))
        return false;
    if (!may_rewrite(f, "ConditionFolded", b, truth == FACT_TRUE ? "the condition is always true" : "the condition is always false"))
        return false;
    bool acts = (truth == FACT_TRUE) != end->guard_not;
    enqueue_neighbours(f, b);
    if (!acts) {
        block_remove_terminator(b);
    } else if (branch_target(end)) {
        Block *to = branch_target(end);
        block_remove_terminator(b);
        block_set_fall(b, to);
    } else {
        instr_set_guard(end, 0, false);
        block_set_fall(b, NULL);
    }
    return true;
}

/* ---- the graph, to its fixed point ----------------------------------------------------------------------------- */

static bool simplify(Fold *f, Block *b)
{
    if (remove_unreachable(f, b))
        return false; /* nothing is left to look at */
    bool any = fold_constant_condition(f, b);
    any |= thread_edges(f, b);
    any |= fold_equal_targets(f, b);
    any |= join_with_successor(f, b);
    return any;
}

static void fold_graph(Fold *f)
{
    remove_unreachable_cycles(f);
    for_each_block(b, f->fn)
        enqueue(f, b);
    for (u32 next = 0; next < f->work.n; next++) {
        Block *b = f->work.v[next];
        f->queued[b->id] = 0;
        if (b->dead)
            continue;
        if (simplify(f, b)) {
            enqueue(f, b);
            enqueue_neighbours(f, b);
        }
    }
    vec_clear(&f->work);
}

/* ---- the tests of loops ---------------------------------------------------------------------------------------- */

static bool is_uniform_branch(const Instr *branch) { return branch_target(branch) && op_has(branch->op, OPF_UNIFORM_HINT); }

/* `.uni` on a loop's test keeps ptxas from unrolling; what it promises is not lost, ptxas finds uniform branches itself. */
static void drop_uniform_hint(Fold *f, Instr *branch)
{
    if (is_uniform_branch(branch))
        instr_set_op(branch, isa_without(f->fn->module->isa, branch->op, OPF_UNIFORM_HINT));
}

static void exchange_ways(Block *b, Instr *branch)
{
    Block *taken = branch_target(branch), *fall = b->fall;
    block_set_branch_target(b, fall);
    block_set_fall(b, taken);
}

/* A latch that tests two conditions at once: ptxas takes an and.pred apart where the number of iterations is a constant.
 * opposite: the branch leaves the loop. */
static bool mend_combined(Fold *f, const Loop *loop, Block *b, Instr *branch, bool opposite)
{
    Both both;
    if (!branch_target(branch) || !condition_both(f->run->an, branch, opposite, &both))
        return false;
    if (!loop_compare_counts(f->run, loop, both.compare[0]) && !loop_compare_counts(f->run, loop, both.compare[1]))
        return false;
    if (!may_rewrite(f, "CombinedTestMended", b, "ptxas unrolls a counted loop whose test is an and.pred of comparisons"))
        return false;
    condition_apply_both(f->run->an, branch, &both);
    drop_uniform_hint(f, branch);
    if (opposite)
        exchange_ways(b, branch);
    return true;
}

/* The branch goes the right way, but not in the right words: `@!p bra LOOP`, `@p bra.uni LOOP`, `@!p bra EXIT`. */
static bool mend_test(Fold *f, const Loop *loop, Block *b, Instr *branch, bool may_exchange)
{
    bool plain = condition_is_plain(branch);
    if (plain && !is_uniform_branch(branch))
        return false;
    Plain how = {.kind = PLAIN_NONE};
    bool exchange = false;
    if (!plain) {
        how = condition_plain(f->run->an, branch, false);
        if (may_exchange && (how.kind == PLAIN_NONE || how.kind == PLAIN_PAIR)) {
            how = condition_plain(f->run->an, branch, true);
            exchange = how.kind != PLAIN_NONE;
        }
    }
    if (!plain && how.kind == PLAIN_NONE) {
        if (branch_target(branch) == loop->header && mend_combined(f, loop, b, branch, false))
            return true;
        test_kept(f, "LoopTestKept", branch, "its test is negated");
        return false;
    }
    if (!may_rewrite(f, "LoopTestMended", b, "ptxas unrolls a loop whose test is a plain '@p bra'"))
        return false;
    if (!plain)
        condition_apply(f->run->an, branch, &how);
    drop_uniform_hint(f, branch);
    if (exchange)
        exchange_ways(b, branch);
    return true;
}

/* `@p ret; bra LOOP` to `@!p bra LOOP; ret`, the ret in a block of its own. */
static void return_behind(Fold *f, Block *b, Instr *leave)
{
    Function *fn = f->fn;
    Block *exit = block_new_like(b, instr_loc(leave)), *header = b->fall;
    RegId guard = leave->guard;
    block_move_after(exit, b);
    block_remove_terminator(b);
    instr_set_guard(leave, 0, false);
    instr_append(exit, leave);
    block_set_branch(b, guard, false, header, false);
    instr_stand_for(fn, block_terminator(b), leave, NULL);
    block_set_fall(b, exit);
}

/* `@p bra EXIT; bra LOOP`: the branch goes the wrong way. */
static bool turn_latch(Fold *f, const Loop *loop, Block *b, Instr *leave)
{
    Plain how = condition_plain(f->run->an, leave, true);
    if (how.kind == PLAIN_NONE) {
        if (mend_combined(f, loop, b, leave, true))
            return true;
        test_kept(f, "LatchKept", leave, "its last branch leaves it");
        return false;
    }
    if (!may_rewrite(f, "LatchTurned", b, "ptxas unrolls a loop whose latch is '@p bra LOOP'"))
        return false;
    condition_apply(f->run->an, leave, &how);
    if (!branch_target(leave)) {
        return_behind(f, b, leave);
        return true;
    }
    drop_uniform_hint(f, leave);
    exchange_ways(b, leave);
    return true;
}

static bool stays(const Fold *f, const Loop *loop, const Block *to)
{
    return to && loop_contains(an_loops(f->run->an), loop, to);
}

/* The test that ends block b of the loop, if it ends one: one way stays in the loop, the other leaves it. */
static bool fold_test(Fold *f, const Loop *loop, Block *b)
{
    Instr *end = block_terminator(b);
    if (!end || !end->guard || branch_table(end))
        return false;
    Block *to = branch_target(end);
    if (to == loop->header)
        return mend_test(f, loop, b, end, false);
    if (stays(f, loop, to) == stays(f, loop, b->fall))
        return false;
    if (b->fall == loop->header)
        return turn_latch(f, loop, b, end);
    return mend_test(f, loop, b, end, to != NULL);
}

/* A comparison that stands apart from the step of its counter moves up to it. */
static void unite_with_step(Fold *f, const Loop *loop)
{
    LoopCompare apart;
    if (!loop_compare_apart(f->run, loop, &apart))
        return;
    if (!may_rewrite(f, "ComparisonMoved", apart.compare->block, "ptxas unrolls a loop whose test stands after the step of its counter"))
        return;
    instr_remove(apart.compare);
    instr_insert_after(apart.step, apart.compare);
}

/* The last test of a loop, once it is `@p bra LOOP`. */
static void fold_latch(Fold *f, const Loop *loop)
{
    Block *b = loop->latches[0];
    Instr *branch = block_conditional_branch(b);
    if (loop->nounroll || !branch || branch_target(branch) != loop->header)
        return;
    if (!branch->guard_not)
        mend_combined(f, loop, b, branch, false);
    unite_with_step(f, loop);
}

static void fold_loops(Fold *f)
{
    const Loops *loops = an_loops(f->run->an);
    for (u32 l = 0; l < loops->n; l++) {
        const Loop *loop = loops->v[l];
        for (u32 k = 0; k < loop->block_count && !loop->nounroll && loop_of(loops, loop->blocks[k]) == loop; k++)
            fold_test(f, loop, loop->blocks[k]);
        fold_latch(f, loop);
    }
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static bool is_back_edge(const Fold *f, const Block *from, const Block *to)
{
    const Loops *loops = an_loops(f->run->an);
    const Loop *loop = loop_headed_by(loops, to);
    return loop && loop_contains(loops, loop, from);
}

/* An integer compared with a constant for equality: ptxas finds the chains of these that it makes tables of. */
static bool is_case_test(const Instr *branch)
{
    Instr *def = local_definition(branch, branch->guard);
    if (!def || def->op->opcode != OPC_SETP || (def->op->cmp != CMP_EQ && def->op->cmp != CMP_NE))
        return false;
    const Operand *with = instr_operand(def, 2);
    return with && with->kind == OPND_IMM;
}

/* ptxas lays out blocks as it likes, but which way of a branch is taken decides what it predicates and in which order it
 * places the arms. Over the examples, turning every branch wins 10 instructions in some kernels and loses 7 in others;
 * where the next block is a join, it only ever wins. */
static bool reversal_pays(const Fold *f, const Block *b, const Instr *branch)
{
    switch (f->run->knobs->branch_fold_reverse) {
    case 0: return false;
    case 1: return cfg_pred_count(f->fn, b->next) > 1 && !is_case_test(branch);
    default: return true;
    }
}

/* `@p bra NEXT; bra FAR; NEXT:` to `@!p bra FAR; NEXT:`, where the opposite costs nothing. */
static bool reverse_to_fall_through(Fold *f, Block *b)
{
    Instr *branch = block_conditional_branch(b);
    if (!branch || branch_target(branch) != b->next || b->fall == b->next || is_back_edge(f, b, b->next))
        return false;
    if (!reversal_pays(f, b, branch))
        return false;
    Plain how = condition_plain(f->run->an, branch, true);
    if (how.kind == PLAIN_NONE || how.kind == PLAIN_PAIR)
        return false;
    if (!may_rewrite(f, "BranchReversed", b, "the block that follows is now reached by falling through"))
        return false;
    condition_apply(f->run->an, branch, &how);
    exchange_ways(b, branch);
    return true;
}

/* A block that leaves the function moves to the end when the one before it can then fall through to the one behind. */
static bool relocate_exit(Fold *f, Block *b)
{
    Block *before = b->prev, *behind = b->next;
    if (!before || !behind || before->fall != behind || cfg_succs(f->fn, b).n || b->falls_off || block_is_pinned(b))
        return false;
    if (!may_rewrite(f, "ExitMoved", b, "the block before it now falls through"))
        return false;
    block_move_to_end(b);
    return true;
}

static bool remove_jump_to_next(Fold *f, Block *b)
{
    if (!b->jump || b->fall != b->next)
        return false;
    if (!may_rewrite(f, "JumpRemoved", b, "a jump to the next block"))
        return false;
    block_remove_jump(b);
    return true;
}

static void fold_layout(Fold *f)
{
    Block *next;
    for (Block *b = f->fn->entry; b; b = next) {
        next = b->next;
        reverse_to_fall_through(f, b);
        relocate_exit(f, b);
    }
    for_each_block(b, f->fn)
        remove_jump_to_next(f, b);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

static bool fold_round(Fold *f)
{
    u32 blocks = f->fn->blocks.n; /* what is made in this round is looked at in the next */
    f->queued = arena_array(f->run->arena, u8, blocks);
    f->seen = arena_array(f->run->arena, u32, blocks);
    f->end = arena_array(f->run->arena, Block *, blocks);
    f->changed = false;
    an_freeze(f->run->an, AN_LOOPS | AN_POSTDOM | AN_LIVE | AN_FACTS | AN_UNIFORM);
    an_compute(f->run->an, AN_LOOPS);
    find_decided(f);
    fold_graph(f);
    an_thaw(f->run->an, AN_ALL);
    an_freeze(f->run->an, AN_LOOPS | AN_LIVE | AN_FACTS);
    an_compute(f->run->an, AN_LOOPS);
    fold_loops(f);
    fold_layout(f);
    return f->changed;
}

bool fold_branches(PhaseRun *run)
{
    const Knobs *knobs = run->knobs;
    Fold f = {.run = run, .fn = run->fn};
    bool any = false;
    for (i64 round = 0; !knobs->branch_fold_max_iterations || round < knobs->branch_fold_max_iterations; round++) {
        if (!fold_round(&f))
            break;
        any = true;
        edit_layout(run->fn); /* may dissolve scopes that kept blocks apart */
        an_thaw(run->an, AN_ALL);
    }
    vec_free(&f.work);
    return any;
}

Phase phase_branch_folding;
PhaseResult phase_branch_folding(PhaseRun *run)
{
    return !run->knobs->disable_branch_fold && fold_branches(run) ? PHASE_CHANGED : PHASE_UNCHANGED;
}
