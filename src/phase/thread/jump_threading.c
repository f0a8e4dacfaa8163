/* jump-threading: if the branch of a block is decided on an edge into the block, the edge goes straight to the branch's target.
 *
 *     @p bra A; ...; bra J;              @p bra A; ...; bra D;
 *  A: ...;                            A: ...;
 *  J: @p bra C; D: ... C: ...            C: ... D: ...
 *
 * Four things decide a branch or a table: a predicate tested before; a comparison made before, or implied; constants
 * (flags, states); ranges of values (analysis/values.h). A selp of constants that decides is unfolded: the edge becomes a
 * branch on its predicate. Instructions of the block are cloned onto the edge if what follows reads their results. A branch
 * that all edges decide alike is removed. Follows LLVM's JumpThreading.
 *
 * Sound: every thread executes the same instructions as before, except for pure ones whose results nobody reads. Only pure
 * instructions and plain loads and stores are duplicated; loads and stores onto every edge. The one block at which threads no
 * longer reconverge is the bypassed one, J. So the code that depends on an earlier branch X grows only if J was X's immediate
 * post-dominator. It then grows only by the code between J and J's own. No convergent instruction may stand there, unless no
 * branch X divides a warp. That holds for any number of blocks threaded at once, but not for a mixture of the two cases: each
 * sweep threads those of one. New paths are old paths, so a loop's header keeps dominating it as long as headers are not
 * bypassed: reducible stays reducible.
 *
 * Pays (tests/ptxas/THREADING.md) if ptxas does not predicate the code that J's branch decides. If a warp may reach J in several
 * groups, these no longer run together after it. Then code before J must not be predicated either, and J's branch must outweigh
 * the code that each group now executes separately. The block at which all paths from J join, except those out of its loop, is
 * executed once in any case. All edges into J must be decided, so that its branch vanishes, or all but one, so that nobody
 * waits there. In loops, a branch that whole warps reach together must vanish as well. If many registers are live, ptxas has none
 * left to execute two parts of an arm together. Outside of loops, clones must not cost more than J, and if other edges still need J
 * there must be more to bypass than its branch. Edges out of loops never qualify.
 *
 * Declines: loop headers, and rewrites that would make a new latch, entry or exit of a loop; clones of `i = i + 1` in loops (ptxas
 * would no longer count them); blocks with pragmas, inner scopes, or labels that debug data names. PTX has no phis, so there is no
 * threshold for them. Comparisons are found by dominance, not by a search over predecessors. The branch of a header or of the entry
 * block is removed only if all paths to it decide it alike.
 *
 * decide.h says where edges lead, judge.h whether they may, body.h what is cloned onto them. */
#include "ir/cfg.h"
#include "base/bound.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/thread/body.h"
#include "phase/thread/judge.h"
#include "target/ptxas.h"

enum { BUDGET = 512 /* the most instructions cloned in a function, in all its rounds: PhaseRun.spent */ };

/* A sweep threads either blocks before convergent instructions, or all others. A sweep of one kind follows where one of the
 * other kind found only blocks that it had to leave. */
typedef struct Threader {
    Analyses *an;
    const Knobs *knobs;
    ThreadJudge judge;
    bool convergent_sweep; /* this sweep threads blocks before convergent instructions; otherwise the others */
    bool deferred;         /* a block was left to sweeps of the other kind */
    bool changed;          /* something was changed in this iteration of the phase */
    VEC(Block *) made; /* blocks of clones; joined to their predecessors when the sweep ends, since the facts know these */
    VEC(Instr *) unread; /* selps to be removed when the sweep ends, since facts speak of them */
} Threader;

/* ---- rewriting ------------------------------------------------------------------------------------------------- */

/* The block after which a clone of b, from `from` to `to`, costs the fewest jumps. */
static Block *place_before(Block *b, Block *from, const Block *to)
{
    if (from->fall == b)
        return from;
    return to->prev && to->prev->fall != to ? to->prev : b;
}

/* Makes a block for clones of b, laid out after `after`. */
static Block *block_of_clones(Threader *t, Block *b, Block *after)
{
    Block *made = block_new_like(b, b->loc);
    block_move_after(made, after);
    vec_push(&t->made, made);
    return made;
}

/* Joins each block of clones to its only predecessor, if it has one. Call it when nobody asks for facts any more. */
static void join_made(Threader *t)
{
    while (t->made.n) {
        Block *made = vec_pop(&t->made), *from = cfg_single_pred(t->an->fn, made);
        if (from && block_can_join(from, made))
            block_join(from, made);
    }
}

