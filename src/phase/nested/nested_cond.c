/* nested-cond: nested conditional branches whose inner block only computes, or loads once, become one branch on a combined
 * condition.
 *
 *     setp.ge p, x, n; @p bra END;             setp.ge p, x, n;
 *     setp.gt q, y, m; @q bra END;             setp.gt.or r, y, m, p; @r bra END;
 *     ...                                      ...
 *
 *     @p bra END;                              @!p ld r, [a];
 *     ld r, [a]; setp.gt q, r, m; @q bra END;  setp.gt.or s, r, m, p; @s bra END;
 *     ...                                      ...
 *
 * Follows OptimizeNestedCondBranches of ptxas, and extends it from pairs to any mix of `and`, `or` and `?:`. The
 * outermost block takes in the inner ones, one after another, innermost first. Its condition is then written out once
 * (phase/nested/truth.h). ptxas does short chains itself, and then makes the same code of both; tests/ptxas/NESTED.md has
 * where it does not.
 *
 * Sound: what the inner block computes is pure, unguarded, and not read on the paths around it. So threads that did not
 * execute it before may. A plain load, or an instruction that writes a register read there, gets the outer branch's
 * predicate as its guard. Nothing in between changes that, so the same threads execute the instruction, in the same
 * order. For the other threads, a comparison of the loaded value gives anything, and the outer predicate alone decides.
 * The inner block has one in-edge and its branch shares a target with the outer one. The new branch stands for both:
 * instructions that depend on it depended on them. A comparison is never inverted, so a NaN goes where it went. `.uni`
 * stays where both branches had it.
 *
 * Declines loads that cannot be guarded, or where guarding was not measured to pay: more than one load; arms of several
 * blocks after it; a predicate that stands for several branches, or is equal in a warp; many live registers; no comparison that
 * can take the predicate as an operand. Loads of the kernel's parameters cannot fault, and need no guard.
 *
 * Also declines:
 *   inner blocks with effects, or with convergent, volatile or guarded instructions, or carry chains;
 *   more cheap instructions than the knob allows; related predicates; pinned labels, pragmas, scopes;
 *   branches that end, leave or continue a loop (tests/ptxas/LOOPS.md);
 *   equalities that ptxas propagates into the block after them; cases of a switch;
 *   a loop-invariant branch that divides no warp, before another branch that divides none;
 *   in a loop, a chain of instructions in front of a short arm;
 *   a load in front of the branch that only one arm reads;
 *   targets that threads reach through both branches, and would newly reach together, if an instruction there sees which
 *   threads are together. */
#include "phase/nested/site.h"

#include "ir/cfg.h"
#include "ir/edit.h"

typedef struct Combiner {
    PhaseRun *run;
    Analyses *an;
    Nested n;
    bool prepared; /* prepare() was called, since a site was found */
    bool changed;
} Combiner;

/* ---- the rewrite ------------------------------------------------------------------------------------------------ */

/* Renames `reg` in the inner block, which writes it while the outer branch still needs the old value. */
static void rename_private(Nested *n, Block *inner, RegId reg)
{
    RegId to = reg_new(n->fn, fn_reg(n->fn, reg)->type);
    for_each_instr(i, inner)
        if (i->kind == INSTR_OP)
            instr_rename(i, reg, to, true, true);
    if (n->combined[inner->id].truth)
        truth_rename(n->combined[inner->id].truth, reg, to);
}

static void separate(Nested *n, const Site *s)
{
    for_each_instr(i, s->inner)
        if (i->kind == INSTR_OP)
            for (RegWalk w = reg_walk(i); next_write(&w);)
                if (nested_decides(n, s->outer, w.reg))
                    rename_private(n, s->inner, w.reg);
}

static bool is_uniform(const Instr *branch) { return op_has(branch->op, OPF_UNIFORM_HINT); }

/* Lets `branch` stand for `old` as well. */
static void inherit_origin(Nested *n, Instr *branch, const Instr *old)
{
    bool uniform = is_uniform(branch) && is_uniform(old);
    instr_inherit_origin(n->fn, branch, old, branch);
    if (is_uniform(branch) != uniform)
        instr_set_op(branch, isa_without(n->fn->module->isa, branch->op, OPF_UNIFORM_HINT));
}

/* Appends the instructions of `next` to `to`, its only predecessor. */
static void append_block(Block *to, Block *next)
{
    block_remove_terminator(to);
    block_set_fall(to, next);
    block_join(to, next);
}

/* The condition under which b's branch leads to `to`, as a term in scratch memory. */
static TruthTerm condition_term(const Nested *n, const Block *b, const Block *to)
{
    return site_condition_to(n, b, to, n->combined[b->id].truth ? NULL : arena_new(n->an->scratch, Truth));
}

/* Guards the instructions that only threads which came to the inner block may execute. */
static void guard_inner(Nested *n, const Site *s)
{
    Truth leaf;
    TruthTerm in = site_condition_to(n, s->outer, s->inner, &leaf);
    for_each_instr(i, s->inner)
        if (site_guards(n, s, i))
            instr_set_guard(i, in.truth->reg, in.inverted);
}

