/* switch-lowering: recovers switches from the compares that a compiler made of them, and takes each decision anew.
 *
 *     setp.gt.s32 %p1, %r1, 3;  @%p1 bra B;          setp.gt.u32 %p5, %r1, 7;  @%p5 bra D;
 *     setp.eq.s32 %p2, %r1, 0;  @%p2 bra C0;         t: .branchtargets C0, C1, C2, ...;
 *     setp.eq.s32 %p3, %r1, 1;  @%p3 bra C1;  ...    brx.idx %r1, t;
 *     B: setp.eq.s32 %p4, %r1, 4;  @%p4 bra C4; ...
 *
 * What a value leads to is computed, not matched (switch_recover.h), so chains, trees, ranges, bit tests and jump tables are
 * all one. The answer is a jump table, tables and tests under a search, or what was there (switch_plan.h). Follows
 * DoSwitchOpt of ptxas for the thresholds; clusters as in Kannan and Proebsting, "Correction to 'Producing good code for
 * the case statement'" (1994), weighed by what tests/ptxas/SWITCHES.md measured.
 *
 * Sound: a region's blocks only compute conditions and copies, nothing else enters them, and nothing of what they hold is
 * read behind it, or it is computed again on the way there. Every block that the region leads to is led to by the same
 * values as before. Its blocks are dominated by the root and none post-dominates it, so whatever depends on a new branch
 * depended on the root's: that is the branch they all stand for. The graph stays reducible: a region is acyclic and has one
 * entry, before and after.
 *
 * Declines: few cases; branches that differ from the root's in .uni; equality chains in loops, which ptxas makes tables of
 * itself; ways that need much of what the region computes; a convergent instruction in front of which threads that took one
 * way, whose selectors may differ, would be parted, or one that does not name its threads and would get others. */
#include "analysis/convergence.h"
#include "ir/cfg.h"
#include "ir/edit.h"
#include "phase/switch_emit.h"

typedef struct Lowering {
    PhaseRun *run;
    Arena arena;        /* of the recovery */
    Recovery *recovery; /* made when a block first looks like the root of a region */
    PlanLimits limits;
    InstrVec left_over;
    bool again;         /* decisions were reported in an earlier round */
    bool knows_company;
    Company company;    /* of the function, once it was asked for */
} Lowering;

static PlanLimits limits_of(const PhaseRun *run)
{
    const Module *m = run->fn->module;
    bool has_brx = m->version_major >= 6 && (m->target_sm == 0 || m->target_sm >= 30);
    return (PlanLimits){run->knobs->switch_density, run->knobs->switch_max_table, has_brx};
}

/* ---- threads that stay together -------------------------------------------------------------------------------- */

/* Whether a way out, or what several have in common, leads to an instruction for which other threads may now come together.
 * Its values part them where it has several ways, and no more bring them together than before where it had one and has one. */
static bool parts_leaf(const Lowering *w, const Decision *d, const SwitchPlan *p, const Block *meeting)
{
    const Block *same = NULL;
    for (u32 l = 0; l < d->leaf_count; l++) {
        Block *target = d->leaves[l].target;
        Company kept = p->ways[l] > 1 ? COMPANY_ANY : d->leaves[l].ways > 1 ? COMPANY_NAMED : COMPANY_SAME;
        Company wanted = kept < w->company || w->company == COMPANY_SAME ? company_before(w->run->an, target, meeting) : COMPANY_ANY;
        bool shared = wanted == COMPANY_SAME && same && same != target;
        if (wanted > kept || shared)
            return true;
        if (wanted == COMPANY_SAME)
            same = target;
    }
    return false;
}

/* Whether threads that came together to a convergent instruction may now come in several groups, or the other way round.
 * Control that the root's branch parts meets again behind all ways out; where another one's did so sooner, the new branches
 * may not see to that. */
static bool changes_company(Lowering *w, const Decision *d, const SwitchPlan *p)
{
    const DomTree *postdom = w->run->an->postdom;
    const Block *meeting = dom_has(postdom, d->root) ? postdom->idom[d->root->id] : NULL;
    if (!w->knows_company)
        w->company = function_company(w->run->an);
    w->knows_company = true;
    if (w->company == COMPANY_ANY)
        return false;
    for (u32 k = 1; k < d->count; k++) {
        const Block *b = d->blocks[k];
        Block *sooner = dom_has(postdom, b) && block_terminator(b) ? postdom->idom[b->id] : NULL;
        if (sooner && sooner != meeting && company_before(w->run->an, sooner, meeting) > COMPANY_ANY)
            return true;
    }
    return parts_leaf(w, d, p, meeting);
}

/* ---- does it pay? ---------------------------------------------------------------------------------------------- */

/* NULL: yes; else a reason, and the counter that it goes to. */
typedef struct Verdict {
    const char *counter, *reason;
} Verdict;

static const Verdict pays = {NULL, NULL};

/* Estimated like PlanCost.code. */
static u32 old_code(const Decision *d) { return 2 * d->branches + d->helpers + d->tables; }

/* Estimates are rough. In place of a chain, where ptxas finds tables by itself, the new dispatch must be half as large, unless
 * all of it is one table; in place of other tests of few cases, an eighth smaller. */
