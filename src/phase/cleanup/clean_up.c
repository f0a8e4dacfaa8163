/* clean-up: simplifies the control-flow graph to a fixed point.
 *
 *     bra A; ... A: bra B;                bra B;
 *     mov p, 1; @p bra A; ...             mov p, 1; bra A;
 *     @p bra A; bra A;                    bra A;
 *     @p bra NEXT; NEXT:                  NEXT:
 *
 * Follows OriBranchOpt of ptxas: unconditional folding, unreachable blocks, constant and equal-target conditions, and
 * chains, by worklist to a fixed point. Follows LLVM's BranchFolder::OptimizeBranches as well: empty blocks and
 * single-predecessor merge.
 *
 * Sound: every thread executes the same instructions with the same operands in the same order; only branches are removed.
 * No block is duplicated. An empty block that is bypassed controls nothing, so no instruction's control dependence grows,
 * and no cycle gets a second entry. `.uni` stays on a branch whose guard stays, and is never added. Instructions whose
 * results only a removed branch with equal targets read are removed with it, and none that were unread before.
 *
 * A decided branch is removed only where that lets the threads of no other branch reconverge sooner
 * (analysis/reconverge.h). For ptxas, paths that no thread takes are paths, too.
 *
 * Threads that a jump table sends to different blocks are separate groups (transform/groups.h). They stay separate if some of them
 * wait for others, or see them.
 *
 * Declines: blocks that debug data names; blocks with a pragma, which has an effect only in the block that a back edge enters;
 * empty blocks through which several blocks lead to a loop's header; branches that decide through which block an irreducible
 * loop is entered (loop_is_around_irreducible). */
#include "analysis/reconverge.h"
#include "base/bound.h"
#include "base/marks.h"
#include "ir/cfg.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/phase.h"
#include "transform/condition.h"
#include "transform/groups.h"

/* A table with more edges has all of them redirected at once, not one after the other. */
enum {
    MANY_EDGES = 16,
    HOPS = 64 /* the most blocks in front of a loop's header that are passed at once */
};

typedef struct CleanUp {
    PhaseRun *run;
    Analyses *an;
    Function *fn;
    VEC(Block *) work;
    u8 *queued;  /* by Block.id */
    Marks seen;  /* by Block.id: visited by the search under way */
    Block **end; /* by Block.id: the last known destination() of the block, valid while that is not dead; NULL: unknown */
    BitSet decided; /* by Instr.origin: branches that always take one edge, and may be removed in this iteration */
    bool asks_gate; /* only those in `decided` may be removed; otherwise any decided branch */
    BitSet groups;  /* tables that divide threads into groups: transform/groups.h; once has_groups is set */
    bool has_groups;
    bool changed;
    Unread *unread; /* instructions; NULL: no branch that may have been the last reader of one was removed yet */
} CleanUp;

/* ---- the worklist ---------------------------------------------------------------------------------------------- */

static void enqueue(CleanUp *c, Block *b)
{
    if (b->dead || c->queued[b->id])
        return;
    c->queued[b->id] = 1;
    vec_push(&c->work, b);
}

static void enqueue_neighbours(CleanUp *c, const Block *b)
{
    CfgList succs = cfg_succs(c->fn, b), preds = cfg_preds(c->fn, b);
    for (u32 k = 0; k < succs.n; k++)
        enqueue(c, succs.v[k].block);
    for (u32 k = 0; k < preds.n; k++)
        enqueue(c, preds.v[k].block);
}

/* The tables that divided threads into groups before the first rewrite. */
static const BitSet *groups_of(CleanUp *c)
{
    if (!c->has_groups)
        c->groups = groups_find(c->an);
    c->has_groups = true;
    return &c->groups;
}

static bool rewrite(CleanUp *c, const char *name, const Block *at, const char *what)
{
    groups_of(c);
    bool may = phase_rewrite(c->run, name, at, what);
    c->changed |= may;
    return may;
}

/* ---- blocks that do nothing ------------------------------------------------------------------------------------ */

static bool only_jumps(const Block *b) { return block_is_empty(b) && b->fall && b->fall != b && !block_is_pinned(b); }

