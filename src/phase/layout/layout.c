/* layout: lets blocks fall through to the next one.
 *
 *     @p bra NEXT; bra FAR; NEXT:         @!p bra FAR; NEXT:
 *     ...; EXIT: ret; B:                  ...; B: ... EXIT: ret;
 *     bra NEXT; NEXT:                     NEXT:
 *
 * Follows LLVM's BranchFolder::OptimizeBranches (condition reversal, relocation of blocks without successors).
 *
 * Sound: every thread takes the same edges; only the successor that is fallen through to and the order of the blocks
 * change. A comparison of floats is inverted to its unordered twin, and every other reader still finds its value.
 *
 * Declines: branches as their compiler wrote them (--layout-invert); blocks that debug data names; back edges; loops that ptxas
 * may miscount, or around irreducible ones; jumps that keep a table's groups apart; comparisons of which ptxas makes tables. */
#include "ir/cfg.h"
#include "ir/edit.h"
#include "ir/inspect.h"
#include "phase/phase.h"
#include "transform/condition.h"
#include "transform/miscounted.h"

static bool is_back_edge(Analyses *an, const Block *from, const Block *to)
{
    const Loop *loop = loop_headed_by(an_loops(an), to);
    return loop && loop_contains(an_loops(an), loop, from);
}

/* Whether the branch tests an integer for equality with a constant. ptxas makes tables of chains of such tests. */
static bool is_case_test(const Instr *branch)
{
    Instr *def = local_definition(branch, branch->guard);
    const Operand *with = def && def->op->opcode == OPC_SETP ? instr_operand(def, 2) : NULL;
    return with && with->kind == OPND_IMM && (def->op->cmp == CMP_EQ || def->op->cmp == CMP_NE);
}

/* Whether inverting the branch pays. By the taken successor ptxas decides what to predicate and how to order the arms. In
 * 1120 kernels of Warp where nothing else is to be done, inverting branches in front of joins made 452 a little better and
 * 79 worse, with the same cycles and instructions in all. So a branch stays as its compiler wrote it. */
static bool inversion_pays(Analyses *an, const Knobs *knobs, const Block *b, const Instr *branch)
{
    bool asked = knobs->layout_invert == INVERT_ALWAYS, pays = knobs->layout_invert == INVERT_NEW && branch->changed;
    return asked || (pays && cfg_pred_count(an->fn, b->next) > 1 && !is_case_test(branch));
}

/* Rewrites `@p bra NEXT; bra FAR; NEXT:` to `@!p bra FAR; NEXT:`, where the inverted guard costs nothing. */
static bool invert_to_fall_through(Analyses *an, const Knobs *knobs, PhaseRun *run, Block *b)
{
    Instr *branch = block_conditional_branch(b);
    if (!branch || branch_target(branch) != b->next || b->fall == b->next || is_back_edge(an, b, b->next) ||
        is_back_edge(an, b, b->fall) || !inversion_pays(an, knobs, b, branch))
        return false;
    PlainCondition how = condition_plain(an, branch, true);
    if (how.kind == PLAIN_NONE || how.kind == PLAIN_PAIR)
        return false;
    an_compute_frozen(an);
    if (!phase_rewrite(run, "BranchInverted", b, "the block that follows is now reached by falling through"))
        return false;
    condition_apply(an, branch, &how);
    block_swap_successors(b);
    return true;
}

/* Moves a block that leaves the function to the end, if the block before it can then fall through to the block after it. */
static bool relocate_exit(Analyses *an, PhaseRun *run, Block *b)
{
    Block *before = b->prev, *after = b->next;
    if (!before || !after || loop_is_around_irreducible(an_loops(an), before) || before->fall != after ||
        cfg_succs(an->fn, b).n || b->falls_off || block_is_pinned(b) ||
        !phase_rewrite(run, "ExitMoved", b, "the block before it now falls through"))
        return false;
    block_move_to_end(b);
    return true;
}

static bool remove_jump_to_next(Analyses *an, PhaseRun *run, Block *b)
{
    if (!b->jump || b->fall != b->next || (block_is_empty(b) && cfg_table_leads_to(an->fn, b)) ||
        !phase_rewrite(run, "JumpRemoved", b, "a jump to the next block"))
        return false;
    block_remove_jump(b);
    return true;
}

Phase phase_layout;
PhaseResult phase_layout(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    bool any = false;
    an_freeze(an, AN_LOOPS | AN_LIVE);
    an_compute(an, AN_LOOPS);
    run->looks_at_jumps = true;
    bool tests_stay = miscounted_has_constant_loop(an, NULL, NULL);
    for (Block *b = an->fn->entry, *next; b; b = next) {
        next = b->next;
        bool stays = loop_is_around_irreducible(an_loops(an), b);
        any |= !stays && !(tests_stay && loop_of(an_loops(an), b)) && invert_to_fall_through(an, knobs, run, b);
        any |= !stays && relocate_exit(an, run, b);
    }
    for_each_block(b, an->fn)
        any |= !loop_is_around_irreducible(an_loops(an), b) && remove_jump_to_next(an, run, b);
    return any ? PHASE_AGAIN : PHASE_UNCHANGED;
}