static bool is_smaller(const Decision *d, const SwitchPlan *p)
{
    enum { MANY = 8 };
    u32 code = p->cost.code, old = old_code(d);
    bool one_table = p->cost.tables == 1 && p->cost.depth <= 2;
    if (decision_is_chain(d) && !one_table)
        return code * 2 <= old;
    if (p->cost.tables)
        return code < old;
    bool clearly = p->cases >= MANY ? code + 2 <= old : code * 8 <= old * 7 && code + 4 <= old;
    return clearly && p->cost.depth <= d->depth;
}

/* A search of many cases at half the length or less. */
static bool is_shorter(const Lowering *w, const Decision *d, const SwitchPlan *p)
{
    return p->cases >= w->run->knobs->switch_search_threshold && p->cost.depth * 2 <= d->depth;
}

static Verdict judge(Lowering *w, const Decision *d, const SwitchPlan *p)
{
    bool one_table = p->cost.tables == 1 && p->cost.depth <= 2;
    if (p->cases <= w->run->knobs->switch_case_threshold && d->tables == 0)
        return (Verdict){"SwitchKeptSmall", "it has few cases"};
    if (p->dense_search)
        return (Verdict){"SwitchKeptDense", "its values are dense, but there may be no table of them"};
    if (changes_company(w, d, p))
        return (Verdict){"SwitchKeptConvergent", "other threads than before would arrive together at an instruction that depends on them"};
    if (d->tables) {
        bool better = p->cost.code + 2 <= old_code(d) && p->cost.depth <= d->depth;
        return better ? pays : (Verdict){"SwitchKeptTable", "its jump table is as good as another"};
    }
    if (decision_is_chain(d) && one_table && loop_of(w->run->an->loops, d->root))
        return (Verdict){"SwitchKeptChain", "ptxas makes a table of equality tests itself, and a better one in a loop"};
    return is_smaller(d, p) || is_shorter(w, d, p) ? pays : (Verdict){"SwitchKeptNoGain", "no table is dense enough, and no search short enough"};
}

/* ---- one block ------------------------------------------------------------------------------------------------- */

static void keep(const Lowering *w, const Decision *d, Verdict why)
{
    if (w->again)
        return;
    phase_count(w->run, why.counter, 1);
    phase_missed(w->run, "SwitchKept", block_terminator(d->root), "switch of %u branches kept: %s", d->branches, why.reason);
}

static void report(const Lowering *w, const Decision *d, const SwitchPlan *p)
{
    const char *name = p->cost.tables ? "SwitchTable" : "SwitchSearch";
    phase_count(w->run, name, 1);
    phase_passed(w->run, name, block_terminator(d->root),
                 "%u cases in %u branches, %u on the longest path: now %u jump table%s of %u entries in all, %u on the longest path",
                 p->cases, d->branches, d->depth, p->cost.tables, p->cost.tables == 1 ? "" : "s", p->cost.entries, p->cost.depth);
}

static bool lower(Lowering *w, Arena *arena, Block *root)
{
    enum { SITE = 3 }; /* branches that are more than an if and its else */
    const Function *fn = w->run->fn;
    Decision d;
    if (!may_decide(root, SITE) || (root != fn->entry && cfg_pred_count(fn, root) == 0))
        return false;
    if (!w->recovery)
        w->recovery = recovery_new(w->run, &w->arena);
    RecoverResult result = recover_decision(w->recovery, arena, root, SITE, &d);
    if (result == RECOVER_NONE)
        return false;
    phase_count(w->run, "SwitchFound", !w->again);
    if (result == RECOVER_CARRY) {
        keep(w, &d, (Verdict){"SwitchKeptCarry", "too much of what it computes is needed behind it"});
        return false;
    }
    SwitchPlan p = switch_plan(arena, &d, &w->limits);
    Verdict verdict = judge(w, &d, &p);
    if (verdict.reason)
        keep(w, &d, verdict);
    if (verdict.reason || !phase_may_rewrite(w->run))
        return false;
    report(w, &d, &p);
    switch_emit(w->run->fn, w->run->an->live, &d, &p, &w->left_over);
    return true;
}

static bool lower_all(PhaseRun *run, bool again)
{
    analyses_require(run->an, AN_LOOPS);
    Lowering w = {.run = run, .limits = limits_of(run), .again = again};
    const Order *order = run->an->order;
    bool changed = false;
    for (u32 p = 0; p < order->count; p++) {
        Arena arena = {0};
        changed |= lower(&w, &arena, order->rpo[p]);
        arena_free(&arena);
    }
    for (u32 k = 0; k < w.left_over.n; k++)
        instr_remove(w.left_over.v[k]);
    vec_free(&w.left_over);
    arena_free(&w.arena);
    return changed;
}

/* What a table says of its selector is less, or more, than what the compares said: the decisions behind it are judged again. */
bool phase_switch_lowering(PhaseRun *run)
{
    enum { ROUNDS = 4 };
    bool changed = false;
    for (u32 round = 0; round < ROUNDS && !run->knobs->disable_switch; round++) {
        if (!lower_all(run, round > 0))
            break;
        changed = true;
        analyses_drop(run->an, AN_NONE);
    }
    return changed;
}