/* The block where control that enters `from` ends up, past blocks that do nothing. A cycle of such blocks is left at the
 * block where it closes: an infinite loop stays one. */
static Block *destination(CleanUp *c, Block *from)
{
    Block *b = from;
    marks_clear(&c->seen);
    while (only_jumps(b) && marks_add(&c->seen, b->id)) {
        Block *known = c->end[b->id];
        b = known && !known->dead ? known : b->fall;
    }
    if (only_jumps(b))
        return b;
    for (Block *next; from != b; from = next) { /* the same path once more */
        Block *known = c->end[from->id];
        next = known && !known->dead ? known : from->fall;
        c->end[from->id] = b;
    }
    return b;
}

static bool remove_unreachable(CleanUp *c, Block *b)
{
    if (b == c->fn->entry || cfg_preds(c->fn, b).n || block_is_pinned(b))
        return false;
    if (!rewrite(c, "UnreachableBlockRemoved", b, "nothing leads to this block"))
        return false;
    enqueue_neighbours(c, b);
    block_remove(b);
    return true;
}

static void mark_reached(CleanUp *c, Block *b)
{
    if (marks_add(&c->seen, b->id))
        vec_push(&c->work, b);
}

static bool are_all_reached(const CleanUp *c)
{
    u32 blocks = 0;
    for_each_block(b, c->fn)
        blocks++;
    return an_order(c->an)->count == blocks;
}

/* Removes, in one rewrite, blocks that only one another lead to. It is the first rewrite of an iteration. */
static void remove_unreachable_cycles(CleanUp *c)
{
    if (are_all_reached(c))
        return;
    marks_clear(&c->seen);
    mark_reached(c, c->fn->entry);
    for_each_block(b, c->fn)
        if (block_is_pinned(b))
            mark_reached(c, b);
    while (c->work.n) {
        for_each_cfg_edge(succ, cfg_succs(c->fn, vec_pop(&c->work)))
            mark_reached(c, succ.v->block);
    }
    Block *next;
    bool allowed = false;
    for (Block *b = c->fn->entry; b; b = next) {
        next = b->next;
        if (marks_has(&c->seen, b->id))
            continue;
        if (!allowed && !rewrite(c, "UnreachableCodeRemoved", b, "nothing leads to this block, or to others that go to it"))
            return;
        allowed = true;
        block_remove(b);
    }
}

/* The block to which an edge into the chain of empty blocks from `to` to the loop header `end` may lead. Where several
 * blocks come to the header through one of these, they must go on doing so. Otherwise each would become a latch or entry of
 * its own, or enter a loop that one of these heads past its header. */
static Block *before_header(const CleanUp *c, Block *to, Block *end)
{
    u32 hops = 0;
    bool shared = false;
    Block *last = to;
    for (Block *hop = to; hop != end; hop = hop->fall) {
        if (BEYOND(HOPS, ++hops > HOPS))
            return to;
        shared |= cfg_pred_count(c->fn, hop) > 1;
        last = hop;
    }
    return shared ? last : end;
}

/* Whether b is the header of a loop, and a table whose edges stay leads there. An edge that bypasses b would enter the loop
 * elsewhere. */
static bool stays_header(CleanUp *c, const Block *b)
{
    CfgList preds = cfg_preds(c->fn, b);
    bool stays = false;
    for (u32 k = 0; loop_headed_by(an_loops(c->an), b) && k < preds.n && !stays; k++)
        stays = groups_divided_by(groups_of(c), preds.v[k].block);
    return stays;
}

/* The block to which an edge to `to` may be redirected, past blocks that do nothing; `to` itself if there is none. */
static Block *threaded(CleanUp *c, Block *to)
{
    Block *end = only_jumps(to) ? destination(c, to) : to;
    for (Block *hop = to; hop != end && groups_of(c)->bits; hop = hop->fall)
        if (stays_header(c, hop)) {
            end = hop;
            break;
        }
    while (end != to && loop_headed_by(an_loops(c->an), end)) {
        Block *before = before_header(c, to, end);
        if (before == end)
            break;
        end = before;
    }
    return end;
}