/* Redirects all edges of c without selp that lead to `to` through one block of clones. Answers the number of instructions
 * cloned. */
static u32 thread_to(Threader *t, Candidate *c, Block *to)
{
    Body body;
    Block *only = NULL, *through = to;
    body_collect(t->an, c->b, to, NULL, &body);
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to == to && !c->edge[k].select)
            only = c->edge[k].from;
    if (body.n) {
        through = block_of_clones(t, c->b, place_before(c->b, only, to));
        block_append_clones(through, body.v, body.n);
        block_set_fall(through, to);
    }
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to == to && !c->edge[k].select)
            block_redirect(c->edge[k].from, c->b, through);
    return body.n;
}

/* Whether nobody reads the selp's result once its edge is threaded. */
static bool is_unread(const Threader *t, const InEdge *edge, const Body *body)
{
    RegId reg = instr_operand(edge->select, 0)->id;
    for (const Instr *i = edge->select->next; i; i = i->next)
        if (i->kind == INSTR_OP && instr_reads(i, reg))
            return false;
    for (u32 k = 0; k < body->n; k++)
        if (instr_reads(body->v[k], reg))
            return false;
    return !body_is_live_on(t->an, edge->to, edge->otherwise, reg);
}

/* Replaces the edge by a branch on the predicate of its selp, which decides the branch of c->b. Answers the number of
 * instructions cloned. */
static u32 thread_select(Threader *t, const Candidate *c, const InEdge *edge)
{
    Instr *end = block_terminator(c->b);
    const Operand *by = instr_operand(edge->select, 3);
    bool unread = cfg_succs(t->an->fn, edge->from).n == 1;
    Block *at = block_of_clones(t, c->b, place_before(c->b, edge->from, edge->to));
    Body body;
    body_collect(t->an, c->b, edge->to, edge->otherwise, &body);
    unread = unread && is_unread(t, edge, &body);
    block_append_clones(at, body.v, body.n);
    block_redirect(edge->from, c->b, at);
    block_set_fall(at, edge->otherwise);
    block_set_branch(at, by->id, false, edge->to, op_has_modifier(end->op, ".uni"));
    instr_inherit_origin(t->an->fn, block_terminator(at), end, NULL);
    if (unread)
        vec_push(&t->unread, edge->select);
    return body.n;
}

static void thread(PhaseRun *run, Threader *t, Candidate *c)
{
    u32 cloned = 0, unfolded = 0;
    judge_prepare(&t->judge);
    judge_branch_bypassed(&t->judge, c->b);
    phase_passed(run, "BranchThreaded", block_terminator(c->b), "%u of %u edges to this branch go straight to its target",
                 c->decided, c->edges);
    phase_count(run, "BranchThreaded", 1);
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to && c->edge[k].select) {
            cloned += thread_select(t, c, &c->edge[k]);
            unfolded++;
        } else if (decide_is_first(c, k)) {
            cloned += thread_to(t, c, c->edge[k].to);
        }
    *run->spent += cloned;
    if (cloned)
        phase_count(run, "InstructionsCloned", cloned);
    if (unfolded)
        phase_count(run, "SelectUnfolded", unfolded);
    t->changed = true;
}

static bool has_select(const Block *b)
{
    for_each_instr(i, b)
        if (i->kind == INSTR_OP && i->op->opcode == OPC_SELP)
            return true;
    return false;
}

/* Lets the branch of b test the predicate of a selp of constants in b that decides it. False: there is none. */
static bool branch_on_predicate(PhaseRun *run, Threader *t, Block *b)
{
    InEdge edge;
    Instr *end = block_terminator(b);
    if (branch_table(end) || !has_select(b) || !decide_by_own_select(t->an, t->knobs, b, &edge) ||
        !phase_rewrite_at(run, "SelectUnfolded", end, "the branch asks the predicate that a selp of constants stands for"))
        return false;
    RegId by = instr_operand(edge.select, 3)->id;
    judge_prepare(&t->judge);
    instr_set_guard(end, by, edge.to != branch_target(end));
    t->changed = true;
    return true;
}

/* Removes the branch of b, which always leads to `to`; answers whether it did. */
static bool fold(PhaseRun *run, Threader *t, Block *b, Block *to)
{
    Instr *end = block_terminator(b);
    const char *why = judge_why_branch_stays(&t->judge, b, to);
    if (why) {
        phase_missed_once(run, "BranchNotThreaded", end, "%s", why);
        return false;
    }
    if (!phase_rewrite_at(run, "BranchDecided", end, "the branch is decided alike on every path to it"))
        return false;
    judge_prepare(&t->judge);
    judge_branch_goes(&t->judge, b, to);
    block_remove_terminator(b);
    block_set_fall(b, to);
    t->changed = true;
    return true;
}