static void combine_chain(Nested *n, const Site *s)
{
    Block *outer = s->outer;
    separate(n, s);
    guard_inner(n, s);
    TruthTerm through = truth_and(n->an->scratch, condition_term(n, outer, s->inner), condition_term(n, s->inner, s->rest));
    bool falls_to_other = outer->fall == s->other;
    Instr *old = block_terminator(outer);
    append_block(outer, s->inner);
    if (falls_to_other && outer->fall != s->other)
        block_swap_successors(outer);
    Instr *branch = block_terminator(outer);
    inherit_origin(n, branch, old);
    n->combined[outer->id] = branch_target(branch) == s->rest ? through : term_not(through);
}

static void combine_diamond(Nested *n, const Site *yes, const Site *no)
{
    Block *outer = yes->outer;
    separate(n, yes);
    separate(n, no);
    TruthTerm which = condition_term(n, outer, yes->inner), a = condition_term(n, yes->inner, yes->rest),
              b = condition_term(n, no->inner, yes->rest);
    TruthTerm whole = truth_select(n->an->scratch, which, a, b);
    Instr *old = block_terminator(outer), *arm = block_terminator(yes->inner);
    append_block(outer, yes->inner);
    append_block(outer, no->inner);
    Instr *branch = block_terminator(outer);
    inherit_origin(n, branch, arm);
    inherit_origin(n, branch, old);
    n->combined[outer->id] = branch_target(branch) == yes->rest ? whole : term_not(whole);
}

/* ---- the phase -------------------------------------------------------------------------------------------------- */

/* Computes what questions about sites need, for the function before the first rewrite. */
static void prepare(Combiner *c)
{
    Nested *n = &c->n;
    if (c->prepared)
        return;
    c->prepared = true;
    n->combined = arena_array(n->an->scratch, TruthTerm, n->fn->blocks.n);
    n->skip = arena_array(n->an->scratch, u32, an_dom(c->an)->count + 1);
    n->registers = n->fn->regs.n;
    n->only_write = instr_only_writes(n->an->scratch, n->fn);
}

/* Whether the site is to be rewritten. why: the reason against it, or REASON_NONE. */
static bool may_rewrite(Combiner *c, const Site *s, Reason why)
{
    const Instr *branch = block_terminator(s->inner);
    if (why)
        phase_declined(c->run, site_reason_counter(why), "NestedKept", branch, "%s", site_reason_words(why));
    if (why || !phase_rewrite_at(c->run, "NestedCombined", branch, "combined with the branch before it into one test"))
        return false;
    if (!c->changed) {
        an_compute_frozen(c->an);
        nested_gate(&c->n);
    }
    c->changed = true;
    return true;
}

static bool combine_once(Combiner *c, Block *outer)
{
    Site s, no;
    for (u32 edge = 0; edge < 2; edge++) {
        if (!site_find_chain(&c->n, outer, edge, &s))
            continue;
        prepare(c);
        Reason why = site_check_chain(&c->n, &s);
        if (may_rewrite(c, &s, why ? why : site_check_profit(&c->n, &s))) {
            combine_chain(&c->n, &s);
            return true;
        }
    }
    if (!site_find_diamond(&c->n, outer, &s, &no))
        return false;
    prepare(c);
    if (!may_rewrite(c, &s, site_check_diamond(&c->n, &s, &no)))
        return false;
    combine_diamond(&c->n, &s, &no);
    return true;
}

static void write_out(Combiner *c, Block *b)
{
    Nested *n = &c->n;
    TruthTerm taken = n->combined[b->id];
    if (b->dead || !taken.truth)
        return;
    /* The next block is then reached without a jump. A chain can be negated at no cost. Other functions are negated only
     * in front of a join, where any other layout would negate them as well. */
    if (branch_target(block_terminator(b)) == b->next &&
        (taken.truth->kind == TRUTH_AND || cfg_pred_count(n->fn, b->next) > 1)) {
        block_swap_successors(b);
        taken = term_not(taken);
    }
    Literal guard = truth_emit(c->an, n->knobs, c->run, b, taken);
    instr_set_guard(block_terminator(b), guard.reg, guard.inverted);
}

/* Combines all sites, inner ones first, and answers whether anything changed. */
static bool combine_all(Combiner *c)
{
    Nested *n = &c->n;
    an_freeze(c->an, AN_LOOPS | AN_POSTDOM | AN_LIVE | AN_UNIFORM);
    an_compute(c->an, AN_LOOPS);
    const Order *order = an_order(c->an);
    for (u32 k = order->count; k-- > 0;)
        while (!order->rpo[k]->dead && combine_once(c, order->rpo[k]))
            ;
    if (c->changed) {
        an_thaw(c->an, AN_ALL & ~AN_LIVE); /* nobody asks the others any more */
        for (u32 k = 0; k < order->count; k++)
            write_out(c, order->rpo[k]);
    }
    if (n->gate)
        reconverge_free(n->gate);
    return c->changed;
}

/* Removes jumps to the next block, where the block that stood in between is gone. An empty block keeps its jump, and so
 * stays a block. */
static void remove_jumps_to_next(Function *fn)
{
    for_each_block(b, fn)
        if (b->fall == b->next && !block_is_empty(b))
            block_remove_jump(b);
}

/* Answers PHASE_AGAIN after a change: the condition may cost less than was counted, which may bring another site within the
 * limits. */
Phase phase_nested_cond;
PhaseResult phase_nested_cond(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    Combiner c = {.run = run, .an = an, .n = {.an = an, .knobs = knobs, .fn = an->fn}};
    bool changed = combine_all(&c);
    if (changed)
        remove_jumps_to_next(an->fn);
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