static bool may_thread(CleanUp *c, Block *b, Block *to, Block *end)
{
    if (end == to || !rewrite(c, "JumpThreaded", b, "goes straight to where a chain of jumps ends"))
        return false;
    enqueue(c, to);
    enqueue(c, end);
    return true;
}

/* Redirects all edges of the table that ends b at once. */
static bool thread_table(CleanUp *c, Block *b)
{
    CfgList succs = cfg_succs(c->fn, b);
    Block **ends = mem_alloc(succs.n * sizeof *ends);
    bool any = false;
    for (u32 k = 0; k < succs.n; k++) {
        Block *end = threaded(c, succs.v[k].block);
        bool goes = may_thread(c, b, succs.v[k].block, end);
        ends[k] = goes ? end : NULL;
        any |= goes;
    }
    if (any)
        block_redirect_table(b, ends);
    mem_free(ends);
    return any;
}

/* Whether an edge leads to a block that does nothing. */
static bool leads_to_jump(const CleanUp *c, const Block *b)
{
    for_each_cfg_edge(succ, cfg_succs(c->fn, b))
        if (only_jumps(succ.v->block))
            return true;
    return false;
}

static bool thread_edges(CleanUp *c, Block *b)
{
    bool any = false, again = leads_to_jump(c, b) && !groups_divided_by(groups_of(c), b);
    while (again && cfg_succs(c->fn, b).n > MANY_EDGES && thread_table(c, b))
        any = true;
    while (again) {
        again = false;
        CfgList succs = cfg_succs(c->fn, b);
        for (u32 k = 0; k < succs.n && !again; k++) {
            Block *to = succs.v[k].block, *end = threaded(c, to);
            if (!may_thread(c, b, to, end))
                continue;
            block_redirect(b, to, end);
            any = again = true;
        }
    }
    return any;
}

static bool join_with_successor(CleanUp *c, Block *b)
{
    Block *next = b->fall;
    if (!next || !block_can_join(b, next) || block_has_pragma(next))
        return false;
    if (!rewrite(c, "BlocksJoined", b, "the block that follows has no other in-edge"))
        return false;
    c->queued[next->id] = 0;
    block_join(b, next);
    enqueue_neighbours(c, b);
    return true;
}

/* ---- branches that decide nothing ------------------------------------------------------------------------------ */

static bool fold_equal_targets(CleanUp *c, Block *b)
{
    Instr *branch = block_conditional_branch(b);
    if (!branch || branch_target(branch) != b->fall)
        return false;
    if (!rewrite(c, "BranchRemoved", b, "both edges lead to the same block"))
        return false;
    if (!c->unread)
        c->unread = unread_new(c->an->scratch, c->fn);
    block_remove_terminator(b);
    return true;
}

/* Removes instructions whose results only removed branches read. That may leave blocks empty, to which both edges of other
 * branches then lead. */
static void remove_unread(CleanUp *c)
{
    VecU32 from = {0};
    u32 removed = c->unread ? unread_remove(c->unread, &from) : 0;
    if (removed)
        phase_count(c->run, "UnreadRemoved", removed);
    for (u32 k = 0; k < from.n; k++) {
        Block *b = c->fn->blocks.v[from.v[k]];
        if (b->dead || !only_jumps(b))
            continue;
        enqueue(c, b);
        enqueue_neighbours(c, b);
    }
    vec_free(&from);
}

static FactValue known_guard(const Block *b)
{
    Instr *end = block_terminator(b);
    return end && end->guard ? predicate_value(end, end->guard) : FACT_UNKNOWN;
}

/* The successor that b's guarded terminator leads to if its guard is `truth`; NULL: it leaves the function. */
static Block *decided_successor(const Block *b, FactValue truth)
{
    const Instr *end = block_terminator(b);
    return (truth == FACT_TRUE) != end->guard_not ? branch_target(end) : b->fall;
}

/* Finds, before the first rewrite of an iteration, the decided branches that may be removed. Paths that no thread takes may
 * keep the reconvergence points of others apart (analysis/reconverge.h). A branch that is decided later waits for the next
 * iteration. */