/* The block to which all edges into c->b lead, or NULL. */
static Block *agreed_target(const Candidate *c)
{
    for (u32 k = 0; k < c->edges; k++)
        if (c->edge[k].to != c->edge[0].to || c->edge[k].select)
            return NULL;
    return c->edges ? c->edge[0].to : NULL;
}

/* Removes the branch of a header or of the entry block, which are never bypassed, if all paths decide it alike. */
static void fold_decided(PhaseRun *run, Threader *t, Block *b)
{
    Analyses *an = t->an;
    Block *to = decide_branch(an, t->knobs, b);
    if (!to || to == b || !order_reachable(an_order(an), to))
        return;
    if (loop_headed_by(an_loops(an), b) && judge_is_predicated(&t->judge, b))
        phase_missed_once(run, "BranchNotThreaded", block_terminator(b), "%s", judge_predicated);
    else
        fold(run, t, b, to);
}

static void try_block(PhaseRun *run, Threader *t, Block *b)
{
    Analyses *an = t->an;
    Candidate c;
    bool after_convergent = false;
    if (!decide_ends(an, b))
        return;
    an_compute(an, AN_FACTS);
    if (branch_on_predicate(run, t, b))
        return;
    if (b == t->an->fn->entry || loop_headed_by(an_loops(an), b)) {
        fold_decided(run, t, b);
        return;
    }
    const char *why = body_why_not(an, b, run->sink->wants_remarks);
    decide_edges(an, t->knobs, b, why && !run->sink->wants_remarks, &c);
    Block *to = agreed_target(&c);
    if (!c.decided || (to && fold(run, t, b, to)))
        return;
    c.cost = ptxas_block_cost(b, UINT32_MAX);
    if (!why)
        why = judge_why_not(&t->judge, &c, WITHIN(BUDGET, *run->spent < BUDGET) ? BUDGET - *run->spent : 0,
                            &after_convergent);
    if (!why && phase_waits(run, KIND_ADDED_CODE) && judge_adds_in_part(&t->judge, &c))
        why = "edges would need copies or a jump, and others still need the branch: -O3 or the guard does it";
    bool is_of_sweep = after_convergent == t->convergent_sweep;
    t->deferred |= !why && !is_of_sweep;
    if (why)
        phase_missed_once(run, "BranchNotThreaded", block_terminator(b), "%s", why);
    else if (is_of_sweep && phase_may_rewrite(run))
        thread(run, t, &c);
}

/* ---- the phase ------------------------------------------------------------------------------------------------- */

/* Tries all blocks; answers whether anything has changed. */
static bool thread_sweep(PhaseRun *run, Threader *t)
{
    const Order *order = an_order(t->an);
    t->deferred = false;
    for (u32 p = 0; p < order->count; p++)
        try_block(run, t, order->rpo[p]);
    while (t->unread.n)
        instr_remove(vec_pop(&t->unread));
    join_made(t);
    return t->changed;
}

/* What the phase remembers from one iteration to the next. */
typedef struct ThreadMemory {
    JudgeMemory judge;
    bool convergent_sweep; /* of the last sweep */
} ThreadMemory;

static ThreadMemory *memory_of(const Analyses *an, PhaseRun *run)
{
    ThreadMemory *m = run->state;
    if (!m) {
        m = run->state = arena_new(run->kept, ThreadMemory);
        m->judge = judge_memory(an, run->kept);
    }
    return m;
}

Phase phase_jump_threading;
PhaseResult phase_jump_threading(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    an_freeze(an, AN_LOOPS | AN_POSTDOM | AN_FACTS | AN_LIVE | AN_UNIFORM);
    if (an_loops(an)->irreducible)
        return PHASE_UNCHANGED;
    ThreadMemory *memory = memory_of(an, run);
    Threader t = {.an = an, .knobs = knobs, .convergent_sweep = memory->convergent_sweep};
    t.judge = judge_new(an, knobs, &memory->judge);
    bool changed = thread_sweep(run, &t);
    if (!changed && t.deferred) {
        t.convergent_sweep = !t.convergent_sweep;
        changed = thread_sweep(run, &t);
    }
    memory->convergent_sweep = t.convergent_sweep;
    judge_end(&t.judge);
    vec_free(&t.unread);
    vec_free(&t.made);
    run->may_do_more |=
        changed && memory->judge.convergent; /* uniformity was asked about the function before its first rewrite */
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