static void find_decided(CleanUp *c)
{
    VEC(Block *) decided = {0};
    const Order *order = an_order(c->an);
    c->decided = (BitSet){0};
    for (u32 p = 0; p < order->count; p++)
        if (known_guard(order->rpo[p]) != FACT_UNKNOWN)
            vec_push(&decided, order->rpo[p]);
    ReconvergeGate *gate = decided.n ? reconverge_new(c->an->scratch, c->an) : NULL;
    c->asks_gate = !gate || reconverge_matters(gate) || an_loops(c->an)->n > 0;
    for (u32 k = 0; gate && c->asks_gate && k < decided.n; k++) {
        Block *b = decided.v[k], *to = decided_successor(b, known_guard(b));
        const Block *old = decided.n > 1 ? NULL : reconvergence_point(gate, b);
        if (!c->decided.bits)
            c->decided = bitset_new(c->an->scratch, c->fn->edits.origins + 1);
        if (to && branch_target(block_terminator(b)) != b->fall) {
            if (reconverge_decided(gate, b, to, old, false) != RECONVERGE_SAFE)
                continue;
            reconverge_decide(gate, b, to);
        }
        bitset_add(&c->decided, block_terminator(b)->origin);
    }
    if (gate)
        reconverge_free(gate);
    vec_free(&decided);
}

/* Whether the decided branch may be removed, as find_decided() found. One that was not decided then waits for the next
 * iteration. */
static bool may_remove_decided(const CleanUp *c, const Instr *end)
{
    return !c->asks_gate || (end->origin < c->decided.bits && bitset_has(&c->decided, end->origin));
}

/* Folds a guarded terminator whose guard is a constant in the block: it is always executed, or never. */
static bool fold_constant_condition(CleanUp *c, Block *b)
{
    Instr *end = block_terminator(b);
    FactValue truth = end && may_remove_decided(c, end) ? known_guard(b) : FACT_UNKNOWN;
    if (truth == FACT_UNKNOWN)
        return false;
    if (!rewrite(c, "ConditionFolded", b,
                 truth == FACT_TRUE ? "the condition is always true" : "the condition is always false"))
        return false;
    bool acts = (truth == FACT_TRUE) != end->guard_not;
    enqueue_neighbours(c, b);
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

static bool simplify(CleanUp *c, Block *b)
{
    if (remove_unreachable(c, b))
        return false; /* nothing is left to look at */
    if (loop_is_around_irreducible(an_loops(c->an), b))
        return false;
    bool any = fold_constant_condition(c, b);
    any |= thread_edges(c, b);
    any |= fold_equal_targets(c, b);
    any |= join_with_successor(c, b);
    return any;
}

static void simplify_all(CleanUp *c)
{
    remove_unreachable_cycles(c);
    for_each_block(b, c->fn)
        enqueue(c, b);
    for (u32 next = 0; next < c->work.n; next++) {
        Block *b = c->work.v[next];
        c->queued[b->id] = 0;
        if (!b->dead && simplify(c, b)) {
            enqueue(c, b);
            enqueue_neighbours(c, b);
        }
        if (next + 1 == c->work.n)
            remove_unread(c);
    }
    vec_clear(&c->work);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

Phase phase_clean_up;
PhaseResult phase_clean_up(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    if (knobs->branch_fold_max_iterations && run->iteration >= knobs->branch_fold_max_iterations)
        return PHASE_UNCHANGED;
    CleanUp c = {.run = run, .an = an, .fn = an->fn};
    u32 blocks = an->fn->blocks.n;
    c.queued = arena_array(an->scratch, u8, blocks);
    c.seen = marks_new(an->scratch, blocks);
    c.end = arena_array(an->scratch, Block *, blocks);
    an_freeze(an, AN_LOOPS | AN_POSTDOM | AN_LIVE | AN_FACTS | AN_UNIFORM);
    an_compute(an, AN_LOOPS);
    find_decided(&c);
    simplify_all(&c);
    vec_free(&c.work);
    if (c.unread)
        unread_free(c.unread);
    return c.changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
